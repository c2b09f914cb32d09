"""Scores per query -> p-values, effect sizes, counts of wins; whole tables at once, by scipy and statsmodels.

References: Smucker, Allan & Carterette, "A Comparison of Statistical Significance Tests for Information Retrieval
Evaluation", CIKM 2007 (why randomisation). Davison & Hinkley, "Bootstrap Methods and their Application" (1997), ch. 4.
Holm, "A Simple Sequentially Rejective Multiple Test Procedure", Scand. J. Statist. 6 (1979). Lakens, "Calculating and
Reporting Effect Sizes to Facilitate Cumulative Science", Front. Psychol. 4:863 (2013).
"""

from __future__ import annotations

import gc
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from kg2rag.compute import map_pieces
from kg2rag.evaluation.per_question import EQUAL, by_group, columns
from kg2rag.types import FloatArray, IntArray

RESAMPLES = 20_000
"""Of one test; a family of tests draws more, see `resamples_for`."""
_CELLS = 2_000_000  # resampled scores in memory at once; 16 MB
_NULL = 20_000_000  # resampled differences in memory at once; 160 MB
_CHUNK = 40_000  # resamples drawn at once, whatever is tested, so that what is drawn does not depend on it
_CERTAIN = 200  # resampled sums beyond the observed one at which a p-value is known to 7 % and no more are drawn
_PER_TEST = 4_000  # twice what the smallest p of a family needs to stay below .001 when it is corrected for the others
_EXACT = 2**52  # whole numbers up to here, and their sums, are exact in float64
_DENOMINATORS = 2520  # divisible by 1 to 10: multiples of 1/3, 1/7 … are whole numbers of such units


class Counts(NamedTuple):
    """On how many queries a system scored above, as, and below another."""

    wins: int
    ties: int
    losses: int


def resamples_for(tests: int) -> int:
    """How many times a family of tests is resampled, so that its smallest p can be below .001 after correction.

    >>> resamples_for(6), resamples_for(153)
    (24000, 612000)
    """
    return max(RESAMPLES, _PER_TEST * tests)


def paired_test(
    a: ArrayLike,
    b: ArrayLike,
    seed: int = 0,
    *,
    resamples: int = RESAMPLES,
    method: Literal["randomisation", "t"] = "randomisation",
    groups: ArrayLike | None = None,
) -> FloatArray:
    """Two-sided p-values of "a and b have the same mean", paired by query.

    The randomisation test swaps the two systems on each query at random, which flips the sign of the difference, and
    counts how often the mean difference is at least as large as observed. With at most `resamples` ways to swap (and
    40,000) it tries all of them, otherwise it draws and counts the observed one in, on either side: p is never below
    2 / (resamples + 1). Drawing ends early where p is certain: with 200 sums beyond the observed one it is known to
    7 % of itself [Besag & Clifford, "Sequential Monte Carlo p-values", Biometrika 78 (1991)]. Sums are of whole
    numbers, so they are the same on every processor.

    Parameters
    ----------
    a, b : (n_queries,) or (n_queries, n_columns). All columns see the same swaps, so a p-value depends neither on the
        other columns nor on their order.
    method : "t" is Student's paired t-test.
    groups : (n_queries,) labels; queries of one label are swapped together, for they are not independent.

    Returns
    -------
    () or (n_columns,); 1.0 where a and b are equal on every query.
    """
    if method not in ("randomisation", "t"):
        raise ValueError(f"method must be 'randomisation' or 't', not {method!r}.")
    difference, one = _difference(a, b)
    difference, _ = by_group(difference, groups)
    if method == "t":
        p, _ = _student(difference, "The t-test")
    else:
        each = np.arange(len(difference))
        nothing = np.zeros((1, difference.shape[1]))  # a difference is tested against none
        p = _randomisation(np.concatenate([difference, nothing]), each, np.full_like(each, -1), resamples, seed)
    return p[0] if one else p


