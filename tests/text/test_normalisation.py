"""Normalised names, bare titles, sentences; known names in texts: the longest, in order, at any position."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kg2rag.text.code_names import (
    definitions,
    key,
    looks_like_name,
    split,
    surfaces,
    variants,
)
from kg2rag.text.normalisation import (
    NAME,
    JoinedTexts,
    Lexicon,
    normalise,
    without_brackets,
)
from kg2rag.text.sentences import split_sentences


@pytest.mark.parametrize(
    ("name", "folded"),
    [
        ("Saint-Étienne (Loire)", "saint etienne loire"),
        ("  STRASSE  ", "strasse"),
        ("Straße", "strasse"),
        ("snake_case__name", "snake case name"),
        ("e\u0301clair", "eclair"),
        ("L’Œuvre, oeuvre", "l oeuvre oeuvre"),
        ("ﬁlm №5", "film no5"),
        ("東京タワー", "東 京 タワー"),
        ("O'Neill & Sons, Ltd.", "o neill sons ltd"),
        ("C, C++, C#", "c c++ c#"),
        ("Notepad++-like a+b #1 C++x", "notepad++ like a b 1 c x"),
        ("C++_", "c++"),
        ("++", ""),
        ("", ""),
    ],
)
def test_case_accents_punctuation_and_spacing_are_folded(
    name: str, folded: str
) -> None:
    assert normalise(name) == folded


@given(st.text())
def test_a_normalised_name_has_single_spaces_and_no_punctuation_but_signs(
    name: str,
) -> None:
    folded = normalise(name)
    assert folded == " ".join(folded.split())
    assert all(
        char in " +#"
        or (char.isalnum() or char.isidentifier() or f"a{char}".isidentifier())
        for char in folded
    )


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
def test_a_title_loses_its_trailing_brackets_but_is_never_emptied(
    title: str, bare: str
) -> None:
    assert without_brackets(title) == bare


@pytest.mark.parametrize(
    ("text", "sentences"),
    [
        ("One. Two! Three?", ["One.", "Two!", "Three?"]),
        (
            "Dr. Jekyll met J. R. Smith. He ran.",
            ["Dr. Jekyll met J. R. Smith.", "He ran."],
        ),
        (
            "It cost 3.50 dollars. 40 were sold.",
            ["It cost 3.50 dollars.", "40 were sold."],
        ),
        ('She left. "Why?" he asked.', ["She left.", '"Why?" he asked.']),
        (
            "J.R.R. Tolkien met the U.S. Army. He ran.",
            ["J.R.R. Tolkien met the U.S. Army.", "He ran."],
        ),
        ("Приехал А. П. Чехов. Он врач.", ["Приехал А. П. Чехов.", "Он врач."]),
        ("no capital. so no cut", ["no capital. so no cut"]),
        ("  padded.  ", ["padded."]),
        ("", []),
    ],
)
def test_sentences_end_at_end_punctuation_before_a_capital_digit_or_quote(
    text: str, sentences: list[str]
) -> None:
    assert split_sentences(text) == sentences


@pytest.mark.parametrize(
    "name", ["Jeanne d'Arc", "Guillaume d’Orange", "Castel dell'Ovo"]
)
def test_an_elided_particle_is_within_a_name(name: str) -> None:
    assert NAME.findall(f"where {name} was") == [name]


@given(
    st.lists(
        st.sampled_from(
            ["Mr.", "Ann", "ran.", "He", "5", "(b", "c)", "!", "  ", "\n", '"A"']
        ),
        max_size=30,
    )
)
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
    assert variants("ai-sdk/openAI") == (
        "ai-sdk/openAI",
        "ai",
        "sdk",
        "openAI",
        "open",
        "AI",
    )
    assert [name for name, _ in surfaces("(os.path.join), 'useChat'.")] == [
        "os.path.join",
        "useChat",
    ]
    assert not any(
        map(looks_like_name, ("Who", "well-known", "U.S.", "NASA", "1984", "3rd"))
    )
    code = "def a(): x\nclass B:\nfunction c() {}\nfn d() {}\nconst e = 1"
    assert list(definitions(code)) == ["a", "B", "c", "d", "e"]


@given(st.text("abzABZ019_-./: é", max_size=60))
def test_the_parts_of_a_name_are_its_characters_without_the_separators(
    text: str,
) -> None:
    assert key("".join(split(text))) == key(text)


Found = list[tuple[int, int, int]]


def found(keys: list[str], text: str, names: list[str] | None = None) -> list[str]:
    """The surfaces that a lexicon of these keys finds; with capitals where it is given how they are written."""
    lexicon = Lexicon(keys, names or [])
    return [
        text[start:end]
        for _, (start, end) in lexicon.find(text, capitals=names is not None)
    ]


@pytest.mark.parametrize(
    ("keys", "text", "surfaces"),
    [
        (
            ["new york", "new york city", "city"],
            "New York City, a city in New York",
            ["New York City", "city", "New York"],
        ),
        # a longer one that breaks off
        (["new york", "new york city"], "New York State", ["New York"]),
        (["a b", "b c"], "a b c", ["a b"]),
        (
            ["saint etienne"],
            "SAINT-ÉTIENNE; Saint_Etienne",
            ["SAINT-ÉTIENNE", "Saint_Etienne"],
        ),
        (["cafe noir"], "Cafe\u0301 Noire\u0301, Cafe\u0301 Noir", ["Cafe\u0301 Noir"]),
        # An accent of its own belongs to its letter.
        (
            ["cafe"],
            "Cafe\u0301.",
            ["Cafe\u0301"],
        ),
        (
            ["run in threadpool", "threadpool"],
            "call run_in_threadpool()",
            ["run_in_threadpool"],
        ),
        (["art"], "Arthur, party, art", ["art"]),
        (["1", "2"], "½ or 2", ["2"]),  # ½ folds to "1 2"; half of it is no match
        *((["a"], text, []) for text in ("", " ", "...", "_", "\u0301")),
        (["", "b"], " ", []),
    ],
)
def test_the_longest_name_at_each_place_is_found_without_overlap(
    keys, text, surfaces
) -> None:
    assert found(keys, text) == surfaces


@pytest.mark.parametrize(
    ("names", "text", "surfaces"),
    [
        (["The Birds"], "the birds in The Birds", ["The Birds"]),
        (["uvicorn"], "served by uvicorn or Uvicorn", ["uvicorn", "Uvicorn"]),
        (["11 September"], "on 11 september", ["11 september"]),  # a digit is enough
        # goes on a word later
        (
            ["the Birds fly", "Birds"],
            "the birds fly, the Birds, Birds fly",
            ["Birds", "Birds"],
        ),
        (["A b", "b"], "a b", ["b"]),
    ],
)
def test_with_capitals_a_name_that_has_some_is_not_found_without(
    names, text, surfaces
) -> None:
    assert found([normalise(name) for name in names], text, names) == surfaces


ODD = st.text(alphabet="abAB éÉ½™_-\u0301. ßİ1+#\0ﬁ²⁺", max_size=30)
WORDS = st.lists(
    st.sampled_from(["a", "A", "b", "B", "É", "½", "1", "the"]), min_size=1, max_size=4
).map(" ".join)


def together(lexicon: Lexicon, texts: list[str], *, capitals: bool = False) -> Found:
    """(text, code, start in the text) of every match in many texts."""
    joined = JoinedTexts(texts)
    matches = lexicon.matches(joined, capitals=capitals)
    columns = (
        matches.texts,
        matches.codes,
        matches.starts - joined.starts[matches.texts],
    )
    return list(zip(*(column.tolist() for column in columns), strict=True))


def one_by_one(
    names: list[str], text: str, *, capitals: bool
) -> Iterator[tuple[int, int]]:
    """(code, start) by trying every key at every word, the longest first."""
    codes = {normalise(name): code for code, name in enumerate(names)}
    words = JoinedTexts([text]).words()
    starts, ends, at = words.starts.tolist(), words.ends.tolist(), 0
    while at < len(starts):
        spans = [(at, last) for last in reversed(range(at, len(starts)))]
        keys = (
            (
                " ".join(words.strings[at : last + 1]),
                text[starts[at] : ends[last]],
                last,
            )
            for at, last in spans
        )
        key, surface, last = next(
            (one for one in keys if one[0] in codes), ("", "", at)
        )
        quiet = not key or not loud(names[codes[key]])
        if (
            key
            and normalise(surface) == key
            and (not capitals or quiet or loud(surface))
        ):
            yield codes[key], starts[at]
            at = last
        at += 1


def loud(form: str) -> bool:
    return any(char.isupper() or char.isdigit() for char in form)


@given(
    st.lists(ODD | WORDS, max_size=10, unique_by=normalise),
    st.lists(ODD | WORDS, max_size=5),
    st.booleans(),
)
def test_many_texts_at_once_hold_what_each_of_them_holds(
    names: list[str], texts: list[str], capitals: bool
) -> None:
    lexicon = Lexicon([normalise(name) for name in names], names)
    want = [
        (at, *one)
        for at, text in enumerate(texts)
        for one in one_by_one(names, text, capitals=capitals)
    ]
    assert together(lexicon, texts, capitals=capitals) == want
