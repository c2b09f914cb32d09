"""A comparison -> does a graph help here: yes, no, or inconclusive; and which system to take.

The best system that reads a graph against the best that reads none, and against its own graph shuffled where that was
run. The answer rests on the 95 % interval of each gain and on `worth`, the smallest gain that would be worth a graph,
which the reader chooses (five points are ours):

- *no*: an interval ends below `worth`, so that a gain worth having is ruled out, even where there is a smaller one;
- *yes*: else, if every interval lies above 0 and every p (paired randomisation test) is below .05;
- *inconclusive* otherwise, with the number of questions that would tell.

p and interval are corrected (Bonferroni) for the choice among the graph systems.

References: Hartigan, JASA 64 (1969), "Using Subsample Values as Typical Values" (the interval). Clopper & Pearson,
Biometrika 26 (1934) (what was not seen). Schuirmann, J. Pharmacokinet. Biopharm. 15 (1987) (ruling out what would
matter). Cohen, "Statistical Power Analysis" (1988), Sec. 2.4 (how many questions).
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from kg2rag.evaluation.ceilings import graph_reach
from kg2rag.evaluation.provenance import knowledge_bases
from kg2rag.evaluation.score_table import SUFFIX
from kg2rag.evaluation.statistics import LEVEL, POWER, RESAMPLES, columns, p_values
from kg2rag.evaluation.tables import GROUPS
from kg2rag.extraction.mentions.extractor import Mentions
from kg2rag.knowledge import KnowledgeGraph
from kg2rag.report.html import HtmlPage, render
from kg2rag.report.table import left_out, p_text
from kg2rag.retrievers.linking.linkers import NGramLinker

if TYPE_CHECKING:
    from markupsafe import Markup

    from kg2rag.evaluation.comparison import Comparison

WORTH = 0.05
"""The gain in the metric that would be worth a graph, where a reader names none: five points of recall."""
OF_A_KIND = 5
"""Questions of a kind, on average, from which the means by kind are shown: of fewer they are noise."""
MOST = 1_000
"""The most questions whose reach is measured: the first ones."""


@dataclass(frozen=True, eq=False, repr=False)
class Verdict(HtmlPage):
    """Does a graph help here? Displays in Jupyter and in a terminal.

    answer : "yes", "no" or "inconclusive".
    more : about how many more questions would tell; None where it is known.
    take : the system to take.
    graph, plain : the best system that reads a graph, and the best that reads none, by `metric`.
    gain, low, high, p : of the one over the other, with its 95 % interval, in the metric's unit; tests over `chosen`
        graph systems, see above.
    placebo : gain, low, high and p over the graph's shufflings; None where none were run.
    reach : gold and passages, the shares within one triple of the questions' entities; None where it is not known.
    costs : system -> build_seconds and ms_per_query, NaN where they were not measured.
    left_out : which questions are in no score, "" for none.
    kinds : one row per kind of question: kind, questions, plain and graph (means), gain. Empty where there is but one.
    """

    answer: Literal["yes", "no", "inconclusive"]
    more: int | None
    take: str
    graph: str
    plain: str
    metric: str
    questions: int
    chosen: int
    worth: float
    gain: float
    low: float
    high: float
    p: float
    placebo: Mapping[str, float] | None
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
        return self.answer if self.more is None else f"{self.answer}: about {self.more:,} more questions"

    def lines(self) -> list[str]:
        """What it rests on, a sentence each, and which system to take."""
        among = f", the best of {self.chosen} graph systems" if self.chosen > 1 else ""
        said = [
            f"{self.graph}{among}, against {self.plain}, the best without a graph: {self.metric} "
            f"{self._gain(vars(self))}, over {self.questions:,} question{'s' if self.questions != 1 else ''}."
        ]
        worth, seen = (self._points(one)[1:] for one in (self.worth, max(self.gain, self.worth - self.gain)))
        if self.answer == "no" and self.placebo and self.p < LEVEL < self.placebo["p"]:
            said += ["As much is gained from a shuffled graph: it is the further candidates that help, not the graph."]
        elif self.answer == "no":
            said += [f"A gain of {worth} or more, which would be worth a graph, is ruled out."]
        elif self.answer == "inconclusive":
            said += [
                f"The interval leaves open both no gain and {worth} points, which would be worth a graph; so many "
                f"questions are missing to see a difference of {seen} four times in five."
            ]
        if self.placebo:
            said += [f"Over its own graph shuffled: {self._gain(self.placebo)}."]
        if self.reach:
            gold, passages = (f"{100 * self.reach[name]:.0f} %" for name in ("gold", "passages"))
            said += [f"Within one triple of a question's names lie {gold} of its gold, and {passages} of all passages."]
        told = {"build_seconds": "{:,.1f} s to build what was not there", "ms_per_query": "{:,.1f} ms a question"}
        for name in (self.graph, self.plain):
            spent = [told[key].format(value) for key, value in self.costs[name].items() if not math.isnan(value)]
            said += [f"{name}: {', '.join(spent)}."] if spent else []
        why = {"yes": "", "no": ", which needs no graph", "inconclusive": ", which needs no graph, until that is known"}
        said += [f"{self.left_out[:1].upper()}{self.left_out[1:]}."] if self.left_out else []
        return [*said, f"Take {self.take}{why[self.answer]}."]

    def _points(self, value: float) -> str:
        return f"{value * self.scale:+.{1 if self.scale == 100 else 2}f}".replace("-", "−")

    def _gain(self, of: Mapping[str, Any]) -> str:
        gain, low, high = (self._points(of[name]) for name in ("gain", "low", "high"))
        p = p_text(of["p"])
        return f"{gain} (95 % {low} to {high}, p {p if p.startswith('<') else f'= {p}'})"

    def _rows(self) -> pd.DataFrame:
        shown = self.kinds.astype(object)
        for name in ("plain", "graph"):
            shown[name] = (self.kinds[name] * self.scale).map("{:.1f}".format)
        return shown.assign(gain=self.kinds["gain"].map(self._points))

    def body(self) -> Markup:
        """The answer and what it rests on."""
        return render("verdict.html.j2", verdict=self, lines=self.lines(), rows=self._rows().to_numpy().tolist())

    def __repr__(self) -> str:
        kinds = self._rows().rename(columns={"plain": self.plain, "graph": self.graph})
        return "\n".join([self.title, *self.lines(), *([kinds.to_string(index=False)] if len(kinds) else [])])


def verdict(result: Comparison, metric: str, worth: float = WORTH) -> Verdict:
    """See `Comparison.verdict`."""
    if not worth > 0:
        raise ValueError(f"worth must be above 0, not {worth}: the gain that would be worth a graph, as .05.")
    graphs, plains = sides(result)
    if not (graphs and plains):
        lacking = "reads a graph, such as graph_augmented" if not graphs else "reads none, such as dense or hybrid"
        raise ValueError(f"A verdict compares two sides, and no system here {lacking}. Compare one, too.")
    scores = result.per_query.pivot_table(index="query_id", columns="system", values=metric, sort=False)
    graph, plain = (str(scores[side].mean().idxmax()) for side in (graphs, plains))
    difference, level = (scores[graph] - scores[plain]).to_numpy(dtype=float), LEVEL / len(graphs)
    sheet, seed = result.sheet, result.config.get("seed", 0)
    p = min(1.0, len(graphs) * float(p_values(difference, seed, tests=len(graphs))))
    low, high = interval_of_difference(difference, 1 - level, seed)
    gain, placebo = float(difference.mean()), dict[Any, Any]()
    if result.has_placebos:
        table = result.against_placebo(metric).rename(columns={"ci_low": "low", "ci_high": "high"})
        own = table[table["strategy"] + "." + table["graph"] == graph].assign(p=table["p_holm"])
        placebo = own[["gain", "low", "high", "p"]].iloc[0].to_dict() if len(own) else {}
    tests = [{"low": low, "high": high, "p": p}, *([placebo] if placebo else [])]
    answer: Literal["yes", "no", "inconclusive"] = "inconclusive"
    if any(one["high"] < worth for one in tests):
        answer = "no"
    elif all(one["low"] > 0 and one["p"] < LEVEL for one in tests):
        answer = "yes"
    # What must be told apart from chance: a gain from 0, or the lack of one from `worth`, whichever is farther.
    missing = questions_needed(difference, max(gain, worth - gain), level) - len(difference)
    return Verdict(
        answer=answer,
        more=max(10, round(missing, -1)) if answer == "inconclusive" else None,
        take=graph if answer == "yes" else plain,
        graph=graph,
        plain=plain,
        metric=metric,
        questions=len(difference),
        chosen=len(graphs),
        worth=worth,
        gain=gain,
        low=low,
        high=high,
        p=p,
        placebo=placebo or None,
        reach=_reach(result, graph),
        costs={
            name: {"build_seconds": sheet.build_seconds.get(name, math.nan), "ms_per_query": sheet.ms_per_query[name]}
            for name in (graph, plain)
        },
        kinds=_kinds(result, metric, graph, plain),
        scale=sheet.scale(metric),
        left_out=left_out(result.config.get("data", {})),
    )


def interval_of_difference(differences: ArrayLike, level: float = 0.95, seed: int = 0) -> tuple[float, float]:
    """An interval of the mean difference of two systems' scores that covers it also where few questions differ.

    It holds the shifts that the paired randomisation test does not reject: one is rejected where too few random subsets
    of the questions have a mean difference beyond it, so that the ends are quantiles of the subsets' means [Hartigan
    1969]. And it is at least as wide as if the share of questions that may not have been seen lay at an end of the
    metric's range.

    `differences` : (n_queries,).
    """
    (values,) = columns(differences)[0]
    rng, means = np.random.default_rng(seed), []
    for _ in range(20):  # a part at a time, for the memory's sake
        within = rng.integers(0, 2, (RESAMPLES // 20, len(values)))
        within = within[within.any(axis=1)]
        means.append((within @ values) / within.sum(axis=1))
    low, high = np.quantile(np.concatenate(means), [(1 - level) / 2, (1 + level) / 2])
    mean, end = values.mean(), max(1.0, np.abs(values).max())
    share = 1 - ((1 - level) / 2) ** (1 / len(values))  # the exact interval's end for 0 of n [Clopper & Pearson 1934]
    return float(min(low, mean - share * (end + mean))), float(max(high, mean + share * (end - mean)))


def questions_needed(differences: ArrayLike, least: float, level: float = LEVEL) -> int:
    """How many questions show a mean difference of `least` with 80 % power, if all differ as much as these.

    By the normal approximation of the paired t-test, ((z(1 - level / 2) + z(power)) sd / least)² [Cohen 1988]; and no
    fewer than those of which, were all of them ties, Wilson's interval leaves out that a share of `least` differ.
    """
    from scipy.stats import norm

    values, z = columns(differences)[0][0], norm.isf(level / 2)
    spread = values.std(ddof=1) if len(values) > 1 else 0.0
    by_power = ((z + norm.isf(1 - POWER)) * spread / least) ** 2
    return math.ceil(float(max(by_power, z**2 * max(1 - least, 0) / least)))


def sides(result: Comparison) -> tuple[list[str], list[str]]:
    """The systems that read a graph, without those over the shufflings of another one's, and the systems without."""
    config, systems = result.config, result.systems
    reading = set(config.get("graph_systems", config.get("graph_use", {})))
    placebos = {name for name in systems if name.endswith(SUFFIX) and name.removesuffix(SUFFIX) in systems}
    graphs = [name for name in systems if name in reading - placebos]
    return graphs, [name for name in systems if name not in reading | placebos]


