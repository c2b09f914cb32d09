"""KG2RAG as released: each rule by hand, the order against networkx, and the paper's switches against the pipeline."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields
from pathlib import Path
from typing import get_args, get_type_hints

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from word_embedder import WordEmbedder

from kg2rag.compute import Store
from kg2rag.extraction import Extraction
from kg2rag.extraction.combined import GivenExtraction
from kg2rag.knowledge import KnowledgeBase
from kg2rag.retrievers.dense import Dense
from kg2rag.retrievers.kg2rag.expand import Expand, ExpandNotes
from kg2rag.retrievers.kg2rag.official import KG2RAGOfficial, kg2rag_official, select
from kg2rag.retrievers.kg2rag.organise import Organise
from kg2rag.retrievers.kg2rag.plan import QueryPlan, Switches
from kg2rag.retrievers.kg2rag.released import (
    QuestionText,
    TitlePool,
    by_titles,
    depth_first_trees,
    iteration_trees,
    mentioned_names,
    tally,
    tree_text,
)
from kg2rag.testing import worlds
from kg2rag.types import Corpus, FloatArray, Passage, Query, Triple

RELEASED = Switches()
NAMES = [each.name for each in fields(Switches)]
TRIPLES = get_type_hints(Switches)["triples"]


def pool(titles: Sequence[str], facts: Mapping[int, Sequence[tuple[str, str]]]) -> TitlePool:
    """Rows 0, 1, … with these titles; `facts` are the ends of each row's triples."""
    rows_of: dict[str, list[int]] = {}
    for row, title in enumerate(titles):
        rows_of.setdefault(title, []).append(row)
    stated = [[Triple(head, "r", tail, f"p{row}") for head, tail in facts.get(row, ())] for row in range(len(titles))]
    return TitlePool(rows_of, titles, stated)


# Title expansion


def test_an_end_that_is_a_title_brings_that_titles_passages() -> None:
    pages = pool(["A", "B", "B", "C"], {0: [("x", "B")], 1: [("y", "z")]})
    assert by_titles([(0, 0.8)], pages) == [(1, "B"), (2, "B")]


def test_a_title_is_matched_letter_for_letter() -> None:
    assert by_titles([(0, 0.8)], pool(["A", "Bee"], {0: [("bee", "Bee ")], 1: [("y", "z")]})) == []


def test_a_title_two_steps_away_is_reached_and_one_three_steps_away_is_not() -> None:
    pages = pool(["A", "B", "C", "D"], {0: [("x", "B")], 1: [("x", "C")], 2: [("x", "D")], 3: [("y", "z")]})
    assert by_titles([(0, 0.8)], pages) == [(1, "B"), (2, "C")]


def test_a_title_without_any_triple_is_reached_only_by_the_switch() -> None:
    pages = pool(["A", "B"], {0: [("x", "B")]})
    assert by_titles([(0, 0.8)], pages) == []
    assert by_titles([(0, 0.8)], pages, without_triples=True) == [(1, "B")]


def test_other_passages_of_a_seeds_title_come_only_where_it_is_among_the_best_two_or_repeated_early() -> None:
    titles = ["A", "B", "C", "D", "D", "E", "A", "B", "C", "D"]
    pages = pool(titles, {row: [("y", "z")] for row in range(10)})
    seeds = [(0, 0.9), (1, 0.8), (2, 0.7), (3, 0.6), (4, 0.5), (5, 0.1)]
    assert by_titles(seeds, pages) == [(6, "A"), (7, "B")]
    assert by_titles(seeds, pages, all_own=True) == [(6, "A"), (7, "B"), (8, "C"), (9, "D")]
    repeated = [(3, 0.9), (4, 0.1), (0, 0.8), (1, 0.7), (2, 0.6), (5, 0.5)]  # D's mean, 0.5, is not among the best
    assert (9, "D") in by_titles(repeated, pages)


def test_a_titles_score_is_the_smoothed_mean_of_what_led_there() -> None:
    pages = pool(["A", "B", "C", "D"], {0: [("B", "B")], 1: [("x", "C")]})
    seeds = [(0, 0.8), (3, 0.2)]
    scores = tally(seeds, pages)
    assert scores.smoothed("B", 0.5) == pytest.approx((0.8 + 0.8 + 0.5) / 3)
    assert scores.smoothed("C", 0.5) == pytest.approx((1.6 / 2 + 0.5) / 2)
    assert scores.smoothed("unheard", 0.5) == 0.5


