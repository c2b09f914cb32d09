"""A knowledge graph -> a networkx graph, texts to encode, a lexicon of its entities.

networkx attributes are strings and numbers only, so `networkx.write_graphml` and Gephi take the result as it is;
`kg2rag.extraction.importers.networkx_graph` reads it back.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from kg2rag.knowledge.graph.data import GraphData
from kg2rag.text.lexicon import FUNCTION_WORDS, Lexicon
from kg2rag.text.normalisation import normalise

if TYPE_CHECKING:
    import networkx as nx
PASSAGE = "passage:"


def to_networkx(graph: GraphData, *, passages: bool = False) -> nx.MultiDiGraph:
    """Entities as nodes named by their first spelling, triples as edges.

    Nodes carry kind ("entity"), type, description, aliases (a JSON list) and mentions (how often the corpus names
    them); edges relation, strength, confidence, passage_id and order (the number of the triple).

    Parameters
    ----------
    passages : every passage becomes a node "passage:<id>" too (kind "passage", `passage_id`), with an edge of kind
        "mention" and its count from each entity named in it. Without them, mentions outside triples cannot come back.
    """
    import networkx as nx

    out = nx.MultiDiGraph()
    rows = zip(graph.names, graph.types, graph.descriptions, graph.aliases, graph.mention_counts.tolist(), strict=True)
    for name, type_, description, aliases, mentions in rows:
        known = {"type": type_, "description": description, "aliases": json.dumps(aliases, ensure_ascii=False)}
        out.add_node(name, kind="entity", **known, mentions=mentions)
    for index in range(graph.n_triples):
        triple = graph.triple(index)
        weights = {"strength": triple.strength, "confidence": triple.confidence}
        where = {"passage_id": triple.passage_id, "order": index}
        out.add_edge(triple.head, triple.tail, kind="triple", relation=triple.relation, **weights, **where)
    for id_ in graph.passage_ids if passages else ():
        if PASSAGE + id_ in out:
            raise ValueError(f"Entity {PASSAGE + id_!r} has the name that the node of passage {id_!r} needs.")
        out.add_node(PASSAGE + id_, kind="passage", passage_id=id_)
    pairs = (graph.mentions.owners, graph.mentions.others, graph.mentions.counts) if passages else ()
    for entity, row, count in zip(*(column.tolist() for column in pairs), strict=True):
        out.add_edge(graph.names[entity], PASSAGE + graph.passage_ids[row], kind="mention", count=count)
    return out


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
