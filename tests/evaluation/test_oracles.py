"""Each ceiling, worked out by hand, and what keeps an oracle from being taken for a system."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from kg2rag import systems
from kg2rag.evaluation.ladder import OracleGoldEntities, OracleGoldFirst, OracleSeeded
from kg2rag.knowledge import KnowledgeBase
from kg2rag.retrievers.dense import Dense
from kg2rag.retrievers.mention_ppr.retriever import MentionPPR
from kg2rag.types import Query, Triple

Build = Callable[..., KnowledgeBase]
FRUIT = (("", "red apple"), ("", "red car"), ("", "blue red apple sky"), ("", "blue sky"))
FILMS = (
    ("Ed Wood", "The film was directed by Tim Burton."),
    ("Tim Burton", "An artist from Burbank."),
    ("Paris", "A city."),
    ("Burbank", "A city of California."),
)


def test_gold_rerank_puts_gold_first_and_keeps_the_order_otherwise(kb_of: Build) -> None:
    kb = kb_of(*FRUIT)
    assert Dense(kb).retrieve("red apple").passage_ids == ["p0", "p2", "p1", "p3"]
    ranking = (Dense(kb) >> OracleGoldFirst({"q": ["p3", "p1"]}, 4)).retrieve("red apple")
    assert ranking.passage_ids == ["p1", "p3", "p0", "p2"]
    assert ranking.scores.tolist() == [1, 1 / 2, 1 / 3, 1 / 4]
    assert ranking.hit(1).score_parts == pytest.approx({"cosine": 0.5, "place": 1.0, "retriever": 0.5, "gold": 1.0})
    assert (ranking.notes.oracle, ranking.notes.gold_found) == ("gold rerank", 2)


LINKED = (
    ("Ed Wood", "Directed by Tim Burton."),
    ("Tim Burton", "An artist."),
    ("Paris", "A city."),
    ("Rome", "Paris."),
)


def test_gold_seeds_find_each_gold_passage_from_the_others(kb_of: Build) -> None:
    system = MentionPPR(kb_of(*LINKED), dense_weight=0.0)  # the query names Paris alone, which only Rome mentions
    found = OracleSeeded(system, {"q": ["p0", "p1"]}).retrieve("Paris")
    scores = dict(zip(found.passage_ids, found.scores, strict=True))
    assert scores["p0"] == pytest.approx(scores["p1"])  # two passages and one link, walked either way
    assert scores["p0"] > 0
    assert found.notes.oracle == "gold seeds"


def test_a_query_of_one_gold_passage_gets_the_ranking_of_the_system(kb_of: Build) -> None:
    system = MentionPPR(kb_of(*FILMS))
    found = OracleSeeded(system, {"q": ["p0"]}).retrieve("city of California")
    assert found.passage_ids == system.retrieve("city of California").passage_ids
    assert (found.notes.oracle, found.notes.warnings[0]) == ("gold seeds", "one gold passage: as it is")


def test_gold_seeds_answer_a_batch_as_its_queries_one_by_one(kb_of: Build) -> None:
    gold = {"a": ["p0", "p1"], "b": ["p0"], "c": ["p0", "p1", "p3"]}
    system = OracleSeeded(MentionPPR(kb_of(*FILMS)), gold)
    queries = [Query(id_, "Ed Wood") for id_ in "abc"]
    batch = system.retrieve_batch(queries, 4)
    for query, found in zip(queries, batch, strict=True):
        alone = system.retrieve(query, 4)
        assert (alone.passage_ids, alone.scores.tolist()) == (found.passage_ids, found.scores.tolist())


FACTS = (Triple("Ed Wood", "by", "Tim Burton", "p0"), Triple("Tim Burton", "from", "Burbank", "p1"))


def test_gold_entities_walks_from_the_right_entities_whatever_the_query_says(kb_of: Build) -> None:
    ranking = OracleGoldEntities(kb_of(*FILMS, facts=FACTS), {"q": ["Burbank", "Xanadu"]}).retrieve("Paris")
    assert ranking.passage_ids == ["p1", "p0"]
    assert (ranking.notes.oracle, ranking.notes.not_in_the_graph) == ("gold entities", ("Xanadu",))


def test_gold_entities_that_the_graph_lacks_leave_the_dense_ranking_and_say_so(kb_of: Build) -> None:
    ranking = OracleGoldEntities(kb_of(*FILMS, facts=FACTS), {"q": ["Xanadu"]}).retrieve("city of California")
    assert ranking.passage_ids[0] == "p3"
    assert ranking.notes.warnings[0] == "no gold entity is in the graph: dense ranking"
    assert ranking.notes.not_in_the_graph == ("Xanadu",)


@pytest.mark.parametrize("kept", [("p0", "p3"), ("p0", "p1", "p3")])
def test_oracles_keep_to_the_candidates(kb_of: Build, kept: tuple[str, ...]) -> None:
    kb = kb_of(*FILMS, facts=FACTS)
    for system in (
        OracleGoldEntities(kb, {"q": ["Burbank"]}),
        OracleSeeded(MentionPPR(kb), {"q": ["p0", "p1"]}),
        Dense(kb) >> OracleGoldFirst({"q": ["p0"]}),
    ):
        assert set(system.retrieve(Query("q", "x", kept)).passage_ids) <= set(kept)


def test_a_query_without_gold_is_an_error_that_names_it(kb_of: Build) -> None:
    kb = kb_of(*FILMS, facts=FACTS)
    for system in (OracleSeeded(MentionPPR(kb), {}), OracleGoldEntities(kb, {}), Dense(kb) >> OracleGoldFirst({})):
        with pytest.raises(KeyError, match="q9"):
            system.retrieve(Query("q9", "x"))


def test_no_oracle_is_a_system_and_its_repr_says_what_it_is(kb_of: Build) -> None:
    kb = kb_of(*FILMS)
    gold = {"q": ["p0"]}
    built = (OracleSeeded(MentionPPR(kb), gold), OracleGoldEntities(kb, gold), Dense(kb) >> OracleGoldFirst(gold))
    assert all("Oracle" in repr(oracle) and "p0" not in repr(oracle) for oracle in built)
    assert not [name for name in systems.names() if "gold" in name or "oracle" in name]
