"""A weighted graph and restart weights -> personalised PageRank, by power iteration.

PageRank is y / sum(y) of y = damping · P y + r, which is iterated: P moves a node's mass along its
edges in proportion to their weight, r is the restart distribution, to which nodes without outgoing
edges return their mass. Each step leaves at most `damping` of the error; over an undirected graph
Chebyshev's iteration [1] needs half as many steps. A walk within a scope, or over a graph of more
than `reach` nodes, covers the nodes that a breadth-first search finds from its start, and the edges
between them. scipy.sparse computes the products; the search is compiled.

[1] Golub & Van Loan, "Matrix Computations", 4th ed., Sec. 11.2.8.
"""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from math import ceil, log, sqrt

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array, csr_array

from kg2rag.compute import threads
from kg2rag.knowledge.graph.compiled import edges_between, first_nodes, strongest_edges
from kg2rag.knowledge.graph.csr import Codes, Offsets, offsets
from kg2rag.types import FloatArray, IntArray

BLOCK_QUERIES = 16  # the number of queries whose walks are computed together
TOLERANCE = 1e-10
"""The share of the initial error that remains by default."""


@dataclass(frozen=True, eq=False)
class NodeWeights:
    """The nodes of positive weight, (n,) ascending, and their weights; all others weigh 0."""

    nodes: IntArray
    weights: FloatArray

    @classmethod
    def of(cls, nodes: IntArray, weights: FloatArray) -> NodeWeights:
        """The weights of nodes in any order; those of a repeated node are added."""
        distinct, codes = np.unique(
            np.asarray(nodes, dtype=np.int64), return_inverse=True
        )
        sums = np.bincount(codes, weights=weights, minlength=len(distinct)).astype(
            np.float64
        )
        return cls(distinct[sums > 0], sums[sums > 0])

    @classmethod
    def of_dense(cls, weights: FloatArray) -> NodeWeights:
        """The positive weights among the weights of all nodes, (n_nodes,)."""
        nodes = np.flatnonzero(weights)
        return cls(nodes, weights[nodes])

    def weights_of(self, nodes: IntArray) -> FloatArray:
        """The weights of some nodes, (n,)."""
        # Index -1, of an absent node, takes the appended 0.
        return np.append(self.weights, 0.0)[_indices(self.nodes, nodes)]

    def plus(self, more: NodeWeights) -> NodeWeights:
        """The sum of these weights and others."""
        return NodeWeights.of(
            np.append(self.nodes, more.nodes), np.append(self.weights, more.weights)
        )


def _indices(ascending: IntArray, nodes: NDArray[np.integer]) -> IntArray:
    """The index of each node in an ascending array, (n,); -1 for an absent node."""
    first, end = (np.searchsorted(ascending, nodes, side) for side in ("left", "right"))
    return np.where(first < end, first, -1)


