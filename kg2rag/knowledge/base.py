"""A corpus with its graph, its embedder and the indexes built from them: what every strategy is given.

Each part is built on first use and kept in the store; a second process, or a second run, opens it instead.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, TypeVar

import numpy as np

from kg2rag.compute.encoder import Embedder, Role, SentenceEncoder
from kg2rag.compute.store import Store
from kg2rag.extraction import Extraction, Extractor
from kg2rag.extraction.mentions.finding import MentionTable
from kg2rag.extraction.mentions.placebo import shuffled
from kg2rag.extraction.sources import parse
from kg2rag.knowledge import parts
from kg2rag.knowledge.changes import add, remove, replace
from kg2rag.knowledge.graph import KnowledgeGraph
from kg2rag.knowledge.indexes.dense import DenseIndex
from kg2rag.knowledge.indexes.lexical import LexicalIndex, LexicalSettings
from kg2rag.knowledge.indexes.trigram import TrigramIndex
from kg2rag.knowledge.sentences import mention_sentences
from kg2rag.text.lexicon import Lexicon
from kg2rag.types.arrays import IntArray, Matrix
from kg2rag.types.corpus import Corpus
from kg2rag.types.passages import Query

Part = TypeVar("Part")


@dataclass(frozen=True, eq=False)
class KnowledgeBase:
    """Build one with `KnowledgeBase.build`."""

    corpus: Corpus
    source: Extractor | KnowledgeGraph
    embedder: Embedder
    store: Store
    _memory: dict[Any, Any] = field(default_factory=dict, repr=False)
    mention_table: MentionTable | None = field(default=None, repr=False)  # in place of the corpus's own

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
        graph : a graph, an extractor, or a source by name, such as "mentions" (no LLM), "openie:FILE" or
            "mentions+triples:FILE"; `kg2rag.extraction.sources` knows them all.
        embedder : an embedder or the name of a sentence-transformers model; all-MiniLM-L6-v2 where not given.
        store : the cache; the default one where not given.

        Raises
        ------
        ValueError : an unknown source, or a graph over other passages.
        """
        source = parse(graph) if isinstance(graph, str) else graph
        if isinstance(source, KnowledgeGraph) and list(source.passage_ids) != corpus.ids:
            raise ValueError(
                f"The graph was built over {source.n_passages} passages that are not the corpus's {len(corpus)}. Build "
                "it over this corpus, or give the knowledge base the corpus that it was built on."
            )
        encoder = SentenceEncoder(embedder) if isinstance(embedder, str) else embedder or SentenceEncoder()
        return cls(corpus, source, encoder, store or Store())

    def placebo(self, seed: int = 0) -> KnowledgeBase:
        """The same passages under a shuffled graph and shuffled mentions, which know nothing: see `perturb`."""
        graph = self.graph.perturb(shuffle=True, seed=seed)
        mentions = shuffled(self.mentions, seed)
        return KnowledgeBase(self.corpus, graph, self.embedder, self.store, mention_table=mentions)

    # Functions of a module of their own; the knowledge base is their first argument

    add = add
    remove = remove
    replace = replace

    @cached_property
    def graph(self) -> KnowledgeGraph:
        """The knowledge graph, extracted from the corpus or read from its source."""
        source = self.source
        return source if isinstance(source, KnowledgeGraph) else parts.graph(self.store, self.corpus, source)

    @cached_property
    def extraction(self) -> Extraction:
        """What the graph was built from, in the source's own spelling; of a given graph, its triples."""
        source = self.source
        if isinstance(source, KnowledgeGraph):
            return Extraction(tuple(map(source.triple, range(source.n_triples))))
        return source.extract(self.corpus)

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
    def triple_vectors(self) -> DenseIndex:
        """Exact cosine search over the graph's triples, each encoded as "head relation tail"."""
        return DenseIndex(self.encode(parts.triple_texts(self.graph)))

    @cached_property
    def entity_lexicon(self) -> tuple[Lexicon, list[int]]:
        """Finds the names and aliases of the graph's entities in a text; the list says which entity a match is."""
        return parts.entity_lexicon(self.graph)

    def entity_names(self, settings: LexicalSettings) -> LexicalIndex:
        """BM25 over the names of the graph's entities."""
        key = ("bm25-entities", settings)
        return self.part(key, lambda: parts.lexical(self.store, *key, self.graph.fingerprint, self.graph.names))

    @cached_property
    def mentions(self) -> MentionTable:
        """Which titles and names the passages mention; from the corpus alone, whatever the graph."""
        return self.mention_table or parts.mentions(self.store, self.corpus)

    @cached_property
    def sentence_vectors(self) -> Matrix:
        """(n_texts, dim): the sentences that mention something, encoded; rows as `knowledge.sentences` lists them."""
        return self.encode(mention_sentences(self.mentions, self.corpus)[1])

    @cached_property
    def trigram(self) -> TrigramIndex:
        """The passages' names and words, found by spellings like theirs."""
        return parts.trigram(self.store, self.corpus)

    def lexical(self, settings: LexicalSettings) -> LexicalIndex:
        """BM25 over the passages, one index for each settings."""
        key, corpus = ("bm25", settings), self.corpus
        return self.part(key, lambda: parts.lexical(self.store, *key, corpus.fingerprint, corpus.contents))

    def part(self, key: Hashable, build: Callable[[], Part]) -> Part:
        """What was built under this key before, or is built now; kept in memory as long as the knowledge base.

        A strategy builds its own graph or index here, once for all its settings that share it. What should outlive the
        process goes into `store` as well, under a key of all that it depends on.
        """
        if key not in self._memory:
            self._memory[key] = build()
        part: Part = self._memory[key]
        return part

    def encode(self, texts: Sequence[str], role: Role = "passage") -> Matrix:
        """(n_texts, dim) unit vectors, from the store where it has them."""
        return self.embedder.encode(texts, self.store, role)

    def encode_queries(self, queries: Sequence[Query]) -> Matrix:
        """(n_queries, dim); a text is encoded once, whichever and however many strategies ask."""
        return self.encode_once([query.text for query in queries], "query")

    def encode_once(self, texts: Sequence[str], role: Role = "passage") -> Matrix:
        """(n_texts, dim) as `encode`; kept in memory, for texts that are made at query time."""
        if not texts:
            return self.encode([], role)
        known: dict[str, np.ndarray] = self._memory.setdefault(("encoded", role), {})
        lacking = [text for text in dict.fromkeys(texts) if text not in known]
        if lacking:
            known.update(zip(lacking, self.encode(lacking, role), strict=True))
        return np.stack([known[text] for text in texts])

    def candidates(self, queries: Sequence[Query]) -> list[IntArray | None]:
        """The corpus rows each query may return, sorted; None where it may return any."""
        return [None if query.candidates is None else self.corpus.rows(query.candidates) for query in queries]

    def __getstate__(self) -> dict[str, Any]:
        # Indexes and vectors stay behind: another process opens them from the store.
        state = {name: self.__dict__[name] for name in ("corpus", "source", "embedder", "store", "mention_table")}
        return {**state, "_memory": {}}
