from __future__ import annotations

import numpy as np

from kg2rag.types import Notes, Ranking, Triple, rescored, widened

FACT, OTHER = Triple("a", "r", "b", "p2"), Triple("c", "r", "d", "p0")


def ranking() -> Ranking:
    """p2 by the graph, then p0 and p3 by their text."""
    return Ranking.of(
        "q",
        np.array([0, 2, 3]),
        np.array([0.5, 0.9, 0.1]),
        ["p0", "p1", "p2", "p3"],
        stages=("dense", "graph"),
        stage_codes=np.array([0, 1, 0]),
        score_parts={"cosine": np.array([0.5, np.nan, 0.1])},
        paths={2: (FACT,)},
        notes=Notes("cosine", "dense", warning="first"),
    )


def test_a_hit_keeps_stage_path_and_parts_under_its_new_score() -> None:
    new = rescored(
        ranking(),
        np.array([0, 2]),
        np.array([2.0, 1.0]),
        9,
        formula="new",
        score_parts={"new": np.array([2.0, 1.0])},
        paths={0: (OTHER,)},
    )
    first, second = new
    assert (first.passage_id, first.stage, first.path, first.score_parts) == (
        "p0",
        "dense",
        (OTHER,),
        {"cosine": 0.5, "new": 2},
    )
    assert (second.passage_id, second.stage, second.path, second.score_parts) == ("p2", "graph", (FACT,), {"new": 1})
    assert (new.notes.formula, new.notes.source, new.notes.warnings) == ("new", "dense", ("first",))


def test_no_hits_at_all_are_rescored_to_none() -> None:
    empty = Ranking.of("q", np.array([], dtype=np.int64), np.array([]), ["p0"])
    assert len(rescored(empty, empty.rows, empty.scores, 3, formula="x", score_parts={})) == 0


def test_further_hits_have_none_of_the_parts() -> None:
    cosine = widened(ranking(), 2)["cosine"]
    assert np.isnan(cosine).tolist() == [True, False, False, True, True]
