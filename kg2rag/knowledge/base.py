"""A corpus with its graph, embedder and indexes: the input of every strategy.

Each part is built on first use and stored under a key of all its inputs; a second process, or
another knowledge base over the same corpus or graph, reads it from the store.
"""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from importlib.metadata import EntryPoint
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from kg2rag.compute import Embedder, Role, Store, embedder_of, encoded
from kg2rag.compute.code_version import code_version
from kg2rag.extraction import Extraction, Extractor
from kg2rag.extraction.mentions.table import MentionTable
from kg2rag.knowledge.announcement import Workload
from kg2rag.knowledge.graph import KnowledgeGraph, graph_io
from kg2rag.knowledge.graph.perturbation import shuffled_mentions
from kg2rag.knowledge.indexes.dense import DenseIndex
from kg2rag.knowledge.indexes.lexical import LexicalIndex
from kg2rag.knowledge.indexes.lexical_terms import LexicalSettings
from kg2rag.knowledge.indexes.trigram import TrigramIndex
from kg2rag.knowledge.sources import announce_empty, source_of, with_entities
from kg2rag.text.inflection import languages_of_names, lexicon_of
from kg2rag.text.normalisation import FUNCTION_WORDS, Lexicon
from kg2rag.text.suggestions import suggest_parameters
from kg2rag.types import (
    Corpus,
    IntArray,
    Matrix,
    QADataset,
    Query,
    Ranking,
    corpus_of,
    refused,
)

Built = TypeVar("Built")
_SYSTEM_BUILDER = EntryPoint(
    "recommended", "kg2rag.retrievers.systems:announce_recommended", "kg2rag.systems"
)
"""The builder of a system, named as an entry point: a knowledge base imports no strategy."""
# The maximum of vectors per role in memory: 30 MB with 384 dimensions.
MAX_KEPT_VECTORS = 20_000


