"""The arguments `graph` and `entities` of `KnowledgeBase.build` -> a graph or its extractor."""

from __future__ import annotations

import sys

from kg2rag.extraction import Extraction, Extractor
from kg2rag.extraction.entity_matching import graph_of
from kg2rag.extraction.entity_records import entities_of
from kg2rag.extraction.sources import SOURCES, CombinedExtractor, GivenExtraction
from kg2rag.knowledge.graph import KnowledgeGraph
from kg2rag.types import Corpus, ParameterError, refused

ALLOWED = (
    "the name of a graph source such as 'mentions' or 'triples(FILE)', a KnowledgeGraph, a networkx graph, a file, a "
    "list of Triple or (head, relation, tail), a DataFrame of them, an extractor"
)


def with_entities(source: Extractor | KnowledgeGraph, entities: object) -> Extractor:
    """A source with further entity records before its own."""
    if isinstance(source, KnowledgeGraph):
        raise ParameterError(
            "entities are added to triples or a source, not to a KnowledgeGraph, which has its own."
        )
    return CombinedExtractor(
        (GivenExtraction(Extraction(entities=entities_of(entities))), source)
    )


def source_of(graph: object, corpus: Corpus) -> Extractor | KnowledgeGraph:
    """The graph or extractor of an argument of `KnowledgeBase.build`."""
    matched = graph_of(graph)
    if matched is not None:
        return matched
    if isinstance(graph, str):
        return SOURCES.build(graph)
    if isinstance(graph, KnowledgeGraph):
        if list(graph.passage_ids) == corpus.ids:
            return announce_empty(graph, graph)
        raise ValueError(
            f"The graph was built over {graph.n_passages} passages that are not the corpus's {len(corpus)}. Build "
            "it over this corpus, or give the knowledge base the corpus that it was built on."
        )
    if hasattr(graph, "to_networkx"):  # a graph of igraph, DGL and others
        return source_of(graph.to_networkx(), corpus)
    # Not isinstance(graph, Extractor): that may compute the fingerprint, which reads whole files.
    if not isinstance(graph, type) and hasattr(type(graph), "extract"):
        source: Extractor = graph  # type: ignore[assignment]
        return source
    raise refused("graph", graph, ALLOWED)


def announce_empty(graph: KnowledgeGraph, source: object) -> KnowledgeGraph:
    """The graph itself; a graph without triples is reported on stderr."""
    if not graph.n_triples:
        print(  # noqa: T201
            f"The graph of {source!r:.80} has no triples ({graph.n_entities:,} entities, {graph.n_passages:,} "
            "passages); strategies that follow triples return nothing from it. Pass another graph to "
            "KnowledgeBase.build, such as 'mentions' or 'cooccurrence'.",
            file=sys.stderr,
        )
    return graph
