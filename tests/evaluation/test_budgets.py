"""Tokens are counted by words here, so that every number can be worked out by hand."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from kg2rag.evaluation import CompareOptions, compare, evaluate
from kg2rag.evaluation.passage_tokens import PassageTokens
from kg2rag.evaluation.returned_sizes import (
    larger_sets,
    ratios_to_others,
    returned_sizes,
    token_curve,
)
from kg2rag.types import Corpus, Passage, QADataset, Question, Ranking


class Words:
    """Counts words, and how often it was asked to."""

    def __init__(self) -> None:
        self.counted = 0

    def count(self, texts: Sequence[str]) -> list[int]:
        self.counted += len(texts)
        return [len(text.split()) for text in texts]


LENGTHS = (10, 20, 30, 40, 50, 60)


@pytest.fixture
def data() -> QADataset:
    """Six passages of 10, 20 … 60 words; the question needs the second and the fourth."""
    passages = [Passage(f"p{n}", "", "word " * n, f"d{n // 40}", n) for n in LENGTHS]
    return QADataset(
        "lengths",
        Corpus.from_passages(passages),
        (Question("q", "?", {"p20": 1, "p40": 1}),),
    )


def ranking(data: QADataset, *lengths: int) -> list[Ranking]:
    rows = np.array([LENGTHS.index(n) for n in lengths], dtype=np.int64)
    return [Ranking("q", rows, 1.0 / np.arange(1, len(rows) + 1), data.corpus.ids)]


def recall(data: QADataset, budget: int, *lengths: int, base: str = "recall") -> float:
    metric = f"{base}@{budget}tokens"
    frame = evaluate(
        ranking(data, *lengths),
        data,
        [metric],
        tokens=PassageTokens(data.corpus, Words()),
    )
    return float(frame[metric].iloc[0])


@pytest.mark.parametrize(
    ("lengths", "base", "budget", "expected"),
    [
        *(
            ((10, 20, 40), "recall", budget, found)
            for budget, found in ((29, 0), (30, 0.5), (69, 0.5), (70, 1))
        ),
        # 60 does not fit: a reader's context would go on to 20, this stops
        ((60, 20), "recall", 50, 0),
        ((10, 20, 40), "precision", 30, 0.5),
        ((10, 20, 40), "all_recall", 30, 0),
    ],
)
def test_metrics_within_tokens_read_whole_hits_that_fit(
    data, lengths, base, budget, expected
):
    assert recall(data, budget, *lengths, base=base) == expected


def test_a_passage_is_counted_once_however_often_it_returns_by_the_encoder_unless_told(
    data,
):
    words = Words()
    tokens = PassageTokens(data.corpus, words)
    for _ in range(3):
        tokens.cut(ranking(data, 10, 20, 30), 100)
    assert tokens.count(ranking(data, 30, 10, 20))[0].tolist() == [30, 10, 20]
    assert words.counted == 3
    # "word" is one token there
    assert PassageTokens(data.corpus).count(ranking(data, 10, 60))[0].tolist() == [
        10,
        60,
    ]


def test_sizes_are_means_within_each_depth(data):
    runs = {"a": [*ranking(data, 10, 20, 30), *ranking(data, 50)], "b": ranking(data)}
    sizes = returned_sizes(runs, PassageTokens(data.corpus, Words()), [1, 2])
    assert sizes.to_numpy().tolist() == [
        ["a", 1, 1, 30],
        ["a", 2, 1.5, 40],
        ["b", 1, 0, 0],
        ["b", 2, 0, 0],
    ]


@pytest.mark.parametrize(
    ("returned", "expected"),
    [
        # 110 tokens against the median of 30 and 50; as many tokens; 110 to 105 at most; alone
        (
            {"long": (60, 50), "short": (10, 20), "middle": (40, 10)},
            {"long": "2.75 times the tokens"},
        ),
        ({"many": (10, 20, 30), "few": (60,)}, {"many": "3.00 times the hits"}),
        ({"a": (60, 50), "b": (50, 60), "c": (40, 60)}, {}),
        ({"a": (60,)}, {}),
    ],
)
def test_who_returns_more_than_the_others_is_flagged(data, returned, expected):
    runs = {name: ranking(data, *lengths) for name, lengths in returned.items()}
    sizes = returned_sizes(runs, PassageTokens(data.corpus, Words()), [3])
    end = " of the others (median) within the first 3"
    assert larger_sets(sizes) == {name: words + end for name, words in expected.items()}
    assert ratios_to_others(sizes)["tokens_ratio"].isna().all() == (len(returned) == 1)


def test_the_token_curve_by_hand(data):
    runs = {"a": ranking(data, 10, 20, 40), "b": ranking(data, 40, 20, 60)}
    curve = token_curve(runs, data, PassageTokens(data.corpus, Words()), 10, "passage")
    assert curve["a"].to_dict() == {
        10: 0,
        15: 0,
        20: 0,
        30: 0.5,
        50: 0.5,
        70: 1,
        100: 1,
        120: 1,
    }
    assert curve["b"].to_dict() == {
        10: 0,
        15: 0,
        20: 0,
        30: 0,
        50: 0.5,
        70: 1,
        100: 1,
        120: 1,
    }


def test_the_token_curve_agrees_with_the_metric_and_is_blank_where_k_cut_the_ranking(
    data,
):
    tokens = PassageTokens(data.corpus, Words())
    hits = ranking(data, 30, 20, 10, 60, 40)
    curve = token_curve({"a": hits}, data, tokens, 10, "passage")["a"]
    for budget, value in curve.items():
        assert (
            value
            == evaluate(hits, data, [f"recall@{budget}tokens"], tokens=tokens).iloc[
                0, 0
            ]
        )
    runs = {"cut": ranking(data, 10, 20), "whole": ranking(data, 40)}
    blank = token_curve(runs, data, tokens, 2, "passage")
    # Both its hits are 30 tokens.
    assert blank["cut"].dropna().index.tolist() == [
        10,
        15,
        20,
        30,
    ]
    assert blank["whole"].dropna().index[-1] == 40
    # Documents are lifted after the cut: d0 holds 10, 20, 30; within 50 tokens stand two passages
    # of d0 alone.
    hits = ranking(data, 10, 30, 60)
    assert (
        evaluate(hits, data, ["recall@50tokens"], unit="document", tokens=tokens).iloc[
            0, 0
        ]
        == 0.5
    )
    assert token_curve({"a": hits}, data, tokens, 10, "document")["a"].loc[100] == 1


def test_a_comparison_counts_with_the_counter_it_is_given(data):
    class System:
        def retrieve_batch(self, queries, k):
            return ranking(data, 60, 20)

    options = CompareOptions(counter=Words())
    result = compare(
        {"a": System()},
        data,
        metrics=["recall@2", "recall@70tokens"],
        k=5,
        options=options,
    )
    frame = result.to_frame()
    assert frame.loc["a", ["recall@2", "recall@70tokens"]].tolist() == [0.5, 0]
    assert frame.loc["a", "tokens_per_query"] == 80
    assert result.budgets()["k"].tolist() == [2]
