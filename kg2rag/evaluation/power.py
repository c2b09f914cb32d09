"""Differences per question -> the smallest difference that is seen, and the questions it needs.

Reference: Cohen, "Statistical Power Analysis" (1988), Sec. 2.4 (how many questions).
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from kg2rag.evaluation.statistics import EQUAL, LEVEL, columns, in_units, tail_of_wins
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
    """The minimum detectable difference of means at 80 % power, found by simulation.

    By how much the two systems differ on each question stays; which of the two is ahead is drawn
    anew, with the same chance for all questions. The result, (n_columns,) in the metric's own unit,
    belongs to the smallest chance at which the randomisation test finds the difference in four of
    five simulated question sets. NaN if too few questions differ to show anything, even if one
    system won them all.

    `differences` : (n_queries, n_columns). `tests` : in the family; the level is divided by it, as
    Holm's smallest.
    """
    table = np.abs(columns(differences)[0])
    sums = [
        _detectable_sum(row[row > EQUAL], LEVEL / max(tests, 1), seed) for row in table
    ]
    return np.asarray(np.array(sums, dtype=np.float64) / table.shape[1])


def _detectable_sum(sizes: FloatArray, level: float, seed: int) -> float:
    """The smallest sum of the differences of one pair that is seen often enough; NaN if none is."""
    counts, chance = _counts_andtail_of_wins(sizes)
    total = int(counts.sum())
    significant = np.flatnonzero(2 * np.cumsum(chance) <= level)
    if not len(sizes) or not len(significant):
        return float("nan")
    critical = total - 2 * int(significant[-1])
    drawn = np.random.default_rng(seed).random((SIMULATIONS, len(counts)))
    # The share of questions that one system wins, of those that differ.
    low, high = 0.5, 1.0
    for _ in range(12):  # halvings: to .0002
        share = (low + high) / 2
        # Wins less losses.
        seen = (2 * ((drawn < share) @ counts) - total >= critical).mean()
        if seen < POWER:
            low = share
        else:
            high = share
    return float((2 * high - 1) * sizes.sum())


def _counts_andtail_of_wins(sizes: FloatArray) -> tuple[IntArray, FloatArray]:
    """Differences in whole units, and the probabilities of `tail_of_wins`.

    Without a common unit they are rounded to a coarse one.
    """
    counts = in_units(sizes)
    chance = None if counts is None else tail_of_wins(counts, 0)
    if counts is None or chance is None:
        counts = np.maximum(1, np.rint(sizes / sizes.max() * 60)).astype(np.int64)
        chance = tail_of_wins(counts, 0)
    return counts, np.ones(1) if chance is None else chance


def questions_needed(
    differences: ArrayLike, min_gain: float, level: float = LEVEL
) -> tuple[int, int] | None:
    """The range of questions that a mean difference of `min_gain` needs for 80 % power.

    None for fewer than `MIN_QUESTIONS` questions.

    By the normal approximation of the paired t-test, ((z(1 - level / 2) + z(power)) sd / min_gain)²
    [Cohen 1988]. The standard deviation sd is known only from these questions, so the range takes
    both ends of its 80 % interval. No fewer than the n for which Wilson's interval of 0 of n leaves
    out a share of `min_gain`: so many ties would be needed to rule out that this share of the
    questions differs.

    differences : (n_queries,) of two systems' scores.
    """
    (values,) = columns(differences)[0]
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
    from scipy.stats import norm

    return float(norm.isf(level / 2)), float(norm.isf(1 - POWER))


def planning_constants(questions: int) -> dict[str, Any]:
    """The constants by which a page computes `questions_needed`, for up to `questions` questions.

    z, z_power : the normal quantiles. spread : `spread_factors` by number of questions, None below
    `MIN_QUESTIONS`.
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
    """Factors of the 80 % interval of the standard deviation of `n` normal values.

    >>> [round(factor, 3) for factor in spread_factors(10)]
    [0.783, 1.469]
    """
    from scipy.stats import chi2

    tail = (1 - SPREAD_LEVEL) / 2
    degrees = n - 1
    low = math.sqrt(degrees / chi2.isf(tail, degrees))
    high = math.sqrt(degrees / chi2.ppf(tail, degrees))
    return low, high
