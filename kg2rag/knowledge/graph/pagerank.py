"""A weighted undirected graph and restart weights -> personalised PageRank, compiled.

PageRank is the solution x of x = damping · P x + (1 - damping) · r, where P moves a node's mass along its edges in
proportion to their weight. On an undirected graph P has real eigenvalues in [-1, 1], so Chebyshev's semi-iteration [1]
applies: it gains a factor of (1 + sqrt(1 - damping²)) / damping a step, 3.7 at damping 0.5 where plain power iteration
gains 2. A node without edges returns its mass to the restart distribution; there this is a constant factor.

The number of steps follows from the tolerance alone, and each query's additions are made in one fixed order, so a batch
gives the same bits as its queries one by one, with any number of threads and in any order of nodes in memory.

[1] Golub and Varga, "Chebyshev semi-iterative methods", Numerische Mathematik 3, 1961.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from math import acosh, ceil

import numba
import numpy as np
from numpy.typing import NDArray

from kg2rag.compute import Kernel
from kg2rag.knowledge.graph.csr import Codes, gather, offsets, owners
from kg2rag.types import FloatArray, IntArray, above, below, require

Layout = tuple[NDArray[np.uint64], NDArray[np.uint32], FloatArray, NDArray[np.bool_], IntArray]


@dataclass(frozen=True, eq=False)
class UndirectedGraph:
    """A weighted undirected graph in CSR form: each edge is stored at both of its ends, parallel edges as one.

    Attributes
    ----------
    indptr : (n_nodes + 1,). neighbours, weights : (n_entries,); a node's neighbours ascend. Weights are above 0.
    """

    indptr: IntArray
    neighbours: Codes
    weights: FloatArray

    @classmethod
    def from_edges(cls, sources: IntArray, targets: IntArray, weights: FloatArray, n_nodes: int) -> UndirectedGraph:
        """The graph of edges, (n_edges,) each; weights of parallel edges are added, self-loops are dropped.

        Raises
        ------
        ValueError : an edge of weight 0 or less, or one whose end is no node.
        """
        if len(weights) and not weights.min() > 0:
            raise ValueError(f"Edge weights must be above 0, but the least is {weights.min()}.")
        ends = np.concatenate([sources, targets]).astype(np.int64)
        if len(ends) and not 0 <= ends.min() <= ends.max() < n_nodes:
            raise ValueError(f"Edges end at nodes {ends.min()} to {ends.max()}, but there are {n_nodes} nodes.")
        others = np.concatenate([targets, sources]).astype(np.int64)
        both = np.concatenate([weights, weights]).astype(np.float64)
        proper = ends != others
        keys, entry = np.unique(ends[proper] * n_nodes + others[proper], return_inverse=True)
        # bincount adds in the order given, the same at both ends: the matrix stays symmetric to the last bit.
        summed = np.bincount(entry, weights=both[proper], minlength=len(keys)).astype(np.float64)
        nodes, neighbours = np.divmod(keys, n_nodes)
        return cls(offsets(nodes, n_nodes), neighbours.astype(np.int32), summed)

    @property
    def n_nodes(self) -> int:
        """How many nodes there are, with edges or without."""
        return len(self.indptr) - 1

    @cached_property
    def owners(self) -> IntArray:
        """(n_entries,) the node whose row each entry is in."""
        return owners(self.indptr)

    @cached_property
    def flows(self) -> FloatArray:
        """(n_entries,) the share of the neighbour's mass that it sends here: the entries of P by rows."""
        strengths = np.bincount(self.owners, weights=self.weights, minlength=self.n_nodes)
        shares: FloatArray = self.weights / strengths[self.neighbours]
        return shares

    @cached_property
    def _by_degree(self) -> Layout:
        """Nodes with most edges in the first places, for a single query."""
        return self._laid_out(np.argsort(-np.diff(self.indptr), kind="stable"))

    @cached_property
    def _as_given(self) -> Layout:
        """Nodes in their own order, for several queries: what is near in the corpus often is in the graph."""
        return self._laid_out(np.arange(self.n_nodes))

    def _laid_out(self, nodes: IntArray) -> Layout:
        """As the compiled loops read it, by places: `indptr`, `neighbours`, `flows`; and of nodes, no edges and place.

        A node's entries stay in order, and so do its additions. Unsigned indices spare the loops a test for negative
        ones.
        """
        place = np.empty(self.n_nodes, dtype=np.int64)
        place[nodes] = np.arange(self.n_nodes)
        entries, ends = gather(self.indptr, nodes)
        return (
            offsets(ends, self.n_nodes).astype(np.uint64),
            place[self.neighbours[entries]].astype(np.uint32),
            self.flows[entries],
            np.diff(self.indptr) == 0,
            place,
        )

    def induced(self, nodes: IntArray) -> UndirectedGraph:
        """The graph of these nodes (ascending, each once), renumbered, and the edges between them."""
        number = np.full(self.n_nodes, -1, dtype=np.int64)
        number[nodes] = np.arange(len(nodes))
        entries, ends = gather(self.indptr, nodes)
        others = number[self.neighbours[entries]]
        kept = others >= 0
        indptr = offsets(ends[kept], len(nodes))
        return UndirectedGraph(indptr, others[kept].astype(np.int32), self.weights[entries][kept])


