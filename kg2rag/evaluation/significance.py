"""Scores per query -> intervals, p-values, counts of wins; whole tables at once.

Bootstrap and randomisation test are two matrix products over resampled queries, so that 6 systems x 8 metrics x 1000
questions take well under two seconds, where one call of scipy a pair takes twenty. The tests hold them equal to
`scipy.stats.bootstrap`, `scipy.stats.permutation_test` and statsmodels' Holm.

References: Efron & Tibshirani, "An Introduction to the Bootstrap" (1993), ch. 13. Smucker, Allan & Carterette, "A
Comparison of Statistical Significance Tests for Information Retrieval Evaluation", CIKM 2007 (why randomisation).
Holm, "A Simple Sequentially Rejective Multiple Test Procedure", Scand. J. Statist. 6 (1979).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from kg2rag.types import FloatArray

EQUAL = 1e-9
"""Scores that differ by no more than this are a tie."""
_CELLS = 1_000_000  # resampled queries held at once; 8 MB


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
    if not 0 < level < 1:
        raise ValueError(f"level must lie between 0 and 1, not {level}.")
    table, one = _columns(values)
    means = np.concatenate([weights @ table for weights in _resampled_counts(len(table), resamples, seed)]) / len(table)
    # Products of matrices of another width differ in the last bits; rounding keeps columns independent of each other.
    low, high = np.quantile(np.round(means, 12), [(1 - level) / 2, (1 + level) / 2], axis=0)
    constant = np.ptp(table, axis=0) == 0
    low, high = np.where(constant, table[0], low), np.where(constant, table[0], high)
    return (low[0], high[0]) if one else (low, high)


def _resampled_counts(n: int, resamples: int, seed: int) -> Iterator[FloatArray]:
    """How often each query stands in each resample, (batch, n) at a time."""
    rng = np.random.default_rng(seed)
    for size in _batches(n, resamples):
        drawn = rng.integers(0, n, (size, n)) + np.arange(size)[:, None] * n
        yield np.bincount(drawn.ravel(), minlength=size * n).reshape(size, n).astype(np.float64)


def paired_test(
    a: ArrayLike,
    b: ArrayLike,
    seed: int = 0,
    *,
    resamples: int = 10_000,
    method: Literal["randomisation", "t"] = "randomisation",
) -> FloatArray:
    """Two-sided p-values of "a and b have the same mean", paired by query.

    The randomisation test swaps the two systems on each query at random, which flips the sign of the difference, and
    asks how often the mean difference is at least as large as observed. With at most `resamples` ways to swap it
    tries all of them, otherwise it draws and counts the observed one in: p is never below 1 / (resamples + 1).

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
        raise ValueError(
            f"a and b must have the same shape, not {first.shape} and {second.shape}. Are they of one run?"
        )
    difference = first - second
    difference[np.abs(difference) <= EQUAL] = 0.0
    if method not in ("randomisation", "t"):
        raise ValueError(f"method must be 'randomisation' or 't', not {method!r}.")
    p = _randomisation(difference, resamples, seed) if method == "randomisation" else _t(difference)
    return p[0] if one else p


def _randomisation(difference: FloatArray, resamples: int, seed: int) -> FloatArray:
    n = len(difference)
    observed = np.abs(difference.sum(axis=0)) * (1 - 1e-12) - EQUAL  # as large as, whatever the order of summing
    exact = n < 63 and 2**n <= resamples
    at_least = np.zeros(difference.shape[1])
    for signs in _all_signs(n) if exact else _random_signs(n, resamples, seed):
        at_least += (np.abs(signs @ difference) >= observed).sum(axis=0)
    return at_least / 2**n if exact else (at_least + 1) / (resamples + 1)


def _all_signs(n: int) -> Iterator[FloatArray]:
    yield (((np.arange(2**n)[:, None] >> np.arange(n)) & 1) * 2 - 1).astype(np.float64)


def _random_signs(n: int, resamples: int, seed: int) -> Iterator[FloatArray]:
    rng = np.random.default_rng(seed)
    for size in _batches(n, resamples):
        yield (rng.integers(0, 2, (size, n), dtype=np.int8) * 2 - 1).astype(np.float64)


def _t(difference: FloatArray) -> FloatArray:
    from scipy.stats import t

    n = len(difference)
    if n < 2:
        raise ValueError("The t-test needs at least two queries.")
    error = difference.std(axis=0, ddof=1) / np.sqrt(n)
    mean = difference.mean(axis=0)
    # Equal differences have no spread: certain where they are not 0, no difference at all where they are.
    statistic = np.divide(mean, error, out=np.where(mean == 0, 0.0, np.inf), where=error > 0)
    p: FloatArray = 2 * t.sf(np.abs(statistic), n - 1)
    return p


def holm(p_values: Sequence[float] | FloatArray) -> FloatArray:
    """Holm's step-down correction: p-values that keep the chance of any false finding below the level.

    The smallest of m is multiplied by m, the next by m - 1 ..., never falling, at most 1.
    """
    p = np.asarray(p_values, dtype=np.float64)
    if not ((p >= 0) & (p <= 1)).all():
        raise ValueError(f"p-values must lie in [0, 1], not {p.tolist()}.")
    order = np.argsort(p, kind="stable")
    adjusted = np.empty_like(p)
    adjusted[order] = np.minimum(np.maximum.accumulate(p[order] * np.arange(len(p), 0, -1)), 1.0)
    return adjusted


def win_tie_loss(a: ArrayLike, b: ArrayLike) -> Counts:
    """On how many queries `a` is above, equal to (within `EQUAL`) and below `b`; (n_queries,) each."""
    difference = np.asarray(a, dtype=np.float64) - np.asarray(b, dtype=np.float64)
    wins, losses = int((difference > EQUAL).sum()), int((difference < -EQUAL).sum())
    return Counts(wins, len(difference) - wins - losses, losses)


def _columns(values: ArrayLike) -> tuple[FloatArray, bool]:
    """Values as a table of columns, and whether they were a single one."""
    table = np.asarray(values, dtype=np.float64)
    if table.ndim not in (1, 2) or not len(table):
        raise ValueError(
            f"Scores must be (n_queries,) or (n_queries, n_columns) with at least one query, not {table.shape}."
        )
    if not np.isfinite(table).all():
        raise ValueError("Scores must be finite: a missing score is no score of 0.")
    return (table[:, None], True) if table.ndim == 1 else (table, False)


def _batches(n: int, resamples: int) -> list[int]:
    size = max(1, _CELLS // n)
    return [min(size, resamples - start) for start in range(0, resamples, size)]
