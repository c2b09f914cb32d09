"""A knowledge graph -> a part of it, over a changed corpus, with entities merged, other strengths or synonym edges.

Pure functions: the graph given stays as it is. The formulas of strengths are ours; synonym edges are HippoRAG's [1].

`edited` equals `KnowledgeGraph.build` of what is left of the graph, read as an extraction (its entities as records,
then its triples, then its mentions, all under the names that the graph has), followed by what is added. Entities that
are left therefore keep their order and their names, and so does everything that no passage states. Strengths stay what
they are: `corroborated` and `damped` look at the whole graph, so apply them after a change, not before.

[1] Gutiérrez et al., "HippoRAG: Neurobiologically Inspired Long-Term Memory for Large Language Models", NeurIPS 2024.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from kg2rag.extraction import Extraction
from kg2rag.knowledge.graph.csr import frozen, incidence
from kg2rag.knowledge.graph.data import Graph
from kg2rag.knowledge.graph.synonyms import synonyms
from kg2rag.knowledge.graph.tables import SMALLEST, TripleTable, canonical, first_seen
from kg2rag.text.normalisation import entity_key
from kg2rag.types import Corpus, FloatArray, IntArray, Matrix, at_least, one_of, require

Flags = NDArray[np.bool_]
SYNONYM = "is a synonym of"
LETTERS = 3  # names of fewer letters and digits have no synonyms, as in HippoRAG


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
    The ends of triples and the owners of mentions that are kept must be kept, too.
    """
    code = (np.cumsum(entities) - 1).astype(np.int32)
    kept = np.flatnonzero(entities).tolist()
    table, described = canonical(graph.triples.take(np.flatnonzero(triples)), graph.triple_descriptions)
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
        triple_descriptions=described,
        triples=replace(table, heads=heads, relations=frozen(relations), tails=tails),
        mentions=incidence(code[pairs.owners[mentions]], pairs.others[mentions], pairs.counts[mentions], len(kept)),
    )


def edited(graph: Graph, corpus: Corpus, *, gone: Iterable[str] = (), added: Extraction | None = None) -> Graph:
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
    return left if added is None else _joined(left, type(graph).build(added, corpus))


def _left(graph: Graph, corpus: Corpus, gone: frozenset[str]) -> Graph:
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


def _joined(graph: Graph, other: Graph) -> Graph:
    """Two graphs over one corpus as one, the first one's entities, relations and triples first."""
    codes = {entity_key(name): code for code, name in enumerate(graph.names)}
    into = np.array([codes.setdefault(entity_key(name), len(codes)) for name in other.names], dtype=np.int32)
    relations = {relation: code for code, relation in enumerate(graph.relations)}
    said = np.array([relations.setdefault(name, len(relations)) for name in other.relations], dtype=np.int32)
    texts = {text: code for code, text in enumerate(graph.triple_descriptions)}
    about = np.array([texts.setdefault(text, len(texts)) for text in other.triple_descriptions], dtype=np.int32)
    size = len(codes) - graph.n_entities
    types, descriptions = [*graph.types, *[""] * size], [*graph.descriptions, *[""] * size]
    aliases = [*graph.aliases, *[()] * size]
    for at, code in enumerate(into.tolist()):
        types[code] = types[code] or other.types[at]
        descriptions[code] = descriptions[code] or other.descriptions[at]
        aliases[code] = tuple(dict.fromkeys((*aliases[code], *other.aliases[at])))
    theirs, ours, found = other.triples, graph.mentions, other.mentions
    renamed = replace(
        theirs,
        heads=into[theirs.heads],
        relations=said[theirs.relations],
        tails=into[theirs.tails],
        descriptions=about[theirs.descriptions],
    )
    owners, others = [ours.owners, into[found.owners]], [ours.others, found.others]
    counts = [ours.counts, found.counts]
    return replace(
        graph,
        names=(*graph.names, *(other.names[at] for at in np.flatnonzero(into >= graph.n_entities).tolist())),
        types=tuple(types),
        descriptions=tuple(descriptions),
        aliases=tuple(aliases),
        relations=tuple(relations),
        triples=graph.triples.followed_by(renamed).distinct(),
        triple_descriptions=tuple(texts),
        mentions=incidence(np.concatenate(owners), np.concatenate(others), np.concatenate(counts), len(codes)),
        notes={**graph.notes, **{cause: graph.notes.get(cause, 0) + count for cause, count in other.notes.items()}},
    )


def merged(graph: Graph, into: IntArray) -> Graph:
    """The graph in which each entity is the one it goes into.

    That one keeps its name and its place in the order; the names and aliases of the others become its aliases, and
    where it has no type or description it gets the first of theirs. Triples that become equal are one, with the
    greatest strength and confidence among them; a triple whose ends become one entity stays, as a loop; mentions are
    added up. `notes` counts what became of the triples. One that stays goes into itself, and no other is gone into.
    """
    if (into[into] != into).any():
        wrong = graph.names[int(np.flatnonzero(into[into] != into)[0])]
        raise ValueError(f"{wrong!r} goes into an entity that itself goes into another. Name the last one.")
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
    return replace(
        graph,
        names=tuple(graph.names[code] for code in kept.tolist()),
        types=tuple(_first(graph.types, codes) for codes in members),
        descriptions=tuple(_first(graph.descriptions, codes) for codes in members),
        aliases=tuple(_aliases(graph, codes) for codes in members),
        triples=distinct,
        mentions=incidence(place[mentions.owners], mentions.others, mentions.counts, len(kept)),
        notes={**graph.notes, **{cause: graph.notes.get(cause, 0) + count for cause, count in notes.items() if count}},
    )