@dataclass(frozen=True, eq=False)
class KnowledgeBase:
    """A corpus with its graph, embedder and indexes; make one with `KnowledgeBase.build`."""

    corpus: Corpus
    source: Extractor | KnowledgeGraph
    embedder: Embedder
    store: Store
    _memory: dict[Any, Any] = field(default_factory=dict, repr=False)
    # A table that replaces that of the corpus, for a placebo.
    mention_table: MentionTable | None = field(default=None, repr=False)

    @classmethod
    def build(
        cls,
        corpus: Any = None,
        graph: Any = "mentions",
        *,
        entities: Any = None,
        embedder: Any = None,
        store: Store | None = None,
    ) -> KnowledgeBase:
        """A knowledge base over `corpus`.

        Its parts are computed on first use. If the models need long, an estimate of the time is
        printed on stderr; a graph without triples is reported there, too.

        Parameters
        ----------
        corpus : a `Corpus`, a data set, or passages as you have them: texts, dicts, {id: text}, a DataFrame, see
            `kg2rag.types.coerce_corpus`. Nothing is split; `kg2rag.from_texts` does that.
        graph : a graph, an extractor, or a source by name, such as "mentions" (no LLM), "openie(FILE)" or
            "mentions+triples(FILE)"; `kg2rag.extraction.sources` lists them. Or a networkx graph, triples, a
            DataFrame or a file of them; without passages, they are linked to the passages by name.
        entities : descriptions of entities as {name: description}, or records with name, type, description and aliases;
            they come before those of the graph's source.
        embedder : the name of a sentence-transformers model (default: all-MiniLM-L6-v2), a SentenceTransformer, a
            function, or vectors as (ids, matrix); see `kg2rag.compute.embedders`.

        Raises
        ------
        ParameterError : an argument of another type, or an unknown source.
        ValueError : a graph over other passages.
        """
        if corpus is None:
            raise refused(
                "corpus",
                corpus,
                "the passages, also of a graph: KnowledgeBase.build(corpus, graph=graph)",
            )
        corpus = corpus.corpus if isinstance(corpus, QADataset) else corpus_of(corpus)
        if not isinstance(store, Store | None):
            raise refused("store", store, "a Store, such as Store(folder)")
        source = source_of(graph, corpus)
        if entities is not None:
            source = with_entities(source, entities)
        return cls(corpus, source, embedder_of(embedder, corpus), store or Store())

    @suggest_parameters()
    def retrieve(
        self,
        query: str,
        k: int = 10,
        *,
        system: str | None = None,
        where: Mapping[str, object] | None = None,
    ) -> Ranking:
        """The ranking of the passages for a question; its hits have text, title and metadata.

        `system` : one of `kg2rag.systems.names()`, such as "bm25(k1=1.2)"; by default the recommended one.
        `where` : metadata that a passage must have, such as {"lang": "en"}; see `Corpus.where`.
        """
        retriever: Any = self.cached(
            ("system", system), lambda: _SYSTEM_BUILDER.load()(self, system)
        )
        candidates = None if where is None else self.corpus.where(**where)
        ranking: Ranking = retriever.retrieve(Query("q", query, candidates), k)
        return ranking

    def placebo(self, seed: int = 0) -> KnowledgeBase:
        """The same passages with a shuffled graph and shuffled mentions; see `perturb`."""
        graph = self.graph.perturb(shuffle=True, seed=seed)
        mentions = shuffled_mentions(self.mentions, seed)
        return KnowledgeBase(
            self.corpus, graph, self.embedder, self.store, mention_table=mentions
        )

    @property
    def graph(self) -> KnowledgeGraph:
        """The knowledge graph, extracted from the corpus or read from its source."""
        self.usage["graph reads"] += 1
        return self._graph

    @cached_property
    def _graph(self) -> KnowledgeGraph:
        """The graph; one that is built from an extractor is stored."""
        source = self.source
        if isinstance(source, KnowledgeGraph):
            return source
        corpus = self.corpus
        self.usage["builds"] += 1
        key = {
            "corpus": corpus.fingerprint,
            "source": source.fingerprint,
            "rules": code_version("types", "text", "extraction", "knowledge/graph"),
        }

        def build(folder: Path) -> None:
            graph_io.write_files(
                KnowledgeGraph.build(source.extract(corpus), corpus), folder
            )

        entry = self.store.entry("graph", key, build)
        return announce_empty(KnowledgeGraph.load(entry, corpus), source)

    @cached_property
    def extraction(self) -> Extraction:
        """The extraction behind the graph, in the source's spelling; or a ready graph's triples."""
        source = self.source
        if isinstance(source, KnowledgeGraph):
            return Extraction(tuple(map(source.triple, range(source.n_triples))))
        return source.extract(self.corpus)

    @cached_property
    def vectors(self) -> Matrix:
        """The vectors of the contents of all passages, (n_passages, dim); read-only."""
        return self._encoded(
            self.corpus.streamed_contents, {"contents": self.corpus.fingerprint}
        )

    @property
    def dense(self) -> DenseIndex:
        """Exact cosine search over the passages."""
        return self.cached("dense", lambda: DenseIndex(self.vectors))

    @property
    def entities(self) -> DenseIndex:
        """Exact cosine search over the names of the graph's entities."""
        return self.cached(
            "entities", lambda: self._graph_index("entities", self.graph.names)
        )

    @property
    def triple_vectors(self) -> DenseIndex:
        """Exact cosine search over the triples, see `KnowledgeGraph.triple_texts`."""
        return self.cached(
            "triple vectors",
            lambda: self._graph_index("triples", self.graph.triple_texts()),
        )

    def workload(self, name: str, texts: Sequence[str]) -> Workload:
        """The workload of encoding some texts."""
        return Workload.encoding(name, texts, self.embedder, self.store)

    def _graph_index(self, name: str, texts: Sequence[str]) -> DenseIndex:
        """Exact cosine search over texts of the graph; `name` identifies them in the store."""
        return DenseIndex(self._encoded(texts, {name: self.graph.fingerprint}))

    @property
    def entity_lexicon(self) -> tuple[Lexicon, list[int]]:
        """A lexicon of entity names, and the entity code of each entry.

        A function word is a name only if the graph has it in capitals, as "WHO".

        It finds the forms that names have in the language of the passages, see `text.inflection`.
        """

        def build() -> tuple[Lexicon, list[int]]:
            graph = self.graph
            codes = {
                key: code
                for key, code in graph.code_of.items()
                if key not in FUNCTION_WORDS
                or (
                    len(key) > 1
                    and key.upper() in (graph.names[code], *graph.aliases[code])
                )
            }
            languages = languages_of_names(self.corpus.streamed_contents)
            return lexicon_of(list(codes), languages), list(codes.values())

        return self.cached("entity lexicon", build)

    @property
    def mentions(self) -> MentionTable:
        """The titles and names in passages, and rare terms of untitled ones, whatever the graph."""

        def read() -> MentionTable:
            rules = code_version("types", "text", "extraction")
            key = {"corpus": self.corpus.fingerprint, "rules": rules}
            write = partial(_write_mentions, corpus=self.corpus)
            return MentionTable.load(self.store.entry("mentions", key, write))

        return self.mention_table or self.cached("mentions", read)

    @property
    def trigram(self) -> TrigramIndex:
        """The names and words of the passages, searched by similar spelling."""
        rules = code_version("text", "knowledge/indexes/trigram.py")
        key = {"corpus": self.corpus.fingerprint, "rules": rules}
        write = partial(TrigramIndex.write, contents=self.corpus.streamed_contents)
        return self.cached(
            "trigram", lambda: TrigramIndex(self.store.entry("trigram", key, write))
        )

    def lexical(self, settings: LexicalSettings) -> LexicalIndex:
        """BM25 over the passages, one index per setting."""
        return self._lexical(
            "bm25",
            {"corpus": self.corpus.fingerprint},
            self.corpus.streamed_contents,
            settings,
        )

    def entity_names(self, settings: LexicalSettings) -> LexicalIndex:
        """BM25 over the names of the graph's entities."""
        return self._lexical(
            "bm25-entities",
            {"graph": self.graph.fingerprint},
            self.graph.names,
            settings,
        )

    def _lexical(
        self,
        stage: str,
        source: Mapping[str, str],
        texts: Sequence[str],
        settings: LexicalSettings,
    ) -> LexicalIndex:
        """BM25 over texts, stored as a stage under a key of `source` and the settings."""

        def open_index() -> LexicalIndex:
            rules = code_version(
                "text",
                "knowledge/indexes/lexical.py",
                "knowledge/indexes/lexical_terms.py",
            )
            key = {**source, "rules": rules, **dataclasses.asdict(settings)}
            build = partial(LexicalIndex.write, contents=texts, settings=settings)
            return LexicalIndex(
                self.store.entry(stage, key, build, libraries=("bm25s", "pystemmer")),
                settings,
            )

        return self.cached((stage, settings), open_index)

    def cached(
        self, key: Hashable, build: Callable[[], Built], *, from_graph: bool = False
    ) -> Built:
        """The part with this key in memory; `build` makes it if there is none.

        A part that should outlive the process also goes into `store`, under a key of all its
        inputs. `from_graph` : whether the part depends on the graph's triples although `build` may
        find it in the store, without reading the graph.
        """
        if key not in self._memory:
            n_reads = self.usage["graph reads"]
            self.usage["builds"] += 1
            new_part = build()
            self._memory[key] = (
                new_part,
                from_graph or self.usage["graph reads"] > n_reads,
            )
        part: Built
        part, reads_graph = self._memory[key]
        self.usage["graph reads"] += int(reads_graph)
        return part

    @property
    def graph_sizes(self) -> dict[str, int] | None:
        """The numbers of entities and triples of the graph; None if it was never read."""
        graph: KnowledgeGraph | None = vars(self).get("_graph")
        return (
            None
            if graph is None
            else {"entities": graph.n_entities, "triples": graph.n_triples}
        )

    @cached_property
    def usage(self) -> Counter[str]:
        """Usage counters, recorded with a run.

        "encodings" : requests for vectors. "builds" : texts other than questions encoded, or parts
        built or opened. "built by MODULE" : parts built by a function of that module.
        "graph reads" : requests for the graph or for a part that was built from it.
        """
        return Counter()

    def encode(self, texts: Sequence[str], role: Role = "passage") -> Matrix:
        """The unit vectors of texts, (n_texts, dim); stored ones are reused."""
        self.usage["encodings"] += 1
        if role == "passage":
            self.usage["builds"] += 1
        return self.embedder.encode(texts, self.store, role)

    def _encoded(self, texts: Sequence[str], key: Mapping[str, object]) -> Matrix:
        """The vectors of texts that `key` identifies; those of many texts are memory-mapped."""
        self.usage.update(("encodings", "builds"))
        return encoded(self.embedder, texts, self.store, key)

    def encode_queries(self, queries: Sequence[Query]) -> Matrix:
        """The unit vectors of queries, (n_queries, dim); a text is encoded once for all strategies."""
        return self.encode_once([query.text for query in queries], "query")

    def encode_once(self, texts: Sequence[str], role: Role = "passage") -> Matrix:
        """The unit vectors of texts of single queries, (n_texts, dim).

        The last `MAX_KEPT_VECTORS` of a role stay in memory. Threads may call it; a new text that
        several of them ask for at once is encoded by each.
        """
        self.usage["encodings"] += 1
        if not texts:
            return self.encode([], role)
        memory: dict[str, Any] = self._memory.setdefault(("encoded", role), {})
        vectors: dict[str, Any] = {text: memory.get(text) for text in texts}
        new = [text for text, vector in vectors.items() if vector is None]
        if new:
            encoded_texts = dict(zip(new, self.encode(new, role), strict=True))
            vectors |= encoded_texts
            memory |= encoded_texts
            kept_texts = list(memory)  # a copy, which other threads do not change
            for text in kept_texts[: max(len(kept_texts) - MAX_KEPT_VECTORS, 0)]:
                memory.pop(text, None)  # another thread may have removed it
        return np.stack([vectors[text] for text in texts])

    def candidates(self, queries: Sequence[Query]) -> list[IntArray | None]:
        """The corpus rows that each query may return, sorted; None means all."""
        return [
            None if query.candidates is None else self.corpus.rows(query.candidates)
            for query in queries
        ]

    def __getstate__(self) -> dict[str, Any]:
        # Without indexes and vectors: another process reads them from the store.
        state = {
            name: self.__dict__[name]
            for name in ("corpus", "source", "embedder", "store", "mention_table")
        }
        return {**state, "_memory": {}}


def _write_mentions(folder: Path, corpus: Corpus) -> None:
    """Write the mention table of a corpus, with the terms of passages that need them."""
    # Slow imports, which a stored table does not need.
    from kg2rag.extraction.mentions.finding import find_mentions
    from kg2rag.extraction.mentions.terms import needs_terms, with_terms

    table = find_mentions(corpus)
    need_terms = needs_terms(corpus)
    if need_terms.any():
        table = with_terms(table, corpus, need_terms)
    table.save(folder)
