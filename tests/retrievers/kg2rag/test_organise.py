"""KG-based organisation (KG2RAG, Eq. 6 to 8): trees, their strings, what is taken and in which order; by hand."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pytest
from by_hand import knowledge_base, passages

from kg2rag.compute import Store
from kg2rag.extraction import Extraction
from kg2rag.knowledge import KnowledgeBase
from kg2rag.retrievers.dense import Dense
from kg2rag.retrievers.kg2rag.expand import Expand
from kg2rag.retrievers.kg2rag.organise import Organise
from kg2rag.types import FloatArray, Query, Ranking, Triple

A_B = Triple("A", "r", "B", "p0")
C_D = Triple("C", "s", "D", "p1")
B_E = Triple("B", "u", "E", "p2")
D_C = Triple("D", "w", "C", "p5")
FACTS = (A_B, C_D, B_E, D_C)
LARGE, SMALL = "<A, r, B> <B, u, E>", "<C, s, D>"


@dataclass(frozen=True)
class Table:
    """A reranker with given scores; records the pairs it scored."""

    by_text: Mapping[str, float] = field(default_factory=lambda: {SMALL: 0.9, LARGE: 0.5})
    scored: list[tuple[str, str]] = field(default_factory=list, repr=False)

    def scores(self, pairs: Sequence[tuple[str, str]]) -> FloatArray:
        self.scored.extend(pairs)
        return np.array([self.by_text.get(text, 0.0) for _, text in pairs])


def world(folder: Path, facts: tuple[Triple, ...] = FACTS) -> KnowledgeBase:
    cosines = {"q": (0.6, 0.5, 0.4, 0.3, 0.2, 0.1)}
    return knowledge_base(passages(*(f"text {i}" for i in range(6))), Extraction(facts), cosines, Store(folder))


def organised(kb: KnowledgeBase, *, seeds: int = 2, k: int = 10, **how: object) -> Ranking:
    stage = Organise(kb, **{"reranker": Table(), **how})  # type: ignore[arg-type]
    return (Dense(kb) >> Expand(kb, seeds=seeds) >> stage).retrieve_batch([Query("q", "q")], k)[0]


def test_the_reranker_reads_the_triples_of_each_tree_depth_first_from_the_heaviest(tmp_path: Path) -> None:
    table = Table()
    organised(world(tmp_path), reranker=table)
    assert table.scored == [("q", LARGE), ("q", SMALL)]


def test_trees_give_their_passages_in_the_rerankers_order(tmp_path: Path) -> None:
    assert organised(world(tmp_path)).passage_ids == ["p1", "p0", "p2"]


def test_a_passage_whose_triple_no_tree_keeps_is_filtered_out(tmp_path: Path) -> None:
    assert "p5" not in organised(world(tmp_path)).passage_ids


def test_trees_of_equal_score_are_ordered_by_their_heaviest_edge(tmp_path: Path) -> None:
    assert organised(world(tmp_path), reranker=Table({})).passage_ids == ["p0", "p2", "p1"]


def test_parts_and_stage_say_how_a_hit_came_here(tmp_path: Path) -> None:
    hit = organised(world(tmp_path)).hit(3)
    assert hit.score_parts == pytest.approx({"place": 3, "cosine": 0.4, "hop": 1, "tree": 2, "reranker": 0.5})
    assert (hit.stage, hit.score) == ("expand", 1 / 3)


def test_the_path_leads_from_the_heaviest_edge_to_the_passages_own(tmp_path: Path) -> None:
    assert [hit.path for hit in organised(world(tmp_path))] == [(C_D,), (A_B,), (A_B, B_E)]


LONG = (*FACTS, Triple("E", "z", "G", "p3"), Triple("H", "y", "I", "p4"))
THREE = "<A, r, B> <B, u, E> <E, z, G>"


@pytest.mark.parametrize(
    ("overflow", "expected"), [("cut", ["p1", "p0", "p2"]), ("skip", ["p1", "p4"]), ("stop", ["p1"])]
)
def test_a_tree_that_does_not_fit_is_cut_or_skipped_or_ends_the_choice(
    tmp_path: Path, overflow: str, expected: list[str]
) -> None:
    table = Table({SMALL: 0.9, THREE: 0.5, "<H, y, I>": 0.1})
    found = organised(world(tmp_path, LONG), seeds=5, context=3, overflow=overflow, fill="none", reranker=table)
    assert found.passage_ids == expected


def test_by_similarity_a_tree_gives_its_passages_heaviest_first_and_not_along_its_branches(tmp_path: Path) -> None:
    behind = (A_B, Triple("A", "s", "K", "p2"), Triple("B", "u", "E", "p4"), Triple("E", "z", "G", "p1"))
    kb = world(tmp_path, behind)
    # p1 weighs 0.5 but hangs behind p4, which weighs 0.2.
    assert organised(kb, seeds=6, context=4).passage_ids == ["p0", "p2", "p4", "p1"]
    assert organised(kb, seeds=6, context=4, arrangement="similarity").passage_ids == ["p0", "p1", "p2", "p4"]
    assert organised(kb, seeds=6, context=2, arrangement="similarity").passage_ids == ["p0", "p1"]


def test_a_smaller_k_only_cuts(tmp_path: Path) -> None:
    kb = world(tmp_path)
    assert organised(kb, k=1).passage_ids == organised(kb).passage_ids[:1]


def test_free_places_go_to_passages_without_triples_by_cosine(tmp_path: Path) -> None:
    found = organised(world(tmp_path), seeds=5)
    assert found.passage_ids == ["p1", "p0", "p2", "p3", "p4"]
    assert found.notes.filled == 2
    assert "tree" not in found.hit(4).score_parts


def test_all_fills_with_what_the_filter_removed_too(tmp_path: Path) -> None:
    assert organised(world(tmp_path), fill="all").passage_ids == ["p1", "p0", "p2", "p5"]


def test_none_leaves_places_free(tmp_path: Path) -> None:
    assert organised(world(tmp_path), seeds=5, fill="none").passage_ids == ["p1", "p0", "p2"]


@pytest.mark.parametrize("facts", [(), (Triple("A", "is", "A", "p0"),)])
def test_without_a_tree_the_order_is_by_cosine_and_it_says_so(tmp_path: Path, facts: tuple[Triple, ...]) -> None:
    found = organised(world(tmp_path, facts))
    assert found.passage_ids == ["p0", "p1"]
    assert "no tree" in str(found.notes.warning)


def test_without_expansion_the_triples_are_those_of_the_hits(tmp_path: Path) -> None:
    kb = world(tmp_path)
    found = (Dense(kb) >> Organise(kb, depth=2, reranker=Table())).retrieve_batch([Query("q", "q")], 5)[0]
    assert found.passage_ids == ["p1", "p0"]


def test_triplets_are_cut_at_max_characters(tmp_path: Path) -> None:
    table = Table()
    organised(world(tmp_path), max_characters=5, reranker=table)
    assert [text for _, text in table.scored] == ["<A, r", "<C, s"]


@pytest.mark.parametrize(
    "wrong", [{"arrangement": "random"}, {"overflow": "burst"}, {"fill": "x"}, {"context": 0}, {"depth": 0}]
)
def test_parameters_out_of_range_are_refused(tmp_path: Path, wrong: dict[str, object]) -> None:
    with pytest.raises(ValueError, match="must be"):
        Organise(world(tmp_path), **wrong)  # type: ignore[arg-type]
