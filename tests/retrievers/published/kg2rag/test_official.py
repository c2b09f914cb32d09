"""KG2RAG as released: each rule by hand, the order against networkx, and the paper's switches against the pipeline."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from word_embedder import WordEmbedder

from kg2rag.compute import Store
from kg2rag.extraction import Extraction
from kg2rag.extraction.sources import GivenExtraction
from kg2rag.knowledge import KnowledgeBase
from kg2rag.retrievers.dense import Dense
from kg2rag.retrievers.published.kg2rag.official import (
    DEPARTURES,
    KG2RAGOfficial,
    QueryPlan,
)
from kg2rag.retrievers.published.kg2rag.paper import Expand, ExpandNotes, Organise
from kg2rag.retrievers.published.kg2rag.released import (
    TitlePool,
    depth_first_trees,
    iteration_trees,
    mentioned_names,
    mentions,
    title_walk,
    tree_text,
)
from kg2rag.testing import worlds
from kg2rag.testing.trial import facts
from kg2rag.types import Corpus, FloatArray, Passage, Query, Triple


def pool(
    titles: Sequence[str], facts: Mapping[int, Sequence[tuple[str, str]]]
) -> TitlePool:
    """Rows 0, 1, … with these titles; `facts` are the ends of each row's triples."""
    rows_of: dict[str, list[int]] = {}
    for row, title in enumerate(titles):
        rows_of.setdefault(title, []).append(row)
    stated = [
        [Triple(head, "r", tail, f"p{row}") for head, tail in facts.get(row, ())]
        for row in range(len(titles))
    ]
    return TitlePool(rows_of, titles, stated)


# Title expansion


@pytest.mark.parametrize(
    ("titles", "facts", "expected"),
    [
        # all passages of the title
        ("A B B C", {0: [("x", "B")], 1: [("y", "z")]}, [(1, "B"), (2, "B")]),
        ("A Bee", {0: [("bee", "Bee ")], 1: [("y", "z")]}, []),  # letter for letter
        (
            "A B C D",
            {0: [("x", "B")], 1: [("x", "C")], 2: [("x", "D")], 3: [("y", "z")]},
            [(1, "B"), (2, "C")],
        ),
        ("A B", {0: [("x", "B")]}, []),  # a title without any triple
    ],
)
def test_an_end_that_is_a_title_brings_that_titles_passages_and_those_of_one_step_more(
    titles: str,
    facts: Mapping[int, Sequence[tuple[str, str]]],
    expected: list[tuple[int, str]],
) -> None:
    assert (
        list(title_walk({0: 0.8}, pool(titles.split(), facts))[0].items()) == expected
    )


def test_other_passages_of_a_seeds_title_come_only_where_it_is_among_the_best_two_or_repeated_early():
    pages = pool(
        "A B C D D E A B C D".split(), {row: [("y", "z")] for row in range(10)}
    )
    seeds = {0: 0.9, 1: 0.8, 2: 0.7, 3: 0.6, 4: 0.5, 5: 0.1}
    assert title_walk(seeds, pages)[0] == {6: "A", 7: "B"}
    # D's mean, 0.5, is not among the best
    repeated = {3: 0.9, 4: 0.1, 0: 0.8, 1: 0.7, 2: 0.6, 5: 0.5}
    assert title_walk(repeated, pages)[0][9] == "D"


def test_a_titles_score_is_the_smoothed_mean_of_what_led_there() -> None:
    _, title_scores = title_walk(
        {0: 0.8, 3: 0.2}, pool(["A", "B", "C", "D"], {0: [("B", "B")], 1: [("x", "C")]})
    )
    scores = [(0.8 + 0.8 + 0.5) / 3, (1.6 / 2 + 0.5) / 2, 0.5]
    assert list(map(title_scores.smoothed, ("B", "C", "unheard"))) == pytest.approx(
        scores
    )


# Mentions


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("Ed Wood", True),  # edw dwo woo ood
        ("Ed Woods", False),  # 4 of 5
        ("edwood", True),  # n-grams run across blanks
        # as released: no n-gram of three letters
        *(("A 7", True), ("-", True), ("? ! .", True), ("", False)),
    ],
)
def test_a_name_is_mentioned_by_nine_tenths_of_its_n_grams(
    name: str, expected: bool
) -> None:
    assert mentions("Who directed Ed Wood ?", name) is expected


