"""Scores per query -> intervals, p-values, counts of wins; whole tables at once, by scipy and statsmodels.

References: Efron & Tibshirani, "An Introduction to the Bootstrap" (1993), ch. 13. Smucker, Allan & Carterette, "A
Comparison of Statistical Significance Tests for Information Retrieval Evaluation", CIKM 2007 (why randomisation).
Holm, "A Simple Sequentially Rejective Multiple Test Procedure", Scand. J. Statist. 6 (1979).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from kg2rag.types import FloatArray

EQUAL = 1e-9
"""Scores that differ by no more than this are a tie."""
_CELLS = 2_000_000  # resampled scores held at once; 16 MB


class Counts(NamedTuple):
    """On how many queries a system scored above, as, and below another."""

    wins: int
    ties: int
    losses: int


def bootstrap_interval(
    values: ArrayLike, level: float = 0.95, resamples: int = 10_000, seed: int = 0
) -> tuple[FloatArray, FloatArray]:
    """Percentile bootstrap interval of the mean over queries.

    The percentile method, not BCa: BCa is undefined where all values are equal, common for metrics at 0 or 1, and its
    correction is small for means of a hundred queries and more. The interval of a constant is that constant.

    Parameters
    ----------
    values : (n_queries,) or (n_queries, n_columns). All columns see the same resampled queries, so columns may be
        compared, and the interval of a column depends neither on the others nor on their order. For a difference of
        two systems hand in the differences: that is the paired bootstrap.
    level : in (0, 1).

    Returns
    -------
    low, high : () or (n_columns,) each.
    """
    from scipy.stats import bootstrap

    if not 0 < level < 1:
        raise ValueError(f"level must lie between 0 and 1, not {level}.")
    table, one = _columns(values)
    if table.shape[1] == 1:  # scipy wants two observations; one has no spread to resample
        low = high = table[:, 0]
    else:
        interval = bootstrap(
            (table,),
            np.mean,
            n_resamples=resamples,
            confidence_level=level,
            method="percentile",
            axis=-1,
            batch=max(1, _CELLS // table.size),
            rng=np.random.default_rng(seed),
        ).confidence_interval
        low, high = interval.low, interval.high
    return (low[0], high[0]) if one else (low, high)


def paired_test(
    a: ArrayLike,
    b: ArrayLike,
    seed: int = 0,
    *,
    resamples: int = 20_000,
    method: Literal["randomisation", "t"] = "randomisation",
) -> FloatArray:
    """Two-sided p-values of "a and b have the same mean", paired by query.

    The randomisation test swaps the two systems on each query at random, which flips the sign of the difference, and
    asks how often the mean difference is at least as large as observed. With at most `resamples` ways to swap it
    tries all of them, otherwise it draws and counts the observed one in, on either side: p is never below
    2 / (resamples + 1).

    Parameters
    ----------
    a, b : (n_queries,) or (n_queries, n_columns). All columns see the same swaps, so a p-value depends neither on the
        other columns nor on their order.
    method : "t" is Student's paired t-test.

    Returns
    -------
    () or (n_columns,); 1.0 where a and b are equal on every query.
    """
    first, one = _columns(a)
    second, _ = _columns(b)
    if first.shape != second.shape:
        raise ValueError(f"a and b must have the same shape, not {np.shape(a)} and {np.shape(b)}. Are they of one run?")
    if method not in ("randomisation", "t"):
        raise ValueError(f"method must be 'randomisation' or 't', not {method!r}.")
    difference = first - second
    difference[np.abs(difference) <= EQUAL] = 0.0
    p = _randomisation(difference, resamples, seed) if method == "randomisation" else _student(difference)
    return p[0] if one else p


def _randomisation(difference: FloatArray, resamples: int, seed: int) -> FloatArray:
    from scipy.stats import permutation_test

    if difference.shape[1] == 1:  # scipy wants two; of the two ways to swap one query both are as extreme as observed
        return np.ones(len(difference))
    p: FloatArray = permutation_test(
        (difference,),
        np.mean,
        permutation_type="samples",
        n_resamples=resamples,
        vectorized=True,
        axis=-1,
        batch=max(1, _CELLS // difference.size),
        rng=np.random.default_rng(seed),
    ).pvalue
    return p


def _student(difference: FloatArray) -> FloatArray:
    from scipy.stats import ttest_1samp

    if difference.shape[1] < 2:
        raise ValueError("The t-test needs at least two queries.")
    p = np.ones(len(difference))
    varied = np.ptp(difference, axis=1) > 0
    p[varied] = ttest_1samp(difference[varied], 0.0, axis=1).pvalue
    p[~varied & (difference[:, 0] != 0)] = 0.0  # the same difference on every query: no spread, certain
    return p


def holm(p_values: Sequence[float] | FloatArray) -> FloatArray:
    """Holm's step-down correction: p-values that keep the chance of any false finding below the level."""
    from statsmodels.stats.multitest import multipletests

    p = np.asarray(p_values, dtype=np.float64)
    if not ((p >= 0) & (p <= 1)).all():
        raise ValueError(f"p-values must lie in [0, 1], not {p.tolist()}.")
    if not len(p):
        return p
    corrected: FloatArray = multipletests(p, method="holm")[1]
    return corrected


def win_tie_loss(a: ArrayLike, b: ArrayLike) -> Counts:
    """On how many queries `a` is above, equal to (within `EQUAL`) and below `b`; (n_queries,) each."""
    difference = np.asarray(a, dtype=np.float64) - np.asarray(b, dtype=np.float64)
    wins, losses = int((difference > EQUAL).sum()), int((difference < -EQUAL).sum())
    return Counts(wins, len(difference) - wins - losses, losses)


def _columns(values: ArrayLike) -> tuple[FloatArray, bool]:
    """Values as (n_columns, n_queries), and whether they were a single column."""
    table = np.asarray(values, dtype=np.float64)
    if table.ndim not in (1, 2) or not len(table):
        raise ValueError(
            f"Scores must be (n_queries,) or (n_queries, n_columns) with at least one query, not {table.shape}."
        )
    if not np.isfinite(table).all():
        raise ValueError("Scores must be finite: a missing score is no score of 0.")
    return np.ascontiguousarray(table[None, :] if table.ndim == 1 else table.T), table.ndim == 1