def _first(texts: Sequence[str], codes: Iterable[int]) -> str:
    return next((texts[code] for code in codes if texts[code]), "")


def _aliases(graph: Graph, codes: Sequence[int]) -> tuple[str, ...]:
    if len(codes) == 1:
        return graph.aliases[codes[0]]
    own = entity_key(graph.names[codes[0]])
    others = [alias for code in codes for alias in (graph.names[code], *graph.aliases[code])]
    return tuple(alias for alias in dict.fromkeys(others) if entity_key(alias) != own)


def corroborated(graph: Graph, by: Literal["triple", "pair"] = "triple") -> Graph:
    """Strengths that grow with the number of passages that state the same.

    Passages are taken for independent witnesses: s = 10 · (1 - Π (1 - s_p / 10)), over the passages p that state the
    fact and their greatest strength for it, s_p. Of statements with the default strength, 5, one gives 5, two give
    7.5, three 8.75. The triples that no passage states count as one witness more. Apply it once.

    Parameters
    ----------
    by : what is the same: head, relation and tail ("triple"), or any relation between the two, either way ("pair").
    """
    require("by", by, str, one_of(("triple", "pair")))
    table = graph.triples
    ends = [table.heads, table.tails]
    parts = [*ends, table.relations] if by == "triple" else [np.minimum(*ends), np.maximum(*ends)]
    facts = np.unique(np.stack(parts, axis=1), axis=0, return_inverse=True)[1].reshape(-1)
    statements, inverse = np.unique(np.stack([facts, table.passages], axis=1), axis=0, return_inverse=True)
    witnesses = np.zeros(len(statements))
    np.maximum.at(witnesses, inverse.reshape(-1), table.strengths)
    doubts = np.ones(int(facts.max(initial=-1)) + 1)
    np.multiply.at(doubts, statements[:, 0], 1 - witnesses / 10)
    return _with_strengths(graph, 10 * (1 - doubts[facts]))


def damped(graph: Graph, *, above: float = 20.0, exponent: float = 0.5) -> Graph:
    """Strengths that fall at hubs, so that a walk does not run through "United States".

    s' = s · min(1, above / d(head))^exponent · min(1, above / d(tail))^exponent, d being an entity's number of triples.

    Parameters
    ----------
    above : the degree from which on an entity is a hub, at least 1.
    exponent : at least 0; 0 changes nothing, at 1 a hub of twice `above` halves its triples.
    """
    require("above", above, float, at_least(1))
    require("exponent", exponent, float, at_least(0))
    share = np.minimum(1.0, above / np.maximum(graph.degrees, 1)) ** exponent
    table = graph.triples
    return _with_strengths(graph, table.strengths * share[table.heads] * share[table.tails])


def with_synonyms(graph: Graph, vectors: Matrix, *, threshold: float = 0.8, limit: int = 100) -> Graph:
    """The graph with a triple "is a synonym of" between any two entities of similar names.

    No passage states these triples, so they lengthen walks from entity to entity and bring in no passage themselves.
    Their strength is ten times the cosine, their confidence the cosine; each pair has one, from the entity that comes
    first. Entities that are surely one are better merged, see `resolve`.

    Parameters
    ----------
    vectors : (n_entities, dim), rows of norm 1, of the graph's names (`kb.entities.vectors`).
    threshold : least cosine, in (0, 1]; HippoRAG's 0.8.
    limit : at most so many synonyms looked up for each entity, the most similar; HippoRAG's 100.

    Raises
    ------
    ValueError : there are not as many vectors as entities, or the graph has synonyms already.
    """
    if len(vectors) != graph.n_entities:
        raise ValueError(f"There are {len(vectors)} vectors for {graph.n_entities} entities. Encode graph.names.")
    if SYNONYM in graph.relations:
        raise ValueError(f"The graph has triples {SYNONYM!r} already. Start from the graph without them.")
    long_ = np.flatnonzero([sum(map(str.isalnum, name)) >= LETTERS for name in graph.names]).astype(np.int64)
    found = synonyms(vectors, threshold, limit=limit, sources=long_, targets=long_)
    low, high = np.minimum(found.sources, found.targets), np.maximum(found.sources, found.targets)
    pairs, first = np.unique(np.stack([low, high], axis=1), axis=0, return_index=True)
    if not len(pairs):
        return graph
    cosines, size = np.minimum(found.cosines[first], 1.0), len(pairs)
    added = TripleTable(
        heads=pairs[:, 0].astype(np.int32),
        relations=np.full(size, graph.n_relations, dtype=np.int32),
        tails=pairs[:, 1].astype(np.int32),
        passages=np.full(size, -1, dtype=np.int32),
        strengths=(10 * cosines).astype(np.float32),
        confidences=cosines.astype(np.float32),
        descriptions=np.zeros(size, dtype=np.int32),
    )
    return replace(graph, relations=(*graph.relations, SYNONYM), triples=graph.triples.followed_by(added))


def _with_strengths(graph: Graph, strengths: FloatArray) -> Graph:
    inside = np.clip(strengths.astype(np.float32), np.float32(SMALLEST), np.float32(10))
    return replace(graph, triples=replace(graph.triples, strengths=frozen(inside)))
