"""Scored runs -> does a graph help here: yes, no or inconclusive; and which system to take.

The best system that reads a graph is compared with the best that reads none, and with its own graph
shuffled if that was run. The answer depends on the 95 % interval of each gain and on `min_gain`,
the smallest gain of interest, which the user chooses (five points are ours):

- *no*: an interval ends below `min_gain`, so that a gain of interest is ruled out, even if there is
  a smaller one;
- *yes*: otherwise, if every interval lies above 0 and every p (paired randomisation test) is below
  .05;
- *inconclusive*: otherwise, with the range of further questions that are needed.

Both systems are chosen on the questions that judge them. So p and the lower end are corrected
(Bonferroni) for the number of graph systems, whose best one looks better than it is, and the upper
end for the number of plain systems, whose best one makes the gain look smaller than it is.

Reference: Schuirmann, J. Pharmacokinet. Biopharm. 15 (1987) (ruling out what would matter).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import pandas as pd

from kg2rag.evaluation.graph_headroom import graph_reach
from kg2rag.evaluation.per_query import GROUPS, grouped_means
from kg2rag.evaluation.power import MIN_QUESTIONS, questions_needed
from kg2rag.evaluation.scored_runs import ScoredRuns
from kg2rag.evaluation.significance import SHUFFLED, against_placebo
from kg2rag.evaluation.statistics import LEVEL, interval_of_difference, p_values
from kg2rag.extraction.mentions.extractor import Mentions
from kg2rag.knowledge import KnowledgeGraph
from kg2rag.report.html import HtmlPage, render
from kg2rag.report.score_sheet import (
    count_range,
    decimals,
    left_out,
    p_text,
    questions_text,
    scales,
)
from kg2rag.retrievers.linking.linkers import NGramLinker
from kg2rag.retrievers.system_parts import knowledge_bases
from kg2rag.text.cells import visible
from kg2rag.types import FloatArray

if TYPE_CHECKING:
    from markupsafe import Markup

Answer = Literal["yes", "no", "inconclusive"]
MIN_GAIN = 0.05
"""The smallest gain of interest, in the metric, if the user names none: five points of recall."""
QUESTIONS_PER_KIND = 5
"""The least mean number of questions per kind for which means by kind are shown."""
MAX_QUESTIONS_FOR_REACH = 1_000
"""Questions whose reach is measured: the first ones."""


class Gain(NamedTuple):
    """A mean difference of scores, its 95 % interval and its p-value, in the metric's unit."""

    gain: float
    low: float
    high: float
    p: float