@pytest.mark.parametrize(
    ("facts", "expected"),
    [
        # in one pass
        (
            [("alpha", "directed", "Mr X"), ("Mr X", "directed", "Mr Y")],
            ["alpha", "Mr X", "Mr Y"],
        ),
        (
            [("Mr X", "directed", "Mr Y"), ("alpha", "directed", "Mr X")],
            ["alpha", "Mr X"],
        ),
        # what follows is looked up with its blanks
        ([("alpha", "directed", " X")], ["alpha", " X"]),
        ([("alpha", "directed ", "Mr X")], ["alpha"]),
        ([(" alpha", "directed", "Mr X")], ["alpha"]),
    ],
)
def test_a_mentioned_relation_carries_a_mention_over(
    facts: list[tuple[str, str, str]], expected: list[str]
) -> None:
    assert (
        mentioned_names("who directed alpha", (), [Triple(*fact, "") for fact in facts])
        == expected
    )


# Trees and strings

EDGE = st.tuples(st.sampled_from("abcdefgh"), st.sampled_from("abcdefgh"))


@settings(deadline=None)  # the first call imports SciPy
@given(st.lists(st.tuples(EDGE, st.sampled_from([0.25, 0.5, 0.75])), max_size=25))
def test_trees_come_in_the_order_of_networkx(
    facts: list[tuple[tuple[str, str], float]],
) -> None:
    """Component by component, as the released code goes, with the vertices in the order of the whole graph."""
    edges, weights = (
        [edge for edge, _ in facts],
        np.array([weight for _, weight in facts]),
    )
    graph, expected = nx.MultiGraph(), []
    graph.add_edges_from(
        [
            (*edge, {"weight": weight, "fact": fact})
            for fact, (edge, weight) in enumerate(facts)
        ]
    )
    for component in sorted(nx.connected_components(graph), key=len, reverse=True):
        part = nx.MultiGraph()
        part.add_nodes_from(vertex for vertex in graph if vertex in component)
        part.add_edges_from(
            [
                (*edge, {"weight": w, "fact": i})
                for i, (edge, w) in enumerate(facts)
                if edge[0] in part
            ]
        )
        kept = nx.maximum_spanning_tree(part).edges(data="fact")
        loop = max(part.edges(data=True), key=lambda edge: edge[2]["weight"])[2]["fact"]
        expected.append([fact for *_, fact in kept] if len(part) > 1 else [loop])
    assert iteration_trees(edges, weights, ()) == expected


@pytest.mark.parametrize(
    ("facts", "weights", "mentioned", "trees"),
    [
        # names join components and are in no list
        ("ab cd ef", [0.9, 0.8, 0.7], "acT", [[0, 1], [2]]),
        # An empty tree of names that only the question joins.
        (
            "ab",
            [0.9],
            "TUV",
            [[], [0]],
        ),
        ("ab cd bd", [0.5, 0.4, -0.1], "", [[0, 2, 1]]),
        # an edge of the question beats a negative fact
        ("ab cd bd", [0.5, 0.4, -0.1], "ac", [[0, 1]]),
        ("ab cd", [-0.1, 0.5], "ab", [[0], [1]]),  # but for names that a fact links
        ("ab cd", [-0.1, 0.5], "abc", [[1]]),
        ("ab bc", [0.0, 0.0], "abc", [[0, 1]]),  # and no fact of 0
        # a vertex of its own is its heaviest self-loop
        ("aa aa bc", [0.1, 0.9, 0.5], "", [[2], [1]]),
    ],
)
def test_trees_and_the_edges_of_the_question(
    facts: str, weights: list[float], mentioned: str, trees: list[list[int]]
) -> None:
    edges, names = [(fact[0], fact[1]) for fact in facts.split()], list(mentioned)
    assert iteration_trees(edges, np.array(weights), names) == trees
    walks = depth_first_trees(edges, np.array(weights), names)
    # which are no trees in the paper
    loops = [[i] for i, (head, tail) in enumerate(edges) if head == tail]
    assert sorted(map(sorted, walks)) == sorted(
        tree for tree in map(sorted, trees) if tree not in loops
    )


def test_a_string_repeats_passages_and_tells_all_triples_so_far_after_each() -> None:
    stated = [
        [Triple("a", "r", "b", "p0")],
        [Triple("c", "s", "d", "p1"), Triple("e", "t", "f", "p1")],
    ]
    text = tree_text([0, 1, 0], ["P0.", "P1."], stated, None)
    first, second = "a has/is r b", "c has/is s d, e has/is t f"
    assert text == (
        f"P0. Relational facts: {first}.P1. Relational facts: {first}{second}."
        f"P0. Relational facts: {first}{second}{first}."
    )
    assert tree_text([0, 1, 0], ["P0.", "P1."], None, None) == "P0.P1.P0."
    assert tree_text([0, 1, 0], ["P0.", "P1."], None, 4) == "P0.P"


# Choosing


class Table:
    def __init__(self, scores: Mapping[str, float]) -> None:
        self.by_text = scores

    def scores(self, pairs: Sequence[tuple[str, str]]) -> FloatArray:
        return np.array([self.by_text[text] for _, text in pairs])


