"""Scores per question -> means, intervals, systems tested against the baseline, in pairs and against a placebo."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations, product
from typing import Any

import numpy as np
import pandas as pd

from kg2rag.evaluation.metrics import bounds
from kg2rag.evaluation.statistics import (
    EQUAL,
    detectable_difference,
    holm,
    interval_of_mean,
    interval_of_sum,
    p_values,
    t_test,
)
from kg2rag.types import FloatArray, IntArray

MANY = 20
"""With more systems than this no best one is determined: it would need a test of every pair."""
COUNTS = ("wins", "ties", "losses")
TESTS = ("p_t_holm", "effect_size", "detectable", "p_best", "seed_sd")
"""Further columns that may be blank."""
COLUMNS = ("system", "metric", "mean", "ci_low", "ci_high", "p_holm", *COUNTS, *TESTS)
OF_PLACEBOS = ("strategy", "graph", "mean", "placebo", "gain", "ci_low", "ci_high", "p", "p_holm")
SUFFIX = "-shuffled"
"""What the name of a graph's placebo adds to that of the graph."""


def score_table(
    per_query: pd.DataFrame | Mapping[str, pd.DataFrame],
    metrics: Sequence[str],
    baseline: str,
    per_seed: pd.DataFrame | None = None,
    *,
    seed: int = 0,
) -> pd.DataFrame:
    """One row per system and metric.

    per_query : as `Comparison` has it; or set -> that, of the same systems, for the macro-average, which counts every
        set alike. Its test swaps the two systems on each question of each set, and a question weighs as much as its set
        has few of them; p_t_holm, effect_size, detectable and seed_sd are of one set, and blank.
    seed : of the bootstrap, and of tests that must draw.

    Returns the columns system, metric, mean, ci_low, ci_high (95 %, see `interval_of_mean`); then against the baseline,
    where its own row is blank (NaN): p_holm (randomisation, corrected within the metric), wins, ties, losses, p_t_holm
    (paired t-test), effect_size (Cohen's d_z), detectable (the smallest difference seen with 80 % power); then p_best,
    for the best of a metric alone and among up to `MANY` systems (see `p_of_best`), and seed_sd, the standard deviation
    (n - 1) of the mean between seeds.
    """
    frames = [per_query] if isinstance(per_query, pd.DataFrame) else list(per_query.values())
    systems, names = list(dict.fromkeys(frames[0]["system"])), list(metrics)
    parts = [dict(iter(frame.groupby("system", sort=False))) for frame in frames]
    # (n_systems, n_questions, n_metrics) each
    tables = [np.stack([part[name][names].to_numpy(dtype=np.float64) for name in systems]) for part in parts]
    ends = [_macro([one[:, :, at] for one in tables], bounds(m), seed) for at, m in enumerate(metrics)]
    mean, low, high = (np.stack(part, axis=1).ravel() for part in zip(*ends, strict=True))
    table = pd.DataFrame(product(systems, metrics), columns=["system", "metric"])
    table = table.assign(mean=mean, ci_low=low, ci_high=high)

    # Weighed so that the plain mean of all questions is the macro-average.
    share = sum(one.shape[1] for one in tables) / len(tables)
    values = dict(zip(systems, np.concatenate([one * (share / one.shape[1]) for one in tables], axis=1), strict=True))
    others = [name for name in systems if name != baseline]
    tests = pd.DataFrame(product(others, metrics), columns=["system", "metric"])
    best: list[tuple[str, float]] = []
    if others:
        against = np.concatenate([values[name] - values[baseline] for name in others], axis=1)
        pairs = list(combinations(systems, 2)) if len(systems) <= MANY else [(baseline, name) for name in others]
        every = np.concatenate([values[a] - values[b] for a, b in pairs], axis=1)
        p = p_values(every, seed, tests=len(others)).reshape(len(pairs), len(metrics))
        tests["p_holm"] = corrected(p[[baseline in pair for pair in pairs]])
        tests[list(COUNTS)] = win_tie_loss(against)
        best = p_of_best(values, pairs, p) if len(systems) <= MANY else []
        if len(tables) == 1:
            p_t, tests["effect_size"] = t_test(against)
            tests["p_t_holm"] = corrected(p_t.reshape(len(others), -1))
            tests["detectable"] = detectable_difference(against, len(others))
    table = table.merge(tests, on=["system", "metric"], how="left", sort=False).reindex(columns=COLUMNS)
    for metric, (name, p_best) in zip(metrics, best, strict=False):
        table.loc[(table["system"] == name) & (table["metric"] == metric), "p_best"] = p_best
    if per_seed is not None:
        spread = per_seed.drop(columns="run").groupby("system").std(ddof=1).reindex(systems)
        table["seed_sd"] = spread[names].to_numpy(dtype=np.float64).ravel()
    return table.astype(dict.fromkeys(COUNTS, "Int64") | dict.fromkeys(("p_holm", *TESTS), float))


