"""Which entities a walk reaches, by which path; and the graph score."""

from __future__ import annotations

from typing import Any

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kg2rag.extraction import Extraction
from kg2rag.knowledge import KnowledgeGraph, Neighbour, graph_score
from kg2rag.types import Corpus, ParameterError, Passage, Triple

CORPUS = Corpus.from_passages([Passage("p", "", "Text.", "p", 0)])


def graph_of(*edges: tuple[str, str, float]) -> KnowledgeGraph:
    """Triples head-tail-strength; the relation of the n-th is r<n modulo 2>."""
    triples = tuple(
        Triple(head, f"r{i % 2}", tail, "p", strength=s)
        for i, (head, tail, s) in enumerate(edges)
    )
    return KnowledgeGraph.build(Extraction(triples), CORPUS)


def reached(
    graph: KnowledgeGraph, seeds: str, **options: object
) -> list[tuple[str, int, float, tuple[int, ...]]]:
    found = graph.neighbours([graph.entity(name) for name in seeds], **options)  # type: ignore[arg-type]
    return [
        (graph.names[near.entity], near.hop, near.weight, near.path) for near in found
    ]


@pytest.mark.parametrize(
    ("edges", "seeds", "options", "expected"),
    [
        pytest.param([("a", "b", 3), ("c", "a", 8)], "a", {}, "c1 b1", id="both ways, strongest first"),
        pytest.param([("c", "b", 5), ("c", "a", 5)], "c", {}, "b1 a1", id="equal weights by entity"),
        pytest.param([("a", "b", 5), ("b", "c", 5), ("a", "a", 9)], "ab", {"hops": 2}, "c1", id="seeds are none"),
        pytest.param([("a", "b", 0.3), ("a", "c", 0.2)], "a", {"min_weight": 0.3}, "b1", id="the bound is walked"),
        pytest.param(
            [("a", "b", 5), ("a", "c", 5), ("b", "d", 5)], "a", {"hops": 2, "relation_types": ["R0"]}, "b1 d2",
            id="relations in any case",
        ),
        pytest.param(
            [("a", "b", 9), ("a", "c", 8), ("a", "d", 7), ("b", "e", 1), ("b", "f", 2), ("b", "g", 3)], "a",
            {"hops": 2, "limit": 2}, "b1 c1 g2 f2", id="each hands on to its two strongest",
        ),
    ],
)  # fmt: skip
def test_a_walk_by_hand(
    edges: list[tuple[str, str, float]], seeds: str, options: Any, expected: str
) -> None:
    assert (
        " ".join(
            f"{name}{hop}"
            for name, hop, *_ in reached(graph_of(*edges), seeds, **options)
        )
        == expected
    )


def test_expansion_reaches_the_second_hop_and_keeps_the_path() -> None:
    graph = graph_of(("a", "b", 9), ("b", "c", 4), ("c", "d", 7))
    assert reached(graph, "a", hops=3) == [
        ("b", 1, 9.0, (0,)),
        ("c", 2, 4.0, (0, 1)),
        ("d", 3, 4.0, (0, 1, 2)),
    ]


@pytest.mark.parametrize(
    ("edges", "last"),
    [
        pytest.param(
            [("a", "b", 1), ("a", "c", 9), ("c", "b", 9)],
            ("b", 1, 1.0, (0,)),
            id="the nearer hop",
        ),
        pytest.param(
            [("a", "b", 10), ("b", "d", 2), ("a", "c", 3), ("c", "d", 3)],
            ("d", 2, 3.0, (2, 3)),
            id="the weakest link",
        ),
        pytest.param(
            [("a", "b", 4), ("b", "d", 2), ("a", "c", 9), ("c", "d", 2)],
            ("d", 2, 2.0, (2, 3)),
            id="the greater sum",
        ),
        pytest.param(
            [("a", "b", 4), ("a", "c", 4), ("c", "d", 4), ("b", "d", 4)],
            ("d", 2, 4.0, (1, 2)),
            id="the first triple",
        ),
        pytest.param(
            [("a", "b", 2), ("b", "a", 6)],
            ("b", 1, 6.0, (1,)),
            id="the stronger of parallel triples",
        ),
    ],
)
def test_of_several_paths_one_stands(
    edges: list[tuple[str, str, float]], last: tuple[object, ...]
) -> None:
    assert reached(graph_of(*edges), "a", hops=2)[-1] == last


def test_a_neighbour_names_the_seed_it_was_reached_from() -> None:
    graph = graph_of(("a", "c", 5), ("b", "c", 6), ("c", "d", 1))
    assert graph.neighbours([0, 2], hops=2) == [
        Neighbour(1, 1, 6.0, (1,), 2),
        Neighbour(3, 2, 1.0, (1, 2), 2),
    ]


