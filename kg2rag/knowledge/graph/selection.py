"""A knowledge graph and some of its entities -> the graph induced on them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from kg2rag.knowledge.graph.csr import frozen, incidence
from kg2rag.knowledge.graph.data import Graph
from kg2rag.knowledge.graph.tables import first_seen

Flags = NDArray[np.bool_]


def induced(graph: Graph, codes: Iterable[int]) -> Graph:
    """The entities, every triple with both ends among them, and their mentions; renumbered in their old order.

    Raises
    ------
    IndexError : no such entity.
    """
    kept = np.unique(np.array(list(codes), dtype=np.int64))
    if len(kept) and not 0 <= kept[0] <= kept[-1] < graph.n_entities:
        raise IndexError(f"Entities {kept.tolist()} are not all codes of a graph of {graph.n_entities} entities.")
    entities = np.zeros(graph.n_entities, dtype=bool)
    entities[kept] = True
    table = graph.triples
    triples = entities[table.heads] & entities[table.tails]
    return replace(restricted(graph, entities, triples, entities[graph.mentions.owners]), notes={})


def restricted(graph: Graph, entities: Flags, triples: Flags, mentions: Flags) -> Graph:
    """The graph with some of its entities, triples and mentions, renumbered in their old order.

    Relations are those of the triples left, by first appearance: so a subgraph equals the graph built of its triples.

    Parameters
    ----------
    entities, triples, mentions : (n_entities,), (n_triples,) and (n_mentions,), True where kept; the ends of triples
        and the owners of mentions that are kept must be, too.
    """
    code = (np.cumsum(entities) - 1).astype(np.int32)
    kept = np.flatnonzero(entities).tolist()
    table = graph.triples.take(np.flatnonzero(triples))
    relations, order = first_seen(table.relations)
    heads, tails = frozen(code[table.heads]), frozen(code[table.tails])
    pairs = graph.mentions
    return replace(
        graph,
        names=tuple(graph.names[at] for at in kept),
        types=tuple(graph.types[at] for at in kept),
        descriptions=tuple(graph.descriptions[at] for at in kept),
        aliases=tuple(graph.aliases[at] for at in kept),
        relations=tuple(graph.relations[at] for at in order.tolist()),
        triples=replace(table, heads=heads, relations=frozen(relations), tails=tails),
        mentions=incidence(code[pairs.owners[mentions]], pairs.others[mentions], pairs.counts[mentions], len(kept)),
    )
