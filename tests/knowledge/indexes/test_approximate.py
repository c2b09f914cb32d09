"""Approximate indexes: exact scores, measured recall, the same bytes whenever they are built."""

from __future__ import annotations

from pathlib import Path

import faiss
import numpy as np
import pytest

from kg2rag.compute import Store
from kg2rag.knowledge import ApproximateIndex, DenseIndex
from kg2rag.knowledge.indexes import approximate
from kg2rag.types import Matrix

KEY = {"vectors": "clusters"}


def unit(vectors: Matrix) -> Matrix:
    rows: Matrix = (vectors / np.linalg.norm(vectors, axis=1, keepdims=True)).astype(np.float32)
    return rows


@pytest.fixture(scope="module")
def vectors() -> Matrix:
    """Two thousand vectors around a hundred centres."""
    random = np.random.default_rng(0)
    centres = np.repeat(random.normal(size=(100, 16)), 20, axis=0)
    return unit(centres + 0.3 * random.normal(size=centres.shape))


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Store:
    return Store(tmp_path_factory.mktemp("faiss"))


@pytest.fixture
def index(vectors: Matrix, store: Store) -> ApproximateIndex:
    return ApproximateIndex.stored(vectors, store, KEY)


def test_what_is_found_has_the_cosines_of_exact_search_best_first(index: ApproximateIndex, vectors: Matrix) -> None:
    flat = DenseIndex(vectors)
    for query, (rows, cosines) in zip(vectors[::100], index.search(vectors[::100], 10), strict=True):
        assert cosines.tolist() == flat.cosines(query, rows).tolist()
        assert np.lexsort((rows, -cosines)).tolist() == list(range(10))


def test_its_recall_is_what_a_count_by_hand_gives(index: ApproximateIndex, vectors: Matrix) -> None:
    rows = np.sort(np.random.default_rng(0).choice(2000, 1000, replace=False))
    shares = []
    for row, (found, _) in zip(rows.tolist(), index.search(vectors[rows], 11), strict=True):
        cosines = vectors.astype(np.float64) @ vectors[row].astype(np.float64)
        nearest = [other for other in np.lexsort((np.arange(2000), -cosines)).tolist() if other != row][:10]
        shares.append(len(set(nearest) & set([other for other in found.tolist() if other != row][:10])) / 10)
    assert index.recall == pytest.approx(np.mean(shares), abs=1e-3)
    assert index.recall >= 0.95
    assert f"{100 * index.recall:.1f} %" in index.remark


def test_a_query_alone_finds_what_it_finds_in_a_batch(index: ApproximateIndex, vectors: Matrix) -> None:
    queries = unit(vectors[:50] + 0.1)
    for query, (rows, cosines) in zip(queries, index.search(queries, 20), strict=True):
        ((alone, same),) = index.search(query[None], 20)
        assert alone.tolist() == rows.tolist()
        assert same.tolist() == cosines.tolist()


def test_a_second_build_has_the_same_bytes(
    index: ApproximateIndex, vectors: Matrix, store: Store, tmp_path: Path
) -> None:
    faiss.omp_set_num_threads(4)
    ApproximateIndex.stored(vectors, Store(tmp_path), KEY)
    (again,) = tmp_path.glob("faiss/*")
    for name in (approximate.FILE, approximate.ABOUT):
        assert (store.root / "faiss" / again.name / name).read_bytes() == (again / name).read_bytes()


def test_candidates_are_all_scored(index: ApproximateIndex, vectors: Matrix) -> None:
    masks = [np.arange(1000, 1040), None, np.empty(0, dtype=np.int64)]
    found, exact = index.search(vectors[:3], 5, masks), DenseIndex(vectors).search(vectors[:3], 5, masks)
    assert found[0][0].tolist() == exact[0][0].tolist()
    assert (len(found[1][0]), len(found[2][0])) == (5, 0)


def test_other_vectors_are_another_index(index: ApproximateIndex, vectors: Matrix, store: Store) -> None:
    before = len(list(store.root.glob("faiss/*")))
    ApproximateIndex.stored(vectors, store, KEY)
    assert len(list(store.root.glob("faiss/*"))) == before
    ApproximateIndex.stored(vectors[:1500], store, {"vectors": "fewer"})
    assert len(list(store.root.glob("faiss/*"))) == before + 1


def test_few_vectors_are_all_found(vectors: Matrix, store: Store) -> None:
    few = ApproximateIndex.stored(vectors[:3], store, {"vectors": "three"})
    ((rows, _),) = few.search(vectors[:1], 10)
    assert sorted(rows.tolist()) == [0, 1, 2]
    assert few.recall == 1
