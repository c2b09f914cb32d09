"""The compiled search finds in many texts what `Lexicon` finds in each of them."""

from __future__ import annotations

import pyarrow as pa
from hypothesis import given, settings
from hypothesis import strategies as st

from kg2rag.text.lexicon import Lexicon
from kg2rag.text.matching import NameTrie
from kg2rag.text.normalisation import normalise
from kg2rag.text.words import JoinedTexts

Found = list[tuple[int, int, int]]


def together(names: list[str], texts: list[str]) -> Found:
    """(text, code, start in the text) of every match, by the trie."""
    joined = JoinedTexts(texts)
    found = NameTrie.of(pa.array(map(normalise, names), pa.string()), names).matches(joined)
    columns = (found.texts, found.codes, found.starts - joined.starts[found.texts])
    return list(zip(*(column.tolist() for column in columns), strict=True))


def one_by_one(names: list[str], texts: list[str]) -> Found:
    """The same by `Lexicon`."""
    lexicon = Lexicon([normalise(name) for name in names], names)
    return [(number, code, start) for number, text in enumerate(texts) for code, (start, _) in lexicon.find(text)]


def test_the_longest_name_at_a_place_wins_and_matches_do_not_overlap() -> None:
    names = ["New York", "New York City", "city", "York Minster"]
    assert together(names, ["New York City, a city", "New York Minster"]) == [(0, 1, 0), (0, 2, 17), (1, 0, 0)]


def test_a_name_does_not_go_on_in_the_next_text() -> None:
    assert together(["New York"], ["In New", "York."]) == []


def test_a_name_with_capitals_is_not_found_without() -> None:
    assert together(["The Birds", "uvicorn"], ["the birds on uvicorn", "The Birds"]) == [(0, 1, 13), (1, 0, 0)]


def test_after_a_name_that_does_not_count_the_search_goes_on_at_the_next_word() -> None:
    assert together(["the Birds fly", "Birds"], ["the birds fly", "the Birds, Birds fly"]) == [(1, 1, 4), (1, 1, 11)]
    assert together(["A b", "b"], ["a b"]) == [(0, 1, 2)]


def test_half_of_a_character_is_no_match() -> None:
    assert together(["1", "2"], ["½ or 2"]) == [(0, 1, 5)]


def test_without_names_nothing_is_found() -> None:
    assert together([], ["a text"]) == together([""], ["a text"]) == together(["a"], []) == []


ODD = st.text(alphabet="abAB éÉ½™_-\u0301. ßİ1+#", max_size=12)
WORDS = st.lists(st.sampled_from(["a", "A", "b", "B", "É", "½", "1", "the"]), min_size=1, max_size=4).map(" ".join)


@settings(deadline=None)  # the first example compiles
@given(st.lists(ODD | WORDS, max_size=10, unique_by=normalise), st.lists(ODD | WORDS, max_size=5))
def test_many_texts_at_once_hold_what_each_of_them_holds(names: list[str], texts: list[str]) -> None:
    assert together(names, texts) == one_by_one(names, texts)
