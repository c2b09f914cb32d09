"""What a person has at hand is compared as it is: functions, frames, mappings; or refused at once."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from kg2rag.evaluation import Comparison, compare

METRICS = ["recall@2"]
WANTED = {"q1": ["p0", "p1"], "q2": ["p2"], "q3": ["p9"]}


def means(result) -> dict[str, float]:
    return result.to_frame()["recall@2"].to_dict()


def test_a_function_of_text_and_k_is_a_system(fixed, data):
    answers = {"First?": ["p0", "p1"], "Second?": ["p2"], "Third?": ["p9"]}
    asked = []

    def mine(text, k):
        asked.append((text, k))
        return answers[text]

    same = fixed(**{query: " ".join(ids) for query, ids in WANTED.items()})
    result = compare({"mine": mine, "same": same}, data, metrics=METRICS, k=7)
    assert means(result) == {"mine": pytest.approx(2 / 3), "same": pytest.approx(2 / 3)}
    assert asked == [("First?", 7), ("Second?", 7), ("Third?", 7)]


def test_a_function_may_give_scores_and_more_than_it_was_asked_for(data):
    result = compare(
        {"mine": lambda *_: [(f"p{i}", 9.5 - i) for i in range(40)]},
        data,
        metrics=METRICS,
        k=3,
    )
    ranking = result.rankings["mine"][0]
    assert ranking.passage_ids == ["p0", "p1", "p2"]
    assert ranking.scores.tolist() == [9.5, 8.5, 7.5]


def test_a_frame_and_mappings_are_systems_and_what_they_lack_is_said(data, tmp_path):
    scored = {"q1": {"p0": 2.0, "p1": 1.0}, "q2": {"p2": 0.5}}
    rows = [
        (query, id_, score)
        for query, hits in scored.items()
        for id_, score in hits.items()
    ]
    given = {
        "frame": pd.DataFrame(rows, columns=["query_id", "passage_id", "score"]),
        "scores": scored,
        "ids": {query: list(hits) for query, hits in scored.items()},
    }
    result = compare(given, data, metrics=METRICS)
    assert means(result) == dict.fromkeys(given, pytest.approx(2 / 3))
    assert set(result.config["remarks"]) == set(given)
    assert (
        "without a line in the run, counted as answered with nothing: 1"
        in result.config["remarks"]["ids"]
    )
    result.save(tmp_path)
    for one in (result, Comparison.load(tmp_path)):
        assert np.isnan(one.ms_per_query["ids"])
        assert "nan" not in one.to_markdown()
        assert "ids: questions without a line in the run" in str(one)


def test_queries_of_a_run_that_the_questions_lack_are_counted(data):
    run = {"q1": {"p0": 2.0}, "q98": {"p1": 1.0}, "q99": {"p2": 1.0}}
    remark = compare({"run": run}, data, metrics=METRICS).config["remarks"]["run"]
    assert remark.endswith("left out: 2")


@pytest.mark.parametrize(
    ("given", "error", "message"),
    [
        (lambda *_: "p0", TypeError, "'p0'"),
        (lambda *_: ["p0", "p99"], ValueError, "'p99' is not in the corpus"),
        (lambda *_: ["p0", "p0"], ValueError, "'p0' is ranked twice"),
        ({"q9": ["p0"]}, ValueError, "none|no line for any of the 3 questions"),
        (pd.DataFrame({"query_id": ["q1"]}), ValueError, "passage_id"),
        (3, TypeError, "is int, which has no retrieve_batch"),
    ],
)
def test_what_cannot_be_compared_is_refused_with_what_is_wanted(
    given, error, message, data
):
    with pytest.raises(error, match=message):
        compare({"mine": given}, data, metrics=METRICS)


def test_a_comparison_draws_itself(fixed, data):
    result = compare(
        {"dense": fixed(q1="p0"), "other": fixed(q2="p2")}, data, metrics=METRICS
    )
    assert [text.get_text() for text in result.plot().axes[0].texts] == ["16.7", "33.3"]
