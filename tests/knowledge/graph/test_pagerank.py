"""PageRank beside igraph's and a direct solution of its linear system, and walks over a part of a graph."""

from __future__ import annotations

from collections.abc import Sequence

import igraph
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kg2rag.knowledge.graph.pagerank import NodeWeights, Walk, WalkGraph, walks
from kg2rag.types import FloatArray

Edge = tuple[int, int, float]


def columns(edges: Sequence[Edge]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    table = np.array(edges, dtype=np.float64).reshape(-1, 3)
    return table[:, 0].astype(int), table[:, 1].astype(int), table[:, 2]


def undirected(edges: Sequence[Edge], n_nodes: int) -> WalkGraph:
    return WalkGraph.undirected(*columns(edges), n_nodes)


def directed(edges: Sequence[Edge], n_nodes: int) -> WalkGraph:
    """With a way back of weight 0 for every edge, as a `WalkGraph` needs it."""
    return WalkGraph.directed(
        *columns([*edges, *((b, a, 0.0) for a, b, _ in edges)]), n_nodes
    )


def solved(graph: WalkGraph, restart: Sequence[float], damping: float = 0.5) -> Walk:
    return walks(graph, [NodeWeights.of_dense(np.array(restart))], damping)[0]


def reference(
    edges: Sequence[Edge], n_nodes: int, restart: FloatArray, damping: float
) -> FloatArray:
    """The slow way: (I - damping · P) x = (1 - damping) · r as a dense matrix, dangling nodes included in P."""
    weights = np.zeros((n_nodes, n_nodes))
    for source, target, weight in edges:
        weights[target, source] += weight
    r = restart / restart.sum()
    leaving = weights.sum(axis=0)
    moves = np.where(
        leaving > 0, weights / np.where(leaving > 0, leaving, 1), r[:, None]
    )
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
@settings(deadline=None, max_examples=50)
def test_a_walk_is_the_solution_of_the_linear_system(
    problem: tuple[list[Edge], int, FloatArray, float],
) -> None:
    edges, n, restart, damping = problem
    found = solved(directed(edges, n), restart, damping).shares
    np.testing.assert_allclose(found, reference(edges, n, restart, damping), atol=1e-8)
    both = [*edges, *((b, a, weight) for a, b, weight in edges)]
    proper = [edge for edge in both if edge[0] != edge[1]]
    found = solved(undirected(edges, n), restart, damping).shares
    np.testing.assert_allclose(found, reference(proper, n, restart, damping), atol=1e-8)


def random_edges(n_nodes: int, seed: int = 0) -> list[Edge]:
    random = np.random.default_rng(seed)
    rows = random.random((4 * n_nodes, 3)) * [n_nodes, n_nodes, 3]
    return [
        (int(a), int(b), float(weight)) for a, b, weight in rows if int(a) != int(b)
    ]


def test_a_walk_is_that_of_igraph() -> None:
    n, edges = 2000, random_edges(2000)
    restart = np.zeros(n)
    restart[[3, 5, 1999]] = 0.2, 0.5, 0.3
    for is_directed, graph in (
        (True, directed(edges, n)),
        (False, undirected(edges, n)),
    ):
        theirs = igraph.Graph(
            n=n, edges=[edge[:2] for edge in edges], directed=is_directed
        )
        weights = [edge[2] for edge in edges]
        expected = theirs.personalized_pagerank(
            reset=restart.tolist(),
            damping=0.5,
            directed=is_directed,
            weights=weights,
            implementation="prpack",
        )
        np.testing.assert_allclose(solved(graph, restart).shares, expected, atol=1e-9)


def test_two_nodes_by_hand() -> None:
    # x0 = d·x1 + (1 - d), x1 = d·x0, so x0 = 1 / (1 + d) and x1 = d / (1 + d): 2/3 and 1/3 at d =
    # 1/2.
    assert solved(undirected([(0, 1, 7.0)], 2), [5.0, 0.0]).shares == pytest.approx(
        [2 / 3, 1 / 3], abs=1e-10
    )


def test_a_node_without_edges_returns_its_mass_to_the_restart() -> None:
    # Node 2, alone, has half of the restart r = (1/2, 0, 1/2), and gets c·r2 with c = (1/2) / (1 -
    # 1/2 · 1/2) = 2/3.
    found = solved(undirected([(0, 1, 1.0)], 3), [1.0, 0.0, 1.0]).shares
    assert found == pytest.approx([4 / 9, 2 / 9, 1 / 3], abs=1e-10)


@pytest.mark.parametrize("size", [1, 15, 16, 17, 40])
def test_a_batch_has_the_bits_of_its_queries_one_by_one(size: int) -> None:
    graph, random = undirected(random_edges(50), 50), np.random.default_rng(size)
    starts = [NodeWeights.of_dense(restart) for restart in random.random((size, 50))]
    for start, walk in zip(starts, walks(graph, starts, 0.5), strict=True):
        assert walk.shares.tobytes() == walks(graph, [start], 0.5)[0].shares.tobytes()


def test_so_many_steps_reach_nodes_so_many_edges_away() -> None:
    line = undirected([(0, 1, 1.0), (1, 2, 1.0), (2, 3, 1.0)], 4)
    (walk,) = walks(line, [NodeWeights(np.array([0]), np.ones(1))], 0.5, steps=2)
    # x = r, then r/2 + P·x/2 twice: (1/2, 1/2, 0, 0) and (1/2 + 1/8, 1/4, 1/8, 0), which sum to 1.
    assert walk.shares.tolist() == pytest.approx([0.625, 0.25, 0.125, 0.0])
    assert walk.nonzero(4).nodes.tolist() == [0, 1, 2]


def test_no_start_is_no_walk() -> None:
    nothing = NodeWeights(np.empty(0, dtype=np.int64), np.empty(0))
    assert not solved(undirected([(0, 1, 1.0)], 2), [0.0, 0.0]).shares.any()
    (walk,) = walks(
        undirected([(0, 1, 1.0)], 2), [nothing], 0.5, scopes=[np.ones(2, dtype=bool)]
    )
    assert (walk.dense(2).tolist(), len(walk.nonzero(2).nodes)) == ([0.0, 0.0], 0)
    assert walk.strongest_incoming(np.array([0, 1]))[0].tolist() == [-1, -1]


@given(problems(), st.lists(st.booleans(), min_size=12, max_size=12))
@settings(deadline=None, max_examples=50)
def test_a_walk_within_a_scope_is_that_over_its_nodes_and_the_edges_between_them(
    problem: tuple[list[Edge], int, FloatArray, float], inside: list[bool]
) -> None:
    edges, n, restart, damping = problem
    scope = np.array(inside[:n])
    restart = np.where(scope, restart, 0.0)
    kept = [edge for edge in edges if scope[edge[0]] and scope[edge[1]]]
    graph, start = directed(edges, n), NodeWeights.of_dense(restart)
    (walk,) = walks(graph, [start], damping, scopes=[scope])
    expected = reference(kept, n, restart, damping) if restart.any() else np.zeros(n)
    np.testing.assert_allclose(walk.dense(n), expected, atol=1e-8)
    assert not walk.cut


def test_a_walk_over_a_large_graph_is_over_the_nearest_nodes_from_the_greatest_starts():
    # Two lines, 0 - 1 - 2 - 3 and 4 - 5 - 6 - 7: from 4, the greater start, and 0 the search finds
    # 4, 0, 5, 1, 6.
    graph = undirected(
        [(0, 1, 1.0), (1, 2, 1.0), (2, 3, 1.0), (4, 5, 1.0), (5, 6, 1.0), (6, 7, 1.0)],
        8,
    )
    start = NodeWeights(np.array([0, 4]), np.array([1.0, 2.0]))
    (walk,) = walks(graph, [start], 0.5, reach=5)
    assert (walk.nodes.tolist(), walk.cut) == ([0, 1, 4, 5, 6], True)
    shorter = undirected([(0, 1, 1.0), (4, 5, 1.0), (5, 6, 1.0)], 8)
    assert walk.dense(8) == pytest.approx(walks(shorter, [start], 0.5)[0].shares)
    assert walk.dense(5).tolist() == walk.dense(8)[:5].tolist()


def test_the_strongest_way_to_a_node_is_the_edge_that_brought_most() -> None:
    edges = [(0, 2, 1.0), (1, 2, 2.0), (0, 1, 3.0), (2, 3, 1.0)]
    graph = directed(edges, 4)
    start = NodeWeights(np.array([0, 1]), np.array([3.0, 1.0]))
    for scope in (None, np.array([True, True, True, False])):
        (walk,) = walks(graph, [start], 0.5, scopes=[scope])
        shares = walk.dense(4)
        assert shares[0] * 1 / 4 < shares[1]  # what edges 0 and 1 bring to node 2
        edge, before = walk.strongest_incoming(np.array([2, 0, 3, -1]))
        assert edge.tolist() == [1, -1, 3 if scope is None else -1, -1]
        assert before.tolist() == [1, -1, 2 if scope is None else -1, -1]


def test_of_two_edges_that_bring_equally_much_the_first_is_the_way_to_a_node() -> None:
    graph = directed([(0, 2, 1.0), (1, 2, 1.0)], 3)
    start = NodeWeights(np.array([0, 1]), np.ones(2))
    (walk,) = walks(graph, [start], 0.5)
    assert [part.tolist() for part in walk.strongest_incoming(np.array([2]))] == [
        [0],
        [0],
    ]


def test_no_way_to_a_node_leads_from_one_that_is_out_of_reach() -> None:
    # 0 -> 1 -> 2 with reach for two nodes, 0 and 1.
    graph = directed([(0, 1, 1.0), (1, 2, 100.0)], 3)
    (walk,) = walks(graph, [NodeWeights(np.array([0]), np.ones(1))], 0.5, reach=2)
    assert [part.tolist() for part in walk.strongest_incoming(np.array([1, 2]))] == [
        [0, -1],
        [0, -1],
    ]


@pytest.mark.parametrize("damping", [0.0, 1.0, float("nan")])
def test_a_damping_out_of_range_is_refused(damping: float) -> None:
    with pytest.raises(ValueError, match="damping"):
        walks(
            undirected([(0, 1, 1.0)], 2),
            [NodeWeights(np.array([0]), np.ones(1))],
            damping,
        )


def test_weights_of_a_repeated_node_are_added_and_nothing_is_left_out_of_none() -> None:
    both = NodeWeights.of(np.array([4, 2, 4, 1]), np.array([1.0, 2.0, 0.5, 0.0]))
    assert (both.nodes.tolist(), both.weights.tolist()) == ([2, 4], [2.0, 1.5])
    assert both.weights_of(np.array([4, 0, 2, 9])).tolist() == [1.5, 0.0, 2.0, 0.0]
    assert both.plus(both).weights.tolist() == [4.0, 3.0]
