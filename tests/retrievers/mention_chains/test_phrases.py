"""A question's sub-phrases."""

from __future__ import annotations

import pytest

from kg2rag.retrievers.mention_chains.phrases import CHARACTERS, sub_phrases


def test_spans_run_from_content_word_to_content_word_the_shortest_first() -> None:
    # Runs: directed | film | Ed Wood's | wife wrote; "the" and "that" end runs, and so does the
    # possessive.
    assert sub_phrases("Who directed the film that Ed Wood's wife wrote?", 40) == [
        "Ed Wood",
        "wife wrote",
        "directed the film",
        "film that Ed Wood",
        "Ed Wood's wife wrote",
        "directed the film that Ed Wood",
        "film that Ed Wood's wife wrote",
        "directed the film that Ed Wood's wife wrote",
    ]


def test_punctuation_ends_a_run_and_is_no_word() -> None:
    assert sub_phrases("Paris, Texas (1984 film): its composer", 40)[:3] == [
        "1984 film",
        "Paris Texas",
        "Texas 1984 film",
    ]


@pytest.mark.parametrize(
    "question", ["", "?!", "Rebecca", "the of and", "Ed Wood", "Ed Wood wrote"]
)
def test_single_words_and_the_whole_question_are_no_sub_phrases(question: str) -> None:
    assert sub_phrases(question, 40) == []


def test_a_phrase_is_listed_once() -> None:
    assert sub_phrases("Was Ed Wood the Ed Wood of Ohio?", 40).count("Ed Wood") == 1


@pytest.mark.parametrize("most", [0, 1, 3])
def test_at_most_so_many_are_listed(most: int) -> None:
    question = "Who directed the film that Ed Wood's wife wrote?"
    assert sub_phrases(question, most) == sub_phrases(question, 40)[:most]


def test_phrases_of_a_long_text_that_fit_are_listed_and_no_longer_ones() -> None:
    long = " ".join(["stone"] * 900)  # 5,399 characters: more than there is room for
    assert sub_phrases(f"Where is the old house of {long} in the high hills?", 40) == [
        "old house",
        "high hills",
    ]


def test_the_phrases_of_no_text_are_longer_together_than_there_is_room() -> None:
    text = " of ".join(
        f"word{number} and other{number}x things{number}" for number in range(400)
    )
    assert sum(map(len, sub_phrases(text, 400))) <= CHARACTERS
    assert len(sub_phrases(text, 400)) > 100
