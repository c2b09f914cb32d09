"""Edges, and the passages of each node -> the passages connected with some nodes, by chains of any length.

Distinguishes "no path leads there" from "the path was not walked" in a trace.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from kg2rag.knowledge.graph.data import GraphData
from kg2rag.types.arrays import IntArray


@dataclass(frozen=True, eq=False)
class Components:
    """The connected components of an undirected graph whose nodes are named in passages.

    Attributes
    ----------
    labels : (n_nodes,) the number of each node's component.
    nodes, rows : (n_pairs,) a node and a passage that names it.
    """

    labels: IntArray
    nodes: NDArray[np.integer]
    rows: NDArray[np.integer]

    @classmethod
    def of(
        cls,
        ends: tuple[NDArray[np.integer], NDArray[np.integer]],
        n_nodes: int,
        met: tuple[NDArray[np.integer], NDArray[np.integer]],
    ) -> Components:
        """The components of some edges.

        Parameters
        ----------
        ends : (n_edges,) each. met : nodes and corpus rows, (n_pairs,) each; a passage may name many nodes.
        """
        from scipy.sparse import coo_array
        from scipy.sparse.csgraph import connected_components

        if not n_nodes:  # scipy takes no empty matrix
            return cls(np.empty(0, dtype=np.int64), *met)
        edges = coo_array((np.ones(len(ends[0]), dtype=np.int8), ends), shape=(n_nodes, n_nodes))
        return cls(connected_components(edges, directed=False)[1].astype(np.int64), *met)

    @classmethod
    def of_graph(cls, graph: GraphData) -> Components:
        """Entities joined by triples, and the passages that name them."""
        table, mentions = graph.triples, graph.mentions
        return cls.of((table.heads, table.tails), graph.n_entities, (mentions.owners, mentions.others))

    def rows_with(self, nodes: Iterable[int]) -> IntArray:
        """The passages of every node connected with one of these, ascending; none for none."""
        wanted = np.unique(self.labels[np.fromiter(nodes, dtype=np.int64)])
        found: IntArray = np.unique(self.rows[np.isin(self.labels[self.nodes], wanted)]).astype(np.int64)
        return found
