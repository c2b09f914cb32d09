"""Unit vectors of names -> pairs of names similar enough to mean the same thing.

Matrix products propose the pairs, block by block; their cosines are computed again in float64, pair by pair, so that
no pair depends on its block or threads. The rule (threshold, at most `limit` a name) is HippoRAG's.
"""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import numpy as np

from kg2rag.types import FloatArray, IntArray, Interval, Matrix, require

BLOCK_ROWS = 256  # that are compared at once: with all of 100,000, 100 MB of cosines
SLACK = 1e-4  # how far below the threshold cosines in float32 are still computed again


class Synonyms(NamedTuple):
    """Ordered pairs, (n_pairs,) each, sorted by source, then by falling cosine, then by target."""

    sources: IntArray
    targets: IntArray
    cosines: FloatArray

    def save(self, folder: Path) -> None:
        """Write the columns as .npy files."""
        for name, column in self._asdict().items():
            np.save(folder / f"{name}.npy", column)

    @classmethod
    def load(cls, folder: Path) -> Synonyms:
        """Read what `save` wrote."""
        return cls(*(np.load(folder / f"{name}.npy") for name in cls._fields))


def synonyms(
    vectors: Matrix,
    threshold: float,
    *,
    limit: int = 101,
    sources: IntArray | None = None,
    targets: IntArray | None = None,
) -> Synonyms:
    """The other rows within a cosine, `threshold` in (0, 1], of each row of norm 1: exact, O(n_rows²).

    `limit` : at most so many pairs a source, the most similar; equal cosines by row.
    `sources`, `targets` : rows, ascending, that may start and end a pair; None for all.
    """
    require("threshold", threshold, float, Interval(gt=0, le=1))
    every = np.arange(len(vectors))
    starts = every if sources is None else sources
    ends = every if targets is None else targets
    results = [Synonyms(starts[:0], ends[:0], np.empty(0))]
    if len(ends):
        end_vectors = np.ascontiguousarray(vectors[ends].T, dtype=np.float32)
        for first in range(0, len(starts), BLOCK_ROWS):
            block = starts[first : first + BLOCK_ROWS]
            products = vectors[block].astype(np.float32) @ end_vectors
            for row, near in zip(block.tolist(), products >= threshold - SLACK, strict=True):
                results.append(_nearest(vectors, row, ends[near], threshold, limit))
    return Synonyms(*map(np.concatenate, zip(*results, strict=True)))


def _nearest(vectors: Matrix, row: int, candidates: IntArray, threshold: float, limit: int) -> Synonyms:
    """The pairs of one row with candidates within a cosine."""
    others = candidates[candidates != row]
    cosines = np.einsum("ij,j->i", vectors[others].astype(np.float64), vectors[row].astype(np.float64))
    best = np.lexsort((others, -cosines))
    best = best[cosines[best] >= threshold][:limit]
    return Synonyms(np.full(len(best), row), others[best], cosines[best])
