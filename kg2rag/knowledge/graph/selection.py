"""A knowledge graph and some of its entities -> the graph induced on them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from kg2rag.knowledge.graph.tables import frozen, incidence

if TYPE_CHECKING:
    from kg2rag.knowledge.graph.knowledge import KnowledgeGraph


def induced(graph: KnowledgeGraph, entities: Iterable[int]) -> KnowledgeGraph:
    """The entities, every triple with both ends among them, and their mentions; numbered anew in their old order.

    Raises
    ------
    IndexError : no such entity.
    """
    kept = np.unique(np.array(list(entities), dtype=np.int64))
    if len(kept) and not 0 <= kept[0] <= kept[-1] < graph.n_entities:
        raise IndexError(f"Entities {kept.tolist()} are not all codes of a graph of {graph.n_entities} entities.")
    renumbered = np.full(graph.n_entities, -1, dtype=np.int32)
    renumbered[kept] = np.arange(len(kept), dtype=np.int32)

    table = graph.triples
    inside = np.flatnonzero((renumbered[table.heads] >= 0) & (renumbered[table.tails] >= 0))
    table = table.take(inside)
    # Relations stay in order of first appearance, so that a subgraph equals the graph built from its own triples.
    used, first, codes = np.unique(table.relations, return_index=True, return_inverse=True)
    appearance = np.argsort(first)
    table = replace(
        table,
        heads=frozen(renumbered[table.heads]),
        tails=frozen(renumbered[table.tails]),
        relations=frozen(np.argsort(appearance)[codes].astype(np.int32)),
    )

    owners = renumbered[graph.mentions.owners]
    named = owners >= 0
    return replace(
        graph,
        names=tuple(graph.names[code] for code in kept),
        types=tuple(graph.types[code] for code in kept),
        descriptions=tuple(graph.descriptions[code] for code in kept),
        aliases=tuple(graph.aliases[code] for code in kept),
        relations=tuple(graph.relations[code] for code in used[appearance]),
        triples=table,
        mentions=incidence(owners[named], graph.mentions.others[named], graph.mentions.counts[named], len(kept)),
        notes={},
    )
