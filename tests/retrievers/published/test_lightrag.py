"""LightRAG's lists and GraphRAG's local search over a described graph; every order worked out by hand."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest
from by_hand import knowledge_base, passages
from word_embedder import WordEmbedder

from kg2rag.compute import Store
from kg2rag.extraction import Entity, Extraction, Mention
from kg2rag.knowledge import KnowledgeBase
from kg2rag.retrievers.dense import Dense
from kg2rag.retrievers.published.graphrag_local import GraphRAGLocal
from kg2rag.retrievers.published.lightrag import MODES, LightRAG, passages_by_quota
from kg2rag.retrievers.systems import build
from kg2rag.types import Corpus, Passage, Query, Triple

QUERY = "who checks tokens"


@pytest.fixture
def kb(tmp_path: Path) -> KnowledgeBase:
    """Auth (p0 to p2) "checks tokens", Store (p2, p3) "keeps sessions"; p1 states that Auth uses Store, p2 twice."""
    extraction = Extraction(
        (
            Triple("Auth", "uses", "Store", "p1"),
            Triple("Auth", "calls", "Store", "p2"),
            Triple("Store", "answers", "Auth", "p2"),
        ),
        (Mention("Auth", "p0"), Mention("Store", "p3")),
        (
            Entity("Auth", "service", "checks tokens"),
            Entity("Store", "service", "keeps sessions"),
        ),
    )
    corpus = Corpus.from_passages(
        passages("Red.", "Green.", "Blue.", "Grey.", "who checks tokens")
    )
    return KnowledgeBase.build(
        corpus, extraction, embedder=WordEmbedder(), store=Store(tmp_path)
    )


def test_the_local_search_of_graphrag_orders_an_entitys_passages_by_the_relationships_they_state(
    kb: KnowledgeBase,
) -> None:
    found = GraphRAGLocal(kb, entities=1).retrieve(QUERY)
    # Auth's: two relationships, one, none.
    assert found.passage_ids == [
        "p2",
        "p1",
        "p0",
    ]
    assert [hit.score_parts["relationships"] for hit in found] == [2, 1, 0]
    assert [entity.name for entity in found.notes.entities or ()] == ["Auth"]
    # Then Store's.
    assert GraphRAGLocal(kb).retrieve(QUERY).passage_ids == [
        "p2",
        "p1",
        "p0",
        "p3",
    ]
    assert GraphRAGLocal(kb).retrieve(Query("q", QUERY, ("p3", "p0"))).passage_ids == [
        "p0",
        "p3",
    ]


def test_the_local_mode_of_lightrag_finds_the_passages_of_the_entities_described_as_the_query_says(
    kb: KnowledgeBase,
) -> None:
    found = LightRAG(kb, mode="local").retrieve(QUERY)
    assert found.passage_ids == ["p0", "p1", "p2"]
    assert {hit.stage for hit in found} == {"entities"}
    # Store shares no word
    assert [entity.name for entity in found.notes.entities or ()] == ["Auth"]


def test_the_global_mode_finds_the_passages_of_the_relations(kb: KnowledgeBase) -> None:
    found = LightRAG(kb, mode="global").retrieve("Auth calls")
    assert found.passage_ids == ["p2", "p1"]
    assert found.notes.relations[0] == "Auth -[calls]-> Store"


def test_the_mixed_mode_takes_the_lists_in_turn(kb: KnowledgeBase) -> None:
    found = LightRAG(kb, nearest=1).retrieve(QUERY)
    assert found.passage_ids == ["p4", "p0", "p1", "p2"]
    assert [hit.stage for hit in found] == ["dense", "entities", "entities", "entities"]
    assert [hit.score for hit in found] == [1, 1 / 2, 1 / 3, 1 / 4]


@pytest.mark.parametrize("mode", ["local", "global", "hybrid"])
def test_a_query_like_nothing_in_the_graph_gets_the_dense_ranking_and_the_reason(
    kb: KnowledgeBase, mode: str
) -> None:
    found = LightRAG(kb, mode=mode).retrieve("zebra")  # type: ignore[arg-type]
    assert found.passage_ids == Dense(kb).retrieve("zebra").passage_ids
    assert "no entity" in found.notes.warning


def test_quotas_fall_from_the_first_entity_to_the_last_and_shared_passages_come_first():
    assert passages_by_quota([[1, 2, 3, 9], [3, 4, 5], [6, 7]], most=3) == [
        3,
        1,
        2,
        4,
        5,
        6,
    ]
    assert passages_by_quota([[2, 1]], most=5) == [1, 2]
    assert passages_by_quota([], most=5) == []


@pytest.mark.parametrize("mode", MODES)
def test_every_mode_has_a_name(kb: KnowledgeBase, mode: str) -> None:
    assert build(f"lightrag(mode={mode})", kb) == LightRAG(kb, mode=mode)  # type: ignore[arg-type]


def test_a_graph_without_descriptions_is_searched_by_its_names(tmp_path: Path) -> None:
    extraction = Extraction((Triple("Hub", "joins", "Spoke", "p1"),))
    kb = knowledge_base(passages("none", "one"), extraction, {}, Store(tmp_path))
    assert LightRAG(kb, mode="local", min_cosine=-1.0).retrieve("Hub").passage_ids == [
        "p1"
    ]


@pytest.mark.realdata
def test_the_exports_of_real_tools_are_searched(
    shared_exports: Path, session_store: Store
) -> None:
    folder = shared_exports / "msgraphrag-v2.7.0"
    units = pd.read_parquet(folder / "text_units.parquet")
    texts = zip(map(str, units["id"]), units["text"], strict=True)
    corpus = Corpus.from_passages(
        [Passage(id_, "", text, id_, 0) for id_, text in texts]
    )
    kb = KnowledgeBase.build(corpus, graph=f"msgraphrag({folder})", store=session_store)
    for system in ("graphrag_local", *(f"lightrag(mode={mode})" for mode in MODES)):
        found = build(system, kb).retrieve("What is ALEX MERCER?", 5)
        assert len(found) >= 2, system
        assert found.notes.warning == "", system
    assert (
        GraphRAGLocal(kb).retrieve("What is ALEX MERCER?").notes.entities[0].name
        == "ALEX MERCER"
    )  # type: ignore[index]
