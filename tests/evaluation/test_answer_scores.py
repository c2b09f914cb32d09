"""Expectations are worked out by hand from the official scorers' definitions."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kg2rag.evaluation.answer_scores import normalise_answer, score_answer


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("The Eiffel Tower!", "eiffel tower"),
        ("U.S.A.", "usa"),
        ("a  an\tthe", ""),
        ("The-atre", "theatre"),
        ("theatre", "theatre"),
        ("Beyoncé", "beyoncé"),
        ("“Rome”", "“rome”"),  # only ASCII punctuation goes
        ("an apple a day", "apple day"),
    ],
)
def test_normalisation_is_that_of_squad(text, expected):
    assert normalise_answer(text) == expected


RULES = ["squad", "hotpotqa", "musique"]
EQUAL, NONE = (1, 1), (0, 0)


@pytest.mark.parametrize(
    ("answer", "gold", "expected"),
    [
        ("The Rome.", ["rome"], EQUAL),
        ("Yes.", ["yes"], EQUAL),
        ("NYC", ["New York City", "NYC"], EQUAL),  # the best of several
        ("the", ["cat"], NONE),
        # "chief of protocol" of "us chief of protocol": precision 3/3, recall 3/4, F1 6/7.
        ("Chief of Protocol", ["the US Chief of Protocol"], (0, pytest.approx(6 / 7))),
        # "new new york" and "new york city": 2 of 3 and 2 of 3; a repeated word counts as often as
        # both have it.
        ("New New York", ["New York City"], (0, pytest.approx(2 / 3))),
    ],
)
@pytest.mark.parametrize("rules", RULES)
def test_exact_match_is_equality_after_normalisation_and_f1_counts_shared_words(
    rules, answer, gold, expected
):
    assert score_answer(answer, gold, rules) == expected


def test_exact_match_and_f1_may_come_from_different_gold_answers():
    # Both normalise to nothing: SQuAD's exact match is 1 with the first, its F1 0 with either.
    assert score_answer("the", ["a", "the cat"], "squad") == (1, 0)


@pytest.mark.parametrize("golds", [("Ada King", "Byron"), ("Byron", "Ada King")])
def test_the_best_gold_answer_counts_wherever_it_stands(golds):
    # "ada lovelace" against "ada king": one word of two on either side.
    assert score_answer("Ada Lovelace", golds) == (0, 0.5)


@pytest.mark.parametrize(
    ("rules", "share", "nothing"),
    [("squad", 2 / 3, 0), ("musique", 2 / 3, 1), ("hotpotqa", 0, 0)],
)
def test_the_scorers_differ_in_yes_and_no_and_in_answers_that_normalise_to_nothing(
    rules, share, nothing
):
    # "no war" against "no": precision 1/2, recall 1, F1 2/3.
    assert score_answer("no war", ["no"], rules).f1 == pytest.approx(share)
    assert score_answer("no", ["no war"], rules).f1 == pytest.approx(share)
    assert score_answer("The", ["a"], rules) == (1, nothing)


@settings(deadline=None)
@given(st.text(), st.text(), st.sampled_from(["squad", "hotpotqa", "musique"]))
def test_scores_lie_between_0_and_1_and_do_not_depend_on_which_answer_is_gold(
    one, other, rules
):
    there, back = score_answer(one, [other], rules), score_answer(other, [one], rules)
    assert all(0 <= value <= 1 for value in there)
    assert there == (back.em, pytest.approx(back.f1))


def test_other_rules_and_questions_without_an_answer_are_refused():
    with pytest.raises(ValueError, match="squad, hotpotqa, musique"):
        score_answer("Rome", ["Rome"], "trivia")
    with pytest.raises(ValueError, match="Rome"):
        score_answer("Rome", [])
