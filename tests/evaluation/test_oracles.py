"""Each ceiling, worked out by hand."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from kg2rag.evaluation.oracle_ladder import (
    from_gold_entities,
    from_gold_seeds,
    gold_first,
)
from kg2rag.knowledge import KnowledgeBase
from kg2rag.retrievers.dense import Dense
from kg2rag.retrievers.mention_ppr.retriever import MentionPPR
from kg2rag.types import Query, Ranking, Triple

Build = Callable[..., KnowledgeBase]
FRUIT = (
    ("", "red apple"),
    ("", "red car"),
    ("", "blue red apple sky"),
    ("", "blue sky"),
)
FILMS = (
    ("Ed Wood", "The film was directed by Tim Burton."),
    ("Tim Burton", "An artist from Burbank."),
    ("Paris", "A city."),
    ("Burbank", "A city of California."),
)
LINKED = (
    *FILMS[:1],
    ("Tim Burton", "An artist."),
    ("Paris", "A city."),
    ("Rome", "Paris."),
)
FACTS = (
    Triple("Ed Wood", "by", "Tim Burton", "p0"),
    Triple("Tim Burton", "from", "Burbank", "p1"),
)


def seeded(
    system: MentionPPR, queries: list[Query], *golds: list[int]
) -> list[Ranking]:
    return from_gold_seeds(
        system.from_seeds,
        system.retrieve_batch(queries, 9),
        queries,
        list(map(np.array, golds)),
    )


def test_gold_rerank_puts_gold_first_and_keeps_the_order_otherwise(
    kb_of: Build,
) -> None:
    plain = Dense(kb_of(*FRUIT)).retrieve("red apple")
    assert plain.passage_ids == ["p0", "p2", "p1", "p3"]
    ranking = gold_first(plain, np.array([1, 3]))
    assert ranking.passage_ids == ["p1", "p3", "p0", "p2"]
    assert ranking.scores.tolist() == [1, 1 / 2, 1 / 3, 1 / 4]


def test_gold_seeds_find_each_gold_passage_from_the_others(kb_of: Build) -> None:
    # the query names Paris alone, which only Rome mentions
    system = MentionPPR(kb_of(*LINKED), dense_weight=0.0)
    (found,) = seeded(system, [Query("q", "Paris")], [0, 1])
    scores = dict(zip(found.passage_ids, found.scores, strict=True))
    # two passages and one link, walked either way
    assert scores["p0"] == pytest.approx(scores["p1"])
    assert scores["p0"] > 0


def test_gold_seeds_answer_a_batch_as_its_queries_one_by_one_and_leave_single_gold_alone(
    kb_of: Build,
) -> None:
    system, golds = MentionPPR(kb_of(*FILMS)), ([0, 1], [0], [0, 1, 3])
    queries = [Query(id_, "Ed Wood") for id_ in "abc"]
    batch = seeded(system, queries, *golds)
    for query, gold, found in zip(queries, golds, batch, strict=True):
        (alone,) = seeded(system, [query], gold)
        assert (alone.passage_ids, alone.scores.tolist()) == (
            found.passage_ids,
            found.scores.tolist(),
        )
    assert batch[1].passage_ids == system.retrieve("Ed Wood").passage_ids


@pytest.mark.parametrize(
    ("names", "found"),
    [(["Burbank", "Xanadu"], ["p1", "p0"]), (["Xanadu"], ["p2", "p0"])],
)
def test_gold_entities_walk_whatever_the_query_says_and_are_dense_without_any(
    kb_of: Build, names: list[str], found: list[str]
) -> None:
    (ranking,) = from_gold_entities(
        kb_of(*FILMS, facts=FACTS), [Query("q", "Paris")], [names], 9
    )
    assert ranking.passage_ids[:2] == found[:2]
    assert ranking.notes.warnings == (
        () if "Burbank" in names else ("no gold entity is in the graph: dense ranking",)
    )


@pytest.mark.parametrize("kept", [("p0", "p3"), ("p0", "p1", "p3")])
def test_oracles_keep_to_the_candidates(kb_of: Build, kept: tuple[str, ...]) -> None:
    kb, queries = kb_of(*FILMS, facts=FACTS), [Query("q", "x", kept)]
    for (ranking,) in (
        from_gold_entities(kb, queries, [["Burbank"]], 9),
        seeded(MentionPPR(kb), queries, [0, 1]),
    ):
        assert set(ranking.passage_ids) <= set(kept)
