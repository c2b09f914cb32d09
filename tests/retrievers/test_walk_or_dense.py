"""What the strategies share that search a graph from a query's own names and facts."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import pytest

from kg2rag.knowledge import KnowledgeBase
from kg2rag.retrievers.dense import BLOCK, Dense, WalkOrDense
from kg2rag.retrievers.systems import build
from kg2rag.types import Query, Ranking, Triple

Build = Callable[..., KnowledgeBase]
PAGES = (("Apple", "red"), ("Pear", "green"))


@dataclass(frozen=True)
class Rows(WalkOrDense[str]):
    """A query that is a number has that row as its only hit."""

    kb: KnowledgeBase
    unlinked = "no number"

    def link(self, queries: Sequence[Query]) -> list[str]:
        return [query.text if query.text.isdigit() else "" for query in queries]

    def walk(
        self, queries: Sequence[Query], starts: Sequence[str], k: int
    ) -> list[Ranking]:
        assert 0 < len(queries) <= BLOCK
        return [
            Ranking.from_scores(query.id, [int(start)], [1.0], self.kb.corpus.ids).top(
                k
            )
            for query, start in zip(queries, starts, strict=True)
        ]


FACTS = (Triple("Ada", "wrote", "Notes", "p0"), Triple("Ada", "knew", "Charles", "p1"))


@pytest.mark.parametrize(
    ("name", "text", "facts", "why"),
    [
        *(
            (name, " ", FACTS, "empty query")
            for name in (
                "hippo1",
                "hippo2",
                "linearrag",
                "practical_graphrag",
                "proprag",
            )
        ),
        ("hippo1", "Ada", (), "the graph has no fact"),
        ("hippo2", "Ada", (), "the graph has no fact"),
        ("proprag", "Ada", (), "the graph has no triple"),
        ("practical_graphrag", "Ada", (), "the graph has no entity"),
        ("hippo1", "why", FACTS, "the query names nothing"),
        ("linearrag", "why", FACTS, "the query names no entity"),
        ("practical_graphrag", "why", FACTS, "the query names no entity"),
    ],
)
def test_without_a_start_the_dense_ranking_comes_and_says_why(
    kb_of: Build, name: str, text: str, facts: tuple[Triple, ...], why: str
) -> None:
    kb = kb_of(*PAGES, facts=facts)
    ranking = build(name, kb).retrieve(text)
    assert ranking.passage_ids == Dense(kb).retrieve(text).passage_ids
    assert ranking.notes.warning == f"{why}: dense ranking"


def answers(kb: KnowledgeBase, *texts: str) -> list[Ranking]:
    return Rows(kb).retrieve_batch(
        [Query(f"q{i}", text) for i, text in enumerate(texts)], 5
    )


def test_rankings_come_in_the_order_of_the_queries_whether_walked_or_not(
    kb_of: Build,
) -> None:
    found = answers(kb_of(*PAGES), "1", "red", "0", "")
    assert [ranking.query_id for ranking in found] == ["q0", "q1", "q2", "q3"]
    assert [ranking.passage_ids[0] for ranking in found] == ["p1", "p0", "p0", "p0"]


def test_more_queries_than_a_block_are_walked_block_by_block(kb_of: Build) -> None:
    found = answers(kb_of(*PAGES), *(["1"] * (BLOCK + 1)))
    assert [ranking.passage_ids for ranking in found] == [["p1"]] * (BLOCK + 1)
