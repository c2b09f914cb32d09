"""A knowledge graph and a change of its corpus -> the graph over the corpus that results; arrays throughout.

Equal to `KnowledgeGraph.build` of what is left of the graph, read as an extraction (its entities as records, then its
triples, then its mentions, all under the names that the graph has), followed by what is added. Entities that are left
therefore keep their order and their names, and so does everything that no passage states. Strengths stay what they are:
`corroborated` and `damped` look at the whole graph, so apply them after a change, not before.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from kg2rag.extraction import Extraction
from kg2rag.knowledge.graph.csr import Codes, frozen, incidence
from kg2rag.knowledge.graph.knowledge import KnowledgeGraph
from kg2rag.knowledge.graph.selection import restricted
from kg2rag.text.normalisation import entity_key
from kg2rag.types.corpus import Corpus

Member = TypeVar("Member")


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
    left = _left(graph, corpus, frozenset(gone))
    return left if added is None else _joined(left, KnowledgeGraph.build(added, corpus))


def _left(graph: KnowledgeGraph, corpus: Corpus, gone: frozenset[str]) -> KnowledgeGraph:
    """The statements of the passages that stay, in the rows of the new corpus."""
    rows = {id_: row for row, id_ in enumerate(corpus.ids) if id_ not in gone}
    # The last place is for triples that no passage states: their row, -1, stays -1.
    row = np.array([*(rows.get(id_, -1) for id_ in graph.passage_ids), -1], dtype=np.int32)
    table, mentions = graph.triples, graph.mentions
    stays = (row[table.passages] >= 0) | (table.passages < 0)
    named = row[mentions.others] >= 0
    owners = mentions.owners
    kept = np.ones(graph.n_entities, dtype=bool)
    kept[np.concatenate([owners[~named], table.heads[~stays], table.tails[~stays]])] = False
    kept[np.concatenate([owners[named], table.heads[stays], table.tails[stays]])] = True
    moved = replace(
        graph,
        triples=replace(table, passages=frozen(row[table.passages])),
        mentions=replace(mentions, others=row[mentions.others]),  # not sorted: `restricted` sorts them
        passage_ids=corpus.ids,
    )
    return restricted(moved, kept, stays, named)


def _taken(members: Sequence[Member], kept: NDArray[np.bool_]) -> tuple[Member, ...]:
    return tuple(members[at] for at in np.flatnonzero(kept).tolist())


def _joined(graph: KnowledgeGraph, other: KnowledgeGraph) -> KnowledgeGraph:
    """Two graphs over one corpus as one, the first one's entities, relations and triples first."""
    codes = {entity_key(name): code for code, name in enumerate(graph.names)}
    into = np.array([codes.setdefault(entity_key(name), len(codes)) for name in other.names], dtype=np.int32)
    relations = {relation: code for code, relation in enumerate(graph.relations)}
    said = np.array([relations.setdefault(name, len(relations)) for name in other.relations], dtype=np.int32)
    fresh = into >= graph.n_entities
    theirs = other.triples
    renamed = replace(theirs, heads=into[theirs.heads], relations=said[theirs.relations], tails=into[theirs.tails])
    ours, found = graph.mentions, other.mentions
    return replace(
        graph,
        names=(*graph.names, *_taken(other.names, fresh)),
        types=_merged(graph.types, other.types, into),
        descriptions=_merged(graph.descriptions, other.descriptions, into),
        aliases=_aliases(graph, other, into),
        relations=tuple(relations),
        triples=graph.triples.followed_by(renamed).distinct(),
        mentions=incidence(
            np.concatenate([ours.owners, into[found.owners]]),
            np.concatenate([ours.others, found.others]),
            np.concatenate([ours.counts, found.counts]),
            len(codes),
        ),
        notes={**graph.notes, **{cause: graph.notes.get(cause, 0) + count for cause, count in other.notes.items()}},
    )


def _merged(ours: Sequence[str], theirs: Sequence[str], into: Codes) -> tuple[str, ...]:
    texts = [*ours, *[""] * (int(into.max(initial=-1)) + 1 - len(ours))]
    for code, text in zip(into.tolist(), theirs, strict=True):
        texts[code] = texts[code] or text
    return tuple(texts)


def _aliases(graph: KnowledgeGraph, other: KnowledgeGraph, into: Codes) -> tuple[tuple[str, ...], ...]:
    aliases = [*graph.aliases, *[()] * (int(into.max(initial=-1)) + 1 - graph.n_entities)]
    for code, more in zip(into.tolist(), other.aliases, strict=True):
        aliases[code] = tuple(dict.fromkeys((*aliases[code], *more)))
    return tuple(aliases)
