"""Unit vectors of names -> pairs of names similar enough to mean the same thing; in bounded memory.

FAISS proposes pairs by the shadows of the vectors, a few numbers each that bound every cosine from above, so that no
pair is lost. It does so for each row and those before it, a block of rows at a time, so that every pair is looked at
once. A row with more near rows than are kept would be missing among some of theirs: such rows, and all near them, are
searched again among all. Cosines are then computed again in float64, pair by pair, so that a pair at the threshold
does not depend on the block, or on the threads, it was found with. The rule (threshold, at most `limit` a name) is
HippoRAG's; it has a second limit, 2047 neighbours, which the first one hides.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from kg2rag.compute import threads
from kg2rag.types import FloatArray, IntArray, Matrix, above, at_most, require

if TYPE_CHECKING:
    import faiss

BLOCK = 2048  # rows searched at once; of fewer than about a thousand FAISS takes five times as long each
AMONG = 100_000  # rows among which that is done: if all were alike, a search would propose 200 million pairs, 2.4 GB
MARGIN = 32  # neighbours beyond the limit that absorb the rounding of float32 at the cut
SLACK = 1e-4  # how far below the threshold cosines in float32 are still computed again
SHADOW = 64  # numbers of the smallest shadow
SELECTIVE = 0.002  # a shadow is large enough where it proposes at most this share of pairs
SAMPLE = 1000  # rows on which that is tried


@dataclass(frozen=True, eq=False)
class Synonyms:
    """Ordered pairs, (n_pairs,) each, sorted by source, then by falling cosine, then by target."""

    sources: IntArray
    targets: IntArray
    cosines: FloatArray

    def save(self, folder: Path) -> None:
        """Write the columns as .npy files."""
        for name in ("sources", "targets", "cosines"):
            np.save(folder / f"{name}.npy", getattr(self, name))

    @classmethod
    def load(cls, folder: Path) -> Synonyms:
        """Read what `save` wrote."""
        return cls(*(np.load(folder / f"{name}.npy") for name in ("sources", "targets", "cosines")))


def synonyms(
    vectors: Matrix,
    threshold: float,
    *,
    limit: int = 101,
    sources: IntArray | None = None,
    targets: IntArray | None = None,
) -> Synonyms:
    """The rows within a cosine of each row: exact, O(n_rows²), 100,000 rows of 384 numbers in well under a minute.

    Parameters
    ----------
    vectors : (n_rows, dim), rows of norm 1.
    threshold : least cosine of a pair, in (0, 1].
    limit : at most so many pairs a source, the most similar; equal cosines by row.
    sources, targets : rows, ascending, that may start and end a pair; None for all.
    """
    require("threshold", threshold, float, above(0) & at_most(1))
    every = np.arange(len(vectors), dtype=np.int64)
    starts = every if sources is None else sources
    ends = every if targets is None else targets
    if not len(starts) or not len(ends):
        empty = np.empty(0, dtype=np.int64)
        return Synonyms(empty, empty, np.empty(0))
    depth = limit + MARGIN
    left, right, crowded = _among_earlier(vectors, threshold, depth, np.union1d(starts, ends))
    if len(crowded):
        again = np.intersect1d(_near(vectors, threshold, crowded), starts)
        settled = ~np.isin(left, again)
        searched = _among_all(vectors, threshold, depth, again, ends)
        left, right = np.concatenate([left[settled], searched[0]]), np.concatenate([right[settled], searched[1]])
    wanted = np.isin(left, starts) & np.isin(right, ends)
    return Synonyms(*_accepted(vectors, threshold, limit, left[wanted], right[wanted]))


def _among_earlier(
    vectors: Matrix, threshold: float, depth: int, rows: IntArray
) -> tuple[IntArray, IntArray, IntArray]:
    """Pairs of different rows near the threshold or above, both ways round; and the rows that are near too many."""
    near = _Near(vectors, rows, threshold, depth)
    found: list[IntArray] = []
    crowded: list[IntArray] = []
    for block in _blocks(rows):
        near.add(block)
        left, right, full = near.search(block)
        crowded.append(full)
        found.append(left * len(vectors) + right)
    left, right = np.divmod(np.concatenate(found), len(vectors))
    # Two rows of one block find each other, those of two blocks only once: both ways round, each once.
    both = np.unique(np.concatenate([left * len(vectors) + right, right * len(vectors) + left]))
    left, right = np.divmod(both, len(vectors))
    return left, right, np.concatenate(crowded)


def _among_all(
    vectors: Matrix, threshold: float, depth: int, rows: IntArray, ends: IntArray
) -> tuple[IntArray, IntArray]:
    """The same for some rows, each among all ends at once, from the row to the end."""
    near = _Near(vectors, ends, threshold, depth)
    for block in _blocks(ends):
        near.add(block)
    found = [near.search(block)[:2] for block in _blocks(rows)]
    return np.concatenate([left for left, _ in found]), np.concatenate([right for _, right in found])


def _blocks(rows: IntArray) -> list[IntArray]:
    return [rows[first : first + BLOCK] for first in range(0, len(rows), BLOCK)]


def _near(vectors: Matrix, threshold: float, rows: IntArray) -> IntArray:
    """These rows and all near any of them, ascending."""
    near = np.zeros(len(vectors), dtype=bool)
    near[rows] = True
    for first in range(0, len(vectors), BLOCK):
        block = vectors[first : first + BLOCK]
        for start in range(0, len(rows), BLOCK):
            cosines = block @ vectors[rows[start : start + BLOCK]].T
            near[first : first + BLOCK] |= (cosines >= threshold - SLACK).any(axis=1)
    return np.flatnonzero(near)


class _Near:
    """The first of some rows, as many as were added, to be searched for those near another one.

    `shadows` are what FAISS sees of the vectors. Turned onto the principal axes of all, a vector is a few large numbers
    and a rest; a shadow is these numbers and the length of the rest. The product of two shadows is at least that of the
    vectors, for the rests add at most the product of their lengths (Cauchy and Schwarz). With all axes it is the same.
    """

    def __init__(self, vectors: Matrix, rows: IntArray, threshold: float, depth: int) -> None:
        import faiss

        faiss.omp_set_num_threads(threads())
        self.vectors, self.rows, self.least, self.depth = vectors, rows, threshold - SLACK, depth
        self.axes, self.kept = _axes(vectors), SHADOW - 1
        sample = _block(vectors, np.unique(np.linspace(0, len(vectors) - 1, SAMPLE).astype(np.int64)))
        while self.kept < len(self.axes) and self._proposed(sample) > SELECTIVE:
            self.kept = 2 * self.kept + 1
        self.parts: list[faiss.IndexFlatIP] = []

    def _proposed(self, sample: Matrix) -> float:
        shadows = self._shadows(sample)
        return float((shadows @ shadows.T >= self.least).mean())

    def _shadows(self, block: Matrix) -> Matrix:
        turned = block @ self.axes
        rest = np.linalg.norm(turned[:, self.kept :], axis=1, keepdims=True)
        return np.hstack([turned[:, : self.kept], rest]).astype(np.float32)

    def add(self, rows: IntArray) -> None:
        """Add the next ones of the rows."""
        import faiss

        shadows = self._shadows(_block(self.vectors, rows))
        if not self.parts or self.parts[-1].ntotal >= AMONG:
            self.parts.append(faiss.IndexFlatIP(shadows.shape[1]))
        self.parts[-1].add(shadows)

    def search(self, rows: IntArray) -> tuple[IntArray, IntArray, IntArray]:
        """Rows and what is near them, of each at most `depth`, the nearest; and the rows with more than that."""
        shadows, first, found = self._shadows(_block(self.vectors, rows)), 0, []
        for part in self.parts:
            found.append(self._near_in(part, rows, shadows, first))
            first += part.ntotal
        left, right, cosines = (np.concatenate(columns) for columns in zip(*found, strict=True))
        order = np.lexsort((right, -cosines, left))
        left, right = left[order], right[order]
        place = _places(left)
        return left[place < self.depth], right[place < self.depth], np.unique(left[place >= self.depth])

    def _near_in(
        self, part: faiss.IndexFlatIP, rows: IntArray, shadows: Matrix, first: int
    ) -> tuple[IntArray, IntArray, FloatArray]:
        ends, _, found = part.range_search(shadows, self.least)
        left, right = np.repeat(rows, np.diff(ends.astype(np.int64))), self.rows[first + found]
        left, right = left[left != right], right[left != right]
        cosines = _cosines(self.vectors, left, right, np.float32)
        near = cosines >= self.least
        return left[near], right[near], cosines[near]


def _axes(vectors: Matrix) -> Matrix:
    """(dim, dim) the principal axes as columns, those of the largest share first."""
    moments = np.zeros((vectors.shape[1],) * 2)
    for first in range(0, len(vectors), BLOCK):
        block = vectors[first : first + BLOCK]
        moments += block.T @ block
    axes: Matrix = np.linalg.eigh(moments)[1][:, ::-1].astype(np.float32)
    return axes


def _block(vectors: Matrix, rows: IntArray) -> Matrix:
    block: Matrix = np.ascontiguousarray(vectors[rows], dtype=np.float32)
    return block


def _accepted(
    vectors: Matrix, threshold: float, limit: int, left: IntArray, right: IntArray
) -> tuple[IntArray, IntArray, FloatArray]:
    """The pairs at the threshold or above, ordered, and at most `limit` of each source."""
    cosines = _cosines(vectors, left, right, np.float64)
    order = np.lexsort((right, -cosines, left))
    order = order[cosines[order] >= threshold]
    left, right, cosines = left[order], right[order], cosines[order]
    place = _places(left)
    return left[place < limit], right[place < limit], cosines[place < limit]


def _cosines(vectors: Matrix, left: IntArray, right: IntArray, precision: type[np.floating[Any]]) -> FloatArray:
    """Of pairs of rows, computed and added up in one precision."""
    cosines = np.empty(len(left), dtype=precision)
    for first in range(0, len(left), BLOCK):
        inside = slice(first, first + BLOCK)
        a: FloatArray = vectors[left[inside]].astype(precision)
        b: FloatArray = vectors[right[inside]].astype(precision)
        cosines[inside] = np.einsum("ij,ij->i", a, b)
    return cosines


def _places(rows: IntArray) -> IntArray:
    """How many equal ones come before each of these, which are in ascending order."""
    return np.arange(len(rows)) - np.searchsorted(rows, rows)
