"""Graph expansion (KG2RAG, Eq. 3 to 5): which passages it adds, with which score and by which path; by hand."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from by_hand import knowledge_base, passages

from kg2rag.compute import Store
from kg2rag.extraction import Extraction
from kg2rag.knowledge import KnowledgeBase
from kg2rag.retrievers.bm25 import BM25
from kg2rag.retrievers.dense import Dense
from kg2rag.retrievers.kg2rag.expand import Expand
from kg2rag.types import Query, Ranking, Triple

A_B = Triple("A", "r", "B", "p0")
C_D = Triple("C", "s", "D", "p1")
B_E = Triple("B", "u", "E", "p2")
E_F = Triple("E", "v", "F", "p3")
D_C = Triple("D", "w", "C", "p5")
FACTS = (A_B, C_D, B_E, E_F, D_C)
COSINES = (0.6, 0.5, 0.4, 0.3, 0.2, 0.1)


@pytest.fixture
def kb(tmp_path: Path) -> KnowledgeBase:
    return world(tmp_path, FACTS)


def world(folder: Path, facts: tuple[Triple, ...]) -> KnowledgeBase:
    texts = (f"text {i}" for i in range(6))
    return knowledge_base(passages(*texts), Extraction(facts), {"q": COSINES}, Store(folder))


def expanded(kb: KnowledgeBase, *, hops: int = 1, seeds: int = 2, candidates: tuple[str, ...] | None = None) -> Ranking:
    system = Dense(kb) >> Expand(kb, hops=hops, seeds=seeds)
    return system.retrieve_batch([Query("q", "q", candidates)], 10)[0]


@pytest.mark.parametrize(
    ("how", "expected"),
    [
        ({}, ["p0", "p1", "p2", "p5"]),
        ({"hops": 2}, ["p0", "p1", "p2", "p3", "p5"]),  # one triple further
        ({"hops": 2, "seeds": 1, "candidates": ("p0", "p3", "p4")}, ["p0"]),  # only candidates are walked
    ],
)
def test_the_passages_of_triples_around_the_seeds_are_added(
    kb: KnowledgeBase, how: dict[str, Any], expected: list[str]
) -> None:
    assert expanded(kb, **how).passage_ids == expected


def test_a_triple_between_two_entities_reached_counts_though_no_seed_names_either(tmp_path: Path) -> None:
    facts = (A_B, Triple("A", "x", "G", "p2"), Triple("B", "y", "H", "p3"), Triple("G", "z", "H", "p4"))
    found = expanded(world(tmp_path, facts), seeds=1)
    assert found.passage_ids == ["p0", "p2", "p3", "p4"]
    assert [str(triple) for triple in found.hit(4).path] == ["A -[r]-> B", "A -[x]-> G", "G -[z]-> H"]


def test_hits_say_their_cosine_stage_hop_and_path_and_the_notes_the_subgraph(kb: KnowledgeBase) -> None:
    found = expanded(kb, hops=2)
    assert {hit.passage_id: (hit.stage, hit.score_parts["hop"], hit.path) for hit in found} == {
        "p0": ("dense", 0, ()),
        "p1": ("dense", 0, ()),
        "p2": ("expand", 1, (A_B, B_E)),
        "p3": ("expand", 2, (A_B, B_E, E_F)),
        "p5": ("expand", 1, (C_D, D_C)),
    }
    assert found.scores == pytest.approx([0.6, 0.5, 0.4, 0.3, 0.1])
    notes = expanded(kb).notes
    assert (notes.subgraph, notes.expanded) == ((0, 1, 2, 4), 2)


def test_a_triple_that_no_passage_states_is_not_walked(tmp_path: Path) -> None:
    facts = (A_B, Triple("B", "loose", "E", ""), E_F)
    assert expanded(world(tmp_path, facts), seeds=1, hops=2).passage_ids == ["p0"]


@pytest.mark.parametrize("facts", [(), (Triple("A", "is", "A", "p3"),), (E_F,)])
def test_seeds_that_no_triple_leaves_stay_as_they_are(tmp_path: Path, facts: tuple[Triple, ...]) -> None:
    found = expanded(world(tmp_path, facts))
    assert found.passage_ids == ["p0", "p1"]
    assert found.notes.expanded == 0


def test_no_seed_is_no_expansion(kb: KnowledgeBase) -> None:
    found = (BM25(kb) >> Expand(kb)).retrieve_batch([Query("q", "unheard")], 5)[0]
    assert len(found) == 0


def test_seeds_of_another_retriever_are_scored_by_cosine_too(kb: KnowledgeBase) -> None:
    query = Query("q", "text 3")  # its vector is that of p3
    found = (BM25(kb) >> Expand(kb, seeds=1)).retrieve_batch([query], 5)[0]
    assert found.passage_ids == ["p3", "p2"]
    assert np.allclose(found.scores, [1, 0])


@pytest.mark.parametrize("wrong", [{"hops": 0}, {"seeds": 0}])
def test_parameters_below_one_are_refused(kb: KnowledgeBase, wrong: dict[str, int]) -> None:
    with pytest.raises(ValueError, match=next(iter(wrong))):
        Expand(kb, **wrong)
