"""Four sides, weighed per query; what a ranking says of its weights."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
from word_embedder import WordEmbedder

from kg2rag.compute import Store
from kg2rag.knowledge import KnowledgeBase
from kg2rag.retrievers.bm25 import BM25
from kg2rag.retrievers.designs.dynamic_hybrid.analysers import (
    SIDES,
    LearnedAnalyser,
    QueryAnalysis,
)
from kg2rag.retrievers.designs.dynamic_hybrid.retriever import DynamicHybrid
from kg2rag.retrievers.designs.dynamic_hybrid.signals import FEATURES
from kg2rag.retrievers.expansion_queries import ExpansionQueries
from kg2rag.retrievers.pattern import Pattern
from kg2rag.retrievers.systems import build
from kg2rag.types import Corpus, ParameterError, Passage, Query, Ranking

TEXTS = {
    "handler": "an async handler that streams text and sends the response",
    "processor": "a processor of streaming responses with text",
    "swapped": "class TextStreamingResponse is another class",
    "wanted": "class StreamingTextResponse sends pieces of text",
    "chat": "Building real-time AI chat in React with streaming",
    "recipe": "fold the butter in and rest the dough",
}


@dataclass(frozen=True)
class Fixed:
    """An analyser that gives every query the same weights."""

    weights: tuple[float, ...]

    def analyse(self, queries: Sequence[Query]) -> list[QueryAnalysis]:
        weights = dict(zip(SIDES, self.weights, strict=True))
        return [QueryAnalysis("mixed", weights, "always the same")] * len(queries)


@pytest.fixture
def kb(tmp_path: Path) -> KnowledgeBase:
    corpus = Corpus.from_passages(
        [Passage(id_, "", text, id_, 0) for id_, text in TEXTS.items()]
    )
    return KnowledgeBase.build(corpus, embedder=WordEmbedder(), store=Store(tmp_path))


@pytest.mark.parametrize(
    ("query", "first", "query_type"),
    [
        # The design's first test case.
        (
            "streaming text response",
            "wanted",
            "identifier",
        ),
        # And its second.
        (
            "How do I implement real-time AI chat in React?",
            "chat",
            "conceptual",
        ),
        ("STreamingTxtResp", "wanted", "fuzzy"),
    ],
)
def test_the_designs_test_cases_and_a_typo(
    kb: KnowledgeBase, query: str, first: str, query_type: str
) -> None:
    ranking = DynamicHybrid(kb).retrieve(query)
    assert (ranking.passage_ids[0], ranking.notes.query_type) == (first, query_type)


def test_all_weight_on_one_side_gives_that_sides_ranking(kb: KnowledgeBase) -> None:
    for at, side in enumerate(SIDES):
        weights = tuple(float(i == at) for i in range(4))
        system = DynamicHybrid(kb, analyser=Fixed(weights))
        alone = system.members[side].retrieve("streaming text response", 6)
        assert (
            system.retrieve("streaming text response", 6).passage_ids
            == alone.passage_ids
        )


def test_weights_may_be_given_in_order_or_by_name(kb: KnowledgeBase) -> None:
    weights = (0.1, 0.2, 0.3, 0.4)
    named = dict(zip(SIDES, weights, strict=True))
    assert DynamicHybrid(kb, weights=named) == DynamicHybrid(kb, weights=weights)
    assert (
        DynamicHybrid(kb, weights=weights).retrieve("What is useChat?").notes.weights
        == named
    )


@pytest.mark.parametrize(
    "weights",
    [
        (0.5, 0.5),
        "0.5",
        (0.5, 0.5, 0.5, 0.5),
        {"dense": 1.0},
        (1.0, "a", 0.0, 0.0),
        0.25,
    ],
)
def test_weights_that_are_none_are_refused(kb: KnowledgeBase, weights: object) -> None:
    with pytest.raises(ParameterError, match=r"weights.*dense, sparse, pattern, graph"):
        DynamicHybrid(kb, weights=weights)  # type: ignore[arg-type]


def test_any_systems_may_be_the_sides(kb: KnowledgeBase) -> None:
    graph = {"graph": "expansion_queries(hits=1)"}
    system = build(
        "dynamic_hybrid", kb, sides="bm25+bm25(k1=0.1, b=0.9) + pattern", **graph
    )
    assert isinstance(system, DynamicHybrid)
    expected = [
        BM25(kb),
        BM25(kb, k1=0.1, b=0.9),
        Pattern(kb),
        ExpansionQueries(kb, hits=1),
    ]
    assert list(system.members.values()) == expected
    alone = ExpansionQueries(kb, hits=1).retrieve("streaming in React", 6)
    graph_alone = build("dynamic_hybrid", kb, weights=[0, 0, 0, 1], **graph)
    assert (
        graph_alone.retrieve("streaming in React", 6).passage_ids == alone.passage_ids
    )


def test_each_side_is_asked_once_for_the_batch_and_not_where_its_weight_is_0(
    kb: KnowledgeBase, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = []

    def record(pattern: Pattern, queries: Sequence[Query], k: int) -> list[Ranking]:
        asked.append([query.id for query in queries])
        return BM25(pattern.kb).retrieve_batch(queries, k)

    monkeypatch.setattr(Pattern, "retrieve_batch", record)
    texts = {
        "typo": "STreamingTxtResp",
        "prose": "How do I implement real-time AI chat in React?",
        "name": "useChat",
    }
    rankings = DynamicHybrid(kb).retrieve_batch(
        [Query(id_, text) for id_, text in texts.items()], 3
    )
    assert [ranking.notes.weights["pattern"] for ranking in rankings] == [0.6, 0.0, 0.3]
    assert asked == [["typo", "name"]]


def test_a_learned_analyser_is_named_by_its_file(
    kb: KnowledgeBase, tmp_path: Path
) -> None:
    grid = np.eye(4)
    learned = LearnedAnalyser(
        grid,
        np.zeros((4, len(FEATURES))),
        np.array([0.0, 0.0, 1.0, 0.0]),
        1.0,
        frozenset(),
    )
    learned.save(tmp_path / "learned.json")
    system = build(
        "dynamic_hybrid", kb, analyser=f"learned({tmp_path / 'learned.json'})"
    )
    assert system.retrieve("What is useChat?").notes.weights == dict(
        zip(SIDES, (0, 0, 1, 0), strict=True)
    )


def test_a_hit_says_what_each_side_gave_to_its_score_and_where_that_looked(
    kb: KnowledgeBase,
) -> None:
    ranking = DynamicHybrid(kb, weights=(0.0, 0.5, 0.0, 0.5)).retrieve(
        "What is useChat?", 6
    )
    for hit in ranking:
        assert sum(hit.score_parts.get(side, 0) for side in SIDES) == pytest.approx(
            hit.score
        )
    assert ranking.stages == ("sparse", "graph", "graph: dense")
    assert ranking.notes.source == {
        "sparse": "bm25",
        "graph": "graph",
        "graph: dense": "dense",
    }


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        (
            {"analyser": "oracle"},
            r"'oracle'.*fixed, learned\(FILE\), llm\(MODEL@BASE_URL\), rules",
        ),
        ({"analyser": "learned"}, r"learned\(FILE\)"),
        ({"analyser": "learned(none.json)"}, r"none\.json"),
        ({"analyser": "llm"}, r"llm\(MODEL@BASE_URL\)"),
        (
            {"analyser": "fixed", "weights": (1.0, 0.0, 0.0, 0.0)},
            "weights leave nothing to analyse",
        ),
        ({"graph": "web"}, "Unknown system 'web'"),
        ({"depth": 0}, "depth must be"),
        ({"sides": "dense+bm25"}, "'dense.bm25'"),
        ({"sides": "dense,bm25,pattern"}, "three systems joined by"),
        ({"sides": "dense+bm25+bm25(k2=1)"}, "'k2'"),
    ],
)
def test_a_setting_that_is_not_known_is_refused(
    kb: KnowledgeBase, settings: dict[str, object], message: str
) -> None:
    with pytest.raises((ValueError, FileNotFoundError), match=message):
        DynamicHybrid(kb, **settings)  # type: ignore[arg-type]


def test_weights_may_be_given_for_one_query(kb: KnowledgeBase) -> None:
    system = DynamicHybrid(kb)
    weights = {"dense": 0.0, "sparse": 1.0, "pattern": 0.0, "graph": 0.0}
    found = system.retrieve("streaming text response", 3, weights=weights)
    assert (
        found.passage_ids == BM25(kb).retrieve("streaming text response", 3).passage_ids
    )
    assert found.notes.weights == weights
    assert system.retrieve("streaming text response", 3).notes.weights != weights
    with pytest.raises(ParameterError, match="weights"):
        system.retrieve("text", weights={"dense": 1.0})
