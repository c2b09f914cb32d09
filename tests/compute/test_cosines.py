"""Cosines of a query with every row."""

from __future__ import annotations

import numpy as np
import pytest

from kg2rag.compute import all_cosines


@pytest.mark.parametrize("dim", [3, 8, 384, 385])
def test_they_are_the_dot_products(dim: int) -> None:
    random = np.random.default_rng(dim)
    queries, rows = (random.standard_normal((n, dim)).astype(np.float32) for n in (4, 9))
    np.testing.assert_allclose(all_cosines(queries, rows), queries.astype(float) @ rows.astype(float).T, rtol=1e-12)


def test_a_cosine_depends_on_its_own_two_vectors_alone() -> None:
    random = np.random.default_rng(0)
    queries, rows = (random.standard_normal((n, 100)).astype(np.float32) for n in (5, 40))
    together = all_cosines(queries, rows)
    assert together[3, 7:9].tobytes() == all_cosines(queries[3:4], rows[7:9])[0].tobytes()
