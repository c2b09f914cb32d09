"""What the two HippoRAGs share: a query linked to phrases -> PageRank from these, or the dense ranking without any."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from typing import ClassVar, NamedTuple

from kg2rag.knowledge.base import KnowledgeBase
from kg2rag.retrievers.dense import VectorRetriever, walk_or_dense
from kg2rag.retrievers.hipporag import memory
from kg2rag.retrievers.hipporag.graph import PhraseGraph
from kg2rag.retrievers.hipporag.paths import PhrasePaths
from kg2rag.types.arrays import FloatArray, IntArray
from kg2rag.types.formulas import arithmetic
from kg2rag.types.passages import Query
from kg2rag.types.rankings import Ranking, rank
from kg2rag.types.trace import Trace


class Linked(NamedTuple):
    """The phrases that the walk of a query starts from, the most important first, their weights, and the evidence."""

    phrases: IntArray
    weights: FloatArray
    metadata: Mapping[str, object]


class PhraseWalk(VectorRetriever):
    """Links queries to phrases and walks from them.

    Attributes
    ----------
    passages : whether the walk enters passages, or phrases alone.
    unlinked : why a query may be linked to no phrase; part of the note in its ranking's metadata.
    """

    kb: KnowledgeBase
    damping: float
    synonym_threshold: float
    passages: ClassVar[bool]
    unlinked: ClassVar[str]

    @property
    def graph(self) -> PhraseGraph:
        """The phrase graph of the knowledge base under `synonym_threshold`."""
        return memory.phrase_graph(self.kb, self.synonym_threshold)

    @abstractmethod
    def link(self, queries: Sequence[Query]) -> list[Linked]:
        """What each query is linked to; without phrases where it is linked to nothing."""

    @abstractmethod
    def walk(self, queries: Sequence[Query], links: Sequence[Linked], k: int) -> list[Ranking]:
        """The rankings of queries that are linked to a phrase or more."""

    def retrieve_batch(self, queries: Sequence[Query], k: int) -> list[Ranking]:
        """One walk a query, eight side by side, blocks of eight in parallel."""

        def linked(block: Sequence[Query]) -> list[Linked | None]:
            return [link if len(link.phrases) else None for link in self.link(block)]

        reason = self.unlinked if memory.phrases(self.kb).phrases else "the graph has no fact"
        return walk_or_dense(self.kb, queries, k, link=linked, walk=self.walk, without=reason)

    def prepare(self, queries: Sequence[Query]) -> None:
        """Encode the queries, build the graph, compile the walk."""
        if queries and memory.phrases(self.kb).phrases:
            _ = (self.graph.walk if self.passages else self.graph.phrases_only).flows
        super().prepare(queries)

    def ranking(
        self, query: Query, k: int, link: Linked, mask: IntArray | None, rows: IntArray, **parts: FloatArray
    ) -> Ranking:
        """Some passages by the part "pagerank"; `parts` are (n_passages,) each."""
        return rank(
            query.id,
            rows,
            parts["pagerank"][rows],
            self.kb.corpus.ids,
            k,
            stages=("pagerank",),
            score_parts={name: column[rows] for name, column in parts.items()},
            paths=PhrasePaths(self.graph, link.phrases, mask),
            metadata={**arithmetic("pagerank", "graph"), **link.metadata},
        )

    def trace_batch(self, queries: Sequence[Query], k: int) -> list[Trace]:
        """Which passages the linked phrases lead to, by however long a walk."""
        columns = zip(self.retrieve_batch(queries, k), self.link(queries), self.kb.candidates(queries), strict=True)
        return [
            Trace(ranking, (self.graph.linked(link.phrases, mask, passages=self.passages),))
            for ranking, link, mask in columns
        ]
