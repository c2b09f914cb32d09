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

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import pandas as pd

from kg2rag.evaluation.graph_headroom import graph_reach
from kg2rag.evaluation.per_query import GROUPS, grouped_means
from kg2rag.evaluation.scored_runs import ScoredRuns
from kg2rag.evaluation.significance import SHUFFLED, against_placebo
from kg2rag.evaluation.statistics import (
    LEVEL,
    MIN_QUESTIONS,
    interval_of_difference,
    p_values,
    questions_needed,
)
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

    Attributes
    ----------
    answer : "yes", "no" or "inconclusive".
    more : the fewest and the most further questions that would show a gain of `min_gain` four times
        in five; None if the answer is known, or the spread is not.
    take : the system to take.
    graph, plain : the best system that reads a graph, and the best that reads none, by `metric`.
    graph_systems, plain_systems : how many systems each was chosen from.
    min_gain : the smallest gain of interest, in the metric's unit.
    gain, low, high, p : of `graph` over `plain`, with the 95 % interval, corrected for the choice
        of both.
    placebo : the gain over the graph's shufflings; None if none were run.
    reach : gold and passages, the shares within one triple of the questions' entities; None if
        unknown.
    costs : system -> build_seconds and ms_per_query, NaN if they were not measured.
    kinds : one row per kind of question: kind, questions, plain and graph (means), gain. Empty if
        there is one kind.
    scale : 100 if the metric is shown in per cent, otherwise 1.
    left_out : the questions that no score includes, in words; "" for none.
    """

    answer: Answer
    more: tuple[int, int] | None
    take: str
    graph: str
    plain: str
    graph_systems: int
    plain_systems: int
    metric: str
    questions: int
    min_gain: float
    gain: float
    low: float
    high: float
    p: float
    placebo: Gain | None
    reach: Mapping[str, float] | None
    costs: Mapping[str, Mapping[str, float]]
    kinds: pd.DataFrame
    scale: float = 100.0
    left_out: str = ""

    @property
    def title(self) -> str:
        """The question and its answer."""
        return f"Does a graph help here? {self.word}"

    @property
    def word(self) -> str:
        """The answer, with the number of questions that are missing."""
        if self.more is None or self.more[1] == 0:
            return self.answer
        return f"{self.answer}: {count_range(*self.more)} more questions"

    def lines(self) -> list[str]:
        """The reasons, a sentence or two each, and the system to take."""
        reasons = [
            self._gain_line(),
            self._answer_line(),
            self._placebo_line(),
            self._reach_line(),
        ]
        costs = [self._cost_line(name) for name in (self.graph, self.plain)]
        omitted = (
            f"{self.left_out[:1].upper()}{self.left_out[1:]}." if self.left_out else ""
        )
        return [line for line in (*reasons, *costs, omitted, self._take_line()) if line]

    def _gain_line(self) -> str:
        graph, plain = self.graph, f"{self.plain}, the system without a graph"
        if self.graph_systems > 1:
            graph += f", the best of {self.graph_systems} graph systems,"
        if self.plain_systems > 1:
            plain = f"{self.plain}, the best of {self.plain_systems} systems without a graph"
        gain = self._gain_text(Gain(self.gain, self.low, self.high, self.p))
        return f"{graph} against {plain}: {self.metric} {gain}, over {questions_text(self.questions)}."

    def _answer_line(self) -> str:
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
        if not self.placebo:
            return ""
        return f"Over its own graph shuffled: {self._gain_text(self.placebo)}."

    def _reach_line(self) -> str:
        if not self.reach:
            return ""
        gold, passages = (
            f"{100 * self.reach[name]:.0f} %" for name in ("gold", "passages")
        )
        shares = f"{gold} of its gold and {passages} of all passages"
        return f"Within one triple of the names in a question lie {shares}."

    def _cost_line(self, system: str) -> str:
        texts = {
            "build_seconds": "{:,.1f} s to build what the store lacked",
            "ms_per_query": "{:,.1f} ms per question",
        }
        costs = self.costs[system]
        measured = [name for name in texts if not math.isnan(costs[name])]
        if not measured:
            return ""
        parts = [texts[name].format(costs[name]) for name in measured]
        return f"{system}: {', '.join(parts)}."

    def _take_line(self) -> str:
        reasons = {
            "yes": "",
            "no": ", which needs no graph",
            "inconclusive": ", which needs no graph, until then",
        }
        return f"Take {self.take}{reasons[self.answer]}."

    def _points(self, value: float) -> str:
        return f"{value * self.scale:+z.{decimals(self.scale)}f}".replace("-", "−")

    def _gain_text(self, gain: Gain) -> str:
        mean, low, high = map(self._points, gain[:3])
        p = f"p = {p_text(gain.p)}".replace("= <", "<")
        return f"{mean} (95 % {low} to {high}, {p})"

    def _rows(self) -> pd.DataFrame:
        shown = self.kinds.astype(object)
        for name in ("plain", "graph"):
            shown[name] = (self.kinds[name] * self.scale).map("{:.1f}".format)
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


def verdict(scored: ScoredRuns, metric: str, min_gain: float = MIN_GAIN) -> Verdict:
    """Judge whether a graph helps; see `Comparison.verdict`."""
    if not min_gain > 0:
        raise ValueError(
            f"min_gain must be above 0, not {min_gain}: the smallest gain of interest, such as .05."
        )
    graphs, plains = sides(scored)
    if not (graphs and plains):
        raise ValueError(
            f"A verdict compares systems that read a graph (here {', '.join(graphs) or 'none'}) with systems that read "
            f"none (here {', '.join(plains) or 'none'}). Add one, such as graph_augmented or hybrid."
        )
    scores = scored.scores_of(metric)
    graph, plain = _best(graphs, scores), _best(plains, scores)
    differences = scores[graph] - scores[plain]
    gain = _gain(differences, len(graphs), len(plains), scored.seed)
    placebo = _gain_over_placebo(scored, metric, graph)
    answer = _answer(gain, placebo, min_gain)
    more = None
    if answer == "inconclusive":
        more = more_questions(differences, min_gain)
    return Verdict(
        answer=answer,
        more=more,
        take=graph if answer == "yes" else plain,
        graph=graph,
        plain=plain,
        graph_systems=len(graphs),
        plain_systems=len(plains),
        metric=metric,
        questions=len(differences),
        min_gain=min_gain,
        **gain._asdict(),
        placebo=placebo,
        reach=_reach(scored, graph),
        costs={name: _costs(scored, name) for name in (graph, plain)},
        kinds=_kinds(scored, metric, graph, plain),
        scale=scales(scored.scores)[metric],
        left_out=left_out(scored.config.get("data", {})),
    )


def more_questions(differences: FloatArray, min_gain: float) -> tuple[int, int] | None:
    """The range of further questions that a gain of `min_gain` needs; see `questions_needed`."""
    needed = questions_needed(differences, min_gain)
    if needed is None:
        return None
    fewest, most = (max(0, n - len(differences)) for n in needed)
    return fewest, most


def _costs(scored: ScoredRuns, system: str) -> dict[str, float]:
    """The seconds and milliseconds of a system; NaN if they were not measured."""
    build_seconds = scored.build_seconds.get(system, math.nan)
    return {"build_seconds": build_seconds, "ms_per_query": scored.ms_per_query[system]}


def sides(scored: ScoredRuns) -> tuple[list[str], list[str]]:
    """The systems that read a graph, without placebos, and the systems that read none."""
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


def _best(systems: Sequence[str], scores: Mapping[str, FloatArray]) -> str:
    return max(systems, key=lambda name: float(scores[name].mean()))


def _gain(
    differences: FloatArray, graph_systems: int, plain_systems: int, seed: int
) -> Gain:
    """The gain with interval and p, corrected for the choice of both systems.

    The module's docstring describes the correction.
    """
    p = graph_systems * float(p_values(differences, seed, tests=graph_systems))
    low, high = interval_of_difference(
        differences,
        low_level=LEVEL / graph_systems,
        high_level=LEVEL / plain_systems,
        seed=seed,
    )
    return Gain(float(differences.mean()), low, high, min(1.0, p))


def _gain_over_placebo(scored: ScoredRuns, metric: str, graph: str) -> Gain | None:
    """The gain of a graph over its shufflings; None if it was not shuffled."""
    if not scored.has_placebos:
        return None
    table = against_placebo(scored.per_query, scored.per_seed, metric)
    of_graph = table[table["strategy"] + "." + table["graph"] == graph]
    if not len(of_graph):
        return None
    row: Any = of_graph.iloc[0]
    return Gain(row["gain"], row["ci_low"], row["ci_high"], row["p_holm"])


def _answer(gain: Gain, placebo: Gain | None, min_gain: float) -> Answer:
    """*no* comes first: a gain that is significant and below `min_gain` is none of interest."""
    gains = [part for part in (gain, placebo) if part is not None]
    if any(gain.high < min_gain for gain in gains):
        return "no"
    if all(gain.low > 0 and gain.p < LEVEL for gain in gains):
        return "yes"
    return "inconclusive"


def _reach(scored: ScoredRuns, graph: str) -> dict[str, float] | None:
    """The reach of a system's graph, if measuring it costs no call of a language model."""
    if scored.inputs is None:
        return None
    bases = knowledge_bases(scored.inputs.systems[graph])
    if not bases or not isinstance(bases[0].source, Mentions | KnowledgeGraph):
        return None
    kb, data = bases[0], scored.inputs.data
    data = replace(data, questions=data.questions[:MAX_QUESTIONS_FOR_REACH])
    all_questions = graph_reach(kb, data, 1, NGramLinker(kb, limit=10)).iloc[-1]
    return {name: float(all_questions[name]) for name in ("gold", "passages")}


def _kinds(scored: ScoredRuns, metric: str, graph: str, plain: str) -> pd.DataFrame:
    """Means by type, hops or number of gold passages: the first with few enough values."""
    max_kinds = max(2, scored.config["data"]["questions"] / QUESTIONS_PER_KIND)
    n_kinds = {name: scored.per_query[name].nunique(dropna=False) for name in GROUPS}
    usable = [name for name in GROUPS if 1 < n_kinds[name] <= max_kinds]
    if not usable:
        return pd.DataFrame(columns=["kind", "questions", "plain", "graph", "gain"])
    group = usable[0]
    means = grouped_means(scored.per_query, group, scored.metrics)
    of_plain = means.xs(plain, level="system")
    of_graph = means.xs(graph, level="system")
    kinds = of_plain.index.astype(str)
    if group != "type":
        kinds += f" {group}"
    columns = {
        "questions": of_plain["n"],
        "plain": of_plain[metric],
        "graph": of_graph[metric],
    }
    table = pd.DataFrame(columns)
    table.insert(0, "kind", kinds)
    return table.assign(gain=table["graph"] - table["plain"]).reset_index(drop=True)
