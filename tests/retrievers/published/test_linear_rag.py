"""Bridging from entity to sentence to entity, and the walk that follows; cosines are those of word sets."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from kg2rag.knowledge import KnowledgeBase
from kg2rag.retrievers.dense import Dense
from kg2rag.retrievers.published.linear_rag import Activation, LinearRAG
from kg2rag.retrievers.published.tri_graph import tri_graph
from kg2rag.types import Query

Build = Callable[..., KnowledgeBase]
FILMS = (
    ("Ed Wood", "The film was directed by Tim Burton."),
    ("Tim Burton", "An artist from Burbank."),
    ("Paris", "A city that who directed films calls home."),
    ("Burbank", "A city of California."),
)
# shares three of four words with the nine of "Ed Wood: The film was …": cosine ½
ASKED = "Who directed Ed Wood?"


def activated(
    system: LinearRAG, text: str, candidates: tuple[str, ...] | None = None
) -> dict[str, Activation]:
    kb, query = system.kb, Query("q", text, candidates)
    vector, mask = kb.encode_queries([query])[0], kb.candidates([query])[0]
    active = system.activate(system.link([query])[0], vector, mask)
    return {kb.mentions.names[entity]: found for entity, found in active.items()}


def named(system: LinearRAG, text: str) -> dict[str, float]:
    return {
        system.kb.mentions.names[entity]: score
        for entity, score in system.link([Query("q", text)])[0].items()
    }


@pytest.mark.parametrize(
    ("text", "found"),
    [
        # Spelt out.
        (
            "is tim burton from burbank",
            {"Tim Burton": 1.0, "Burbank": 1.0},
        ),
        # a phrase: the nearest name, with their cosine
        ("where is Timothy Burton from", {"Tim Burton": 0.5}),
    ],
)
def test_what_a_query_names_and_how_surely(
    kb_of: Build, text: str, found: dict[str, float]
) -> None:
    assert named(LinearRAG(kb_of(*FILMS)), text) == pytest.approx(found)


def test_activation_passes_through_a_sentence_in_proportion_to_its_cosine(
    kb_of: Build,
) -> None:
    active = activated(LinearRAG(kb_of(*FILMS)), ASKED)
    assert active["Ed Wood"] == Activation(1.0, 1)
    assert active["Tim Burton"][:2] == (pytest.approx(0.5), 2)
    assert len(active) == 2


@pytest.mark.parametrize(
    "limit", [{"iteration_threshold": 0.51}, {"max_iterations": 1}]
)
def test_below_the_threshold_or_within_one_iteration_nothing_is_bridged(
    kb_of: Build, limit: dict[str, Any]
) -> None:
    assert list(activated(LinearRAG(kb_of(*FILMS), **limit), ASKED)) == ["Ed Wood"]


CHAIN = (
    ("Ash", "Red Ash Oak."),
    ("Oak", "Red Oak Elm."),
    ("Elm", "Red Elm Fir."),
    ("Fir", "Red tree."),
)


def test_each_iteration_goes_one_sentence_further(kb_of: Build) -> None:
    # "Ash: Red Ash Oak" against "red Ash": 2 of 2 and 3 words, 2/√6; "Oak: Red Oak Elm" has one
    # word in common, 1/√6
    system = LinearRAG(kb_of(*CHAIN), iteration_threshold=0.1)
    active = activated(system, "red Ash")
    assert {
        name: (round(found.score, 6), found.iteration) for name, found in active.items()
    } == {
        "Ash": (1.0, 1),
        "Oak": (round(2 / 6**0.5, 6), 2),
        "Elm": (round(2 / 6, 6), 3),
    }


def test_only_the_best_sentences_of_an_entity_are_followed(kb_of: Build) -> None:
    pages = (("Ash", "Red Oak. Blue sky Elm."), ("Oak", "A tree."), ("Elm", "A tree."))
    few, more = (
        LinearRAG(kb_of(*pages), iteration_threshold=0.1, top_k_sentence=most)
        for most in (1, 2)
    )
    assert list(activated(few, "red Ash")) == ["Ash", "Oak"]
    assert sorted(activated(more, "red Ash")) == ["Ash", "Elm", "Oak"]


def test_an_entity_keeps_the_greatest_activation_that_reaches_it(kb_of: Build) -> None:
    pages = (("Ash", "Red Oak."), ("Elm", "Red big blue Oak."), ("Oak", "A tree."))
    active = activated(LinearRAG(kb_of(*pages), iteration_threshold=0.1), "red Ash Elm")
    # "Ash: Red Oak" has 2 of its 3 words in common, "Elm: Red big blue Oak" 2 of its 5
    assert active["Oak"].score == pytest.approx(2 / 9**0.5)


def test_edges_weigh_an_entitys_share_of_what_its_passage_mentions(
    kb_of: Build,
) -> None:
    graph = tri_graph(
        kb_of(
            ("Ash", "Red Oak. Oak again. See Elm."), ("Oak", "Wood."), ("Elm", "Wood.")
        )
    )
    first = slice(graph.walk.indptr[1])
    names = [node - graph.n_passages for node in graph.walk.sources[first].tolist()]
    assert dict(zip(names, graph.walk.weights[first].tolist(), strict=True)) == {
        0: 1 / 4,
        1: 2 / 4,
        2: 1 / 4,
    }


def test_the_restart_by_hand(kb_of: Build) -> None:
    kb = kb_of(*FILMS)
    ranking = LinearRAG(kb).retrieve(ASKED, k=4)
    cosines = {hit.passage_id: hit.score for hit in Dense(kb).retrieve(ASKED, k=4)}
    scaled = {
        id_: (cosine - min(cosines.values())) / np.ptp(list(cosines.values()))
        for id_, cosine in cosines.items()
    }
    # activation · ln(1 + occurrences) / iteration; Ed Wood 1 in p0; Tim Burton ½ in p0 and p1,
    # iteration 2
    bonus = {
        "p0": 1.0 * np.log(2) + 0.5 * np.log(2) / 2,
        "p1": 0.5 * np.log(2) / 2,
        "p2": 0.0,
        "p3": 0.0,
    }
    start = {id_: 0.05 * (2 * scaled[id_] + np.log1p(bonus[id_])) for id_ in cosines}
    total = sum(start.values()) + 1.0 + 0.5  # the entities' activations
    for hit in ranking:
        assert hit.score_parts["bonus"] == pytest.approx(bonus[hit.passage_id])
        assert hit.score_parts["restart"] == pytest.approx(
            start[hit.passage_id] / total
        )


def test_a_bridged_page_outranks_one_nearer_to_the_query(kb_of: Build) -> None:
    kb = kb_of(*FILMS)
    assert Dense(kb).retrieve(ASKED, k=2).passage_ids == ["p0", "p2"]
    ranking = LinearRAG(kb).retrieve(ASKED, k=2)
    assert ranking.passage_ids == ["p0", "p1"]
    assert [str(triple) for triple in ranking.hit(2).path] == [
        "Ed Wood -[in one sentence with]-> Tim Burton",
        "Tim Burton -[mentions]-> Tim Burton",
    ]
    assert ranking.notes.activated == (
        ("Ed Wood", 1.0, 1),
        ("Tim Burton", pytest.approx(0.5), 2),
    )


def test_without_a_mention_the_dense_ranking_comes_and_says_why(kb_of: Build) -> None:
    ranking = LinearRAG(kb_of(("", "red apple"), ("", "blue sky"))).retrieve(
        "Blue Sky", k=4
    )
    assert ranking.passage_ids == ["p1", "p0"]
    assert ranking.notes.warning == "the corpus mentions no entity: dense ranking"


def test_no_sentence_outside_the_candidates_is_followed(kb_of: Build) -> None:
    system = LinearRAG(kb_of(*FILMS))
    found = activated(system, "Ed Wood directed by Tim Burton of Burbank", ("p1", "p3"))
    assert list(found) == ["Tim Burton", "Burbank"]
    assert set(
        system.retrieve(Query("q", ASKED + " Burbank?", ("p1", "p3")), 4).passage_ids
    ) == {
        "p1",
        "p3",
    }
