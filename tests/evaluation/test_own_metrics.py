"""Functions of a user as metrics: beside named ones, judged by passage or document, checked."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from kg2rag.evaluation import Comparison, compare, evaluate
from kg2rag.evaluation.metrics import parse_metrics


def first_is_gold(ranking, gold):
    return bool(len(ranking)) and ranking.passage_ids[0] in gold


def gold_found(ranking, gold):
    return sum(grade for id_, grade in gold.items() if id_ in ranking.passage_ids)


@pytest.fixture
def rankings(data, fixed):
    return fixed(q1="p9 p0 p7 p1", q2="p2", q3="").retrieve_batch(data.queries, 100)


def test_a_mapping_gives_metrics_their_names(rankings, data):
    metrics = {
        "first": first_is_gold,
        "length": lambda ranking, _: len(ranking),
        "two": "recall@2",
        "mrr": "mrr",
    }
    frame = evaluate(rankings, data, metrics)
    assert frame["length"].tolist() == [4, 1, 0]
    assert frame["two"].equals(
        evaluate(rankings, data, ["recall@2"])["recall@2"].rename("two")
    )
    assert list(frame.columns) == list(metrics)


def test_documents_are_judged_by_their_ids_each_at_its_best_passage(data, fixed):
    seen = []

    def look(ranking, gold):
        seen.append((ranking.passage_ids, ranking.scores.tolist(), gold))
        return 0

    found = fixed(q1="p9 p8 p1", q2="p3", q3="").retrieve_batch(data.queries, 10)
    evaluate(found, data, [look], unit="document")
    # P9 and p8 are of d4, p1 of d0.
    assert seen[0] == (
        ["d4", "d0"],
        [1.0, 1 / 3],
        {"d0": 1},
    )
    questions = tuple(replace(question, gold={"d4": 2}) for question in data.questions)
    documents = replace(data, unit="document", questions=questions)
    assert evaluate(found, documents, [gold_found])["gold_found"]["q1"] == 2


@pytest.mark.parametrize(
    ("returned", "error", "message"),
    [
        (
            float("nan"),
            ValueError,
            "Metric 'bad', query 'q1': the score is nan. Return a finite number",
        ),
        (
            None,
            TypeError,
            r"Metric 'bad', query 'q1': a metric returns a number, not None \(NoneType\)",
        ),
        ("0.5", TypeError, "not '0.5'"),
        (np.zeros(2), TypeError, "ndarray"),
    ],
)
def test_what_is_no_finite_number_is_refused_by_metric_and_query(
    rankings, data, returned, error, message
):
    with pytest.raises(error, match=message):
        evaluate(rankings, data, {"bad": lambda *_: returned})


def test_a_metric_has_its_own_gold_and_an_error_says_where_it_happened(rankings, data):
    def greedy(ranking, gold):
        gold.clear()
        return 0

    assert evaluate(rankings, data, [greedy, "recall@2"])["recall@2"].tolist() == [
        0.5,
        1,
        0,
    ]
    with pytest.raises(ZeroDivisionError) as caught:
        evaluate(rankings, data, {"halves": lambda _, gold: 1 / (2 - len(gold))})
    assert caught.value.__notes__ == ["Metric 'halves', query 'q1' failed."]


@pytest.mark.parametrize(
    ("metrics", "error", "message"),
    [
        (
            [lambda *_: 0],
            ValueError,
            "has no name. Pass metrics={'its_name': function}",
        ),
        ({"system": gold_found}, ValueError, "'system' cannot head a column"),
        ({"recall@5": "recall@2"}, ValueError, "'recall@5' is that of another metric"),
        ([gold_found, gold_found], ValueError, "'gold_found' is given twice"),
        (
            [5],
            TypeError,
            r"A metric is a name or a function \(ranking, gold\) -> float, not int",
        ),
        ("mrr", TypeError, "mrr"),
        (
            gold_found,
            TypeError,
            "metrics must be a list of names and functions, or a mapping, not function",
        ),
    ],
)
def test_metrics_that_cannot_be_are_refused(metrics, error, message):
    with pytest.raises(error, match=message):
        parse_metrics(metrics)


def test_a_comparison_tests_shows_and_saves_a_function_like_any_metric(
    data, fixed, tmp_path
):
    systems = {
        "dense": fixed(q1="p0", q2="p9", q3="p4 p6"),
        "better": fixed(q1="p0 p1", q2="p2", q3="p4 p6 p8"),
    }
    result = compare(systems, data, metrics=["recall@2", gold_found], k=10)
    scores = result.scores.set_index(["system", "metric"])
    assert scores.loc[("better", "gold_found"), "mean"] == pytest.approx(6 / 3)
    assert scores.loc[
        ("better", "gold_found"), ["wins", "ties", "losses"]
    ].tolist() == [3, 0, 0]
    assert "2.00" in result.to_markdown()  # no share, so not in per cent
    assert result.config["metrics"] == ["recall@2", "gold_found"]
    assert list(result.config["metric_functions"]) == ["gold_found"]
    result.save(tmp_path)
    assert Comparison.load(tmp_path).to_markdown() == result.to_markdown()
