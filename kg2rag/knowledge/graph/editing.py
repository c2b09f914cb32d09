"""A knowledge graph -> a part of it, over a changed corpus, or with entities merged; the graph given stays as it is.

`edited` is `KnowledgeGraph.build` of what is left of the graph, read as an extraction (its entities as records,
then its triples, then its mentions, all under the names that the graph has), followed by what is added. Entities that
are left therefore keep their order and their names, and so does everything that no passage states.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from kg2rag.extraction import Entity, Extraction, Mention
from kg2rag.extraction.combined import joined, without
from kg2rag.knowledge.graph.csr import Incidence, incidence
from kg2rag.knowledge.graph.tables import TripleTable, canonical, counted, first_seen
from kg2rag.text.normalisation import entity_key
from kg2rag.types import Corpus, IntArray

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


def edited(
    graph: KnowledgeGraph, corpus: Corpus, *, gone: Iterable[str] = (), added: Extraction | None = None
) -> KnowledgeGraph:
    """The graph over `corpus`; of passages new to it, it has what `added` states.

    Parameters
    ----------
    gone : passages whose triples and mentions are dropped, as are those that the corpus lacks; a passage whose text was
        replaced is both gone and in the corpus. An entity or relation that nothing names any more is dropped with them;
        one that nothing ever named, or that a triple without a passage names, stays.
    added : merged in under the names that the graph has. Of an entity that both describe, the graph's type and
        description are kept, and all aliases.
    """
    dropped = frozenset(gone) | (frozenset(graph.passage_ids) - frozenset(corpus.ids))
    return graph.build(joined(without(as_extraction(graph), dropped), added or Extraction()), corpus)


def as_extraction(graph: KnowledgeGraph) -> Extraction:
    """A graph as what it may have been built from: its entities, its triples, and the mentions that these lack."""
    alone = recounted(graph, graph.triples, -1)
    columns = (alone.owners, alone.others, alone.counts)
    return Extraction(
        triples=tuple(map(graph.triple, range(graph.n_triples))),
        mentions=tuple(
            Mention(graph.names[entity], graph.passage_ids[row])
            for entity, row, count in zip(*(column.tolist() for column in columns), strict=True)
            for _ in range(count)
        ),
        entities=tuple(map(Entity, *(getattr(graph, name) for name in TEXTS))),
        notes=graph.notes,
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
