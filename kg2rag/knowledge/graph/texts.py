"""A knowledge graph -> its triples as texts to encode, and a lexicon that finds its entities in a text."""

from __future__ import annotations

from kg2rag.knowledge.graph.data import GraphData
from kg2rag.text.lexicon import FUNCTION_WORDS, Lexicon
from kg2rag.text.normalisation import normalise


def triple_texts(graph: GraphData) -> list[str]:
    """(n_triples,) each triple as "head relation tail"."""
    table = graph.triples
    codes = zip(table.heads.tolist(), table.relations.tolist(), table.tails.tolist(), strict=True)
    return [f"{graph.names[head]} {graph.relations[relation]} {graph.names[tail]}" for head, relation, tail in codes]


def entity_lexicon(graph: GraphData) -> tuple[Lexicon, list[int]]:
    """Finds the names, and then the aliases, of entities; the list maps a match to its entity."""
    codes: dict[str, int] = {}
    for entity, name in enumerate(graph.names):
        codes.setdefault(normalise(name), entity)
    for entity, aliases in enumerate(graph.aliases):
        for alias in aliases:
            codes.setdefault(normalise(alias), entity)
    for word in FUNCTION_WORDS:
        codes.pop(word, None)
    return Lexicon(list(codes)), list(codes.values())
