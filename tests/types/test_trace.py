"""Traces: the first step that a passage did not pass, for any chain of retriever and stages, and for every system."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import by_hand
import numpy as np
import pytest

from kg2rag import systems
from kg2rag.compute import Store
from kg2rag.extraction import Extraction
from kg2rag.knowledge import KnowledgeBase
from kg2rag.retrievers.contract import Retriever, Stage
from kg2rag.retrievers.dense import Dense
from kg2rag.retrievers.designs.graph_augmented import GraphAugment
from kg2rag.retrievers.fusion import fuse
from kg2rag.retrievers.published.kg2rag.paper import Expand, Organise
from kg2rag.testing import worlds
from kg2rag.types import LOST_AT, Query, Ranking, Trace, Triple, step

IDS = [f"p{row}" for row in range(10)]
ASKED = Query("q", "?")


def ranked(*rows: int) -> Ranking:
    """These rows, best first."""
    return Ranking.from_scores(
        "q", np.array(rows, dtype=np.int64), 1 / np.arange(1, len(rows) + 1), IDS
    )


@dataclass(frozen=True)
class Returns(Retriever):
    rows: tuple[int, ...]

    def retrieve_batch(self, queries: Sequence[Query], k: int) -> list[Ranking]:
        return [ranked(*self.rows).top(k) for _ in queries]


@dataclass(frozen=True)
class Puts(Stage):
    """Gives these rows, whatever it reads."""

    rows: tuple[int, ...]
    depth: int = 2

    def apply(
        self, queries: Sequence[Query], rankings: Sequence[Ranking]
    ) -> list[Ranking]:
        assert all(len(ranking) <= self.depth for ranking in rankings)
        return [ranked(*self.rows) for _ in queries]


def lost_at(trace: Trace, row: int) -> str | None:
    lost = trace.lost_by(row)
    return None if lost is None else lost.lost_at


def test_the_first_step_that_a_passage_did_not_pass_lost_it() -> None:
    steps = (
        step("one", "entity not linked", "", [1, 2, 3]),
        step("two", "pruned", "", [3], [1]),
    )
    trace = Trace(ranked(1), steps)
    assert [lost_at(trace, row) for row in (9, 2, 3, 1)] == [
        "entity not linked",
        "pruned",
        "not retrieved",
        None,
    ]


@pytest.mark.parametrize(
    ("row", "why"),
    [(5, "below the first 2 hits, which Puts reads"), (3, "dropped by Puts")],
)
def test_a_hit_that_a_stage_did_not_read_or_not_give_is_pruned_by_it(
    row: int, why: str
) -> None:
    lost = (Returns((3, 1, 5)) >> Puts((1,))).trace_batch([ASKED], 10)[0].lost_by(row)
    assert lost is not None
    assert (lost.lost_at, lost.why) == ("pruned", why)


def test_a_passage_that_a_stage_brings_in_is_lost_by_no_step_before_it() -> None:
    trace = (Returns((3, 1)) >> Puts((8, 3)) >> Puts((3,))).trace_batch([ASKED], 10)[0]
    lost = trace.lost_by(8)
    assert lost is not None
    assert [each.why for each in trace.steps if 8 not in each.rows] == [
        "dropped by Puts"
    ]


def test_a_fusion_passes_what_any_member_ranks_high_enough() -> None:
    trace = fuse(Returns((3, 1, 6)), Returns((4, 1, 7)), depth=2).trace_batch(
        [ASKED], 10
    )[0]
    assert [lost_at(trace, row) for row in (3, 4, 1)] == [None, None, None]
    assert [lost_at(trace, row) for row in (6, 7, 9)] == [
        "pruned",
        "pruned",
        "not retrieved",
    ]


# One chain of facts: p0 Ada-Bob, p1 Bob-Cyd, p2 Cyd-Dan, p3 Xan-Yva by itself, p4 states nothing.
# p0 is nearest.
TEXTS = ("Ada and Bob", "Bob and Cyd", "Cyd and Dan", "Xan and Yva", "nothing")
TRIPLES = [
    ("Ada", "Bob", "p0"),
    ("Bob", "Cyd", "p1"),
    ("Cyd", "Dan", "p2"),
    ("Xan", "Yva", "p3"),
]


@pytest.fixture
def chain(tmp_path: Path) -> KnowledgeBase:
    facts = tuple(
        Triple(head, "knows", tail, passage) for head, tail, passage in TRIPLES
    )
    cosines = {
        "q": (0.8, 0.1, 0.2, 0.3, 0.35),
        "Where is Ada": (0.8, 0.1, 0.2, 0.3, 0.35),
    }
    return by_hand.knowledge_base(
        by_hand.passages(*TEXTS), Extraction(facts), cosines, Store(tmp_path)
    )


def test_expand_tells_no_triple_from_no_chain_from_too_far(
    chain: KnowledgeBase,
) -> None:
    # Seed p0; Ada and Bob at hop 0, Cyd at hop 1; the triples among them are those of p0 and p1.
    trace = (Dense(chain) >> Expand(chain, hops=1, seeds=1)).trace_batch(
        [Query("q", "q")], 10
    )[0]
    assert [lost_at(trace, row) for row in range(5)] == [
        None,
        None,
        "not expanded",
        *["entity not linked"] * 2,
    ]
    whys = [lost.why for row in (3, 4) if (lost := trace.lost_by(row)) is not None]
    assert whys == [
        "no chain of triples, however long, leads from the 1 seeds to it",
        "states no triple, and is none of the 1 seeds",
    ]


def test_organise_tells_a_tree_that_was_cut_from_one_whose_turn_never_came(
    chain: KnowledgeBase,
) -> None:
    # All five are read. Equal reranker scores: the tree p0-p1-p2, which has the heaviest edge,
    # fills both places.
    trace = (Dense(chain) >> Organise(chain, context=2, depth=5)).trace_batch(
        [Query("q", "q")], 10
    )[0]
    lost = [trace.lost_by(row) for row in range(5)]
    assert lost[:2] == [None, None]
    assert [(each.lost_at, each.why) for each in lost[2:] if each is not None] == [
        ("pruned", "its tree has more passages than there were places, 2"),
        ("pruned", "better trees took all 2 places"),
        (
            "pruned",
            "no tree holds it, and the trees left no free place of 2 that it could fill",
        ),
    ]


def test_the_graph_augmentation_tells_unlinked_from_beyond_its_hops_from_its_limit(
    chain: KnowledgeBase,
) -> None:
    # The query names Ada; one hop reaches Bob, whose passages are p0 and p1. Only p0 is read as
    # text.
    pipeline = Dense(chain) >> GraphAugment(chain, hops=1, max_chunks=1, depth=1)
    trace = pipeline.trace_batch([Query("q", "Where is Ada")], 10)[0]
    assert [lost_at(trace, row) for row in range(5)] == [
        None,
        None,
        "not expanded",
        *["entity not linked"] * 2,
    ]
    none = Dense(chain) >> GraphAugment(chain, hops=1, max_chunks=0, depth=1)
    assert lost_at(none.trace_batch([Query("q", "Where is Ada")], 10)[0], 1) == "pruned"


SOME = [
    query
    for query in worlds.queries()
    if query.id in ("q0", "q1", "q2", "q3", "q13", "empty", "tie")
]


@pytest.mark.parametrize("name", systems.names())
def test_every_system_traces_its_own_ranking_and_has_a_reason_for_every_other_passage(
    name: str, kb: KnowledgeBase
) -> None:
    system = systems.build(name, kb)
    given = system.retrieve_batch(SOME, 20)
    for trace, ranking in zip(
        system.trace_batch(SOME, worlds.N_PASSAGES), given, strict=True
    ):
        assert trace.ranking.query_id == ranking.query_id
        assert trace.ranking.top(20).passage_ids == ranking.passage_ids
        for each in trace.steps:
            assert each.lost_at in LOST_AT
            assert each.rows.tolist() == sorted(
                set(each.rows.tolist()) & set(range(worlds.N_PASSAGES))
            )
        kept = set(trace.ranking.rows.tolist())
        lost = {row: trace.lost_by(row) for row in range(worlds.N_PASSAGES)}
        assert all(
            row in kept or (each is not None and each.why) for row, each in lost.items()
        )
