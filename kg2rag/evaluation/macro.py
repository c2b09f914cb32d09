"""Scores per question on several sets -> macro-averages, their intervals, every system tested against the baseline.

Each set counts alike, however many questions it has. The sets are taken as given: an interval or a test says how much
other questions of these sets would move the result, and nothing of sets that were not tried, for which a handful is too
few [Demsar, "Statistical Comparisons of Classifiers over Multiple Data Sets", JMLR 7 (2006)].
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import product

import numpy as np
import pandas as pd

from kg2rag.evaluation.metric_names import bounds
from kg2rag.evaluation.score_table import COLUMNS, COUNTS, TESTS, Family, tested
from kg2rag.evaluation.statistics import interval_of_mean, interval_of_sum
from kg2rag.types import FloatArray, IntArray

Tables = Sequence[FloatArray]
"""One set after the other: (n_systems, n_questions, n_metrics)."""


def macro_table(
    per_query: Mapping[str, pd.DataFrame],
    metrics: Sequence[str],
    baseline: str,
    seed: int = 0,
    *,
    family: Family = "metric",
    clustered: bool = False,
) -> pd.DataFrame:
    """One row per system and metric: the mean over sets of the sets' means.

    Parameters
    ----------
    per_query : set -> its `Comparison.per_query`, all of the same systems.
    family, clustered : as `score_table` takes them.

    Returns
    -------
    The columns of `score_table`, of which p_t_holm, effect_size, detectable and seed_sd are blank: they are of one set.
    p_holm is of the paired randomisation test in which the two systems are swapped on each question of each set; a
    question weighs as much as its set has few of them.
    """
    frames = list(per_query.values())
    systems = list(dict.fromkeys(frames[0]["system"]))
    tables = [_table(frame, systems, metrics) for frame in frames]
    groups = _groups(frames, systems[0]) if clustered else None
    frame = _means(tables, systems, metrics, seed, groups)
    values, together = _weighted(tables, systems), None if groups is None else np.concatenate(groups)
    tests, best = tested(values, metrics, baseline, seed, together, family)
    frame = frame.merge(tests, on=["system", "metric"], how="left").reindex(columns=COLUMNS)
    for metric, (name, p_best) in zip(metrics, best, strict=False):
        frame.loc[(frame["system"] == name) & (frame["metric"] == metric), "p_best"] = p_best
    return frame.astype(dict.fromkeys(COUNTS, "Int64") | dict.fromkeys(("p_holm", *TESTS), float))


def _table(frame: pd.DataFrame, systems: Sequence[str], metrics: Sequence[str]) -> FloatArray:
    grouped = frame.groupby("system", sort=False)
    return np.stack([grouped.get_group(name)[list(metrics)].to_numpy(dtype=np.float64) for name in systems])


def _groups(frames: Sequence[pd.DataFrame], system: str) -> list[IntArray]:
    """Labels of the questions that share gold, set by set; those of two sets are never the same."""
    found, first = [], 0
    for frame in frames:
        labels = frame.loc[frame["system"] == system, "cluster"].to_numpy(dtype=np.int64)
        found.append(labels + first)
        first += int(labels.max(initial=-1)) + 1
    return found


def _weighted(tables: Tables, systems: Sequence[str]) -> dict[str, FloatArray]:
    """System -> (n_questions, n_metrics) of all sets, weighed so that their plain mean is the macro-average.

    The randomisation test of such scores is that of the macro-average: every question's difference changes its sign by
    itself, so no set is ever mixed with another.
    """
    questions = sum(table.shape[1] for table in tables)
    weighed = [table * (questions / (len(tables) * table.shape[1])) for table in tables]
    return dict(zip(systems, np.concatenate(weighed, axis=1), strict=True))


def _means(
    tables: Tables, systems: Sequence[str], metrics: Sequence[str], seed: int, groups: Sequence[IntArray] | None
) -> pd.DataFrame:
    """Columns system, metric, mean, ci_low, ci_high."""
    parts = [_macro([one[:, :, at] for one in tables], bounds(name), seed, groups) for at, name in enumerate(metrics)]
    mean, low, high = (np.stack(part, axis=1).ravel() for part in zip(*parts, strict=True))
    frame = pd.DataFrame(product(systems, metrics), columns=["system", "metric"])
    return frame.assign(mean=mean, ci_low=low, ci_high=high)


def _macro(
    scores: Sequence[FloatArray], limits: tuple[float, float] | None, seed: int, groups: Sequence[IntArray] | None
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Macro-average and interval of (n_systems, n_questions) each: (n_systems,) each."""
    labels: Sequence[IntArray | None] = groups or [None] * len(scores)
    ends = [
        interval_of_mean(one.T, bounds=limits, groups=label, seed=seed)
        for one, label in zip(scores, labels, strict=True)
    ]
    means = np.stack([one.mean(axis=1) for one in scores])
    low, high = (np.stack(side) for side in zip(*ends, strict=True))
    weights = np.full(len(scores), 1 / len(scores))
    return weights @ means, *interval_of_sum(means, low, high, weights)
