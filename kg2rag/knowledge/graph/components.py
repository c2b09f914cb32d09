"""Entities -> which are connected, how many triples apart, and the passages that far away.

The ceiling of every strategy that walks the graph: what no walk of so many triples reaches, none can retrieve.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from kg2rag.knowledge.graph.csr import gather
from kg2rag.knowledge.graph.data import GraphData
from kg2rag.types import IntArray


@dataclass(frozen=True, eq=False)
class Components:
    """The connected components of an undirected graph whose nodes are named in passages.

    `labels`, (n_nodes,), number the component of each node; `nodes` and `rows`, (n_pairs,), are a node and a passage
    that names it.
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
        """The components of edges, (n_edges,) each; `met` are nodes and corpus rows, (n_pairs,) each."""
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


Flags = NDArray[np.bool_]


def entity_hops(graph: GraphData, seeds: Iterable[int], hops: int, allowed: Flags | None = None) -> IntArray:
    """(n_entities,) the triples between each entity and the nearest seed; -1 where there are more than `hops`.

    Parameters
    ----------
    seeds : entity codes, hop 0.
    allowed : (n_passages,) the passages whose triples may be walked; None for all. Triples that no passage states may
        always be.
    """
    found = np.full(graph.n_entities, -1, dtype=np.int64)
    frontier = np.unique(np.fromiter(seeds, dtype=np.int64))
    stating = graph.triples.passages
    usable = np.ones(graph.n_triples, dtype=bool) if allowed is None else (stating < 0) | allowed[stating]
    for hop in range(hops + 1):
        found[frontier] = hop
        if hop == hops or not len(frontier):
            break
        slots = gather(graph.adjacency.indptr, frontier)[0]
        slots = slots[usable[graph.adjacency.triples[slots]]]
        near = graph.adjacency.neighbours[slots]
        frontier = np.unique(near[found[near] < 0]).astype(np.int64)
    return found


def passage_hops(graph: GraphData, entities: IntArray, allowed: Flags | None = None) -> IntArray:
    """(n_passages,) the least hop among the entities that a passage names; -1 where none was reached, or not allowed.

    `entities` are hops, (n_entities,), as from `entity_hops`.
    """
    far = np.iinfo(np.int64).max
    found = np.full(graph.n_passages, far, dtype=np.int64)
    hops = entities[graph.mentions.owners]
    reached = hops >= 0
    np.minimum.at(found, graph.mentions.others[reached], hops[reached])
    if allowed is not None:
        found[~allowed] = far
    return np.where(found == far, -1, found)


def connected(graph: GraphData, groups: Sequence[IntArray], hops: int, allowed: Flags | None = None) -> bool:
    """Whether passages are connected: each leads to each by steps of at most `hops` triples from entity to entity.

    Parameters
    ----------
    groups : the corpus rows of each thing to be joined, one row where it is a passage, several for a document.
    hops : 0 requires a shared entity, 1 a triple between an entity of the one and an entity of the other.
    """
    named = [np.unique(graph.mentioned.of_all(rows)) for rows in groups]
    reached, waiting = {0}, [0]
    while waiting:
        near = entity_hops(graph, named[waiting.pop()].tolist(), hops, allowed) >= 0
        fresh = [other for other in range(len(groups)) if other not in reached and near[named[other]].any()]
        reached.update(fresh)
        waiting += fresh
    return len(reached) == len(groups)
