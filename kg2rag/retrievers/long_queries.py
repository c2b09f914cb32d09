"""Queries of any length -> queries of `LONGEST` characters at most, and the note that says so in their rankings.

Encoders read the first few hundred words of a text. What else reads a query, such as the search for names in it, would
read all of it, and some of it in more than linear time; so every retriever is handed no more than this.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from kg2rag.types import Query, Ranking, Trace

LONGEST = 10_000
"""Characters of a query that are read."""


def shortened(queries: Sequence[Query]) -> Sequence[Query]:
    """The queries, cut where they are too long; the very same sequence where none is."""
    if all(len(query.text) <= LONGEST for query in queries):
        return queries
    return [
        query if len(query.text) <= LONGEST else replace(query, text=query.text[:LONGEST])
        for query in queries
    ]  # fmt: skip


def noted(queries: Sequence[Query], rankings: Sequence[Ranking]) -> list[Ranking]:
    """The rankings; those of queries that were cut say how many characters were read of how many.

    Rankings that are not one for each query are left to those who check the contract.
    """
    if len(rankings) != len(queries):
        return list(rankings)
    pairs = zip(queries, rankings, strict=True)
    return [ranking if len(query.text) <= LONGEST else _noted(ranking, len(query.text)) for query, ranking in pairs]


def noted_traces(queries: Sequence[Query], traces: Sequence[Trace]) -> list[Trace]:
    """`noted` for the rankings of traces."""
    rankings = noted(queries, [trace.ranking for trace in traces])
    return [replace(trace, ranking=ranking) for trace, ranking in zip(traces, rankings, strict=True)]


def _noted(ranking: Ranking, length: int) -> Ranking:
    return replace(ranking, notes=replace(ranking.notes, query_cut=f"to {LONGEST:,} of {length:,} characters"))
