"""Scores per question -> an interval of their mean.

References: Wilson, "Probable Inference, the Law of Succession, and Statistical Inference", JASA 22 (1927). Efron,
"Better Bootstrap Confidence Intervals", JASA 82 (1987), Sec. 2 to 4. Davison & Hinkley, "Bootstrap Methods and their
Application" (1997), Sec. 3.8 (groups drawn whole). Zou & Donner, "Construction of Confidence Limits about Effect
Measures", Statistics in Medicine 27 (2008) (sums of means).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from kg2rag.evaluation.per_question import EQUAL, by_group, columns
from kg2rag.types import FloatArray

_CELLS = 2_000_000  # resampled scores in memory at once; 16 MB


def interval_of_mean(
    values: ArrayLike,
    level: float = 0.95,
    *,
    bounds: tuple[float, float] | None = (0.0, 1.0),
    groups: ArrayLike | None = None,
    resamples: int = 10_000,
    seed: int = 0,
) -> tuple[FloatArray, FloatArray]:
    """An interval of the mean over queries that covers it also near the ends of a metric's range.

    Scores of 0 and 1 alone: Wilson's interval of a proportion [Wilson 1927]. Equal scores: the share of other scores
    among the questions not drawn is, at that level, below that of Wilson's interval for 0 of n, and each of them may
    lie at an end of the range; at 0 or 1 this is Wilson's interval again. All else: the bias-corrected and accelerated
    bootstrap [Efron 1987], whose ends are not symmetric where scores crowd at one end. The percentile bootstrap covers
    a proportion of .99 over 100 questions in 64 % of samples, a third of which have no width at all.

    Parameters
    ----------
    values : (n_queries,) or (n_queries, n_columns). All columns see the same resampled queries, so columns may be
        compared, and the interval of a column depends neither on the others nor on their order. For a difference of
        two systems pass the differences: that is the paired bootstrap.
    level : in (0, 1).
    bounds : the range of the scores, (-1, 1) for differences of a metric in [0, 1]; None where there is none.
    groups : (n_queries,) labels; queries of one label are drawn together (clustered bootstrap), for they are not
        independent. Scores of 0 and 1 are then resampled like all others.

    Returns
    -------
    low, high : () or (n_columns,) each. NaN for equal scores without `bounds`, and for questions of a single group:
        they say nothing of their spread.
    """
    if not 0 < level < 1:
        raise ValueError(f"level must be between 0 and 1, not {level}.")
    table, one = columns(values)
    _check_bounds(table, bounds)
    sums, counts = by_group(table, groups)
    low, high = np.full(len(table), np.nan), np.full(len(table), np.nan)
    equal = np.ptp(table, axis=1) <= EQUAL
    binary = ((table == 0) | (table == 1)).all(axis=1) & ~equal & (groups is None and bounds == (0.0, 1.0))
    if bounds is not None:
        low[equal], high[equal] = _of_equal(table[equal, 0], len(counts), level, bounds)
    low[binary], high[binary] = _wilson(table[binary].sum(axis=1), table.shape[1], level)
    rest = ~equal & ~binary & (len(counts) > 1)
    if rest.any():
        low[rest], high[rest] = _bca(sums[rest], counts, level, resamples, seed)
    return (low[0], high[0]) if one else (low, high)


def interval_of_sum(
    means: FloatArray, low: FloatArray, high: FloatArray, weights: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """An interval of a weighed sum of means of different questions, from the means' own intervals.

    The distance of each mean to its end adds to that of the sum as a standard error would, by its square; a mean with
    a negative weight adds that to its other end [Zou & Donner 2008, Eq. 4]. So intervals that are not symmetric make
    one that is not.

    Parameters
    ----------
    means, low, high : (n_means, ...).
    weights : (n_means,), such as 1/n each, for a macro-average, or 1 and -1, for a difference.

    Returns
    -------
    low, high : (...) each.

    Examples
    --------
    Two means of .5 with intervals of .3 either way, of which the average has .3 / sqrt(2):

    >>> low, high = interval_of_sum(np.array([.5, .5]), np.array([.2, .2]), np.array([.8, .8]), np.array([.5, .5]))
    >>> round(float(low), 3), round(float(high), 3)
    (0.288, 0.712)
    """
    factors = np.reshape(weights, (-1, *(1,) * (np.ndim(means) - 1)))
    below, above = factors * (means - low), factors * (high - means)
    downwards, upwards = np.where(factors < 0, above, below), np.where(factors < 0, below, above)
    total = (factors * means).sum(axis=0)
    return total - np.sqrt((downwards**2).sum(axis=0)), total + np.sqrt((upwards**2).sum(axis=0))


def _check_bounds(table: FloatArray, bounds: tuple[float, float] | None) -> None:
    if bounds is not None and not (bounds[0] - EQUAL <= table.min() and table.max() <= bounds[1] + EQUAL):
        raise ValueError(
            f"Scores lie between {table.min():g} and {table.max():g}, bounds are {bounds}. Pass the range of the "
            "metric, or None where it has none."
        )


def _of_equal(score: FloatArray, n: int, level: float, bounds: tuple[float, float]) -> tuple[FloatArray, FloatArray]:
    _, others = _wilson(np.zeros(1), n, level)
    return score - others * (score - bounds[0]), score + others * (bounds[1] - score)


def _wilson(successes: FloatArray, n: int, level: float) -> tuple[FloatArray, FloatArray]:
    from statsmodels.stats.proportion import proportion_confint

    low, high = proportion_confint(successes, n, alpha=1 - level, method="wilson")
    return np.asarray(low), np.asarray(high)


def _bca(
    sums: FloatArray, counts: FloatArray, level: float, resamples: int, seed: int
) -> tuple[FloatArray, FloatArray]:
    """Of the mean of all queries, groups of them drawn together: (n_columns, n_groups) sums, (n_groups,) counts."""
    from scipy.stats import bootstrap

    def mean(drawn: FloatArray, of: FloatArray, axis: int) -> FloatArray:
        means: FloatArray = drawn.sum(axis=axis) / of.sum(axis=axis)
        return means

    interval = bootstrap(
        (sums, np.broadcast_to(counts, sums.shape)),
        mean,
        paired=True,
        n_resamples=resamples,
        confidence_level=level,
        method="BCa",
        axis=-1,
        batch=max(1, _CELLS // sums.size),
        rng=np.random.default_rng(seed),
    ).confidence_interval
    return interval.low, interval.high
