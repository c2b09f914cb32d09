"""Unit vectors -> nearest rows by cosine, exactly and in canonical order.

Products in float32, whose last digits depend on the batch, find candidates; their cosines are computed again in
float64.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from kg2rag.types import FloatArray, IntArray, Matrix, canonical_order

ROUNDING = np.float32(2e-6)  # more than a cosine in float32 is wrong by
BLOCK_QUERIES = 256
BLOCK_ROWS = 8_192  # multiplied with as many queries at once: 8 MB
EXACT_ROWS = 512  # in float64 at once, 1.5 MB, which a cache holds


def cosines(queries: Matrix, vectors: Matrix) -> FloatArray:
    """(n_queries, n_rows) products of unit vectors to six digits: computed in float64, so equal in any batch."""
    products = np.empty((len(queries), len(vectors)))
    exact = queries.astype(np.float64)
    for start in range(0, len(vectors), EXACT_ROWS):
        products[:, start : start + EXACT_ROWS] = exact @ vectors[start : start + EXACT_ROWS].astype(np.float64).T
    return products.round(6) + 0.0  # no -0.0


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
        k : at least 1.
        candidates : for each query the rows that it may return, which are then all scored; None for all rows.

        Returns
        -------
        rows, cosines : a pair for each query, of length k or the number of rows it may return.
        """
        if queries.shape[1] != self.vectors.shape[1]:
            raise ValueError(f"Queries have {queries.shape[1]} dimensions, the index has {self.vectors.shape[1]}.")
        rows_of: dict[int, Any] = dict(enumerate(candidates or [None] * len(queries)))
        unrestricted = [i for i, rows in rows_of.items() if rows is None]
        for start in range(0, len(unrestricted), BLOCK_QUERIES):
            block = unrestricted[start : start + BLOCK_QUERIES]
            rows_of.update(zip(block, self._near(np.asarray(queries[block], dtype=np.float32), k), strict=True))
        results = []
        for query, rows in zip(queries, rows_of.values(), strict=True):
            scores = self.cosines(query, rows)
            order = canonical_order(rows, scores)[:k]
            results.append((rows[order], scores[order]))
        return results

    def _near(self, queries: Matrix, k: int) -> list[IntArray]:
        """For each query the rows among which its `k` nearest are, and all that tie with these."""
        nearest = [_Nearest(k) for _ in queries]
        for start in range(0, len(self.vectors), BLOCK_ROWS):
            products = queries @ self.vectors[start : start + BLOCK_ROWS].T
            for near, cosines_of_block in zip(nearest, products, strict=True):
                near.add(start, cosines_of_block)
        return [near.rows for near in nearest]

    def cosines(self, query: Matrix, rows: IntArray) -> FloatArray:
        """(n_rows,) cosines of one query with some rows."""
        return cosines(query[None], self.vectors[rows]).reshape(-1)


class _Nearest:
    """The nearest `k` of the rows seen so far, and those that may tie with them, ascending."""

    def __init__(self, k: int) -> None:
        self.k = k
        self.rows = np.empty(0, dtype=np.int64)
        self.cosines = np.empty(0, dtype=np.float32)
        self.least = np.float32(-np.inf)

    def add(self, start: int, cosines: Matrix) -> None:
        """See the rows from `start` on."""
        higher = np.flatnonzero(cosines >= self.least)
        self.rows = np.append(self.rows, start + higher)
        self.cosines = np.append(self.cosines, cosines[higher])
        if len(self.rows) > self.k:
            self.least = np.partition(self.cosines, -self.k)[-self.k] - ROUNDING
            kept = self.cosines >= self.least
            self.rows = self.rows[kept]
            self.cosines = self.cosines[kept]
