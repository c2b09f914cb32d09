"""Paths of triples that are written out when they are looked up."""

from __future__ import annotations

import pytest

from kg2rag.extraction import Extraction
from kg2rag.knowledge import KnowledgeGraph
from kg2rag.knowledge.graph.paths import TriplePaths
from kg2rag.types import Corpus, Passage, Triple

FACTS = (Triple("Ada", "wrote", "Notes", "a"), Triple("Notes", "on", "Engine", "b"))


@pytest.fixture
def graph() -> KnowledgeGraph:
    corpus = Corpus.from_passages([Passage("a", "A", "x", "a", 0), Passage("b", "B", "y", "b", 0)])
    return KnowledgeGraph.build(Extraction(triples=FACTS), corpus)


def test_a_path_is_the_triples_of_its_codes_in_the_order_walked(graph: KnowledgeGraph) -> None:
    paths = TriplePaths(graph, {1: (1, 0), 0: ()})
    assert [(row, paths[row]) for row in paths] == [(1, FACTS[::-1]), (0, ())]
    assert len(paths) == 2


def test_a_row_without_a_path_has_none(graph: KnowledgeGraph) -> None:
    assert TriplePaths(graph, {}).get(1, ()) == ()
    with pytest.raises(KeyError):
        TriplePaths(graph, {0: (0,)})[1]


def test_only_paths_that_are_looked_up_are_worked_out(graph: KnowledgeGraph) -> None:
    asked: list[str] = []

    def codes(found: str) -> tuple[int, ...]:
        asked.append(found)
        return (0,)

    paths = TriplePaths(graph, {0: "near", 1: "far"}, codes)
    assert (len(paths), list(paths), 1 in paths.found, asked) == (2, [0, 1], True, [])
    assert paths[1] == FACTS[:1]
    assert asked == ["far"]
