"""Strength from corroboration, hub damping, synonym edges: worked out by hand."""

from __future__ import annotations

import numpy as np
import pytest

from kg2rag.extraction import Extraction, Mention
from kg2rag.knowledge import KnowledgeGraph
from kg2rag.types import Corpus, Passage, Triple

CORPUS = Corpus.from_passages([Passage(f"p{i}", "", "text", f"d{i}", 0) for i in range(4)])


def build(*triples: Triple) -> KnowledgeGraph:
    return KnowledgeGraph.build(Extraction(triples), CORPUS)


def strengths(graph: KnowledgeGraph) -> list[float]:
    return [round(float(strength), 4) for strength in graph.triples.strengths]


def test_a_fact_that_two_passages_state_is_stronger_than_one_that_one_states() -> None:
    graph = build(*(Triple("Ed", "in", "Rome", f"p{i}") for i in range(3)), Triple("Ed", "in", "Bonn", "p0"))
    assert strengths(graph.corroborated()) == [8.75, 8.75, 8.75, 5.0]  # 10 · (1 - 0.5³)


def test_a_weak_statement_corroborates_less() -> None:
    graph = build(Triple("a", "r", "b", "p0", strength=5), Triple("a", "r", "b", "p1", strength=2))
    assert strengths(graph.corroborated()) == [6.0, 6.0]  # 10 · (1 - 0.5 · 0.8)


def test_two_relations_of_a_pair_corroborate_each_other_where_asked() -> None:
    graph = build(Triple("a", "wrote", "b", "p0"), Triple("b", "written by", "a", "p1"))
    assert strengths(graph.corroborated()) == [5, 5]
    assert strengths(graph.corroborated(by="pair")) == [7.5, 7.5]


def test_two_relations_in_one_passage_are_one_witness_of_a_pair() -> None:
    graph = build(Triple("a", "wrote", "b", "p0", strength=4), Triple("a", "loved", "b", "p0", strength=6))
    assert strengths(graph.corroborated(by="pair")) == [6, 6]


def test_certain_facts_stay_at_ten() -> None:
    graph = build(Triple("a", "r", "b", "p0", strength=10), Triple("a", "r", "b", "p1", strength=10))
    assert strengths(graph.corroborated()) == [10, 10]


def test_triples_at_a_hub_are_damped_by_the_root_of_its_excess() -> None:
    graph = build(*(Triple("hub", "r", f"n{i}", "p0", strength=8) for i in range(4)), Triple("x", "r", "y", "p0"))
    assert strengths(graph.damped(above=1)) == [4, 4, 4, 4, 5]  # 8 · (1/4)^0.5
    assert strengths(graph.damped(above=2, exponent=1)) == [4, 4, 4, 4, 5]  # 8 · 2/4
    assert graph.damped(above=4) == graph


def test_damping_never_reaches_zero() -> None:
    graph = build(*(Triple("hub", "r", f"n{i}", "p0") for i in range(4))).damped(above=1, exponent=1000)
    assert graph.triple(0).strength > 0


def test_they_may_be_chained_and_leave_the_graph_as_it_was() -> None:
    graph = build(Triple("a", "r", "b", "p0"), Triple("a", "r", "b", "p1"))
    before = graph.fingerprint
    assert strengths(graph.corroborated().damped(above=1)) == [3.75, 3.75]  # 7.5 · (1/2)^0.5 twice
    assert KnowledgeGraph.build(Extraction(tuple(map(graph.triple, range(2)))), CORPUS).fingerprint == before


def test_similar_names_are_joined_by_a_triple_that_no_passage_states() -> None:
    mentions = (Mention("UK", "p0"), Mention("Great Britain", "p0"), Mention("Britain", "p1"), Mention("Rome", "p2"))
    graph = KnowledgeGraph.build(Extraction(mentions=mentions), CORPUS)
    vectors = np.array([[1, 0], [1, 0], [0.8, 0.6], [0, 1]], dtype=np.float32)
    after = graph.with_synonyms(vectors, threshold=0.7)
    triple = after.triple(0)
    assert after.n_triples == 1  # "UK" has too few letters
    assert (str(triple), triple.passage_id) == ("Great Britain -[is a synonym of]-> Britain", "")
    assert (triple.strength, triple.confidence) == pytest.approx((8, 0.8))
    assert after.mentions is graph.mentions


def test_a_graph_without_similar_names_stays_itself() -> None:
    graph = build(Triple("Rome", "r", "Bonn", "p0"))
    assert graph.with_synonyms(np.eye(2, dtype=np.float32)) is graph


def test_what_cannot_be_done_is_refused() -> None:
    graph = build(Triple("Rome", "r", "Bonn", "p0"))
    with pytest.raises(ValueError, match="3 vectors for 2 entities"):
        graph.with_synonyms(np.eye(3, dtype=np.float32))
    twice = graph.with_synonyms(np.ones((2, 1), dtype=np.float32))
    with pytest.raises(ValueError, match="already"):
        twice.with_synonyms(np.ones((2, 1), dtype=np.float32))
    with pytest.raises(ValueError, match="above must be"):
        graph.damped(above=0)
    with pytest.raises(ValueError, match="exponent must be"):
        graph.damped(exponent=-1)
    with pytest.raises(ValueError, match="by must be"):
        graph.corroborated(by="name")  # type: ignore[arg-type]