def _reach(result: Comparison, graph: str) -> dict[str, float] | None:
    """Of the graph of a system, where it is at hand: never one that would have to be paid for."""
    bases = [] if result.inputs is None else knowledge_bases(result.inputs.systems[graph])
    if result.inputs is None or not bases or not isinstance(bases[0].source, Mentions | KnowledgeGraph):
        return None
    kb, data = bases[0], result.inputs.data
    data = replace(data, questions=data.questions[:MOST])
    last = graph_reach(kb, data, 1, NGramLinker(kb, limit=10)).iloc[-1]  # one triple, all questions
    return {name: float(last[name]) for name in ("gold", "passages")}


def _kinds(result: Comparison, metric: str, graph: str, plain: str) -> pd.DataFrame:
    """By type of question, or by hops, or by number of gold passages: the first of which there are a few, not many."""
    most = max(2, result.config["data"]["questions"] / OF_A_KIND)
    many = [name for name in GROUPS if 1 < result.per_query[name].nunique(dropna=False) <= most]
    if not many:
        return pd.DataFrame(columns=["kind", "questions", "plain", "graph", "gain"])
    means, unit = result.compare_by(many[0]), "" if many[0] == "type" else f" {many[0]}"
    without, within = (means.xs(name, level="system") for name in (plain, graph))
    columns = {"questions": without["n"], "plain": without[metric], "graph": within[metric]}
    frame = pd.DataFrame({"kind": [f"{kind}{unit}" for kind in without.index], **columns})
    return frame.assign(gain=frame["graph"] - frame["plain"]).reset_index(drop=True)
