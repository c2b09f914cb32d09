"""Scores per query -> intervals, p-values, counts of wins; whole tables at once, by scipy and statsmodels.

References: Efron & Tibshirani, "An Introduction to the Bootstrap" (1993), ch. 13. Smucker, Allan & Carterette, "A
Comparison of Statistical Significance Tests for Information Retrieval Evaluation", CIKM 2007 (why randomisation).
Holm, "A Simple Sequentially Rejective Multiple Test Procedure", Scand. J. Statist. 6 (1979). Lakens, "Calculating and
Reporting Effect Sizes to Facilitate Cumulative Science", Front. Psychol. 4:863 (2013).
"""

from __future__ import annotations

import gc
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from kg2rag.types import FloatArray, IntArray

EQUAL = 1e-9
"""Scores that differ by no more than this are a tie."""
RESAMPLES = 20_000
_CELLS = 2_000_000  # resampled scores in memory at once; 16 MB
_NULL = 20_000_000  # resampled differences in memory at once; 160 MB


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
        two systems pass the differences: that is the paired bootstrap.
    level : in (0, 1).

    Returns
    -------
    low, high : () or (n_columns,) each.
    """
    from scipy.stats import bootstrap

    if not 0 < level < 1:
        raise ValueError(f"level must be between 0 and 1, not {level}.")
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
    resamples: int = RESAMPLES,
    method: Literal["randomisation", "t"] = "randomisation",
) -> FloatArray:
    """Two-sided p-values of "a and b have the same mean", paired by query.

    The randomisation test swaps the two systems on each query at random, which flips the sign of the difference, and
    counts how often the mean difference is at least as large as observed. With at most `resamples` ways to swap it
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
    if method not in ("randomisation", "t"):
        raise ValueError(f"method must be 'randomisation' or 't', not {method!r}.")
    difference, one = _difference(a, b)
    if method == "t":
        p, _ = _student(difference, "The t-test")
    else:
        columns = np.arange(len(difference))
        nothing = np.zeros((1, difference.shape[1]))  # a difference is tested against none
        p = _randomisation(np.concatenate([difference, nothing]), columns, np.full_like(columns, -1), resamples, seed)
    return p[0] if one else p


def paired_tests(
    scores: FloatArray, first: IntArray, second: IntArray, seed: int = 0, resamples: int = RESAMPLES
) -> FloatArray:
    """The randomisation test of many pairs of columns, the same p-values as `paired_test` gives them one by one.

    Faster where columns occur in many pairs: swapping is linear, so the resampled difference of a pair is that of its
    two columns, and each column is summed once.

    Parameters
    ----------
    scores : (n_queries, n_columns).
    first, second : (n_pairs,) columns.

    Returns
    -------
    (n_pairs,)
    """
    table, _ = _columns(scores)
    step = max(1, _NULL // resamples)
    blocks = [slice(at, at + step) for at in range(0, len(first), step)]
    return np.concatenate([_randomisation(table, first[block], second[block], resamples, seed) for block in blocks])


def _randomisation(table: FloatArray, first: IntArray, second: IntArray, resamples: int, seed: int) -> FloatArray:
    from scipy.stats import permutation_test

    n_queries = table.shape[1]
    if n_queries == 1:  # scipy wants two; of the two ways to swap one query both are as extreme as observed
        return np.ones(len(first))

    def sums(signs: FloatArray, axis: int) -> FloatArray:  # noqa: ARG001 - scipy names the axis; it is the last
        # The resampled thing is the signs, drawn once for all columns. einsum, not BLAS, whose result for one column
        # depends on the others; rounded, so that equal sums stay equal whatever the order of addition.
        found: FloatArray = np.einsum("...q,cq->...c", signs, table)
        return (found[..., first] - found[..., second]).round(9)

    p: FloatArray = permutation_test(
        (np.ones(n_queries),),
        sums,
        permutation_type="samples",
        n_resamples=resamples,
        vectorized=True,
        axis=-1,
        batch=max(1, _CELLS // n_queries),
        rng=np.random.default_rng(seed),
    ).pvalue
    return p


def _student(difference: FloatArray, what: str) -> tuple[FloatArray, FloatArray]:
    """p-values and effect sizes; without any spread 1 and 0, or where the difference is not 0, 0 and infinite."""
    from scipy.stats import ttest_1samp

    if difference.shape[1] < 2:
        raise ValueError(f"{what} needs at least two queries.")
    equal = difference[:, 0] == 0
    p, d = np.where(equal, 1.0, 0.0), np.where(equal, 0.0, np.copysign(np.inf, difference[:, 0]))
    varied = np.ptp(difference, axis=1) > EQUAL
    test = ttest_1samp(difference[varied], 0.0, axis=1)
    p[varied], d[varied] = test.pvalue, test.statistic / np.sqrt(difference.shape[1])
    return p, d


def effect_size(a: ArrayLike, b: ArrayLike) -> FloatArray:
    """Cohen's d_z: the mean of the paired differences over their standard deviation, from scipy's paired t.

    d_z = t / sqrt(n) [Lakens 2013, Eq. 7], the effect that the paired t-test and its power are about. 0.2 is called
    small, 0.5 medium, 0.8 large. `a` and `b` are as for `paired_test`, at least two queries.

    Returns () or (n_columns,); 0 where a and b are equal on every query, infinite where they differ by one same amount.
    """
    difference, one = _difference(a, b)
    _, d = _student(difference, "An effect size")
    return d[0] if one else d


def holm(p_values: Sequence[float] | FloatArray) -> FloatArray:
    """Holm's step-down correction: p-values that keep the chance of any false finding below the level."""
    from statsmodels.stats.multitest import multipletests

    p = np.asarray(p_values, dtype=np.float64)
    if not ((p >= 0) & (p <= 1)).all():
        raise ValueError(f"p-values must be in [0, 1], not {p.tolist()}.")
    if not len(p):
        return p
    with _no_collection():
        corrected: FloatArray = multipletests(p, method="holm")[1]
    return corrected


@contextmanager
def _no_collection() -> Iterator[None]:
    """Keep what exists out of garbage collection: statsmodels 0.14 collects in every call of Holm, for 0.1 s."""
    if gc.get_freeze_count():  # frozen by other code, which shall unfreeze it
        yield
        return
    gc.freeze()
    try:
        yield
    finally:
        gc.unfreeze()


def win_tie_loss(a: ArrayLike, b: ArrayLike) -> Counts:
    """On how many queries `a` is above, equal to (within `EQUAL`) and below `b`; (n_queries,) each."""
    difference = np.asarray(a, dtype=np.float64) - np.asarray(b, dtype=np.float64)
    wins, losses = int((difference > EQUAL).sum()), int((difference < -EQUAL).sum())
    return Counts(wins, len(difference) - wins - losses, losses)


def _difference(a: ArrayLike, b: ArrayLike) -> tuple[FloatArray, bool]:
    """The paired differences a - b as (n_columns, n_queries), ties exactly 0, and whether they were one column."""
    first, one = _columns(a)
    second, _ = _columns(b)
    if first.shape != second.shape:
        raise ValueError(f"a and b must have the same shape, not {np.shape(a)} and {np.shape(b)}. Are they of one run?")
    difference = first - second
    difference[np.abs(difference) <= EQUAL] = 0.0
    return difference, one


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
