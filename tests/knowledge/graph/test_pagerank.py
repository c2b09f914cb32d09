"""The compiled PageRank beside a direct solution of its linear system."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kg2rag.knowledge.graph.pagerank import BLOCK, STRIPS, UndirectedGraph, pagerank, pagerank_within
from kg2rag.types import FloatArray

Edge = tuple[int, int, float]


def graph_of(edges: list[Edge], n_nodes: int) -> UndirectedGraph:
    columns = np.array(edges, dtype=np.float64).reshape(-1, 3)
    return UndirectedGraph.from_edges(columns[:, 0].astype(int), columns[:, 1].astype(int), columns[:, 2], n_nodes)


def reference(edges: list[Edge], n_nodes: int, restart: FloatArray, damping: float) -> FloatArray:
    """The slow way: (I - damping · P) x = (1 - damping) · r as a dense matrix, dangling nodes included in P."""
    weights = np.zeros((n_nodes, n_nodes))
    for a, b, weight in edges:
        if a != b:
            weights[a, b] += weight
            weights[b, a] += weight
    r = restart / restart.sum()
    strength = weights.sum(axis=0)
    moves = np.where(strength > 0, weights / np.where(strength > 0, strength, 1), r[:, None])
    return np.linalg.solve(np.eye(n_nodes) - damping * moves, (1 - damping) * r)


@st.composite
def problems(draw: st.DrawFn) -> tuple[list[Edge], int, FloatArray, float]:
    n = draw(st.integers(1, 12))
    node = st.integers(0, n - 1)
    edges = draw(st.lists(st.tuples(node, node, st.floats(0.01, 100)), max_size=30))
    restart = np.array(draw(st.lists(st.floats(0, 10), min_size=n, max_size=n)))
    restart[draw(node)] += 1
    return edges, n, restart, draw(st.floats(0.05, 0.95))


@given(problems())
@settings(deadline=None, max_examples=150)
def test_the_kernel_equals_the_direct_solution(problem: tuple[list[Edge], int, FloatArray, float]) -> None:
    edges, n, restart, damping = problem
    found = pagerank(graph_of(edges, n), restart[None], damping)[0]
    np.testing.assert_allclose(found, reference(edges, n, restart, damping), atol=1e-9)


def test_two_nodes_by_hand() -> None:
    # x0 = d·x1 + (1 - d), x1 = d·x0, so x0 = 1 / (1 + d) and x1 = d / (1 + d): 2/3 and 1/3 at d = 1/2.
    found = pagerank(graph_of([(0, 1, 7.0)], 2), np.array([[5.0, 0.0]]), 0.5)[0]
    assert found == pytest.approx([2 / 3, 1 / 3], abs=1e-12)


def test_a_node_without_edges_returns_its_mass_to_the_restart() -> None:
    # Node 2, alone, has half of the restart r = (1/2, 0, 1/2), and gets c·r2 with c = (1/2) / (1 - 1/2 · 1/2) = 2/3.
    found = pagerank(graph_of([(0, 1, 1.0)], 3), np.array([[1.0, 0.0, 1.0]]), 0.5)[0]
    assert found == pytest.approx([4 / 9, 2 / 9, 1 / 3], abs=1e-12)


def test_parallel_edges_add_up_and_self_loops_are_dropped() -> None:
    doubled = graph_of([(0, 1, 1.0), (1, 0, 2.0), (0, 0, 9.0), (1, 2, 1.0)], 3)
    plain = graph_of([(0, 1, 3.0), (1, 2, 1.0)], 3)
    assert doubled.weights.tolist() == plain.weights.tolist() == [3.0, 3.0, 1.0, 1.0]
    assert doubled.neighbours.tolist() == plain.neighbours.tolist() == [1, 0, 2, 1]


@pytest.mark.parametrize("size", [1, 7, 8, 9, 20])
def test_a_batch_has_the_bits_of_its_queries_one_by_one(size: int) -> None:
    random = np.random.default_rng(size)
    edges = [(int(a), int(b), float(w)) for a, b, w in random.random((200, 3)) * [50, 50, 3]]
    graph, restarts = graph_of(edges, 50), random.random((size, 50))
    together = pagerank(graph, restarts, 0.5)
    for i in range(size):
        assert together[i].tobytes() == pagerank(graph, restarts[i : i + 1], 0.5)[0].tobytes()


@pytest.mark.parametrize("size", [1, 2, 9])
@pytest.mark.parametrize("n_nodes", [50, STRIPS * BLOCK + 70])  # strips without a node, and with two blocks
def test_a_large_graph_has_the_bits_of_a_small_one_however_threads_share_it(
    size: int, n_nodes: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    random = np.random.default_rng(size)
    edges = [(int(a), int(b), float(w)) for a, b, w in random.random((4 * n_nodes, 3)) * [n_nodes, n_nodes, 3]]
    graph, restarts = graph_of(edges, n_nodes), random.random((9, n_nodes))
    batch = pagerank(graph, restarts, 0.5)
    monkeypatch.setattr("kg2rag.knowledge.graph.pagerank.MANY_ENTRIES", 1)
    assert pagerank(graph, restarts[:size], 0.5).tobytes() == batch[:size].tobytes()


def test_no_restart_is_no_score() -> None:
    assert not pagerank(graph_of([(0, 1, 1.0)], 2), np.zeros((1, 2)), 0.5).any()


def test_an_empty_graph_ranks_as_the_restart() -> None:
    found = pagerank(graph_of([], 3), np.array([[1.0, 0.0, 3.0]]), 0.85)[0]
    assert found == pytest.approx([0.25, 0.0, 0.75])


def test_an_induced_graph_keeps_the_edges_between_its_nodes() -> None:
    graph = graph_of([(0, 1, 1.0), (1, 3, 2.0), (3, 4, 4.0), (0, 3, 8.0)], 5).induced(np.array([1, 3, 4]))
    assert graph.indptr.tolist() == [0, 1, 3, 4]
    assert graph.neighbours.tolist() == [1, 0, 2, 1]
    assert graph.weights.tolist() == [2.0, 2.0, 4.0, 4.0]


def test_an_edge_without_weight_is_refused() -> None:
    with pytest.raises(ValueError, match=r"above 0, but the least is 0\.0"):
        graph_of([(0, 1, 0.0)], 2)


def test_an_edge_to_no_node_is_refused() -> None:
    with pytest.raises(ValueError, match="there are 2 nodes"):
        graph_of([(0, 2, 1.0)], 2)


@pytest.mark.parametrize("damping", [0.0, 1.0, -0.5])
def test_damping_lies_between_0_and_1(damping: float) -> None:
    with pytest.raises(ValueError, match="damping must be above 0 and below 1"):
        pagerank(graph_of([(0, 1, 1.0)], 2), np.ones((1, 2)), damping)


def test_a_negative_restart_is_refused() -> None:
    with pytest.raises(ValueError, match="at least 0"):
        pagerank(graph_of([(0, 1, 1.0)], 2), np.array([[1.0, -1.0]]), 0.5)


def test_within_a_scope_only_its_nodes_are_walked_and_every_other_query_is_walked_as_before() -> None:
    graph = graph_of([(0, 1, 1.0), (1, 2, 1.0), (2, 3, 1.0)], 4)
    restarts, inside = np.array([[1.0, 0, 0, 1.0], [1.0, 0, 0, 0]]), np.array([0, 1])
    scores = pagerank_within(graph, restarts, [inside, None], 0.5)
    assert scores[0, :2].tolist() == pagerank(graph_of([(0, 1, 1.0)], 2), np.array([[1.0, 0]]), 0.5)[0].tolist()
    assert scores[0, 2:].tolist() == [0, 0]
    assert scores[1].tolist() == pagerank(graph, restarts[1:], 0.5)[0].tolist()
