"""The result of `compare`: tables, tests and timings that show themselves, export and are saved.

How things look is left to `kg2rag.report`; how runs are written, to `trec.py`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from kg2rag import report
from kg2rag.evaluation import storage
from kg2rag.evaluation.budgets import against_others, larger_sets
from kg2rag.evaluation.diagnosis import held as diagnosis
from kg2rag.evaluation.pairs import pair_table
from kg2rag.evaluation.score_table import ABOUT
from kg2rag.types.rankings import Ranking

if TYPE_CHECKING:
    import pandas as pd

    from kg2rag.evaluation.diagnosis import Held, OracleLadder, QueryComparison, Waterfall
    from kg2rag.evaluation.diagnosis.contexts import Formatter
    from kg2rag.types.questions import QADataset

Group = Literal["type", "hops", "gold"]
GROUPS: tuple[Group, ...] = ("type", "hops", "gold")
PAIRS_IN_REPORT = 10
"""Up to so many systems the report tests every pair; beyond, `pairs` does when asked."""


@dataclass(frozen=True, eq=False, repr=False)
class Comparison:
    """Systems side by side on one data set.

    Attributes
    ----------
    rankings : system -> its rankings, in the order of the questions; of the first seed, where it ran under several.
    per_query : one row a system and question: query_id, system, type, hops, gold (how many), question, one column a
        metric; means over seeds, where a system ran under several.
    scores : one row a system and metric: mean, interval, tests against the baseline; see `scores.score_table`.
    curve : mean recall by depth (index `k`), one column a system.
    ms_per_query : system -> milliseconds, indexes built and queries encoded beforehand where the system allows it.
    config : all that the numbers depend on, as JSON values.
    token_curve : mean recall by tokens returned (index `tokens`), one column a system; see `curves.token_curve`.
    sizes : one row a system and depth that a metric reads: system, k, hits, tokens (means).
    per_seed : one row a run of the systems with several seeds: system, run, then means by metric.

    held : the systems and the data, in memory alone, for the diagnosis; None in a comparison that was loaded.

    `token_curve` and `sizes` are None in comparisons saved before tokens were counted, `per_seed` where every system
    ran once.
    """

    rankings: Mapping[str, Sequence[Ranking]]
    per_query: pd.DataFrame
    scores: pd.DataFrame
    curve: pd.DataFrame
    ms_per_query: Mapping[str, float]
    baseline: str
    config: Mapping[str, Any] = field(default_factory=dict)
    token_curve: pd.DataFrame | None = None
    sizes: pd.DataFrame | None = None
    per_seed: pd.DataFrame | None = None
    held: Held | None = None

    @property
    def systems(self) -> list[str]:
        """The names of the systems, in the order given."""
        return list(self.rankings)

    @property
    def metrics(self) -> list[str]:
        """The names of the metrics, in the order given."""
        return [column for column in self.per_query.columns if column not in ABOUT]

    def __repr__(self) -> str:
        means = self.to_frame().round(4).to_string()
        return f"Comparison of {len(self.systems)} systems on {report.headline(self.config)}\n{means}"

    @property
    def sheet(self) -> report.Sheet:
        """What the printed tables show."""
        return report.Sheet(self.scores, self.ms_per_query, self.baseline, self.config, self.larger_sets)

    @property
    def larger_sets(self) -> dict[str, str]:
        """System -> how much more it returns than the others, in words; only those that return over 10 % more."""
        return {} if self.sizes is None else larger_sets(self.sizes)

    def _repr_html_(self) -> str:
        return report.table_html(self.sheet)

    def __rich__(self) -> report.TerminalTable:
        return report.TerminalTable(self.sheet)

    def to_frame(self) -> pd.DataFrame:
        """Means: one row a system, one column a metric, then `ms_per_query`.

        Where they were counted, then `tokens_per_query`, those within the greatest depth that a metric reads, and
        `larger_set`: whether the system returns over 10 % more hits or tokens than the others at any of these depths.
        """
        frame = self.scores.pivot_table(index="system", columns="metric", values="mean", sort=False)
        frame = frame.loc[self.systems, self.metrics]
        frame["ms_per_query"] = [self.ms_per_query[name] for name in self.systems]
        if self.sizes is not None and len(self.sizes):
            deepest = self.sizes[self.sizes["k"] == self.sizes["k"].max()].set_index("system")
            frame["tokens_per_query"] = deepest["tokens"]
            frame["larger_set"] = [name in self.larger_sets for name in self.systems]
        return frame.rename_axis(columns=None)

    def to_markdown(self) -> str:
        """A table for a README: means in per cent, intervals, stars by Holm."""
        return report.markdown(self.sheet)

    def to_latex(self) -> str:
        """A `booktabs` table for a paper: means in per cent, intervals, stars by Holm."""
        return report.latex(self.sheet)

    def to_html(self) -> str:
        """The whole report as one self-contained page."""
        few = 1 < len(self.systems) <= PAIRS_IN_REPORT
        return report.page(
            self.sheet,
            self.curve,
            self.token_curve,
            {name: self.compare_by(name) for name in GROUPS if self._has(name)},
            self.differences(),
            self.pairs() if few else None,
        )

    def pairs(self, metric: str | None = None) -> pd.DataFrame:
        """Every pair of systems tested in one metric, the first or the one named; see `pairs.pair_table`.

        Holm's correction runs over all pairs, so p_holm is larger here than in `scores`, which asks less.
        """
        parts = self.per_query.groupby("system", sort=False)[self._metric(metric)]
        scores = {name: parts.get_group(name).to_numpy(dtype=float) for name in self.systems}
        return pair_table(scores, self.config.get("seed", 0))

    def budgets(self) -> pd.DataFrame:
        """How much each system returns: `sizes`, beside the median of the others (hits_ratio, tokens_ratio, larger)."""
        if self.sizes is None:
            raise ValueError("This comparison was saved before tokens were counted. Run it again.")
        return against_others(self.sizes)

    def compare_by(self, column: Group) -> pd.DataFrame:
        """Means within each type, number of hops or of gold passages: index (group, system), `n`, then the metrics.

        Questions whose type or hops are not known form the group "unknown".
        """
        if column not in GROUPS:
            raise ValueError(f"Questions are grouped by {', '.join(map(repr, GROUPS))}, not by {column!r}.")
        if column not in self.per_query:
            raise ValueError(f"This comparison was saved before {column!r} was kept. Run it again.")
        named = self.per_query[column].astype("string").fillna("").replace("", "unknown").astype(object)
        grouped = self.per_query.assign(**{column: named}).groupby([column, "system"], sort=False)
        frame = grouped[self.metrics].mean()
        frame.insert(0, "n", grouped.size())
        # Numbers by their size, 2 before 10, then words.
        groups = sorted(named.unique(), key=lambda group: (not group.isdigit(), group.isdigit() and int(group), group))
        return frame.loc[[(group, name) for group in groups for name in self.systems]]

    def differences(self, metric: str | None = None, limit: int = 10) -> pd.DataFrame:
        """The questions on which a system and the baseline differ most, by the first metric or the one named.

        Columns query_id, question, system, score, baseline, difference; largest first, then in the order of systems
        and questions.
        """
        metric = self._metric(metric)
        frame = self.per_query[["query_id", "question", "system"]].assign(score=self.per_query[metric])
        reference = frame[frame["system"] == self.baseline].set_index("query_id")["score"]
        frame = frame[frame["system"] != self.baseline]
        frame = frame.assign(baseline=frame["query_id"].map(reference).astype(float))
        frame["difference"] = frame["score"] - frame["baseline"]
        order = frame["difference"].abs().sort_values(ascending=False, kind="stable").index[:limit]
        return frame.loc[order].query("difference != 0").reset_index(drop=True)

    def waterfall(self, system: str, k: int = 5, formatter: Formatter | None = None) -> Waterfall:
        """For each gold passage the step of the system that lost it; see `diagnosis.waterfall`.

        Raises
        ------
        ValueError : an unknown system, a comparison that was loaded, or a system that now returns other passages.
        """
        return diagnosis.waterfall_of(self, system, k=k, formatter=formatter)

    def oracle_ladder(self, system: str, metrics: Sequence[str] = ("recall@5", "all_recall@5")) -> OracleLadder:
        """What a system would score with gold seeds, gold entities, a gold reranking; see `diagnosis.oracle_ladder`."""
        return diagnosis.ladder_of(self, system, metrics=metrics)

    def compare_queries(
        self, a: str, b: str, metric: str | None = None, limit: int = 10, data: QADataset | None = None
    ) -> QueryComparison:
        """The questions on which two systems differ most, each explained; `data` where the comparison was loaded."""
        return diagnosis.pairs_of(self, a, b, data, metric=metric, limit=limit)

    def _metric(self, name: str | None) -> str:
        name = name or self.metrics[0]
        if name not in self.metrics:
            raise ValueError(f"Unknown metric {name!r}. This comparison has: {', '.join(self.metrics)}.")
        return name

    def _has(self, column: str) -> bool:
        """Whether a grouping is there and says anything: at least two groups."""
        return column in self.per_query and len(set(self.per_query[column].astype("string").fillna(""))) > 1

    def save(self, directory: Path | str) -> Path:
        """Write scores.csv and the other tables, per_query.parquet, TREC runs and qrels, report.html and config.json.

        Tables and runs are the same bytes for the same rankings; timings stand only in config.json and report.html.
        Of a system with several seeds, the first one's run is written. Runs of systems that an earlier comparison in
        this directory had and this one lacks are removed.

        Returns
        -------
        The path of the report.
        """
        return storage.save(self, Path(directory))

    @classmethod
    def load(cls, directory: Path | str) -> Comparison:
        """Read what `save` wrote.

        Scores come back as the csv has them, to six decimals; rankings hold ids and scores alone, no paths or stages.
        """
        return cls(**storage.load(Path(directory)))
