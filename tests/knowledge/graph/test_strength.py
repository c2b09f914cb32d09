"""Strength from corroboration, hub damping: worked out by hand."""

from __future__ import annotations

from typing import Any

import pytest

from kg2rag.extraction import Extraction
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


@pytest.mark.parametrize(
    ("method", "wrong"), [("damped", {"above": 0}), ("damped", {"exponent": -1}), ("corroborated", {"by": "name"})]
)
def test_what_cannot_be_done_is_refused(method: str, wrong: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=f"{next(iter(wrong))} must be"):
        getattr(build(Triple("Rome", "r", "Bonn", "p0")), method)(**wrong)
