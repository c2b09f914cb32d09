"""Scores per question on several sets -> macro-averages, their intervals, every system tested against the baseline.

Each set counts alike, however many questions it has. The sets are taken as given: an interval or a test says how much
other questions of these sets would move the result, and nothing of sets that were not tried, for which a handful is too
few [Demsar, "Statistical Comparisons of Classifiers over Multiple Data Sets", JMLR 7 (2006)].
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations, product

import numpy as np
import pandas as pd

from kg2rag.evaluation.intervals import interval_of_mean, interval_of_sum
from kg2rag.evaluation.metric_names import bounds
from kg2rag.evaluation.pairs import p_of_best, randomised_pairs
from kg2rag.evaluation.score_table import COUNTS, MANY, TESTS, Family, corrected_by_family
from kg2rag.evaluation.significance import resamples_for, win_tie_loss
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
    Then difference, to the baseline, with its paired interval: difference_low, difference_high. Intervals are made of
    those of the sets, see `interval_of_sum`. p_holm is of the paired randomisation test in which the two systems are
    swapped on each question of each set; a question weighs as much as its set has few of them.
    """
    frames = list(per_query.values())
    systems = list(dict.fromkeys(frames[0]["system"]))
    tables = [_table(frame, systems, metrics) for frame in frames]
    groups = _groups(frames, systems[0]) if clustered else None
    frame = _means(tables, systems, metrics, baseline, seed, groups)
    values = _weighted(tables, systems)
    pairs, p = _tested(values, baseline, seed, groups, len(metrics) if family == "all" else 1)
    frame = frame.merge(_against(values, metrics, baseline, pairs, p, family), on=["system", "metric"], how="left")
    frame[list(TESTS)] = np.nan
    complete = len(systems) <= MANY and len(pairs) > 0
    for metric, (name, p_best) in zip(metrics, p_of_best(values, pairs, p) if complete else [], strict=complete):
        frame.loc[(frame["system"] == name) & (frame["metric"] == metric), "p_best"] = p_best
    return frame.astype(dict.fromkeys(COUNTS, "Int64"))


def _tested(
    values: Mapping[str, FloatArray], baseline: str, seed: int, groups: Sequence[IntArray] | None, families: int
) -> tuple[list[tuple[str, str]], FloatArray]:
    """Pairs of systems, all of them or of many those with the baseline, and (n_pairs, n_metrics) uncorrected p."""
    others = [name for name in values if name != baseline]
    pairs = list(combinations(values, 2)) if len(values) <= MANY else [(baseline, name) for name in others]
    if not pairs:
        return [], np.empty((0, 0))
    together = None if groups is None else np.concatenate(groups)
    return pairs, randomised_pairs(values, pairs, seed, resamples_for(len(others) * families), together)


def _against(
    values: Mapping[str, FloatArray],
    metrics: Sequence[str],
    baseline: str,
    pairs: Sequence[tuple[str, str]],
    p: FloatArray,
    family: Family,
) -> pd.DataFrame:
    """Columns system, metric, p_holm, wins, ties and losses of all systems but the baseline."""
    columns = ["system", "metric", "p_holm", *COUNTS]
    others = [name for name in values if name != baseline]
    if not others:
        return pd.DataFrame(columns=columns).astype(dict.fromkeys(columns[2:], float))
    against = p[[baseline in pair for pair in pairs]]
    p_holm = corrected_by_family(against.ravel(), len(metrics) if family == "metric" else 1)
    counts = [
        win_tie_loss(values[name][:, at], values[baseline][:, at]) for name in others for at in range(len(metrics))
    ]
    names = product(others, metrics)
    rows = [(*name, p, *count) for name, p, count in zip(names, p_holm, counts, strict=True)]
    return pd.DataFrame(rows, columns=columns)


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
    tables: Tables,
    systems: Sequence[str],
    metrics: Sequence[str],
    baseline: str,
    seed: int,
    groups: Sequence[IntArray] | None,
) -> pd.DataFrame:
    """Columns system to ci_high, then the difference to the baseline with its ends, which has none to itself."""
    shape = (len(systems), len(metrics))
    reference = list(systems).index(baseline)
    columns = {name: np.empty(shape) for name in ("mean", "ci_low", "ci_high")}
    apart = {name: np.empty(shape) for name in ("difference", "difference_low", "difference_high")}
    for at, metric in enumerate(metrics):
        own = bounds(metric)
        widest = None if own is None else (own[0] - own[1], own[1] - own[0])
        scores = [table[:, :, at] for table in tables]
        for found, of, limits in (
            (columns, scores, own),
            (apart, [one - one[reference] for one in scores], widest),
        ):
            for name, values in zip(found, _macro(of, limits, seed, groups), strict=True):
                found[name][:, at] = values
    frame = pd.DataFrame(product(systems, metrics), columns=["system", "metric"])
    frame = frame.assign(**{name: values.ravel() for name, values in {**columns, **apart}.items()})
    frame.loc[frame["system"] == baseline, list(apart)] = np.nan
    return frame


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
