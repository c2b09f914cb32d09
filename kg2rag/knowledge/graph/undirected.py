"""A weighted undirected graph in CSR form, and as the compiled walks over it read it."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from kg2rag.knowledge.graph.csr import Codes, gather, offsets, owners
from kg2rag.types import FloatArray, IntArray

PARTS = 16  # of the nodes, in order and of about equal work, that threads take in turn
ROUNDING = 2.0**-52  # twice what one operation may be off
MORE = 8  # operations of a node beside those of its edges
NODE = 2  # entries that take the time of what is done once for a node


class Rows(NamedTuple):
    """The rows of a graph in some order of its nodes: each has a place.

    Attributes
    ----------
    indptr : (n_nodes + 1,). neighbours, flows : (n_entries,); the entries of a place are at `indptr[i]:indptr[i + 1]`,
        in the order of the nodes. Unsigned numbers spare compiled loops a test for negative ones.
    strengths, inverses : (n_nodes,) by places the sum of the weights of a node's edges, and 1 over it; 0 without edges.
    rounding : of what arrives at a node in a step, twice what rounding may add to it, at the node of most edges.
    places : (n_nodes,) the place of each node.
    parts : (PARTS + 1,) places at which parts begin and end.
    """

    indptr: NDArray[np.uint64]
    neighbours: NDArray[np.uint32]
    flows: FloatArray
    strengths: FloatArray
    inverses: FloatArray
    rounding: float
    places: IntArray
    parts: IntArray


@dataclass(frozen=True, eq=False)
class UndirectedGraph:
    """A weighted undirected graph in CSR form: each edge is stored at both of its ends, parallel edges as one.

    Attributes
    ----------
    indptr : (n_nodes + 1,). neighbours, weights : (n_entries,); a node's neighbours ascend. Weights are above 0.
    unused : arrays that walks write to, kept from one call to the next.
    """

    indptr: IntArray
    neighbours: Codes
    weights: FloatArray
    unused: dict[Any, Any] = field(default_factory=dict, repr=False)

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
    def strengths(self) -> FloatArray:
        """(n_nodes,) the sum of the weights of each node's edges."""
        return np.bincount(self.owners, weights=self.weights, minlength=self.n_nodes).astype(np.float64)

    @cached_property
    def flows(self) -> FloatArray:
        """(n_entries,) the share of the neighbour's mass that it sends here: the entries of P by rows."""
        shares: FloatArray = self.weights / self.strengths[self.neighbours]
        return shares

    @cached_property
    def rows(self) -> Rows:
        """Nodes in their own order, for several queries: what is near in a corpus often is in the graph."""
        return self._laid_out(self.indptr, self.neighbours, self.flows, self.strengths, np.arange(self.n_nodes))

    @cached_property
    def by_degree(self) -> Rows:
        """Nodes with most edges in the first places, for a single query: what is read most often lies together.

        A node's entries stay in order, and so do its additions.
        """
        nodes = np.argsort(-np.diff(self.indptr), kind="stable")
        places = np.empty(self.n_nodes, dtype=np.int64)
        places[nodes] = np.arange(self.n_nodes)
        entries, ends = gather(self.indptr, nodes)
        neighbours, flows = places[self.neighbours[entries]].astype(np.int32), self.flows[entries]
        return self._laid_out(offsets(ends, self.n_nodes), neighbours, flows, self.strengths[nodes], places)

    @staticmethod
    def _laid_out(
        indptr: IntArray, neighbours: Codes, flows: FloatArray, strengths: FloatArray, places: IntArray
    ) -> Rows:
        """Rows of these arrays, by places, none of which is copied."""
        work = indptr + NODE * np.arange(len(indptr))
        return Rows(
            indptr.view(np.uint64),
            neighbours.view(np.uint32),
            flows,
            strengths,
            _inverses(strengths),
            float(ROUNDING * (np.diff(indptr).max(initial=0) + MORE)),
            places,
            np.searchsorted(work, np.linspace(0, work[-1], PARTS + 1)).astype(np.int64),
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


def _inverses(strengths: FloatArray) -> FloatArray:
    """1 over each, infinity where that is no number; 0 where there is nothing."""
    with np.errstate(over="ignore"):
        return np.divide(1.0, strengths, out=np.zeros(len(strengths)), where=strengths > 0)
