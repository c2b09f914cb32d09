"""Which entities a query is linked to, and how the three rankings join."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from kg2rag.knowledge import KnowledgeBase
from kg2rag.retrievers.dense import Dense
from kg2rag.retrievers.published.practical_graphrag import PracticalGraphRAG
from kg2rag.types import Query, Triple

Build = Callable[..., KnowledgeBase]
PAGES = (("", "Ada is asked for."), ("", "Nothing here."), ("", "Something there."))
FACTS = (
    Triple("Grace", "met", "Ada", "p1"),
    Triple("Grace", "knew", "Cobol Language", "p2"),
    Triple("Zoo", "keeps", "Apes", "p0"),
)


def linked(system: PracticalGraphRAG, text: str) -> list[str]:
    return [
        system.kb.graph.names[entity] for entity in system.link([Query("q", text)])[0]
    ]


def test_entities_are_linked_by_name_then_by_phrase_then_by_the_query_as_a_whole(
    kb_of: Build,
) -> None:
    system = PracticalGraphRAG(kb_of(*PAGES, facts=FACTS), min_cosine=0.7)
    assert linked(system, "Ada") == ["Ada"]
    # the phrase "Cobol": one of two words, cosine √½
    assert linked(system, "what did Cobol") == ["Cobol Language"]
    # No phrase, but the query's own vector.
    assert linked(system, "language") == ["Cobol Language"]
    assert linked(system, "what about it") == []


def test_the_three_rankings_join_by_weighted_reciprocal_rank(kb_of: Build) -> None:
    kb = kb_of(*PAGES, facts=FACTS)
    ranking = PracticalGraphRAG(kb).retrieve("Ada")
    # dense: p0, then p1 and p2 (no word in common) by position. Seed Ada, one hop: Grace. Entities:
    # Ada names p1; Grace
    # names p1 and p2. Relations: the triple of p1 alone; the next one is two hops away.
    assert {hit.passage_id: hit.score for hit in ranking} == pytest.approx(
        {"p0": 1 / 61, "p1": 1 / 62 + 0.5 / 61 + 0.5 / 61, "p2": 1 / 63 + 0.5 / 62}
    )
    parts = ranking.hit(1).score_parts
    given = {side: parts[side] for side in ("passage", "entity", "relation")}
    assert given == pytest.approx(
        {"passage": 1 / 62, "entity": 0.5 / 61, "relation": 0.5 / 61}
    )
    assert [parts[f"{side} rank"] for side in given] == [2, 1, 1]


def test_hits_carry_the_triple_that_they_state_of_a_subgraph_of_those_most_similar_to_the_query(
    kb_of: Build,
) -> None:
    ranking = PracticalGraphRAG(kb_of(*PAGES, facts=FACTS)).retrieve("Ada")
    assert [[str(triple) for triple in hit.path] for hit in ranking] == [
        ["Grace -[met]-> Ada"],
        [],
        [],
    ]
    assert (
        [entity.name for entity in ranking.notes.entities],
        ranking.notes.triples,
    ) == (
        ["Ada"],
        1,
    )
    system = PracticalGraphRAG(kb_of(*PAGES, facts=FACTS), max_triples=1)
    assert [hit.passage_id for hit in system.retrieve("Grace knew") if hit.path] == [
        "p2"
    ]


def test_a_weight_of_zero_leaves_a_ranking_out(kb_of: Build) -> None:
    kb = kb_of(*PAGES, facts=FACTS)
    assert PracticalGraphRAG(kb, passage_weight=0).retrieve("Ada").passage_ids == [
        "p1",
        "p2",
    ]
    dense_only = PracticalGraphRAG(kb, entity_weight=0, relation_weight=0).retrieve(
        "Ada"
    )
    assert dense_only.passage_ids == Dense(kb).retrieve("Ada").passage_ids
    with pytest.raises(ValueError, match="passage_weight"):
        PracticalGraphRAG(kb, passage_weight=0, entity_weight=0, relation_weight=0)


def test_only_candidates_and_their_triples_are_seen(kb_of: Build) -> None:
    ranking = PracticalGraphRAG(kb_of(*PAGES, facts=FACTS)).retrieve(
        Query("q", "Ada Grace", ("p0", "p2"))
    )
    assert sorted(ranking.passage_ids) == ["p0", "p2"]
    assert ranking.notes.triples == 1
