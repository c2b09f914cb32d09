"""A corpus with its graph, its embedder and the indexes built from them: what every strategy is given.

Each part is built on first use and kept in the store; a second process, or a second run, opens it instead.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, TypeVar

import numpy as np

from kg2rag import parts
from kg2rag.corpus import Corpus
from kg2rag.embedding import Embedder, Role, SentenceEncoder
from kg2rag.extraction import Extraction, Extractor
from kg2rag.extraction.mention_placebo import shuffled
from kg2rag.extraction.mentions import MentionTable
from kg2rag.extraction.sources import parse
from kg2rag.graph import KnowledgeGraph
from kg2rag.incremental import add, remove, replace
from kg2rag.indexes.dense import DenseIndex
from kg2rag.indexes.lexical import LexicalIndex, LexicalSettings
from kg2rag.indexes.trigram import TrigramIndex
from kg2rag.lexicon import Lexicon
from kg2rag.mention_facts import FactGraph, with_facts
from kg2rag.mention_graph import MentionGraph, mention_sentences
from kg2rag.mention_graph import build as build_mention_graph
from kg2rag.phrase_graph import PhraseGraph, PhraseTable
from kg2rag.store import Store
from kg2rag.tri_graph import TriGraph
from kg2rag.types import IntArray, Query, Triple
from kg2rag.vectors import Matrix

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
    def stated_triples(self) -> list[list[Triple]]:
        """(n_passages,) the triples that each passage states, in the source's own spelling and order."""
        return parts.stated_triples(self.extraction.triples, self.corpus)

    @cached_property
    def vectors(self) -> Matrix:
        """(n_passages, dim): the contents of every passage, encoded."""
        return self.encode(self.corpus.contents)

    @cached_property
    def dense(self) -> DenseIndex:
        """Exact cosine search over the passages."""
        return DenseIndex(self.vectors)

    def dense_over(self, separator: str) -> DenseIndex:
        """`dense` with other characters than a line break between the title and the text that are encoded."""
        if separator == "\n":
            return self.dense
        return self._once(("dense", separator), lambda: DenseIndex(self.encode(self.corpus.joined(separator))))

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
        return self._once(key, lambda: parts.lexical(self.store, *key, self.graph.fingerprint, self.graph.names))

    @cached_property
    def mentions(self) -> MentionTable:
        """Which titles and names the passages mention; from the corpus alone, whatever the graph."""
        return self.mention_table or parts.mentions(self.store, self.corpus)

    @cached_property
    def name_vectors(self) -> DenseIndex:
        """Exact cosine search over the titles and names of `mentions`."""
        return DenseIndex(self.encode(self.mentions.names))

    @cached_property
    def tri_graph(self) -> TriGraph:
        """The entities, sentences and passages that `linear` walks; from the corpus alone, whatever the graph."""
        return TriGraph.build(self.mentions, self.corpus)

    def mention_graph(self, backward: float, name_weight: float, max_mentions: int) -> MentionGraph:
        """The graph that `mention_ppr` walks, one for each setting of its weights."""
        return self._once(
            ("mention_graph", backward, name_weight, max_mentions),
            lambda: build_mention_graph(
                self.mentions, self.corpus, backward=backward, name_weight=name_weight, max_mentions=max_mentions
            ),
        )

    def mention_facts(self, backward: float, name_weight: float, max_mentions: int, triple_weight: float) -> FactGraph:
        """`mention_graph` joined with the entities and triples of `graph`, one for each setting of its weights."""
        return self._once(
            ("mention_facts", backward, name_weight, max_mentions, triple_weight),
            lambda: with_facts(
                self.mention_graph(backward, name_weight, max_mentions),
                self.graph,
                name_weight=name_weight,
                triple_weight=triple_weight,
                sentence_vectors=self.sentence_vectors,
                triple_vectors=self.triple_vectors.vectors,
                passage_vectors=self.vectors,
            ),
        )

    @cached_property
    def phrases(self) -> PhraseTable:
        """The source's triples as HippoRAG's phrases and facts."""
        return parts.phrases(self.store, self.corpus, self.source.fingerprint, lambda: self.extraction.triples)

    @cached_property
    def phrase_vectors(self) -> DenseIndex:
        """Exact cosine search over `phrases.phrases`."""
        return DenseIndex(self.encode(self.phrases.phrases))

    @cached_property
    def fact_vectors(self) -> DenseIndex:
        """Exact cosine search over `phrases.fact_texts`."""
        return DenseIndex(self.encode(self.phrases.fact_texts))

    def phrase_graph(self, synonym_threshold: float) -> PhraseGraph:
        """The graph that HippoRAG walks, one for each least cosine of synonyms."""
        encoder = self.embedder.fingerprint(self.store)
        of = (self.store, self.phrases, encoder, lambda: self.phrase_vectors.vectors, synonym_threshold)
        return self._once(("phrase_graph", synonym_threshold), lambda: parts.phrase_graph(*of))

    @cached_property
    def sentence_vectors(self) -> Matrix:
        """(n_texts, dim): the sentences that mention something, encoded; rows as in `MentionGraph.texts`."""
        return self.encode(mention_sentences(self.mentions, self.corpus)[1])

    @cached_property
    def trigram(self) -> TrigramIndex:
        """The passages' names and words, found by spellings like theirs."""
        return parts.trigram(self.store, self.corpus)

    def lexical(self, settings: LexicalSettings) -> LexicalIndex:
        """BM25 over the passages, one index for each settings."""
        key, corpus = ("bm25", settings), self.corpus
        return self._once(key, lambda: parts.lexical(self.store, *key, corpus.fingerprint, corpus.contents))

    def _once(self, key: Hashable, build: Callable[[], Part]) -> Part:
        """What was built under this key before, or is built now."""
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
