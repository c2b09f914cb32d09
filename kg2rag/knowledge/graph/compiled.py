"""Nodes of a `WalkGraph` -> those within reach, the edges between them, and the strongest edge to each; compiled.

A graph is given by the edges that lead to each of its nodes: `indptr`, `sources` and `weights`.
"""

from __future__ import annotations

import numba
import numpy as np
from numpy.typing import NDArray

from kg2rag.knowledge.graph.csr import Codes
from kg2rag.types import FloatArray, IntArray


@numba.njit(cache=True, nogil=True)
def first_nodes(
    indptr: IntArray, sources: Codes, starts: IntArray, closed: NDArray[np.bool_], most: int
) -> tuple[IntArray, bool]:
    """The nodes that a breadth-first search finds first, and whether there are more than `most`; it fills `closed`."""
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
    indptr: IntArray, sources: Codes, weights: FloatArray, nodes: IntArray, number: Codes
) -> tuple[Codes, Codes, FloatArray]:
    """The edges to some nodes from those with a number: the numbers of their two ends, and their weights."""
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
            n += source >= 0  # without a branch: a processor would guess it wrong as often as not
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
    """For each of some nodes the place of the edge from a walked node that brings most to it; -1 for none."""
    strongest = np.full(len(nodes), -1)
    for i in range(len(nodes)):
        highest = 0.0
        for entry in range(indptr[nodes[i]], indptr[nodes[i] + 1]):
            place = np.searchsorted(walked, sources[entry])
            if place == len(walked) or walked[place] != sources[entry] or leaving[place] == 0:
                continue
            flow = weights[entry] / leaving[place] * shares[place]
            if flow > highest:
                highest = flow
                strongest[i] = entry
    return strongest
