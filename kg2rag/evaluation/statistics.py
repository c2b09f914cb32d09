"""Scores per question -> intervals of means, and p-values.

References: Smucker, Allan & Carterette, "A Comparison of Statistical Significance Tests for
Information Retrieval Evaluation", CIKM 2007 (why randomisation). Holm, "A Simple Sequentially
Rejective Multiple Test Procedure", Scand. J. Statist. 6 (1979). Wilson, "Probable Inference, the
Law of Succession, and Statistical Inference", JASA 22 (1927). Efron, "Better Bootstrap Confidence
Intervals", JASA 82 (1987). Zou & Donner, "Construction of Confidence Limits about Effect Measures",
Statistics in Medicine 27 (2008) (sums of means). Hartigan, "Using Subsample Values as Typical
Values", JASA 64 (1969) (intervals of differences). Clopper & Pearson, Biometrika 26 (1934)
(questions that may not have been seen).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import ArrayLike

from kg2rag.types import FloatArray, IntArray

EQUAL = 1e-9
"""Scores that differ by no more than this are a tie."""
DIGITS = 9
"""Decimals of rounded means: equal means are a tie in any order of summation."""
LEVEL = 0.05
"""The chance of a false finding that is accepted within a family of tests."""
RESAMPLES = 20_000
"""Random swaps of a test that is not exact; a family of tests draws more, see `p_values`."""
# The units are 1 / these numbers; they divide 1/2 … 1/10, their thirds, 1/11, 1/12, 1/13 … 1/16.
_UNITS = (2520, 7560, 27720, 720720)
_CELLS = 2_000_000  # resampled scores in memory at once; 16 MB
_STEPS = 300_000_000  # additions that an exact test may cost: a third of a second
# Sums beyond the observed one, from which p has a standard error of 7 % [Besag & Clifford,
# Biometrika 78, 1991].
_ENOUGH = 200


def columns(values: ArrayLike) -> tuple[FloatArray, bool]:
    """Values as (n_columns, n_queries), and whether they were a single column."""
    table = np.asarray(values, dtype=np.float64)
    if table.ndim not in (1, 2) or not len(table):
        raise ValueError(
            f"Scores must be (n_queries,) or (n_queries, n_columns), with a query, not {table.shape}."
        )
    if not np.isfinite(table).all():
        raise ValueError("Scores must be finite: a missing score is no score of 0.")
    return np.ascontiguousarray(
        table[None, :] if table.ndim == 1 else table.T
    ), table.ndim == 1


def interval_of_mean(
    values: ArrayLike,
    *,
    bounds: tuple[float, float] | None = (0.0, 1.0),
    resamples: int = 10_000,
    seed: int = 0,
) -> tuple[FloatArray, FloatArray]:
    """A 95 % interval of the mean over queries, () or (n_columns,) each end.

    It keeps its coverage near the ends of a range.

    For scores of only 0 and 1, Wilson's interval of a proportion [Wilson 1927]. For equal scores,
    as many others as Wilson's interval for 0 of n allows may lie at an end of the range. Otherwise
    the bias-corrected and accelerated bootstrap [Efron 1987]. NaN for equal scores without
    `bounds`, and for a single question.

    values : (n_queries,) or (n_queries, n_columns); all columns see the same resampled queries.
    bounds : the range of the scores; None if they have none.
    """
    from scipy.stats import bootstrap

    table, is_single = columns(values)
    if bounds is not None:
        _require_bounds(table, bounds)
    n = table.shape[1]
    low, high = np.full(len(table), np.nan), np.full(len(table), np.nan)
    equal = np.ptp(table, axis=1) <= EQUAL
    binary = ((table == 0) | (table == 1)).all(axis=1) & ~equal & (bounds == (0.0, 1.0))
    if bounds is not None:
        score = table[equal, 0]
        unseen = _wilson([0], n)[1]
        low[equal] = score - unseen * (score - bounds[0])
        high[equal] = score + unseen * (bounds[1] - score)
    low[binary], high[binary] = _wilson(
        table[binary].sum(axis=1).astype(int).tolist(), n
    )
    graded = ~equal & ~binary & (n > 1)
    if graded.any():
        result = bootstrap(
            (np.arange(n),),
            _means_of_rows(table[graded]),
            n_resamples=resamples,
            method="BCa",
            vectorized=True,
            batch=max(1, _CELLS // n),
            rng=np.random.default_rng(seed),
        )
        low[graded], high[graded] = result.confidence_interval
    return (low[0], high[0]) if is_single else (low, high)


def _require_bounds(table: FloatArray, bounds: tuple[float, float]) -> None:
    """Raise ValueError if a score lies outside the bounds."""
    lowest = table.min()
    highest = table.max()
    if lowest < bounds[0] - EQUAL or highest > bounds[1] + EQUAL:
        raise ValueError(
            f"Scores lie between {lowest:g} and {highest:g}, bounds are {bounds}. Pass the range of "
            "the metric, or None if it has none."
        )


def _means_of_rows(table: FloatArray) -> Callable[..., FloatArray]:
    """The statistic of a bootstrap: query numbers (..., size) -> means (n_columns, ...).

    How often each query was drawn, times its scores, is the sum of a resample: one matrix product
    for all columns.
    """
    n = table.shape[1]

    def means(queries: IntArray, axis: int = -1) -> FloatArray:  # noqa: ARG001
        *shape, size = queries.shape
        resamples = queries.reshape(-1, size)
        cells = resamples + n * np.arange(len(resamples))[:, None]
        counts = np.bincount(cells.ravel(), minlength=n * len(resamples)).reshape(-1, n)
        return np.asarray(
            np.round(table @ counts.T / size, DIGITS).reshape(len(table), *shape)
        )

    return means


def _wilson(successes: Sequence[int], n: int) -> tuple[FloatArray, FloatArray]:
    """The ends of Wilson's intervals of some proportions of `n`."""
    from scipy.stats import binomtest

    intervals = [
        binomtest(count, n).proportion_ci(method="wilson") for count in successes
    ]
    low, high = np.reshape(intervals, (-1, 2)).T
    return low, high


