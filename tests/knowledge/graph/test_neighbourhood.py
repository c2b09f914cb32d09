"""Which entities a walk reaches, by which path; and the graph score."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import pairwise

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kg2rag.extraction import Entity, Extraction
from kg2rag.knowledge import KnowledgeGraph, Neighbour, graph_score
from kg2rag.types import Corpus, Passage, Triple

CORPUS = Corpus.from_passages([Passage("p", "", "Text.", "p", 0)])


def graph_of(*edges: tuple[str, str, float], entities: Iterable[Entity] = ()) -> KnowledgeGraph:
    """Triples head-tail-strength; the relation of the n-th is r<n modulo 2>."""
    triples = tuple(Triple(head, f"r{i % 2}", tail, "p", strength=s) for i, (head, tail, s) in enumerate(edges))
    return KnowledgeGraph.build(Extraction(triples=triples, entities=tuple(entities)), CORPUS)


def reached(graph: KnowledgeGraph, seeds: str, **options: object) -> list[tuple[str, int, float, tuple[int, ...]]]:
    found = graph.neighbours([graph.entity(name) for name in seeds], **options)  # type: ignore[arg-type]
    return [(graph.names[near.entity], near.hop, near.weight, near.path) for near in found]


def test_triples_are_walked_both_ways_strongest_first() -> None:
    graph = graph_of(("a", "b", 3), ("c", "a", 8))
    assert reached(graph, "a") == [("c", 1, 8.0, (1,)), ("b", 1, 3.0, (0,))]


def test_equal_weights_are_ordered_by_entity() -> None:
    graph = graph_of(("c", "b", 5), ("c", "a", 5))
    assert [name for name, *_ in reached(graph, "c")] == ["b", "a"]


def test_expansion_reaches_the_second_hop_and_keeps_the_path() -> None:
    graph = graph_of(("a", "b", 9), ("b", "c", 4), ("c", "d", 7))
    assert reached(graph, "a", hops=3) == [("b", 1, 9.0, (0,)), ("c", 2, 4.0, (0, 1)), ("d", 3, 4.0, (0, 1, 2))]


def test_the_nearer_hop_wins_over_the_stronger_path() -> None:
    graph = graph_of(("a", "b", 1), ("a", "c", 9), ("c", "b", 9))
    assert reached(graph, "a", hops=2) == [("c", 1, 9.0, (1,)), ("b", 1, 1.0, (0,))]


def test_of_equally_long_paths_the_one_with_the_strongest_weakest_link_stands() -> None:
    graph = graph_of(("a", "b", 10), ("b", "d", 2), ("a", "c", 3), ("c", "d", 3))
    assert reached(graph, "a", hops=2)[-1] == ("d", 2, 3.0, (2, 3))


def test_of_equally_weak_paths_the_greater_sum_stands() -> None:
    graph = graph_of(("a", "b", 4), ("b", "d", 2), ("a", "c", 9), ("c", "d", 2))
    assert reached(graph, "a", hops=2)[-1] == ("d", 2, 2.0, (2, 3))


def test_of_equal_paths_the_one_whose_last_triple_came_first_stands() -> None:
    graph = graph_of(("a", "b", 4), ("a", "c", 4), ("c", "d", 4), ("b", "d", 4))
    assert reached(graph, "a", hops=2)[-1] == ("d", 2, 4.0, (1, 2))


def test_parallel_triples_reach_an_entity_by_the_strongest() -> None:
    graph = graph_of(("a", "b", 2), ("b", "a", 6))
    assert reached(graph, "a") == [("b", 1, 6.0, (1,))]


def test_seeds_are_not_neighbours_and_are_not_walked_through_twice() -> None:
    graph = graph_of(("a", "b", 5), ("b", "c", 5), ("a", "a", 9))
    assert reached(graph, "ab", hops=2) == [("c", 1, 5.0, (1,))]


def test_a_neighbour_names_the_seed_it_was_reached_from() -> None:
    graph = graph_of(("a", "c", 5), ("b", "c", 6), ("c", "d", 1))
    assert graph.neighbours([0, 2], hops=2) == [Neighbour(1, 1, 6.0, (1,), 2), Neighbour(3, 2, 1.0, (1, 2), 2)]


def test_repeated_seeds_count_once() -> None:
    graph = graph_of(("a", "b", 5))
    assert graph.neighbours([0, 0]) == graph.neighbours([0])


def test_weak_triples_are_not_walked_and_the_bound_itself_is() -> None:
    graph = graph_of(("a", "b", 0.3), ("a", "c", 0.2))
    assert [name for name, *_ in reached(graph, "a", min_weight=0.3)] == ["b"]


def test_relation_types_restrict_the_walk_whatever_their_case() -> None:
    graph = graph_of(("a", "b", 5), ("a", "c", 5), ("b", "d", 5))
    assert [name for name, *_ in reached(graph, "a", hops=2, relation_types=["R0"])] == ["b", "d"]


def test_types_restrict_what_is_reached_and_walked_through() -> None:
    types = [Entity(name, kind) for name, kind in (("b", "Film"), ("c", "Person"), ("d", "Film"), ("e", "Film"))]
    graph = graph_of(("a", "b", 5), ("a", "c", 5), ("b", "d", 5), ("c", "e", 5), entities=types)
    assert [name for name, *_ in reached(graph, "a", hops=2, types=["film"])] == ["b", "d"]


def test_each_entity_hands_on_to_at_most_limit_new_entities_its_strongest() -> None:
    graph = graph_of(("a", "b", 9), ("a", "c", 8), ("a", "d", 7), ("b", "e", 1), ("b", "f", 2), ("b", "g", 3))
    names = [name for name, *_ in reached(graph, "a", hops=2, limit=2)]
    assert names == ["b", "c", "g", "f"]


def test_parallel_triples_use_up_the_limit_once() -> None:
    graph = graph_of(("a", "b", 9), ("a", "b", 8), ("a", "c", 7), ("a", "d", 6))
    assert [name for name, *_ in reached(graph, "a", limit=2)] == ["b", "c"]


def test_entities_of_earlier_hops_use_up_no_limit() -> None:
    graph = graph_of(("a", "b", 9), ("b", "a", 9), ("b", "c", 1))
    assert [name for name, *_ in reached(graph, "a", hops=2, limit=1)] == ["b", "c"]


@pytest.mark.parametrize("hops", [0, 4])
def test_hops_go_from_one_to_three(hops: int) -> None:
    with pytest.raises(ValueError, match="hops must be"):
        graph_of(("a", "b", 5)).neighbours([0], hops=hops)


@pytest.mark.parametrize(("option", "value"), [("min_weight", -1), ("min_weight", 11), ("limit", 0)])
def test_an_option_out_of_range_is_named(option: str, value: int) -> None:
    with pytest.raises(ValueError, match=rf"{option} .*not {value}"):
        graph_of(("a", "b", 5)).neighbours([0], **{option: value})  # type: ignore[arg-type]


def test_an_unknown_relation_names_the_known_ones() -> None:
    with pytest.raises(ValueError, match=r"no relation 'directed by'. Known: 'r0'\."):
        graph_of(("a", "b", 5)).neighbours([0], relation_types=["directed by"])


def test_an_unknown_type_says_that_there_are_none() -> None:
    with pytest.raises(ValueError, match=r"no entity type 'film'. Known: none at all\."):
        graph_of(("a", "b", 5)).neighbours([0], types=["film"])


@pytest.mark.parametrize("seed", [-1, 2])
def test_a_seed_that_is_no_entity_is_an_error(seed: int) -> None:
    with pytest.raises(IndexError, match="a graph of 2 entities"):
        graph_of(("a", "b", 5)).neighbours([seed])


def reference(
    graph: KnowledgeGraph, seeds: list[int], hops: int, min_weight: float, limit: int | None
) -> list[Neighbour]:
    """The same walk, entity by entity over networkx."""
    walk = nx.MultiGraph()
    walk.add_nodes_from(range(graph.n_entities))
    for i, (head, tail) in enumerate(zip(graph.triples.heads.tolist(), graph.triples.tails.tolist(), strict=True)):
        if graph.triple(i).strength >= min_weight:
            walk.add_edge(head, tail, key=i, strength=graph.triple(i).strength)
    seen = set(seeds)
    frontier = {seed: (float("inf"), 0.0, (), seed) for seed in dict.fromkeys(seeds)}
    found = []
    for hop in range(1, hops + 1):
        best: dict[int, tuple[float, float, tuple[int, ...], int]] = {}
        for entity, (weight, total, path, seed) in frontier.items():
            steps = sorted(
                (-data["strength"], key, near) for _, near, key, data in walk.edges(entity, keys=True, data=True)
            )
            handed: list[int] = []
            for strength, key, near in steps:
                if near in seen or near in handed or len(handed) == limit:
                    continue
                handed.append(near)
                new = min(weight, -strength), total - strength, (*path, key), seed
                old = best.get(near)
                if old is None or (-new[0], -new[1], new[2][-1]) < (-old[0], -old[1], old[2][-1]):
                    best[near] = new
        seen |= set(best)
        frontier = best
        ranked = sorted(best, key=lambda entity: (-best[entity][0], entity))
        found += [Neighbour(entity, hop, best[entity][0], best[entity][2], best[entity][3]) for entity in ranked]
    return found


edges = st.lists(
    st.tuples(st.sampled_from("abcdefgh"), st.sampled_from("abcdefgh"), st.sampled_from([0.5, 1, 3, 5, 10])),
    min_size=1,
    max_size=25,
)


@settings(max_examples=300, deadline=None)
@given(edges, st.data(), st.integers(1, 3), st.sampled_from([0, 1, 4]), st.sampled_from([None, 1, 2, 5]))
def test_the_walk_equals_the_reference(
    given_edges: list[tuple[str, str, float]], data: st.DataObject, hops: int, min_weight: float, limit: int | None
) -> None:
    graph = graph_of(*given_edges)
    seeds = data.draw(st.lists(st.integers(0, graph.n_entities - 1), max_size=4))
    found = graph.neighbours(seeds, hops=hops, min_weight=min_weight, limit=limit)
    assert found == reference(graph, seeds, hops, min_weight, limit)


@settings(max_examples=100, deadline=None)
@given(edges, st.data(), st.integers(1, 3))
def test_the_columns_of_a_neighbourhood_are_the_neighbours_row_by_row(
    given_edges: list[tuple[str, str, float]], data: st.DataObject, hops: int
) -> None:
    graph = graph_of(*given_edges)
    seeds = data.draw(st.lists(st.integers(0, graph.n_entities - 1), max_size=3))
    around, listed = graph.neighbourhood(seeds, hops=hops), graph.neighbours(seeds, hops=hops)
    assert [around.neighbour(at) for at in range(len(around.entities))] == listed
    columns = zip(around.entities.tolist(), around.hops.tolist(), around.weights.tolist(), strict=True)
    assert list(columns) == [(near.entity, near.hop, near.weight) for near in listed]


@settings(max_examples=100, deadline=None)
@given(edges)
def test_hops_and_weights_are_the_best_of_all_shortest_paths(given_edges: list[tuple[str, str, float]]) -> None:
    graph = graph_of(*given_edges)
    widest = nx.Graph()
    for head, tail, strength in given_edges:
        known = widest.get_edge_data(head, tail, {"strength": 0})["strength"]
        widest.add_edge(head, tail, strength=max(known, strength))
    for near in graph.neighbours([0], hops=3):
        paths = list(nx.all_shortest_paths(widest, graph.names[0], graph.names[near.entity]))
        assert near.hop == len(paths[0]) - 1
        weakest = [min(widest[a][b]["strength"] for a, b in pairwise(path)) for path in paths]
        assert near.weight == max(weakest)


def test_graph_score_of_a_full_strength_first_hop_and_much_mentioned_entity_is_one() -> None:
    assert graph_score(10, 1, 31) == 1.0  # log2(32) / 5 = 1
    assert graph_score(10, 1, 1000) == 1.0


def test_graph_score_by_hand() -> None:
    # (8 / 10) * 2^-1 * (0.7 + 0.3 * log2(8) / 5) = 0.4 * 0.88
    assert graph_score(8, 2, 7) == pytest.approx(0.352, abs=1e-12)
    # (5 / 10) * 2^-2 * (0.7 + 0.3 * log2(1) / 5) = 0.125 * 0.7
    assert graph_score(5, 3, 0) == pytest.approx(0.0875, abs=1e-12)


def test_graph_score_takes_arrays() -> None:
    scores = graph_score(np.array([10, 5]), np.array([1, 2]), np.array([31, 31]))
    assert scores.tolist() == [1.0, 0.25]


@pytest.mark.parametrize("wrong", [(11, 1, 1), (-1, 1, 1), (5, 0, 1), (5, 1, -1), (float("nan"), 1, 1)])
def test_graph_score_refuses_what_is_out_of_range(wrong: tuple[float, int, int]) -> None:
    with pytest.raises(ValueError, match="is outside"):
        graph_score(*wrong)
