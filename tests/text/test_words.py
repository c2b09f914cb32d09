"""The words of many texts at once are those of each text by itself."""

from __future__ import annotations

import re

from hypothesis import given, settings
from hypothesis import strategies as st

from kg2rag.text.lexicon import words_of
from kg2rag.text.normalisation import normalise
from kg2rag.text.words import JoinedTexts, normalise_all

ODD = st.text(alphabet="abAB éÉ½™_-\u0301. ßİ1\0ﬁ², ++##⁺", max_size=20)
TEXTS = st.lists(ODD | st.text(max_size=20), max_size=6)


def test_words_know_their_text_and_their_place_in_all_of_them() -> None:
    joined = JoinedTexts(["Saint-Étienne", "", "Straße 9"])
    words = joined.folded_words()
    assert words.strings.to_pylist() == ["saint", "etienne", "strasse", "9"]
    assert words.texts.tolist() == [0, 0, 2, 2]
    spans = zip(words.starts.tolist(), words.ends.tolist(), strict=True)
    assert [joined.text[start:end] for start, end in spans] == ["Saint", "Étienne", "Straße", "9"]


def test_the_second_word_of_a_half_is_torn_off_the_first() -> None:
    words = JoinedTexts(["½ 2"]).folded_words()
    assert (words.strings.to_pylist(), words.torn.tolist()) == (["1", "2", "2"], [False, True, False])


def test_lower_case_words_are_as_they_are_written() -> None:
    found = JoinedTexts(["A film, café_bar iPhone 12", "x2 ǅ"]).lower_case_words()
    assert found.to_pylist() == ["film", "café_bar", "x2"]


def test_no_texts_have_no_words() -> None:
    assert len(JoinedTexts([]).folded_words().strings) == len(JoinedTexts([]).lower_case_words()) == 0
    assert normalise_all([]).to_pylist() == []


@settings(deadline=None)
@given(TEXTS)
def test_names_are_normalised_together_as_one_by_one(names: list[str]) -> None:
    assert normalise_all(names).to_pylist() == [normalise(name) for name in names]


@settings(deadline=None)
@given(TEXTS)
def test_words_are_those_of_each_text(texts: list[str]) -> None:
    joined = JoinedTexts(texts)
    words = joined.folded_words()
    found = list(zip(words.texts.tolist(), words.strings.to_pylist(), words.starts.tolist(), strict=True))
    starts = joined.starts.tolist()
    assert found == [
        (number, word, starts[number] + start)
        for number, text in enumerate(texts)
        for word, (start, _) in zip(*words_of(text), strict=True)
    ]


@settings(deadline=None)
@given(TEXTS)
def test_lower_case_words_are_those_of_each_text(texts: list[str]) -> None:
    found = JoinedTexts(texts).lower_case_words().to_pylist()
    assert found == [word for text in texts for word in re.findall(r"\w+", text) if word.islower()]
