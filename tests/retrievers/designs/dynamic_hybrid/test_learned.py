"""Weights learned from scores, on rankings made by hand."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from weights import cross_validate, fit, grid_scores

from kg2rag.retrievers.designs.dynamic_hybrid.analysers import LearnedAnalyser
from kg2rag.retrievers.designs.dynamic_hybrid.retriever import blend
from kg2rag.types import FloatArray, Query, Ranking

IDS = ("other", "gold")  # the gold loses ties
HOW = [Query(f"h{i}", f"how do we feed animal number {i} well") for i in range(20)]
NAMES = [Query(f"n{i}", f"find parse_item_{i} please") for i in range(20)]


def ranking(*rows: int) -> Ranking:
    return Ranking.from_scores(
        "q", np.array(rows, dtype=np.int64), 1.0 / np.arange(1, len(rows) + 1), IDS
    )


def runs(queries: Sequence[Query]) -> dict[str, list[Ranking]]:
    """Dense finds the gold of how-questions first, pattern that of names; the others know nothing."""
    how = [query.text.startswith("how") for query in queries]
    return {
        "dense": [ranking(1, 0) if is_how else ranking(0, 1) for is_how in how],
        "sparse": [ranking() for _ in how],
        "pattern": [ranking(0, 1) if is_how else ranking(1, 0) for is_how in how],
        "graph": [ranking() for _ in how],
    }


def first_is_gold(found: Sequence[Ranking]) -> FloatArray:
    return np.array([float(len(one) > 0 and one.rows[0] == 1) for one in found])


def scores(queries: Sequence[Query]) -> FloatArray:
    return grid_scores(runs(queries), first_is_gold)


def test_a_blend_is_weighted_reciprocal_rank_by_hand() -> None:
    sides = {
        "dense": ranking(0, 1),
        "sparse": ranking(1),
        "pattern": ranking(0),
        "graph": ranking(),
    }
    sides = {
        side: Ranking(r.query_id, r.rows, r.scores, r.ids, (side,))
        for side, r in sides.items()
    }
    fused = blend(
        sides, {"dense": 0.6, "sparse": 0.4, "pattern": 0.0, "graph": 0.0}, 10, 60.0
    )
    assert fused.scores.tolist() == pytest.approx([0.6 / 62 + 0.4 / 61, 0.6 / 61])
    assert fused.rows.tolist() == [1, 0]


def test_the_learned_weights_follow_the_form_of_unseen_questions() -> None:
    train = [*HOW[:15], *NAMES[:15]]
    analyser = fit(train, scores(train))
    how, name = analyser.analyse([HOW[19], NAMES[19]])
    assert how.weights["dense"] > how.weights["pattern"]
    assert name.weights["pattern"] > name.weights["dense"]


def test_it_refuses_a_question_it_was_fitted_on_even_in_capitals_and_once_saved(
    tmp_path: Path,
) -> None:
    train = [*HOW[:15], *NAMES[:15]]
    analyser = fit(train, scores(train))
    analyser.save(tmp_path / "model.json")
    loaded = LearnedAnalyser.load(tmp_path / "model.json")
    assert loaded.analyse(NAMES[15:]) == analyser.analyse(NAMES[15:])
    for one in (analyser, loaded):
        with pytest.raises(ValueError, match=r"1 of 2 queries \(first: 'again'"):
            one.analyse(
                [Query("new", "why is it so"), Query("again", HOW[3].text.upper())]
            )


@pytest.mark.parametrize(
    "wrong",
    [{"features": ["length"]}, {"format": 0}, {"intercept": [1.0]}, {"alpha": None}],
)
def test_a_file_of_another_form_is_refused_by_name(
    tmp_path: Path, wrong: dict[str, object]
) -> None:
    fit(HOW, scores(HOW)).save(tmp_path / "model.json")
    record = json.loads((tmp_path / "model.json").read_text())
    (tmp_path / "model.json").write_text(json.dumps({**record, **wrong}))
    with pytest.raises(ValueError, match=r"model\.json"):
        LearnedAnalyser.load(tmp_path / "model.json")


def test_cross_validation_scores_every_question_once_and_finds_what_there_is_to_learn():
    queries = [*HOW, *NAMES]
    achieved = cross_validate(queries, scores(queries))
    assert achieved.tolist() == [1.0] * 40


def test_cross_validation_learns_nothing_from_noise_and_needs_two_different_questions():
    noise = np.random.default_rng(0).integers(2, size=(40, 56)).astype(float)
    assert abs(cross_validate([*HOW, *NAMES], noise).mean() - 0.5) < 0.25
    with pytest.raises(ValueError, match="1 "):
        cross_validate([HOW[0], Query("again", HOW[0].text)], np.zeros((2, 56)))
