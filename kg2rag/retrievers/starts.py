"""Queries and where each starts in a graph -> rankings: walked from there, by text where a query has no start.

What the strategies that search a graph from a query's own names and facts have in common; linking and the walk are
theirs.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TypeVar

from kg2rag.knowledge_base import KnowledgeBase
from kg2rag.retrievers.dense import Dense
from kg2rag.types import Query, Ranking

BLOCK = 64  # queries walked together, so that their (n_queries, n_nodes) arrays stay small
Start = TypeVar("Start")


def from_starts(
    kb: KnowledgeBase,
    queries: Sequence[Query],
    k: int,
    *,
    link: Callable[[Sequence[Query]], Sequence[Start | None]],
    walk: Callable[[Sequence[Query], Sequence[Start], int], Sequence[Ranking]],
    without: str,
) -> list[Ranking]:
    """One ranking for each query, in blocks of `BLOCK`.

    Parameters
    ----------
    link : queries -> where each starts; None for one that has no start, which then gets the dense ranking.
    walk : queries, their starts and k -> their rankings; asked for one query or more.
    without : why a query has no start, unless it is empty; told in its ranking's metadata.
    """
    blocks = [queries[first : first + BLOCK] for first in range(0, len(queries), BLOCK)]
    rankings: list[Ranking] = []
    for block in blocks:
        starts = link(block)
        started = [(i, start) for i, start in enumerate(starts) if start is not None]
        plain = [i for i, start in enumerate(starts) if start is None]
        found = dict(zip(plain, dense_instead(kb, [block[i] for i in plain], k, without), strict=True))
        if started:
            walked = walk([block[i] for i, _ in started], [start for _, start in started], k)
            found.update(zip((i for i, _ in started), walked, strict=True))
        rankings += [found[i] for i in range(len(block))]
    return rankings


def dense_instead(kb: KnowledgeBase, queries: Sequence[Query], k: int, without: str) -> list[Ranking]:
    """The dense rankings of queries that the graph has no start for, which is said in their metadata."""
    rankings = Dense(kb).retrieve_batch(queries, k)
    reasons = [f"{without}: dense ranking" if query.text.strip() else "empty query: dense ranking" for query in queries]
    return [
        replace(ranking, metadata={**ranking.metadata, "note": reason})
        for ranking, reason in zip(rankings, reasons, strict=True)
    ]
