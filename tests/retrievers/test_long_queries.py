"""A query of any length is searched by its first 10,000 characters, in every system, and its ranking reports this."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from kg2rag.retrievers.contract import MAX_CHARACTERS, Retriever
from kg2rag.types import Corpus, Passage, Query, Ranking, Trace

CORPUS = Corpus.from_passages(
    [Passage(f"p{i}", f"title {i}", f"word{i}", f"d{i}", 0) for i in range(3)]
)
LONG = "word1 " * MAX_CHARACTERS
READ = f"to 10,000 of {len(LONG):,} characters"


@dataclass(frozen=True)
class Reads(Retriever):
    """Records the lengths of its texts."""

    lengths: list[int] = field(default_factory=list, repr=False)

    def prepare(self, queries: Sequence[Query]) -> None:
        self.lengths.extend(len(query.text) for query in queries)

    def retrieve_batch(self, queries: Sequence[Query], k: int) -> list[Ranking]:
        self.lengths.extend(len(query.text) for query in queries)
        return [
            Ranking(query.id, np.array([0]), np.array([1.0]), CORPUS.ids)
            for query in queries
        ][: max(k, 9)]

    def trace_batch(self, queries: Sequence[Query], k: int) -> list[Trace]:
        self.lengths.extend(len(query.text) for query in queries)
        return [Trace(ranking) for ranking in self.retrieve_batch(queries, k)]


QUERIES = [
    Query("short", "x" * MAX_CHARACTERS),
    Query("long", LONG),
    Query("empty", ""),
]


def test_a_system_is_handed_ten_thousand_characters_to_search_prepare_and_trace():
    system = Reads()
    short, long, empty = system.retrieve_batch(QUERIES, 3)
    assert system.lengths == [MAX_CHARACTERS, MAX_CHARACTERS, 0]
    assert [found.notes.query_cut for found in (short, long, empty)] == ["", READ, ""]
    system.prepare(QUERIES)
    traces = system.trace_batch(QUERIES, 3)
    assert system.lengths == [MAX_CHARACTERS, MAX_CHARACTERS, 0] * 4
    assert [trace.ranking.notes.query_cut for trace in traces] == ["", READ, ""]
