"""What a walk needs of an edge, compiled: how well its sentences fit a query, and so what it weighs.

An edge is weighed when its node is first left, a sentence compared with the query when an edge first needs it.
Indices are unsigned, which spares the compiled loops a test for negative ones and halves their time.
"""

from __future__ import annotations

from typing import NamedTuple

import numba
import numpy as np
from numpy.typing import NDArray

from kg2rag.compute import Kernel
from kg2rag.types import FloatArray, IntArray, Matrix

Flags = NDArray[np.bool_]
Codes = NDArray[np.uint32]
REACHED, FRESH, HEARD = 0, 1, 2  # entries of a row of `Scratch.counts`


class Edges(NamedTuple):
    """A directed graph in CSR form; the sentences of edge e are `sentences[sentence_ptr[e]:sentence_ptr[e + 1]]`."""

    indptr: NDArray[np.uint64]
    targets: Codes
    weights: FloatArray
    sentence_ptr: NDArray[np.uint64]
    sentences: Codes
    vectors: Matrix
    sources: Codes  # the node that each edge leaves; empty for walks that make no sweep over all edges


class Asked(NamedTuple):
    """A query: its vector, where its walk starts, its cosines with all sentences or none, and whether it may enter all.

    Unless `free`, it may enter the nodes from `n_ranked` on and, of those before, the ones that `Scratch.open` marks.
    """

    vector: Matrix
    nodes: IntArray
    weights: FloatArray
    cosines: FloatArray
    n_ranked: int
    free: bool


class Scratch(NamedTuple):
    """What walks write to, one row for each; all but `transition` and `shares` is as new between two walks."""

    here: FloatArray
    there: FloatArray
    leaving: FloatArray  # the sum of the weights out of a node; -1 until it is first left
    shares: FloatArray  # what a node sends in a step, for each unit of an edge's weight
    most: FloatArray
    via: IntArray
    known: Flags
    open: Flags
    frontier: Codes
    merged: Codes
    fresh: Codes
    transition: FloatArray  # the weight of each edge; only of nodes that have been left
    fits: FloatArray
    factors: FloatArray  # NaN until an edge first needs the sentence
    heard: Codes
    counts: IntArray

    @classmethod
    def of(cls, rows: int, n_nodes: int, n_edges: int, n_sentences: int) -> Scratch:
        """For `rows` walks at a time; memory that no walk touches is never taken."""
        nodes, sentences = (rows, n_nodes), (rows, n_sentences)
        return cls(
            here=np.zeros(nodes),
            there=np.zeros(nodes),
            leaving=np.full(nodes, -1.0),
            shares=np.zeros(nodes),
            most=np.zeros(nodes),
            via=np.full(nodes, -1, dtype=np.int64),
            known=np.zeros(nodes, dtype=bool),
            open=np.zeros(nodes, dtype=bool),
            frontier=np.empty(nodes, dtype=np.uint32),
            merged=np.empty(nodes, dtype=np.uint32),
            fresh=np.empty(nodes, dtype=np.uint32),
            transition=np.zeros((rows, n_edges)),
            fits=np.empty(sentences),
            factors=np.full(sentences, np.nan),
            heard=np.empty(sentences, dtype=np.uint32),
            counts=np.zeros((rows, 3), dtype=np.int64),
        )


class Settings(NamedTuple):
    """Of the walk, see `walks.WalkGraph.walks`."""

    damping: float
    temperature: float
    iterations: int
    certain: int
    floor: float


@numba.njit(cache=True)
def cosine(left: Matrix, right: Matrix) -> float:
    """Dot product in eight interleaved float32 sums: the order of additions is part of the source."""
    s0 = s1 = s2 = s3 = s4 = s5 = s6 = s7 = np.float32(0.0)
    whole = left.shape[0] - left.shape[0] % 8
    for at in range(0, whole, 8):
        s0 += left[at] * right[at]
        s1 += left[at + 1] * right[at + 1]
        s2 += left[at + 2] * right[at + 2]
        s3 += left[at + 3] * right[at + 3]
        s4 += left[at + 4] * right[at + 4]
        s5 += left[at + 5] * right[at + 5]
        s6 += left[at + 6] * right[at + 6]
        s7 += left[at + 7] * right[at + 7]
    total = np.float64(s0)
    for part in (s1, s2, s3, s4, s5, s6, s7):
        total += part
    for at in range(whole, left.shape[0]):
        total += left[at] * right[at]
    return total


@Kernel
def few_cosines(queries: Matrix, sentences: Matrix) -> FloatArray:
    """(n_queries, n_sentences) `cosine` of each pair, sentence by sentence; `queries` are (n_queries, dim)."""
    products = np.empty((queries.shape[0], sentences.shape[0]))
    for i in numba.prange(sentences.shape[0]):
        for q in range(queries.shape[0]):
            products[q, i] = cosine(sentences[i], queries[q])
    return products


@Kernel
def every_cosine(queries: Matrix, sentences: Matrix) -> FloatArray:
    """(n_queries, n_sentences) `cosine` of each pair, to the bit; `queries` are (dim, n_queries).

    Queries lie side by side, so that one read of a sentence serves all of them and the compiler uses vectors.
    """
    dim, n_queries = queries.shape
    products = np.empty((n_queries, sentences.shape[0]))
    whole = dim - dim % 8
    for block in numba.prange((sentences.shape[0] + 63) // 64):
        sums = np.zeros((8, n_queries), dtype=np.float32)
        for i in range(64 * block, min(64 * block + 64, sentences.shape[0])):
            for at in range(8):
                for q in range(n_queries):
                    sums[at, q] = 0.0
            for at in range(whole):
                value, lane, column = sentences[i, at], sums[at % 8], queries[at]
                for q in range(n_queries):
                    lane[q] += value * column[q]
            for q in range(n_queries):
                total = np.float64(sums[0, q])
                for at in range(1, 8):
                    total += sums[at, q]
                for at in range(whole, dim):
                    total += sentences[i, at] * queries[at, q]
                products[q, i] = total
    return products
