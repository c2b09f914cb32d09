"""The arguments of `KnowledgeBase.build` -> its fields, or a `TypeError` that names what to give instead."""

from __future__ import annotations

from kg2rag.compute import Embedder, SentenceEncoder, Store, embedder_named
from kg2rag.extraction import Extraction, Extractor
from kg2rag.extraction.sources import SOURCES
from kg2rag.knowledge.graph import KnowledgeGraph
from kg2rag.types import Corpus, QADataset, fits, refused


def checked_corpus(corpus: object) -> Corpus:
    """The corpus; a data set, or a list of passages, is none."""
    if isinstance(corpus, Corpus):
        return corpus
    fix = "Corpus.from_passages([Passage(id, title, text, doc_id, position), ...])"
    if isinstance(corpus, QADataset):
        fix = "data.corpus of a data set"
    raise refused("corpus", corpus, f"a Corpus, such as {fix}")


def checked_source(graph: object, corpus: Corpus) -> Extractor | KnowledgeGraph:
    """A graph over the corpus, or an extractor, given itself or by name; an unknown name is a ValueError."""
    if isinstance(graph, str):
        return SOURCES.build(graph)
    if isinstance(graph, KnowledgeGraph):
        if list(graph.passage_ids) != corpus.ids:
            raise ValueError(
                f"The graph was built over {graph.n_passages} passages that are not the corpus's {len(corpus)}. Build "
                "it over this corpus, or give the knowledge base the corpus that it was built on."
            )
        return graph
    # Not isinstance(graph, Extractor): that may compute the fingerprint, which reads whole files.
    if not isinstance(graph, type) and hasattr(type(graph), "extract"):
        source: Extractor = graph  # type: ignore[assignment]
        return source
    fix = (
        "KnowledgeGraph.build(extraction, corpus)" if isinstance(graph, Extraction) else "'mentions' or 'triples(FILE)'"
    )
    if type(graph).__module__.startswith("networkx"):
        fix = "KnowledgeGraph.from_networkx(graph, corpus)"
    raise refused("graph", graph, f"a KnowledgeGraph, an extractor, or the name of a graph source, such as {fix}")


def checked_embedder(embedder: object) -> Embedder:
    """An embedder, the one of that name, or the default for None."""
    if embedder is None or isinstance(embedder, str):
        return SentenceEncoder() if embedder is None else embedder_named(embedder)
    if isinstance(embedder, type) or not fits(embedder, Embedder):
        raise refused(
            "embedder",
            embedder,
            "the name of a sentence-transformers model, 'static:NAME', or such as SentenceEncoder()",
        )
    given: Embedder = embedder  # type: ignore[assignment]
    return given


def checked_store(store: object) -> Store:
    """A store, or the default one for None."""
    if store is not None and not isinstance(store, Store):
        raise refused("store", store, "a Store, such as Store(folder)")
    return store or Store()
