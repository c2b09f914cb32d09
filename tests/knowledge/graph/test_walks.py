"""The compiled walk against power iteration on a dense matrix, and against networkx."""

from __future__ import annotations

from dataclasses import dataclass

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kg2rag.knowledge.graph.walks import query_aware_walk, query_aware_walks

N, DIM = 9, 11  # eleven axes: one full stride of the kernel's dot product, and a rest


@dataclass(frozen=True)
class Graph:
    """Edges (source, target, weight, sentences), in CSR order."""

    edges: tuple[tuple[int, int, float, tuple[int, ...]], ...]
    vectors: np.ndarray

    def arrays(self) -> tuple[np.ndarray, ...]:
        edges = sorted(self.edges)
        sources = [source for source, *_ in edges]
        return (
            np.searchsorted(sources, np.arange(N + 1)).astype(np.int64),
            np.array([target for _, target, _, _ in edges], dtype=np.int64),
            np.array([weight for _, _, weight, _ in edges], dtype=np.float64),
            np.cumsum([0, *(len(s) for *_, s in edges)]).astype(np.int64),
            np.array([sentence for *_, s in edges for sentence in s], dtype=np.int64),
            self.vectors,
        )


def slow_walk(
    graph: Graph,
    query: np.ndarray,
    restart: np.ndarray,
    allowed: np.ndarray,
    damping: float,
    temperature: float,
    iterations: int,
) -> np.ndarray:
    """The same walk as one matrix product a step."""
    if not restart.sum():
        return np.zeros(N)
    matrix = np.zeros((N, N))
    for source, target, weight, sentences in graph.edges:
        fit = max((float(graph.vectors[s].astype(float) @ query.astype(float)) for s in sentences), default=1.0)
        if allowed[target]:
            matrix[source, target] += weight * np.exp((fit - 1) / temperature)
    sums = matrix.sum(axis=1)
    matrix[sums > 0] /= sums[sums > 0, None]
    start = restart / restart.sum()
    here = start
    for _ in range(iterations):
        here = damping * (here @ matrix) + (1 - damping + damping * here[sums == 0].sum()) * start
    return here


def unit(rows: int, seed: int) -> np.ndarray:
    vectors = np.random.default_rng(seed).normal(size=(rows, DIM)).astype(np.float32)
    return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)


NODE = st.integers(0, N - 1)
EDGES = st.dictionaries(
    st.tuples(NODE, NODE),
    st.tuples(st.floats(0.01, 5), st.lists(st.integers(0, 5), max_size=3)),
    max_size=25,
).map(lambda edges: tuple((*ends, weight, tuple(sentences)) for ends, (weight, sentences) in edges.items()))
WEIGHTS = st.lists(st.sampled_from([0.0, 0.0, 0.3, 1.0, 2.5]), min_size=N, max_size=N).map(np.array)
MASK = st.lists(st.sampled_from([True, True, False]), min_size=N, max_size=N).map(np.array)


@settings(deadline=None)
@given(EDGES, WEIGHTS, MASK, st.sampled_from([0.3, 0.5, 0.85]), st.sampled_from([0.1, 0.25, 1.0]), st.integers(1, 12))
def test_the_walk_equals_power_iteration_on_a_dense_matrix(
    edges: tuple[tuple[int, int, float, tuple[int, ...]], ...],
    restart: np.ndarray,
    allowed: np.ndarray,
    damping: float,
    temperature: float,
    iterations: int,
) -> None:
    graph, query = Graph(edges, unit(6, 1)), unit(1, 2)[0]
    scores, _ = query_aware_walk(graph.arrays(), query, restart, allowed, damping, temperature, iterations)
    expected = slow_walk(graph, query, restart, allowed, damping, temperature, iterations)
    np.testing.assert_allclose(scores, expected, atol=1e-6)
    assert scores.sum() == pytest.approx(1.0 if restart.sum() else 0.0)


@settings(deadline=None, max_examples=30)
@given(EDGES, WEIGHTS, st.sampled_from([0.5, 0.85]))
def test_without_sentences_it_is_the_pagerank_of_networkx(
    edges: tuple[tuple[int, int, float, tuple[int, ...]], ...], restart: np.ndarray, damping: float
) -> None:
    if not restart.sum():
        return
    graph = Graph(tuple((*edge[:3], ()) for edge in edges), unit(1, 1))
    other = nx.DiGraph()
    other.add_nodes_from(range(N))
    other.add_weighted_edges_from(edge[:3] for edge in edges)
    personalization = dict(enumerate(restart.tolist()))
    expected = nx.pagerank(other, alpha=damping, personalization=personalization, tol=1e-12, max_iter=500)
    everywhere = np.ones(N, dtype=bool)
    scores, _ = query_aware_walk(graph.arrays(), unit(1, 2)[0], restart, everywhere, damping, 0.25, 300)
    np.testing.assert_allclose(scores, [expected[node] for node in range(N)], atol=1e-9)


