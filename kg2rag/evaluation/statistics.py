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


def score_columns(values: ArrayLike) -> tuple[FloatArray, bool]:
    """Scores as an array (n_columns, n_queries), and whether they were one-dimensional.

    ValueError: another number of dimensions, no query, or a score that is not finite.
    """
    table = np.asarray(values, dtype=np.float64)
    if table.ndim not in (1, 2) or not len(table):
        raise ValueError(
            f"Scores must be (n_queries,) or (n_queries, n_columns), with a query, not {table.shape}."
        )
    if not np.isfinite(table).all():
        raise ValueError("Scores must be finite: a missing score is no score of 0.")
    return np.ascontiguousarray(np.atleast_2d(table.T)), table.ndim == 1


def interval_of_mean(
    values: ArrayLike,
    *,
    bounds: tuple[float, float] | None = (0.0, 1.0),
    resamples: int = 10_000,
    seed: int = 0,
) -> tuple[FloatArray, FloatArray]:
    """The lower and the upper end of a 95 % interval of the mean over queries.

    The method depends on the scores of a column, so that coverage holds near the ends of a range.
    Scores that are all 0 or 1 have Wilson's interval of a proportion [Wilson 1927]. Equal scores
    have the interval of a worst case: the share of questions that Wilson's interval for 0 of n
    does not exclude scores at an end of the range. All others have the bias-corrected and
    accelerated bootstrap [Efron 1987]. Both ends are NaN for equal scores without `bounds`, and for
    a single question.

    values : (n_queries,) or (n_queries, n_columns); all columns share the resampled queries.
    bounds : the range of the scores; None if they have none.

    Returns two arrays (n_columns,), or two numbers for one-dimensional values.
    """
    from scipy.stats import bootstrap

    table, is_single = score_columns(values)
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
            _mean_of_resample(table[graded]),
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


def _mean_of_resample(table: FloatArray) -> Callable[..., FloatArray]:
    """The function that `scipy.stats.bootstrap` calls for the means of resampled queries.

    It takes the numbers of the drawn queries, (..., size), and returns means, (n_columns, ...). The
    sum of a resample is the product of the scores and the number of times that each query was
    drawn, so one matrix product serves all columns.
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
    """The lower and the upper ends of Wilson's 95 % intervals of the proportions successes / n."""
    from scipy.stats import binomtest

    intervals = [
        binomtest(count, n).proportion_ci(method="wilson") for count in successes
    ]
    low, high = np.reshape(intervals, (-1, 2)).T
    return low, high


