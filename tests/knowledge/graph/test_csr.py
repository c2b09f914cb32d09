"""Compressed sparse rows: every vectorised function equals the loop that it replaces."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kg2rag.knowledge.graph.csr import gather, incidence, offsets

ROWS = st.lists(st.integers(0, 6), max_size=30)


def ints(values: list[int]) -> np.ndarray:
    return np.array(values, dtype=np.int64)


@given(ROWS)
def test_offsets_count_the_entries_before_each_row(rows: list[int]) -> None:
    assert offsets(ints(rows), 7).tolist() == [
        sum(row < at for row in rows) for at in range(8)
    ]


@given(ROWS, st.lists(st.integers(0, 6), max_size=10))
def test_gather_lists_the_entries_of_each_row_in_the_order_given(
    rows: list[int], wanted: list[int]
) -> None:
    indptr = offsets(ints(rows), 7)
    positions, which = gather(indptr, ints(wanted))
    expected = [
        (at, place)
        for place, row in enumerate(wanted)
        for at in range(indptr[row], indptr[row + 1])
    ]
    assert list(zip(positions.tolist(), which.tolist(), strict=True)) == expected


PAIRS = st.lists(
    st.tuples(st.integers(0, 4), st.integers(0, 3), st.integers(1, 3)), max_size=20
)


@given(PAIRS)
def test_an_incidence_adds_the_counts_of_repeated_pairs(
    pairs: list[tuple[int, int, int]],
) -> None:
    columns = np.array(pairs, dtype=np.int64).reshape(-1, 3).T
    found = incidence(*columns, 5)
    expected = {(row, other): 0 for row, other, _ in sorted(pairs)}
    for row, other, count in pairs:
        expected[row, other] += count
    triples = zip(
        found.owners.tolist(), found.others.tolist(), found.counts.tolist(), strict=True
    )
    assert [((row, other), count) for row, other, count in triples] == list(
        expected.items()
    )


@given(PAIRS)
def test_an_incidence_transposed_twice_is_itself(
    pairs: list[tuple[int, int, int]],
) -> None:
    found = incidence(*np.array(pairs, dtype=np.int64).reshape(-1, 3).T, 5)
    again = found.transposed(4).transposed(5)
    for name in ("indptr", "others", "counts"):
        assert np.array_equal(getattr(again, name), getattr(found, name))


def test_the_members_that_several_meet_come_code_by_code() -> None:
    found = incidence(ints([0, 0, 2]), ints([5, 3, 5]), ints([1, 1, 1]), 3)
    assert found.of(0)[0].tolist() == [3, 5]
    assert found.of_all(ints([2, 1, 0])).tolist() == [5, 3, 5]
    with pytest.raises(ValueError, match="read-only"):
        found.others[0] = 1