@dataclass(frozen=True, eq=False, repr=False)
class Verdict(HtmlPage):
    """Does a graph help here? Displays in Jupyter and in a terminal.

    Parameters
    ----------
    scored : the comparison.
    metric : the metric that judges.
    min_gain : the smallest gain of interest, in the metric's unit.

    Raises ValueError: a `min_gain` that is not above 0; no system that reads a graph, or none that
    reads none.
    """

    scored: ScoredRuns
    metric: str
    min_gain: float = MIN_GAIN

    def __post_init__(self) -> None:
        if not self.min_gain > 0:
            raise ValueError(
                f"min_gain must be above 0, not {self.min_gain}: the smallest gain of interest, such as .05."
            )
        graphs, plains = self.graph_systems, self.plain_systems
        if not (graphs and plains):
            raise ValueError(
                f"A verdict compares systems that read a graph (here {', '.join(graphs) or 'none'}) with "
                f"systems that read none (here {', '.join(plains) or 'none'}). Add one, such as "
                "graph_augmented or hybrid."
            )

    @property
    def graph_systems(self) -> list[str]:
        """The systems that read a graph."""
        return graph_and_plain_systems(self.scored)[0]

    @property
    def plain_systems(self) -> list[str]:
        """The systems that read no graph."""
        return graph_and_plain_systems(self.scored)[1]

    @cached_property
    def graph(self) -> str:
        """The best system that reads a graph."""
        return self._best(self.graph_systems)

    @cached_property
    def plain(self) -> str:
        """The best system that reads no graph."""
        return self._best(self.plain_systems)

    def _best(self, systems: Sequence[str]) -> str:
        """The system with the highest mean."""
        return max(systems, key=lambda name: float(self._scores[name].mean()))

    @cached_property
    def _scores(self) -> dict[str, FloatArray]:
        """System -> its scores, (n_questions,)."""
        return self.scored.scores_of(self.metric)

    @cached_property
    def _differences(self) -> FloatArray:
        """The scores of `graph` less those of `plain`, (n_questions,)."""
        return self._scores[self.graph] - self._scores[self.plain]

    @cached_property
    def interval(self) -> Gain:
        """The gain of `graph` over `plain`, corrected as the module's docstring describes."""
        graphs, plains = len(self.graph_systems), len(self.plain_systems)
        seed = self.scored.seed
        p = graphs * float(p_values(self._differences, seed, tests=graphs))
        low, high = interval_of_difference(
            self._differences,
            low_level=LEVEL / graphs,
            high_level=LEVEL / plains,
            seed=seed,
        )
        return Gain(float(self._differences.mean()), low, high, min(1.0, p))

    @property
    def gain(self) -> float:
        """The mean gain of `graph` over `plain`, in the metric's unit."""
        return self.interval.gain

    @property
    def low(self) -> float:
        """The lower end of the 95 % interval of the gain."""
        return self.interval.low

    @property
    def high(self) -> float:
        """The upper end of the 95 % interval of the gain."""
        return self.interval.high

    @property
    def p(self) -> float:
        """The p-value of the gain."""
        return self.interval.p

    @cached_property
    def placebo(self) -> Gain | None:
        """The gain of the graph over its shufflings; None if it was not shuffled."""
        if not self.scored.has_placebos:
            return None
        table = against_placebo(
            self.scored.per_query, self.scored.per_seed, self.metric
        )
        of_graph = table[table["strategy"] + "." + table["graph"] == self.graph]
        if not len(of_graph):
            return None
        row: Any = of_graph.iloc[0]
        return Gain(row["gain"], row["ci_low"], row["ci_high"], row["p_holm"])

    @property
    def answer(self) -> Answer:
        """Whether a graph helps.

        "no" is tested first, since a significant gain may be smaller than `min_gain`.
        """
        gains = [part for part in (self.interval, self.placebo) if part is not None]
        if any(gain.high < self.min_gain for gain in gains):
            return "no"
        if all(gain.low > 0 and gain.p < LEVEL for gain in gains):
            return "yes"
        return "inconclusive"

    @property
    def take(self) -> str:
        """The name of the recommended system."""
        return self.graph if self.answer == "yes" else self.plain

    @property
    def more(self) -> tuple[int, int] | None:
        """The fewest and the most further questions that detect `min_gain` with 80 % power.

        None if the answer is not "inconclusive", or with fewer than `MIN_QUESTIONS` questions.
        """
        if self.answer != "inconclusive":
            return None
        needed = questions_needed(self._differences, self.min_gain)
        if needed is None:
            return None
        fewest, most = (max(0, n - len(self._differences)) for n in needed)
        return fewest, most

    @cached_property
    def reach(self) -> dict[str, float] | None:
        """The shares within one triple of the questions' entities, by "gold" and "passages".

        None if the systems are not at hand, or linking would call a language model.
        """
        if self.scored.inputs is None:
            return None
        bases = knowledge_bases(self.scored.inputs.systems[self.graph])
        if not bases or not isinstance(bases[0].source, Mentions | KnowledgeGraph):
            return None
        kb, data = bases[0], self.scored.inputs.data
        data = replace(data, questions=data.questions[:MAX_QUESTIONS_FOR_REACH])
        all_questions = graph_reach(kb, data, 1, NGramLinker(kb, limit=10)).iloc[-1]
        return {name: float(all_questions[name]) for name in ("gold", "passages")}

    @cached_property
    def kinds(self) -> pd.DataFrame:
        """One row per kind of question: kind, questions, plain and graph (means), gain.

        Questions are grouped by the first of type, hops and number of gold passages that has at
        least two values and few enough for `QUESTIONS_PER_KIND`. The table is empty if none has.
        """
        per_query = self.scored.per_query
        max_kinds = max(2, self.scored.config["data"]["questions"] / QUESTIONS_PER_KIND)
        n_kinds = {name: per_query[name].nunique(dropna=False) for name in GROUPS}
        usable = [name for name in GROUPS if 1 < n_kinds[name] <= max_kinds]
        if not usable:
            return pd.DataFrame(columns=["kind", "questions", "plain", "graph", "gain"])
        means = grouped_means(per_query, usable[0], [self.metric])
        of_plain = means.xs(self.plain, level="system")
        of_graph = means.xs(self.graph, level="system")[self.metric]
        kinds = of_plain.index.astype(str)
        if usable[0] != "type":
            kinds += f" {usable[0]}"
        table = pd.DataFrame({"kind": kinds, "questions": of_plain["n"].to_numpy()})
        table["plain"] = of_plain[self.metric].to_numpy()
        table["graph"] = of_graph.to_numpy()
        return table.assign(gain=table["graph"] - table["plain"])

    @property
    def title(self) -> str:
        """The question and its answer."""
        return f"Does a graph help here? {self.word}"

    @property
    def word(self) -> str:
        """The answer, with the number of further questions if it is inconclusive."""
        if self.more is None or self.more[1] == 0:
            return self.answer
        return f"{self.answer}: {count_range(*self.more)} more questions"

    def lines(self) -> list[str]:
        """The reasons for the answer, a sentence or two each, and the system to take."""
        reasons = [
            self._gain_line(),
            self._answer_line(),
            self._placebo_line(),
            self._reach_line(),
        ]
        costs = [self._cost_line(name) for name in (self.graph, self.plain)]
        omitted = left_out(self.scored.config.get("data", {}))
        if omitted:
            omitted = f"{omitted[:1].upper()}{omitted[1:]}."
        return [line for line in (*reasons, *costs, omitted, self._take_line()) if line]

    def _gain_line(self) -> str:
        """The names of both systems, the gain and its interval."""
        n_graphs, n_plains = len(self.graph_systems), len(self.plain_systems)
        graph, plain = self.graph, f"{self.plain}, the system without a graph"
        if n_graphs > 1:
            graph += f", the best of {n_graphs} graph systems,"
        if n_plains > 1:
            plain = f"{self.plain}, the best of {n_plains} systems without a graph"
        gain = self._gain_text(self.interval)
        questions = questions_text(len(self._differences))
        return f"{graph} against {plain}: {self.metric} {gain}, over {questions}."

    def _answer_line(self) -> str:
        """The reason for "no" or "inconclusive"; "" for "yes"."""
        points = self._points(self.min_gain)[1:]
        if self.answer == "yes":
            return ""
        if self.answer == "no":
            if self.placebo and self.p < LEVEL < self.placebo.p:
                return "A shuffled graph gains as much: the further candidates help, not the graph."
            return f"A gain of {points} points or more, the smallest of interest, is ruled out."
        line = f"The interval contains both 0 and {points} points, the smallest gain of interest."
        if self.more is None:
            estimate = "An estimate of the number of questions needed takes at least"
            return f"{line} {estimate} {MIN_QUESTIONS} questions."
        power = f"detect a gain of {points} points with 80 % power"
        if self.more[1] == 0:
            return f"{line} So many questions {power}."
        count = f"{count_range(*self.more)} more questions"
        return f"{line} By the spread of the differences so far, {count} would {power}."

    def _placebo_line(self) -> str:
        """The gain over the shuffled graph; "" if it was not shuffled."""
        if not self.placebo:
            return ""
        return f"Over its own graph shuffled: {self._gain_text(self.placebo)}."

    def _reach_line(self) -> str:
        """The shares of gold and passages near the entities; "" if unknown."""
        if not self.reach:
            return ""
        gold, passages = (
            f"{100 * self.reach[name]:.0f} %" for name in ("gold", "passages")
        )
        shares = f"{gold} of its gold and {passages} of all passages"
        return f"Within one triple of the names in a question lie {shares}."

    def _cost_line(self, system: str) -> str:
        """The measured times of a system; "" if none was measured."""
        times = {
            "s to build what the store lacked": self.scored.build_seconds.get(system),
            "ms per question": self.scored.config["ms_per_query"][system],
        }
        parts = [
            f"{time:,.1f} {unit}" for unit, time in times.items() if time is not None
        ]
        return f"{system}: {', '.join(parts)}." if parts else ""

    def _take_line(self) -> str:
        """The recommended system, with the reason."""
        reasons = {
            "yes": "",
            "no": ", which needs no graph",
            "inconclusive": ", which needs no graph, until then",
        }
        return f"Take {self.take}{reasons[self.answer]}."

    @cached_property
    def _scale(self) -> float:
        """100 if the metric is shown in per cent, otherwise 1."""
        return scales(self.scored.scores)[self.metric]

    def _points(self, value: float) -> str:
        """A difference with its sign, in the scale of the metric."""
        return f"{value * self._scale:+z.{decimals(self._scale)}f}".replace("-", "−")

    def _gain_text(self, gain: Gain) -> str:
        """A gain with its interval and p-value."""
        mean, low, high = map(self._points, gain[:3])
        p = f"p = {p_text(gain.p)}".replace("= <", "<")
        return f"{mean} (95 % {low} to {high}, {p})"

    def _rows(self) -> pd.DataFrame:
        """The table `kinds` with its numbers as text."""
        shown = self.kinds.astype(object)
        for name in ("plain", "graph"):
            shown[name] = (self.kinds[name] * self._scale).map("{:.1f}".format)
        return shown.assign(gain=self.kinds["gain"].map(self._points))

    def body(self) -> Markup:
        """The answer and its reasons."""
        return render(
            "verdict.html.j2",
            verdict=self,
            lines=self.lines(),
            rows=self._rows().to_numpy().tolist(),
        )

    def __repr__(self) -> str:
        text = "\n".join([self.title, *self.lines()])
        if not len(self.kinds):
            return visible(text)
        kinds = self._rows().rename(columns={"plain": self.plain, "graph": self.graph})
        return visible(f"{text}\n{kinds.to_string(index=False)}")


def graph_and_plain_systems(scored: ScoredRuns) -> tuple[list[str], list[str]]:
    """The systems that read a graph, without placebos; and the systems that read none."""
    graphs = []
    plains = []
    for name in scored.systems:
        if name.endswith(SHUFFLED) and name.removesuffix(SHUFFLED) in scored.systems:
            continue  # a placebo
        if name in scored.config["graph_systems"]:
            graphs.append(name)
        else:
            plains.append(name)
    return graphs, plains
