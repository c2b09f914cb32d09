"""Normalised names, bare titles, sentences."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kg2rag.text.code_names import definitions, key, looks_like_name, split, surfaces, variants
from kg2rag.text.normalisation import normalise, split_sentences, without_brackets


@pytest.mark.parametrize(
    ("name", "folded"),
    [
        ("Saint-Étienne (Loire)", "saint etienne loire"),
        ("  STRASSE  ", "strasse"),
        ("Straße", "strasse"),
        ("snake_case__name", "snake case name"),
        ("e\u0301clair", "eclair"),
        ("ﬁlm №5", "film no5"),
        ("東京", "東京"),
        ("O'Neill & Sons, Ltd.", "o neill sons ltd"),
        ("C, C++, C#", "c c++ c#"),
        ("Notepad++-like a+b #1 C++x", "notepad++ like a b 1 c x"),
        ("C++_", "c++"),
        ("++", ""),
        ("", ""),
    ],
)
def test_case_accents_punctuation_and_spacing_are_folded(name: str, folded: str) -> None:
    assert normalise(name) == folded


@given(st.text())
def test_a_normalised_name_has_single_spaces_and_no_punctuation_but_signs(name: str) -> None:
    folded = normalise(name)
    assert folded == " ".join(folded.split())
    assert all(char in " +#" or (char.isalnum() or char.isidentifier() or f"a{char}".isidentifier()) for char in folded)


@pytest.mark.parametrize(
    ("title", "bare"),
    [
        ("Rebecca (1940 film)", "Rebecca"),
        ("Rebecca", "Rebecca"),
        ("(500) Days of Summer", "(500) Days of Summer"),
        ("A (b) c (d)", "A (b) c"),
        ("(film)", "(film)"),
    ],
)
def test_a_title_loses_its_trailing_brackets_but_is_never_emptied(title: str, bare: str) -> None:
    assert without_brackets(title) == bare


@pytest.mark.parametrize(
    ("text", "sentences"),
    [
        ("One. Two! Three?", ["One.", "Two!", "Three?"]),
        ("Dr. Jekyll met J. R. Smith. He ran.", ["Dr. Jekyll met J. R. Smith.", "He ran."]),
        ("It cost 3.50 dollars. 40 were sold.", ["It cost 3.50 dollars.", "40 were sold."]),
        ('She left. "Why?" he asked.', ["She left.", '"Why?" he asked.']),
        ("no capital. so no cut", ["no capital. so no cut"]),
        ("  padded.  ", ["padded."]),
        ("", []),
    ],
)
def test_sentences_end_at_end_punctuation_before_a_capital_digit_or_quote(text: str, sentences: list[str]) -> None:
    assert split_sentences(text) == sentences


@given(st.lists(st.sampled_from(["Mr.", "Ann", "ran.", "He", "5", "(b", "c)", "!", "  ", "\n", '"A"']), max_size=30))
def test_splitting_loses_nothing_but_spaces(words: list[str]) -> None:
    text = " ".join(words)
    assert "".join("".join(split_sentences(text)).split()) == "".join(text.split())
    assert all(split_sentences(text))


def test_names_in_code_are_found_folded_and_split() -> None:
    spellings = (
        "StreamingTextResponse",
        "streaming_text_response",
        "streaming-text-response",
        "STREAMING.text/Response",
    )
    assert {key(spelling) for spelling in spellings} == {"streamingtextresponse"}
    assert key("Étienne") == "etienne"
    assert split("parseHTTPResponse_v2") == ["parse", "HTTP", "Response", "v2"]
    assert variants("ai-sdk/openAI") == ("ai-sdk/openAI", "ai", "sdk", "openAI", "open", "AI")
    assert [name for name, _ in surfaces("(os.path.join), 'useChat'.")] == ["os.path.join", "useChat"]
    assert not any(map(looks_like_name, ("Who", "well-known", "U.S.", "NASA", "1984", "3rd")))
    code = "def a(): x\nclass B:\nfunction c() {}\nfn d() {}\nconst e = 1"
    assert list(definitions(code)) == ["a", "B", "c", "d", "e"]


@given(st.text("abzABZ019_-./: é", max_size=60))
def test_the_parts_of_a_name_are_its_characters_without_the_separators(text: str) -> None:
    assert key("".join(split(text))) == key(text)
