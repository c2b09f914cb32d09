"""Runs and gold -> scores per question and system in a tidy frame, and the tables made of it.

`ScoredRuns` is plain data. Every view of a comparison (table, verdict, page, questions that differ
most) is a function of it; `result.Comparison` offers the views as methods.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from kg2rag.evaluation.metrics import ANSWER_METRICS, Metric, checked_scores
from kg2rag.evaluation.overlap import Agreement
from kg2rag.evaluation.passage_tokens import PassageTokens
from kg2rag.evaluation.per_query import ABOUT, per_query_table
from kg2rag.evaluation.reader_answers import EM, F1, uses_passages
from kg2rag.evaluation.returned_sizes import returned_sizes, token_curve
from kg2rag.evaluation.runs import Run
from kg2rag.evaluation.significance import SHUFFLED, TESTS, score_table
from kg2rag.text.registry import unknown
from kg2rag.types import FloatArray, GoldUnit, QADataset, Ranking

DEPTHS = (1, 2, 3, 4, 5, 7, 10, 15, 20, 30, 50, 70, 100, 150, 200, 300, 500, 700, 1000)
"""Depths of the recall curve besides k, about evenly spaced on a logarithmic axis."""


class CompareInputs(NamedTuple):
    """The systems and the data of a comparison; of a system with several seeds, the first."""

    systems: Mapping[str, Any]
    data: QADataset


class Scoring(NamedTuple):
    """The options of the scoring of runs.

    `k` is the deepest point of the recall curve; `seed` is the seed of tests and intervals.
    """

    metrics: Sequence[Metric]
    k: int
    baseline: str
    unit: GoldUnit
    tokens: PassageTokens
    seed: int


@dataclass(frozen=True, eq=False, repr=False)
class ScoredRuns:
    """Runs of several systems on one data set, with their scores.

    Attributes
    ----------
    rankings : system -> its rankings, in the order of the questions; of several seeds, those of the
        first.
    per_query : the tidy frame. One row per system and question: query_id, system, type, hops, gold
        (number of gold units), question, notes (JSON), then one column per metric; with several
        seeds, means over them. NaN for an answer that a reader did not give.
    scores : one row per system and metric: mean, interval, tests against the baseline; see
        `significance.score_table`.
    curve : mean recall by depth (index `k`), one column per system.
    token_curve : mean recall by tokens returned (index `tokens`), one column per system.
    sizes : one row per system and depth that a metric reads: system, k, hits, tokens (means).
    config : what the numbers depend on, as JSON values; see `comparison_record`.
    per_seed : one row per run of the systems with several seeds: system, run, then means by metric;
        None if there are none.
    answers : the answers of the reader, see `reader_answers.read_answers`; None without a reader.
    inputs : systems and data, in memory only; None in a loaded comparison.
    unjudged : the agreement of the systems on questions without gold, in memory only; None if all
        questions have gold.
    stored : system -> date and time (ISO) at which its run was computed, for runs from the store;
        in memory only.
    usage : the cost of the reader in words; in memory only.
    """

    rankings: Mapping[str, Sequence[Ranking]]
    per_query: pd.DataFrame
    scores: pd.DataFrame
    curve: pd.DataFrame
    token_curve: pd.DataFrame
    sizes: pd.DataFrame
    config: Mapping[str, Any]
    per_seed: pd.DataFrame | None = None
    answers: pd.DataFrame | None = None
    inputs: CompareInputs | None = None
    unjudged: Agreement | None = None
    stored: Mapping[str, str] = field(default_factory=dict)
    usage: str = ""

    @property
    def systems(self) -> list[str]:
        """The names of the systems, in the order of the table."""
        return list(self.rankings)

    @property
    def metrics(self) -> list[str]:
        """The names of the metrics, in the order of the table."""
        return [column for column in self.per_query.columns if column not in ABOUT]

    @property
    def baseline(self) -> str:
        """The system against which the others are tested."""
        return str(self.config["baseline"])

    @property
    def seed(self) -> int:
        """The seed of tests and intervals that draw random numbers."""
        return int(self.config.get("seed", 0))

    @property
    def ms_per_query(self) -> dict[str, float]:
        """System -> milliseconds per query, warm; NaN if not measured, see `runs.Run`."""
        times = self.config["ms_per_query"]
        return {name: math.nan if ms is None else ms for name, ms in times.items()}

    @property
    def build_seconds(self) -> dict[str, float]:
        """System -> seconds to build its indexes and graphs; empty for some saved comparisons."""
        return dict(self.config.get("build_seconds", {}))

    @property
    def has_placebos(self) -> bool:
        """Whether a system also ran over shuffled copies of its graph, under several seeds."""
        if self.per_seed is None:
            return False
        repeated = set(self.per_seed["system"])
        return any(f"{name}{SHUFFLED}" in repeated for name in self.systems)

    @property
    def missing_answers(self) -> int:
        """The number of failed answers of the reader, over all systems and bounds."""
        if self.answers is None:
            return 0
        return int(self.answers["failure"].notna().sum())

    def is_untested(self, metric: str) -> bool:
        """Whether a metric has no test, such as those of a reader that does not use passages."""
        return bool(
            self.scores.loc[self.scores["metric"] == metric, "p_holm"].isna().all()
        )

    def scores_of(self, metric: str) -> dict[str, FloatArray]:
        """System -> its scores in a metric, (n_questions,).

        A question without a score for some system is left out.
        """
        groups = self.per_query.groupby("system", sort=False)[metric]
        scores = np.stack(
            [groups.get_group(name).to_numpy(dtype=float) for name in self.systems]
        )
        return dict(
            zip(self.systems, scores[:, ~np.isnan(scores).any(axis=0)], strict=True)
        )

    def require_metric(self, metric: str | None) -> str:
        """The metric, by default the first; ValueError: it was not measured."""
        if metric is None:
            return self.metrics[0]
        if metric not in self.metrics:
            raise ValueError(unknown("metric", metric, self.metrics))
        return metric

    def require_system(self, system: str) -> str:
        """The system; ValueError: it was not compared."""
        if system not in self.systems:
            raise ValueError(unknown("system", system, self.systems))
        return system


def score_runs(
    runs: Mapping[str, Sequence[Run]],
    data: QADataset,
    scoring: Scoring,
    answers: pd.DataFrame | None = None,
) -> dict[str, Any]:
    """The tables of `ScoredRuns`, by the names of its attributes.

    runs : system -> one run per seed.
    answers : the answers of a reader, whose metrics follow the others; None without a reader.
    """
    metrics, k, baseline, unit, tokens, seed = scoring
    depths = _curve_depths(k)
    measured = _with_recalls(metrics, depths)
    score = partial(
        checked_scores, data=data, metrics=measured, unit=unit, tokens=tokens
    )
    seed_frames = {
        name: [score(run.rankings) for run in seeds] for name, seeds in runs.items()
    }
    frames = {name: mean_frame(seeds) for name, seeds in seed_frames.items()}
    names = [metric.name for metric in metrics]
    per_seed = _means_per_seed(seed_frames, names)
    untested: list[str] = []
    if answers is not None:
        names += (
            answers[list(ANSWER_METRICS)]
            .dropna(axis="columns", how="all")
            .columns.tolist()
        )
        answers_of = answers.set_index(["system", "query_id"])[list(ANSWER_METRICS)]
        frames = {
            name: frame.join(answers_of.loc[name]) for name, frame in frames.items()
        }
        if not uses_passages(answers, seed):
            untested = [EM, F1]
    first_rankings = {name: seeds[0].rankings for name, seeds in runs.items()}
    per_query = per_query_table(frames, data, names, first_rankings)
    scores = score_table(per_query, names, baseline, per_seed, seed=seed)
    scores.loc[scores["metric"].isin(untested), ["p_holm", *TESTS]] = np.nan
    rankings = {name: _all_rankings(seeds) for name, seeds in runs.items()}
    return {
        "per_query": per_query,
        "per_seed": per_seed,
        "curve": _recall_curve(frames, depths),
        "token_curve": token_curve(rankings, data, tokens, k, unit),
        "sizes": returned_sizes(rankings, tokens, _depths_read(metrics, k)),
        "scores": scores,
        "answers": answers,
    }


def _curve_depths(k: int) -> list[int]:
    """The depths of the recall curve: those of `DEPTHS` below k, and k."""
    return [*(depth for depth in DEPTHS if depth < k), k]


def _depths_read(metrics: Sequence[Metric], k: int) -> list[int]:
    """The depths to which the metrics read, without those that read up to a number of tokens."""
    return sorted({metric.k or k for metric in metrics if metric.tokens is None})


def _all_rankings(runs: Sequence[Run]) -> list[Ranking]:
    """The rankings of all runs, one run after the other."""
    return [ranking for run in runs for ranking in run.rankings]


def _with_recalls(metrics: Sequence[Metric], depths: Sequence[int]) -> list[Metric]:
    """The metrics, followed by the recall at each depth that is not among them."""
    names = [metric.name for metric in metrics]
    recalls = [f"recall@{depth}" for depth in depths]
    return [
        *metrics,
        *(Metric.parse(recall) for recall in recalls if recall not in names),
    ]


def mean_frame(frames: Sequence[pd.DataFrame]) -> pd.DataFrame:
    """The cell-wise mean of frames with the same index and columns."""
    return sum(frames[1:], start=frames[0]) / len(frames)


def _means_per_seed(
    frames: Mapping[str, Sequence[pd.DataFrame]], metrics: Sequence[str]
) -> pd.DataFrame | None:
    """One row per system and seed, numbered from 1: system, run, and the mean of each metric.

    Only systems with several seeds have rows; None if there is no such system.
    """
    rows = []
    for name, seed_frames in frames.items():
        if len(seed_frames) > 1:
            for number, frame in enumerate(seed_frames, start=1):
                means = frame[list(metrics)].mean().to_dict()
                rows.append({"system": name, "run": number, **means})
    return pd.DataFrame(rows) if rows else None


def _recall_curve(
    frames: Mapping[str, pd.DataFrame], depths: Sequence[int]
) -> pd.DataFrame:
    """The mean recall by depth (index `k`), one column per system."""
    columns = {}
    for system, frame in frames.items():
        columns[system] = [float(frame[f"recall@{depth}"].mean()) for depth in depths]
    return pd.DataFrame(columns, index=pd.Index(depths, name="k"))