@pytest.mark.parametrize(
    ("option", "value"),
    [
        ("hops", 0),
        ("hops", 4),
        ("min_weight", -1),
        ("min_weight", 11),
        ("limit", 0),
        ("relation_types", ["by"]),
    ],
)
def test_an_option_out_of_range_or_an_unknown_relation_is_named(
    option: str, value: Any
) -> None:
    with pytest.raises(
        ValueError, match="by" if option == "relation_types" else option
    ):
        graph_of(("a", "b", 5)).neighbours([0], **{option: value})


@pytest.mark.parametrize("seed", [-1, 2])
def test_a_seed_that_is_no_entity_is_an_error(seed: int) -> None:
    with pytest.raises(IndexError, match=" 2 "):
        graph_of(("a", "b", 5)).neighbours([seed])


def reference(
    graph: KnowledgeGraph,
    seeds: list[int],
    hops: int,
    min_weight: float,
    limit: int | None,
) -> list[Neighbour]:
    """The same walk, entity by entity over networkx."""
    walk = nx.MultiGraph()
    walk.add_nodes_from(range(graph.n_entities))
    for i, (head, tail) in enumerate(
        zip(graph.triples.heads.tolist(), graph.triples.tails.tolist(), strict=True)
    ):
        if graph.triple(i).strength >= min_weight:
            walk.add_edge(head, tail, key=i, strength=graph.triple(i).strength)
    seen = set(seeds)
    frontier = {seed: (float("inf"), 0.0, (), seed) for seed in dict.fromkeys(seeds)}
    found = []
    for hop in range(1, hops + 1):
        best: dict[int, tuple[float, float, tuple[int, ...], int]] = {}
        for entity, (weight, total, path, seed) in frontier.items():
            steps = sorted(
                (-data["strength"], key, near)
                for _, near, key, data in walk.edges(entity, keys=True, data=True)
            )
            handed: list[int] = []
            for strength, key, near in steps:
                if near in seen or near in handed or len(handed) == limit:
                    continue
                handed.append(near)
                new = min(weight, -strength), total - strength, (*path, key), seed
                old = best.get(near)
                if old is None or (-new[0], -new[1], new[2][-1]) < (
                    -old[0],
                    -old[1],
                    old[2][-1],
                ):
                    best[near] = new
        seen |= set(best)
        frontier = best
        ranked = sorted(best, key=lambda entity: (-best[entity][0], entity))
        found += [
            Neighbour(entity, hop, best[entity][0], best[entity][2], best[entity][3])
            for entity in ranked
        ]
    return found


edges = st.lists(
    st.tuples(
        st.sampled_from("abcdefgh"),
        st.sampled_from("abcdefgh"),
        st.sampled_from([0.5, 1, 3, 5, 10]),
    ),
    min_size=1,
    max_size=25,
)


@settings(max_examples=100, deadline=None)
@given(
    edges,
    st.data(),
    st.integers(1, 3),
    st.sampled_from([0, 1, 4]),
    st.sampled_from([None, 1, 2, 5]),
)
def test_the_walk_equals_the_reference(
    given_edges: list[tuple[str, str, float]],
    data: st.DataObject,
    hops: int,
    min_weight: float,
    limit: int | None,
) -> None:
    graph = graph_of(*given_edges)
    seeds = data.draw(st.lists(st.integers(0, graph.n_entities - 1), max_size=4))
    found = graph.neighbours(seeds, hops=hops, min_weight=min_weight, limit=limit)
    assert found == reference(graph, seeds, hops, min_weight, limit)
    around = graph.neighbourhood(seeds, hops=hops, min_weight=min_weight, limit=limit)
    columns = zip(
        around.entities.tolist(),
        around.hops.tolist(),
        around.weights.tolist(),
        strict=True,
    )
    assert list(columns) == [(near.entity, near.hop, near.weight) for near in found]


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ((10, 1, 31), 1.0),  # log2(32) / 5 = 1
        ((10, 1, 1000), 1.0),
        ((8, 2, 7), 0.352),  # (8 / 10) * 2^-1 * (0.7 + 0.3 * log2(8) / 5) = 0.4 * 0.88
        # (5 / 10) * 2^-2 * (0.7 + 0.3 * log2(1) / 5) = 0.125 * 0.7.
        (
            (5, 3, 0),
            0.0875,
        ),
        ((np.array([10, 5]), np.array([1, 2]), np.array([31, 31])), [1.0, 0.25]),
    ],
)
def test_graph_score_by_hand(arguments: tuple[Any, ...], expected: Any) -> None:
    assert graph_score(*arguments) == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize(
    "wrong", [{"strength": 11}, {"strength": -1}, {"hop": 0}, {"mentions": -1}]
)
def test_a_graph_score_of_numbers_out_of_range_is_refused(
    wrong: dict[str, float],
) -> None:
    with pytest.raises(ParameterError, match=next(iter(wrong))):
        graph_score(**{"strength": 5, "hop": 1, "mentions": 1, **wrong})