@settings(deadline=None, max_examples=20)
@given(EDGES, st.lists(st.tuples(WEIGHTS, MASK), min_size=1, max_size=5))
def test_a_batch_gives_the_bits_of_its_queries_one_by_one(
    edges: tuple[tuple[int, int, float, tuple[int, ...]], ...], rows: list[tuple[np.ndarray, np.ndarray]]
) -> None:
    arrays, queries = Graph(edges, unit(6, 1)).arrays(), unit(len(rows), 3)
    restarts, masks = np.stack([row[0] for row in rows]), np.stack([row[1] for row in rows])
    scores, via = query_aware_walks(arrays, queries, restarts, masks, 0.5, 0.25, 10)
    for i in range(len(rows)):
        alone, edges_in = query_aware_walk(arrays, queries[i], restarts[i], masks[i], 0.5, 0.25, 10)
        np.testing.assert_array_equal(scores[i], alone)
        np.testing.assert_array_equal(via[i], edges_in)


def walk(graph: Graph, start: int, *, barred: tuple[int, ...] = (), iterations: int = 2) -> tuple[np.ndarray, ...]:
    """From one node, damping 0.5, with the first vector as the query."""
    restart, allowed = np.zeros(N), np.ones(N, dtype=bool)
    restart[start] = 1
    allowed[list(barred)] = False
    query = graph.vectors[0]
    return query_aware_walk(graph.arrays(), query, restart, allowed, 0.5, 0.25, iterations)


def test_two_steps_of_a_chain_by_hand() -> None:
    graph = Graph(((0, 1, 1.0, ()), (1, 2, 1.0, ())), unit(1, 1))
    scores, via = walk(graph, 0)  # 0: 1 -> ½ -> ½;  1: 0 -> ½ -> ¼;  2: 0 -> 0 -> ¼
    assert scores[:4].tolist() == [0.5, 0.25, 0.25, 0.0]
    assert via[:4].tolist() == [-1, 0, 1, -1]


def test_a_better_fitting_sentence_carries_e_to_the_difference_over_the_temperature() -> None:
    vectors = np.eye(2, DIM, dtype=np.float32)  # cosines with the query: 1 and 0
    scores, _ = walk(Graph(((0, 1, 1.0, (0,)), (0, 2, 1.0, (1,))), vectors), 0, iterations=1)
    assert scores[1] / scores[2] == pytest.approx(np.exp(1 / 0.25))


def test_an_edge_counts_by_its_best_sentence() -> None:
    vectors = np.eye(2, DIM, dtype=np.float32)
    scores, _ = walk(Graph(((0, 1, 1.0, (1, 0)), (0, 2, 1.0, ())), vectors), 0, iterations=1)
    assert scores[1] == scores[2] == 0.25


def test_the_edge_that_brings_most_in_the_last_step_is_the_way_in() -> None:
    edges = ((0, 1, 3.0, ()), (0, 2, 1.0, ()), (1, 3, 1.0, ()), (2, 3, 1.0, ()))
    _, via = walk(Graph(edges, unit(1, 1)), 0, iterations=4)
    assert via[3] == 2  # 1 -> 3 brings three times what 2 -> 3 does


def test_a_barred_node_is_never_entered_and_its_share_goes_elsewhere() -> None:
    graph = Graph(((0, 1, 1.0, ()), (0, 2, 1.0, ())), unit(1, 1))
    scores, _ = walk(graph, 0, barred=(1,), iterations=1)
    assert scores[:3].tolist() == [0.5, 0.0, 0.5]


def test_a_node_without_a_way_out_returns_its_mass_to_the_start() -> None:
    scores, _ = walk(Graph(((0, 1, 1.0, ()),), unit(1, 1)), 0, iterations=2)
    assert scores[:2].tolist() == [0.75, 0.25]  # 1 -> (½, ½) -> (½ + ½·½, ½·½)


def test_an_empty_restart_gives_nothing() -> None:
    arrays = Graph(((0, 1, 1.0, ()),), unit(1, 1)).arrays()
    scores, via = query_aware_walk(arrays, unit(1, 2)[0], np.zeros(N), np.ones(N, dtype=bool), 0.5, 0.25, 5)
    assert not scores.any()
    assert set(via.tolist()) == {-1}
