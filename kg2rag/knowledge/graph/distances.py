"""Entities -> how many triples away the others are, and which passages are that far; which passages are connected.

The ceiling of every strategy that walks the graph: what no walk of so many triples reaches, none can retrieve.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from kg2rag.knowledge.graph.csr import gather
from kg2rag.knowledge.graph.data import GraphData
from kg2rag.types.arrays import IntArray

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
    usable = usable_triples(graph, allowed)
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
    """(n_passages,) the least hop among the entities that a passage names; -1 where none was reached.

    Parameters
    ----------
    entities : (n_entities,) hops, as from `entity_hops`.
    allowed : (n_passages,) all other passages get -1.
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


def usable_triples(graph: GraphData, allowed: Flags | None) -> Flags:
    """(n_triples,) whether a triple is stated by an allowed passage, or by none."""
    if allowed is None:
        return np.ones(graph.n_triples, dtype=bool)
    return (graph.triples.passages < 0) | allowed[graph.triples.passages]
