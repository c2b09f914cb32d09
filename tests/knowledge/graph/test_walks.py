"""The compiled walk against plain loops, power iteration on a dense matrix, and networkx; its early end."""

from __future__ import annotations

import math
from dataclasses import dataclass

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kg2rag.knowledge.graph.walk_weights import cosine
from kg2rag.knowledge.graph.walks import TOGETHER, NodeWeights, Walk, WalkGraph

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


def sparse(weights: np.ndarray) -> NodeWeights:
    return NodeWeights(np.flatnonzero(weights), weights[weights > 0])


def dense(walk: Walk, n_nodes: int = N) -> tuple[np.ndarray, np.ndarray]:
    return walk.dense(n_nodes), walk.came_by(np.arange(n_nodes))


def quick_walk(
    graph: Graph,
    query: np.ndarray,
    restart: np.ndarray,
    allowed: np.ndarray,
    damping: float,
    temperature: float,
    iterations: int,
) -> tuple[np.ndarray, np.ndarray]:
    """The compiled walk of one query; shares and edges of all nodes."""
    *arrays, vectors = graph.arrays()
    (found,) = WalkGraph(*arrays, n_ranked=N).walks(
        vectors,
        query[None],
        [sparse(restart)],
        None if allowed.all() else [np.flatnonzero(allowed)],
        damping=damping,
        temperature=temperature,
        iterations=iterations,
    )
    return dense(found)


def plain_walk(
    graph: Graph,
    query: np.ndarray,
    restart: np.ndarray,
    allowed: np.ndarray,
    damping: float,
    temperature: float,
    iterations: int,
) -> tuple[np.ndarray, np.ndarray]:
    """The same walk over all nodes and edges in their order: the additions that its bits come from."""
    indptr, targets, weights, sentence_ptr, sentences, vectors = graph.arrays()
    transition = np.zeros(len(targets))
    for edge in np.flatnonzero(allowed[targets]).tolist():
        own = sentences[sentence_ptr[edge] : sentence_ptr[edge + 1]].tolist()
        fit = max((cosine(vectors[sentence], query) for sentence in own), default=1.0)
        transition[edge] = weights[edge] * math.exp((max(fit, -1.0) - 1.0) / temperature)  # as compiled code has it
    via = np.full(N, -1)
    if not restart.sum():
        return np.zeros(N), via
    start = restart / sum(restart.tolist())
    here, most = start.copy(), np.zeros(N)
    for step in range(iterations):
        there, stuck = np.zeros(N), 0.0
        for node in np.flatnonzero(here).tolist():
            own = range(indptr[node], indptr[node + 1])
            leaving = sum(transition[own].tolist())
            if leaving == 0.0:
                stuck += here[node]
                continue
            share = damping * here[node] / leaving
            for edge in own:
                flow, target = share * transition[edge], targets[edge]
                there[target] += flow
                if step == iterations - 1 and flow > most[target]:
                    most[target], via[target] = flow, edge
        here = there + (1.0 - damping + damping * stuck) * start
    return here, via


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
def test_the_walk_has_the_bits_of_plain_loops_and_equals_power_iteration_on_a_dense_matrix(
    edges: tuple[tuple[int, int, float, tuple[int, ...]], ...],
    restart: np.ndarray,
    allowed: np.ndarray,
    damping: float,
    temperature: float,
    iterations: int,
) -> None:
    graph, query = Graph(edges, unit(6, 1)), unit(1, 2)[0]
    scores, via = quick_walk(graph, query, restart, allowed, damping, temperature, iterations)
    shares, edges_in = plain_walk(graph, query, restart, allowed, damping, temperature, iterations)
    assert scores.tolist() == shares.tolist()
    assert via.tolist() == edges_in.tolist()
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
    scores, _ = quick_walk(graph, unit(1, 2)[0], restart, everywhere, damping, 0.25, 300)
    np.testing.assert_allclose(scores, [expected[node] for node in range(N)], atol=1e-9)


