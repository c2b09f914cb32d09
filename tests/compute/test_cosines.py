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


@pytest.mark.parametrize(("n_queries", "n_rows", "dim"), [(1, 5, 16), (3, 70, 19), (19, 130, 100), (8, 64, 7)])
def test_a_cosine_is_eight_sums_of_every_eighth_number_added_two_by_two(n_queries: int, n_rows: int, dim: int) -> None:
    random = np.random.default_rng(dim)
    queries, rows = (random.standard_normal((n, dim)).astype(np.float32) for n in (n_queries, n_rows))
    found, whole = all_cosines(queries, rows), dim - dim % 8
    for query, cosines in zip(queries.astype(float).tolist(), found.tolist(), strict=True):
        for row, cosine in zip(rows.astype(float).tolist(), cosines, strict=True):
            s = [0.0] * 8
            for at in range(dim):
                s[at % 8 if at < whole else 0] += query[at] * row[at]
            assert cosine == ((s[0] + s[1]) + (s[2] + s[3])) + ((s[4] + s[5]) + (s[6] + s[7]))


@pytest.mark.parametrize("size", [1, 2, 3, 9])
def test_a_cosine_depends_on_its_own_two_vectors_alone(size: int) -> None:
    random = np.random.default_rng(0)
    queries, rows = (random.standard_normal((n, 100)).astype(np.float32) for n in (20, 140))
    together = all_cosines(queries, rows)
    assert together[3 : 3 + size, 67:69].tobytes() == all_cosines(queries[3 : 3 + size], rows[67:69]).tobytes()


def test_no_query_or_no_row_has_no_cosine() -> None:
    some, none = np.ones((3, 8), dtype=np.float32), np.ones((0, 8), dtype=np.float32)
    assert all_cosines(none, some).shape == (0, 3)
    assert all_cosines(some, none).shape == (3, 0)
