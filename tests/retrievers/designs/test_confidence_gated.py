"""The gate, the scores behind it and what the graph adds; every number worked out by hand."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from by_hand import knowledge_base, passages

import kg2rag
from kg2rag.compute import Store
from kg2rag.extraction import Extraction, Mention
from kg2rag.knowledge import KnowledgeBase
from kg2rag.retrievers import systems
from kg2rag.retrievers.adapters import trec
from kg2rag.retrievers.bm25 import BM25
from kg2rag.retrievers.designs.confidence_gated import ConfidenceGated
from kg2rag.types import Query, Ranking, Triple

RESULTS = Path(__file__).parents[3] / "eval" / "results"
NAMED = "How does Auth Service check a token?"  # 36 characters
UNNAMED = "how is a token checked by the login?"  # 36 characters, no capital
SHORT = "Auth Service"  # 12 characters
COSINES = {
    NAMED: (0.8, 0.5, 0.3, 0.1, 0.05),
    UNNAMED: (0.8, 0.5, 0.3, 0.1, 0.05),
    SHORT: (0.3, 0.2, 0.1, 0.0, 0.0),
}
SURE = 0.3 * 0.36 + 0.3 + 0.4 * 0.8  # 0.728


@pytest.fixture
def kb(tmp_path: Path) -> KnowledgeBase:
    """Auth Service depends on OAuth Provider (8; p3 and p0), uses Session Store (3; p4) and logs to Audit (2; p2)."""
    extraction = Extraction(
        triples=(
            Triple("Auth Service", "depends_on", "OAuth Provider", "p0", strength=8),
            Triple("Auth Service", "uses", "Session Store", "", strength=3),
            Triple("Auth Service", "logs_to", "Audit", "", strength=2),
        ),
        mentions=(
            Mention("OAuth Provider", "p3"),
            Mention("Session Store", "p4"),
            Mention("Audit", "p2"),
        ),
    )
    texts = (
        "Tokens are checked.",
        "A login page.",
        "Audit trails.",
        "Sign in elsewhere.",
        "Where sessions live.",
    )
    return knowledge_base(passages(*texts), extraction, COSINES, Store(tmp_path))


def scored(ranking: Ranking) -> dict[str, float]:
    return {hit.passage_id: round(hit.score, 5) for hit in ranking}


def test_graph_hits_score_cosine_times_strength_times_confidence_and_text_hits_their_cosine(
    kb: KnowledgeBase,
) -> None:
    found = ConfidenceGated(kb).retrieve(NAMED)
    assert scored(found) == {
        "p0": 0.8,
        "p1": 0.5,
        "p3": round(0.1 * 0.8 * SURE, 5),
        "p4": round(0.05 * 0.3 * SURE, 5),
    }
    assert [hit.stage for hit in found] == ["vector", "vector", "graph", "graph"]


def test_a_graph_hit_shows_its_path_and_the_numbers_of_its_score(
    kb: KnowledgeBase,
) -> None:
    hit = ConfidenceGated(kb).retrieve(NAMED).hit(3)
    assert [str(triple) for triple in hit.path] == [
        "Auth Service -[depends_on]-> OAuth Provider"
    ]
    assert hit.score_parts == pytest.approx(
        {"passage": 0.1, "strength": 0.8, "confidence": SURE}
    )
    both = ConfidenceGated(kb).retrieve(NAMED).hit(1)  # text and graph find it
    assert (both.passage_id, both.stage, both.path) == ("p0", "vector", ())


def test_relations_weaker_than_the_least_graph_score_are_not_followed(
    kb: KnowledgeBase,
) -> None:
    assert "p2" not in ConfidenceGated(kb).retrieve(NAMED).passage_ids
    assert "p2" in ConfidenceGated(kb, min_graph_score=0.2).retrieve(NAMED).passage_ids
    assert (
        "p4"
        not in ConfidenceGated(kb, min_graph_score=0.31).retrieve(NAMED).passage_ids
    )


def test_the_notes_count_hits_and_name_entities(kb: KnowledgeBase) -> None:
    said = ConfidenceGated(kb).retrieve(NAMED).notes
    assert said.vector_results == 2
    assert said.graph_results == 2
    assert [entity.name for entity in said.entities] == ["Auth Service"]
    assert said.confidence == pytest.approx(SURE)
    assert said.warning == ""


@pytest.mark.parametrize(
    ("text", "settings", "hits", "why"),
    [
        (UNNAMED, {}, {"p0": 0.8, "p1": 0.5}, "the query names no entity of the graph"),
        # 0.036 + 0.3 + 0.4 · 0.3
        (SHORT, {"min_score": 0.25}, {"p0": 0.3}, "confidence below 0.5"),
        (NAMED, {"use_graph": False}, {"p0": 0.8, "p1": 0.5}, "use_graph is False"),
    ],
)
def test_the_graph_is_skipped_for_a_reason(
    kb: KnowledgeBase,
    text: str,
    settings: dict[str, Any],
    hits: dict[str, float],
    why: str,
) -> None:
    found = ConfidenceGated(kb, **settings).retrieve(text)
    assert (scored(found), found.notes.warning, found.notes.graph_results) == (
        hits,
        why,
        0,
    )
    if settings.get("use_graph") is False:  # as the design reports it
        assert (found.notes.confidence, found.notes.entities) == (0.5, ())


def test_the_depth_bounds_text_hits_and_k_cuts_the_merged_ranking(
    kb: KnowledgeBase,
) -> None:
    assert ConfidenceGated(kb, depth=1).retrieve(NAMED).passage_ids == [
        "p0",
        "p3",
        "p4",
    ]
    assert ConfidenceGated(kb).retrieve(NAMED, k=3).passage_ids == ["p0", "p1", "p3"]


def test_without_vectors_bm25_is_squashed_into_zero_to_one(kb: KnowledgeBase) -> None:
    plain = BM25(kb).retrieve(UNNAMED)
    found = ConfidenceGated(kb, vector=False).retrieve(UNNAMED)
    assert found.passage_ids == plain.passage_ids
    assert found.scores == pytest.approx(plain.scores / (1 + plain.scores))
    assert {hit.stage for hit in found} == {"bm25"}


def test_without_vectors_a_graph_hit_scores_by_strength_and_confidence_alone(
    kb: KnowledgeBase,
) -> None:
    found = ConfidenceGated(kb, vector=False, depth=1).retrieve(
        "Where does Auth Service sign in?"
    )
    graph = [hit for hit in found if hit.stage == "graph"]
    assert graph
    assert [hit.score for hit in graph] == pytest.approx(
        [hit.score_parts["strength"] * found.notes.confidence for hit in graph]
    )


def test_a_short_name_that_is_like_no_passage_is_found_by_its_words(
    tmp_path: Path,
) -> None:
    extraction = Extraction(
        (Triple("Hub", "joins", "Spoke", "", strength=10),), (Mention("Spoke", "p1"),)
    )
    texts = ("The hub is round.", "Elsewhere.", "Nothing.", "More.")
    kb = knowledge_base(
        passages(*texts), extraction, {"Hub": (0.3, 0.1, 0.0, 0.0)}, Store(tmp_path)
    )
    found = ConfidenceGated(kb).retrieve("Hub")
    assert [(hit.passage_id, hit.stage) for hit in found] == [("p0", "bm25")]
    for text in ("What is Hub?", "the Hub", "what is the hub"):
        assert [
            (hit.passage_id, hit.stage) for hit in ConfidenceGated(kb).retrieve(text)
        ] == [("p0", "bm25")], text
    assert len(ConfidenceGated(kb).retrieve("what nothing is like")) == 0


@pytest.mark.parametrize(
    "text",
    [
        "Explain Auth Service",
        "List Auth Service keys",
        "Why Does Auth Service Fail",
        "explain the auth service",
    ],
)
def test_other_words_and_lower_case_do_not_hide_a_name(
    kb: KnowledgeBase, text: str
) -> None:
    assert [
        entity.name for entity in ConfidenceGated(kb).retrieve(text).notes.entities
    ] == ["Auth Service"]


def hub(store: Store) -> KnowledgeBase:
    """Spoke is named in p1 once, in p2 three times, in p3 twice, in p0 never; cosines fall from p3 to p1."""
    mentions = [Mention("Spoke", id_) for id_ in ("p1", "p2", "p2", "p2", "p3", "p3")]
    extraction = Extraction(
        (Triple("Hub", "joins", "Spoke", "", strength=10),), tuple(mentions)
    )
    cosines = {"Hub": (0.8, 0.1, 0.2, 0.3)}
    return knowledge_base(
        passages("none", "one", "two", "three"), extraction, cosines, store
    )


def test_an_entitys_passages_are_the_most_similar_or_those_that_name_it_most_often(
    tmp_path: Path,
) -> None:
    kb = hub(Store(tmp_path))
    often = ConfidenceGated(kb, max_chunks=2, passage_score="constant")
    assert sorted(often.retrieve("Hub").passage_ids) == ["p0", "p2", "p3"]
    similar = ConfidenceGated(kb, max_chunks=1)
    assert similar.retrieve("Hub").passage_ids == ["p0", "p3"]
    # others take no place
    assert similar.retrieve(Query("q", "Hub", ("p0", "p1"))).passage_ids == ["p0", "p1"]


def test_a_constant_passage_score_leaves_strength_times_confidence(
    kb: KnowledgeBase,
) -> None:
    found = ConfidenceGated(kb, passage_score="constant").retrieve(NAMED)
    assert scored(found) == {
        "p0": 0.8,
        "p3": round(0.8 * SURE, 5),
        "p1": 0.5,
        "p4": round(0.3 * SURE, 5),
    }
    assert [hit.stage for hit in found] == ["vector", "graph", "vector", "graph"]


def test_dropped_text_hits_do_not_raise_the_confidence(kb: KnowledgeBase) -> None:
    said = ConfidenceGated(kb, min_score=0.9).retrieve(UNNAMED).notes
    assert said.vector_results == 0
    assert said.confidence == pytest.approx(0.108 + 0.15)


def test_of_two_named_entities_each_brings_the_others_passages(tmp_path: Path) -> None:
    extraction = Extraction(
        (Triple("Hub", "joins", "Spoke", "", strength=10),),
        (Mention("Hub", "p1"), Mention("Spoke", "p2")),
    )
    cosines = {'"Hub" or "Spoke"': (0.8, 0.0, 0.0)}
    kb = knowledge_base(
        passages("none", "a", "b"), extraction, cosines, Store(tmp_path)
    )
    assert sorted(ConfidenceGated(kb).retrieve('"Hub" or "Spoke"').passage_ids) == [
        "p0",
        "p1",
        "p2",
    ]


def test_a_passage_of_two_related_entities_comes_once_through_the_stronger(
    tmp_path: Path,
) -> None:
    triples = (
        Triple("Hub", "joins", "Rim", "", strength=4),
        Triple("Hub", "joins", "Spoke", "", strength=10),
    )
    extraction = Extraction(triples, (Mention("Rim", "p1"), Mention("Spoke", "p1")))
    kb = knowledge_base(
        passages("none", "one"), extraction, {"Hub": (0.8, 0.1)}, Store(tmp_path)
    )
    found = ConfidenceGated(kb).retrieve("Hub")
    assert found.passage_ids == ["p0", "p1"]
    assert found.hit(2).path == (triples[1],)


@pytest.mark.realdata
def test_the_least_score_keeps_the_share_of_the_gold_that_is_documented(
    shared_data: Path,
) -> None:
    data = kg2rag.load("musique", path=shared_data / "musique-100")
    run = trec.load(RESULTS / "musique-100" / "runs" / "dense.trec.gz")
    gold, other = [], []
    for question in data.questions:
        for passage_id, score in run[question.id][:5]:
            (gold if passage_id in question.gold else other).append(score)
    least = systems.parameters("confidence_gated")["min_score"]
    assert (len(gold), len(other)) == (142, 358)
    assert np.mean(np.array(gold) >= least) >= 0.95
    assert np.mean(np.array(gold) >= least + 0.05) < 0.95
    assert sum(score >= least for score in other) == pytest.approx(358 - 46, abs=2)


def test_without_the_graph_nothing_of_it_is_read(kb: KnowledgeBase) -> None:
    before = kb.usage["graph reads"]
    ConfidenceGated(kb, use_graph=False).retrieve(NAMED)
    assert kb.usage["graph reads"] == before