def _macro(
    scores: Sequence[FloatArray], limits: tuple[float, float] | None, seed: int
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Mean over sets and its interval, of (n_systems, n_questions) each: (n_systems,) each."""
    ends = [interval_of_mean(one.T, bounds=limits, seed=seed) for one in scores]
    if len(scores) == 1:
        return scores[0].mean(axis=1), *ends[0]
    means, weights = np.stack([one.mean(axis=1) for one in scores]), np.full(len(scores), 1 / len(scores))
    low, high = (np.stack(side) for side in zip(*ends, strict=True))
    return weights @ means, *interval_of_sum(means, low, high, weights)


def p_of_best(scores: Mapping[str, FloatArray], pairs: list[tuple[str, str]], p: FloatArray) -> list[tuple[str, float]]:
    """The best system of every metric, and the p-value of "another one is as good": the largest one of its pairs.

    Holm's correction is over all pairs, not only its own, for the best was selected from the same data.
    `scores` : system -> (n_queries, n_metrics). `p` : (n_pairs, n_metrics) uncorrected p-values.
    """
    means = {name: table.mean(axis=0) for name, table in scores.items()}
    best = [max(means, key=lambda name: float(means[name][at])) for at in range(p.shape[1])]
    return [(name, float(holm(p[:, at])[[name in pair for pair in pairs]].max())) for at, name in enumerate(best)]


def win_tie_loss(differences: FloatArray) -> IntArray:
    """Of (n_queries, n_columns), how many queries are above, equal to (within `EQUAL`) and below 0: (n_columns, 3)."""
    signs = (differences > EQUAL, np.abs(differences) <= EQUAL, differences < -EQUAL)
    return np.stack([sign.sum(axis=0) for sign in signs], axis=1)


def corrected(p: FloatArray) -> FloatArray:
    """Holm's correction of (n_tests, n_families), flat, row by row; blank where there are no p-values."""
    return np.stack([one if np.isnan(one).any() else holm(one) for one in p.T], axis=1).ravel()


def pair_table(scores: Mapping[str, FloatArray], seed: int = 0) -> pd.DataFrame:
    """Every pair of systems in one metric, in the order of the systems.

    `scores` : system -> (n_queries,).

    Returns one row per pair: a, b, difference (of the means, a - b), p and p_holm (randomisation; all pairs are one
    family), p_t and p_t_holm (paired t-test), effect_size (Cohen's d_z), detectable (the smallest difference seen with
    80 % power), wins, ties, losses (of a).
    """
    pairs = list(combinations(scores, 2))
    names = ["a", "b", "difference", "p", "p_holm", "p_t", "p_t_holm", "effect_size", "detectable", *COUNTS]
    if not pairs:
        return pd.DataFrame(columns=names)
    differences = np.stack([scores[a] - scores[b] for a, b in pairs], axis=1)
    p = p_values(differences, seed, tests=len(pairs))
    p_t, effect = t_test(differences)
    tested = (p, holm(p), p_t, corrected(p_t[:, None]), effect, detectable_difference(differences, len(pairs)))
    columns = (*zip(*pairs, strict=True), differences.mean(axis=0), *tested, *win_tie_loss(differences).T)
    return pd.DataFrame(dict(zip(names, columns, strict=True)))


def against_placebo(per_query: pd.DataFrame, per_seed: pd.DataFrame | None, metric: str) -> pd.DataFrame:
    """One row per system "strategy.graph" that ran over "graph" and over several placebos "graph-shuffled" of it.

    Questions and shufflings are both samples [Clark, J. Verbal Learning and Verbal Behavior 12 (1973)]: the variance is
    that of the gain over questions plus that of the mean over shufflings, each over their number, and t has
    Satterthwaite's degrees of freedom [Biometrics Bulletin 2 (1946)].

    Returns the columns strategy, graph, mean, placebo (mean over questions and shufflings), gain (their difference),
    ci_low and ci_high (95 %), p (two-sided: no gain), p_holm (corrected over the rows). Empty without a placebo.
    ValueError: a placebo that was shuffled once only, whose variance is not known.
    """
    rows = []
    wide = per_query.pivot_table(index="query_id", columns="system", values=metric, sort=False).astype(float)
    for system in (one for one in wide.columns if f"{one}{SUFFIX}" in wide.columns and "." in one):
        shuffled = f"{system}{SUFFIX}"
        runs: Any = [] if per_seed is None else per_seed.loc[per_seed["system"] == shuffled, metric]
        if len(runs) < 2:
            raise ValueError(
                f"{shuffled!r} is one shuffling, so nothing is known of how shufflings differ. Pass at least "
                "two: a list of knowledge bases, or --seeds 3."
            )
        gain = _gain((wide[system] - wide[shuffled]).to_numpy(), np.array(runs, dtype=np.float64))
        rows.append((*system.split(".", 1), wide[system].mean(), wide[shuffled].mean(), *gain, np.nan))
    table = pd.DataFrame(rows, columns=list(OF_PLACEBOS))
    return table.assign(p_holm=holm(table["p"].to_numpy(dtype=np.float64)))


def _gain(difference: FloatArray, runs: FloatArray) -> tuple[float, float, float, float]:
    """The mean of (n_queries,) differences with its interval and p, given (n_shufflings,) means of the placebo."""
    from scipy.stats import t

    gain = float(difference.mean())
    parts = [(sample.var(ddof=1) / len(sample), len(sample) - 1) for sample in (difference, runs)]
    variance = sum(part for part, _ in parts)
    if variance <= EQUAL**2:
        return gain, gain, gain, 1.0 if abs(gain) <= EQUAL else 0.0
    freedom = variance**2 / sum(part**2 / degrees for part, degrees in parts)
    error = np.sqrt(variance)
    half = float(t.ppf(0.975, freedom) * error)
    return gain, gain - half, gain + half, float(2 * t.sf(abs(gain) / error, freedom))
