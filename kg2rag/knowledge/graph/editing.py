"""A knowledge graph -> a part of it, or with entities merged; the graph given stays as it is."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from kg2rag.knowledge.graph.csr import Incidence, incidence
from kg2rag.knowledge.graph.tables import TripleTable, canonical, counted, first_seen
from kg2rag.text.normalisation import entity_key
from kg2rag.types import IntArray

if TYPE_CHECKING:
    from kg2rag.knowledge.graph import KnowledgeGraph
TEXTS = ("names", "types", "descriptions", "aliases")


def induced(graph: KnowledgeGraph, codes: Iterable[int]) -> KnowledgeGraph:
    """The entities, every triple with both ends among them, and their mentions; renumbered in their old order.

    Relations are those of the triples left, by first appearance: so a subgraph equals the graph built of its triples.

    Raises
    ------
    IndexError : no such entity.
    """
    kept = np.unique(np.array(list(codes), dtype=np.int64))
    if len(kept) and not 0 <= kept[0] <= kept[-1] < graph.n_entities:
        raise IndexError(f"Entities {kept.tolist()} are not all codes of a graph of {graph.n_entities} entities.")
    code = np.full(graph.n_entities, -1, dtype=np.int32)
    code[kept] = np.arange(len(kept))
    inside = (code[graph.triples.heads] >= 0) & (code[graph.triples.tails] >= 0)
    table, described = canonical(graph.triples.take(np.flatnonzero(inside)), graph.triple_descriptions)
    relations, order = first_seen(table.relations)
    texts: dict[str, Any] = {name: tuple(getattr(graph, name)[at] for at in kept.tolist()) for name in TEXTS}
    pairs, named = graph.mentions, code[graph.mentions.owners] >= 0
    return replace(
        graph,
        **texts,
        relations=tuple(graph.relations[at] for at in order.tolist()),
        triple_descriptions=described,
        triples=replace(table, heads=code[table.heads], relations=relations, tails=code[table.tails]),
        mentions=incidence(code[pairs.owners[named]], pairs.others[named], pairs.counts[named], len(kept)),
        notes={},
    )


def recounted(graph: KnowledgeGraph, triples: TripleTable, sign: int) -> Incidence:
    """The mentions with those of some triples' ends added (1) or taken away (-1)."""
    pairs = graph.mentions.owners, graph.mentions.others, graph.mentions.counts
    return counted(pairs, triples, sign, graph.n_entities)


def merged(graph: KnowledgeGraph, into: IntArray) -> KnowledgeGraph:
    """The graph in which each entity is the one it goes into; one that stays goes into itself.

    That one keeps its name and its place in the order; the names and aliases of the others become its aliases, and
    where it has no type or description it gets the first of theirs. Triples that become equal are one, with the
    greatest strength and confidence among them; a triple whose ends become one entity stays, as a loop; mentions are
    added up. `notes` counts what became of the triples.
    """
    kept, renumbered = np.unique(into, return_inverse=True)
    members: list[list[int]] = [[code] for code in kept.tolist()]
    for code in np.flatnonzero(into != np.arange(len(into))).tolist():
        members[renumbered[code]].append(code)
    place = renumbered.reshape(-1).astype(np.int32)
    table, mentions = graph.triples, graph.mentions
    triples = replace(table, heads=place[table.heads], tails=place[table.tails])
    distinct = triples.distinct()
    loops = np.count_nonzero((triples.heads == triples.tails) & (table.heads != table.tails))
    notes = {
        "duplicate triples merged with their entities": len(table) - len(distinct),
        "triples between merged entities, now loops": int(loops),
    }
    told = (graph.types, graph.descriptions)
    types, descriptions = (tuple(next(filter(None, (own[c] for c in codes)), "") for codes in members) for own in told)
    return replace(
        graph,
        names=tuple(graph.names[code] for code in kept.tolist()),
        types=types,
        descriptions=descriptions,
        aliases=tuple(_aliases(graph, codes) for codes in members),
        triples=distinct,
        mentions=incidence(place[mentions.owners], mentions.others, mentions.counts, len(kept)),
        notes={**graph.notes, **{cause: graph.notes.get(cause, 0) + count for cause, count in notes.items() if count}},
    )


def _aliases(graph: KnowledgeGraph, codes: list[int]) -> tuple[str, ...]:
    if len(codes) == 1:
        return graph.aliases[codes[0]]
    own = entity_key(graph.names[codes[0]])
    others = [alias for code in codes for alias in (graph.names[code], *graph.aliases[code])]
    return tuple(alias for alias in dict.fromkeys(others) if entity_key(alias) != own)