# Mentions


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("Ed Wood", True),  # edw dwo woo ood
        ("Ed Woods", False),  # 4 of 5
        ("edwood", True),  # n-grams run across blanks
        ("A 7", False),  # "a7" is shorter than 3: no n-gram
        ("", False),
    ],
)
def test_a_name_is_mentioned_by_nine_tenths_of_its_n_grams(name: str, expected: bool) -> None:
    assert QuestionText("Who directed Ed Wood ?", short_spans_match=False).mentions(name) is expected


@pytest.mark.parametrize("name", ["A 7", "-", "? ! ."])
def test_a_name_without_n_grams_is_mentioned_by_every_question_as_released(name: str) -> None:
    assert QuestionText("Who directed Ed Wood ?").mentions(name)


def test_a_mentioned_relation_carries_a_mention_over_and_on_within_one_pass() -> None:
    read = QuestionText("who directed alpha")
    forward = [Triple("alpha", "directed", "Mr X", ""), Triple("Mr X", "directed", "Mr Y", "")]
    assert mentioned_names(read, (), forward) == ["alpha", "Mr X", "Mr Y"]
    assert mentioned_names(read, (), forward[::-1]) == ["alpha", "Mr X"]


def test_what_follows_from_a_mention_is_looked_up_with_its_blanks() -> None:
    read = QuestionText("who directed alpha")
    assert mentioned_names(read, (), [Triple("alpha", "directed", " X", "")]) == ["alpha", " X"]
    assert mentioned_names(read, (), [Triple("alpha", "directed ", "Mr X", "")]) == ["alpha"]
    assert mentioned_names(read, (), [Triple(" alpha", "directed", "Mr X", "")]) == ["alpha"]


# Trees and strings

EDGE = st.tuples(st.sampled_from("abcdefgh"), st.sampled_from("abcdefgh"))


@settings(deadline=None)  # the first call imports SciPy
@given(st.lists(st.tuples(EDGE, st.sampled_from([0.25, 0.5, 0.75])), max_size=25))
def test_trees_come_in_the_order_of_networkx(facts: list[tuple[tuple[str, str], float]]) -> None:
    edges, weights = [edge for edge, _ in facts], np.array([weight for _, weight in facts])
    assert iteration_trees(edges, weights, (), self_loops=True) == list(map(list, by_networkx(edges, weights)))


def by_networkx(edges: Sequence[tuple[str, str]], weights: FloatArray) -> list[list[int]]:
    graph = nx.MultiGraph()
    for number, (head, tail) in enumerate(edges):
        graph.add_edge(head, tail, weight=float(weights[number]), number=number)
    trees = []
    for component in sorted(nx.connected_components(graph), key=len, reverse=True):
        part = nx.MultiGraph()
        part.add_nodes_from(vertex for vertex in graph if vertex in component)
        part.add_edges_from((*edge, data) for *edge, data in graph.edges(data=True) if edge[0] in component)
        if len(part) == 1:
            trees.append([max(part.edges(data=True), key=lambda edge: edge[2]["weight"])[2]["number"]])
        else:
            trees.append([data["number"] for *_, data in nx.maximum_spanning_tree(part).edges(data=True)])
    return trees


def test_mentioned_names_join_components_and_are_in_no_list() -> None:
    edges, weights = [("a", "b"), ("c", "d"), ("e", "f")], np.array([0.9, 0.8, 0.7])
    assert iteration_trees(edges, weights, ["a", "c", "T"], self_loops=True) == [[0, 1], [2]]
    assert depth_first_trees(edges, weights, ["a", "c"]) == [[0, 1], [2]]


def test_names_that_only_the_question_joins_are_an_empty_tree() -> None:
    assert iteration_trees([("a", "b")], np.array([0.9]), ["T", "U", "V"], self_loops=True) == [[], [0]]


def test_an_edge_of_the_question_beats_a_fact_of_negative_weight() -> None:
    edges = [("a", "b"), ("c", "d"), ("b", "d")]
    weights = np.array([0.5, 0.4, -0.1])
    assert iteration_trees(edges, weights, [], self_loops=True) == [[0, 2, 1]]
    assert iteration_trees(edges, weights, ["a", "c"], self_loops=True) == [[0, 1]]


