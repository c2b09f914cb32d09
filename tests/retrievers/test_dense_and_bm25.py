"""The two text retrievers, by hand."""

from __future__ import annotations

from collections.abc import Callable
from math import log

import pytest

from kg2rag.knowledge import KnowledgeBase
from kg2rag.retrievers.bm25 import BM25
from kg2rag.retrievers.dense import Dense

Build = Callable[..., KnowledgeBase]
PAGES = (
    ("", "red apple"),
    ("", "red red car"),
    ("Apple", "green pear"),
    ("", "blue sky"),
)


def test_dense_scores_are_cosines_best_first(kb_of: Build) -> None:
    ranking = Dense(kb_of(*PAGES)).retrieve("red apple", k=3)
    # shared words / sqrt(words · words), title included
    assert ranking.passage_ids == ["p0", "p1", "p2"]
    assert ranking.scores.tolist() == pytest.approx([1, 1 / 2, 1 / 6**0.5])


def test_dense_orders_equal_cosines_by_corpus_position(kb_of: Build) -> None:
    assert Dense(kb_of(*PAGES)).retrieve("", k=4).passage_ids == [
        "p0",
        "p1",
        "p2",
        "p3",
    ]


def test_bm25_scores_follow_the_lucene_formula(kb_of: Build) -> None:
    ranking = BM25(kb_of(*PAGES)).retrieve("red", k=4)
    idf, mean = log(1 + (4 - 2 + 0.5) / (2 + 0.5)), (2 + 3 + 3 + 2) / 4
    by_hand = {
        f: idf * f / (f + 0.9 * (1 - 0.4 + 0.4 * length / mean))
        for f, length in ((1, 2), (2, 3))
    }
    assert ranking.passage_ids == ["p1", "p0"]
    assert ranking.scores.tolist() == pytest.approx([by_hand[2], by_hand[1]], rel=1e-5)


def test_bm25_stems_and_leaves_stop_words_out(kb_of: Build) -> None:
    kb = kb_of(("", "an apple"), ("", "apples and pears"), ("", "and an"))
    assert BM25(kb).retrieve("the apples and", k=3).passage_ids == ["p0", "p1"]
    assert BM25(kb, stop_words=False).retrieve("and", k=3).passage_ids == ["p2", "p1"]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("streaming text response", ["p0", "p1"]),
        ("StreamingTextResponse", ["p0", "p1"]),
        ("read file", ["p2"]),
        ("http server", ["p3"]),
        ("server", ["p3"]),
    ],
)
def test_bm25_finds_an_identifier_by_the_words_in_it(
    kb_of: Build, text: str, found: list[str]
) -> None:
    texts = (
        "StreamingTextResponse",
        "streaming some text",
        "read_the_file(path)",
        "HTTPServer listens",
    )
    assert (
        BM25(kb_of(*(("", one) for one in texts))).retrieve(text, k=4).passage_ids
        == found
    )


@pytest.mark.parametrize("text", ["", "the", "unknown", "?"])
def test_bm25_finds_nothing_where_no_term_is_shared(kb_of: Build, text: str) -> None:
    assert len(BM25(kb_of(*PAGES)).retrieve(text, k=4)) == 0


@pytest.mark.parametrize(
    "wrong", [{"k1": -1.0}, {"b": 1.5}, {"variant": "bm26"}, {"stemmer": "snow"}]
)
def test_bm25_refuses_settings_when_it_is_made(
    kb_of: Build, wrong: dict[str, object]
) -> None:
    with pytest.raises(ValueError, match=str(next(iter(wrong.values())))):
        BM25(kb_of(*PAGES), **wrong)
