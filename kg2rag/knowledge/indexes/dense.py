"""Unit vectors -> nearest rows by cosine, exactly and in canonical order.

FAISS finds candidates in float32, whose last digits depend on the batch; their cosines are
recomputed in float64.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from kg2rag.compute import threads
from kg2rag.types import FloatArray, IntArray, Matrix, canonical_order

# Candidates beyond k; more if rounding at the cut makes them necessary.
MARGIN = 32
ROUNDING = 2e-6  # an upper bound of the error of a float32 cosine
WORTH_THREADS = 10**8
"""Multiplications from which threads of FAISS pay; idle ones spin beside those of other loops."""
BLAS_QUERIES = 4
"""Queries from which one matrix product is faster than a pass over the vectors per query."""
BLOCK_ROWS = 512  # rows in float64 at once: 1.5 MB, which fits the cache


def cosines(queries: Matrix, vectors: Matrix) -> FloatArray:
    """The cosines of unit vectors, (n_queries, n_rows), rounded to six digits: equal in any batch."""
    products = np.empty((len(queries), len(vectors)))
    exact = queries.astype(np.float64)
    for start in range(0, len(vectors), BLOCK_ROWS):
        block = vectors[start : start + BLOCK_ROWS].astype(np.float64)
        products[:, start : start + BLOCK_ROWS] = exact @ block.T
    return products.round(6) + 0.0  # no -0.0


class DenseIndex:
    """Exact cosine search over `vectors`, (n_rows, dim), rows of norm 1."""

    def __init__(self, vectors: Matrix) -> None:
        # Mapped arrays are not copied.
        self.vectors = np.ascontiguousarray(vectors, dtype=np.float32)

    def search(
        self,
        queries: Matrix,
        k: int,
        candidates: Sequence[IntArray | None] | None = None,
    ) -> list[tuple[IntArray, FloatArray]]:
        """The `k` nearest rows of each query, best first, equal cosines by row.

        Parameters
        ----------
        queries : (n_queries, dim), rows of norm 1.
        k : at least 1.
        candidates : for each query, the rows that it may return, which are all scored; None for all rows.

        Returns
        -------
        rows, cosines : a pair for each query, of length k or the number of rows it may return.
        """
        if queries.shape[1] != self.vectors.shape[1]:
            raise ValueError(
                f"Queries have {queries.shape[1]} dimensions, the index has {self.vectors.shape[1]}."
            )
        results = []
        for query, rows in zip(queries, self.near(queries, k, candidates), strict=True):
            scores = self.cosines(query, rows)
            order = canonical_order(rows, scores)[:k]
            results.append((rows[order], scores[order]))
        return results

    def near(
        self,
        queries: Matrix,
        k: int,
        candidates: Sequence[IntArray | None] | None = None,
    ) -> list[IntArray]:
        """The `k` nearest rows of each query, unordered; see `search` for the arguments."""
        import faiss

        is_large = len(queries) * self.vectors.size > WORTH_THREADS
        faiss.omp_set_num_threads(threads() if is_large else 1)
        candidates = candidates or [None] * len(queries)
        rows_of: list[IntArray | None] = list(candidates)
        unsearched = np.flatnonzero([rows is None for rows in candidates])
        width = k + MARGIN
        # A result is complete if its last row is certainly not among the k nearest.
        while len(unsearched) and width < len(self.vectors):
            similarities, rows = _inner_product_search(
                queries[unsearched].astype(np.float32), self.vectors, width
            )
            is_complete = similarities[:, -1] < similarities[:, k - 1] - ROUNDING
            for i in np.flatnonzero(is_complete):
                query_row = unsearched[i]
                rows_of[query_row] = self._nearest_of_ordered(
                    queries[query_row], rows[i], similarities[i], k
                )
            unsearched = unsearched[~is_complete]
            width *= 4
        results = []
        for query, rows_to_rank in zip(queries, rows_of, strict=True):
            if rows_to_rank is None:
                rows_to_rank = np.arange(len(self.vectors))
            results.append(self._nearest(query, rows_to_rank, k))
        return results

    def _nearest_of_ordered(
        self, query: Matrix, rows: IntArray, similarities: Matrix, k: int
    ) -> IntArray:
        """The `k` nearest of some rows, which are ordered by descending float32 similarity.

        Rows within `ROUNDING` of the k-th are compared in float64.
        """
        is_sure = similarities > similarities[k - 1] + ROUNDING
        is_close = ~is_sure & (similarities >= similarities[k - 1] - ROUNDING)
        sure = rows[is_sure]
        return np.append(sure, self._nearest(query, rows[is_close], k - len(sure)))

    def _nearest(self, query: Matrix, rows: IntArray, k: int) -> IntArray:
        """The `k` nearest of some rows, best first; up to `k` rows are returned as they are."""
        if len(rows) <= k:
            return rows
        return rows[canonical_order(rows, self.cosines(query, rows))[:k]]

    def among(
        self, queries: Matrix, rows: IntArray, depths: Sequence[int]
    ) -> tuple[IntArray, FloatArray]:
        """The nearest of some rows for each query, and their cosines with all queries.

        Parameters
        ----------
        queries : (n_queries, dim).
        rows : the rows to choose from.
        depths : the number of nearest rows for each query.

        Returns
        -------
        rows : (n,) those that are among the nearest of any query, and perhaps more, since float32 decides.
        cosines : (n_queries, n) of each query with each of these rows.
        """
        vectors = self.vectors[rows]
        similarities = queries.astype(np.float32) @ vectors.T
        is_near = np.zeros(len(rows), dtype=np.bool_)
        for products, depth in zip(similarities, depths, strict=True):
            if depth >= len(rows):
                is_near[:] = True
                break
            is_near |= products >= np.partition(products, -depth)[-depth] - ROUNDING
        return rows[is_near], cosines(queries, vectors[is_near])

    def cosines(self, query: Matrix, rows: IntArray) -> FloatArray:
        """The cosines of one query with some rows, (n_rows,)."""
        return cosines(query[None], self.vectors[rows]).reshape(-1)


def _inner_product_search(
    queries: Matrix, vectors: Matrix, k: int
) -> tuple[Matrix, IntArray]:
    """The similarities and the rows of the `k` nearest vectors, (n_queries, k) each, by FAISS.

    From `BLAS_QUERIES` queries on, FAISS computes a matrix product. Its threshold, in queries times
    dimensions, is a global variable, which is restored for other code in the process.
    """
    import faiss

    threshold = faiss.cvar.distance_compute_blas_threshold
    try:
        faiss.cvar.distance_compute_blas_threshold = BLAS_QUERIES * vectors.shape[1]
        nearest: tuple[Matrix, IntArray] = faiss.knn(
            queries, vectors, k, metric=faiss.METRIC_INNER_PRODUCT
        )
        return nearest
    finally:
        faiss.cvar.distance_compute_blas_threshold = threshold
