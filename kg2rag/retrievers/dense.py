"""Query -> the passages whose vectors lie nearest, by cosine; exactly, if not asked for an approximate index.

Strategies that search a graph from what a query names share `walk_or_dense`; other queries get the dense ranking.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeVar

from kg2rag.knowledge import ApproximateIndex, IndexKind, KnowledgeBase
from kg2rag.retrievers.contract import Retriever
from kg2rag.types import Notes, Query, Ranking

COLOUR = "#44546A"  # in plots

BLOCK = 64  # queries walked together, so that their (n_queries, n_nodes) arrays stay small
Start = TypeVar("Start")


class VectorRetriever(Retriever):
    """A retriever that compares queries by their vectors; its preparation encodes all of them."""

    kb: KnowledgeBase

    def prepare(self, queries: Sequence[Query]) -> None:
        """Encode the queries, then build what is shared by them with the first."""
        if queries:
            self.kb.encode_queries(queries)
        super().prepare(queries)


@dataclass(frozen=True)
class Dense(VectorRetriever):
    """Cosine over normalised embeddings; the score of a hit is its cosine, in [-1, 1].

    Parameters
    ----------
    index : "flat" compares a query with every passage; "hnsw", "ivf" and "ivfpq" find candidates by FAISS, whose
        cosines are then exact. Where a query names its candidates, all of these are compared.
    """

    kb: KnowledgeBase = field(repr=False)
    index: IndexKind = "flat"

    @property
    def remark(self) -> str:
        """What an approximate index loses, as measured when it was built; empty for "flat"."""
        index = self.kb.nearest(self.index)
        return index.remark if isinstance(index, ApproximateIndex) else ""

    def prepare(self, queries: Sequence[Query]) -> None:
        """Open the index, or build it."""
        self.kb.nearest(self.index)
        super().prepare(queries)

    def retrieve_batch(self, queries: Sequence[Query], k: int) -> list[Ranking]:
        """One FAISS call for the batch."""
        if not queries:
            return []
        kb, ids, notes = self.kb, self.kb.corpus.ids, Notes("cosine", "dense")
        found = kb.nearest(self.index).search(kb.encode_queries(queries), k, kb.candidates(queries))
        return [
            Ranking.of(query.id, rows, scores, ids, stages=("dense",), score_parts={"cosine": scores}, notes=notes).top(
                k
            )
            for query, (rows, scores) in zip(queries, found, strict=True)
        ]


def walk_or_dense(
    kb: KnowledgeBase,
    queries: Sequence[Query],
    k: int,
    *,
    link: Callable[[Sequence[Query]], Sequence[Start]],
    walk: Callable[[Sequence[Query], Sequence[Start], int], Sequence[Ranking]],
    without: str,
) -> list[Ranking]:
    """One ranking for each query, in blocks of `BLOCK`.

    Parameters
    ----------
    link : queries -> where each starts; false for one that has no start, which then gets the dense ranking.
    walk : queries, their starts and k -> their rankings; called with one query or more.
    without : why a query that is not empty has no start; the warning in its ranking's notes.
    """
    blocks = [queries[first : first + BLOCK] for first in range(0, len(queries), BLOCK)]
    rankings: list[Ranking] = []
    for block in blocks:
        starts = link(block)
        started = [(i, start) for i, start in enumerate(starts) if start]
        plain = [i for i, start in enumerate(starts) if not start]
        found = dict(zip(plain, dense_fallback(kb, [block[i] for i in plain], k, without), strict=True))
        if started:
            walked = walk([block[i] for i, _ in started], [start for _, start in started], k)
            found.update(zip((i for i, _ in started), walked, strict=True))
        rankings += [found[i] for i in range(len(block))]
    return rankings


def dense_fallback(kb: KnowledgeBase, queries: Sequence[Query], k: int, without: str) -> list[Ranking]:
    """The dense rankings of queries that the graph has no start for, with the reason as a warning."""
    rankings = Dense(kb).retrieve_batch(queries, k)
    reasons = [f"{without}: dense ranking" if query.text.strip() else "empty query: dense ranking" for query in queries]
    return [
        replace(ranking, notes=replace(ranking.notes, warning=reason))
        for ranking, reason in zip(rankings, reasons, strict=True)
    ]
