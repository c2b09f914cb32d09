"""HippoRAG's graph of phrases and passages, edge by edge."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from kg2rag.knowledge.graph.synonyms import Synonyms
from kg2rag.retrievers.hipporag.memory import PhraseGraph, PhraseTable, phrase_of, synonym_ends
from kg2rag.retrievers.hipporag.walk import PhrasePaths
from kg2rag.types import Corpus, Passage, Triple

CORPUS = Corpus.from_passages([Passage(f"p{i}", "", f"text {i}", f"d{i}", 0) for i in range(4)])
FACTS = (
    Triple("Ada L.", "Knew", "Babbage", "p0"),
    Triple("Babbage", "built", "Engine", "p0"),
    Triple("ada l", "knew", "babbage", "p1"),  # the same fact, stated again
    Triple("Engine", "is", "engine", "p2"),  # a loop once normalised
)
NONE = Synonyms(np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0))


def graph_of(*facts: Triple, synonyms: Synonyms = NONE) -> PhraseGraph:
    return PhraseGraph(PhraseTable.build(facts, CORPUS), synonyms)


def weights(graph: PhraseGraph) -> dict[tuple[int, int], float]:
    walk = graph.walk
    entries = zip(walk.targets.tolist(), walk.sources.tolist(), walk.weights.tolist(), strict=True)
    return {(a, b): weight for a, b, weight in entries if a < b}


@pytest.mark.parametrize(
    ("name", "phrase"),
    [("U.S. Army!", "u s  army"), ("Saint-Étienne", "saint  tienne"), ("東京", ""), ("a_b", "a b"), ("  C++ ", "c")],
)
def test_a_phrase_keeps_ascii_letters_and_digits_alone(name: str, phrase: str) -> None:
    assert phrase_of(name) == phrase


def test_phrases_are_sorted_and_facts_come_in_order_of_their_first_statement() -> None:
    table = PhraseTable.build(FACTS, CORPUS)
    assert table.phrases == ["ada l", "babbage", "engine"]
    assert table.fact_texts[:2] == ["('ada l', 'knew', 'babbage')", "('babbage', 'built', 'engine')"]
    assert table.facts.tolist() == [0, 1, 0, 2]
    assert table.rows.tolist() == [0, 0, 1, 2]


def test_an_exact_repetition_within_a_passage_counts_once_and_another_spelling_twice() -> None:
    same = PhraseTable.build((FACTS[0], FACTS[0]), CORPUS)
    other = PhraseTable.build((FACTS[0], Triple("Ada L", "knew", "Babbage", "p0")), CORPUS)
    assert (len(same.facts), len(other.facts), len(other.fact_texts)) == (1, 2, 1)


def test_a_fact_weighs_two_a_statement_and_a_passage_one() -> None:
    # ada, babbage, engine are 0, 1, 2; the passages 3 to 6.
    assert weights(graph_of(*FACTS)) == {
        (0, 1): 4.0,
        (1, 2): 2.0,
        (0, 3): 1.0,
        (1, 3): 1.0,
        (2, 3): 1.0,
        (0, 4): 1.0,
        (1, 4): 1.0,
        (2, 5): 1.0,
    }


def test_a_synonym_replaces_the_weight_of_a_fact_in_its_direction() -> None:
    one_way = Synonyms(np.array([0]), np.array([1]), np.array([0.9]))
    both = Synonyms(np.array([0, 1]), np.array([1, 0]), np.array([0.9, 0.9]))
    apart = Synonyms(np.array([0, 2]), np.array([2, 0]), np.array([0.85, 0.85]))
    assert weights(graph_of(*FACTS, synonyms=one_way))[0, 1] == pytest.approx(2 + 0.9)
    assert weights(graph_of(*FACTS, synonyms=both))[0, 1] == pytest.approx(1.8)
    assert weights(graph_of(*FACTS, synonyms=apart))[0, 2] == pytest.approx(1.7)


def test_specificity_is_one_over_the_passages_that_have_the_phrase() -> None:
    assert PhraseTable.build(FACTS, CORPUS).specificity.tolist() == [1 / 2, 1 / 2, 1 / 2]


def test_a_fact_that_no_passage_states_joins_its_ends_alone() -> None:
    graph = graph_of(Triple("Ada", "knew", "Babbage", ""))
    assert weights(graph) == {(0, 1): 2.0}
    assert graph.table.specificity.tolist() == [1.0, 1.0]


def test_a_phrase_of_two_letters_starts_no_synonym_and_the_empty_one_ends_none() -> None:
    sources, targets = synonym_ends(["", "a b", "a bc", "usa"])
    assert sources.tolist() == [2, 3]
    assert targets.tolist() == [1, 2, 3]


def test_a_table_comes_back_from_disk(tmp_path: Path) -> None:
    table = PhraseTable.build(FACTS, CORPUS)
    table.save(tmp_path)
    again = PhraseTable.load(tmp_path, CORPUS)
    assert again.phrases == table.phrases
    assert again.fact_texts == table.fact_texts
    assert (again.facts.tolist(), again.rows.tolist()) == (table.facts.tolist(), table.rows.tolist())
    assert [again.statement(i) for i in range(4)] == list(FACTS)


def test_a_table_without_facts_has_a_graph_of_passages_alone(tmp_path: Path) -> None:
    PhraseTable.build((), CORPUS).save(tmp_path)
    graph = PhraseGraph(PhraseTable.load(tmp_path, CORPUS), NONE)
    assert (graph.n_phrases, graph.n_nodes, weights(graph)) == (0, 4, {})


def test_a_path_leads_from_a_start_by_the_triples_as_spelled() -> None:
    paths = PhrasePaths(graph_of(*FACTS), np.array([0]))
    assert paths[0] == (FACTS[0],)
    assert paths[1] == (FACTS[2],)
    assert paths[2] == (FACTS[0], FACTS[1], FACTS[3])


def test_a_step_between_synonyms_says_so_and_how_alike_they_are() -> None:
    alike = Synonyms(np.array([0, 2]), np.array([2, 0]), np.array([0.85, 0.85]))
    path = PhrasePaths(graph_of(FACTS[0], FACTS[3], synonyms=alike), np.array([0]))[2]
    assert path == (Triple("ada l", "synonym of", "engine", "", strength=8.5), FACTS[3])


def test_a_passage_that_no_start_reaches_has_no_path() -> None:
    paths = PhrasePaths(graph_of(*FACTS), np.array([0]))
    assert 3 not in paths
    assert list(paths) == [0, 1, 2]
    assert len(paths) == 3


def test_a_path_walks_through_candidates_alone() -> None:
    facts = (Triple("A", "r", "B", "p0"), Triple("B", "r", "B", "p1"), Triple("A", "s", "C", "p2"))
    assert 1 in PhrasePaths(graph_of(*facts), np.array([0]), np.array([0, 1]))
    through = PhrasePaths(graph_of(Triple("A", "r", "A", "p0"), Triple("C", "r", "C", "p0")), np.array([0]))
    assert list(through) == [0]
    assert 0 not in PhrasePaths(graph_of(*facts), np.array([0]), np.array([1]))
