"""`UndirectedGraph`: weighted edges without a direction, as compressed sparse rows that a walk reads."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from kg2rag.knowledge.graph.csr import Codes, gather, offsets, owners
from kg2rag.types.arrays import FloatArray, IntArray


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

    def of(self, node: int) -> tuple[Codes, FloatArray]:
        """The neighbours of a node, ascending, and the weights of the edges to them."""
        inside = slice(self.indptr[node], self.indptr[node + 1])
        return self.neighbours[inside], self.weights[inside]

    def induced(self, nodes: IntArray) -> UndirectedGraph:
        """The graph of these nodes (ascending, each once), renumbered, and the edges between them."""
        number = np.full(self.n_nodes, -1, dtype=np.int64)
        number[nodes] = np.arange(len(nodes))
        entries, ends = gather(self.indptr, nodes)
        others = number[self.neighbours[entries]]
        kept = others >= 0
        indptr = offsets(ends[kept], len(nodes))
        return UndirectedGraph(indptr, others[kept].astype(np.int32), self.weights[entries][kept])