@settings(deadline=None, max_examples=20)
@given(EDGES, st.lists(st.tuples(WEIGHTS, MASK), min_size=1, max_size=TOGETHER + 2), st.booleans())
def test_a_batch_gives_the_bits_of_its_queries_one_by_one(
    edges: tuple[tuple[int, int, float, tuple[int, ...]], ...], rows: list[tuple[np.ndarray, np.ndarray]], free: bool
) -> None:
    graph, queries = Graph(edges, unit(6, 1)), unit(len(rows), 3)
    *arrays, vectors = graph.arrays()
    masks = [None if free else np.flatnonzero(allowed) for _, allowed in rows]
    starts, walked = [sparse(restart) for restart, _ in rows], WalkGraph(*arrays, n_ranked=N)
    together = walked.walks(vectors, queries, starts, masks, damping=0.5, temperature=0.25, iterations=10)
    for i, (restart, allowed) in enumerate(rows):
        entered = np.ones(N, dtype=bool) if free else allowed
        alone, edges_in = quick_walk(graph, queries[i], restart, entered, 0.5, 0.25, 10)
        assert together[i].dense(N).tolist() == alone.tolist()
        assert together[i].came_by(np.arange(N)).tolist() == edges_in.tolist()


def hubs(seed: int, n_nodes: int = 300) -> WalkGraph:
    """A random graph in which few nodes have most of the edges, and weights differ by orders of magnitude."""
    random = np.random.default_rng(seed)
    ends = (n_nodes * random.random((2, 4 * n_nodes)) ** [[1], [4]]).astype(np.int64)
    sources, targets = np.concatenate([ends, ends[::-1]], axis=1)
    order = np.argsort(sources, kind="stable")
    weights, sentences = 10 ** random.uniform(-4, 0, len(order)), random.integers(0, 6, len(order))
    indptr = np.searchsorted(sources[order], np.arange(n_nodes + 1))
    return WalkGraph(
        indptr, targets[order], weights, np.arange(len(order) + 1), sentences, n_ranked=n_nodes - n_nodes // 4
    )


@settings(deadline=None, max_examples=30)
@given(st.integers(0, 10**6), st.integers(1, 12), st.sampled_from([1, TOGETHER]))
def test_sweeps_over_all_edges_give_the_bits_of_steps_from_node_to_node(
    seed: int, iterations: int, n_queries: int
) -> None:
    graph, random = hubs(seed), np.random.default_rng(seed)
    starts = [NodeWeights.of(random.integers(0, graph.n_nodes, 2), random.random(2)) for _ in range(n_queries)]
    given_ = (unit(6, 1), unit(n_queries, 2), starts)
    settings_ = {"damping": 0.7, "temperature": 0.25, "iterations": iterations}
    masks = [np.arange(graph.n_ranked)] * n_queries  # they leave out nothing, but a walk under one makes no sweeps
    for swept, walked in zip(graph.walks(*given_, **settings_), graph.walks(*given_, masks, **settings_), strict=True):
        assert swept.nodes.tolist() == walked.nodes.tolist()
        assert swept.weights.tolist() == walked.weights.tolist()
        assert swept.via.tolist() == walked.via.tolist()


@settings(deadline=None, max_examples=60)
@given(st.integers(0, 10**6), st.integers(1, 40), st.sampled_from([0.3, 0.5, 0.85]), st.integers(1, 20))
def test_the_first_k_of_a_walk_that_ends_early_are_those_of_the_whole_walk_in_its_order(
    seed: int, k: int, damping: float, iterations: int
) -> None:
    graph, random = hubs(seed), np.random.default_rng(seed)
    start = NodeWeights.of(random.integers(0, graph.n_nodes, 4), random.random(4))
    given_ = (unit(6, 1), unit(1, 2), [start])
    settings_ = {"damping": damping, "temperature": 0.25, "iterations": iterations}
    (whole,), (early,) = (graph.walks(*given_, **settings_, certain=certain) for certain in (0, k))
    missing = whole.dense(graph.n_nodes) - early.dense(graph.n_nodes)
    assert missing.min() >= -1e-15
    assert missing.max() <= early.left_out + 1e-12
    assert missing.sum() == pytest.approx(early.left_out, abs=1e-12)
    first, expected = (
        np.lexsort((np.arange(graph.n_ranked), -walk.dense(graph.n_nodes)[: graph.n_ranked]))[:k]
        for walk in (early, whole)
    )
    assert first.tolist() == expected.tolist()


