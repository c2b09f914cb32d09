"""A knowledge graph -> a part of it, over a changed corpus, with entities merged, or with other strengths.

Pure functions: the graph given stays as it is. The formulas of strengths are ours.

`edited` is `KnowledgeGraph.build` of what is left of the graph, read as an extraction (its entities as records,
then its triples, then its mentions, all under the names that the graph has), followed by what is added. Entities that
are left therefore keep their order and their names, and so does everything that no passage states. Strengths stay what
they are: `corroborated` and `damped` look at the whole graph, so apply them after a change, not before.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Literal

import numpy as np

from kg2rag.extraction import Entity, Extraction, Mention
from kg2rag.extraction.combined import joined, without
from kg2rag.knowledge.graph.csr import Incidence, frozen, incidence
from kg2rag.knowledge.graph.data import Graph, GraphData
from kg2rag.knowledge.graph.tables import SMALLEST, TripleTable, canonical, first_seen
from kg2rag.text.normalisation import entity_key
from kg2rag.types import Corpus, FloatArray, IntArray, at_least, one_of, require


def induced(graph: Graph, codes: Iterable[int]) -> Graph:
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
    heads, tails, pairs = frozen(code[table.heads]), frozen(code[table.tails]), graph.mentions
    named = code[pairs.owners] >= 0
    texts = ("names", "types", "descriptions", "aliases")
    return replace(
        graph,
        **{name: tuple(getattr(graph, name)[at] for at in kept.tolist()) for name in texts},
        relations=tuple(graph.relations[at] for at in order.tolist()),
        triple_descriptions=described,
        triples=replace(table, heads=heads, relations=frozen(relations), tails=tails),
        mentions=incidence(code[pairs.owners[named]], pairs.others[named], pairs.counts[named], len(kept)),
        notes={},
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
    dropped = frozenset(gone) | (frozenset(graph.passage_ids) - frozenset(corpus.ids))
    return type(graph).build(joined(without(as_extraction(graph), dropped), added or Extraction()), corpus)


def as_extraction(graph: GraphData) -> Extraction:
    """A graph as what it may have been built from: its entities, its triples, and the mentions that these lack."""
    parts = zip(graph.names, graph.types, graph.descriptions, graph.aliases, strict=True)
    alone = recounted(graph, graph.triples, -1)
    columns = (alone.owners, alone.others, alone.counts)
    return Extraction(
        triples=tuple(map(graph.triple, range(graph.n_triples))),
        mentions=tuple(
            Mention(graph.names[entity], graph.passage_ids[row])
            for entity, row, count in zip(*(column.tolist() for column in columns), strict=True)
            for _ in range(count)
        ),
        entities=tuple(Entity(*part) for part in parts),
        notes=graph.notes,
    )


def recounted(graph: GraphData, triples: TripleTable, sign: int) -> Incidence:
    """The mentions with those of some triples' ends added (1) or taken away (-1)."""
    mentions, stated = graph.mentions, triples.passages >= 0
    owners = np.concatenate([mentions.owners, triples.heads[stated], triples.tails[stated]])
    rows = np.concatenate([mentions.others, triples.passages[stated], triples.passages[stated]])
    counts = np.concatenate([mentions.counts, np.full(2 * int(stated.sum()), sign, dtype=np.int32)])
    summed = incidence(owners, rows, counts, graph.n_entities)
    left = summed.counts > 0
    return incidence(summed.owners[left], summed.others[left], summed.counts[left], graph.n_entities)


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


def _with_strengths(graph: Graph, strengths: FloatArray) -> Graph:
    inside = np.clip(strengths.astype(np.float32), np.float32(SMALLEST), np.float32(10))
    return replace(graph, triples=replace(graph.triples, strengths=frozen(inside)))
