"""Nodes of a graph -> those within reach, the edges between them, the strongest edge to each.

Compiled. A graph is given by the edges that lead to each of its nodes: `indptr`, `sources` and
`weights`, see `pagerank.WalkGraph`.
"""

from __future__ import annotations

import numba
import numpy as np
from numpy.typing import NDArray

from kg2rag.knowledge.graph.csr import Codes
from kg2rag.types import FloatArray, IntArray


@numba.njit(cache=True, nogil=True)
def first_nodes(
    indptr: IntArray,
    sources: Codes,
    starts: IntArray,
    closed: NDArray[np.bool_],
    max_nodes: int,
) -> tuple[IntArray, bool]:
    """The first `max_nodes` nodes of a breadth-first search, and whether it would find more.

    `closed`, (n_nodes,), is whether a node may not be entered; the search sets it for its nodes.
    """
    nodes = np.empty(max(max_nodes, len(starts)), np.int64)
    n_found = len(starts)
    nodes[:n_found] = starts
    closed[starts] = True
    for i in range(max_nodes):
        if i == n_found:
            return nodes[:n_found], False
        for node in sources[indptr[nodes[i]] : indptr[nodes[i] + 1]]:
            if not closed[node]:
                if n_found >= max_nodes:
                    return nodes[:max_nodes], True
                closed[node] = True
                nodes[n_found] = node
                n_found += 1
    return nodes[:max_nodes], n_found > max_nodes


@numba.njit(cache=True, nogil=True)
def edges_between(
    indptr: IntArray,
    sources: Codes,
    weights: FloatArray,
    nodes: IntArray,
    number: Codes,
) -> tuple[Codes, Codes, FloatArray]:
    """The targets, the sources and the weights of the edges between some nodes, (n_edges,) each.

    Targets and sources are numbered by `number`, (n_nodes,), which is -1 for all other nodes.
    """
    max_edges = (indptr[nodes + 1] - indptr[nodes]).sum()
    ends = np.empty((2, max_edges), np.int32)
    between = np.empty(max_edges)
    n = 0
    for node in nodes:
        for entry in range(indptr[node], indptr[node + 1]):
            source = number[sources[entry]]
            ends[0, n] = number[node]
            ends[1, n] = source
            between[n] = weights[entry]
            # The next edge overwrites one that leads elsewhere: a branch would be slower.
            n += source >= 0
    return ends[0, :n], ends[1, :n], between[:n]


@numba.njit(cache=True, nogil=True)
def strongest_edges(
    indptr: IntArray,
    sources: Codes,
    weights: FloatArray,
    walked: IntArray,
    shares: FloatArray,
    leaving: FloatArray,
    nodes: IntArray,
) -> IntArray:
    """The index of the edge that brings the most mass to each of some nodes, (n,); -1 for none.

    `walked`, `shares` and `leaving` are the nodes of a walk, see `pagerank.Walk`.
    """
    strongest = np.full(len(nodes), -1)
    for i in range(len(nodes)):
        highest = 0.0
        for entry in range(indptr[nodes[i]], indptr[nodes[i] + 1]):
            position = np.searchsorted(walked, sources[entry])
            if (
                position == len(walked)
                or walked[position] != sources[entry]
                or leaving[position] == 0
            ):
                continue
            flow = weights[entry] / leaving[position] * shares[position]
            if flow > highest:
                highest = flow
                strongest[i] = entry
    return strongest
