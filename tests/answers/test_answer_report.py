"""Expectations are worked out by hand from the official scorers' definitions."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kg2rag.answers.reader import Answer, Answers
from kg2rag.answers.scores import AnswerScore, joint, normalise_answer, score_answer, score_answers, score_supporting
from kg2rag.compute import Failure
from kg2rag.evaluation.gold import returned_sentences
from kg2rag.types import Corpus, Passage, QADataset, Question, Ranking

DOWN = Failure("server", "HTTP 500: down", 3)


def f1(value: float, precision: float, recall: float) -> tuple[object, ...]:
    return tuple(pytest.approx(number) for number in (value, precision, recall))


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


@pytest.mark.parametrize("rules", ["squad", "hotpotqa", "musique"])
def test_exact_match_is_equality_after_normalisation(rules):
    assert score_answer("The Rome.", ["rome"], rules) == (1, 1, 1, 1)


@pytest.mark.parametrize("rules", ["squad", "hotpotqa", "musique"])
def test_f1_counts_shared_words(rules):
    # "chief of protocol" of "us chief of protocol": precision 3/3, recall 3/4, F1 6/7.
    assert score_answer("Chief of Protocol", ["the US Chief of Protocol"], rules) == (0, *f1(6 / 7, 1, 3 / 4))


def test_repeated_words_count_as_often_as_both_have_them():
    # "new new york" and "new york city": 2 of 3 and 2 of 3.
    assert score_answer("New New York", ["New York City"]) == (0, *f1(2 / 3, 2 / 3, 2 / 3))


def test_the_best_of_several_gold_answers_counts():
    assert score_answer("NYC", ["New York City", "NYC"], "musique") == (1, 1, 1, 1)


def test_exact_match_and_f1_may_come_from_different_gold_answers():
    # Both normalise to nothing: SQuAD's exact match is 1 with the first, its F1 0 with either.
    assert score_answer("the", ["a", "the cat"], "squad") == (1, 0, 0, 0)


@pytest.mark.parametrize(("rules", "expected"), [("squad", 2 / 3), ("musique", 2 / 3), ("hotpotqa", 0)])
def test_only_hotpotqa_takes_yes_and_no_as_a_whole(rules, expected):
    # "no war" against "no": precision 1/2, recall 1, F1 2/3.
    assert score_answer("no war", ["no"], rules).f1 == pytest.approx(expected)
    assert score_answer("no", ["no war"], rules).f1 == pytest.approx(expected)


def test_hotpotqa_gives_a_right_yes_full_marks():
    assert score_answer("Yes.", ["yes"], "hotpotqa") == (1, 1, 1, 1)


@pytest.mark.parametrize(("rules", "expected"), [("squad", 0), ("hotpotqa", 0), ("musique", 1)])
def test_two_answers_that_normalise_to_nothing_agree_in_f1_only_for_musique(rules, expected):
    assert score_answer("The", ["a"], rules) == (1, expected, expected, expected)


@pytest.mark.parametrize("rules", ["squad", "hotpotqa", "musique"])
def test_an_answer_without_words_does_not_match_one_with_words(rules):
    assert score_answer("the", ["cat"], rules) == (0, 0, 0, 0)


def test_unknown_rules_name_the_known_ones():
    with pytest.raises(ValueError, match="Known: squad, hotpotqa, musique"):
        score_answer("x", ["x"], "trivia")


def test_supporting_facts_are_scored_as_sets():
    # Two of three offered are right, two of four wanted are found: P 2/3, R 1/2, F1 4/7.
    offered = [("A", 0), ("A", 1), ("B", 0), ("B", 0)]
    wanted = [("A", 0), ("B", 0), ("C", 0), ("C", 1)]
    assert score_supporting(offered, wanted) == (0, *f1(4 / 7, 2 / 3, 1 / 2))


def test_no_supporting_fact_offered_scores_nothing():
    assert score_supporting([], [("A", 0)]) == (0, 0, 0, 0)


def test_joint_scores_multiply_precision_and_recall():
    # P 1 · 1/2 and R 3/4 · 1: F1 = 2 · 0.5 · 0.75 / 1.25 = 0.6; exact only where both are.
    answer, facts = AnswerScore(0, 6 / 7, 1, 3 / 4), AnswerScore(1, 2 / 3, 1 / 2, 1)
    assert joint(answer, facts) == (0, *f1(0.6, 0.5, 0.75))


def test_a_right_answer_from_wrong_facts_is_jointly_worth_nothing():
    assert joint(AnswerScore(1, 1, 1, 1), AnswerScore(0, 0, 0, 0)) == (0, 0, 0, 0)


@settings(deadline=None)
@given(st.text(), st.text(), st.sampled_from(["squad", "hotpotqa", "musique"]))
def test_scores_lie_between_0_and_1_and_swapping_answers_swaps_precision_and_recall(one, other, rules):
    there, back = score_answer(one, [other], rules), score_answer(other, [one], rules)
    assert all(0 <= value <= 1 for value in there)
    assert there == (back.em, *f1(back.f1, back.recall, back.precision))


# Reports


@pytest.fixture
def data() -> QADataset:
    """Three questions over two documents of two sentences each."""
    passages = [Passage("p0", "A", "One. Two.", "A", 0), Passage("p1", "B", "Three. Four.", "B", 0)]
    corpus = Corpus.from_passages(passages, [["One.", "Two."], ["Three.", "Four."]])
    questions = (
        Question("q1", "First?", {"p0": 1}, ("Rome",), supporting=(("A", 0),)),
        Question("q2", "Second?", {"p1": 1}, ("New York City", "NYC"), supporting=(("B", 0), ("B", 1))),
        Question("q3", "Third?", {"p1": 1}, ("yes",), supporting=(("B", 1),)),
    )
    return QADataset("little", corpus, questions)


def answers(**texts: str | Failure) -> Answers:
    return Answers({id_: text if isinstance(text, Failure) else Answer(text) for id_, text in texts.items()})


def mean(report, metric: str) -> float:
    return report.scores.set_index("metric").loc[metric, "mean"]


def test_means_are_over_the_answered_questions_and_the_failed_one_is_listed(data):
    report = score_answers(answers(q1="Rome", q2="Boston", q3=DOWN), data)
    assert (mean(report, "em"), report.n_answered, report.n_failed) == (0.5, 2, 1)
    assert report.failed == {"q3": DOWN}
    assert repr(report).startswith("2 answered, 1 failed (left out), by the rules of squad")


def test_the_metrics_of_a_failed_question_are_blank_not_zero(data):
    report = score_answers(answers(q1="Rome", q2="NYC", q3=DOWN), data)
    row = report.per_question.set_index("query_id").loc["q3"]
    assert row[["em", "f1", "precision", "recall"]].isna().all()
    assert row["failure"] == "server: HTTP 500: down (3 attempts)"


def test_a_report_without_any_answer_has_no_mean(data):
    report = score_answers(answers(q1=DOWN, q2=DOWN, q3=DOWN), data)
    assert report.scores["mean"].isna().all()
    assert report.n_answered == 0


def test_an_empty_answer_is_scored_and_a_failure_is_not(data):
    empty = score_answers(answers(q1="", q2="NYC", q3="yes"), data)
    failed = score_answers(answers(q1=DOWN, q2="NYC", q3="yes"), data)
    assert (mean(empty, "em"), mean(failed, "em")) == (pytest.approx(2 / 3), 1)


def test_two_reports_compare_on_the_questions_that_both_answered(data):
    one = score_answers(answers(q1="Rome", q2="Boston", q3=DOWN), data)
    other = score_answers(answers(q1=DOWN, q2="NYC", q3="yes"), data)
    both = [id_ for id_ in one.answered if id_ in other.answered]
    assert both == ["q2"]
    assert [mean(report.on(both), "em") for report in (one, other)] == [0, 1]


def test_supporting_facts_add_their_own_and_the_joint_metrics(data):
    offered = {"q1": [("A", 0)], "q2": [("B", 0)], "q3": [("A", 1)]}
    report = score_answers(answers(q1="Rome", q2="NYC", q3="yes"), data, rules="hotpotqa", supporting=offered)
    # Joint EM: q1 alone. Joint F1: 1, then P 1 and R 1/2 gives 2/3, then 0.
    assert mean(report, "joint_em") == pytest.approx(1 / 3)
    assert mean(report, "joint_f1") == pytest.approx((1 + 2 / 3) / 3)
    assert mean(report, "support_recall") == pytest.approx((1 + 1 / 2) / 3)


def test_a_ranking_offers_the_sentences_of_its_first_hits(data):
    ranking = Ranking.of("q1", [0, 1], [0.5, 0.9], data.corpus.ids)
    assert returned_sentences([ranking], data, k=1) == {"q1": [("B", 0), ("B", 1)]}


def test_the_interval_is_the_same_for_the_same_seed(data):
    given = answers(q1="Rome", q2="New York", q3="no")
    first, again = (score_answers(given, data, seed=5) for _ in range(2))
    assert first.scores.equals(again.scores)


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"q1": "Rome", "q2": "NYC"}, r"1 of 3 questions have neither an answer nor a failure \(first: 'q3'\)"),
        ({"q1": "", "q2": "", "q3": "", "q9": ""}, r"1 answers belong to no question \(first: 'q9'\)"),
    ],
)
def test_answers_must_be_those_of_the_data_set(given, says, data):
    with pytest.raises(ValueError, match=says):
        score_answers(answers(**given), data)


def test_a_question_without_gold_answers_is_named(data):
    lacking = replace(data, questions=(replace(data.questions[0], answers=()),))
    with pytest.raises(ValueError, match=r"have no gold answer \(first: 'q1'"):
        score_answers(answers(q1="Rome"), lacking)


def test_every_question_needs_supporting_facts_where_any_has(data):
    with pytest.raises(ValueError, match=r"have no entry in `supporting` \(first: 'q2'"):
        score_answers(answers(q1="a", q2="b", q3="c"), data, supporting={"q1": []})
