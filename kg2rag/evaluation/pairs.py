"""Scores of several systems -> every pair of them tested; and whether the best is better than all the others.

All pairs are one family under Holm's correction, so that the chance of any false finding among them stays below 5 %.
Power is that of the paired t-test, by statsmodels; the randomisation test's is about the same (Smucker, Allan &
Carterette, CIKM 2007). Method: Cohen, "Statistical Power Analysis for the Behavioral Sciences", 2nd ed. (1988), Sec.
2.3 to 2.5.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import combinations

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from kg2rag.evaluation.significance import (
    RESAMPLES,
    bootstrap_interval,
    effect_size,
    holm,
    paired_test,
    paired_tests,
    win_tie_loss,
)
from kg2rag.types import FloatArray

_PER_PAIR = 100
"""Resamples per pair: a drawn p is at least 2 / resamples, which times the number of pairs must be below the level."""

LEVEL = 0.05
"""The chance of a false finding that is accepted within a family of tests."""
POWER = 0.80
"""The chance of seeing a difference that is there: the convention of Cohen (1988)."""


def pair_table(scores: Mapping[str, FloatArray], seed: int = 0, resamples: int | None = None) -> pd.DataFrame:
    """Every pair of systems in one metric, in the order of the systems.

    Parameters
    ----------
    scores : system -> (n_queries,).
    resamples : of the randomisation test; 20 000, and more where the correction for many pairs needs it.

    Returns
    -------
    One row per pair: a, b, difference (of the means, a - b), ci_low, ci_high (95 %, paired bootstrap), p and p_holm
    (randomisation), p_t and p_t_holm (paired t-test), effect_size (Cohen's d_z), detectable (the smallest difference
    seen with 80 % power), wins, ties, losses (of a).
    """
    pairs = list(combinations(scores, 2))
    columns = ["a", "b", "difference", "ci_low", "ci_high", "p", "p_holm", "p_t", "p_t_holm"]
    columns += ["effect_size", "detectable", "wins", "ties", "losses"]
    if not pairs:
        return pd.DataFrame(columns=columns)
    first = np.stack([scores[a] for a, _ in pairs], axis=1)
    second = np.stack([scores[b] for _, b in pairs], axis=1)
    low, high = bootstrap_interval(first - second, seed=seed)
    p = randomised_pairs({name: column[:, None] for name, column in scores.items()}, pairs, seed, resamples)[:, 0]
    p_t, effect = t_test(first, second)
    named = {"a": [a for a, _ in pairs], "b": [b for _, b in pairs], "difference": (first - second).mean(axis=0)}
    tested = {"ci_low": low, "ci_high": high, "p": p, "p_holm": holm(p), "p_t": p_t, "p_t_holm": corrected(p_t)}
    sizes = {"effect_size": effect, "detectable": detectable_difference(first, second, len(pairs))}
    counts = [win_tie_loss(scores[a], scores[b])._asdict() for a, b in pairs]
    return pd.concat([pd.DataFrame(named | tested | sizes), pd.DataFrame(counts)], axis=1)[columns]


def randomised_pairs(
    scores: Mapping[str, FloatArray], pairs: list[tuple[str, str]], seed: int, resamples: int | None = None
) -> FloatArray:
    """Uncorrected p-values of the randomisation test of some pairs, in every metric.

    `scores` : system -> (n_queries, n_metrics).
    Returns (n_pairs, n_metrics).
    """
    names = list(scores)
    n_metrics = scores[names[0]].shape[1]
    metrics = np.arange(n_metrics)
    first = np.concatenate([names.index(a) * n_metrics + metrics for a, _ in pairs])
    second = np.concatenate([names.index(b) * n_metrics + metrics for _, b in pairs])
    table = np.concatenate([scores[name] for name in names], axis=1)
    drawn = resamples or max(RESAMPLES, _PER_PAIR * len(pairs))
    return paired_tests(table, first, second, seed, drawn).reshape(len(pairs), n_metrics)


def p_of_best(scores: Mapping[str, FloatArray], pairs: list[tuple[str, str]], p: FloatArray) -> list[tuple[str, float]]:
    """The best system of every metric and the p-value of "another one is as good".

    That p-value is the largest of those against each other system, after Holm's correction over all pairs: below .05
    the best is significantly above them all, the runner-up included. All pairs are corrected for, not only its
    own, because it was selected as the best from the same data.

    Parameters
    ----------
    scores : system -> (n_queries, n_metrics).
    pairs, p : all pairs of systems and the result of `randomised_pairs` for them.

    Returns
    -------
    A name and a p-value per metric.
    """
    names = list(scores)
    found = []
    for metric in range(p.shape[1]):
        best = names[int(np.argmax([scores[name][:, metric].mean() for name in names]))]
        own = [best in pair for pair in pairs]
        found.append((best, float(holm(p[:, metric])[own].max())))
    return found


def t_test(a: FloatArray, b: FloatArray) -> tuple[FloatArray, FloatArray]:
    """p-values of the paired t-test and effect sizes, (n_columns,) each; blank (NaN) for a single query."""
    if len(a) < 2:
        blank = np.full(a.shape[1], np.nan)
        return blank, blank
    return paired_test(a, b, method="t"), effect_size(a, b)


def corrected(p: FloatArray) -> FloatArray:
    """Holm's correction, blank where there are no p-values."""
    return p if np.isnan(p).any() else holm(p)


def detectable_effect(n_queries: int, tests: int = 1, *, level: float = LEVEL, power: float = POWER) -> float:
    """The smallest effect (Cohen's d_z) that a two-sided paired t-test over `n_queries` sees with that power.

    `tests` : in the family; the level is divided by it, as for the smallest p-value of Holm's correction.
    Returns above 0; NaN where there are too few queries for statsmodels to find one (below about five).
    """
    from statsmodels.stats.power import TTestPower

    if n_queries < 2:
        return float("nan")
    test, alpha = TTestPower(), level / max(tests, 1)
    effect = float(test.solve_power(nobs=n_queries, alpha=alpha, power=power, alternative="two-sided"))
    # Where its search fails, solve_power returns a bound of it as if it were the solution.
    solved = abs(float(test.power(effect, n_queries, alpha)) - power) < 1e-3
    return effect if solved else float("nan")


def detectable_difference(a: ArrayLike, b: ArrayLike, tests: int = 1) -> FloatArray:
    """The smallest difference of means that these questions would probably show, given how much a - b varies.

    Parameters
    ----------
    a, b : (n_queries,) or (n_queries, n_columns).
    tests : in the family, see `detectable_effect`.

    Returns
    -------
    () or (n_columns,), in the metric's own unit; NaN where a and b never differ, for then nothing is known.
    """
    difference = np.asarray(a, dtype=np.float64) - np.asarray(b, dtype=np.float64)
    if len(difference) < 2:
        return np.full(difference.shape[1:], np.nan)
    spread = difference.std(axis=0, ddof=1)
    found: FloatArray = np.where(spread > 0, spread, np.nan) * detectable_effect(len(difference), tests)
    return found