def chosen(
    trees: Sequence[Sequence[int]], scores: Sequence[float], paper: str = ""
) -> list[int]:
    """Passages 0 to 5 with one fact each, so that a tree lists passages; the reranker prefers later passages."""
    facts = [Triple(f"h{i}", "r", f"t{i}", f"p{i}") for i in range(6)]
    nodes = {i: 1 - i / 10 for i in range(6)}
    plan = QueryPlan(
        nodes,
        6,
        facts,
        list(range(6)),
        [list(tree) for tree in trees],
        [""] * len(trees),
        [],
    )
    table = Table({str(i): float(i) for i in range(6)})
    corpus = Corpus.from_passages(
        Passage(f"p{i}", "", str(i), f"p{i}", 0) for i in range(6)
    )
    kb = KnowledgeBase.build(corpus, embedder=WordEmbedder())
    system = KG2RAGOfficial(kb, context=4, reranker=table, paper=paper)
    return list(system.select(Query("q", "q"), plan, np.array(scores))[0])


TREES, SCORES = [[0, 1, 2], [3, 4], [5]], [0.9, 0.8, 0.7]


@pytest.mark.parametrize(
    ("trees", "scores", "paper", "expected"),
    [
        # listed by similarity, whatever the trees say
        ([[0, 1], [3, 2]], [0.1, 0.9], "", [0, 1, 2, 3]),
        ([[0, 1], [3, 2]], [0.1, 0.9], "order", [3, 2, 0, 1]),
        (TREES, SCORES, "", [0, 1, 2]),  # the first that does not fit ends the choice
        (TREES, SCORES, "overflow", [0, 1, 2, 3]),
        # The rest is 1 2 3 4 5, best last: positions 4, 3, 2, 1, 0 of it; the code reads them off 0
        # 1 2 3 4 5.
        ([[0]], [0.9], "order", [0, 4, 3, 2]),
        ([[0]], [0.9], "order+refill", [0]),  # every other passage owns a triple
        ([[0, 1]], [0.9], "", [0, 1]),  # half of the places is enough
        ([], [], "", [5, 4, 3, 2]),  # without trees the reranker decides
    ],
)
def test_which_passages_are_chosen(
    trees: list[list[int]], scores: list[float], paper: str, expected: list[int]
) -> None:
    assert chosen(trees, scores, paper) == expected


# The whole


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> KnowledgeBase:
    corpus = worlds.corpus()
    store = Store(tmp_path_factory.mktemp("store"))
    return KnowledgeBase.build(
        corpus, worlds.graph(corpus), embedder=WordEmbedder(), store=store
    )


@pytest.mark.parametrize("hops", [1, 2])
def test_with_every_departure_undone_it_is_the_papers_pipeline(
    world: KnowledgeBase, hops: int
) -> None:
    official = KG2RAGOfficial(world, hops=hops, paper="all")
    paper = Dense(world) >> Expand(world, hops=hops) >> Organise(world)
    queries = worlds.queries()
    ours, theirs = (
        official.retrieve_batch(queries, 10),
        paper.retrieve_batch(queries, 10),
    )
    assert [ranking.passage_ids for ranking in ours] == [
        ranking.passage_ids for ranking in theirs
    ]
    assert any(ranking.notes.find(ExpandNotes).expanded for ranking in theirs)


@pytest.mark.parametrize("name", DEPARTURES)
def test_each_departure_counts(world: KnowledgeBase, name: str) -> None:
    released, undone = (
        KG2RAGOfficial(world, paper=paper).retrieve_batch(worlds.queries(), 20)
        for paper in ("", name)
    )
    assert any(
        facts(one) != facts(other) for one, other in zip(released, undone, strict=True)
    )


def test_titles_stand_together_and_sentences_in_their_order(
    kb_of: Callable[..., KnowledgeBase],
) -> None:
    facts = tuple(Triple(f"h{i}", "r", f"t{i}", f"p{i}") for i in range(3))
    kb = kb_of(
        ("A", "red"), ("B", "red green"), ("A", "red green blue yellow"), facts=facts
    )
    assert KG2RAGOfficial(kb, paper="query_edges+order").retrieve(
        "red", 3
    ).passage_ids == [
        "p0",
        "p1",
        "p2",
    ]
    assert KG2RAGOfficial(kb, paper="query_edges").retrieve("red", 3).passage_ids == [
        "p0",
        "p2",
        "p1",
    ]