def test_names_that_a_fact_of_negative_weight_links_have_no_other_edge() -> None:
    edges, weights = [("a", "b"), ("c", "d")], np.array([-0.1, 0.5])
    assert iteration_trees(edges, weights, ["a", "b"], self_loops=True) == [[0], [1]]
    assert iteration_trees(edges, weights, ["a", "b", "c"], self_loops=True) == [[1]]  # a-c and b-c are lighter


def test_a_vertex_of_its_own_is_its_heaviest_self_loop() -> None:
    edges, weights = [("a", "a"), ("a", "a"), ("b", "c")], np.array([0.1, 0.9, 0.5])
    assert iteration_trees(edges, weights, (), self_loops=True) == [[2], [1]]
    assert iteration_trees(edges, weights, (), self_loops=False) == [[2]]


def test_a_string_repeats_passages_and_tells_all_triples_so_far_after_each() -> None:
    stated = [[Triple("a", "r", "b", "p0")], [Triple("c", "s", "d", "p1"), Triple("e", "t", "f", "p1")]]
    text = tree_text([0, 1, 0], ["P0.", "P1."], stated, facts=True, limit=None)
    first, second = "a has/is r b", "c has/is s d, e has/is t f"
    assert text == (
        f"P0. Relational facts: {first}.P1. Relational facts: {first}{second}."
        f"P0. Relational facts: {first}{second}{first}."
    )
    assert tree_text([0, 1, 0], ["P0.", "P1."], stated, facts=False, limit=None) == "P0.P1.P0."
    assert tree_text([0, 1, 0], ["P0.", "P1."], stated, facts=False, limit=4) == "P0.P"


# Choosing


class Table:
    def __init__(self, scores: Mapping[str, float]) -> None:
        self.by_text = scores

    def scores(self, pairs: Sequence[tuple[str, str]]) -> FloatArray:
        return np.array([self.by_text[text] for _, text in pairs])


def chosen(
    trees: Sequence[Sequence[int]], scores: Sequence[float], *, context: int = 4, n: int = 6, **switches: str
) -> list[int]:
    """Passages 0 to n - 1 with one fact each, so that a tree lists passages; the reranker prefers later passages."""
    facts = [Triple(f"h{i}", "r", f"t{i}", f"p{i}") for i in range(n)]
    nodes = {i: 1 - i / 10 for i in range(n)}
    plan = QueryPlan(nodes, n, facts, list(range(n)), [list(tree) for tree in trees], [""] * len(trees), [])
    table = Table({str(i): float(i) for i in range(n)})
    switch = dataclasses.replace(RELEASED, **switches)  # type: ignore[arg-type]
    texts = [str(i) for i in range(n)]
    return select([Query("q", "q")], [plan], [np.array(scores)], table, texts, switch, context)[0].rows


def test_chosen_passages_are_listed_by_similarity_whatever_the_trees_say() -> None:
    assert chosen([[0, 1], [3, 2]], [0.1, 0.9]) == [0, 1, 2, 3]
    assert chosen([[0, 1], [3, 2]], [0.1, 0.9], order="trees") == [3, 2, 0, 1]


def test_the_first_tree_that_does_not_fit_ends_the_choice() -> None:
    trees, scores = [[0, 1, 2], [3, 4], [5]], [0.9, 0.8, 0.7]
    assert chosen(trees, scores) == [0, 1, 2]
    assert chosen(trees, scores, overflow="skip") == [0, 1, 2, 5]
    assert chosen(trees, scores, overflow="cut") == [0, 1, 2, 3]


def test_too_few_passages_are_refilled_at_positions_of_the_wrong_list() -> None:
    # The rest is 1 2 3 4 5, best last: positions 4, 3, 2, 1, 0 of it; the code reads them off 0 1 2 3 4 5.
    assert chosen([[0]], [0.9], order="trees") == [0, 4, 3, 2]
    assert chosen([[0]], [0.9], order="trees", refill="aligned") == [0, 5, 4, 3]
    assert chosen([[0]], [0.9], order="trees", refill="none") == [0]


def test_half_of_the_places_is_enough() -> None:
    assert chosen([[0, 1]], [0.9]) == [0, 1]


def test_without_trees_the_reranker_decides() -> None:
    assert chosen([], []) == [5, 4, 3, 2]