LANES = 8  # queries solved side by side: eight float64 are one cache line, so a gather brings all of them
FEW = 2  # so many queries are solved one after another: less work than a group of lanes that are mostly empty
MANY_ENTRIES = 200_000  # from here on, threads share a step: it is worth their waking, and they share what is cached
BLOCK = 64  # nodes that a thread takes in one run
STRIPS = 64  # of blocks: every STRIPS-th is of the same one, so that each has its part of the nodes with many edges
TOLERANCE = 1e-12


def pagerank_within(
    graph: UndirectedGraph, restarts: FloatArray, scopes: Sequence[IntArray | None], damping: float
) -> FloatArray:
    """`pagerank` of each query over the nodes of its scope and the edges between them; over all where that is None.

    What a query restarts outside its scope is left out; nodes outside have 0.
    """
    scores = np.zeros(restarts.shape)
    free = [i for i, nodes in enumerate(scopes) if nodes is None]
    if free:
        scores[free] = pagerank(graph, restarts[free], damping)
    for i, nodes in enumerate(scopes):
        if nodes is not None:
            scores[i, nodes] = pagerank(graph.induced(nodes), restarts[i : i + 1, nodes], damping)[0]
    return scores


def pagerank(graph: UndirectedGraph, restarts: FloatArray, damping: float, tolerance: float = TOLERANCE) -> FloatArray:
    """Personalised PageRank of each row of `restarts`.

    Parameters
    ----------
    restarts : (n_queries, n_nodes), at least 0; each row is scaled to sum 1.
    damping : probability of following an edge, in (0, 1).
    tolerance : what is left of the first error; 1e-12 agrees with a direct solution to about 1e-13.

    Returns
    -------
    (n_queries, n_nodes), rows summing to 1; all zero where the restart is.

    Raises
    ------
    ValueError : damping, a shape or a restart weight out of range.
    """
    require("damping", damping, float, above(0) & below(1))
    if restarts.ndim != 2 or restarts.shape[1] != graph.n_nodes:
        raise ValueError(f"restarts have shape {restarts.shape}, needed: (n_queries, {graph.n_nodes}).")
    if not (np.isfinite(restarts).all() and (restarts >= 0).all()):
        raise ValueError("Restart weights must be finite and at least 0.")
    relaxations, given = _relaxations(damping, tolerance), np.ascontiguousarray(restarts)
    rows = graph._by_degree if len(given) <= FEW else graph._as_given
    if len(given) <= FEW:
        solve = _alone_parallel if len(graph.neighbours) >= MANY_ENTRIES else _alone
        return np.stack([solve(*rows, restart, damping, relaxations) for restart in given]) if len(given) else given
    solve = _side_by_side if len(given) > LANES else _group  # one group of lanes keeps one thread busy
    if len(graph.neighbours) >= MANY_ENTRIES and numba.get_num_threads() > 1:
        solve = _in_strips
    scores: FloatArray = solve(*rows, given, damping, relaxations)
    return scores


def _relaxations(damping: float, tolerance: float) -> FloatArray:
    """The factor of each step. After n of them an error is at most 1 / T_n(1 / damping) of what it was [1]."""
    steps = max(2, ceil(acosh(1 / tolerance) / acosh(1 / damping)))
    factors = [1.0, 1 / (1 - damping**2 / 2)]
    while len(factors) < steps:
        factors.append(1 / (1 - damping**2 * factors[-1] / 4))
    return np.array(factors)


@numba.njit(cache=True)
def _fill(start: FloatArray, restart: FloatArray, alone: NDArray[np.bool_], place: IntArray, damping: float) -> None:
    """What restarts bring in a step, by places. Nodes without edges send damping · (their mass) back to the restart."""
    total = stuck = 0.0
    for node in range(restart.shape[0]):
        total += restart[node]
        if alone[node]:
            stuck += restart[node]
    if total > 0.0:
        factor = (1.0 - damping) / (1.0 - damping * stuck / total) / total
        for node in range(restart.shape[0]):
            start[place[node]] = factor * restart[node]


@numba.njit(cache=True)
def _starts(restarts: FloatArray, alone: NDArray[np.bool_], place: IntArray, damping: float) -> FloatArray:
    """(n_nodes, LANES) what restarts bring in a step, a query a lane."""
    start = np.zeros((restarts.shape[1], LANES))
    for lane in range(restarts.shape[0]):
        _fill(start[:, lane], restarts[lane], alone, place, damping)
    return start


