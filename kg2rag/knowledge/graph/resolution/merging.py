"""A knowledge graph and which entities are one -> the graph in which they are."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

import numpy as np

from kg2rag.knowledge.graph.csr import Codes, incidence
from kg2rag.knowledge.graph.data import Graph
from kg2rag.knowledge.graph.tables import TripleTable
from kg2rag.text.normalisation import entity_key
from kg2rag.types.arrays import IntArray


def merged(graph: Graph, into: IntArray) -> Graph:
    """The graph in which each entity is the one it goes into.

    That one keeps its name and its place in the order; the names and aliases of the others become its aliases, and
    where it has no type or description it gets the first of theirs. Triples that become equal are one, with the
    greatest strength and confidence among them; a triple whose ends become one entity stays, as a loop; mentions are
    added up. `notes` counts what became of the triples.

    Parameters
    ----------
    into : (n_entities,) the entity that each becomes; one that stays goes into itself.

    Raises
    ------
    ValueError : an entity goes into one that does not stay.
    """
    if (into[into] != into).any():
        wrong = graph.names[int(np.flatnonzero(into[into] != into)[0])]
        raise ValueError(f"{wrong!r} goes into an entity that itself goes into another. Name the last one.")
    kept, renumbered = np.unique(into, return_inverse=True)
    members: list[list[int]] = [[code] for code in kept.tolist()]
    for code in np.flatnonzero(into != np.arange(len(into))).tolist():
        members[renumbered[code]].append(code)
    triples, notes = _triples(graph.triples, renumbered.reshape(-1).astype(np.int32))
    mentions = graph.mentions
    owners = renumbered.reshape(-1)[mentions.owners]
    return replace(
        graph,
        names=tuple(graph.names[code] for code in kept.tolist()),
        types=tuple(_first(graph.types, codes) for codes in members),
        descriptions=tuple(_first(graph.descriptions, codes) for codes in members),
        aliases=tuple(_aliases(graph, codes) for codes in members),
        triples=triples,
        mentions=incidence(owners, mentions.others, mentions.counts, len(kept)),
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


def _triples(table: TripleTable, renumbered: Codes) -> tuple[TripleTable, dict[str, int]]:
    merged = replace(table, heads=renumbered[table.heads], tails=renumbered[table.tails])
    left = merged.distinct()
    loops = np.count_nonzero((merged.heads == merged.tails) & (table.heads != table.tails))
    notes = {
        "duplicate triples merged with their entities": len(table) - len(left),
        "triples between merged entities, now loops": int(loops),
    }
    return left, notes
