"""The compiled PageRank beside a direct solution of its linear system."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kg2rag.knowledge.graph.pagerank import pagerank, pagerank_within
from kg2rag.knowledge.graph.undirected import PARTS, Rows, UndirectedGraph
from kg2rag.types import FloatArray, IntArray

Edge = tuple[int, int, float]
MANY_ENTRIES = "kg2rag.knowledge.graph.pagerank.MANY_ENTRIES"


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
@pytest.mark.parametrize("n_nodes", [5, 4000])  # parts without a node, and with many
def test_a_large_graph_has_the_bits_of_a_small_one_however_threads_share_it(
    size: int, n_nodes: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    random = np.random.default_rng(size)
    edges = [(int(a), int(b), float(w)) for a, b, w in random.random((4 * n_nodes, 3)) * [n_nodes, n_nodes, 3]]
    graph, restarts = graph_of(edges, n_nodes), random.random((9, n_nodes))
    batch = pagerank(graph, restarts, 0.5)
    monkeypatch.setattr(MANY_ENTRIES, 1)
    assert pagerank(graph, restarts[:size], 0.5).tobytes() == batch[:size].tobytes()
    monkeypatch.setattr("numba.get_num_threads", lambda: 1)
    assert pagerank(graph, restarts[:size], 0.5).tobytes() == batch[:size].tobytes()


def first(scores: FloatArray, k: int) -> list[list[int]]:
    """The first k of each row, as rankings have them: the greatest score first, of equal ones the first node."""
    return np.argsort(-scores, axis=1, kind="stable")[:, :k].tolist()


@given(problems(), st.integers(1, 14), st.integers(0, 11), st.integers(0, 12), st.sampled_from([1, 10**9]))
@settings(deadline=None, max_examples=300)
def test_what_is_certain_has_the_order_of_the_direct_solution(
    problem: tuple[list[Edge], int, FloatArray, float], k: int, begin: int, length: int, many: int
) -> None:
    edges, n, restart, damping = problem
    graph, ranked = graph_of(edges, n), slice(begin, begin + length)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(MANY_ENTRIES, many)  # walks of large graphs begin in float32
        found = pagerank(graph, restart[None], damping, certain=k, ranked=ranked)
    whole = pagerank(graph, restart[None], damping)
    assert first(found[:, ranked], k) == first(whole[:, ranked], k)
    solution, order = reference(edges, n, restart, damping)[ranked], first(found[:, ranked], k)[0]
    assert (np.diff(solution[order]) <= 1e-9).all()
    assert solution[order].min(initial=1) >= np.delete(solution, order).max(initial=0) - 1e-9


def large_problem(n_nodes: int, queries: int) -> tuple[UndirectedGraph, FloatArray]:
    """A random graph with some nodes without edges, and restarts at five nodes each and at all of them, in turn."""
    random = np.random.default_rng(n_nodes)
    sources, targets = random.integers(0, n_nodes - 20, (2, 4 * n_nodes))
    graph = UndirectedGraph.from_edges(sources, targets, 0.1 + random.random(4 * n_nodes), n_nodes)
    restarts = np.zeros((queries, n_nodes))
    for i, restart in enumerate(restarts):
        restart[random.choice(n_nodes, 5, replace=False)] = random.random(5)
        restart += 1e-3 * random.random(n_nodes) * (i % 2)
        restart[-20:] += 0.01 * random.random(20)
    return graph, restarts


@pytest.mark.parametrize("many", [1, 10**9])
@pytest.mark.parametrize("k", [1, 10, 100])
def test_a_walk_ends_when_the_first_are_certain_with_the_bits_of_its_batch(
    k: int, many: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    graph, restarts = large_problem(3000, 19)
    whole = pagerank(graph, restarts, 0.5)
    monkeypatch.setattr(MANY_ENTRIES, many)
    found = pagerank(graph, restarts, 0.5, certain=k)
    assert first(found, k) == first(whole, k)
    assert all((ended != solved).any() for ended, solved in zip(found, whole, strict=True))  # each before its time
    for size in (1, 2, 9):
        assert pagerank(graph, restarts[:size], 0.5, certain=k).tobytes() == found[:size].tobytes()


def test_queries_that_restart_nowhere_or_tie_do_not_change_those_beside_them() -> None:
    edges = [(0, leaf, 1.0) for leaf in range(1, 40)] + [(39, 40, 2.0)]
    graph, restarts = graph_of(edges, 41), np.zeros((9, 41))
    restarts[0, 0], restarts[2, 40], restarts[3:, 5] = 1, 1, np.arange(1, 7)
    whole = pagerank(graph, restarts, 0.5)
    found = pagerank(graph, restarts, 0.5, certain=5)
    assert found[0].tobytes() == whole[0].tobytes()  # its leaves tie: nothing is certain before the end
    assert not found[1].any()
    assert first(found, 5) == first(whole, 5)
    for i in range(9):
        assert found[i].tobytes() == pagerank(graph, restarts[i : i + 1], 0.5, certain=5)[0].tobytes()


@pytest.mark.parametrize("apart", [1e-4, 1e-7, 1e-9, 1e-11])
def test_nodes_that_hardly_differ_are_told_apart(apart: float, monkeypatch: pytest.MonkeyPatch) -> None:
    # Nodes 1 and 2 are alike but for their own restart, 3 and 4 have no edges.
    graph = graph_of([(0, 1, 1.0), (0, 2, 1.0), (0, 5, 1.0), (5, 6, 3.0)], 7)
    restart = np.array([[0.3, 0.1, 0.1 + apart, 0.05, 0.05 + apart, 0.0, 0.0]])
    monkeypatch.setattr(MANY_ENTRIES, 1)
    found = pagerank(graph, restart, 0.5, certain=7)
    assert first(found, 7) == first(pagerank(graph, restart, 0.5), 7)
    assert found[0, 2] > found[0, 1]
    assert found[0, 4] > found[0, 3]


def test_weights_whose_inverse_is_no_number_are_solved() -> None:
    graph = graph_of([(0, 1, 5e-324), (2, 3, 1.0)], 5)
    restart = np.array([[0.4, 0.0, 0.3, 0.0, 0.1]])
    found = pagerank(graph, restart, 0.5, certain=5)
    assert found[0] == pytest.approx([16 / 45, 8 / 45, 12 / 45, 6 / 45, 1 / 15])


@pytest.mark.parametrize("rows", ["rows", "by_degree"])
def test_parts_cover_the_nodes_and_a_place_has_the_entries_of_its_node(rows: str) -> None:
    graph, _ = large_problem(500, 0)
    laid: Rows = getattr(graph, rows)
    assert laid.parts[0] == 0
    assert laid.parts[PARTS] == 500
    assert (np.diff(laid.parts) >= 0).all()
    assert sorted(laid.places.tolist()) == list(range(500))
    for node, place in enumerate(laid.places.tolist()):
        own, theirs = slice(*laid.indptr[place : place + 2]), slice(*graph.indptr[node : node + 2])
        assert laid.neighbours[own].tolist() == laid.places[graph.neighbours[theirs]].tolist()
        assert laid.flows[own].tolist() == graph.flows[theirs].tolist()
        assert laid.strengths[place] == graph.strengths[node]
    assert np.diff(graph.by_degree.indptr.astype(int)).tolist() == sorted(np.diff(graph.indptr), reverse=True)


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


@pytest.mark.parametrize("bad", [-1.0, np.nan, np.inf, -np.inf])
def test_a_restart_below_0_or_not_finite_is_refused(bad: float) -> None:
    with pytest.raises(ValueError, match="at least 0"):
        pagerank(graph_of([(0, 1, 1.0)], 2), np.array([[1.0, 0.0], [1.0, bad]]), 0.5)


@pytest.mark.parametrize(("certain", "ranked"), [(-1, slice(None)), (1, slice(None, None, 2))])
def test_fewer_than_none_or_every_second_node_cannot_be_certain(certain: int, ranked: slice) -> None:
    with pytest.raises(ValueError, match=r"needed is 0 or more, of a slice of step 1"):
        pagerank(graph_of([(0, 1, 1.0)], 2), np.ones((1, 2)), 0.5, certain=certain, ranked=ranked)


def test_no_query_has_no_scores() -> None:
    assert pagerank(graph_of([(0, 1, 1.0)], 2), np.zeros((0, 2)), 0.5, certain=1).shape == (0, 2)


def test_within_a_scope_only_its_nodes_are_walked_and_every_other_query_is_walked_as_before() -> None:
    graph = graph_of([(0, 1, 1.0), (1, 2, 1.0), (2, 3, 1.0)], 4)
    restarts, inside = np.array([[1.0, 0, 0, 1.0], [1.0, 0, 0, 0]]), np.array([0, 1])
    scores = pagerank_within(graph, restarts, [inside, None], 0.5)
    assert scores[0, :2].tolist() == pagerank(graph_of([(0, 1, 1.0)], 2), np.array([[1.0, 0]]), 0.5)[0].tolist()
    assert scores[0, 2:].tolist() == [0, 0]
    assert scores[1].tolist() == pagerank(graph, restarts[1:], 0.5)[0].tolist()


def test_within_a_scope_the_solution_is_whole_whatever_is_certain() -> None:
    graph, restarts = large_problem(300, 3)
    scopes: list[IntArray | None] = [np.arange(200), None, None]
    whole, ranked = pagerank_within(graph, restarts, scopes, 0.5), slice(50, 250)
    found = pagerank_within(graph, restarts, scopes, 0.5, certain=3, ranked=ranked)
    assert found[0].tobytes() == whole[0].tobytes()
    assert found[1].tobytes() != whole[1].tobytes()
    assert first(found[:, ranked], 3) == first(whole[:, ranked], 3)
