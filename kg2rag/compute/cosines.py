"""Queries x rows -> every cosine, compiled; each depends on its own two vectors only.

For strategies that need all of them; `knowledge.indexes.dense` finds the nearest few. A matrix product would round a
row differently depending on the other rows.
"""

from __future__ import annotations

import numba
import numpy as np

from kg2rag.compute.kernels import Kernel
from kg2rag.types import FloatArray, Matrix

LANES = 8


def all_cosines(queries: Matrix, rows: Matrix) -> FloatArray:
    """(n_queries, n_rows) dot products of unit vectors, added up in float64 in one fixed order."""
    products: FloatArray = _products(np.ascontiguousarray(queries), np.ascontiguousarray(rows))
    return products


@Kernel
def _products(queries: Matrix, rows: Matrix) -> FloatArray:
    n_rows, dim = rows.shape
    products = np.empty((queries.shape[0], n_rows))
    whole = dim - dim % LANES
    for row in numba.prange(n_rows):
        vector = rows[row]
        for i in range(queries.shape[0]):
            query = queries[i]
            s0 = s1 = s2 = s3 = s4 = s5 = s6 = s7 = 0.0
            for at in range(0, whole, LANES):
                s0 += np.float64(query[at]) * vector[at]
                s1 += np.float64(query[at + 1]) * vector[at + 1]
                s2 += np.float64(query[at + 2]) * vector[at + 2]
                s3 += np.float64(query[at + 3]) * vector[at + 3]
                s4 += np.float64(query[at + 4]) * vector[at + 4]
                s5 += np.float64(query[at + 5]) * vector[at + 5]
                s6 += np.float64(query[at + 6]) * vector[at + 6]
                s7 += np.float64(query[at + 7]) * vector[at + 7]
            for at in range(whole, dim):
                s0 += np.float64(query[at]) * vector[at]
            products[i, row] = ((s0 + s1) + (s2 + s3)) + ((s4 + s5) + (s6 + s7))
    return products
