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
    most: int,
) -> tuple[IntArray, bool]:
    """The nodes that a breadth-first search finds first, and whether there are more than `most`.

    `closed` : (n_nodes,) which nodes may not be entered; the nodes found are added.
    """
    nodes = np.empty(max(most, len(starts)), np.int64)
    n = len(starts)
    nodes[:n] = starts
    closed[starts] = True
    for place in range(most):
        if place == n:
            return nodes[:n], False
        for node in sources[indptr[nodes[place]] : indptr[nodes[place] + 1]]:
            if not closed[node]:
                if n >= most:
                    return nodes[:most], True
                closed[node] = True
                nodes[n] = node
                n += 1
    return nodes[:most], n > most


@numba.njit(cache=True, nogil=True)
def edges_between(
    indptr: IntArray,
    sources: Codes,
    weights: FloatArray,
    nodes: IntArray,
    number: Codes,
) -> tuple[Codes, Codes, FloatArray]:
    """The edges between some nodes: the numbers of their targets and sources, and their weights.

    `number` : (n_nodes,) those of `nodes`; -1 for others.
    """
    most = (indptr[nodes + 1] - indptr[nodes]).sum()
    ends = np.empty((2, most), np.int32)
    between = np.empty(most)
    n = 0
    for node in nodes:
        for entry in range(indptr[node], indptr[node + 1]):
            source = number[sources[entry]]
            ends[0, n] = number[node]
            ends[1, n] = source
            between[n] = weights[entry]
            # Without a branch: a processor would guess it wrong as often as not.
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
    """(n,) the place of the edge that brings most to each of some nodes; -1 for none.

    `walked`, `shares`, `leaving` : the nodes of a walk, see `pagerank.Walk`.
    """
    strongest = np.full(len(nodes), -1)
    for i in range(len(nodes)):
        highest = 0.0
        for entry in range(indptr[nodes[i]], indptr[nodes[i] + 1]):
            place = np.searchsorted(walked, sources[entry])
            if (
                place == len(walked)
                or walked[place] != sources[entry]
                or leaving[place] == 0
            ):
                continue
            flow = weights[entry] / leaving[place] * shares[place]
            if flow > highest:
                highest = flow
                strongest[i] = entry
    return strongest
