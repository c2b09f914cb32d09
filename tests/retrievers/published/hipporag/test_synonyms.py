"""Pairs of alike names, found in blocks."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kg2rag.retrievers.published.hipporag import memory as module
from kg2rag.retrievers.published.hipporag.memory import Synonyms, synonyms


def unit(n: int, dim: int, seed: int) -> np.ndarray:
    vectors = np.random.default_rng(seed).standard_normal((n, dim))
    return (vectors / np.linalg.norm(vectors, axis=1, keepdims=True)).astype(np.float32)


def pairs(found: Synonyms) -> list[tuple[int, int]]:
    return list(zip(found.sources.tolist(), found.targets.tolist(), strict=True))


@given(
    st.integers(1, 40), st.integers(0, 10_000), st.floats(0.05, 0.95), st.integers(1, 6)
)
@settings(deadline=None, max_examples=50)
def test_they_are_those_of_the_whole_matrix(
    n: int, seed: int, threshold: float, limit: int
) -> None:
    vectors = unit(n, 4, seed)
    cosines = vectors.astype(float) @ vectors.astype(float).T
    expected = []
    for row in range(n):
        near = [
            other
            for other in range(n)
            if other != row and cosines[row, other] >= threshold
        ]
        expected += [
            (row, other)
            for other in sorted(near, key=lambda other: (-cosines[row, other], other))[
                :limit
            ]
        ]
    assert (
        pairs(synonyms(vectors, threshold, np.arange(n), np.arange(n), limit))
        == expected
    )


def test_blocks_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    vectors, rows = unit(60, 3, 1), np.arange(60)
    whole = synonyms(vectors, 0.7, rows, rows)
    monkeypatch.setattr(module, "BLOCK_ROWS", 7)
    blocked = synonyms(vectors, 0.7, rows, rows)
    assert len(whole.sources) > 60
    assert pairs(blocked) == pairs(whole)
    assert blocked.cosines.tobytes() == whole.cosines.tobytes()


def test_only_the_sources_start_and_only_the_targets_end_a_pair() -> None:
    vectors = np.ones((4, 1), dtype=np.float32)
    found = synonyms(vectors, 0.9, np.array([0, 2]), np.array([0, 1]))
    assert pairs(found) == [(0, 1), (2, 0), (2, 1)]
