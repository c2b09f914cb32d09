"""HippoRAG's graph of phrases and passages, edge by edge."""

from __future__ import annotations

import numpy as np
import pytest

from kg2rag.retrievers.published.hipporag.memory import (
    PhraseGraph,
    PhraseTable,
    Synonyms,
    phrase_of,
)
from kg2rag.types import Corpus, Passage, Triple

CORPUS = Corpus.from_passages(
    [Passage(f"p{i}", "", f"text {i}", f"d{i}", 0) for i in range(4)]
)
FACTS = (
    Triple("Ada L.", "Knew", "Babbage", "p0"),
    Triple("Babbage", "built", "Engine", "p0"),
    Triple("ada l", "knew", "babbage", "p1"),  # the same fact, stated again
    Triple("Engine", "is", "engine", "p2"),  # a loop once normalised
)
APART = Synonyms(np.array([0, 2]), np.array([2, 0]), np.array([0.85, 0.85]))
NONE = Synonyms(np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0))


def graph_of(*facts: Triple, synonyms: Synonyms = NONE) -> PhraseGraph:
    return PhraseGraph(PhraseTable.build(facts, CORPUS), synonyms)


def weights(graph: PhraseGraph) -> dict[tuple[int, int], float]:
    walk = graph.walk
    entries = zip(
        walk.targets.tolist(), walk.sources.tolist(), walk.weights.tolist(), strict=True
    )
    return {(a, b): weight for a, b, weight in entries if a < b}


@pytest.mark.parametrize(
    ("name", "phrase"),
    [
        ("U.S. Army!", "u s  army"),
        ("Saint-Étienne", "saint  tienne"),
        ("東京", ""),
        ("a_b", "a b"),
        ("  C++ ", "c"),
    ],
)
def test_a_phrase_keeps_ascii_letters_and_digits_alone(name: str, phrase: str) -> None:
    assert phrase_of(name) == phrase


def test_phrases_are_sorted_and_facts_come_in_order_of_their_first_statement() -> None:
    table = PhraseTable.build(FACTS, CORPUS)
    assert table.phrases == ["ada l", "babbage", "engine"]
    assert table.facts[:2] == [
        ("ada l", "knew", "babbage"),
        ("babbage", "built", "engine"),
    ]
    assert table.fact_of.tolist() == [0, 1, 0, 2]
    assert table.rows.tolist() == [0, 0, 1, 2]
    # one over the passages that have the phrase
    assert table.specificity.tolist() == [1 / 2, 1 / 2, 1 / 2]


def test_an_exact_repetition_within_a_passage_counts_once_and_another_spelling_twice():
    same = PhraseTable.build((FACTS[0], FACTS[0]), CORPUS)
    other = PhraseTable.build(
        (FACTS[0], Triple("Ada L", "knew", "Babbage", "p0")), CORPUS
    )
    assert (len(same.fact_of), len(other.fact_of), len(other.facts)) == (1, 2, 1)


def test_a_fact_weighs_two_a_statement_and_a_passage_one() -> None:
    # ada, babbage, engine are 0, 1, 2; the passages 3 to 6.
    stated = dict.fromkeys([(0, 3), (1, 3), (2, 3), (0, 4), (1, 4), (2, 5)], 1.0)
    assert weights(graph_of(*FACTS)) == {(0, 1): 4.0, (1, 2): 2.0, **stated}


def test_a_synonym_replaces_the_weight_of_a_fact_in_its_direction() -> None:
    one_way = Synonyms(np.array([0]), np.array([1]), np.array([0.9]))
    both = Synonyms(np.array([0, 1]), np.array([1, 0]), np.array([0.9, 0.9]))
    assert weights(graph_of(*FACTS, synonyms=one_way))[0, 1] == pytest.approx(2 + 0.9)
    assert weights(graph_of(*FACTS, synonyms=both))[0, 1] == pytest.approx(1.8)
    assert weights(graph_of(*FACTS, synonyms=APART))[0, 2] == pytest.approx(1.7)


def test_a_fact_that_no_passage_states_joins_its_ends_alone_and_without_facts_there_are_passages_alone():
    graph = graph_of(Triple("Ada", "knew", "Babbage", ""))
    assert weights(graph) == {(0, 1): 2.0}
    assert graph.table.specificity.tolist() == [1.0, 1.0]
    graph = graph_of()
    assert (graph.n_phrases, graph.walk.n_nodes, weights(graph)) == (0, 4, {})


def paths(
    graph: PhraseGraph, mask: list[int] | None = None
) -> dict[int, tuple[Triple, ...]]:
    """Of all passages, from the first phrase."""
    allowed = None if mask is None else np.array(mask)
    paths = graph.node_paths(np.array([0]), np.arange(4), allowed)
    return {row: graph.triples(path) for row, path in paths.items()}


def test_a_path_leads_from_a_start_by_the_triples_as_spelled_and_no_way_is_no_path():
    found = paths(graph_of(*FACTS))
    assert found == {0: (FACTS[0],), 1: (FACTS[2],), 2: (FACTS[0], FACTS[1], FACTS[3])}


def test_a_step_between_synonyms_says_so_and_how_alike_they_are() -> None:
    path = paths(graph_of(FACTS[0], FACTS[3], synonyms=APART))[2]
    assert path == (Triple("ada l", "synonym of", "engine", "", strength=8.5), FACTS[3])


def test_a_path_walks_through_candidates_alone() -> None:
    facts = (
        Triple("A", "r", "B", "p0"),
        Triple("B", "r", "B", "p1"),
        Triple("A", "s", "C", "p2"),
    )
    assert set(paths(graph_of(*facts), [0, 1])) == {0, 1}
    assert set(paths(graph_of(*facts), [1])) == {1}  # a start may lie outside
