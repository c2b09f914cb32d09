"""Unit vectors of names -> pairs of names so alike that they may mean the same thing; in bounded memory.

FAISS proposes each row's nearest rows, a block of rows at a time; cosines are then computed once more in float64, pair
by pair, so that a pair at the threshold does not depend on the block, or on the threads, it was found with. The rule
(threshold, at most `limit` a name) is HippoRAG's; it has a second limit, 2047 neighbours, which the first one hides.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from kg2rag.hardware import threads
from kg2rag.types import FloatArray, IntArray
from kg2rag.vectors import Matrix

BLOCK = 2048  # rows searched at once: with 100,000 names the search holds 2048 · ~140 candidates, 3 MB
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
    """The rows within a cosine of each row.

    Parameters
    ----------
    vectors : (n_rows, dim), rows of norm 1.
    threshold : least cosine of a pair, in (0, 1].
    limit : at most so many pairs a source, the most alike; equal cosines by row.
    sources, targets : rows, ascending, that may start and end a pair; None stands for all.

    Notes
    -----
    Exact, O(n_sources * n_targets * dim).
    """
    if not 0 < threshold <= 1:
        raise ValueError(f"threshold must be above 0, at most 1, not {threshold}.")
    every = np.arange(len(vectors), dtype=np.int64)
    starts = every if sources is None else sources
    ends = every if targets is None else targets
    found = [
        _accepted(vectors, threshold, limit, *pairs) for pairs in _proposed(vectors, threshold, limit, starts, ends)
    ]
    if not found:
        empty = np.empty(0, dtype=np.int64)
        return Synonyms(empty, empty, np.empty(0))
    return Synonyms(*(np.concatenate(column) for column in zip(*found, strict=True)))


def _proposed(
    vectors: Matrix, threshold: float, limit: int, starts: IntArray, ends: IntArray
) -> Iterator[tuple[IntArray, IntArray]]:
    """Pairs of different rows that FAISS puts near the threshold or above, for one block of sources after another."""
    import faiss

    if not len(starts) or not len(ends):
        return
    faiss.omp_set_num_threads(threads())
    index = faiss.IndexFlatIP(vectors.shape[1])
    index.add(np.ascontiguousarray(vectors[ends], dtype=np.float32))
    depth = min(limit + 1 + MARGIN, len(ends))  # a row is its own nearest neighbour
    for first in range(0, len(starts), BLOCK):
        rows = starts[first : first + BLOCK]
        cosines, found = index.search(np.ascontiguousarray(vectors[rows], dtype=np.float32), depth)
        near, at = np.nonzero(cosines >= threshold - SLACK)
        left, right = rows[near], ends[found[near, at]]
        yield left[left != right], right[left != right]


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
    place = np.arange(len(left)) - np.searchsorted(left, left)  # how many of the source's pairs stand before
    return left[place < limit], right[place < limit], cosines[place < limit]
