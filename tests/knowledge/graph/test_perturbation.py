"""Controls: graphs that are wrong in a known way."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kg2rag.extraction import Entity, Extraction, Mention
from kg2rag.knowledge import KnowledgeGraph
from kg2rag.knowledge.graph.paths import Components
from kg2rag.knowledge.graph.perturbation import swap_labels
from kg2rag.types import Corpus, Passage, Triple

N_PASSAGES = 40


def world(seed: int = 0, facts: int = 120) -> KnowledgeGraph:
    """Names of a random few triples and mentions, hubs among them."""
    random = np.random.default_rng(seed)
    corpus = Corpus.from_passages(
        [Passage(f"p{i}", "", "text", f"d{i}", 0) for i in range(N_PASSAGES)]
    )
    names = [f"n{i}" for i in range(50)]
    mentions = tuple(Mention(name, f"p{random.integers(N_PASSAGES)}") for name in names)
    ends = (50 * random.random((facts, 2)) ** 2).astype(int)
    triples = tuple(
        Triple(
            names[head],
            f"r{random.integers(4)}",
            names[tail],
            f"p{random.integers(N_PASSAGES)}" if i % 9 else "",
        )
        for i, (head, tail) in enumerate(ends.tolist())
    )
    entities = tuple(
        Entity(name, "even" if i % 2 == 0 else "odd") for i, name in enumerate(names)
    )
    return KnowledgeGraph.build(Extraction(triples, mentions, entities), corpus)


def counted(graph: KnowledgeGraph) -> dict[str, list[int]]:
    """All that a placebo must keep."""
    return {
        "relations": np.bincount(graph.triples.relations).tolist(),
        "degrees": sorted(graph.degrees.tolist()),
        "passages of an entity": sorted(np.diff(graph.mentions.indptr).tolist()),
        "entities of a passage": sorted(np.diff(graph.mentioned.indptr).tolist()),
        "triples of a passage": sorted(np.diff(graph.stated[0]).tolist()),
        "components": sorted(np.bincount(Components.of_graph(graph).labels).tolist()),
        "mention counts": sorted(graph.mentions.counts.tolist()),
    }


@settings(deadline=None, max_examples=30)
@given(st.integers(0, 1000), st.integers(0, 1000))
def test_a_shuffled_graph_keeps_all_that_can_be_counted(of: int, seed: int) -> None:
    graph = world(of)
    after = graph.perturb(shuffle=True, seed=seed)
    assert counted(after) == counted(graph)
    assert (after.names, after.types, after.relations) == (
        graph.names,
        graph.types,
        graph.relations,
    )


@pytest.mark.parametrize(
    "columns", [("triples", "heads", "tails"), ("mentions", "owners", "others")]
)
def test_a_shuffled_graph_keeps_hardly_any_pair_of_names_or_of_a_name_and_its_passage(
    columns: tuple[str, ...],
) -> None:
    def pairs(of: KnowledgeGraph) -> set[tuple[int, int]]:
        return set(
            zip(
                *(
                    getattr(getattr(of, columns[0]), one).tolist()
                    for one in columns[1:]
                ),
                strict=True,
            )
        )

    graph = world(facts=60)
    before = pairs(graph)
    assert len(before & pairs(graph.perturb(shuffle=True, seed=3))) < 0.15 * len(before)


def test_each_name_keeps_about_its_number_of_triples_in_a_shuffled_graph() -> None:
    graph = world(facts=300)
    after = graph.perturb(shuffle=True, seed=1)
    places, others = (
        np.argsort(np.argsort(degrees)) for degrees in (graph.degrees, after.degrees)
    )
    # Groups of four to seven, of either type.
    assert np.abs(places - others).max() <= 16


@given(st.integers(2, 30), st.integers(0, 1000))
def test_labels_swap_in_a_permutation_that_leaves_none_in_its_place(
    size: int, seed: int
) -> None:
    places = swap_labels([np.zeros(size, dtype=np.int64)], np.random.default_rng(seed))
    assert sorted(places.tolist()) == list(range(size))
    assert (places != np.arange(size)).all()


def test_dropping_leaves_the_graph_of_the_other_triples() -> None:
    # The same entities and mentions, without a triple.
    graph, alone = (
        world(),
        world(facts=0),
    )
    after = graph.perturb(drop=0.25, seed=2)
    left = Extraction(
        tuple(map(after.triple, range(after.n_triples))),
        tuple(
            Mention(f"n{one}", f"p{row}")
            for one in range(50)
            for row in alone.mentions.of(one)[0]
        ),
        tuple(map(Entity, graph.names, graph.types)),
    )
    corpus = Corpus.from_passages(
        [Passage(id_, "", "text", id_, 0) for id_ in graph.passage_ids]
    )
    assert after.n_triples == round(0.75 * graph.n_triples)
    assert after == KnowledgeGraph.build(left, corpus)


@settings(deadline=None, max_examples=30)
@given(st.integers(0, 1000), st.sampled_from([0.1, 0.5, 1.0]))
def test_added_triples_are_new_no_loops_and_their_passages_mention_them(
    seed: int, share: float
) -> None:
    graph = world()
    after = graph.perturb(add=share, seed=seed)
    rows = [after.triple(i) for i in range(after.n_triples)]
    assert after.n_triples == graph.n_triples + round(share * graph.n_triples)
    assert len({(t.head, t.relation, t.tail, t.passage_id) for t in rows}) == len(rows)
    for triple in rows[graph.n_triples :]:
        assert triple.head != triple.tail
        if triple.passage_id:
            row = after.passage_ids.index(triple.passage_id)
            assert {after.entity(triple.head), after.entity(triple.tail)} <= set(
                after.mentioned.of(row)[0].tolist()
            )


def test_added_triples_have_the_relations_that_the_graph_has_most() -> None:
    corpus = Corpus.from_passages([Passage("p", "", "text", "d", 0)])
    triples = tuple(
        Triple(f"a{i}", "often" if i % 10 else "rarely", f"b{i}", "p")
        for i in range(200)
    )
    graph = KnowledgeGraph.build(Extraction(triples), corpus).perturb(add=1)
    often = [graph.triple(i).relation for i in range(200, 400)].count("often")
    assert 150 < often < 199  # nine in ten, of two hundred


@pytest.mark.parametrize(
    ("wrong", "message"),
    [({"drop": 1.5}, "drop"), ({"add": -1}, "add"), ({"add": 1}, "no room")],
)
def test_shares_out_of_range_or_without_room_are_refused(
    wrong: dict[str, float], message: str
) -> None:
    corpus = Corpus.from_passages([Passage("p", "", "text", "d", 0)])
    graph = KnowledgeGraph.build(Extraction((Triple("a", "r", "b", "p"),)), corpus)
    with pytest.raises(ValueError, match=message):
        graph.perturb(**wrong)


def test_an_empty_graph_can_be_perturbed_and_a_graph_emptied() -> None:
    corpus = Corpus.from_passages([Passage("p", "", "text", "d", 0)])
    graph = KnowledgeGraph.build(Extraction(), corpus)
    assert graph.perturb(drop=0.5, add=0.5, shuffle=True) == graph
    after = world().perturb(drop=1)
    assert (after.n_entities, after.n_triples) == (50, 0)


def test_the_same_triples_are_dropped_whatever_else_is_asked_for() -> None:
    graph = world()
    dropped = graph.perturb(drop=0.5, seed=4)
    both = graph.perturb(drop=0.5, add=0.5, seed=4)
    assert [both.triple(i) for i in range(dropped.n_triples)] == [
        dropped.triple(i) for i in range(dropped.n_triples)
    ]


def test_every_seed_has_a_graph_of_its_own() -> None:
    graph = world()
    made = [
        graph.perturb(drop=0.1, add=0.1, shuffle=True, seed=seed).fingerprint
        for seed in (0, 1, 2, 0)
    ]
    assert len({graph.fingerprint, *made}) == 4
    assert made[0] == made[3]