def interval_of_sum(
    means: FloatArray, low: FloatArray, high: FloatArray, weights: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """The lower and the upper end of the interval of a weighted sum of independent means.

    The squared distances from the means to the ends of their intervals are added; a negative weight
    exchanges the two ends [Zou & Donner 2008, Eq. 4].

    means, low, high : (n_means, ...), the means and the ends of their intervals.
    weights : (n_means,), such as 1/n each for a macro-average, 1 and -1 for a difference.

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
    """The two-sided p-values of the paired randomisation test of "the mean difference is 0".

    p is the chance that swapping the systems on each query at random gives a sum at least as far
    from 0 as the observed one. It is exact if the differences are multiples of a unit, as those of
    recall and of reciprocal ranks are. Otherwise random swaps are drawn, and the observed sum
    counts as one of them, until the standard error of p is 7 % or the swaps are used up. p is 1 if
    all differences are 0.

    differences : (n_queries,) or (n_queries, n_columns), of two systems' scores.
    seed : seed of the random swaps.
    tests : number of tests in the family; more tests draw more swaps, so that the smallest p can be
    below .001 after correction.
    """
    table, is_single = score_columns(differences)
    table = np.where(np.abs(table) <= EQUAL, 0.0, table)
    p = np.array([_exact(row) for row in table])
    not_exact = np.isnan(p)
    p[not_exact] = _resampled(table[not_exact], max(RESAMPLES, 4_000 * tests), seed)
    return p[0] if is_single else p


def in_units(values: FloatArray) -> IntArray | None:
    """Values as multiples of their largest common unit; None if `_UNITS` has no such unit."""
    for unit in _UNITS:
        counts = np.rint(values * unit).astype(np.int64)
        if (np.abs(values * unit - counts) <= EQUAL * unit).all():
            return np.asarray(counts // max(1, int(np.gcd.reduce(counts))))
    return None


def _exact(differences: FloatArray) -> float:
    """The exact p-value of one test; NaN without a common unit or with too many sums to count."""
    counts = in_units(differences[differences != 0])
    if counts is None:
        return np.nan
    chances = chances_of_low_sums(np.abs(counts), int(abs(counts.sum())))
    return np.nan if chances is None else min(1.0, 2 * float(chances.sum()))


def chances_of_low_sums(sizes: IntArray, least: int) -> FloatArray | None:
    """The probability that one of two equal systems wins a sum of 0, 1, 2, … units.

    Each question is won by either system with probability 1/2 and is worth its entry in `sizes`.
    The last sum is the largest at which the other system is still `least` units ahead: a system
    that wins w of a total is behind by total - 2 w. None if there are too many sums to count.
    """
    last = (int(sizes.sum()) - least) // 2
    if len(sizes) * last > _STEPS:
        return None
    chances = np.zeros(last + 1)
    chances[0] = 1.0
    for size in np.sort(sizes).tolist():
        chances *= 0.5
        if size <= last:
            chances[size:] += chances[: last + 1 - size].copy()
    return chances


def _resampled(table: FloatArray, resamples: int, seed: int) -> FloatArray:
    """The p-values, (n_tests,), of differences (n_tests, n_queries) by random swaps."""
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
    """The p-values of paired t-tests, and their effect sizes (Cohen's d_z), (n_columns,) each.

    d_z = t / sqrt(n) [Lakens, Front. Psychol. 4:863 (2013), Eq. 7]. If all differences of a column
    are 0, p is 1 and d_z is 0; if they all have one other value, p is 0 and d_z is infinite. Both
    are NaN for a single query.

    differences : (n_queries, n_columns).
    """
    from scipy.stats import ttest_1samp

    table = score_columns(differences)[0]
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
    """The lower and the upper end of an interval of the mean difference of two systems.

    The ends are quantiles of the means of random subsets of the questions, which inverts the paired
    randomisation test [Hartigan 1969]. The interval is widened for questions that were not seen, so
    that it also holds if few questions differ, see `_unseen_share`.

    Parameters
    ----------
    differences : (n_queries,).
    low_level : the true mean lies below the lower end with probability at most `low_level` / 2.
    high_level : the true mean lies above the upper end with probability at most `high_level` / 2.
        The levels differ if the two systems were selected from different numbers of systems.
    """
    values = score_columns(differences)[0][0]
    means = _subset_means(values, seed)
    mean = values.mean()
    largest = max(1.0, np.abs(values).max())  # possible difference of one question
    lowest = mean - _unseen_share(low_level, len(values)) * (largest + mean)
    highest = mean + _unseen_share(high_level, len(values)) * (largest - mean)
    low = min(lowest, np.quantile(means, low_level / 2))
    high = max(highest, np.quantile(means, 1 - high_level / 2))
    return float(low), float(high)


def _unseen_share(level: float, n: int) -> float:
    """The largest share of all questions that may be absent from a sample of `n`.

    It is the upper end of the exact interval for 0 of n [Clopper & Pearson 1934].
    """
    return float(1 - (level / 2) ** (1 / n))


def _subset_means(values: FloatArray, seed: int) -> FloatArray:
    """The means of up to `RESAMPLES` random subsets, each value in a subset with probability 1/2.

    Empty subsets are left out.
    """
    rng = np.random.default_rng(seed)
    means = []
    for _ in range(20):  # in parts, to bound the memory
        membership = rng.integers(0, 2, (RESAMPLES // 20, len(values)))
        membership = membership[membership.any(axis=1)]
        means.append((membership @ values) / membership.sum(axis=1))
    return np.concatenate(means)
