"""Rank changes, worked out by hand."""

from __future__ import annotations

import numpy as np

from kg2rag.serving.changes import changed, changes
from kg2rag.types import Ranking, rank

IDS = ["a", "b", "c", "d", "e"]


def ranking(query: str, letters: str) -> Ranking:
    rows = np.array([IDS.index(letter) for letter in letters], dtype=np.int64)
    return rank(query, rows, -np.arange(len(rows), dtype=float), IDS, 10)


def test_passages_enter_leave_and_move_within_the_depth() -> None:
    found = changed(ranking("q", "abcd"), ranking("q", "cbe"), 3, lambda id_: id_ in "ae")
    assert [(one.passage_id, one.told) for one in found.moves] == [
        ("c", "up 2"),
        ("b", "same"),
        ("e", "entered"),
        ("a", "left"),
    ]
    assert (found.entered, found.left, found.moved, found.gold) == (1, 1, 1, 0)


def test_a_passage_below_the_depth_is_none_of_the_hits() -> None:
    found = changed(ranking("q", "ab"), ranking("q", "ba"), 1, lambda _: False)
    assert [(one.passage_id, one.before, one.after) for one in found.moves] == [("b", 0, 1), ("a", 1, 0)]


def test_gold_gained_and_lost_is_counted() -> None:
    assert changed(ranking("q", "a"), ranking("q", "bc"), 5, lambda id_: id_ in "bc").gold == 2
    assert changed(ranking("q", "bc"), ranking("q", ""), 5, lambda id_: id_ in "bc").gold == -2


def test_questions_that_one_run_lacks_are_left_out() -> None:
    found = changes(
        [ranking("q1", "a"), ranking("q2", "a")], [ranking("q2", "b"), ranking("q3", "b")], 5, lambda *_: False
    )
    assert [one.query_id for one in found] == ["q2"]
