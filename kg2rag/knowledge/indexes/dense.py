"""Unit vectors -> nearest rows by cosine, exactly and in canonical order.

FAISS finds the candidates; their scores are then computed once more, row by row in float64, because FAISS rounds a
batch and a single query differently, and a ranking must not depend on what it was computed with.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from kg2rag.compute import threads
from kg2rag.types import FloatArray, IntArray, Matrix

MARGIN = 32  # candidates beyond k requested from FAISS; more where they do not absorb its rounding at the cut
WORTH_THREADS = 10**8
"""Products; for fewer, threads of FAISS cost more than they save: they go on spinning beside those of other loops."""


class DenseIndex:
    """Exact cosine search over `vectors`, (n_rows, dim), rows of norm 1."""

    def __init__(self, vectors: Matrix) -> None:
        self.vectors = np.ascontiguousarray(vectors, dtype=np.float32)  # a mapped array stays one

    def search(
        self, queries: Matrix, k: int, candidates: Sequence[IntArray | None] | None = None
    ) -> list[tuple[IntArray, FloatArray]]:
        """The `k` nearest rows of each query, best first, equal cosines by row.

        Parameters
        ----------
        queries : (n_queries, dim), rows of norm 1.
        candidates : the rows each query may return, every one of which is then scored; None for all.

        Returns
        -------
        One (rows, cosines) pair a query; fewer than `k` where there are fewer rows.
        """
        if queries.shape[1] != self.vectors.shape[1]:
            raise ValueError(f"Queries have {queries.shape[1]} dimensions, the index has {self.vectors.shape[1]}.")
        masks = candidates or [None] * len(queries)
        free = [i for i, mask in enumerate(masks) if mask is None]
        found: list[IntArray] = [np.empty(0, dtype=np.int64) if mask is None else mask for mask in masks]
        if free and len(self.vectors):
            for i, rows in zip(free, self._near(np.ascontiguousarray(queries[free], dtype=np.float32), k), strict=True):
                found[i] = rows
        return [self._ordered(query, rows, k) for query, rows in zip(queries, found, strict=True)]

    def _near(self, queries: Matrix, k: int) -> list[IntArray]:
        """The rows among which the `k` nearest of each query are, by products with the vectors where they lie."""
        import faiss

        faiss.omp_set_num_threads(threads() if len(queries) * self.vectors.size > WORTH_THREADS else 1)
        found: list[IntArray] = [np.empty(0, dtype=np.int64)] * len(queries)
        free, depth = list(range(len(queries))), k + MARGIN
        while free:
            depth = min(depth, len(self.vectors))
            scores, rows = faiss.knn(queries[free], self.vectors, depth, metric=faiss.METRIC_INNER_PRODUCT)
            for i, nearest in zip(free, rows, strict=True):
                found[i] = nearest
            floors: list[float] = scores[:, -1].tolist()
            free = [i for i, floor in zip(free, floors, strict=True) if self._open(queries[i], found[i], k, floor)]
            depth *= 4
        return found

    def _open(self, query: Matrix, rows: IntArray, k: int, floor: float) -> bool:
        """Whether a row that FAISS left out, scored at most `floor` by it, may belong to the `k` nearest."""
        if len(rows) == len(self.vectors):
            return False
        # The rounding of a float32 product of unit vectors is at most about dim · eps.
        rounding = self.vectors.shape[1] * float(np.finfo(np.float32).eps)
        return bool(np.partition(self.cosines(query, rows), -k)[-k] <= floor + rounding)

    def cosines(self, query: Matrix, rows: IntArray) -> FloatArray:
        """(n_rows,) cosines of one query with some rows; each depends on its own row alone."""
        scores: FloatArray = np.einsum("ij,j->i", self.vectors[rows].astype(np.float64), query.astype(np.float64))
        return scores

    def _ordered(self, query: Matrix, rows: IntArray, k: int) -> tuple[IntArray, FloatArray]:
        scores = self.cosines(query, rows)
        order = np.lexsort((rows, -scores))[:k]
        return rows[order], scores[order]
