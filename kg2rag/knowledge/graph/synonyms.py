"""Unit vectors of names -> pairs of names similar enough to mean the same thing; in bounded memory.

FAISS proposes each row's nearest rows among those before it, a block of rows at a time, so that every pair is looked at
once. A row with more near rows than are kept would be missing among some of theirs: such rows, and all near them, are
searched again among all. Cosines are then computed again in float64, pair by pair, so that a pair at the threshold
does not depend on the block, or on the threads, it was found with. The rule (threshold, at most `limit` a name) is
HippoRAG's; it has a second limit, 2047 neighbours, which the first one hides.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from kg2rag.compute import threads
from kg2rag.types import FloatArray, IntArray, Matrix, above, at_most, require

if TYPE_CHECKING:
    import faiss

BLOCK = 2048  # rows searched at once: the search then holds 2048 · ~140 candidates, 3 MB
MARGIN = 32  # neighbours beyond the limit that absorb FAISS's rounding at the cut
SLACK = 1e-4  # how far below the threshold FAISS's float32 cosines are still computed again


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
    """The rows within a cosine of each row: exact, O(n_rows² · dim), 100,000 rows of 384 numbers in about a minute.

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
    depth = limit + 1 + MARGIN  # a row is its own nearest neighbour
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
    index = _empty_index(vectors)
    found: list[IntArray] = []
    crowded: list[IntArray] = []
    for first in range(0, len(rows), BLOCK):
        block = rows[first : first + BLOCK]
        index.add(_block(vectors, block))
        left, at, full = _search(index, vectors, block, threshold, depth)
        crowded.append(full)
        found.append(left * len(vectors) + rows[at])
    left, right = np.divmod(np.concatenate(found), len(vectors))
    # Two rows of one block find each other, those of two blocks only once: both ways round, each once.
    both = np.unique(np.concatenate([left * len(vectors) + right, right * len(vectors) + left]))
    left, right = np.divmod(both, len(vectors))
    return left[left != right], right[left != right], np.concatenate(crowded)


def _among_all(
    vectors: Matrix, threshold: float, depth: int, rows: IntArray, ends: IntArray
) -> tuple[IntArray, IntArray]:
    """The same for some rows, each among all ends at once, from the row to the end."""
    index = _empty_index(vectors)
    for first in range(0, len(ends), BLOCK):
        index.add(_block(vectors, ends[first : first + BLOCK]))
    left, right = [], []
    for first in range(0, len(rows), BLOCK):
        near, at, _ = _search(index, vectors, rows[first : first + BLOCK], threshold, depth)
        left.append(near[near != ends[at]])
        right.append(ends[at][near != ends[at]])
    return np.concatenate(left), np.concatenate(right)


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


def _empty_index(vectors: Matrix) -> faiss.IndexFlatIP:
    import faiss

    faiss.omp_set_num_threads(threads())
    return faiss.IndexFlatIP(vectors.shape[1])


def _search(
    index: faiss.IndexFlatIP, vectors: Matrix, rows: IntArray, threshold: float, depth: int
) -> tuple[IntArray, IntArray, IntArray]:
    """Rows and the places in the index of what is near them; and the rows that had more than `depth` of these."""
    cosines, found = index.search(_block(vectors, rows), min(depth, index.ntotal))
    is_near = cosines >= threshold - SLACK
    near, at = np.nonzero(is_near)
    full = is_near.all(axis=1) & (index.ntotal > depth)
    return rows[near], found[near, at], rows[full]


def _block(vectors: Matrix, rows: IntArray) -> Matrix:
    block: Matrix = np.ascontiguousarray(vectors[rows], dtype=np.float32)
    return block


def _accepted(
    vectors: Matrix, threshold: float, limit: int, left: IntArray, right: IntArray
) -> tuple[IntArray, IntArray, FloatArray]:
    """The pairs at the threshold or above, ordered, and at most `limit` of each source."""
    cosines = np.empty(len(left))
    for first in range(0, len(left), BLOCK):
        inside = slice(first, first + BLOCK)
        a, b = vectors[left[inside]].astype(np.float64), vectors[right[inside]].astype(np.float64)
        cosines[inside] = np.einsum("ij,ij->i", a, b)
    order = np.lexsort((right, -cosines, left))
    order = order[cosines[order] >= threshold]
    left, right, cosines = left[order], right[order], cosines[order]
    place = np.arange(len(left)) - np.searchsorted(left, left)  # how many of the source's pairs come before
    return left[place < limit], right[place < limit], cosines[place < limit]
