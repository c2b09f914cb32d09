"""The result of `compare`: tables, tests and timings that display themselves, are exported and saved."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pandas as pd

from kg2rag import report
from kg2rag.compute.parallel import progress_bar
from kg2rag.evaluation import storage, tables
from kg2rag.evaluation.ceilings import OracleLadder, oracle_ladder
from kg2rag.evaluation.metrics import Metrics
from kg2rag.evaluation.overlap import Agreement
from kg2rag.evaluation.provenance import knowledge_bases
from kg2rag.evaluation.score_table import SUFFIX, against_placebo, pair_table
from kg2rag.evaluation.tables import ABOUT, GROUPS, Group
from kg2rag.evaluation.verdict import WORTH, Verdict, questions_needed, sides, verdict
from kg2rag.evaluation.waterfall import Waterfall, waterfall
from kg2rag.report import plots
from kg2rag.text.records import reading
from kg2rag.types import Ranking

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from kg2rag.types import QADataset

PAIRS_IN_REPORT = 10
"""The most systems for which the report tests every pair; `pairs` does it for any number."""


class Inputs(NamedTuple):
    """What `compare` was given; of a system with several seeds, the first."""

    systems: Mapping[str, Any]
    data: QADataset


@dataclass(frozen=True, eq=False, repr=False)
class Comparison(report.Tabular):
    """Systems side by side on one data set.

    rankings : system -> its rankings, in the order of the questions; of the first seed, where it ran under several.
    per_query : one row per system and question: type, hops, gold (how many), notes, metrics; means over several seeds.
    scores : one row per system and metric: mean, interval, tests against the baseline; see `score_table`.
    curve : mean recall by depth (index `k`), one column per system.
    config : all that the numbers depend on, as JSON values.
    token_curve : mean recall by tokens returned (index `tokens`), one column per system; see `tables.token_curve`.
    sizes : one row per system and depth that a metric reads: system, k, hits, tokens (means).
    per_seed : one row per run of the systems with several seeds: system, run, then means by metric; None without any.
    inputs : the systems and the data, in memory only, for the diagnosis; None in a loaded comparison.
    unjudged : what the systems bring for the questions without gold, in memory only; None where all have gold.
    """

    rankings: Mapping[str, Sequence[Ranking]]
    per_query: pd.DataFrame
    scores: pd.DataFrame
    curve: pd.DataFrame
    token_curve: pd.DataFrame
    sizes: pd.DataFrame
    config: Mapping[str, Any]
    per_seed: pd.DataFrame | None = None
    inputs: Inputs | None = None
    unjudged: Agreement | None = None

    @property
    def systems(self) -> list[str]:
        """The names of the systems, in the order given."""
        return list(self.rankings)

    @property
    def metrics(self) -> list[str]:
        """The names of the metrics, in the order given."""
        return [column for column in self.per_query.columns if column not in ABOUT]

    @property
    def baseline(self) -> str:
        """The system that the others are tested against."""
        return str(self.config["baseline"])

    @property
    def ms_per_query(self) -> dict[str, float]:
        """System -> milliseconds of a warm system; NaN where it was not measured, see `runs.Run`."""
        return {name: math.nan if ms is None else ms for name, ms in self.config["ms_per_query"].items()}

    @property
    def larger_sets(self) -> dict[str, str]:
        """System -> in words, how much more it returns than the others; see `tables.larger_sets`."""
        return tables.larger_sets(self.sizes)

    @property
    def sheet(self) -> report.Sheet:
        """The content of the printed tables."""
        own = (self.scores, self.ms_per_query, self.baseline, self.config, self.larger_sets)
        return report.Sheet(*own, build_seconds=self.config.get("build_seconds", {}))

    def __repr__(self) -> str:
        means = self.to_frame().round(4).to_string()
        return f"Comparison of {len(self.systems)} systems on {report.headline(self.config)}\n{means}"

    def to_frame(self) -> pd.DataFrame:
        """Means: one row per system, one column per metric, then `ms_per_query`.

        Where one reads hits, then `tokens_per_query` within the greatest depth, and `larger_set`: see `larger_sets`.
        """
        frame = self.scores.pivot_table(index="system", columns="metric", values="mean", sort=False)
        frame = frame.loc[self.systems, self.metrics]
        frame["ms_per_query"] = [self.ms_per_query[name] for name in self.systems]
        if len(self.sizes):
            deepest = self.sizes[self.sizes["k"] == self.sizes["k"].max()].set_index("system")
            frame["tokens_per_query"] = deepest["tokens"]
            frame["larger_set"] = [name in self.larger_sets for name in self.systems]
        return frame.rename_axis(columns=None)

    def __getitem__(self, name: str) -> pd.Series[Any]:
        """The means of a metric, by system; or those of a system, by metric. KeyError for anything else."""
        frame = self.to_frame()
        if name not in frame.columns and name not in frame.index:
            raise KeyError(f"{name!r} is no metric and no system. Metrics: {', '.join(self.metrics)}.")
        return (frame if name in frame.columns else frame.T)[name]

    def to_html(
        self, *further: report.HtmlPage, data: QADataset | None = None, megabytes: float = report.MEGABYTES
    ) -> str:
        """The whole report as one self-contained page, with its questions to filter and look into.

        further : views that are shown too, such as `waterfall("mention_ppr")`.
        data : texts and gold of a comparison that was loaded. ValueError: other data than were compared.
        megabytes : of the questions with their hits, about; the scores alone of those beyond are listed.
        """
        several = [name for name in GROUPS if len(self.per_query[name].unique()) > 1]
        groups: dict[str, pd.DataFrame] = {name: self.compare_by(name) for name in several}
        tests = {"pairs": self.pairs()} if 1 < len(self.systems) <= PAIRS_IN_REPORT else {}
        tests |= {"placebos": self.against_placebo()} if self.has_placebos else {}
        sheet, own = self.sheet, None if self.inputs is None else self.inputs.data
        scripts = {"page.js": report.questions_json(self.rankings, self.per_query, sheet, data or own, megabytes)}
        scripts |= {} if self.unjudged is None else {"label.js": self.label().data()}
        return report.page(
            sheet,
            data=scripts,
            curves={"k": self.curve, "tokens": self.token_curve},
            groups=groups,
            tests=tests,
            verdict=self.verdict() if all(sides(self)) else None,
            further=further,
        )

    def verdict(self, metric: str | None = None, *, worth: float = WORTH) -> Verdict:
        """Does a graph help here: yes, no, or how many more questions would tell; and which system to take.

        metric : recall@5 where it was measured, else the first.
        worth : the gain that would be worth a graph, in the metric's unit: it is "no" where as much is ruled out.

        Raises ValueError: no system that reads a graph, or none that reads none.
        """
        return verdict(self, self._metric(metric or ("recall@5" if "recall@5" in self.metrics else None)), worth)

    def label(self) -> report.Labelling:
        """The hits of the questions without gold, to be judged; those with gold count in how many more are needed.

        Raises ValueError: all questions have gold, or the comparison was loaded.
        """
        if self.unjudged is None:
            raise ValueError("No question without gold is at hand. with_questions(FILE) takes some, and compares anew.")
        metric = f"recall@{self.unjudged.k}"
        scores = self._by_system(metric) if metric in self.metrics else {}
        return self.unjudged.label(np.stack([*scores.values()], axis=1).tolist() if scores else ())

    def more_questions(self, least: float = WORTH, metric: str | None = None) -> pd.DataFrame:
        """How many more questions show a difference of `least` to the baseline; see `verdict.questions_needed`.

        One row per other system: system, difference, spread (standard deviation over the questions), needed, more.
        """
        scores = pd.DataFrame(self._by_system(self._metric(metric)))
        baseline = scores.pop(self.baseline)
        apart = scores.sub(baseline, axis=0)
        needed = [questions_needed(apart[name], least) for name in apart]
        columns = {"difference": apart.mean(), "spread": apart.std(), "needed": needed}
        table = pd.DataFrame(columns, index=apart.columns).rename_axis(index="system").reset_index()
        return table.assign(more=(table["needed"] - len(apart)).clip(lower=0))

    def browse(self, *further: report.HtmlPage, height: int = 900, **options: Any) -> report.Frame:
        """The page of `to_html` (same options) in a frame of a notebook's cell, to filter questions and see hits."""
        return report.Frame(self.to_html(*further, **{"megabytes": 4, **options}), height)

    def plot(self) -> Figure:
        """The means with their intervals, as in the report."""
        return plots.bar_chart(self.scores, self.baseline)

    def pairs(self, metric: str | None = None) -> pd.DataFrame:
        """Every pair of systems tested in one metric, the first or the one named; see `pair_table`."""
        return pair_table(self._by_system(self._metric(metric)), self.config.get("seed", 0))

    def against_placebo(self, metric: str | None = None) -> pd.DataFrame:
        """What each graph brings beyond its shufflings, called "graph-shuffled"; see `score_table.against_placebo`."""
        return against_placebo(self.per_query, self.per_seed, self._metric(metric))

    def _by_system(self, column: str) -> dict[str, Any]:
        grouped = self.per_query.groupby("system", sort=False)[column]
        return {name: grouped.get_group(name).to_numpy() for name in self.systems}

    def budgets(self) -> pd.DataFrame:
        """How much each system returns: `sizes`, beside the median of the others (hits_ratio, tokens_ratio, larger)."""
        return tables.against_others(self.sizes)

    def compare_by(self, column: Group) -> pd.DataFrame:
        """Means within each type, number of hops or of gold passages: index (group, system), `n`, then the metrics."""
        return tables.grouped_means(self.per_query, column, self.metrics)

    def differences(self, metric: str | None = None, limit: int = 10) -> pd.DataFrame:
        """The questions on which systems and the baseline differ most; see `tables.largest_differences`."""
        return tables.largest_differences(self.per_query, self._metric(metric), self.baseline, limit)

    def waterfall(self, system: str, k: int = 5) -> Waterfall:
        """For each gold passage the step of the system that lost it; see `kg2rag.waterfall`."""
        retriever, data = self._inputs_of(system)
        return waterfall(system, retriever, data, k=k, run=self.rankings[system])

    def oracle_ladder(self, system: str, metrics: Metrics = ("recall@5", "all_recall@5")) -> OracleLadder:
        """What a system would score with gold seeds, gold entities, a gold reranking; see `kg2rag.oracle_ladder`."""
        retriever, data = self._inputs_of(system)
        kbs = knowledge_bases(retriever)
        if not kbs:
            raise ValueError(f"System {system!r} has no KnowledgeBase. Call kg2rag.oracle_ladder(kb, data, system).")
        return oracle_ladder(kbs[0], data, retriever, name=system, metrics=metrics)

    @property
    def has_placebos(self) -> bool:
        """Whether shuffled graphs were run, under several seeds."""
        runs = set() if self.per_seed is None else set(self.per_seed["system"])
        return any(f"{name}{SUFFIX}" in runs for name in self.systems)

    def _metric(self, name: str | None) -> str:
        if name is not None and name not in self.metrics:
            raise ValueError(f"Unknown metric {name!r}. This comparison has: {', '.join(self.metrics)}.")
        return name or self.metrics[0]

    def _inputs_of(self, system: str) -> tuple[Any, QADataset]:
        if system not in self.systems:
            raise ValueError(f"Unknown system {system!r}. This comparison has: {', '.join(self.systems)}.")
        if self.inputs is None:
            raise ValueError(
                f"The rankings of {system!r} were loaded from files, without the system: kg2rag.waterfall and "
                "kg2rag.oracle_ladder take a system and the data."
            )
        return self.inputs.systems[system], self.inputs.data

    def save(self, directory: Path | str, *, texts: bool = True) -> Path:
        """Write tables, per_query.parquet, runs/NAME.trec.gz, qrels, page, config.json; returns the path of the page.

        The same runs give the same bytes. What an earlier comparison left there is removed. `texts=False` leaves out
        page, qrels, texts, notes and hits that no metric reads: what is left may be published with the code.
        """
        folder, values = Path(directory), {each.name: getattr(self, each.name) for each in fields(self)}
        if not texts:
            storage.save(storage.without_texts(values), folder, page=None, data=None)
            return folder
        with progress_bar(2, "report and files", "step") as bar:
            page = self.to_html()
            bar.update()
            storage.save(values, folder, page=page, data=None if self.inputs is None else self.inputs.data)
            bar.update()
        return folder / "report.html"

    @classmethod
    def load(cls, directory: Path | str) -> Comparison:
        """Read what `save` wrote.

        Scores come back as the csv has them, to six decimals; rankings have ids and scores alone, no paths or stages.
        """
        with reading(directory, "Compare again, or restore the files that `save` wrote."):
            return cls(**storage.load(Path(directory)))
