"""Query -> the passages whose vectors lie nearest, by cosine (exact)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from kg2rag.explanation import arithmetic
from kg2rag.knowledge_base import KnowledgeBase
from kg2rag.pipeline import Retriever
from kg2rag.types import Query, Ranking, rank


@dataclass(frozen=True)
class Dense(Retriever):
    """Cosine over normalised embeddings; the score of a hit is its cosine, in [-1, 1]."""

    kb: KnowledgeBase = field(repr=False)

    def retrieve_batch(self, queries: Sequence[Query], k: int) -> list[Ranking]:
        """One FAISS call for the batch."""
        if not queries:
            return []
        kb, ids, told = self.kb, self.kb.corpus.ids, arithmetic("cosine", "dense")
        found = kb.dense.search(kb.encode_queries(queries), k, kb.candidates(queries))
        return [
            rank(query.id, rows, scores, ids, k, stages=("dense",), parts={"cosine": scores}, metadata=told)
            for query, (rows, scores) in zip(queries, found, strict=True)
        ]

    def prepare(self, queries: Sequence[Query]) -> None:
        """Encode the queries and load the index."""
        if queries:
            self.kb.encode_queries(queries)
        super().prepare(queries)
