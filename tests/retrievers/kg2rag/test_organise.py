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


@pytest.mark.parametrize(("limit", "strings"), [(8000, [LARGE, SMALL]), (5, ["<A, r", "<C, s"])])
def test_the_reranker_reads_the_triples_of_each_tree_depth_first_from_the_heaviest(
    tmp_path: Path, limit: int, strings: list[str]
) -> None:
    table = Table()
    organised(world(tmp_path), reranker=table, max_characters=limit)
    assert table.scored == [("q", text) for text in strings]


def test_trees_give_their_passages_in_the_rerankers_order_and_a_triple_that_none_keeps_gives_none(
    tmp_path: Path,
) -> None:
    found = organised(world(tmp_path))
    assert found.passage_ids == ["p1", "p0", "p2"]  # without p5
    assert [hit.path for hit in found] == [(C_D,), (A_B,), (A_B, B_E)]  # from the heaviest edge
    hit = found.hit(3)
    assert hit.score_parts == pytest.approx({"place": 3, "cosine": 0.4, "hop": 1, "tree": 2, "reranker": 0.5})
    assert (hit.stage, hit.score) == ("expand", 1 / 3)
    assert organised(world(tmp_path), k=1).passage_ids == ["p1"]


def test_trees_of_equal_score_are_ordered_by_their_heaviest_edge(tmp_path: Path) -> None:
    assert organised(world(tmp_path), reranker=Table({})).passage_ids == ["p0", "p2", "p1"]


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


@pytest.mark.parametrize(
    ("seeds", "fill", "expected"),
    [
        (5, "unlinked", ["p1", "p0", "p2", "p3", "p4"]),  # passages without triples, by cosine
        (2, "all", ["p1", "p0", "p2", "p5"]),  # with what the filter removed
        (5, "none", ["p1", "p0", "p2"]),
    ],
)
def test_what_takes_the_free_places(tmp_path: Path, seeds: int, fill: str, expected: list[str]) -> None:
    found = organised(world(tmp_path), seeds=seeds, fill=fill)
    assert (found.passage_ids, found.notes.filled) == (expected, len(expected) - 3)
    assert all("tree" not in found.hit(place).score_parts for place in range(4, len(expected) + 1))


@pytest.mark.parametrize("facts", [(), (Triple("A", "is", "A", "p0"),)])
def test_without_a_tree_the_order_is_by_cosine_and_it_says_so(tmp_path: Path, facts: tuple[Triple, ...]) -> None:
    found = organised(world(tmp_path, facts))
    assert found.passage_ids == ["p0", "p1"]
    assert "no tree" in str(found.notes.warning)


def test_without_expansion_the_triples_are_those_of_the_hits(tmp_path: Path) -> None:
    kb = world(tmp_path)
    found = (Dense(kb) >> Organise(kb, depth=2, reranker=Table())).retrieve_batch([Query("q", "q")], 5)[0]
    assert found.passage_ids == ["p1", "p0"]


@pytest.mark.parametrize(
    "wrong", [{"arrangement": "random"}, {"overflow": "burst"}, {"fill": "x"}, {"context": 0}, {"depth": 0}]
)
def test_parameters_out_of_range_are_refused(tmp_path: Path, wrong: dict[str, object]) -> None:
    with pytest.raises(ValueError, match="must be"):
        Organise(world(tmp_path), **wrong)  # type: ignore[arg-type]