@numba.njit(cache=True)
def _read(here: FloatArray, place: IntArray, scores: FloatArray) -> None:
    """The scores of the nodes, from those of the places."""
    for lane in range(scores.shape[0]):
        for node in range(place.shape[0]):
            scores[lane, node] = max(here[place[node], lane], 0.0)  # what underflows the tolerance may be below 0


@numba.njit(cache=True)
def _step(
    indptr: IntArray,
    neighbours: Codes,
    flows: FloatArray,
    start: FloatArray,
    here: FloatArray,
    before: FloatArray,
    damping: float,
    relaxation: float,
    first: int,
    last: int,
) -> None:
    """Make `before` the next iterate of some nodes: before + relaxation · (damping · P here + start - before)."""
    for node in range(first, last):
        s0 = s1 = s2 = s3 = s4 = s5 = s6 = s7 = 0.0
        for at in range(indptr[node], indptr[node + 1]):
            flow, other = flows[at], neighbours[at]
            s0 += flow * here[other, 0]
            s1 += flow * here[other, 1]
            s2 += flow * here[other, 2]
            s3 += flow * here[other, 3]
            s4 += flow * here[other, 4]
            s5 += flow * here[other, 5]
            s6 += flow * here[other, 6]
            s7 += flow * here[other, 7]
        sums = (s0, s1, s2, s3, s4, s5, s6, s7)
        for lane in range(LANES):
            old = before[node, lane]
            before[node, lane] = old + relaxation * (damping * sums[lane] + start[node, lane] - old)


def _solve_one(
    indptr: IntArray,
    neighbours: Codes,
    flows: FloatArray,
    alone: NDArray[np.bool_],
    place: IntArray,
    restart: FloatArray,
    damping: float,
    relaxations: FloatArray,
) -> FloatArray:
    """As `_solve` for one query, to the bit: every node's sum is its own, in the order of its neighbours."""
    start = np.zeros(restart.shape[0])
    _fill(start, restart, alone, place, damping)
    here, before = start.copy(), np.zeros(restart.shape[0])
    for step in range(relaxations.shape[0]):
        for strip in numba.prange(STRIPS):
            for begin in range(strip * BLOCK, restart.shape[0], STRIPS * BLOCK):
                for node in range(begin, min(begin + BLOCK, restart.shape[0])):
                    total = 0.0
                    for at in range(indptr[node], indptr[node + 1]):
                        total += flows[at] * here[neighbours[at]]
                    old = before[node]
                    before[node] = old + relaxations[step] * (damping * total + start[node] - old)
        here, before = before, here
    scores = np.empty(restart.shape[0])
    for node in range(restart.shape[0]):
        scores[node] = max(here[place[node]], 0.0)  # what underflows the tolerance may be below 0
    return scores


def _solve(
    indptr: IntArray,
    neighbours: Codes,
    flows: FloatArray,
    alone: NDArray[np.bool_],
    place: IntArray,
    restarts: FloatArray,
    damping: float,
    relaxations: FloatArray,
) -> FloatArray:
    """Every group of lanes by a thread."""
    n_queries, n_nodes = restarts.shape
    scores = np.zeros((n_queries, n_nodes))
    for group in numba.prange((n_queries + LANES - 1) // LANES):
        own = slice(group * LANES, min(group * LANES + LANES, n_queries))
        start = _starts(restarts[own], alone, place, damping)
        here, before = start.copy(), np.zeros((n_nodes, LANES))
        for step in range(relaxations.shape[0]):
            _step(indptr, neighbours, flows, start, here, before, damping, relaxations[step], 0, n_nodes)
            here, before = before, here
        _read(here, place, scores[own])
    return scores


def _solve_in_strips(
    indptr: IntArray,
    neighbours: Codes,
    flows: FloatArray,
    alone: NDArray[np.bool_],
    place: IntArray,
    restarts: FloatArray,
    damping: float,
    relaxations: FloatArray,
) -> FloatArray:
    """As `_solve`, one group after another, every strip of nodes by a thread."""
    n_queries, n_nodes = restarts.shape
    scores = np.zeros((n_queries, n_nodes))
    for first in range(0, n_queries, LANES):
        own = slice(first, min(first + LANES, n_queries))
        start = _starts(restarts[own], alone, place, damping)
        here, before = start.copy(), np.zeros((n_nodes, LANES))
        for step in range(relaxations.shape[0]):
            for strip in numba.prange(STRIPS):
                for begin in range(strip * BLOCK, n_nodes, STRIPS * BLOCK):
                    end = min(begin + BLOCK, n_nodes)
                    _step(indptr, neighbours, flows, start, here, before, damping, relaxations[step], begin, end)
            here, before = before, here
        _read(here, place, scores[own])
    return scores


_side_by_side = Kernel(_solve)
_group = numba.njit(cache=True)(_solve)
_in_strips = Kernel(_solve_in_strips)
_alone_parallel = Kernel(_solve_one)
_alone = numba.njit(cache=True)(_solve_one)