# The whole


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> KnowledgeBase:
    corpus = worlds.corpus()
    store = Store(tmp_path_factory.mktemp("store"))
    return KnowledgeBase.build(corpus, worlds.graph(corpus), embedder=WordEmbedder(), store=store)


@pytest.mark.parametrize("hops", [1, 2])
def test_with_the_papers_switches_it_is_the_papers_pipeline(world: KnowledgeBase, hops: int) -> None:
    official = KG2RAGOfficial(world, Switches.paper(), hops=hops)
    paper = Dense(world) >> Expand(world, hops=hops) >> Organise(world)
    queries = worlds.queries()
    ours, theirs = official.retrieve_batch(queries, 10), paper.retrieve_batch(queries, 10)
    assert [ranking.passage_ids for ranking in ours] == [ranking.passage_ids for ranking in theirs]
    assert any(ranking.notes.find(ExpandNotes).expanded for ranking in theirs)


def test_every_switch_alone_gives_a_valid_answer_to_every_query(world: KnowledgeBase) -> None:
    queries = worlds.queries()
    for name in NAMES:
        default, paper = getattr(RELEASED, name), getattr(Switches.paper(), name)
        for value in get_args(get_type_hints(Switches)[name]) or (default, paper):
            switches = dataclasses.replace(RELEASED, **{name: value})
            for ranking in KG2RAGOfficial(world, switches).retrieve_batch(queries, 10):
                assert len(ranking) <= 10


def test_the_paper_sets_every_switch_otherwise_than_the_released_code() -> None:
    assert all(getattr(RELEASED, name) != getattr(Switches.paper(), name) for name in NAMES)


def test_the_catalogue_offers_every_switch(world: KnowledgeBase) -> None:
    assert kg2rag_official(world).switches == RELEASED
    paper = {name: getattr(Switches.paper(), name) for name in NAMES}
    assert kg2rag_official(world, **paper).switches == Switches.paper()


def test_titles_stand_together_and_sentences_in_their_order(kb_of: Callable[..., KnowledgeBase]) -> None:
    facts = tuple(Triple(f"h{i}", "r", f"t{i}", f"p{i}") for i in range(3))
    kb = kb_of(("A", "red"), ("B", "red green"), ("A", "red green blue yellow"), facts=facts)
    plain = Switches(query_edges=False, group_titles=False)
    assert KG2RAGOfficial(kb, plain).retrieve("red", 3).passage_ids == ["p0", "p1", "p2"]
    grouped = dataclasses.replace(plain, group_titles=True)
    assert KG2RAGOfficial(kb, grouped).retrieve("red", 3).passage_ids == ["p0", "p2", "p1"]


def test_a_hit_tells_its_node_score_its_tree_and_its_facts(kb_of: Callable[..., KnowledgeBase]) -> None:
    facts = (Triple("x", "r", "B", "p0"), Triple("y", "r", "z", "p1"))
    kb = kb_of(("A", "red"), ("B", "blue"), facts=facts)
    found = KG2RAGOfficial(kb, Switches(separator="\n"), seeds=1).retrieve("red", 2)
    first, second = found
    assert (first.stage, second.stage) == ("seed", "expand")
    assert (first.path, second.path) == ((facts[0],), (facts[1],))
    cosine = 1 / np.sqrt(2)  # "A red"
    assert first.score_parts["node"] == pytest.approx(cosine)
    assert second.score_parts["node"] == pytest.approx((cosine + cosine) / 2)
    assert {first.score_parts["tree"], second.score_parts["tree"]} == {1, 2}


# Raw triples, clean triples

PAGES = [("Ed Wood", "red"), ("Ed Wood", "red blue green"), ("Big Fish", "yellow"), ("Zeta", "black")]
SUBGRAPH = {"title": "Ed Wood", "sentences": {"0": [["<Ed Wood", "like", "Big Fish>"]]}}
OTHER = {"title": "Big Fish", "sentences": {"0": [["Big Fish", "year", ""]]}}


@pytest.fixture
def sentences() -> Corpus:
    return Corpus.from_passages(Passage(f"p{i}", *page, page[0], i % 2) for i, page in enumerate(PAGES))


