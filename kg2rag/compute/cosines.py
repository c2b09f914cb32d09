"""Queries x rows -> every cosine, compiled; each depends on its own two vectors only.

For strategies that need all of them; `knowledge.indexes.dense` finds the nearest few. A matrix product would round a
row differently depending on the other rows.
"""

from __future__ import annotations

import numba
import numpy as np

from kg2rag.compute.kernels import Kernel
from kg2rag.compute.lanes import LANES, add, eight, read, scale, write
from kg2rag.types import FloatArray, Matrix

TILE = 64  # rows that are done for eight queries before the next eight: what is read of these stays near
FEW = 2  # so many queries are done one by one: less work than eight lanes that are mostly empty


def all_cosines(queries: Matrix, rows: Matrix) -> FloatArray:
    """(n_queries, n_rows) dot products of unit vectors, added up in float64 in one fixed order.

    A pair has eight sums, of every eighth number each, which are added two by two.
    """
    n_queries, dim = queries.shape
    rows, products = np.ascontiguousarray(rows), np.empty((n_queries, len(rows)))
    if n_queries <= FEW:
        _one_by_one(queries.astype(np.float64), rows, products)
    else:
        groups = np.zeros((-(-n_queries // LANES), LANES, dim))
        groups.reshape(-1, dim)[:n_queries] = queries
        _side_by_side(np.ascontiguousarray(groups.transpose(0, 2, 1)), rows, products)
    return products


def _few(queries: FloatArray, rows: Matrix, products: FloatArray) -> None:
    """Row by row: reading these takes longer than the products."""
    n_rows, dim = rows.shape
    whole = dim - dim % LANES
    for i in numba.prange(n_rows):
        row = rows[i]
        for q in range(queries.shape[0]):
            query = queries[q]
            s0 = s1 = s2 = s3 = s4 = s5 = s6 = s7 = 0.0
            for at in range(0, whole, LANES):
                s0 += query[at] * row[at]
                s1 += query[at + 1] * row[at + 1]
                s2 += query[at + 2] * row[at + 2]
                s3 += query[at + 3] * row[at + 3]
                s4 += query[at + 4] * row[at + 4]
                s5 += query[at + 5] * row[at + 5]
                s6 += query[at + 6] * row[at + 6]
                s7 += query[at + 7] * row[at + 7]
            for at in range(whole, dim):
                s0 += query[at] * row[at]
            products[q, i] = ((s0 + s1) + (s2 + s3)) + ((s4 + s5) + (s6 + s7))


def _many(groups: FloatArray, rows: Matrix, products: FloatArray) -> None:
    """Eight queries in the lanes, each sum in a register of its own; `groups` are (n_groups, dim, LANES)."""
    n_rows, dim = rows.shape
    whole = dim - dim % LANES
    for tile in numba.prange((n_rows + TILE - 1) // TILE):
        begin, end = tile * TILE, min(tile * TILE + TILE, n_rows)
        sums = np.empty((TILE, LANES))
        for g in range(groups.shape[0]):
            group = groups[g]
            for i in range(begin, end):
                row = rows[i]
                s0 = s1 = s2 = s3 = s4 = s5 = s6 = s7 = eight(0.0)
                for at in range(0, whole, LANES):
                    s0 = add(s0, scale(row[at], read(group, at)))
                    s1 = add(s1, scale(row[at + 1], read(group, at + 1)))
                    s2 = add(s2, scale(row[at + 2], read(group, at + 2)))
                    s3 = add(s3, scale(row[at + 3], read(group, at + 3)))
                    s4 = add(s4, scale(row[at + 4], read(group, at + 4)))
                    s5 = add(s5, scale(row[at + 5], read(group, at + 5)))
                    s6 = add(s6, scale(row[at + 6], read(group, at + 6)))
                    s7 = add(s7, scale(row[at + 7], read(group, at + 7)))
                for at in range(whole, dim):
                    s0 = add(s0, scale(row[at], read(group, at)))
                write(sums, i - begin, add(add(add(s0, s1), add(s2, s3)), add(add(s4, s5), add(s6, s7))))
            for q in range(min(LANES, products.shape[0] - g * LANES)):
                for i in range(begin, end):
                    products[g * LANES + q, i] = sums[i - begin, q]


_one_by_one = Kernel(_few)
_side_by_side = Kernel(_many, lanes=True)
