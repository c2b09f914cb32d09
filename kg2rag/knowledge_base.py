"""A corpus with its graph, its embedder and the indexes built from them: what every strategy is given.

Each part is built on first use and kept in the store; a second process, or a second run, opens it instead.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from kg2rag.corpus import Corpus
from kg2rag.embedding import Embedder, Role, SentenceEncoder
from kg2rag.extraction import Extraction, Extractor
from kg2rag.extraction.mentions import VERSION, MentionTable, find_mentions
from kg2rag.extraction.sources import parse
from kg2rag.graph import KnowledgeGraph
from kg2rag.indexes.dense import DenseIndex
from kg2rag.indexes.lexical import LexicalIndex, LexicalSettings
from kg2rag.indexes.trigram import VERSION as TRIGRAM_VERSION
from kg2rag.indexes.trigram import TrigramIndex
from kg2rag.lexicon import FUNCTION_WORDS, Lexicon
from kg2rag.mention_graph import MentionGraph, mention_sentences
from kg2rag.mention_graph import build as build_mention_graph
from kg2rag.phrase_graph import VERSION as PHRASE_VERSION
from kg2rag.phrase_graph import PhraseGraph, PhraseTable, synonym_ends
from kg2rag.store import Store
from kg2rag.synonyms import Synonyms, synonyms
from kg2rag.text import normalise
from kg2rag.tri_graph import TriGraph
from kg2rag.types import IntArray, Query, Triple
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
    def extraction(self) -> Extraction:
        """What the graph was built from, in the source's own spelling; of a given graph, its triples."""
        source = self.source
        if isinstance(source, KnowledgeGraph):
            return Extraction(tuple(map(source.triple, range(source.n_triples))))
        return source.extract(self.corpus)

    @cached_property
    def stated_triples(self) -> list[list[Triple]]:
        """(n_passages,) the triples that each passage states, in the source's own spelling and order."""
        stated: list[list[Triple]] = [[] for _ in self.corpus.ids]
        for triple in self.extraction.triples:
            if triple.passage_id:
                stated[self.corpus.row(triple.passage_id)].append(triple)
        return stated

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
        if ("dense", separator) not in self._memory:
            self._memory["dense", separator] = DenseIndex(self.encode(self.corpus.joined(separator)))
        index: DenseIndex = self._memory["dense", separator]
        return index

    @cached_property
    def entities(self) -> DenseIndex:
        """Exact cosine search over the names of the graph's entities."""
        return DenseIndex(self.encode(self.graph.names))

    @cached_property
    def triple_vectors(self) -> DenseIndex:
        """Exact cosine search over the graph's triples, each encoded as "head relation tail"."""
        graph, table = self.graph, self.graph.triples
        parts = zip(table.heads.tolist(), table.relations.tolist(), table.tails.tolist(), strict=True)
        return DenseIndex(self.encode([f"{graph.names[h]} {graph.relations[r]} {graph.names[t]}" for h, r, t in parts]))

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
        key = ("mention_graph", backward, name_weight, max_mentions)
        if key not in self._memory:
            self._memory[key] = build_mention_graph(
                self.mentions, self.corpus, backward=backward, name_weight=name_weight, max_mentions=max_mentions
            )
        graph: MentionGraph = self._memory[key]
        return graph

    @cached_property
    def phrases(self) -> PhraseTable:
        """The source's triples as HippoRAG's phrases and facts."""
        key = {"corpus": self.corpus.fingerprint, "source": self.source.fingerprint, "rules": PHRASE_VERSION}
        path = self.store.entry(
            "phrases", key, lambda folder: PhraseTable.build(self.extraction.triples, self.corpus).save(folder)
        )
        return PhraseTable.load(path, self.corpus)

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
        key = ("phrase_graph", synonym_threshold)
        if key not in self._memory:
            self._memory[key] = PhraseGraph(self.phrases, self._synonyms(synonym_threshold))
        graph: PhraseGraph = self._memory[key]
        return graph

    def _synonyms(self, threshold: float) -> Synonyms:
        sources, targets = synonym_ends(self.phrases.phrases)
        path = self.store.entry(
            "synonyms",
            {
                "phrases": hashlib.sha256("\n".join(self.phrases.phrases).encode()).hexdigest(),
                "encoder": self.embedder.fingerprint(self.store),
                "threshold": threshold,
            },
            lambda folder: synonyms(self.phrase_vectors.vectors, threshold, sources=sources, targets=targets).save(
                folder
            ),
        )
        return Synonyms.load(path)

    @cached_property
    def sentence_vectors(self) -> Matrix:
        """(n_texts, dim): the sentences that mention something, encoded; rows as in `MentionGraph.texts`."""
        return self.encode(mention_sentences(self.mentions, self.corpus)[1])

    @cached_property
    def trigram(self) -> TrigramIndex:
        """The passages' names and words, found by spellings like theirs."""
        key = {"corpus": self.corpus.fingerprint, "rules": TRIGRAM_VERSION}
        path = self.store.entry("trigram", key, lambda folder: TrigramIndex.write(folder, self.corpus.contents))
        return TrigramIndex(path)

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
        state = {name: self.__dict__[name] for name in ("corpus", "source", "embedder", "store")}
        return {**state, "_memory": {}}
