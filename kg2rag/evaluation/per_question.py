"""Scores per question as given -> one shape, checked; and what questions that belong together add up to."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from kg2rag.types import FloatArray

EQUAL = 1e-9
"""Scores that differ by no more than this are a tie."""


def columns(values: ArrayLike) -> tuple[FloatArray, bool]:
    """Values as (n_columns, n_queries), and whether they were a single column."""
    table = np.asarray(values, dtype=np.float64)
    if table.ndim not in (1, 2) or not len(table):
        raise ValueError(
            f"Scores must be (n_queries,) or (n_queries, n_columns) with at least one query, not {table.shape}."
        )
    if not np.isfinite(table).all():
        raise ValueError("Scores must be finite: a missing score is no score of 0.")
    return np.ascontiguousarray(table[None, :] if table.ndim == 1 else table.T), table.ndim == 1


def by_group(table: FloatArray, groups: ArrayLike | None) -> tuple[FloatArray, FloatArray]:
    """Sums of (n_columns, n_queries) and number of queries by group, in the order of the groups' first queries."""
    if groups is None:
        return table, np.ones(table.shape[1])
    labels = np.asarray(groups)
    if labels.shape != table.shape[1:]:
        raise ValueError(f"groups must be one label a query, {table.shape[1]}, not of shape {labels.shape}.")
    first, number = np.unique(labels, return_index=True, return_inverse=True)[1:]
    place = np.argsort(np.argsort(first))[number]
    member = np.zeros((len(first), table.shape[1]))
    member[place, np.arange(table.shape[1])] = 1
    return table @ member.T, member.sum(axis=1)
