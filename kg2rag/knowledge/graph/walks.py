"""Random walks with restart, compiled: the kernels behind the PageRank strategies.

Every query is walked on its own, in a fixed order of additions, so that a batch gives the same bits as its queries one
by one, with any number of threads.
"""

from __future__ import annotations

import numba
import numpy as np
from numpy.typing import NDArray

from kg2rag.compute import limit_numba
from kg2rag.types import FloatArray, IntArray, Matrix

limit_numba()

Edges = tuple[IntArray, IntArray, FloatArray, IntArray, IntArray, Matrix]


@numba.njit(cache=True)
def _cosine(left: Matrix, right: Matrix) -> float:
    """Dot product in eight interleaved sums: quick, and the order of additions is part of the source."""
    sums = np.zeros(8, dtype=np.float32)
    dim = left.shape[0]
    for start in range(0, dim - 7, 8):
        for lane in range(8):
            sums[lane] += left[start + lane] * right[start + lane]
    total = 0.0
    for lane in range(8):
        total += sums[lane]
    for at in range(dim - dim % 8, dim):
        total += left[at] * right[at]
    return total


@numba.njit(cache=True)
def _best_fit(
    edge: int, sentence_ptr: IntArray, sentences: IntArray, vectors: Matrix, query: Matrix, fits: FloatArray
) -> float:
    """The highest cosine of the query with a sentence of the edge; 1 where it has none.

    `fits`, (n_sentences,), keeps the cosines once computed (NaN before): several edges share a sentence, at least those
    of both directions.
    """
    first, last = sentence_ptr[edge], sentence_ptr[edge + 1]
    if first == last:
        return 1.0
    highest = -1.0
    for at in range(first, last):
        sentence = sentences[at]
        if np.isnan(fits[sentence]):
            fits[sentence] = _cosine(vectors[sentence], query)
        highest = max(highest, fits[sentence])
    return highest


@numba.njit(cache=True)
def _weigh(
    node: int,
    edges: Edges,
    query: Matrix,
    allowed: NDArray[np.bool_],
    temperature: float,
    fits: FloatArray,
    transition: FloatArray,
) -> float:
    """Fill in the query-aware weights of a node's edges; their sum."""
    indptr, targets, weights, sentence_ptr, sentences, vectors = edges
    total = 0.0
    for edge in range(indptr[node], indptr[node + 1]):
        if allowed[targets[edge]]:
            fit = _best_fit(edge, sentence_ptr, sentences, vectors, query, fits)
            transition[edge] = weights[edge] * np.exp((fit - 1.0) / temperature)
            total += transition[edge]
    return total


@numba.njit(cache=True)
def query_aware_walk(
    edges: Edges,
    query: Matrix,
    restart: FloatArray,
    allowed: NDArray[np.bool_],
    damping: float,
    temperature: float,
    iterations: int,
) -> tuple[FloatArray, IntArray]:
    """Personalised PageRank over edges that weigh more the better their sentence fits the query.

    An edge's weight is multiplied by exp((cos - 1) / temperature), where cos is the cosine of the query with the best
    of the edge's sentences; the weights out of a node are then scaled to sum 1. A node without a way out returns its
    mass to the restart distribution. Weights are computed only for the nodes that the walk reaches.

    Parameters
    ----------
    edges : the graph in CSR form, as (indptr, targets, weights, sentence_ptr, sentences, vectors). Edge e has the
        sentences `sentences[sentence_ptr[e]:sentence_ptr[e + 1]]`, rows of `vectors`, (n_sentences, dim).
    restart : (n_nodes,), at least 0; scaled to sum 1.
    allowed : (n_nodes,); the walk enters no other node.

    Returns
    -------
    scores : (n_nodes,), summing to 1; all zero where `restart` is.
    via : (n_nodes,) the edge that brought most into a node in the last step; -1 where none did.
    """
    indptr, targets = edges[0], edges[1]
    n_nodes = indptr.shape[0] - 1
    via = np.full(n_nodes, -1, dtype=np.int64)
    total = restart.sum()
    if total <= 0.0:
        return np.zeros(n_nodes), via
    start = restart / total
    transition = np.zeros(targets.shape[0])
    fits = np.full(edges[5].shape[0], np.nan)
    leaving = np.full(n_nodes, -1.0)  # the sum of the weights out of a node; -1 until it is first reached
    here = start.copy()
    most = np.zeros(n_nodes)
    for step in range(iterations):
        there = np.zeros(n_nodes)
        stuck = 0.0
        for node in range(n_nodes):
            if here[node] == 0.0:
                continue
            if leaving[node] < 0.0:
                leaving[node] = _weigh(node, edges, query, allowed, temperature, fits, transition)
            if leaving[node] == 0.0:
                stuck += here[node]
                continue
            share = damping * here[node] / leaving[node]
            for edge in range(indptr[node], indptr[node + 1]):
                flow = share * transition[edge]
                there[targets[edge]] += flow
                if step == iterations - 1 and flow > most[targets[edge]]:
                    most[targets[edge]] = flow
                    via[targets[edge]] = edge
        back = 1.0 - damping + damping * stuck
        for node in range(n_nodes):
            here[node] = there[node] + back * start[node]
    return here, via


@numba.njit(cache=True, parallel=True)
def query_aware_walks(
    edges: Edges,
    queries: Matrix,
    restarts: FloatArray,
    allowed: NDArray[np.bool_],
    damping: float,
    temperature: float,
    iterations: int,
) -> tuple[FloatArray, IntArray]:
    """`query_aware_walk` for each row of `queries`, `restarts` and `allowed`, in parallel."""
    scores = np.zeros(restarts.shape)
    via = np.zeros(restarts.shape, dtype=np.int64)
    for i in numba.prange(queries.shape[0]):
        walked, edge = query_aware_walk(edges, queries[i], restarts[i], allowed[i], damping, temperature, iterations)
        for node in range(restarts.shape[1]):  # by element: numba compiles an assigned row two seconds longer
            scores[i, node], via[i, node] = walked[node], edge[node]
    return scores, via
