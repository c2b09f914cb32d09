"""A weighted graph and where walks start -> where they are: personalised PageRank by power iteration.

PageRank is y / sum(y) of y = damping · P y + r, which is iterated: P moves a node's mass along its
edges in proportion to their weight, r is the restart distribution, to which nodes without a way out
return their mass. Each step leaves at most `damping` of the error; over an undirected graph
Chebyshev's iteration [1] needs half as many steps. A walk within a scope, or over a graph of more
than `reach` nodes, is over the nodes that a breadth-first search finds from its start, and the
edges between them. The products are those of scipy.sparse; that search is compiled.

[1] Golub & Van Loan, "Matrix Computations", 4th ed., Sec. 11.2.8.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property
from math import ceil, log, sqrt

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array, csr_array

from kg2rag.compute import threads
from kg2rag.knowledge.graph.compiled import edges_between, first_nodes, strongest_edges
from kg2rag.knowledge.graph.csr import Codes, Offsets, offsets
from kg2rag.types import FloatArray, IntArray

BLOCK_QUERIES = 16  # that are walked side by side
TOLERANCE = 1e-10
"""The share of the first error that is left by default."""


@dataclass(frozen=True, eq=False)
class NodeWeights:
    """Nodes that weigh more than 0, (n,) ascending; all others weigh 0."""

    nodes: IntArray
    weights: FloatArray

    @classmethod
    def of(cls, nodes: IntArray, weights: FloatArray) -> NodeWeights:
        """Weights of nodes in any order; those of a repeated node are added."""
        distinct, codes = np.unique(
            np.asarray(nodes, dtype=np.int64), return_inverse=True
        )
        sums = np.bincount(codes, weights=weights, minlength=len(distinct)).astype(
            np.float64
        )
        return cls(distinct[sums > 0], sums[sums > 0])

    @classmethod
    def of_dense(cls, weights: FloatArray) -> NodeWeights:
        """Of the weights of all nodes."""
        nodes = np.flatnonzero(weights)
        return cls(nodes, weights[nodes])

    def at(self, nodes: IntArray) -> FloatArray:
        """(n,) the weights of some nodes."""
        return np.append(self.weights, 0.0)[_places(self.nodes, nodes)]

    def plus(self, more: NodeWeights) -> NodeWeights:
        """The sum of both."""
        return NodeWeights.of(
            np.append(self.nodes, more.nodes), np.append(self.weights, more.weights)
        )


def _places(ascending: IntArray, nodes: NDArray[np.integer]) -> IntArray:
    """(n,) the place of each of some nodes among others, which ascend; -1 for one that is not among them."""
    first, end = (np.searchsorted(ascending, nodes, side) for side in ("left", "right"))
    return np.where(first < end, first, -1)


@dataclass(frozen=True, eq=False)
class WalkGraph:
    """A weighted graph, by the edges that lead to each node; for every edge there is one back, of any weight.

    Attributes
    ----------
    n_nodes : with edges or without.
    targets, sources, weights : (n_edges,) of each edge; `targets` ascend.
    edges : (n_edges,) the numbers of the edges as they were given.
    symmetric : whether the edge back always weighs the same.
    """

    n_nodes: int
    targets: Codes
    sources: Codes
    weights: FloatArray
    edges: IntArray
    symmetric: bool = False

    @classmethod
    def directed(
        cls,
        sources: IntArray,
        targets: NDArray[np.integer],
        weights: FloatArray,
        n_nodes: int,
    ) -> WalkGraph:
        """The graph of edges, (n_edges,) each, of weights of at least 0; parallel edges stay apart."""
        order = np.argsort(targets, kind="stable")
        weights = np.asarray(weights[order], dtype=np.float64)
        return cls(
            n_nodes,
            targets[order].astype(np.int32),
            sources[order].astype(np.int32),
            weights,
            order,
        )

    @classmethod
    def undirected(
        cls, sources: IntArray, targets: IntArray, weights: FloatArray, n_nodes: int
    ) -> WalkGraph:
        """The graph of edges that are walked both ways; parallel ones are added up, self-loops are left out."""
        is_loop = sources == targets
        heads, tails = sources[~is_loop], targets[~is_loop]
        both = np.tile(weights[~is_loop].astype(np.float64), 2)
        ends = (np.append(heads, tails), np.append(tails, heads))
        summed = csr_array((both, ends), shape=(n_nodes, n_nodes))
        summed.sum_duplicates()
        rows, columns = summed.tocoo().coords
        edges = np.arange(len(rows))
        return cls(
            n_nodes,
            rows.astype(np.int32),
            columns.astype(np.int32),
            summed.data,
            edges,
            symmetric=True,
        )

    @cached_property
    def indptr(self) -> Offsets:
        """(n_nodes + 1,) where the edges to each node begin."""
        return offsets(self.targets, self.n_nodes)

    @cached_property
    def nodes(self) -> IntArray:
        """(n_nodes,) all of them."""
        return np.arange(self.n_nodes)

    @cached_property
    def leaving(self) -> FloatArray:
        """(n_nodes,) the weights of the edges that leave each node, added up."""
        return np.bincount(
            self.sources, weights=self.weights, minlength=self.n_nodes
        ).astype(np.float64)

    def flows(self, damping: float) -> coo_array:
        """P times the damping: row i has the share of its mass that each neighbour sends to node i.

        By edges, because rows are short: a product takes half as long as one by rows.
        """
        leaving = np.where(self.leaving > 0, self.leaving, 1.0)
        shares = self.weights / leaving[self.sources] * damping
        return coo_array(
            (shares, (self.targets, self.sources)), shape=(self.n_nodes, self.n_nodes)
        )

    def mask(self, nodes: IntArray | None) -> NDArray[np.bool_] | None:
        """(n_nodes,) whether a node is one of these; None for None."""
        return None if nodes is None else np.bincount(nodes, minlength=self.n_nodes) > 0

    def reached(
        self,
        starts: IntArray,
        most: int | None = None,
        within: NDArray[np.bool_] | None = None,
    ) -> tuple[IntArray, bool]:
        """The nodes that a breadth-first search finds first, ascending, at most so many; and whether that cut it.

        `starts` are found first, in the order given. `within` : (n_nodes,) whether a node may be entered.
        """
        closed = np.zeros(self.n_nodes, dtype=np.bool_) if within is None else ~within
        starts = starts[~closed[starts]]
        nodes, is_cut = first_nodes(
            self.indptr,
            self.sources,
            starts,
            closed,
            self.n_nodes if most is None else most,
        )
        return np.sort(nodes), is_cut

    def induced(self, nodes: IntArray) -> WalkGraph:
        """The graph of these nodes (ascending, each once), renumbered; its edges as well."""
        number = np.full(self.n_nodes, -1, dtype=np.int32)
        number[nodes] = np.arange(len(nodes))
        targets, sources, weights = edges_between(
            self.indptr, self.sources, self.weights, nodes, number
        )
        edges = np.arange(len(weights))
        return WalkGraph(
            len(nodes), targets, sources, weights, edges, symmetric=self.symmetric
        )


@dataclass(frozen=True, eq=False)
class Walk:
    """Where one query's walk is.

    Attributes
    ----------
    graph : the whole graph.
    shares : (n_walked,) those that each node walked holds, 1 in all; all 0 where it starts nowhere.
    leaving : (n_walked,) the weights of the edges that leave each node for another that is walked, added up.
    nodes : (n_walked,) those that are walked, ascending.
    cut : there were more than `reach`.
    """

    graph: WalkGraph
    shares: FloatArray
    leaving: FloatArray
    nodes: IntArray
    cut: bool = False

    def dense(self, n_nodes: int) -> FloatArray:
        """(n_nodes,) the shares of the first nodes of the whole graph."""
        held = self.reached(n_nodes)
        shares = np.zeros(n_nodes)
        shares[held.nodes] = held.weights
        return shares

    def reached(self, n_nodes: int) -> NodeWeights:
        """Those of the first nodes of the whole graph that hold a share."""
        end = int(np.searchsorted(self.nodes, n_nodes))
        holding = np.flatnonzero(self.shares[:end])
        return NodeWeights(self.nodes[holding], self.shares[holding])

    def came_by(self, nodes: IntArray) -> tuple[IntArray, IntArray]:
        """(n,) each: the edge that brings most to some nodes, and the node that it leaves; -1 for none, and of -1."""
        graph = self.graph
        walked = np.flatnonzero(_places(self.nodes, nodes) >= 0)
        strongest = strongest_edges(
            graph.indptr,
            graph.sources,
            graph.weights,
            self.nodes,
            self.shares,
            self.leaving,
            nodes[walked],
        )
        reached = walked[strongest >= 0]
        strongest = strongest[strongest >= 0]
        edges = np.full(len(nodes), -1, dtype=np.int64)
        sources = edges.copy()
        edges[reached] = graph.edges[strongest]
        sources[reached] = graph.sources[strongest]
        return edges, sources


def walks(
    graph: WalkGraph,
    starts: Sequence[NodeWeights],
    damping: float,
    *,
    steps: int | None = None,
    scopes: Sequence[NDArray[np.bool_] | None] | None = None,
    reach: int | None = None,
) -> list[Walk]:
    """Personalised PageRank from each start.

    Parameters
    ----------
    starts : where the walks start and restart, scaled to sum 1; what lies outside a scope is left out.
    damping : probability of following an edge, in (0, 1).
    steps : of the iteration; by default as many as `TOLERANCE` needs.
    scopes : of each query, (n_nodes,) whether its walk may enter a node; None for all.
    reach : a walk over a larger graph is over the first so many nodes within reach, from the greatest starts on.
    """
    if not 0 < damping < 1:
        raise ValueError(f"damping must be above 0 and below 1, not {damping!r}.")
    scopes = scopes or [None] * len(starts)
    is_large = reach is not None and graph.n_nodes > reach
    blocks = _blocks(scopes, is_large=is_large)

    def walk(block: list[int]) -> list[Walk]:
        if is_large or scopes[block[0]] is not None:
            return [
                _partial_walk(graph, starts[i], damping, steps, scopes[i], reach)
                for i in block
            ]
        restarts = np.zeros((len(block), graph.n_nodes))
        for restart, i in zip(restarts, block, strict=True):
            restart[starts[i].nodes] = starts[i].weights
        return [
            Walk(graph, shares, graph.leaving, graph.nodes)
            for shares in pagerank(graph, restarts, damping, steps)
        ]

    # Before the threads, which share it.
    _ = graph.indptr if is_large else graph.leaving
    walk_of: dict[int, Walk] = {}
    for block, walked in zip(blocks, _in_threads(walk, blocks), strict=True):
        walk_of |= zip(block, walked, strict=True)
    return [walk_of[i] for i in range(len(starts))]


def _in_threads(
    walk: Callable[[list[int]], list[Walk]], blocks: Sequence[list[int]]
) -> list[list[Walk]]:
    """The walks of each block; in this thread where another would have to wait for it."""
    n_threads = min(threads(), len(blocks))
    if n_threads < 2:
        return list(map(walk, blocks))
    with ThreadPoolExecutor(n_threads) as pool:
        return list(pool.map(walk, blocks))


def _blocks(
    scopes: Sequence[NDArray[np.bool_] | None], *, is_large: bool
) -> list[list[int]]:
    """The queries that are walked together: those over the whole graph `BLOCK_QUERIES` at a time, others one by one."""
    whole: list[int] = []
    blocks = []
    for i, scope in enumerate(scopes):
        if is_large or scope is not None:
            blocks.append([i])
        else:
            whole.append(i)
    starts = range(0, len(whole), BLOCK_QUERIES)
    return [whole[start : start + BLOCK_QUERIES] for start in starts] + blocks


def _partial_walk(
    graph: WalkGraph,
    start: NodeWeights,
    damping: float,
    steps: int | None,
    scope: NDArray[np.bool_] | None,
    reach: int | None,
) -> Walk:
    """The walk of one query over the nodes within its scope and reach."""
    first = start.nodes[np.argsort(-start.weights, kind="stable")]
    nodes, is_cut = graph.reached(first, reach, scope)
    part = graph.induced(nodes)
    restart = np.zeros(len(nodes) + 1)  # the last, of place -1, is for starts outside
    restart[_places(nodes, start.nodes)] = start.weights
    shares = pagerank(part, restart[None, :-1], damping, steps)[0]
    return Walk(graph, shares, part.leaving, nodes, is_cut)


def pagerank(
    graph: WalkGraph, restarts: FloatArray, damping: float, steps: int | None = None
) -> FloatArray:
    """(n_queries, n_nodes) PageRank of each row of `restarts`, of that shape; all zero for a restart of zeros.

    `steps` : of power iteration; None for as many as leave `TOLERANCE` of the first error.
    """
    restart = np.ascontiguousarray(restarts.T)
    flows = graph.flows(damping)
    former = restart
    mass = restart / (1 - damping)
    for factor in _step_factors(graph, damping, steps):
        step = flows @ mass
        step += restart
        if factor != 1:
            step -= former
            step *= factor
            step += former
        former = mass
        mass = step
    shares: FloatArray = np.ascontiguousarray(mass.T)
    totals = shares.sum(axis=1, keepdims=True)
    np.divide(shares, totals, out=shares, where=totals > 0)
    return shares


def _step_factors(graph: WalkGraph, damping: float, steps: int | None) -> list[float]:
    """For each step, how far it goes from the value before the last towards the next of power iteration."""
    if steps is not None:
        return [1.0] * steps
    if not graph.symmetric:
        return [1.0] * ceil(log(TOLERANCE) / log(damping))
    # Chebyshev's rule: the error, weighted by what leaves a node, falls by a constant factor at
    # each step.
    leaving = graph.leaving[graph.leaving > 0]
    error = TOLERANCE
    if len(leaving):
        error = TOLERANCE / 2 * sqrt(leaving.min() / leaving.max())
    n_steps = ceil(log(error) / log(damping / (1 + sqrt(1 - damping**2))))
    factors = [1.0, 1 / (1 - damping**2 / 2)]
    while len(factors) < n_steps:
        factors.append(1 / (1 - damping**2 / 4 * factors[-1]))
    return factors
