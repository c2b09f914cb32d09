"""A score of one's own: order, ties, candidates, and numbers that are none."""

from __future__ import annotations

import pytest

from kg2rag import Corpus, KnowledgeBase, Passage, Query, ScoreFunction
from kg2rag.testing.rankings import worked_out

CORPUS = Corpus.from_passages(Passage(id_, "", text, id_, 0) for id_, text in (("a", "xx"), ("b", "xxx"), ("c", "yy")))


@pytest.fixture
def longest() -> ScoreFunction:
    return ScoreFunction(KnowledgeBase.build(CORPUS), lambda _, passage: len(passage.text), name="longest")


def test_the_highest_score_comes_first_and_equal_ones_in_corpus_order(longest: ScoreFunction) -> None:
    assert longest.retrieve("q", 3).passage_ids == ["b", "a", "c"]
    assert longest.retrieve("q", 2).passage_ids == ["b", "a"]


def test_only_candidates_are_scored(longest: ScoreFunction) -> None:
    assert longest.retrieve(Query("q", "q", ("c", "a")), 3).passage_ids == ["a", "c"]


def test_the_question_reaches_the_score() -> None:
    shared = ScoreFunction(KnowledgeBase.build(CORPUS), lambda text, passage: float(text in passage.text))
    assert shared.retrieve("y", 1).passage_ids == ["c"]


def test_a_hit_says_how_it_was_scored(longest: ScoreFunction) -> None:
    ranking = longest.retrieve("q", 3)
    assert [worked_out(ranking, hit) for hit in ranking] == ranking.scores.tolist() == [3, 2, 2]
    assert ranking.hit(1).stage == "longest"


def test_a_score_that_is_no_number_is_an_error() -> None:
    broken = ScoreFunction(KnowledgeBase.build(CORPUS), lambda _, passage: float("nan") if passage.id == "b" else 1.0)
    with pytest.raises(ValueError, match="the score of 'b' is not finite"):
        broken.retrieve("q", 1)
