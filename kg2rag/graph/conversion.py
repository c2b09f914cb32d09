"""`KnowledgeGraph` <-> networkx.

Attributes are strings and numbers only, so `networkx.write_graphml` and Gephi take the result as it is.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from kg2rag.corpus import Corpus
from kg2rag.extraction import Entity, Extraction
from kg2rag.graph.knowledge import KnowledgeGraph
from kg2rag.graph.tables import incidence
from kg2rag.types import Triple

if TYPE_CHECKING:
    import networkx as nx

PASSAGE = "passage:"


def to_networkx(graph: KnowledgeGraph, *, passages: bool = False) -> nx.MultiDiGraph:
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
    if passages:
        _add_passages(graph, out)
    return out


def _add_passages(graph: KnowledgeGraph, out: nx.MultiDiGraph) -> None:
    for id_ in graph.passage_ids:
        if PASSAGE + id_ in out:
            raise ValueError(f"Entity {PASSAGE + id_!r} has the name that the node of passage {id_!r} needs.")
        out.add_node(PASSAGE + id_, kind="passage", passage_id=id_)
    mentions = graph.mentions
    pairs = zip(mentions.owners.tolist(), mentions.others.tolist(), mentions.counts.tolist(), strict=True)
    for entity, row, count in pairs:
        out.add_edge(graph.names[entity], PASSAGE + graph.passage_ids[row], kind="mention", count=count)


def from_networkx(graph: nx.Graph, corpus: Corpus) -> KnowledgeGraph:
    """A networkx graph as a `KnowledgeGraph`: one that `to_networkx` made comes back equal (see `passages` there).

    Of any other graph, nodes are names and edges triples, in the graph's own order; `relation` is required, the other
    attributes are optional. An edge of an undirected graph runs from its first end to its second.

    Raises
    ------
    ValueError : a node that is no string, an edge without a relation, a weight out of range, an unknown passage.
    """
    entities, passages = [], {}
    for node, data in graph.nodes(data=True):
        if not isinstance(node, str):
            raise ValueError(f"Node {node!r} is no string. Rename nodes to entity names (networkx.relabel_nodes).")
        if data.get("kind") == "passage":
            passages[node] = data["passage_id"]
        else:
            aliases = tuple(json.loads(data.get("aliases", "[]")))
            entities.append(Entity(node, data.get("type", ""), data.get("description", ""), aliases))
    edges = [edge for edge in graph.edges(data=True) if edge[2].get("kind") != "mention"]
    # networkx walks edges node by node; `order` brings the triples' own order back.
    edges.sort(key=lambda edge: edge[2].get("order", 0))
    triples = tuple(_triple(head, tail, data) for head, tail, data in edges)
    built = KnowledgeGraph.build(Extraction(triples=triples, entities=tuple(entities)), corpus)
    return _with_mentions(built, graph, passages, corpus) if passages else built


def _triple(head: str, tail: str, data: Mapping[str, object]) -> Triple:
    if not isinstance(relation := data.get("relation"), str):
        raise ValueError(f"Edge {head!r} - {tail!r} has relation {relation!r}; a string is needed.")
    optional = {name: data[name] for name in ("strength", "confidence") if name in data}
    return Triple(head, relation, tail, str(data.get("passage_id", "")), **optional)  # type: ignore[arg-type]


def _with_mentions(
    built: KnowledgeGraph, graph: nx.Graph, passages: Mapping[str, str], corpus: Corpus
) -> KnowledgeGraph:
    mentions = [
        (built.entity(entity), corpus.row(passages[passage]), data["count"])
        for entity, passage, data in graph.edges(data=True)
        if data.get("kind") == "mention"
    ]
    owners, rows, counts = np.array(mentions, dtype=np.int32).reshape(-1, 3).T
    return replace(built, mentions=incidence(owners, rows, counts, built.n_entities))
