"""The runs of systems, under one seed or several -> every table of their comparison."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import pandas as pd

from kg2rag.compute.progress import bar as progress_bar
from kg2rag.evaluation.budgets import PassageTokens, returned_sizes
from kg2rag.evaluation.curves import depth_curve, depths_below, token_curve
from kg2rag.evaluation.metric_names import Metric
from kg2rag.evaluation.metrics import checked_scores
from kg2rag.evaluation.score_table import Family, per_query_table, score_table
from kg2rag.types import GoldUnit, QADataset, Ranking

Runs = Mapping[str, Sequence[Sequence[Ranking]]]
"""System -> a run for each of its seeds, each with a ranking for every question."""


@dataclass(frozen=True, eq=False)
class Tables:
    """The tables of a `Comparison`, which says what is in each."""

    per_query: pd.DataFrame
    per_seed: pd.DataFrame | None
    scores: pd.DataFrame
    curve: pd.DataFrame
    token_curve: pd.DataFrame
    sizes: pd.DataFrame


@dataclass(frozen=True)
class Judging:
    """How runs are judged: metrics, hits a query, the unit of gold, tokens, and what `score_table` is told."""

    metrics: Sequence[Metric]
    k: int
    unit: GoldUnit
    tokens: PassageTokens
    baseline: str
    seed: int
    family: Family
    clustered: bool

    @property
    def names(self) -> list[str]:
        """The columns of the metrics."""
        return [metric.name for metric in self.metrics]


def tables(
    runs: Runs, data: QADataset, by: Judging, *, earlier: pd.DataFrame | None = None, progress: bool = True
) -> Tables:
    """Score runs, test them, and draw their curves.

    `earlier` : the rows of `Comparison.per_query` for the first of the systems, whose metrics were computed before.
    Of these systems, each under one seed, the runs are read for the curves and sizes alone.
    """
    before = [] if earlier is None else list(dict.fromkeys(earlier["system"]))
    together = {name: [ranking for run in alike for ranking in run] for name, alike in runs.items()}
    read = sorted({metric.k or by.k for metric in by.metrics if metric.tokens is None})
    with progress_bar(len(runs) + 3, "scores, intervals, tests", "step", shown=progress) as bar:
        scored = {}
        for name, alike in runs.items():
            scored[name] = _scored(alike, data, by, [] if name in before else by.metrics)
            bar.update()
        frames = {name: sum(alike[1:], start=alike[0]) / len(alike) for name, alike in scored.items()}
        new = {name: frame for name, frame in frames.items() if name not in before}
        own = per_query_table(new, data, by.names, {name: runs[name][0] for name in new})
        per_query = own if earlier is None else pd.concat([earlier, own], ignore_index=True)
        per_seed = _per_seed({name: scored[name] for name in new}, by.names)
        judged = per_query[["system", "cluster", *by.names]]
        scores = score_table(judged, by.names, by.baseline, by.seed, per_seed, family=by.family, clustered=by.clustered)
        by_tokens = token_curve(together, data, by.tokens, by.k, by.unit)
        bar.update()
        sizes = returned_sizes(together, by.tokens, read)
        bar.update()
        made = Tables(per_query, per_seed, scores, depth_curve(frames, by.k), by_tokens, sizes)
        bar.update()
    return made


def _scored(
    runs: Sequence[Sequence[Ranking]], data: QADataset, by: Judging, metrics: Sequence[Metric]
) -> list[pd.DataFrame]:
    """The scores of each run of a system, by metric and of the recall at every depth of the curve."""
    names = [metric.name for metric in metrics]
    of_curve = [Metric.parse(f"recall@{depth}") for depth in depths_below(by.k) if f"recall@{depth}" not in names]
    return [checked_scores(run, data, [*metrics, *of_curve], unit=by.unit, tokens=by.tokens) for run in runs]


def _per_seed(scored: Mapping[str, Sequence[pd.DataFrame]], metrics: Sequence[str]) -> pd.DataFrame | None:
    """The means of every single run of the systems with several seeds: system, run (from 1), then the metrics."""
    rows = [
        {"system": name, "run": number, **frame[list(metrics)].mean().to_dict()}
        for name, alike in scored.items()
        if len(alike) > 1
        for number, frame in enumerate(alike, start=1)
    ]
    return pd.DataFrame(rows) if rows else None
