"""A knowledge base -> what HippoRAG derives from it: phrases, facts, their vectors, and the graph that joins them.

Each is built once, kept in the store by what it depends on, and shared by both systems and all their settings. Edges
(theirs [1], as the released code behaves, commit c617143f): between the ends of a fact 2 for each statement; between a
passage and its phrases 1; between synonyms their cosine in each direction found, replacing a fact's weight. Ours:
statements without a passage join their ends and no passage; passages of equal contents stay two.

[1] Gutiérrez et al., "From RAG to Memory: Non-Parametric Continual Learning for Large Language Models", ICML 2025.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from kg2rag.knowledge import DenseIndex, KnowledgeBase
from kg2rag.knowledge.graph.components import Components
from kg2rag.knowledge.graph.pagerank import NodeWeights, WalkGraph, walks
from kg2rag.knowledge.graph.synonyms import Synonyms, synonyms
from kg2rag.retrievers.hipporag.phrases import VERSION, PhraseTable, synonym_ends
from kg2rag.types import FloatArray, IntArray, Step, step


@dataclass(frozen=True, eq=False)
class PhraseGraph:
    """The graph of the walk: node i is phrase i, node n_phrases + row is the passage at that row."""

    table: PhraseTable
    synonyms: Synonyms

    @property
    def n_phrases(self) -> int:
        """How many nodes are phrases; they come first."""
        return len(self.table.phrases)

    @property
    def n_nodes(self) -> int:
        """Phrases and passages."""
        return self.n_phrases + self.table.n_passages

    @cached_property
    def walk(self) -> WalkGraph:
        """Phrases and passages."""
        return WalkGraph.undirected(*self.edges(), self.n_nodes)

    @cached_property
    def phrases_only(self) -> WalkGraph:
        """The graph without its passages, as the first HippoRAG walks it."""
        return self.walk.induced(np.arange(self.n_phrases, dtype=np.int64))

    def pagerank(
        self, restarts: FloatArray, masks: Sequence[IntArray | None], damping: float, *, passages: bool = True
    ) -> FloatArray:
        """(n_queries, n_nodes) PageRank; of a query with candidates over these and the phrases they state alone.

        Parameters
        ----------
        restarts : (n_queries, n_nodes), not scaled; nodes outside a query's are ignored.
        masks : the corpus rows that each query may reach, ascending; None for all.
        passages : False walks the phrases alone; passages then have 0.
        """
        graph = self.walk if passages else self.phrases_only
        scopes = [None if mask is None else self.nodes_in(mask, passages=passages) for mask in masks]
        starts = [NodeWeights.of_dense(restart[: graph.n_nodes]) for restart in restarts]
        found = walks(graph, starts, damping, scopes=[graph.mask(scope) for scope in scopes])
        scores = np.zeros(restarts.shape)
        for score, walk in zip(scores, found, strict=True):
            score[: graph.n_nodes] = walk.dense(graph.n_nodes)
        return scores

    def nodes_in(self, mask: IntArray, *, passages: bool = True) -> IntArray:
        """The phrases of some passages and, unless `passages` is False, these themselves."""
        phrases = self.table.phrases_in(mask)
        return np.concatenate([phrases, self.n_phrases + mask]) if passages else phrases

    def edges(self) -> tuple[IntArray, IntArray, FloatArray]:
        """Sources, targets and weights, (n_edges,) each; each ordered pair once, self-loops are left out.

        Parallel edges, (a, b) and (b, a), are two, as in the released code: a walk adds them up.
        """
        n, table = self.n_nodes, self.table
        heads, tails = table.fact_heads[table.facts], table.fact_tails[table.facts]
        facts, counts = np.unique(np.concatenate([heads * n + tails, tails * n + heads]), return_counts=True)
        alike = self.synonyms.sources * n + self.synonyms.targets
        kept = ~np.isin(facts, alike)
        members = (self.n_phrases + table.passages.others.astype(np.int64)) * n + table.passages.owners
        keys = np.concatenate([facts[kept], alike, members])
        weights = np.concatenate([counts[kept], self.synonyms.cosines, np.ones(len(members))]).astype(np.float64)
        sources, targets = np.divmod(keys, n)
        proper = sources != targets
        return sources[proper], targets[proper], weights[proper]

    def linked(self, phrases: IntArray, mask: IntArray | None, *, passages: bool = True) -> Step:
        """The passages that a walk from these phrases can reach, as the step of a trace.

        `mask`, `passages`: as in `pagerank`.
        """
        table = self.table
        why = "no chain of facts, synonyms and passages leads from the linked phrases to it"
        if not len(phrases):
            return step("linked", "entity not linked", "nothing was linked: dense ranking")
        walk = self.walk if passages else self.phrases_only
        within = np.ones(self.n_nodes, dtype=bool)
        if mask is not None:
            within[:] = False
            within[self.nodes_in(mask)] = True
        kept = within[walk.targets] & within[walk.sources]
        ends = walk.targets[kept], walk.sources[kept]
        joined = Components.of(ends, self.n_nodes, (table.passages.owners, table.passages.others))
        return step("linked", "entity not linked", why, joined.rows_with(phrases))


def phrases(kb: KnowledgeBase) -> PhraseTable:
    """The triples of the knowledge base's source as HippoRAG's phrases and facts."""
    return kb.cached("phrases", lambda: _phrases(kb), from_graph=True)


def phrase_vectors(kb: KnowledgeBase) -> DenseIndex:
    """Exact cosine search over `phrases(kb).phrases`."""
    return kb.cached("phrase_vectors", lambda: DenseIndex(kb.encode(phrases(kb).phrases)))


def fact_vectors(kb: KnowledgeBase) -> DenseIndex:
    """Exact cosine search over `phrases(kb).fact_texts`."""
    return kb.cached("fact_vectors", lambda: DenseIndex(kb.encode(phrases(kb).fact_texts)))


def phrase_graph(kb: KnowledgeBase, threshold: float) -> PhraseGraph:
    """The phrases and passages as HippoRAG walks them; phrases within a cosine of `threshold` are joined."""
    return kb.cached(("phrase_graph", threshold), lambda: _phrase_graph(kb, threshold))


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
