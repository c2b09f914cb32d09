"""Exact cosine search, in canonical order."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from kg2rag.knowledge import DenseIndex
from kg2rag.knowledge.indexes.dense import cosines
from kg2rag.types import IntArray, Matrix


def unit(n: int, dim: int = 24, seed: int = 0) -> Matrix:
    vectors = np.random.default_rng(seed).normal(size=(n, dim)).astype(np.float32)
    return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)


def slow(
    vectors: Matrix, query: Matrix, k: int, rows: IntArray | None = None
) -> list[int]:
    """The definition: every cosine to six digits, sorted by (-cosine, row)."""
    cosines = {
        row: float(np.sum(vectors[row].astype(float) * query.astype(float)))
        for row in range(len(vectors))
    }
    allowed = range(len(vectors)) if rows is None else rows.tolist()
    return sorted(allowed, key=lambda row: (-round(cosines[row], 6), row))[:k]


@pytest.mark.parametrize("k", [1, 5, 100, 400, 1_000])
@pytest.mark.parametrize("n_queries", [1, 7, 40])
def test_the_nearest_rows_are_those_of_brute_force(k: int, n_queries: int) -> None:
    vectors, queries = unit(400), unit(n_queries, seed=1)
    found = DenseIndex(vectors).search(queries, k)
    assert [rows.tolist() for rows, _ in found] == [
        slow(vectors, query, k) for query in queries
    ]


def test_cosines_stand_beside_their_rows_best_first() -> None:
    index = DenseIndex(
        np.array([[1, 0], [0, 1], [-1, 0], [0.6, 0.8]], dtype=np.float32)
    )
    ((rows, found),) = index.search(np.array([[1, 0]], dtype=np.float32), 9)
    assert rows.tolist() == [0, 3, 1, 2]
    assert found.tolist() == pytest.approx([1, 0.6, 0, -1])


def test_all_cosines_are_those_of_one_query_and_one_row() -> None:
    vectors, queries = unit(3_000, 384), unit(9, 384, seed=3)
    every, index = cosines(queries, vectors), DenseIndex(vectors)
    assert every.shape == (9, 3_000)
    assert (
        cosines(queries[4:5], vectors[2_500:2_501]).tolist()
        == every[4:5, 2_500:2_501].tolist()
    )
    assert (
        index.cosines(queries[4], np.arange(3_000)[::-1]).tolist()
        == every[4, ::-1].tolist()
    )


@pytest.mark.parametrize("k", [1, 10, 100, 300])
@pytest.mark.parametrize("n_queries", [1, 40])
def test_many_equal_vectors_are_ordered_by_row(k: int, n_queries: int) -> None:
    vectors = np.concatenate(
        [unit(50), np.repeat(unit(1, seed=5), 500, axis=0), unit(50, seed=6)]
    )
    queries = np.repeat(unit(1, seed=5), n_queries, axis=0)
    for rows, _ in DenseIndex(vectors).search(queries, k):
        assert rows.tolist() == list(range(50, 50 + k))


def test_a_query_whose_nearest_rows_tie_in_a_batch_with_others_finds_them_by_row():
    tied = unit(1, seed=5)
    vectors = np.concatenate([unit(50), np.repeat(tied, 500, axis=0), unit(50, seed=6)])
    queries = np.concatenate([unit(6, seed=7), tied, unit(6, seed=8)])
    results = DenseIndex(vectors).search(queries, 5)
    assert [rows.tolist() for rows, _ in results] == [
        slow(vectors, query, 5) for query in queries
    ]


def test_cosines_that_differ_by_less_than_a_millionth_tie_however_many_they_are():
    # The better ones are last.
    angles = 1e-5 * np.arange(400, 0, -1)
    vectors = np.stack([np.cos(angles), np.sin(angles)], axis=1).astype(np.float32)
    query = np.array([[1.0, 0.0]], dtype=np.float32)
    ((rows, _),) = DenseIndex(vectors).search(query, 5)
    assert rows.tolist() == slow(vectors, query[0], 5)


def test_candidates_are_the_only_rows_returned() -> None:
    vectors, queries = unit(300), unit(4, seed=1)
    masks = [
        None,
        np.array([3, 70, 71, 299]),
        np.empty(0, dtype=np.int64),
        np.arange(100, 200),
    ]
    found = DenseIndex(vectors).search(queries, 10, masks)
    assert [rows.tolist() for rows, _ in found] == [
        slow(vectors, query, 10, mask)
        for query, mask in zip(queries, masks, strict=True)
    ]


def test_an_index_of_nothing_finds_nothing_and_no_queries_do() -> None:
    index = DenseIndex(np.empty((0, 24), dtype=np.float32))
    assert [rows.tolist() for rows, _ in index.search(unit(2), 3)] == [[], []]
    assert DenseIndex(unit(5)).search(unit(0), 3) == []


def test_queries_of_another_dimension_are_refused() -> None:
    with pytest.raises(ValueError, match=r"12 .*24"):
        DenseIndex(unit(5)).search(unit(1, 12), 3)


def test_mapped_vectors_are_searched_where_they_lie(tmp_path: Path) -> None:
    np.save(tmp_path / "vectors.npy", unit(400))
    mapped = np.load(tmp_path / "vectors.npy", mmap_mode="r")
    index, queries = DenseIndex(mapped), unit(3, seed=1)
    assert np.shares_memory(index.vectors, mapped)
    found, expected = index.search(queries, 5), DenseIndex(unit(400)).search(queries, 5)
    assert [rows.tolist() for rows, _ in found] == [
        rows.tolist() for rows, _ in expected
    ]
    assert np.shares_memory(index.vectors, mapped)


@pytest.mark.parametrize("n_queries", [1, 40])
def test_the_settings_of_other_faiss_searches_stay(n_queries: int) -> None:
    import faiss

    before = faiss.cvar.distance_compute_blas_threshold
    DenseIndex(unit(400)).search(unit(n_queries, seed=1), 5)
    assert faiss.cvar.distance_compute_blas_threshold == before


@pytest.mark.parametrize("k", [1, 5, 100, 390])
@pytest.mark.parametrize("mask", [None, np.arange(20, 380)])
def test_near_rows_are_the_nearest_by_brute_force_even_where_many_tie(
    k: int, mask: IntArray | None
) -> None:
    tied = unit(1, seed=5)
    vectors = np.concatenate(
        [unit(150), np.repeat(tied, 100, axis=0), unit(150, seed=6)]
    )
    queries = np.concatenate([tied, unit(6, seed=7)])
    near = DenseIndex(vectors).near(queries, k, [mask] * len(queries))
    expected = [sorted(slow(vectors, query, k, mask)) for query in queries]
    assert [sorted(rows.tolist()) for rows in near] == expected


def test_among_some_rows_the_nearest_of_every_query_are_kept_with_their_cosines():
    vectors, queries = unit(400), unit(3, seed=1)
    allowed = np.arange(399, 100, -3)
    depths = [30, 1, 3]
    rows, found = DenseIndex(vectors).among(queries, allowed, depths)
    for query, depth in zip(queries, depths, strict=True):
        assert set(slow(vectors, query, depth, allowed)) <= set(rows.tolist())
    assert set(rows.tolist()) <= set(allowed.tolist())
    assert len(rows) < len(allowed)
    assert found.tolist() == cosines(queries, vectors[rows]).tolist()


def test_of_fewer_rows_than_are_wanted_all_are_kept() -> None:
    rows, found = DenseIndex(unit(9)).among(unit(2, seed=1), np.array([7, 2]), [5, 1])
    assert rows.tolist() == [7, 2]
    assert found.shape == (2, 2)
    assert DenseIndex(unit(9)).among(unit(1), np.empty(0, dtype=np.int64), [5])[
        1
    ].shape == (1, 0)
