"""Maximum spanning trees and the walk over them: by hand, and against networkx."""

from __future__ import annotations

import networkx as nx
import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from kg2rag.knowledge.graph.paths import spanning_trees

#        0       1       2       3       4       5       6: preferred in this order
EDGES = [(0, 1), (2, 3), (1, 4), (0, 5), (4, 6), (1, 0), (3, 3)]


def trees(edges: list[tuple[int, int]]) -> list[tuple[list[int], list[int]]]:
    ends = np.array(edges, dtype=np.int64).reshape(-1, 2)
    return [tuple(tree) for tree in spanning_trees(ends[:, 0], ends[:, 1])]  # type: ignore[misc]


def test_a_tree_is_walked_from_its_best_edge_first_end_first_and_the_best_tree_comes_first() -> None:
    ends = np.array(EDGES)
    best, other = spanning_trees(ends[:, 0], ends[:, 1])
    assert (best.edges, best.parents, other.edges) == ([0, 3, 2, 4], [-1, 0, 0, 2], [1])
    assert best.path(3) == [0, 2, 4]  # from the root


def test_of_a_cycle_the_least_preferred_edge_goes() -> None:
    assert trees([(0, 1), (1, 2), (2, 0)])[0][0] == [0, 1]


def test_self_loops_and_no_edges_make_no_tree() -> None:
    assert trees([(7, 7)]) == trees([]) == []


@given(st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9)), max_size=40))
def test_the_trees_hold_the_edges_that_networkx_chooses(edges: list[tuple[int, int]]) -> None:
    graph = nx.MultiGraph()
    for number, (head, tail) in enumerate(edges):
        graph.add_edge(head, tail, weight=len(edges) - number, number=number)
    expected = sorted(data["number"] for *_, data in nx.maximum_spanning_edges(graph, data=True))
    found = trees(edges)
    assert sorted(edge for tree, _ in found for edge in tree) == expected
    assert [tree[0] for tree, _ in found] == sorted(min(tree) for tree, _ in found)
