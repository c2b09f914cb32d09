"""Entities of a knowledge graph -> the entities around them, and the graph of these: what `neighbourhood` computes."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

import numpy as np

from kg2rag.knowledge.graph.neighbourhood import Neighbour, Rules, layers, walked
from kg2rag.knowledge.graph.selection import induced

if TYPE_CHECKING:
    from kg2rag.knowledge.graph.knowledge import KnowledgeGraph


def neighbours(
    graph: KnowledgeGraph,
    entities: Iterable[int],
    *,
    hops: int = 1,
    min_weight: float = 0.0,
    relation_types: Iterable[str] | None = None,
    limit: int | None = None,
    types: Iterable[str] | None = None,
) -> list[Neighbour]:
    """The entities within `hops` triples of the seeds, walked both ways; ordered by (hop, -weight, code).

    Every entity comes once, by its smallest hop from any seed, and the seeds themselves do not come. Its path
    lengthens the path of an entity one hop nearer by one triple. Of several, that with the greatest weight (the
    weakest strength on the path) stands, then that with the greatest sum of strengths, then that whose last
    triple came first.

    Parameters
    ----------
    entities : the seeds; repeated ones count once.
    hops : 1 to 3.
    min_weight : triples of less strength, 0 to 10, are not walked.
    relation_types : walk these relations alone; case and punctuation do not matter.
    limit : from each entity walk on to at most so many entities that no earlier hop reached, over its strongest
        triples (then the first in the graph). It bounds a hub's share, not the length of the result.
    types : reach, and so walk through, entities of these types alone; case and punctuation do not matter.

    Raises
    ------
    IndexError : no such entity. ValueError : an option out of range, or a relation or type that the graph lacks.
    """
    seeds = np.array(list(dict.fromkeys(entities)), dtype=np.int64)
    if ((seeds < 0) | (seeds >= graph.n_entities)).any():
        raise IndexError(f"Entities {seeds.tolist()} are not all codes of a graph of {graph.n_entities} entities.")
    allowed = None if relation_types is None else graph.relation_labels.among(relation_types)
    unseen = np.ones(graph.n_entities, bool) if types is None else graph.type_labels.among(types)
    rules = Rules(hops, min_weight, allowed, limit)
    return walked(layers(graph.adjacency, graph.triples, seeds, unseen, rules), seeds)


def ego(graph: KnowledgeGraph, entity: int, *, hops: int = 1, limit: int | None = None) -> KnowledgeGraph:
    """The subgraph of an entity and its `neighbours`."""
    near = neighbours(graph, [entity], hops=hops, limit=limit)
    return induced(graph, [entity, *(neighbour.entity for neighbour in near)])
