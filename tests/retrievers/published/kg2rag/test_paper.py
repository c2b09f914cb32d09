"""KG2RAG's expansion (Eq. 3 to 5) and organisation (Eq. 6 to 8): what is added, kept and ordered, by hand."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from by_hand import knowledge_base, passages

from kg2rag.compute import Store
from kg2rag.extraction import Extraction
from kg2rag.knowledge import KnowledgeBase
from kg2rag.retrievers.bm25 import BM25
from kg2rag.retrievers.contract import Retriever
from kg2rag.retrievers.dense import Dense
from kg2rag.retrievers.published.kg2rag.official import KG2RAGOfficial
from kg2rag.retrievers.published.kg2rag.paper import Expand, Organise, kg2rag
from kg2rag.types import FloatArray, Query, Ranking, Triple

A_B = Triple("A", "r", "B", "p0")
C_D = Triple("C", "s", "D", "p1")
B_E = Triple("B", "u", "E", "p2")
E_F = Triple("E", "v", "F", "p3")
D_C = Triple("D", "w", "C", "p5")
FACTS = (A_B, C_D, B_E, E_F, D_C)


def world(folder: Path, *facts: Triple) -> KnowledgeBase:
    """Six passages, each less similar to the query "q" than the one before."""
    cosines = {"q": (0.6, 0.5, 0.4, 0.3, 0.2, 0.1)}
    return knowledge_base(
        passages(*(f"text {i}" for i in range(6))),
        Extraction(facts),
        cosines,
        Store(folder),
    )


def expanded(
    kb: KnowledgeBase,
    *,
    hops: int = 1,
    seeds: int = 2,
    candidates: tuple[str, ...] | None = None,
) -> Ranking:
    system = Dense(kb) >> Expand(kb, hops=hops, seeds=seeds)
    return system.retrieve_batch([Query("q", "q", candidates)], 10)[0]


@pytest.mark.parametrize(
    ("facts", "how", "found"),
    [
        (FACTS, {}, "0125"),
        (FACTS, {"hops": 2}, "01235"),  # one triple further
        # only candidates are walked
        (FACTS, {"hops": 2, "seeds": 1, "candidates": ("p0", "p3", "p4")}, "0"),
        # nor triples that none states
        ((A_B, Triple("B", "loose", "E", ""), E_F), {"seeds": 1, "hops": 2}, "0"),
        ((), {}, "01"),
        ((Triple("A", "is", "A", "p3"),), {}, "01"),
        ((E_F,), {}, "01"),
    ],
)
def test_the_passages_of_triples_around_the_seeds_are_added(
    tmp_path: Path, facts: Sequence[Triple], how: dict[str, Any], found: str
) -> None:
    assert expanded(world(tmp_path, *facts), **how).passage_ids == [
        f"p{row}" for row in found
    ]


def test_a_triple_between_two_entities_reached_counts_though_no_seed_names_either(
    tmp_path: Path,
) -> None:
    facts = (
        A_B,
        Triple("A", "x", "G", "p2"),
        Triple("B", "y", "H", "p3"),
        Triple("G", "z", "H", "p4"),
    )
    found = expanded(world(tmp_path, *facts), seeds=1)
    assert found.passage_ids == ["p0", "p2", "p3", "p4"]
    assert [str(triple) for triple in found.hit(4).path] == [
        "A -[r]-> B",
        "A -[x]-> G",
        "G -[z]-> H",
    ]


def test_hits_say_their_cosine_stage_hop_and_path_and_the_notes_the_subgraph(
    tmp_path: Path,
) -> None:
    kb = world(tmp_path, *FACTS)
    found = expanded(kb, hops=2)
    assert {
        hit.passage_id: (hit.stage, hit.score_parts["hop"], hit.path) for hit in found
    } == {
        "p0": ("dense", 0, ()),
        "p1": ("dense", 0, ()),
        "p2": ("expand", 1, (A_B, B_E)),
        "p3": ("expand", 2, (A_B, B_E, E_F)),
        "p5": ("expand", 1, (C_D, D_C)),
    }
    assert found.scores == pytest.approx([0.6, 0.5, 0.4, 0.3, 0.1])
    notes = expanded(kb).notes
    assert (notes.subgraph, notes.expanded) == ((0, 1, 2, 4), 2)


def test_seeds_of_another_retriever_are_scored_by_cosine_too_and_no_seed_is_no_expansion(
    tmp_path: Path,
) -> None:
    kb = world(tmp_path, *FACTS)
    query = Query("q", "text 3")  # its vector is that of p3
    found, none = (BM25(kb) >> Expand(kb, seeds=1)).retrieve_batch(
        [query, Query("q", "unheard")], 5
    )
    assert found.passage_ids == ["p3", "p2"]
    assert np.allclose(found.scores, [1, 0])
    assert len(none) == 0


# Organisation

LARGE, SMALL = "<A, r, B> <B, u, E>", "<C, s, D>"
PAIRED = (A_B, C_D, B_E, D_C)


@dataclass(frozen=True)
class Table:
    """A reranker with given scores; records the pairs it scored."""

    by_text: Mapping[str, float] = field(
        default_factory=lambda: {SMALL: 0.9, LARGE: 0.5}
    )
    scored: list[tuple[str, str]] = field(default_factory=list, repr=False)

    def scores(self, pairs: Sequence[tuple[str, str]]) -> FloatArray:
        self.scored.extend(pairs)
        return np.array([self.by_text.get(text, 0.0) for _, text in pairs])


def organised(
    folder: Path, *facts: Triple, seeds: int = 2, k: int = 10, **how: object
) -> Ranking:
    kb = world(folder, *(facts or PAIRED))
    stage = Organise(kb, **{"reranker": Table(), **how})  # type: ignore[arg-type]
    return (Dense(kb) >> Expand(kb, seeds=seeds) >> stage).retrieve_batch(
        [Query("q", "q")], k
    )[0]


def test_the_reranker_reads_the_triples_of_each_tree_depth_first_from_the_heaviest(
    tmp_path: Path,
) -> None:
    table = Table()
    organised(tmp_path, reranker=table)
    assert table.scored == [("q", LARGE), ("q", SMALL)]


def test_trees_give_their_passages_in_the_rerankers_order_and_a_triple_that_none_keeps_gives_none(
    tmp_path: Path,
) -> None:
    found = organised(tmp_path)
    assert found.passage_ids == ["p1", "p0", "p2"]  # without p5
    # From the heaviest edge.
    assert [hit.path for hit in found] == [
        (C_D,),
        (A_B,),
        (A_B, B_E),
    ]
    hit = found.hit(3)
    assert hit.score_parts == pytest.approx(
        {"place": 3, "cosine": 0.4, "hop": 1, "tree": 2, "reranker": 0.5}
    )
    assert (hit.stage, hit.score) == ("expand", 1 / 3)
    assert organised(tmp_path, k=1).passage_ids == ["p1"]
    # equal: by the heaviest edge
    assert organised(tmp_path, reranker=Table({})).passage_ids == ["p0", "p2", "p1"]


LONG = (*PAIRED, Triple("E", "z", "G", "p3"), Triple("H", "y", "I", "p4"))
RANKED = Table({SMALL: 0.9, "<A, r, B> <B, u, E> <E, z, G>": 0.5, "<H, y, I>": 0.1})
BEHIND = (
    A_B,
    Triple("A", "s", "K", "p2"),
    Triple("B", "u", "E", "p4"),
    Triple("E", "z", "G", "p1"),
)


@pytest.mark.parametrize(
    ("facts", "how", "found"),
    [
        # a tree that does not fit is cut
        (LONG, {"seeds": 5, "context": 3, "reranker": RANKED}, "102"),
        # or ends the choice
        (
            LONG,
            {"seeds": 5, "context": 3, "reranker": RANKED, "whole_trees": True},
            "1",
        ),
        # Passages without triples take free places, by cosine.
        (
            PAIRED,
            {"seeds": 5},
            "10234",
        ),
        (PAIRED, {"seeds": 5, "whole_trees": True}, "102"),
        # p1 weighs 0.5 but hangs behind p4, which weighs 0.2.
        (BEHIND, {"seeds": 6, "context": 4}, "0241"),
        (BEHIND, {"seeds": 6, "context": 4, "arrangement": "similarity"}, "0124"),
        (BEHIND, {"seeds": 6, "context": 2, "arrangement": "similarity"}, "01"),
    ],
)
def test_which_passages_the_trees_give_and_what_takes_free_places(
    tmp_path: Path, facts: Sequence[Triple], how: dict[str, Any], found: str
) -> None:
    ranking = organised(tmp_path, *facts, **how)
    assert ranking.passage_ids == [f"p{row}" for row in found]
    assert sum("tree" not in hit.score_parts for hit in ranking) == ranking.notes.filled


def test_without_a_tree_the_order_is_by_cosine_and_it_says_so(tmp_path: Path) -> None:
    found = organised(tmp_path, Triple("A", "is", "A", "p0"))
    assert found.passage_ids == ["p0", "p1"]
    assert "no tree" in str(found.notes.warning)


def test_without_expansion_the_triples_are_those_of_the_hits(tmp_path: Path) -> None:
    kb = world(tmp_path, *PAIRED)
    found = (Dense(kb) >> Organise(kb, depth=2, reranker=Table())).retrieve_batch(
        [Query("q", "q")], 5
    )[0]
    assert found.passage_ids == ["p1", "p0"]


# The paper's ablations, and those of the released code


def ids(system: Retriever, k: int = 1000) -> set[str]:
    return set(system.retrieve("Who knows the bridge and the castle?", k).passage_ids)


def test_without_expansion_every_passage_is_a_seed(kb: KnowledgeBase) -> None:
    assert ids(kg2rag(kb, expansion=False)) <= ids(Dense(kb), 10)
    (plan,) = KG2RAGOfficial(kb, expansion=False).plan([Query("q", "bridge")])
    assert len(plan.nodes) == plan.n_seeds == 10


def test_without_organisation_nothing_that_was_expanded_is_dropped(
    kb: KnowledgeBase,
) -> None:
    paper, released = (
        kg2rag(kb, organisation=False),
        KG2RAGOfficial(kb, organisation=False),
    )
    assert ids(Dense(kb), 10) | ids(kg2rag(kb)) <= ids(paper)
    assert len(ids(paper)) > 10
    assert ids(paper, 10) == ids(Dense(kb), 10)  # ordered by similarity
    assert ids(KG2RAGOfficial(kb)) <= ids(released)
    assert released.retrieve("bridge").notes.warning == "not organised"
    with pytest.raises(ValueError, match="'dense'"):
        kg2rag(kb, expansion=False, organisation=False)  # which that would be
