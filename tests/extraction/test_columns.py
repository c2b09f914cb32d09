"""Triples as columns are the same triples."""

from __future__ import annotations

import pickle

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kg2rag.extraction import Extraction
from kg2rag.extraction.columns import TripleColumns
from kg2rag.types import Triple

TRIPLES = (
    Triple("Ed Wood", "directed by", "Tim Burton", "p0", 8.0, 0.5),
    Triple("Tim Burton", "born in", "Burbank", ""),
    Triple("Ed Wood", "directed by", "Tim Burton", "p0", 2.5),
)
texts = st.sampled_from(["a", "b", "c d", "\ud800"])
triples = st.builds(
    Triple,
    texts,
    texts,
    texts,
    st.sampled_from(["", "p0", "p1"]),
    st.sampled_from([0.1, 10.0]),
    st.just(0.3),
    st.sampled_from(["", "Said so."]),
)


@given(st.lists(triples).map(tuple))
def test_columns_read_back_as_the_tuple_they_were_made_of(given_: tuple[Triple, ...]) -> None:
    columns = TripleColumns.of(given_)
    assert tuple(columns) == given_
    assert columns == given_
    assert given_ == columns
    assert repr(columns) == repr(given_)
    assert hash(columns) == hash(given_)
    assert Extraction(columns) == Extraction(given_)
    assert pickle.loads(pickle.dumps(columns)) == columns


def test_a_text_is_held_once() -> None:
    columns = TripleColumns.of(TRIPLES)
    assert columns.names == ["Ed Wood", "Tim Burton", "Burbank"]
    assert (columns.heads.tolist(), columns.tails.tolist()) == ([0, 1, 0], [1, 2, 1])
    assert columns.passage_ids == ["p0", ""]


def test_single_triples_and_slices_are_read() -> None:
    columns = TripleColumns.of(TRIPLES)
    assert (columns[0], columns[-1], columns[1:]) == (TRIPLES[0], TRIPLES[2], TRIPLES[1:])
    with pytest.raises(IndexError):
        columns[3]


def test_columns_of_other_triples_differ() -> None:
    assert TripleColumns.of(TRIPLES) != TRIPLES[:2]
    assert TripleColumns.of(TRIPLES) != (TRIPLES[0], TRIPLES[1], TRIPLES[1])
    assert TripleColumns.of(TRIPLES) != list(TRIPLES)


def test_rows_that_are_no_triples_are_refused_as_triples_are() -> None:
    rows = [("a", "r", "b", "p0", 5.0, 1.0, ""), ("a", "r", "c", "p0", 11.0, 1.0, "")]
    with pytest.raises(ValueError, match=r"a -\[r\]-> c: strength 11.0 is outside \(0, 10\]"):
        TripleColumns.of_rows(rows)
