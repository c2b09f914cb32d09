"""Compressed sparse rows: the entries of row `i` are at `indptr[i]:indptr[i + 1]`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from kg2rag.types import IntArray

Scalar = TypeVar("Scalar", bound=np.generic)
Codes = NDArray[np.int32]
Offsets = NDArray[np.int64]


def offsets(rows: NDArray[np.integer], n_rows: int) -> Offsets:
    """The index of the first entry of each row, (n_rows + 1,), from the row of every entry.

    >>> offsets(np.array([2, 0, 2]), 4).tolist()
    [0, 1, 1, 3, 3]
    """
    indptr = np.zeros(n_rows + 1, dtype=np.int64)
    np.cumsum(np.bincount(rows, minlength=n_rows), out=indptr[1:])
    return indptr


def owners(indptr: NDArray[np.integer]) -> IntArray:
    """The row of each entry, (n_entries,): the inverse of `offsets`."""
    return np.repeat(np.arange(len(indptr) - 1), np.diff(indptr))


def ranges(
    starts: NDArray[np.integer], ends: NDArray[np.integer]
) -> tuple[IntArray, IntArray]:
    """The numbers in several half-open ranges, range by range, and the range of each number.

    >>> numbers, which = ranges(np.array([5, 0, 7]), np.array([7, 0, 8]))
    >>> numbers.tolist(), which.tolist()
    ([5, 6, 7], [0, 0, 2])
    """
    starts = np.asarray(starts, dtype=np.int64)
    lengths = np.asarray(ends, dtype=np.int64) - starts
    range_of = np.repeat(np.arange(len(lengths)), lengths)
    shifts = starts - np.cumsum(lengths) + lengths
    return np.arange(len(range_of)) + shifts[range_of], range_of


def gather(
    indptr: NDArray[np.integer], rows: NDArray[np.integer]
) -> tuple[IntArray, IntArray]:
    """The positions of the entries of some rows, row by row, and the index in `rows` of each.

    >>> positions, which = gather(np.array([0, 2, 2, 3]), np.array([2, 0]))
    >>> positions.tolist(), which.tolist()
    ([2, 0, 1], [0, 1, 1])
    """
    rows = np.asarray(rows, dtype=np.int64)
    return ranges(indptr[rows], indptr[rows + 1])


def run_starts(*columns: NDArray[np.generic]) -> NDArray[np.bool_]:
    """Whether each entry differs from its predecessor in any column, (n,); True for the first.

    >>> run_starts(np.array([1, 1, 1, 2]), np.array([3, 3, 4, 4])).tolist()
    [True, False, True, True]
    """
    first = np.ones(len(columns[0]), dtype=bool)
    first[1:] = np.any([column[1:] != column[:-1] for column in columns], axis=0)
    return first


class Columns:
    """The base of frozen dataclasses of arrays; it makes the arrays read-only."""

    def __post_init__(self) -> None:
        for array in vars(self).values():
            read_only(array)


def read_only(array: NDArray[Scalar]) -> NDArray[Scalar]:
    """The same array, read-only."""
    array.flags.writeable = False
    return array


@dataclass(frozen=True, eq=False)
class Incidence(Columns):
    """The counts of pairs of a row and a partner, such as entity and passage, as compressed rows.

    `others`, (n_pairs,), ascend within each row without repetition; `counts`, (n_pairs,), are at
    least 1.
    """

    indptr: Offsets
    others: Codes
    counts: Codes

    def of(self, code: int) -> tuple[Codes, Codes]:
        """The partners of row `code`, ascending, and their counts."""
        entries = slice(self.indptr[code], self.indptr[code + 1])
        return self.others[entries], self.counts[entries]

    def of_all(self, codes: NDArray[np.integer]) -> Codes:
        """The partners of several rows, row by row; common partners are repeated."""
        return self.others[gather(self.indptr, codes)[0]]

    @property
    def owners(self) -> Codes:
        """The row of each pair, (n_pairs,)."""
        return owners(self.indptr).astype(np.int32)

    def transposed(self, n_others: int) -> Incidence:
        """The same pairs with rows and partners exchanged."""
        return incidence(self.others, self.owners, self.counts, n_others)


def incidence(
    rows: NDArray[np.integer],
    others: NDArray[np.integer],
    counts: NDArray[np.integer],
    n_rows: int,
) -> Incidence:
    """The incidence of pairs, (n,) each.

    The counts of repeated pairs are added; pairs with sum 0 are left out.
    """
    pairs = csr_array(
        (counts, (rows, others)),
        shape=(n_rows, int(others.max(initial=0)) + 1),
        dtype=np.int32,
    )
    pairs.sum_duplicates()
    pairs.eliminate_zeros()
    return Incidence(
        pairs.indptr.astype(np.int64), pairs.indices.astype(np.int32), pairs.data
    )
