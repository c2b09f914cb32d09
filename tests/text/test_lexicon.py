"""Known names in a text: the longest, in order, wherever they stand."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kg2rag.text.lexicon import Lexicon, words_of
from kg2rag.text.normalisation import normalise


def found(keys: list[str], text: str, *, capitals: bool = False, names: list[str] | None = None) -> list[str]:
    """The surfaces that a lexicon of these keys finds."""
    lexicon = Lexicon(keys, names or [])
    return [text[start:end] for _, (start, end) in lexicon.find(text, capitals=capitals)]


def test_the_longest_name_at_a_place_wins() -> None:
    assert found(["new york", "new york city", "city"], "New York City, a city in New York") == [
        "New York City",
        "city",
        "New York",
    ]


def test_a_longer_name_that_breaks_off_leaves_the_shorter_one() -> None:
    assert found(["new york", "new york city"], "New York State") == ["New York"]


def test_matches_do_not_overlap_and_the_first_wins() -> None:
    assert found(["a b", "b c"], "a b c") == ["a b"]


def test_case_accents_and_punctuation_make_no_difference() -> None:
    assert found(["saint etienne"], "SAINT-ÉTIENNE; saint étienne, Saint_Etienne") == [
        "SAINT-ÉTIENNE",
        "saint étienne",
        "Saint_Etienne",
    ]


def test_an_accent_written_as_a_character_of_its_own_belongs_to_its_letter() -> None:
    assert found(["cafe noir"], "Cafe\u0301 Noire\u0301, Cafe\u0301 Noir") == ["Cafe\u0301 Noir"]


def test_snake_case_is_words() -> None:
    assert found(["run in threadpool", "threadpool"], "call run_in_threadpool()") == ["run_in_threadpool"]


def test_words_inside_other_words_are_no_match() -> None:
    assert found(["art"], "Arthur, party, art") == ["art"]


def test_half_of_a_character_is_no_match() -> None:
    assert found(["1", "2"], "½ or 2") == ["2"]  # ½ folds to "1 2"


def test_with_capitals_the_birds_are_no_film() -> None:
    assert found(["the birds"], "the birds in The Birds", capitals=True, names=["The Birds"]) == ["The Birds"]


def test_with_capitals_a_name_that_has_none_is_found_without() -> None:
    assert found(["uvicorn"], "served by uvicorn or Uvicorn", capitals=True, names=["uvicorn"]) == [
        "uvicorn",
        "Uvicorn",
    ]


def test_with_capitals_a_digit_is_enough() -> None:
    assert found(["11 september"], "on 11 september", capitals=True, names=["11 September"]) == ["11 september"]


def test_the_code_of_a_match_is_the_place_of_its_key() -> None:
    assert list(Lexicon(["b", "", "a"]).find("a b", capitals=False)) == [(2, (0, 1)), (0, (2, 3))]


@pytest.mark.parametrize("text", ["", " ", "...", "_", "\u0301"])
def test_a_text_without_words_holds_nothing(text: str) -> None:
    assert found(["a"], text) == []


LETTERS = st.text(alphabet="abAB éÉ½™_-\u0301. ßİ1+#", max_size=30)


@given(st.lists(LETTERS.map(normalise), max_size=8), LETTERS)
def test_spans_ascend_never_overlap_and_normalise_to_their_key(keys: list[str], text: str) -> None:
    matches = list(Lexicon(keys).find(text, capitals=False))
    for code, (start, end) in matches:
        assert normalise(text[start:end]) == keys[code]
    assert all(left[1][1] <= right[1][0] for left, right in pairwise(matches))


@given(LETTERS, LETTERS, LETTERS)
def test_a_name_that_stands_alone_in_a_text_is_found_however_it_is_written(before: str, name: str, after: str) -> None:
    key = normalise(name)
    text = f"{normalise(before)} | {name} | {normalise(after)}"
    if key:
        assert list(Lexicon([key]).find(text, capitals=False))


@given(st.text(max_size=40))
def test_the_words_of_a_text_are_those_of_its_normal_form(text: str) -> None:
    assert " ".join(words_of(text)[0]) == normalise(text)


def test_every_name_in_a_hundred_kilobytes_is_found() -> None:
    text = "Die Straße nach Saint-Étienne führt an 40 Häusern vorbei. " * 1800
    assert len(found(["saint etienne"], text)) == 1800
