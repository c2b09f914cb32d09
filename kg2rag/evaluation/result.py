"""The result of `compare`: scored runs with views, exports and files."""

from __future__ import annotations

from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd

from kg2rag import report
from kg2rag.compute.parallel import progress_bar
from kg2rag.evaluation import returned_sizes, significance, storage, views
from kg2rag.evaluation.metrics import Metrics
from kg2rag.evaluation.oracle_ladder import OracleLadder, oracle_ladder
from kg2rag.evaluation.per_query import (
    Group,
    differences_between,
    grouped_means,
    largest_first,
)
from kg2rag.evaluation.ranx_scores import run_of
from kg2rag.evaluation.scored_runs import ScoredRuns
from kg2rag.evaluation.verdict import MIN_GAIN, Verdict, graph_and_plain_systems
from kg2rag.evaluation.waterfall import Waterfall, waterfall
from kg2rag.report import plots
from kg2rag.retrievers.system_parts import knowledge_bases
from kg2rag.text.cells import visible
from kg2rag.text.records import reading
from kg2rag.text.suggestions import suggest_parameters

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from kg2rag.types import QADataset

BROWSED_MEGABYTES = 4
"""Default size of the questions with their hits in a notebook, which stores them."""


@dataclass(frozen=True, eq=False, repr=False)
class Comparison(report.Tabular, ScoredRuns):
    """Systems side by side on one data set.

    The attributes are those of `ScoredRuns`: `per_query` (one row per system and question),
    `scores` (means, intervals and tests), `rankings`, `config` and more. The methods are views of
    them, which compute no ranking again, except `waterfall` and `oracle_ladder`. Displays in
    Jupyter and in a terminal; `result["recall@5"]` are the means of a metric, `result["dense"]`
    those of a system.
    """

    def __repr__(self) -> str:
        means = self.to_frame().round(4).to_string()
        title = f"Comparison of {len(self.systems)} systems on {report.headline(self.config)}"
        return visible("\n".join((title, means, *report.remark_lines(self.config))))

    def __getitem__(self, name: str) -> pd.Series[Any]:
        """The means of a metric by system, or of a system by metric. KeyError for other names."""
        frame = self.to_frame()
        if name in frame.columns:
            return frame[name]
        if name in frame.index:
            return frame.T[name]
        raise KeyError(
            f"{name!r} is no metric and no system. Metrics: {', '.join(self.metrics)}."
        )

    @property
    def sheet(self) -> report.ScoreSheet:
        """The content of the printed table."""
        return views.sheet_of(self)

    def to_frame(self) -> pd.DataFrame:
        """The means: one row per system, one column per metric, then `ms_per_query`.

        If a metric reads hits, two further columns follow: `tokens_per_query` within the greatest
        depth, and `larger_set`, whether the system returns more than the others, see
        `returned_sizes.larger_sets`.
        """
        frame = self.scores.pivot_table(
            index="system", columns="metric", values="mean", sort=False
        )
        frame = frame.loc[self.systems, self.metrics]
        frame = frame.assign(ms_per_query=pd.Series(self.ms_per_query))
        if len(self.sizes):
            deepest = self.sizes[self.sizes["k"] == self.sizes["k"].max()].set_index(
                "system"
            )
            frame["tokens_per_query"] = deepest["tokens"]
            frame["larger_set"] = frame.index.isin(
                list(returned_sizes.larger_sets(self.sizes))
            )
        return frame.rename_axis(columns=None)

    def to_html(
        self,
        *further: report.HtmlPage,
        data: QADataset | None = None,
        megabytes: float = report.MEGABYTES,
    ) -> str:
        """The whole report as one self-contained page, with its questions to filter and look into.

        Parameters
        ----------
        further : views to add, such as ``result.waterfall("mention_ppr")``.
        data : texts and gold for a loaded comparison. ValueError: other data than were compared.
        megabytes : approximate size of the questions with their hits; for those beyond, only scores
            are listed.
        """
        if data is None and self.inputs is not None:
            data = self.inputs.data
        judged = self.verdict() if all(graph_and_plain_systems(self)) else None
        return views.page_of(
            self, data=data, verdict=judged, further=further, megabytes=megabytes
        )

    def browse(
        self,
        *further: report.HtmlPage,
        data: QADataset | None = None,
        megabytes: float = BROWSED_MEGABYTES,
        height: int = 900,
    ) -> report.Frame:
        """The page of `to_html` in a frame of a notebook's cell, `height` pixels high."""
        return report.Frame(
            self.to_html(*further, data=data, megabytes=megabytes), height
        )

    @suggest_parameters(worth="min_gain=…")
    def verdict(
        self, metric: str | None = None, *, min_gain: float = MIN_GAIN
    ) -> Verdict:
        """Whether a graph helps: yes, no or inconclusive, and which system to take.

        Parameters
        ----------
        metric : default: recall@5 if it was measured, otherwise the first.
        min_gain : the smallest gain of interest, in the metric's unit. The answer is "no" if it is
            ruled out.

        Raises ValueError: no system reads a graph, or every system does.
        """
        if metric is None and "recall@5" in self.metrics:
            metric = "recall@5"
        return Verdict(self, self.require_metric(metric), min_gain)

    @suggest_parameters(least="min_gain=…")
    def more_questions(
        self, min_gain: float = MIN_GAIN, metric: str | None = None
    ) -> pd.DataFrame:
        """The ranges of further questions that detect a difference `min_gain` from the baseline.

        One row per other system; see `views.questions_needed_table`.
        """
        return views.questions_needed_table(self, self.require_metric(metric), min_gain)

    def label(self) -> report.Labelling:
        """The hits of the questions without gold, to be judged; see `views.labelling_of`."""
        return views.labelling_of(self)

    def plot(self) -> Figure:
        """The means with their intervals, as bars."""
        return plots.bar_chart(self.scores, self.baseline)

    def pairs(self, metric: str | None = None) -> pd.DataFrame:
        """Tests of every pair of systems in a metric, the first by default.

        See `significance.pair_table`.
        """
        return significance.pair_table(
            self.scores_of(self.require_metric(metric)), self.seed
        )

    def against_placebo(self, metric: str | None = None) -> pd.DataFrame:
        """The gain of each graph over its shuffled copies, called "graph-shuffled".

        See `significance.against_placebo`.
        """
        metric = self.require_metric(metric)
        return significance.against_placebo(self.per_query, self.per_seed, metric)

    def budgets(self) -> pd.DataFrame:
        """Hits and tokens of each system, and their ratios to the median of the others."""
        return returned_sizes.ratios_to_others(self.sizes)

    def compare_by(self, column: Group) -> pd.DataFrame:
        """The means by type, number of hops or number of gold passages of the questions.

        The table has the index (value, system), the column `n` and the metrics.
        """
        return grouped_means(self.per_query, column, self.metrics)

    def differences(
        self,
        system: str | None = None,
        baseline: str | None = None,
        *,
        metric: str | None = None,
        limit: int | None = 10,
    ) -> pd.DataFrame:
        """The questions on which systems differ, largest difference first.

        Parameters
        ----------
        system, baseline : the score of `system` less that of `baseline`. Defaults: all others, the
            baseline.
        metric : default: the first.
        limit : rows; None for all.

        Returns one row per question and system: query_id, question, system, score, baseline,
        difference.
        """
        if system in self.metrics and system not in self.systems:
            raise ValueError(
                f"{system!r} is a metric: write differences(metric={system!r})."
            )
        reference = self.require_system(self.baseline if baseline is None else baseline)
        other_systems = [name for name in self.systems if name != reference]
        if system is not None:
            other_systems = [self.require_system(system)]
        table = differences_between(
            self.per_query, self.require_metric(metric), other_systems, reference
        )
        return largest_first(table, limit)

    def to_ranx(self, system: str) -> Any:
        """The hits of a system as a `ranx.Run`; `ranx.Qrels(data.qrels)` holds the gold."""
        return run_of(self.rankings[self.require_system(system)], system)

    def waterfall(self, system: str, k: int = 5) -> Waterfall:
        """For each gold passage the stage of the system that lost it; see `kg2rag.waterfall`."""
        retriever, data = self._inputs_of(system)
        return waterfall(system, retriever, data, k=k, run=self.rankings[system])

    def oracle_ladder(
        self, system: str, metrics: Metrics = ("recall@5", "all_recall@5")
    ) -> OracleLadder:
        """Scores of a system with gold seeds, gold entities or gold reranking.

        See `kg2rag.oracle_ladder`.
        """
        retriever, data = self._inputs_of(system)
        kbs = knowledge_bases(retriever)
        if not kbs:
            raise ValueError(
                f"System {system!r} has no KnowledgeBase. Call kg2rag.oracle_ladder(kb, data, system)."
            )
        return oracle_ladder(kbs[0], data, retriever, name=system, metrics=metrics)

    def _inputs_of(self, system: str) -> tuple[Any, QADataset]:
        """A system and the data set; ValueError: the comparison was loaded, without systems."""
        self.require_system(system)
        if self.inputs is None:
            raise ValueError(
                f"The rankings of {system!r} were loaded from files, without the system: kg2rag.waterfall and "
                "kg2rag.oracle_ladder take a system and the data."
            )
        return self.inputs.systems[system], self.inputs.data

    def save(self, directory: Path | str, *, texts: bool = True) -> Path:
        """Write the comparison into a folder and return the path of its page.

        The files are tables, per_query.parquet, runs/NAME.trec.gz, qrels.trec, report.html and
        config.json.

        The same runs give the same bytes. The files of an earlier comparison are removed.

        texts : False leaves out the page, qrels, texts, notes, and hits that no metric reads, so
        that the rest may be published with the code.
        """
        folder = Path(directory)
        values = {field.name: getattr(self, field.name) for field in fields(self)}
        if not texts:
            storage.save(storage.without_texts(values), folder, page=None, data=None)
            return folder
        data = None if self.inputs is None else self.inputs.data
        with progress_bar(2, "report and files", "step") as bar:
            page = self.to_html()
            bar.update()
            storage.save(values, folder, page=page, data=data)
            bar.update()
        return folder / "report.html"

    @classmethod
    def load(cls, directory: Path | str) -> Comparison:
        """The comparison that `save` wrote.

        Scores have six decimals, as in the csv; rankings have ids and scores, no paths or stages.
        """
        with reading(
            directory, "Compare again, or restore the files that `save` wrote."
        ):
            return cls(**storage.load(Path(directory)))
