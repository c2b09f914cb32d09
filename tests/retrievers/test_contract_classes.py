"""Retrievers, stages and `>>`."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np
import pytest

from kg2rag.retrievers.contract import Retriever, Stage
from kg2rag.retrievers.fusion import fuse
from kg2rag.retrievers.rerankers import Rerank
from kg2rag.types import Query, Ranking

IDS = [f"p{i}" for i in range(100)]


@dataclass(frozen=True)
class Falling(Retriever):
    """p0, p1, … with scores 100, 99, …; notes every batch and `k`."""

    asked: list[tuple[list[str], int]] = field(default_factory=list, repr=False)

    def retrieve_batch(self, queries: Sequence[Query], k: int) -> list[Ranking]:
        self.asked.append(([query.text for query in queries], k))
        return [
            Ranking.from_scores(
                query.id,
                np.arange(100),
                100.0 - np.arange(100),
                IDS,
                stages=("falling",),
            ).top(k)
            for query in queries
        ]


@dataclass(frozen=True)
class Reverse(Stage):
    """The hits it reads, the last one first; notes how many it was given."""

    depth: int = 10
    given: list[list[int]] = field(default_factory=list, repr=False)

    def apply(
        self, queries: Sequence[Query], rankings: Sequence[Ranking]
    ) -> list[Ranking]:
        self.given.append([len(ranking) for ranking in rankings])
        return [
            Ranking.from_scores(
                r.query_id, r.rows, -r.scores, r.ids, stages=("reverse",)
            )
            for r in rankings
        ]


def test_a_stage_reads_its_depth_whatever_k_is_wanted() -> None:
    for k in (1, 3, 10):
        stage = Reverse(10)
        hits = (Falling() >> stage).retrieve("?", k).passage_ids
        assert hits == [f"p{i}" for i in range(9, 9 - k, -1)]
        assert stage.given == [[10]]


def test_each_stage_reads_the_first_hits_of_the_one_before() -> None:
    first, second = Reverse(7), Reverse(3)
    # p6 p5 p4 … p0, of which three, turned round
    hits = (Falling() >> first >> second).retrieve("?", 10)
    assert (first.given, second.given) == ([[7]], [[3]])
    assert hits.passage_ids == ["p4", "p5", "p6"]


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (
            lambda: Falling() >> Falling(),
            "Falling is no Stage; >> takes one, such as Rerank(kb, reranker=...). fuse(a, b)",
        ),
        (
            lambda: Falling() >> Reverse,
            "the class Reverse is no Stage; >> takes one, such as Rerank(kb, reranker=...).",
        ),
        (
            lambda: Falling >> Reverse(),
            "the class Falling is no Retriever; a pipeline begins with one",
        ),
        (
            lambda: fuse(Falling),
            "fuse takes retrievers, fuse(a, b); number 1 is the class Falling.",
        ),
        (
            lambda: fuse([Falling(), Falling()]),
            "fuse takes retrievers, fuse(a, b); number 1 is list.",
        ),
        (
            lambda: fuse(Falling(), weights=2),
            "weights must be one number for each retriever, such as (1.0, ",
        ),
        (
            lambda: Falling().retrieve_batch("Who?", 3),
            "queries must be a list of Query, not 'Who?'.",
        ),
        (
            lambda: Falling().retrieve_batch(Query("1", "Who?"), 3),
            "queries must be a list of Query, not Query.",
        ),
        (
            lambda: Falling().retrieve_batch(["Who?"], 3),
            "queries[0] must be a Query, not 'Who?': write Query('q0', ",
        ),
        (lambda: Falling().retrieve("Who?", 2.5), "k must be"),
        (lambda: Falling().retrieve("Who?", "3"), "k must be"),
    ],
)
def test_what_does_not_fit_is_refused_at_once_with_what_does(
    wrong: Callable[[], object], message: str
) -> None:
    with pytest.raises(TypeError, match=re.escape(message)):
        wrong()


def test_preparing_runs_one_query_through_every_stage() -> None:
    retriever, stage = Falling(), Reverse(7)
    (retriever >> stage).prepare([Query("1", "one"), Query("2", "two")])
    assert stage.given == [[7]]
    assert all(texts == ["one"] for texts, _ in retriever.asked)


def test_an_unknown_parameter_of_a_stage_is_answered_with_the_one_that_was_meant():
    with pytest.raises(TypeError, match="'depth'"):
        Rerank(None, dept=5)  # type: ignore[arg-type,call-arg]