def paired_tests(
    scores: FloatArray,
    first: IntArray,
    second: IntArray,
    seed: int = 0,
    resamples: int = RESAMPLES,
    groups: ArrayLike | None = None,
) -> FloatArray:
    """The randomisation test of many pairs of columns, the same p-values as `paired_test` gives them one by one.

    Faster where columns occur in many pairs: swapping is linear, so the resampled difference of a pair is that of its
    two columns, and each column is summed once.

    Parameters
    ----------
    scores : (n_queries, n_columns).
    first, second : (n_pairs,) columns.
    groups : as for `paired_test`.

    Returns
    -------
    (n_pairs,)
    """
    table, _ = by_group(columns(scores)[0], groups)
    step = max(1, _NULL // _CHUNK)
    blocks = [slice(at, at + step) for at in range(0, len(first), step)]
    pieces = [(first[block], second[block]) for block in blocks]
    found = map_pieces(partial(_tested, table, resamples=resamples, seed=seed), pieces)
    return np.concatenate(list(found))


def _tested(table: FloatArray, pairs: tuple[IntArray, IntArray], resamples: int, seed: int) -> FloatArray:
    return _randomisation(table, *pairs, resamples, seed)


def _randomisation(table: FloatArray, first: IntArray, second: IntArray, resamples: int, seed: int) -> FloatArray:
    n_queries = table.shape[1]
    if n_queries == 1:  # scipy wants two; of the two ways to swap one query both are as extreme as observed
        return np.ones(len(first))
    whole, unit = in_units(table)
    rng = np.random.default_rng(seed)
    if 2**n_queries <= min(resamples, _CHUNK):
        p: FloatArray = _swapped(whole, unit, first, second, _CHUNK, rng).pvalue
        return p
    extreme = np.ones((2, len(first)))  # resampled sums at least as large, and at most, the observed ones among them
    drawn, open_ = np.ones(len(first)), np.arange(len(first))
    for at in range(0, resamples, _CHUNK):
        test = _swapped(whole, unit, first[open_], second[open_], min(_CHUNK, resamples - at), rng)
        null, observed = test.null_distribution, test.statistic
        extreme[:, open_] += [(null >= observed).sum(axis=0), (null <= observed).sum(axis=0)]
        drawn[open_] += len(null)
        open_ = open_[extreme[:, open_].min(axis=0) < _CERTAIN]
        if not len(open_):
            break
    found: FloatArray = np.minimum(1, 2 * extreme.min(axis=0) / drawn)
    return found


def _swapped(
    whole: FloatArray, unit: float, first: IntArray, second: IntArray, resamples: int, rng: np.random.Generator
) -> Any:
    """Scipy's permutation test of pairs of columns under drawn swaps, or under all where they are few."""
    from scipy.stats import permutation_test

    def sums(signs: FloatArray, axis: int) -> FloatArray:  # noqa: ARG001 - scipy names the axis; it is the last
        # The resampled thing is the signs, drawn once for all columns. Rounded, so that sums of scores that are no
        # whole numbers of units are equal where they should be.
        found: FloatArray = signs @ whole.T
        return ((found[..., first] - found[..., second]) * unit).round(9)

    return permutation_test(
        (np.ones(whole.shape[1]),),
        sums,
        permutation_type="samples",
        n_resamples=resamples,
        vectorized=True,
        axis=-1,
        batch=max(1, _CELLS // whole.shape[1]),
        rng=rng,
    )


def in_units(table: FloatArray) -> tuple[FloatArray, float]:
    """Scores as whole numbers of a unit, so small that their sums by any signs stay exact, and the unit.

    Exact sums do not depend on the order of addition, so neither on the processor nor on other columns.

    >>> whole, unit = in_units(np.array([[1 / 3, 1 / 3, 1 / 3, -1.0]]))
    >>> float(whole.sum())
    0.0
    """
    largest = float(np.abs(table).max(initial=0.0)) or 1.0
    exponent = np.floor(np.log2(_EXACT / _DENOMINATORS / table.shape[1]) - np.log2(largest))
    scale = _DENOMINATORS * 2.0**exponent
    return np.rint(table * scale), 1 / scale


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
    first, one = columns(a)
    second, _ = columns(b)
    if first.shape != second.shape:
        raise ValueError(f"a and b must have the same shape, not {np.shape(a)} and {np.shape(b)}. Are they of one run?")
    difference = first - second
    difference[np.abs(difference) <= EQUAL] = 0.0
    return difference, one
