"""The trigram index against exhaustive search, by hand and on random vocabularies."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rapidfuzz.distance import Levenshtein

from kg2rag.knowledge import TrigramIndex
from kg2rag.knowledge.graph.csr import gather

SPELLINGS = ["StreamingTextResponse", "streaming_text_response"]
TEXTS = [
    "class StreamingTextResponse",
    "streaming_text_response = 1",
    "useChat hook",
    "json json",
    "plain prose",
]


def index_of(folder: Path, texts: list[str]) -> TrigramIndex:
    TrigramIndex.write(folder, texts)
    return TrigramIndex(folder)


@pytest.fixture
def index(tmp_path: Path) -> TrigramIndex:
    return index_of(tmp_path, TEXTS)


def names(index: TrigramIndex, wanted: str, min_similarity: float = 0.6) -> list[str]:
    return [
        index.keys[code].as_py()
        for code in index.similar(wanted, min_similarity, 10).keys.tolist()
    ]


def test_two_spellings_of_a_name_are_one_key_with_two_terms(
    index: TrigramIndex,
) -> None:
    assert index.spellings("streamingtextresponse") == SPELLINGS
    assert index.spellings("no such key") == []


def test_document_frequency_counts_passages_once_whatever_the_spelling(
    index: TrigramIndex,
) -> None:
    assert [
        index.document_frequency(key)
        for key in ("streamingtextresponse", "json", "absent")
    ] == [2, 1, 0]


@pytest.mark.parametrize(
    ("wanted", "strength"),
    [
        ("usechat", 2),  # equal
        ("textresponse", 1 + 12 / 21),  # a part of "streamingtextresponse"
        ("streamingtxtresp", 1 - 5 / 21),  # e, o, n, s, e are missing
        # Short, so that it is found though it shares no trigram with "json".
        (
            "josn",
            0.5,
        ),
    ],
)
def test_strengths_by_hand(index: TrigramIndex, wanted: str, strength: float) -> None:
    assert index.similar(wanted, 0.5, 1).strengths.tolist() == pytest.approx([strength])


def test_a_key_longer_than_any_name_is_like_none(index: TrigramIndex) -> None:
    assert names(index, "x" * 1000) == []


def test_postings_say_which_passage_defines_a_term(index: TrigramIndex) -> None:
    code = index.find("streamingtextresponse")
    rows, _, defines = index.postings(gather(index.key_ptr, np.array([code]))[0])
    assert list(zip(rows.tolist(), defines.tolist(), strict=True)) == [
        (0, True),
        (1, False),
    ]


def test_stars_stand_for_anything_and_case_is_folded(index: TrigramIndex) -> None:
    found = index.matching("streaming*response")
    assert [index.terms[term].as_py() for term in found.tolist()] == SPELLINGS
    assert not len(index.matching("streaming*text"))  # a pattern fits from end to end


def test_texts_without_any_name_make_an_empty_index_that_answers(
    tmp_path: Path,
) -> None:
    index = index_of(tmp_path, ["!", "?"])
    assert (names(index, "anything"), index.find("a"), len(index.matching("a*"))) == (
        [],
        None,
        0,
    )


def test_two_writes_of_the_same_texts_are_the_same_bytes(tmp_path: Path) -> None:
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        TrigramIndex.write(tmp_path / name, TEXTS)
    first, second = (
        {f.name: f.read_bytes() for f in (tmp_path / name).iterdir()}
        for name in ("a", "b")
    )
    assert first == second


WORD = st.text("abcde", min_size=8, max_size=14)


@settings(max_examples=60, deadline=None)
@given(st.lists(WORD, min_size=1, max_size=30, unique=True), WORD)
def test_no_key_of_ninety_percent_similarity_is_missed(
    words: list[str], wanted: str
) -> None:
    with TemporaryDirectory() as folder:
        index = index_of(Path(folder), [" ".join(words)])
        near = {
            word
            for word in words
            if wanted in word or Levenshtein.normalized_similarity(wanted, word) >= 0.9
        }
        assert set(names(index, wanted, 0.9)) == near or len(near) > 10
