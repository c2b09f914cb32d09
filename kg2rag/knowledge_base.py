"""A corpus with its graph, its embedder and the indexes built from them: what every strategy is given.

Each part is built on first use and kept in the store; a second process, or a second run, opens it instead.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from kg2rag.corpus import Corpus
from kg2rag.embedding import Embedder, Role, SentenceEncoder
from kg2rag.extraction import Extractor
from kg2rag.extraction.mentions import VERSION, MentionTable, find_mentions
from kg2rag.extraction.sources import parse
from kg2rag.graph import KnowledgeGraph
from kg2rag.indexes.dense import DenseIndex
from kg2rag.indexes.lexical import LexicalIndex, LexicalSettings
from kg2rag.lexicon import FUNCTION_WORDS, Lexicon
from kg2rag.mention_graph import MentionGraph, mention_sentences
from kg2rag.mention_graph import build as build_mention_graph
from kg2rag.store import Store
from kg2rag.text import normalise
from kg2rag.types import IntArray, Query
from kg2rag.vectors import Matrix


@dataclass(frozen=True, eq=False)
class KnowledgeBase:
    """Build one with `KnowledgeBase.build`."""

    corpus: Corpus
    source: Extractor | KnowledgeGraph
    embedder: Embedder
    store: Store
    _memory: dict[Any, Any] = field(default_factory=dict, repr=False)

    @classmethod
    def build(
        cls,
        corpus: Corpus,
        graph: str | Extractor | KnowledgeGraph = "mentions",
        *,
        embedder: Embedder | str | None = None,
        store: Store | None = None,
    ) -> KnowledgeBase:
        """A knowledge base over `corpus`; nothing is computed yet.

        Parameters
        ----------
        graph : a graph, an extractor, or a source by name: "mentions" (no LLM), "openie:FILE", "subkgs:FILE",
            "triples:FILE".
        embedder : an embedder or the name of a sentence-transformers model; all-MiniLM-L6-v2 where not given.
        store : the cache; the default one where not given.
        """
        source = parse(graph) if isinstance(graph, str) else graph
        encoder = SentenceEncoder(embedder) if isinstance(embedder, str) else embedder or SentenceEncoder()
        return cls(corpus, source, encoder, store or Store())

    @cached_property
    def graph(self) -> KnowledgeGraph:
        """The knowledge graph, extracted from the corpus or read from its source."""
        source = self.source
        if isinstance(source, KnowledgeGraph):
            return source
        key = {"corpus": self.corpus.fingerprint, "source": source.fingerprint}
        path = self.store.entry(
            "graph", key, lambda folder: KnowledgeGraph.build(source.extract(self.corpus), self.corpus).save(folder)
        )
        return KnowledgeGraph.load(path, self.corpus)

    @cached_property
    def vectors(self) -> Matrix:
        """(n_passages, dim): the contents of every passage, encoded."""
        return self.encode(self.corpus.contents)

    @cached_property
    def dense(self) -> DenseIndex:
        """Exact cosine search over the passages."""
        return DenseIndex(self.vectors)

    @cached_property
    def entities(self) -> DenseIndex:
        """Exact cosine search over the names of the graph's entities."""
        return DenseIndex(self.encode(self.graph.names))

    @cached_property
    def entity_lexicon(self) -> tuple[Lexicon, list[int]]:
        """Finds the names and aliases of the graph's entities in a text; the list says which entity a match is."""
        graph = self.graph
        codes: dict[str, int] = {}
        for entity, name in enumerate(graph.names):
            codes.setdefault(normalise(name), entity)
        for entity, aliases in enumerate(graph.aliases):
            for alias in aliases:
                codes.setdefault(normalise(alias), entity)
        for word in FUNCTION_WORDS:
            codes.pop(word, None)
        return Lexicon(list(codes)), list(codes.values())

    def entity_names(self, settings: LexicalSettings) -> LexicalIndex:
        """BM25 over the names of the graph's entities."""
        return self._lexical("bm25-entities", {"graph": self.graph.fingerprint}, list(self.graph.names), settings)

    @cached_property
    def mentions(self) -> MentionTable:
        """Which titles and names the passages mention; from the corpus alone, whatever the graph."""
        key = {"corpus": self.corpus.fingerprint, "rules": VERSION}
        path = self.store.entry("mentions", key, lambda folder: find_mentions(self.corpus).save(folder))
        return MentionTable.load(path)

    def mention_graph(self, backward: float, name_weight: float, max_mentions: int) -> MentionGraph:
        """The graph that `mention_ppr` walks, one for each setting of its weights."""
        key = ("mention_graph", backward, name_weight, max_mentions)
        if key not in self._memory:
            self._memory[key] = build_mention_graph(
                self.mentions, self.corpus, backward=backward, name_weight=name_weight, max_mentions=max_mentions
            )
        graph: MentionGraph = self._memory[key]
        return graph

    @cached_property
    def sentence_vectors(self) -> Matrix:
        """(n_texts, dim): the sentences that mention something, encoded; rows as in `MentionGraph.texts`."""
        return self.encode(mention_sentences(self.mentions, self.corpus)[1])

    def lexical(self, settings: LexicalSettings) -> LexicalIndex:
        """BM25 over the passages, one index for each settings."""
        return self._lexical("bm25", {"corpus": self.corpus.fingerprint}, self.corpus.contents, settings)

    def _lexical(
        self, stage: str, key: dict[str, str], texts: Sequence[str], settings: LexicalSettings
    ) -> LexicalIndex:
        if (stage, settings) not in self._memory:
            path = self.store.entry(
                stage,
                {**key, **asdict(settings)},
                lambda folder: LexicalIndex.write(folder, texts, settings),
                libraries=("bm25s", "pystemmer"),
            )
            self._memory[stage, settings] = LexicalIndex(path, settings)
        index: LexicalIndex = self._memory[stage, settings]
        return index

    def encode(self, texts: Sequence[str], role: Role = "passage") -> Matrix:
        """(n_texts, dim) unit vectors, from the store where it has them."""
        return self.embedder.encode(texts, self.store, role)

    def encode_queries(self, queries: Sequence[Query]) -> Matrix:
        """(n_queries, dim); a text is encoded once, whichever and however many strategies ask."""
        known: dict[str, np.ndarray] = self._memory.setdefault("queries", {})
        lacking = list(dict.fromkeys(query.text for query in queries if query.text not in known))
        if lacking:
            known.update(zip(lacking, self.encode(lacking, role="query"), strict=True))
        return np.stack([known[query.text] for query in queries])

    def candidates(self, queries: Sequence[Query]) -> list[IntArray | None]:
        """The corpus rows each query may return, sorted; None where it may return any."""
        return [None if query.candidates is None else self.corpus.rows(query.candidates) for query in queries]

    def __getstate__(self) -> dict[str, Any]:
        # Indexes and vectors stay behind: another process opens them from the store.
        state = {name: self.__dict__[name] for name in ("corpus", "source", "embedder", "store")}
        return {**state, "_memory": {}}
