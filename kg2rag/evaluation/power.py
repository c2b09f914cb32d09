"""Differences per question -> the smallest difference that is seen, and the questions it needs.

Reference: Cohen, "Statistical Power Analysis" (1988), Sec. 2.4 (how many questions).
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from kg2rag.evaluation.statistics import (
    EQUAL,
    LEVEL,
    chances_of_low_sums,
    in_units,
    score_columns,
)
from kg2rag.types import FloatArray, IntArray

POWER = 0.80
"""The chance of seeing a difference that is there: the convention of Cohen (1988)."""
SPREAD_LEVEL = 0.80
"""The level of the interval of a standard deviation in `questions_needed`."""
MIN_QUESTIONS = 10
"""Questions from which the spread of differences is used to plan: of fewer it is hardly known."""
SIMULATIONS = 1_000
"""Question sets drawn to find a power, which is then known to about .013."""


def detectable_difference(
    differences: FloatArray, tests: int = 1, *, seed: int = 0
) -> FloatArray:
    """The minimum detectable difference of means at 80 % power, (n_columns,), by simulation.

    A simulated question set keeps the size of each question's difference and draws its sign: one
    system is ahead with the same probability on every question. The result is the mean difference,
    in the metric's unit, at the smallest probability with which the randomisation test is
    significant in 80 % of the sets. It is NaN if so few questions differ that the test cannot be
    significant.

    differences : (n_queries, n_columns).
    tests : number of tests in the family, by which the level is divided.
    """
    table = np.abs(score_columns(differences)[0])
    sums = [
        _detectable_sum(row[row > EQUAL], LEVEL / max(tests, 1), seed) for row in table
    ]
    return np.asarray(np.array(sums, dtype=np.float64) / table.shape[1])


def _detectable_sum(sizes: FloatArray, level: float, seed: int) -> float:
    """The smallest sum of differences of one pair that is detected with `POWER`; NaN if none is.

    sizes : the absolute differences of the questions that differ.
    """
    counts, chances = _counts_and_chances(sizes)
    total = int(counts.sum())
    significant = np.flatnonzero(2 * np.cumsum(chances) <= level)
    if not len(sizes) or not len(significant):
        return float("nan")
    critical = total - 2 * int(significant[-1])
    random_numbers = np.random.default_rng(seed).random((SIMULATIONS, len(counts)))
    # Bisection of the probability that one system wins a question: 12 halvings, to .0002.
    low, high = 0.5, 1.0
    for _ in range(12):
        p_win = (low + high) / 2
        wins_less_losses = 2 * ((random_numbers < p_win) @ counts) - total
        if (wins_less_losses >= critical).mean() < POWER:
            low = p_win
        else:
            high = p_win
    return float((2 * high - 1) * sizes.sum())


def _counts_and_chances(sizes: FloatArray) -> tuple[IntArray, FloatArray]:
    """Differences in whole units, and the probabilities of their sums, `chances_of_low_sums`.

    Differences without a common unit, or with too many sums, are rounded to 1/60 of the largest.
    """
    counts = in_units(sizes)
    chances = None if counts is None else chances_of_low_sums(counts, 0)
    if counts is None or chances is None:
        counts = np.maximum(1, np.rint(sizes / sizes.max() * 60)).astype(np.int64)
        chances = chances_of_low_sums(counts, 0)
    return counts, np.ones(1) if chances is None else chances


def questions_needed(
    differences: ArrayLike, min_gain: float, level: float = LEVEL
) -> tuple[int, int] | None:
    """The fewest and the most questions that detect a mean difference `min_gain` with 80 % power.

    The number is ((z(1 - level / 2) + z(power)) sd / min_gain)², the normal approximation of the
    paired t-test [Cohen 1988]. The standard deviation sd is estimated from the questions at hand,
    so the range uses both ends of its 80 % interval. Both numbers are at least the n for which
    Wilson's interval of 0 of n excludes a share of `min_gain`: fewer tied questions would not rule
    out that this share of all questions differs. None for fewer than `MIN_QUESTIONS` questions.

    differences : (n_queries,) of two systems' scores.
    """
    values = score_columns(differences)[0][0]
    if len(values) < MIN_QUESTIONS:
        return None
    z, z_power = _normal_quantiles(level)
    by_ties = z**2 * max(1 - min_gain, 0) / min_gain
    by_power = ((z + z_power) * values.std(ddof=1) / min_gain) ** 2
    low, high = (
        max(by_power * factor**2, by_ties) for factor in spread_factors(len(values))
    )
    return math.ceil(low), math.ceil(high)


def _normal_quantiles(level: float) -> tuple[float, float]:
    """The standard normal quantiles of 1 - level / 2 and of `POWER`."""
    from scipy.stats import norm

    return float(norm.isf(level / 2)), float(norm.isf(1 - POWER))


def planning_constants(questions: int) -> dict[str, Any]:
    """The constants with which the script of a page computes `questions_needed`.

    Keys: z and z_power, the normal quantiles; spread, a list whose entry n has the `spread_factors`
    of n questions, up to `questions`, and is None below `MIN_QUESTIONS`; min_questions.
    """
    z, z_power = _normal_quantiles(LEVEL)
    spread = [
        None if n < MIN_QUESTIONS else spread_factors(n) for n in range(questions + 1)
    ]
    return {
        "z": z,
        "z_power": z_power,
        "spread": spread,
        "min_questions": MIN_QUESTIONS,
    }


def spread_factors(n: int) -> tuple[float, float]:
    """The factors that turn the standard deviation of `n` values into the ends of its interval.

    The interval has level `SPREAD_LEVEL` and assumes normal values.

    >>> [round(factor, 3) for factor in spread_factors(10)]
    [0.783, 1.469]
    """
    from scipy.stats import chi2

    tail = (1 - SPREAD_LEVEL) / 2
    degrees = n - 1
    low = math.sqrt(degrees / chi2.isf(tail, degrees))
    high = math.sqrt(degrees / chi2.ppf(tail, degrees))
    return low, high
