"""Unit vectors -> nearest rows by cosine, exactly and in canonical order.

FAISS finds the candidates; their scores are then computed once more, row by row in float64, because FAISS rounds a
batch and a single query differently, and a ranking must not depend on what it was computed with.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np

from kg2rag.hardware import threads
from kg2rag.types import FloatArray, IntArray
from kg2rag.vectors import Matrix

MARGIN = 32  # candidates beyond k that absorb FAISS's rounding at the cut


class DenseIndex:
    """Exact cosine search.

    Parameters
    ----------
    vectors : (n_rows, dim), rows of norm 1.
    """

    def __init__(self, vectors: Matrix) -> None:
        self.vectors = np.ascontiguousarray(vectors, dtype=np.float32)

    @cached_property
    def _faiss(self) -> Any:
        import faiss

        faiss.omp_set_num_threads(threads())
        index = faiss.IndexFlatIP(self.vectors.shape[1])
        index.add(self.vectors)
        return index

    def search(
        self, queries: Matrix, k: int, candidates: Sequence[IntArray | None] | None = None
    ) -> list[tuple[IntArray, FloatArray]]:
        """The `k` nearest rows of each query, best first, equal cosines by row.

        Parameters
        ----------
        queries : (n_queries, dim), rows of norm 1.
        candidates : the rows each query may return; None stands for all of them.

        Returns
        -------
        One (rows, cosines) pair a query; fewer than `k` where there are fewer rows.

        Raises
        ------
        ValueError : `dim` differs from the index's.
        """
        if queries.shape[1] != self.vectors.shape[1]:
            raise ValueError(f"Queries have {queries.shape[1]} dimensions, the index has {self.vectors.shape[1]}.")
        masks = candidates or [None] * len(queries)
        free = [i for i, mask in enumerate(masks) if mask is None]
        found: list[IntArray] = [np.empty(0, dtype=np.int64) if mask is None else mask for mask in masks]
        if free:
            depth = min(k + MARGIN, len(self.vectors))
            for i, rows in zip(free, self._faiss.search(queries[free], depth)[1], strict=True):
                found[i] = rows
        return [self._ordered(query, rows, k) for query, rows in zip(queries, found, strict=True)]

    def cosines(self, query: Matrix, rows: IntArray) -> FloatArray:
        """(n_rows,) cosines of one query with some rows; each depends on its own row alone."""
        scores: FloatArray = np.einsum("ij,j->i", self.vectors[rows].astype(np.float64), query.astype(np.float64))
        return scores

    def _ordered(self, query: Matrix, rows: IntArray, k: int) -> tuple[IntArray, FloatArray]:
        scores = self.cosines(query, rows)
        order = np.lexsort((rows, -scores))[:k]
        return rows[order], scores[order]
