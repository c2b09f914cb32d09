"""Unit vectors of names -> pairs of names similar enough to mean the same thing.

Matrix products propose the pairs, block by block; their cosines are computed again in float64, pair by pair, so that a
pair at the threshold does not depend on the block, or on the threads, it was found with. The rule (threshold, at most
`limit` a name) is HippoRAG's; it has a second limit, 2047 neighbours, which the first one hides.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from kg2rag.types import FloatArray, IntArray, Interval, Matrix, require

BLOCK = 256  # rows compared at once: with all of 100,000, 100 MB of cosines
SLACK = 1e-4  # how far below the threshold cosines in float32 are still computed again


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
    """The other rows within a cosine of each row: exact, O(n_rows²).

    Parameters
    ----------
    vectors : (n_rows, dim), rows of norm 1.
    threshold : least cosine of a pair, in (0, 1].
    limit : at most so many pairs a source, the most similar; equal cosines by row.
    sources, targets : rows, ascending, that may start and end a pair; None for all.
    """
    require("threshold", threshold, float, Interval(gt=0, le=1))
    every = np.arange(len(vectors), dtype=np.int64)
    starts, ends = (every if rows is None else rows for rows in (sources, targets))
    empty = np.empty(0, dtype=np.int64)
    found = [(empty, empty, np.empty(0))]
    among = np.ascontiguousarray(vectors[ends].T, dtype=np.float32)
    for first in range(0, len(starts) if len(ends) else 0, BLOCK):
        block = starts[first : first + BLOCK]
        at, near = np.nonzero(vectors[block].astype(np.float32) @ among >= threshold - SLACK)
        left, right = block[at], ends[near]
        limits = np.searchsorted(at, np.arange(len(block) + 1))
        cosines = np.empty(len(left))
        for row, begin, end in zip(block.tolist(), limits[:-1].tolist(), limits[1:].tolist(), strict=True):
            others = vectors[right[begin:end]].astype(np.float64)
            cosines[begin:end] = np.einsum("ij,j->i", others, vectors[row].astype(np.float64))
        found.append(_first(left, right, cosines, (cosines >= threshold) & (left != right), limit))
    return Synonyms(*map(np.concatenate, zip(*found, strict=True)))


def _first(
    left: IntArray, right: IntArray, cosines: FloatArray, kept: np.ndarray, limit: int
) -> tuple[IntArray, IntArray, FloatArray]:
    """The pairs that are kept, in order, at most `limit` of each source."""
    order = np.lexsort((right, -cosines, left))
    order = order[kept[order]]
    sources = left[order]
    order = order[np.arange(len(order)) - np.searchsorted(sources, sources) < limit]
    return left[order], right[order], cosines[order]
