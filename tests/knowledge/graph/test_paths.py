"""The triple graph around passages, by hand and against a plain search; paths of triples; spanning trees."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import networkx as nx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kg2rag.extraction import Extraction
from kg2rag.knowledge import KnowledgeGraph
from kg2rag.knowledge.graph.paths import (
    spanning_trees,
    surroundings,
    triple_paths,
    triples_of_passages,
)
from kg2rag.types import Corpus, Passage, Triple

CORPUS = Corpus.from_passages(
    [Passage(f"p{i}", "", "text", f"d{i}", 0) for i in range(6)]
)
Fact = tuple[str, str, int]  # head, tail, passage; -1 for none


def graph_of(facts: Sequence[Fact]) -> KnowledgeGraph:
    triples = (
        Triple(head, "r", tail, f"p{row}" if row >= 0 else "")
        for head, tail, row in facts
    )
    return KnowledgeGraph.build(Extraction(tuple(triples)), CORPUS)


def around(
    facts: Sequence[Fact],
    seeds: Sequence[int],
    hops: int,
    allowed: Sequence[int] | None = None,
) -> list[int]:
    mask = None if allowed is None else np.array(allowed, dtype=np.int64)
    return surroundings(
        graph_of(facts), np.array(seeds, dtype=np.int64), hops, mask
    ).triples.tolist()


CHAIN: list[Fact] = [("a", "b", 0), ("b", "c", 1), ("c", "d", 2), ("d", "e", 3)]


def test_each_hop_reaches_one_triple_further_both_ways_over_passages_that_are_allowed():
    assert [around(CHAIN, [0], hops) for hops in range(4)] == [
        [0],
        [0, 1],
        [0, 1, 2],
        [0, 1, 2, 3],
    ]
    assert around(CHAIN, [2], 1) == [1, 2, 3]
    assert around(CHAIN, [0], 3, allowed=[0, 2, 3]) == [0]
    assert around(CHAIN, [], 2) == around([], [0, 1], 2) == []


def test_what_passages_state_comes_passage_by_passage_in_the_order_given() -> None:
    graph = graph_of([("a", "b", 1), ("c", "d", 0), ("e", "f", 1), ("g", "h", -1)])
    assert triples_of_passages(graph, np.array([1, 0, 5])).tolist() == [0, 2, 1]


FACTS = st.lists(
    st.tuples(
        st.sampled_from("abcdefg"), st.sampled_from("abcdefg"), st.integers(-1, 5)
    ),
    max_size=15,
)


@given(
    FACTS,
    st.lists(st.integers(0, 5), unique=True),
    st.integers(0, 3),
    st.sets(st.integers(0, 5)),
)
def test_it_agrees_with_a_plain_search(
    facts: list[Fact], seeds: list[int], hops: int, allowed: set[int]
) -> None:
    graph = graph_of(facts)
    known = [graph.triple(i) for i in range(graph.n_triples)]
    usable = [
        i
        for i, triple in enumerate(known)
        if triple.passage_id and int(triple.passage_id[1:]) in allowed
    ]
    reached = {
        end
        for i in usable
        if int(known[i].passage_id[1:]) in seeds
        for end in (known[i].head, known[i].tail)
    }
    for _ in range(hops):
        ends = [(known[i].head, known[i].tail) for i in usable]
        reached |= {end for pair in ends if reached & set(pair) for end in pair}
    expected = [i for i in usable if {known[i].head, known[i].tail} <= reached]
    assert around(facts, seeds, hops, sorted(allowed)) == expected


@given(FACTS, st.lists(st.integers(0, 5), min_size=1, unique=True), st.integers(0, 3))
def test_a_path_is_a_chain_from_a_seeds_triple_to_the_triple_asked_for(
    facts: list[Fact], seeds: list[int], hops: int
) -> None:
    graph = graph_of(facts)
    found = surroundings(graph, np.array(seeds, dtype=np.int64), hops)
    for triple in found.triples.tolist():
        path = found.path(triple)
        steps = [graph.triple(i) for i in path]
        assert path[-1] == triple
        assert steps[0].passage_id in {f"p{seed}" for seed in seeds}
        assert all({a.head, a.tail} & {b.head, b.tail} for a, b in pairwise(steps))


NOTES = (Triple("Ada", "wrote", "Notes", "a"), Triple("Notes", "on", "Engine", "b"))


@pytest.fixture
def graph() -> KnowledgeGraph:
    corpus = Corpus.from_passages(
        [Passage("a", "A", "x", "a", 0), Passage("b", "B", "y", "b", 0)]
    )
    return KnowledgeGraph.build(Extraction(triples=NOTES), corpus)


def test_a_path_is_the_triples_of_its_codes_in_the_order_walked(
    graph: KnowledgeGraph,
) -> None:
    paths = triple_paths(graph, {1: (1, 0), 0: ()})
    assert paths.get(1) == NOTES[::-1]
    assert paths.get(0) == paths.get(7) == ()


#        0       1       2       3       4       5       6: preferred in this order
EDGES = [(0, 1), (2, 3), (1, 4), (0, 5), (4, 6), (1, 0), (3, 3)]


def trees(edges: list[tuple[int, int]]) -> list[tuple[list[int], list[int]]]:
    ends = np.array(edges, dtype=np.int64).reshape(-1, 2)
    return [tuple(tree) for tree in spanning_trees(ends[:, 0], ends[:, 1])]  # type: ignore[misc]


def test_a_tree_is_walked_from_its_best_edge_first_end_first_and_the_best_tree_comes_first():
    ends = np.array(EDGES)
    best, other = spanning_trees(ends[:, 0], ends[:, 1])
    assert (best.edges, best.parents, other.edges) == ([0, 3, 2, 4], [-1, 0, 0, 2], [1])
    assert best.path(3) == [0, 2, 4]  # from the root


def test_of_a_cycle_the_least_preferred_edge_goes() -> None:
    assert trees([(0, 1), (1, 2), (2, 0)])[0][0] == [0, 1]


def test_self_loops_and_no_edges_make_no_tree() -> None:
    assert trees([(7, 7)]) == trees([]) == []


@given(st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9)), max_size=40))
def test_the_trees_hold_the_edges_that_networkx_chooses(
    edges: list[tuple[int, int]],
) -> None:
    graph = nx.MultiGraph()
    for number, (head, tail) in enumerate(edges):
        graph.add_edge(head, tail, weight=len(edges) - number, number=number)
    expected = sorted(
        data["number"] for *_, data in nx.maximum_spanning_edges(graph, data=True)
    )
    found = trees(edges)
    assert sorted(edge for tree, _ in found for edge in tree) == expected
    assert [tree[0] for tree, _ in found] == sorted(min(tree) for tree, _ in found)
