"""Rank fusion, against sums worked out by hand."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kg2rag.retrievers.contract import Retriever
from kg2rag.retrievers.fusion import METHODS, fuse, fuse_rankings
from kg2rag.testing.promises import scores_by_formula
from kg2rag.types import Notes, Query, Ranking, Triple

IDS = [f"p{i}" for i in range(10)]
FACT, OTHER = Triple("a", "r", "b", "p1"), Triple("c", "r", "d", "p1")


def ranking(stage: str, scores: dict[int, float], **more: Any) -> Ranking:
    rows = np.array(list(scores), dtype=np.int64)
    return Ranking.from_scores(
        "q", rows, np.array(list(scores.values())), IDS, stages=(stage,), **more
    )


DENSE = ranking("dense", {1: 0.9, 2: 0.7, 3: 0.5})
WORDS = ranking("bm25", {2: 12.0, 4: 10.0, 3: 2.0})


@dataclass(frozen=True)
class Fixed(Retriever):
    """Returns one ranking, cut at `k`; notes every `k`."""

    found: Ranking = field(repr=False)
    asked: list[int] = field(default_factory=list, repr=False)

    def retrieve_batch(self, queries: Sequence[Query], k: int) -> list[Ranking]:
        self.asked.append(k)
        return [self.found.top(k) for _ in queries]


def scores(fused: Ranking) -> dict[str, float]:
    return {hit.passage_id: hit.score for hit in fused}


def test_rrf_matches_cormack_2009_by_hand() -> None:
    fused = fuse_rankings([DENSE, WORDS], (1, 1), 10)
    assert scores(fused) == {
        "p2": 1 / (60 + 2) + 1 / (60 + 1),
        "p3": 1 / (60 + 3) + 1 / (60 + 3),
        "p1": 1 / (60 + 1),
        "p4": 1 / (60 + 2),
    }
    assert fused.passage_ids == ["p2", "p3", "p1", "p4"]


def test_rrf_weighs_each_ranking() -> None:
    fused = fuse_rankings([DENSE, WORDS], (2, 0.5), 10, constant=0)
    assert scores(fused) == {
        "p1": 2 / 1,
        "p2": 2 / 2 + 0.5 / 1,
        "p3": 2 / 3 + 0.5 / 3,
        "p4": 0.5 / 2,
    }


@pytest.mark.parametrize(
    ("rankings", "weights", "method", "expected"),
    [
        (
            [DENSE, WORDS],
            (0.7, 0.3),
            "sum",
            {"p1": 0.7, "p2": 0.7 * 0.5 + 0.3, "p3": 0.0, "p4": 0.3 * 0.8},
        ),
        # equal scores
        ([ranking("dense", {5: 0.3, 6: 0.3})], (0.5,), "sum", {"p5": 0.5, "p6": 0.5}),
    ],
)
def test_scores_are_scaled_from_their_lowest_to_their_highest(
    rankings: list[Ranking],
    weights: tuple[float, ...],
    method: str,
    expected: dict[str, float],
) -> None:
    assert scores(fuse_rankings(rankings, weights, 10, method=method)) == pytest.approx(
        expected
    )


def test_a_hit_says_what_each_ranking_gave_to_it_even_if_that_is_nothing() -> None:
    hits = {
        hit.passage_id: hit.score_parts
        for hit in fuse_rankings([DENSE, WORDS], (0.7, 0.3), 10, method="sum")
    }
    assert hits["p1"] == pytest.approx(
        {"dense": 0.7, "dense scaled": 1, "dense score": 0.9}
    )
    assert {name: hits["p2"][name] for name in ("dense", "bm25")} == pytest.approx(
        {"dense": 0.35, "bm25": 0.3}
    )
    assert {name: hits["p3"][name] for name in ("dense", "bm25")} == {
        "dense": 0.0,
        "bm25": 0.0,
    }
    assert hits["p4"] == pytest.approx(
        {"bm25": 0.24, "bm25 scaled": 0.8, "bm25 score": 10}
    )
    last = fuse_rankings(
        [DENSE, ranking("bm25", {2: 3.0, 8: 1.0})], (1, 1), 10, method="sum"
    ).hit(4)
    assert (last.passage_id, last.score, last.stage) == ("p8", 0.0, "bm25")


@pytest.mark.parametrize(
    ("method", "first", "last"),
    [
        (
            "rrf",
            "2 / (60 + 2 (dense rank)) + 0.5 / (60 + 1 (bm25 rank))",
            "0.5 / (60 + 2 (bm25 rank))",
        ),
        ("sum", "2 · 1 (dense scaled)", "2 · 0 (dense scaled) + 0.5 · 0 (bm25 scaled)"),
    ],
)
def test_the_arithmetic_of_a_score_is_shown_with_the_rankings_that_hold_the_hit(
    method: str, first: str, last: str
) -> None:
    shown = re.findall(
        "= (.*)",
        str(fuse_rankings([DENSE, WORDS], (2, 0.5), 10, method=method).explain()),
    )
    assert (shown[0], shown[-1]) == (first, last)


def test_rankings_of_one_stage_keep_their_parts_apart() -> None:
    again = ranking("dense", {1: 0.4})
    top = fuse_rankings([DENSE, again, DENSE], (1, 1, 1), 10, constant=0).hit(1)
    assert {
        name: top.score_parts[name] for name in ("dense", "dense 2", "dense 3")
    } == dict.fromkeys(("dense", "dense 2", "dense 3"), 1.0)


@given(
    st.lists(
        st.dictionaries(st.integers(0, 9), st.floats(0, 1), max_size=8),
        min_size=1,
        max_size=4,
    )
)
def test_the_formula_and_the_parts_of_a_hit_give_its_score(
    found: list[dict[int, float]],
) -> None:
    rankings = [ranking("dense", scores) for scores in found]
    for method in METHODS:
        fused = fuse_rankings(
            rankings, [1.0, 0.5, 2.0, 0.0][: len(found)], 10, method=method
        )
        assert {hit.passage_id for hit in fused} == {
            f"p{row}" for scores in found for row in scores
        }
        assert scores_by_formula(fused) == pytest.approx(fused.scores)


def test_the_path_of_a_hit_is_the_first_that_any_ranking_has() -> None:
    one = ranking("dense", {1: 0.9})
    two, three = (
        ranking("graph", {1: 0.9}, paths={1: (FACT,)}),
        ranking("walk", {1: 0.9}, paths={1: (OTHER,)}),
    )
    assert fuse_rankings([one, two, three], (1, 1, 1), 10).hit(1).path == (FACT,)


def test_what_the_rankings_say_of_the_query_is_kept() -> None:
    one, two = (
        ranking(name, {1: 0.9}, notes=Notes(warning=name)) for name in ("dense", "walk")
    )
    fused = fuse_rankings([one, two], (1, 1), 10).notes
    assert fused.inputs == (one.notes, two.notes)
    assert (fused.warning, fused.warnings) == ("", ("dense", "walk"))


def test_a_fused_hit_names_the_stage_that_it_has_in_its_ranking() -> None:
    walk = Ranking.from_scores(
        "q",
        np.array([1, 5]),
        np.array([0.9, 0.1]),
        IDS,
        stages=("walk", "dense"),
        stage_codes=np.array([0, 1]),
    )
    fused = fuse_rankings([walk, WORDS], (3, 1), 10)
    assert {hit.passage_id: hit.stage for hit in fused} == {
        "p1": "walk",
        "p5": "walk: dense",
        "p2": "bm25",
        "p4": "bm25",
        "p3": "bm25",
    }


@pytest.mark.parametrize("method", METHODS)
def test_empty_rankings_fuse_to_an_empty_one(method: str) -> None:
    nothing = ranking("dense", {})
    assert (
        fuse_rankings([nothing, nothing], (1, 1), 10, method=method).passage_ids == []
    )
    assert fuse_rankings([nothing, WORDS], (1, 1), 10, method=method).passage_ids == [
        "p2",
        "p4",
        "p3",
    ]


def test_every_retriever_is_read_to_its_depth_whatever_k_is_wanted() -> None:
    one, two = Fixed(DENSE), Fixed(WORDS)
    fused = fuse(one, two, depth=2).retrieve("?", 1)
    assert (one.asked, two.asked) == ([2], [2])
    assert scores(fused) == {"p2": 1 / 62 + 1 / 61}


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"weights": (1.0,)}, "2 retrievers need as many weights, not 1"),
        ({"weights": (1.0, -0.1)}, r"Weights \(1.0, -0.1\) must be at least 0"),
        ({"weights": (0.0, 0.0)}, "one of them above 0"),
        ({"constant": -1.0}, "constant must be"),
    ],
)
def test_arguments_that_mean_nothing_are_refused(
    arguments: dict[str, Any], message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        fuse(Fixed(DENSE), Fixed(WORDS), **arguments)