@settings(deadline=None, max_examples=60)
@given(st.integers(0, 10**6), st.sampled_from([1e-2, 1e-3, 1e-5]), st.sampled_from([0.3, 0.5, 0.85]))
def test_a_walk_with_a_floor_lacks_at_most_what_it_says_and_leaves_few_edges(
    seed: int, floor: float, damping: float
) -> None:
    graph, random = hubs(seed), np.random.default_rng(seed)
    starts = [NodeWeights.of(random.integers(0, graph.n_nodes, 4), random.random(4)) for _ in range(9)]
    given_ = (unit(6, 1), np.repeat(unit(1, 2), 9, axis=0), starts)
    settings_ = {"damping": damping, "temperature": 0.25, "iterations": 12}
    pairs = zip(graph.walks(*given_, **settings_), graph.walks(*given_, **settings_, floor=floor), strict=True)
    for (whole, cut), start in zip(pairs, starts, strict=True):
        missing = whole.dense(graph.n_nodes) - cut.dense(graph.n_nodes)
        assert missing.min() >= -1e-15
        assert missing.max() <= cut.left_out + 1e-12
        assert missing.sum() == pytest.approx(cut.left_out, abs=1e-12)
        assert len(cut.nodes) <= len(start.nodes) + 12 / floor
        (alone,) = graph.walks(*given_[:1], given_[1][:1], [start], **settings_, floor=floor)
        assert (alone.nodes.tolist(), alone.weights.tolist()) == (cut.nodes.tolist(), cut.weights.tolist())


def test_a_floor_above_every_share_leaves_the_walk_where_it_starts() -> None:
    graph, start = hubs(3), NodeWeights(np.array([7, 9]), np.array([3.0, 1.0]))
    (cut,) = graph.walks(unit(6, 1), unit(1, 2), [start], damping=0.5, temperature=0.25, iterations=15, floor=1.0)
    assert cut.nodes.tolist() == [7, 9]
    assert cut.weights.tolist() == pytest.approx([0.375, 0.125])
    assert cut.left_out == pytest.approx(0.5)


def test_a_walk_ends_early_where_the_first_are_far_ahead_and_goes_on_where_two_are_equal() -> None:
    graph, start = hubs(3, 3000), NodeWeights(np.array([7]), np.ones(1))
    settings_ = {"damping": 0.5, "temperature": 0.25, "iterations": 15}
    (whole,), (early,) = (graph.walks(unit(6, 1), unit(1, 2), [start], **settings_, certain=c) for c in (0, 1))
    assert whole.left_out == 0 < early.left_out
    assert len(early.nodes) < len(whole.nodes)
    pair = WalkGraph([0, 2, 3, 4], [1, 2, 0, 0], np.ones(4), np.zeros(5), [], n_ranked=3)
    walks = [pair.walks(unit(6, 1), unit(1, 2), [NodeWeights(np.array([0]), np.ones(1))], **settings_, certain=2)[0]]
    assert walks[0].left_out == 0
    assert walks[0].weights[1] == walks[0].weights[2]


def walk(graph: Graph, start: int, *, barred: tuple[int, ...] = (), iterations: int = 2) -> tuple[np.ndarray, ...]:
    """From one node, damping 0.5, with the first vector as the query."""
    restart, allowed = np.zeros(N), np.ones(N, dtype=bool)
    restart[start] = 1
    allowed[list(barred)] = False
    query = graph.vectors[0]
    return quick_walk(graph, query, restart, allowed, 0.5, 0.25, iterations)


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
    graph = Graph(((0, 1, 1.0, ()),), unit(1, 1))
    scores, via = quick_walk(graph, unit(1, 2)[0], np.zeros(N), np.ones(N, dtype=bool), 0.5, 0.25, 5)
    assert not scores.any()
    assert set(via.tolist()) == {-1}


def test_weights_of_a_repeated_node_are_added_and_nodes_of_no_weight_left_out() -> None:
    found = NodeWeights.of(np.array([5, 2, 5, 3]), np.array([1.0, 2.0, 0.5, 0.0]))
    assert (found.nodes.tolist(), found.weights.tolist()) == ([2, 5], [2.0, 1.5])
    assert found.plus(NodeWeights.of(np.array([5, 9]), np.array([1.0, 4.0]))).dense(10)[[2, 5, 9]].tolist() == [
        2,
        2.5,
        4,
    ]
    assert found.at(np.array([5, 0, 2, 9])).tolist() == [1.5, 0, 2.0, 0]
    assert found.within(5).nodes.tolist() == [2]
    assert NodeWeights.of(np.empty(0, dtype=np.int64), np.empty(0)).at(np.array([1])).tolist() == [0]