def interval_of_sum(
    means: FloatArray, low: FloatArray, high: FloatArray, weights: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """An interval of a weighted sum of means of different questions, from their intervals.

    Distances to the ends add by their squares; a mean with a negative weight adds to the other end
    [Zou & Donner 2008, Eq. 4]. `means`, `low`, `high` : (n_means, ...). `weights` : (n_means,), 1/n
    each for a macro-average, 1 and -1 for a difference.

    >>> low, high = interval_of_sum(np.array([.5, .5]), np.array([.2, .2]), np.array([.8, .8]), np.array([.5, .5]))
    >>> round(float(low), 3), round(float(high), 3)
    (0.288, 0.712)
    """
    factors = np.reshape(weights, (-1, *(1,) * (np.ndim(means) - 1)))
    below = factors * (means - low)
    above = factors * (high - means)
    downwards = np.where(factors < 0, above, below)
    upwards = np.where(factors < 0, below, above)
    total = (factors * means).sum(axis=0)
    return total - np.sqrt((downwards**2).sum(axis=0)), total + np.sqrt(
        (upwards**2).sum(axis=0)
    )


def p_values(differences: ArrayLike, seed: int = 0, *, tests: int = 1) -> FloatArray:
    """The paired randomisation test: two-sided p-values of "the mean difference is 0".

    p is the chance that swapping the systems on each query at random gives a sum at least as far
    from 0. It is exact where differences are multiples of a unit, as those of recall and of
    reciprocal ranks. Elsewhere swaps are drawn, the observed sum counted in, until p is known to 7
    % of itself or enough are drawn. 1.0 where all differences are 0.

    differences : (n_queries,) or (n_queries, n_columns), of two systems' scores.
    seed : of the swaps, if they are drawn.
    tests : in the family; the more there are, the more swaps are drawn, so that the smallest p can
    be below .001 after correction.
    """
    table, is_single = columns(differences)
    table = np.where(np.abs(table) <= EQUAL, 0.0, table)
    p = np.array([_exact(row) for row in table])
    not_exact = np.isnan(p)
    p[not_exact] = _resampled(table[not_exact], max(RESAMPLES, 4_000 * tests), seed)
    return p[0] if is_single else p


def in_units(values: FloatArray) -> IntArray | None:
    """Values as whole numbers of the largest unit that divides them all; None if there is none."""
    for unit in _UNITS:
        counts = np.rint(values * unit).astype(np.int64)
        if (np.abs(values * unit - counts) <= EQUAL * unit).all():
            return np.asarray(counts // max(1, int(np.gcd.reduce(counts))))
    return None


def _exact(differences: FloatArray) -> float:
    """The p-value of one test; NaN if there is no unit, or counting would take too long."""
    counts = in_units(differences[differences != 0])
    if counts is None:
        return np.nan
    tail = tail_of_wins(np.abs(counts), int(abs(counts.sum())))
    return np.nan if tail is None else min(1.0, 2 * float(tail.sum()))


def tail_of_wins(sizes: IntArray, least: int) -> FloatArray | None:
    """The probability of each sum of wins of one of two equal systems, up to a bound.

    At the bound, the other system is `least` ahead.

    A system that wins w of the total is behind by total - 2 w. None if that would take too long.
    """
    last = (int(sizes.sum()) - least) // 2
    if len(sizes) * last > _STEPS:
        return None
    chance = np.zeros(last + 1)
    chance[0] = 1.0
    for size in np.sort(sizes).tolist():
        chance *= 0.5
        if size <= last:
            chance[size:] += chance[: last + 1 - size].copy()
    return chance


def _resampled(table: FloatArray, resamples: int, seed: int) -> FloatArray:
    """(n_tests,) p-values of (n_tests, n_queries) differences by random swaps."""
    rng = np.random.default_rng(seed)
    observed = np.abs(table.sum(axis=1)) - EQUAL * np.abs(table).sum(axis=1)
    n_beyond = np.ones(len(table))  # the observed sum counts as one
    drawn = np.ones(len(table))
    undecided = np.arange(len(table))
    step = max(1, _CELLS // table.shape[1])
    remaining = resamples
    while remaining > 0 and len(undecided):
        signs = rng.integers(0, 2, (min(step, remaining), table.shape[1])) * 2.0 - 1
        sums = np.abs(signs @ table[undecided].T)
        n_beyond[undecided] += (sums >= observed[undecided]).sum(axis=0)
        drawn[undecided] += len(signs)
        undecided = undecided[n_beyond[undecided] < _ENOUGH]
        remaining -= step
    return np.asarray(n_beyond / drawn)


def holm(p_values: Sequence[float] | FloatArray) -> FloatArray:
    """Holm's step-down correction, which keeps the chance of any false finding below the level.

    >>> holm([.01, .04, .03]).round(2).tolist()
    [0.03, 0.06, 0.06]
    """
    p = np.asarray(p_values, dtype=np.float64)
    if not ((p >= 0) & (p <= 1)).all():
        raise ValueError(f"p-values must be in [0, 1], not {p.tolist()}.")
    order = np.argsort(p, kind="stable")
    corrected = np.empty_like(p)
    corrected[order] = np.minimum(
        1, np.maximum.accumulate((len(p) - np.arange(len(p))) * p[order])
    )
    return corrected


def t_test(differences: FloatArray) -> tuple[FloatArray, FloatArray]:
    """p-values of paired t-tests and effect sizes (Cohen's d_z), (n_columns,) each.

    `differences` is (n_queries, n_columns).

    d_z = t / sqrt(n) [Lakens, Front. Psychol. 4:863 (2013), Eq. 7]. Without any spread p is 1 and
    d_z 0, or, if the difference is not 0, 0 and infinite. Blank (NaN) for a single query.
    """
    from scipy.stats import ttest_1samp

    table = columns(differences)[0]
    n_queries = table.shape[1]
    if n_queries < 2:
        return np.full(len(table), np.nan), np.full(len(table), np.nan)
    is_zero = np.abs(table[:, 0]) <= EQUAL
    p = np.where(is_zero, 1.0, 0.0)
    effect = np.where(is_zero, 0.0, np.copysign(np.inf, table[:, 0]))
    varied = np.ptp(table, axis=1) > EQUAL
    if varied.any():
        test = ttest_1samp(table[varied], 0.0, axis=1)
        p[varied] = test.pvalue
        effect[varied] = test.statistic / np.sqrt(n_queries)
    return p, effect


def interval_of_difference(
    differences: ArrayLike,
    *,
    low_level: float = LEVEL,
    high_level: float = LEVEL,
    seed: int = 0,
) -> tuple[float, float]:
    """An interval of the mean difference of two systems, also for few differing questions.

    Inverts the paired randomisation test: the ends are quantiles of the means of random subsets of
    the questions [Hartigan 1969]. It is widened for questions that may not have been seen: their
    share, at most the end of the exact interval for 0 of n [Clopper & Pearson 1934], may lie at an
    end of the metric's range.

    Parameters
    ----------
    differences : (n_queries,).
    low_level, high_level : the mean lies below `low` with a chance of at most `low_level` / 2, and
        above `high` with one of at most `high_level` / 2. They differ if the system on each side
        was chosen among a different number.
    """
    (values,) = columns(differences)[0]
    means = _subset_means(values, seed)
    low = np.quantile(means, low_level / 2)
    high = np.quantile(means, 1 - high_level / 2)
    mean = values.mean()
    end = max(1.0, np.abs(values).max())
    unseen_low = 1 - (low_level / 2) ** (1 / len(values))
    unseen_high = 1 - (high_level / 2) ** (1 / len(values))
    low = min(low, mean - unseen_low * (end + mean))
    high = max(high, mean + unseen_high * (end - mean))
    return float(low), float(high)


def _subset_means(values: FloatArray, seed: int) -> FloatArray:
    """The means of `RESAMPLES` random halves of the values; no subset is empty."""
    rng = np.random.default_rng(seed)
    means = []
    for _ in range(20):  # in parts, to bound the memory
        chosen = rng.integers(0, 2, (RESAMPLES // 20, len(values)))
        chosen = chosen[chosen.any(axis=1)]
        means.append((chosen @ values) / chosen.sum(axis=1))
    return np.concatenate(means)