def test_a_hit_tells_its_node_score_its_tree_and_its_facts(
    kb_of: Callable[..., KnowledgeBase],
) -> None:
    facts = (Triple("x", "r", "B", "p0"), Triple("y", "r", "z", "p1"))
    kb = kb_of(("A", "red"), ("B", "blue"), facts=facts)
    found = KG2RAGOfficial(kb, seeds=1).retrieve("red", 2)
    first, second = found
    assert (first.stage, second.stage) == ("seed", "expand")
    assert (first.path, second.path) == ((facts[0],), (facts[1],))
    cosine = 1 / np.sqrt(2)  # "A red"
    assert first.score_parts["node"] == pytest.approx(cosine)
    assert second.score_parts["node"] == pytest.approx((cosine + cosine) / 2)
    assert {first.score_parts["tree"], second.score_parts["tree"]} == {1, 2}


# Raw triples

PAGES = [
    ("Ed Wood", "red"),
    ("Ed Wood", "red blue green"),
    ("Big Fish", "yellow"),
    ("Zeta", "black"),
]
SENTENCES = Corpus.from_passages(
    Passage(f"p{i}", *page, page[0], i % 2) for i, page in enumerate(PAGES)
)
SUBGRAPH = {"title": "Ed Wood", "sentences": {"0": [["<Ed Wood", "like", "Big Fish>"]]}}
OTHER = {"title": "Big Fish", "sentences": {"0": [["Big Fish", "year", ""]]}}


@pytest.fixture
def subgraphs(tmp_path: Path) -> KnowledgeBase:
    (tmp_path / "subkgs.jsonl").write_text(
        "\n".join(map(json.dumps, (SUBGRAPH, OTHER)))
    )
    spec = f"subkgs({tmp_path / 'subkgs.jsonl'})"
    return KnowledgeBase.build(
        SENTENCES, spec, embedder=WordEmbedder(), store=Store(tmp_path / "store")
    )


def test_the_released_code_works_on_the_files_letters(subgraphs: KnowledgeBase) -> None:
    plan, blank = KG2RAGOfficial(subgraphs, seeds=1).plan(
        [Query("q", "red"), Query("q", "yellow")]
    )
    # "Big Fish>" is no title, so that the other sentence of the seed is all
    assert list(plan.nodes) == [0, 1]
    assert [(fact.head, fact.tail) for fact in plan.facts] == [
        ("<Ed Wood", "Big Fish>")
    ]
    # a vertex like any other
    assert [(fact.head, fact.tail) for fact in blank.facts] == [("Big Fish", "")]
    assert blank.trees == [[0]]


@pytest.mark.parametrize(
    ("mode", "facts", "order"),
    [
        (
            "musique",
            " Relational facts: <Ed Wood has/is like Big Fish>.",
            ["p1", "p0", "p2"],
        ),
        ("hotpotqa", "", ["p0", "p1", "p2"]),
    ],
)
def test_paragraphs_are_read_with_their_facts_and_sentences_without_in_the_order_of_their_page(
    subgraphs: KnowledgeBase, mode: Any, facts: str, order: list[str]
) -> None:
    system, query = KG2RAGOfficial(subgraphs, mode=mode), Query("q", "red blue green")
    assert system.plan([query])[0].texts[0] == f"Ed Wood: red{facts}"
    assert system.retrieve(query, 4).passage_ids == order


def test_titles_that_no_passage_at_hand_has_are_not_mentioned(
    subgraphs: KnowledgeBase,
) -> None:
    (few,), (all_,) = (
        KG2RAGOfficial(subgraphs, seeds=n).plan([Query("q", "blue zetas")])
        for n in (1, 4)
    )
    assert (sorted(few.nodes), few.mentioned) == ([0, 1], [])
    assert (sorted(all_.nodes), all_.mentioned) == ([0, 1, 2, 3], ["Zeta"])


def test_triples_that_were_cleaned_for_good_are_refused(tmp_path: Path) -> None:
    facts = (Triple("Ed Wood", "like", "Big Fish", "p0"),)
    source = GivenExtraction(Extraction(facts, notes={"cleaned: head after a '<'": 7}))
    kb = KnowledgeBase.build(
        SENTENCES, source, embedder=WordEmbedder(), store=Store(tmp_path)
    )
    with pytest.raises(ValueError, match=r"subkgs\(FILE\)"):
        KG2RAGOfficial(kb).retrieve("red", 3)


def test_it_says_where_its_triples_are_not_the_released_codes(
    subgraphs: KnowledgeBase, world: KnowledgeBase
) -> None:
    assert KG2RAGOfficial(subgraphs).remark == ""
    assert "those of KnowledgeGraph, not the sub-graphs" in KG2RAGOfficial(world).remark
    with pytest.raises(ValueError, match=r"'overfow'.*'overflow'"):
        KG2RAGOfficial(world, paper="order+overfow")
