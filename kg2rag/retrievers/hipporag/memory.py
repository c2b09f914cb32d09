"""A knowledge base -> what HippoRAG derives from it: phrases, facts, their vectors, and the graph that joins them.

Each is built once, kept in the store by what it depends on, and shared by both systems and all their settings.
"""

from __future__ import annotations

import hashlib

from kg2rag.knowledge.base import KnowledgeBase
from kg2rag.knowledge.graph.synonyms import Synonyms, synonyms
from kg2rag.knowledge.indexes.dense import DenseIndex
from kg2rag.retrievers.hipporag.graph import PhraseGraph
from kg2rag.retrievers.hipporag.phrases import VERSION, PhraseTable, synonym_ends


def phrases(kb: KnowledgeBase) -> PhraseTable:
    """The triples of the knowledge base's source as HippoRAG's phrases and facts."""
    return kb.part("phrases", lambda: _phrases(kb))


def phrase_vectors(kb: KnowledgeBase) -> DenseIndex:
    """Exact cosine search over `phrases(kb).phrases`."""
    return kb.part("phrase_vectors", lambda: DenseIndex(kb.encode(phrases(kb).phrases)))


def fact_vectors(kb: KnowledgeBase) -> DenseIndex:
    """Exact cosine search over `phrases(kb).fact_texts`."""
    return kb.part("fact_vectors", lambda: DenseIndex(kb.encode(phrases(kb).fact_texts)))


def phrase_graph(kb: KnowledgeBase, threshold: float) -> PhraseGraph:
    """The phrases and passages as HippoRAG walks them; phrases within a cosine of `threshold` are joined."""
    return kb.part(("phrase_graph", threshold), lambda: _phrase_graph(kb, threshold))


def _phrases(kb: KnowledgeBase) -> PhraseTable:
    key = {"corpus": kb.corpus.fingerprint, "source": kb.source.fingerprint, "rules": VERSION}
    path = kb.store.entry(
        "phrases", key, lambda folder: PhraseTable.build(kb.extraction.triples, kb.corpus).save(folder)
    )
    return PhraseTable.load(path, kb.corpus)


def _phrase_graph(kb: KnowledgeBase, threshold: float) -> PhraseGraph:
    table = phrases(kb)
    key = {
        "phrases": hashlib.sha256("\n".join(table.phrases).encode()).hexdigest(),
        "encoder": kb.embedder.fingerprint(kb.store),
        "threshold": threshold,
    }
    sources, targets = synonym_ends(table.phrases)
    path = kb.store.entry(
        "synonyms",
        key,
        lambda folder: synonyms(phrase_vectors(kb).vectors, threshold, sources=sources, targets=targets).save(folder),
    )
    return PhraseGraph(table, Synonyms.load(path))