@dataclass(frozen=True, eq=False)
class WalkGraph:
    """A weighted graph, by incoming edges; every edge has a reverse edge, of any weight.

    Attributes
    ----------
    n_nodes : the number of nodes, with edges or without.
    targets, sources, weights : (n_edges,) each; `targets` ascend.
    edges : (n_edges,) the index of each edge in the constructor's input.
    symmetric : whether each edge weighs the same as its reverse edge.
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
        """The graph of directed edges, (n_edges,) each, with weights of at least 0."""
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
        """The graph of undirected edges; parallel edges are added, self-loops left out."""
        is_loop = sources == targets
        heads, tails = sources[~is_loop], targets[~is_loop]
        weights_of_both = np.tile(weights[~is_loop].astype(np.float64), 2)
        ends = (np.append(heads, tails), np.append(tails, heads))
        summed = csr_array((weights_of_both, ends), shape=(n_nodes, n_nodes))
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
        """The index of the first incoming edge of each node, (n_nodes + 1,)."""
        return offsets(self.targets, self.n_nodes)

    @cached_property
    def leaving(self) -> FloatArray:
        """The sum of the weights of each node's outgoing edges, (n_nodes,)."""
        return np.bincount(
            self.sources, weights=self.weights, minlength=self.n_nodes
        ).astype(np.float64)

    def flows(self, damping: float) -> coo_array:
        """The matrix P times the damping: column j has the shares in which node j passes its mass on.

        Rows are short, so that a product in coordinate format takes half as long as by rows.
        """
        leaving = np.where(self.leaving > 0, self.leaving, 1.0)
        shares = self.weights / leaving[self.sources] * damping
        return coo_array(
            (shares, (self.targets, self.sources)), shape=(self.n_nodes, self.n_nodes)
        )

    def mask(self, nodes: IntArray) -> NDArray[np.bool_]:
        """Whether each node of the graph is one of some nodes, (n_nodes,)."""
        return np.bincount(nodes, minlength=self.n_nodes) > 0

    def breadth_first(
        self,
        starts: IntArray,
        max_nodes: int | None = None,
        allowed: NDArray[np.bool_] | None = None,
    ) -> tuple[IntArray, bool]:
        """The first `max_nodes` nodes of a breadth-first search, and whether it would find more.

        The nodes are ascending. The search begins with `starts`, in their order, and enters only
        `allowed` nodes, (n_nodes,).
        """
        closed = np.zeros(self.n_nodes, dtype=np.bool_)
        if allowed is not None:
            closed = ~allowed
        starts = starts[~closed[starts]]
        if max_nodes is None:
            max_nodes = self.n_nodes
        nodes, is_cut = first_nodes(
            self.indptr, self.sources, starts, closed, max_nodes
        )
        return np.sort(nodes), is_cut

    def induced(self, nodes: IntArray) -> WalkGraph:
        """The subgraph of some nodes, distinct and ascending; nodes and edges are renumbered."""
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
    """The walk of one query.

    Attributes
    ----------
    graph : the whole graph.
    shares : (n_walked,) the PageRank of each walked node, of sum 1; all 0 without a restart weight.
    leaving : (n_walked,) the sum of the weights of each node's edges to walked nodes.
    nodes : (n_walked,) the walked nodes, ascending.
    cut : whether `reach` limited the walked nodes.
    """

    graph: WalkGraph
    shares: FloatArray
    leaving: FloatArray
    nodes: IntArray
    cut: bool = False

    def dense(self, n_nodes: int) -> FloatArray:
        """The PageRank of the first `n_nodes` nodes of the graph, (n_nodes,); 0 if not walked."""
        walked = self.nonzero(n_nodes)
        shares = np.zeros(n_nodes)
        shares[walked.nodes] = walked.weights
        return shares

    def nonzero(self, n_nodes: int) -> NodeWeights:
        """The positive PageRanks among the first `n_nodes` nodes of the graph."""
        end = int(np.searchsorted(self.nodes, n_nodes))
        indices = np.flatnonzero(self.shares[:end])
        return NodeWeights(self.nodes[indices], self.shares[indices])

    def strongest_incoming(self, nodes: IntArray) -> tuple[IntArray, IntArray]:
        """The incoming edge that brings each node the most mass, and its source, (n,) each.

        Both are -1 for a node that was not walked or is -1, and for one that no mass reaches.
        """
        graph = self.graph
        walked = np.flatnonzero(_indices(self.nodes, nodes) >= 0)
        strongest = strongest_edges(
            graph.indptr,
            graph.sources,
            graph.weights,
            self.nodes,
            self.shares,
            self.leaving,
            nodes[walked],
        )
        has_edge = strongest >= 0
        edges = np.full(len(nodes), -1, dtype=np.int64)
        sources = edges.copy()
        edges[walked[has_edge]] = graph.edges[strongest[has_edge]]
        sources[walked[has_edge]] = graph.sources[strongest[has_edge]]
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
    starts : the restart weights of each query, which are scaled to sum 1; nodes outside a scope are left out.
    damping : probability of following an edge, in (0, 1).
    steps : the number of iterations; by default as many as `TOLERANCE` needs.
    scopes : for each query, (n_nodes,) whether its walk may enter a node; None for all nodes.
    reach : the maximum of walked nodes; the nodes nearest to the starts are walked, the greatest weight first.
    """
    if not 0 < damping < 1:
        raise ValueError(f"damping must be above 0 and below 1, not {damping!r}.")
    scopes = scopes or [None] * len(starts)
    is_large = reach is not None and graph.n_nodes > reach
    is_partial = np.array([is_large or scope is not None for scope in scopes], bool)
    partial_queries = np.flatnonzero(is_partial).tolist()
    whole_queries = np.flatnonzero(~is_partial).tolist()
    whole_starts = [starts[i] for i in whole_queries]
    blocks = [
        whole_starts[first : first + BLOCK_QUERIES]
        for first in range(0, len(whole_starts), BLOCK_QUERIES)
    ]

    def walk_part(i: int) -> Walk:
        return _partial_walk(graph, starts[i], damping, steps, scopes[i], reach)

    with ThreadPoolExecutor(threads()) as pool:
        whole_walks = pool.map(
            lambda block: _whole_walks(graph, block, damping, steps), blocks
        )
        walk_of = dict(
            zip(partial_queries, pool.map(walk_part, partial_queries), strict=True)
        )
        walk_of |= zip(whole_queries, chain.from_iterable(whole_walks), strict=True)
    return [walk_of[i] for i in range(len(starts))]


def _whole_walks(
    graph: WalkGraph, starts: Sequence[NodeWeights], damping: float, steps: int | None
) -> list[Walk]:
    """The walks of some queries over the whole graph, side by side."""
    restarts = np.zeros((len(starts), graph.n_nodes))
    for restart, start in zip(restarts, starts, strict=True):
        restart[start.nodes] = start.weights
    nodes = np.arange(graph.n_nodes)
    return [
        Walk(graph, shares, graph.leaving, nodes)
        for shares in pagerank(graph, restarts, damping, steps)
    ]


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
    nodes, is_cut = graph.breadth_first(first, reach, scope)
    part = graph.induced(nodes)
    restart = np.zeros(len(nodes) + 1)  # the last, at index -1, is for starts outside
    restart[_indices(nodes, start.nodes)] = start.weights
    shares = pagerank(part, restart[None, :-1], damping, steps)[0]
    return Walk(graph, shares, part.leaving, nodes, is_cut)


def pagerank(
    graph: WalkGraph, restarts: FloatArray, damping: float, steps: int | None = None
) -> FloatArray:
    """The PageRank for each row of restart weights, (n_queries, n_nodes); zeros for a row of zeros.

    `steps` is the number of iterations; by default as many as leave `TOLERANCE` of the error.
    """
    restart = np.ascontiguousarray(restarts.T)
    flows = graph.flows(damping)
    former = restart
    mass = restart / (1 - damping)
    for weight in _relaxation_weights(graph, damping, steps):
        step = flows @ mass
        step += restart
        if weight != 1:  # former + weight · (step - former)
            step -= former
            step *= weight
            step += former
        former = mass
        mass = step
    shares: FloatArray = np.ascontiguousarray(mass.T)
    totals = shares.sum(axis=1, keepdims=True)
    np.divide(shares, totals, out=shares, where=totals > 0)
    return shares


def _relaxation_weights(
    graph: WalkGraph, damping: float, steps: int | None
) -> list[float]:
    """The relaxation weight of each step: 1 for plain power iteration, else Chebyshev's.

    Symmetric graphs without a fixed number of steps are iterated by Chebyshev's rule.
    """
    if steps is not None:
        return [1.0] * steps
    if not graph.symmetric:
        return [1.0] * ceil(log(TOLERANCE) / log(damping))
    # Chebyshev's rule: the error, weighted by what leaves a node, falls by a constant factor at
    # each step.
    leaving = graph.leaving[graph.leaving > 0]
    tolerance = TOLERANCE
    if len(leaving):
        tolerance = TOLERANCE / 2 * sqrt(leaving.min() / leaving.max())
    n_steps = ceil(log(tolerance) / log(damping / (1 + sqrt(1 - damping**2))))
    weights = [1.0, 1 / (1 - damping**2 / 2)]
    while len(weights) < n_steps:
        weights.append(1 / (1 - damping**2 / 4 * weights[-1]))
    return weights