@pytest.fixture
def subgraphs(tmp_path: Path, sentences: Corpus) -> KnowledgeBase:
    (tmp_path / "subkgs.jsonl").write_text("\n".join(map(json.dumps, (SUBGRAPH, OTHER))))
    spec = f"subkgs({tmp_path / 'subkgs.jsonl'})"
    return KnowledgeBase.build(sentences, spec, embedder=WordEmbedder(), store=Store(tmp_path / "store"))


def test_the_released_code_works_on_the_files_letters_and_a_switch_cleans_them(subgraphs: KnowledgeBase) -> None:
    raw, clean = (KG2RAGOfficial(subgraphs, Switches(triples=triples), seeds=1) for triples in get_args(TRIPLES))
    (plan,) = raw.plan([Query("q", "red")])
    assert list(plan.nodes) == [0, 1]  # "Big Fish>" is no title, so that the other sentence of the seed is all
    assert [(fact.head, fact.tail) for fact in plan.facts] == [("<Ed Wood", "Big Fish>")]
    (plan,) = clean.plan([Query("q", "red")])
    assert list(plan.nodes) == [0, 1]  # Big Fish is found, but has no clean triple
    assert [(fact.head, fact.tail) for fact in plan.facts] == [("Ed Wood", "Big Fish")]


def test_a_blank_end_is_a_vertex_like_any_other(subgraphs: KnowledgeBase) -> None:
    (plan,) = KG2RAGOfficial(subgraphs, seeds=1).plan([Query("q", "yellow")])
    assert [(fact.head, fact.tail) for fact in plan.facts] == [("Big Fish", "")]
    assert plan.trees == [[0]]


def test_titles_that_no_passage_at_hand_has_are_not_mentioned(subgraphs: KnowledgeBase) -> None:
    question = Query("q", "blue zetas")
    assert QuestionText(question.text).mentions("Zeta")
    (plan,) = KG2RAGOfficial(subgraphs, seeds=1).plan([question])
    assert (sorted(plan.nodes), plan.mentioned) == ([0, 1], [])
    (plan,) = KG2RAGOfficial(subgraphs, seeds=4).plan([question])
    assert (sorted(plan.nodes), plan.mentioned) == ([0, 1, 2, 3], ["Zeta"])


def test_triples_that_were_cleaned_for_good_are_refused_unless_asked_for(sentences: Corpus, tmp_path: Path) -> None:
    facts = (Triple("Ed Wood", "like", "Big Fish", "p0"),)
    source = GivenExtraction(Extraction(facts, notes={"cleaned: head after a '<'": 7}))
    kb = KnowledgeBase.build(sentences, source, embedder=WordEmbedder(), store=Store(tmp_path))
    with pytest.raises(ValueError, match="cleaned: head after a '<': 7"):
        KG2RAGOfficial(kb).retrieve("red", 3)
    assert KG2RAGOfficial(kb, Switches(triples="clean")).retrieve("red", 3).passage_ids


def test_it_says_what_its_input_has_that_the_released_codes_has_not(
    subgraphs: KnowledgeBase, world: KnowledgeBase, tmp_path: Path
) -> None:
    assert KG2RAGOfficial(subgraphs, mode="hotpotqa").remark == ""
    assert "mode='musique'" in KG2RAGOfficial(subgraphs).remark
    assert "those of KnowledgeGraph, not the sub-graphs" in KG2RAGOfficial(world).remark
    assert KG2RAGOfficial(world, Switches.paper()).remark == ""
    paragraphs = Corpus.from_passages([Passage("p", *PAGES[0], "p", 0)])
    kb = KnowledgeBase.build(paragraphs, subgraphs.source, embedder=WordEmbedder(), store=Store(tmp_path))
    assert "over paragraphs" in KG2RAGOfficial(kb).remark


@pytest.mark.parametrize("wrong", [{"mode": "nq"}, {"context": 0}, {"seeds": 0}, {"max_characters": 0}])
def test_parameters_out_of_range_are_refused(world: KnowledgeBase, wrong: dict[str, object]) -> None:
    with pytest.raises(ValueError, match="must be"):
        KG2RAGOfficial(world, **wrong)  # type: ignore[arg-type]


def test_an_unknown_value_of_a_switch_is_refused_with_the_known_ones() -> None:
    with pytest.raises(ValueError, match="overflow must be"):
        Switches(overflow="burst")  # type: ignore[arg-type]
