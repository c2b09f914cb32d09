"""Paired scores -> which difference they would probably show: by Cohen's formula beforehand, by simulation afterwards.

Beforehand: Cohen, "Statistical Power Analysis for the Behavioral Sciences", 2nd ed. (1988), Sec. 2.3 to 2.5, for the
paired t-test and normal differences. Retrieval scores are not normal: the recall of two gold passages is 0, .5 or 1,
and most questions do not differ at all. So what a table shows is simulated, with the randomisation test, on its scores.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from kg2rag.evaluation.per_question import columns
from kg2rag.evaluation.significance import RESAMPLES, in_units
from kg2rag.types import FloatArray

LEVEL = 0.05
"""The chance of a false finding that is accepted within a family of tests."""
POWER = 0.80
"""The chance of seeing a difference that is there: the convention of Cohen (1988)."""
SIMULATIONS = 1_000
"""Question sets drawn to find a power, which is then known to about .013."""
_STEPS = 12  # halvings of the range of a share: to .0002
_BEYOND = 20  # resampled sums that shall lie beyond a critical value, on average
_CELLS = 2_000_000  # signs in memory at once
_COLUMNS = 128  # whose resampled sums are in memory at once


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


def detectable_difference(a: ArrayLike, b: ArrayLike, tests: int = 1, *, seed: int = 0) -> FloatArray:
    """The smallest difference of means that these questions would show with 80 % power, found by simulation.

    What is kept is by how much the two systems differ on each question; which of the two is ahead is drawn anew, `a`
    with a share of the chances that is the same for all questions. The result belongs to the smallest share at which
    the randomisation test finds the difference in four of five simulated question sets. As whoever is ahead changes
    nothing about the test's null distribution, one critical value serves them all.

    Parameters
    ----------
    a, b : (n_queries,) or (n_queries, n_columns).
    tests : in the family; the level is divided by it, as for the smallest p-value of Holm's correction.

    Returns
    -------
    () or (n_columns,), in the metric's own unit; NaN where no difference of this kind could be seen: too few questions
    differ for the test to reach the level even if one system won them all.
    """
    table, one = columns(np.asarray(a, dtype=np.float64) - np.asarray(b, dtype=np.float64))
    sizes, unit = in_units(np.abs(table))
    blocks = np.array_split(sizes, np.ceil(len(sizes) / _COLUMNS))
    critical = np.concatenate([_critical(block, LEVEL / max(tests, 1), seed) for block in blocks])
    found = np.array([_detectable(size, needed, seed) for size, needed in zip(sizes, critical, strict=True)])
    found *= unit / table.shape[1]
    return found[0] if one else found


def _critical(sizes: FloatArray, level: float, seed: int) -> FloatArray:
    """The smallest sum that the randomisation test calls significant, by column; infinite where none is.

    `sizes` : (n_columns, n_queries) absolute differences, whole numbers.
    """
    rng, draws = np.random.default_rng(seed), max(RESAMPLES, int(np.ceil(_BEYOND / level)))
    null = np.empty((draws, len(sizes)))
    for block in np.array_split(null, np.ceil(draws * sizes.shape[1] / _CELLS)):  # views
        signs = rng.integers(0, 2, (len(block), sizes.shape[1]), dtype=np.int8)
        block[:] = np.abs((2.0 * signs - 1) @ sizes.T)
    most = int(level * draws)  # so many may be significant
    largest = np.sort(np.partition(null, -most - 1, axis=0)[-most - 1 :], axis=0)
    # Of equal sums all are significant or none: the smallest that is above the largest one that must not be.
    possible = np.where(largest > largest[0], largest, np.inf)
    found: FloatArray = possible.min(axis=0)
    return found


def _detectable(size: FloatArray, critical: float, seed: int) -> float:
    """Of one pair, the smallest sum of differences that is seen often enough."""
    differ = size[size > 0]
    total = differ.sum()
    if not len(differ) or total < critical:
        return float("nan")
    drawn = np.random.default_rng(seed).random((SIMULATIONS, len(differ)))
    low, high = 0.5, 1.0  # the share of questions that `a` wins, of those that differ
    for _ in range(_STEPS):
        share = (low + high) / 2
        won = (drawn < share).astype(np.float64) @ differ
        seen = (2 * won - total >= critical).mean()  # what is won less what is lost
        low, high = (share, high) if seen < POWER else (low, share)
    return float((2 * high - 1) * total)
