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


def stated(*facts: tuple[str, str, str, str, float]) -> KnowledgeGraph:
    return build(*(Triple(*fact[:4], strength=fact[4]) for fact in facts))


THREE = [("Ed", "in", "Rome", f"p{i}", 5.0) for i in range(3)]
INVERSE = [("a", "wrote", "b", "p0", 5.0), ("b", "written by", "a", "p1", 5.0)]


@pytest.mark.parametrize(
    ("by", "facts", "expected"),
    [
        pytest.param(
            "triple",
            [*THREE, ("Ed", "in", "Bonn", "p0", 5.0)],
            [8.75, 8.75, 8.75, 5.0],
            id="three passages: 10 · (1 - 0.5³)",
        ),
        pytest.param(
            "triple", [("a", "r", "b", "p0", 5.0), ("a", "r", "b", "p1", 2.0)], [6, 6], id="10 · (1 - 0.5 · 0.8)"
        ),
        pytest.param("triple", INVERSE, [5, 5], id="two relations"),
        pytest.param("pair", INVERSE, [7.5, 7.5], id="two relations of a pair"),
        pytest.param("pair", [("a", "r", "b", "p0", 4.0), ("a", "s", "b", "p0", 6.0)], [6, 6], id="one witness"),
        pytest.param("triple", [("a", "r", "b", "p0", 10.0), ("a", "r", "b", "p1", 10.0)], [10, 10], id="certain"),
    ],
)
def test_passages_corroborate_each_other(by: Any, facts: list[Any], expected: list[float]) -> None:
    assert strengths(stated(*facts).corroborated(by=by)) == expected


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
