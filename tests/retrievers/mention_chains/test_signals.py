"""Each signal by hand, on candidates small enough to work it out."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from kg2rag.knowledge import KnowledgeBase
from kg2rag.retrievers.mention_chains.naming_words import (
    naming_index,
    naming_words,
    rarity,
)
from kg2rag.retrievers.mention_chains.signals import (
    Evidence,
    reciprocal_rank,
    relative,
    step_signals,
    title_share,
    walk_gap,
    weighted,
)
from kg2rag.retrievers.mention_chains.token_index import (
    QuestionTokens,
    TokenVectors,
    window_sums,
)

Build = Callable[..., KnowledgeBase]
EVERY = np.arange(3)


def test_bm25_is_relative_to_the_best_that_the_query_may_return() -> None:
    assert relative(np.array([8.0, 2.0, 4.0]), 8.0).tolist() == [1, 0.25, 0.5]
    assert relative(np.array([2.0]), 4.0).tolist() == [0.5]
    assert relative(np.zeros(3), 0.0).tolist() == [0, 0, 0]


def test_the_walk_gap_is_the_logarithm_of_the_share_of_the_best_and_bounded() -> None:
    walk = np.array([0.5, 0.05, 0.0])
    assert walk_gap(walk, 0.5).tolist() == pytest.approx([0, np.log(0.1), -10])
    assert walk_gap(np.zeros(3), 0.0).tolist() == [0, 0, 0]


def test_the_dense_rank_is_reciprocal_among_what_the_query_may_return() -> None:
    nearest = np.array([0.9, 0.5, 0.1])
    assert reciprocal_rank(
        np.array([0.9, 0.1, 0.5]), nearest
    ).tolist() == pytest.approx([1, 1 / 3, 1 / 2])
    assert reciprocal_rank(np.array([0.5, 0.5]), np.array([0.5, 0.5])).tolist() == [
        1,
        1,
    ]


def test_a_passage_that_is_none_of_the_nearest_ranks_right_below_them() -> None:
    assert reciprocal_rank(
        np.array([0.2, 0.1, 0.5]), np.array([0.9, 0.5, 0.4])
    ).tolist() == [
        1 / 4,
        1 / 4,
        1 / 2,
    ]


def test_naming_words_are_capitalised_or_long_numbers() -> None:
    assert naming_words("In 1994 the A-list of Étienne's 42 films, The BBC said") == [
        "1994",
        "bbc",
        "etienne",
    ]


def test_rarity_is_near_one_for_a_word_of_one_passage_whatever_the_size_of_the_corpus():
    assert rarity(3, np.array([1, 2, 3])).tolist() == pytest.approx(
        np.log([4 / 1.5, 4 / 2.5, 4 / 3.5]) / np.log(4)
    )


def test_shared_words_and_title_words_by_hand(kb_of: Build) -> None:
    kb = kb_of(
        ("Ed Wood", "A film by Tim Burton and Danny Elfman."),
        ("Tim Burton", "Born in Burbank."),
        ("Danny Elfman", "A friend of Tim."),
        ("", "Nothing of note."),
    )
    # Danny, Elfman and Burton are in two passages, Tim in three
    df2, df3 = rarity(4, np.array([2, 3])).tolist()
    shared, title = naming_index(kb).shared(
        "Who is the Friend of Ed Wood?", np.array([0, 1, 2])
    )
    assert shared.tolist() == pytest.approx(
        np.array([[df2, df2, df2], [df2, df2, df3], [df2, df3, df2]])
    )
    # The question names Ed Wood itself.
    assert title[0].tolist() == pytest.approx([0, 1, 1])
    assert title[2].tolist() == pytest.approx([0, df3 / (df2 + df3), 1])
    asked, _ = naming_index(kb).shared(
        "Danny Elfman and Tim Burton", np.array([0, 1, 2])
    )
    assert asked.max() == 0


def test_max_sim_is_the_best_cosine_of_each_wordpiece() -> None:
    vectors = np.zeros((3, 64), np.int8)
    vectors[0, 0] = vectors[1, 1] = 127
    vectors[2, :2] = -64, 64
    indptr = np.array([0, 2, 3, 3])
    sums = window_sums(vectors, indptr)
    index = TokenVectors(
        np.eye(64, dtype=np.float32), vectors, indptr, sums, np.arange(4), np.ones(5)
    )
    question = QuestionTokens(np.eye(2, 64, dtype=np.float32), np.array([0.25, 0.75]))
    found = index.max_sim(question, EVERY)
    assert found.tolist() == pytest.approx(
        np.array([[1, 1], [-64 / 127, 64 / 127], [0, 0]]), abs=1e-6
    )
    assert weighted(found, question.weights).tolist() == pytest.approx(
        [1, 0.5 * 64 / 127, 0], abs=1e-6
    )
    parts = np.array([0, 1, 2, 3])
    # The first passage's two.
    parted = replace(
        index,
        indptr=parts,
        sums=window_sums(vectors, parts),
        windows=np.array([0, 2, 3, 3]),
    )
    assert parted.max_sim(question, EVERY).tolist() == pytest.approx(
        np.array([[0, 1], [-64 / 127, 64 / 127], [0, 0]]), abs=1e-6
    )


def test_of_a_long_passage_the_windows_nearest_to_the_question_are_compared() -> None:
    # Six windows of one passage: the second has the question's word among others, the last four
    # have nothing else.
    vectors = np.zeros((9, 64), np.int8)
    for token, axis in enumerate([1, 0, 2, 3, 4, 0, 0, 0, 0]):
        vectors[token, axis] = 100 if token < 5 else 90
    indptr = np.array([0, 1, 5, 6, 7, 8, 9])
    sums = window_sums(vectors, indptr)
    index = TokenVectors(
        np.eye(64, dtype=np.float32),
        vectors,
        indptr,
        sums,
        np.array([0, 6]),
        np.ones(5),
    )
    question = QuestionTokens(np.eye(1, 64, dtype=np.float32), np.array([1.0]))
    assert index.max_sim(question, np.array([0])).tolist() == [
        [pytest.approx(90 / 127)]
    ]


def test_titles_count_once_with_their_capitals_and_only_those_of_candidates(
    kb_of: Build,
) -> None:
    kb = kb_of(
        ("Ed Wood", "A film."),
        ("Big Fish", "Another."),
        ("Big Eyes", "A third."),
        ("", "A fourth."),
    )
    asked = "Are Ed Wood and big fish, or Ed Wood and Big Eyes, alike?"
    assert title_share(kb, asked, np.array([0, 1, 2])) == 1
    assert title_share(kb, asked, np.array([0, 3])) == 0.5
    assert title_share(kb, asked, np.array([1, 3])) == 0


def evidence(**changes: np.ndarray) -> Evidence:
    """Three candidates, two sub-phrases, two wordpieces."""
    given = {
        "phrase_cosines": np.array([[0.9, 0.1, 0.2], [0.1, 0.8, 0.1]]),
        "shared_word": np.array([[0.9, 0.3, 0.0], [0.3, 0.9, 0.5], [0.0, 0.5, 0.9]]),
        "title_words": np.array([[1.0, 0.5, 0.0], [0.2, 1.0, 0.0], [0.0, 0.0, 1.0]]),
        "max_sim": np.array([[1.0, 0.0], [0.2, 0.6], [0.4, 0.1]]),
        "weights": np.array([0.25, 0.75]),
    }
    return Evidence(np.arange(3), {}, titles=0.5, **(given | changes))


def test_chains_are_trusted_by_titles_and_by_links_among_the_likeliest() -> None:
    # 0 names .5 of the title of 1, 1 names .2 of that of 0, nobody names 2; their own titles do not
    # count.
    assert evidence().gate(np.zeros(3)) == pytest.approx(
        {"titles": 0.5, "linked": (0.2 + 0.5 + 0.0) / 3}
    )


def test_a_step_asks_what_the_first_passage_leaves_open() -> None:
    start = np.array([2.0, 0.0, -1.0])
    found = step_signals(evidence(), start, np.array([[0]]), 0.05)
    assert found["start"].tolist() == [start.tolist()]
    assert found["shared_word"].tolist() == [[0.9, 0.3, 0.0]]
    assert found["title_words"].tolist() == [[1.0, 0.5, 0.0]]
    # Candidate 1 fits the second phrase .7 better than candidate 0, which covers the first.
    by_hand = 0.05 * np.log((np.exp(-0.8 / 0.05) + np.exp(0.7 / 0.05)) / 2)
    assert found["phrase_gain"][0].tolist() == pytest.approx(
        [0, by_hand, 0.05 * np.log((np.exp(-14) + 1) / 2)]
    )
    assert found["tokens_joint"].tolist() == [
        pytest.approx([0.25, 0.25 + 0.75 * 0.6, 0.25 + 0.75 * 0.1])
    ]


def test_a_set_covers_what_any_of_its_members_covers() -> None:
    found = step_signals(evidence(), np.zeros(3), np.array([[0, 1]]), 0.05)
    assert found["shared_word"][0, 2] == 0.5
    assert found["phrase_gain"][0, 2] == pytest.approx(
        0.05 * np.log(np.exp([-0.7 / 0.05, -0.7 / 0.05]).mean())
    )
    assert found["tokens_joint"][0, 2] == pytest.approx(0.25 * 1.0 + 0.75 * 0.6)


def test_without_token_vectors_their_signal_is_left_out() -> None:
    blind = replace(evidence(), max_sim=None, weights=None)
    assert "tokens_joint" not in step_signals(blind, np.zeros(3), np.array([[0]]), 0.05)


@pytest.mark.parametrize("temperature", [1e-4, 1e6])
def test_the_gain_is_finite_at_any_temperature(temperature: float) -> None:
    assert np.isfinite(
        step_signals(evidence(), np.zeros(3), np.array([[0]]), temperature)[
            "phrase_gain"
        ]
    ).all()
