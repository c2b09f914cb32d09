"""Eight numbers side by side: tuples that a compiler keeps in one register.

Written out and inlined, so that the kernels that use them (`Kernel(..., lanes=True)`) are straight-line code.
"""

from __future__ import annotations

import numba

from kg2rag.types import FloatArray

LANES = 8  # eight float64 are one cache line and one register

Eight = tuple[float, float, float, float, float, float, float, float]


@numba.njit(inline="always")
def eight(value: float) -> Eight:
    """The same number in every lane."""
    return (value, value, value, value, value, value, value, value)


@numba.njit(inline="always")
def read(rows: FloatArray, i: int) -> Eight:
    """Row `i` of (n, 8)."""
    return (rows[i, 0], rows[i, 1], rows[i, 2], rows[i, 3], rows[i, 4], rows[i, 5], rows[i, 6], rows[i, 7])


@numba.njit(inline="always")
def write(rows: FloatArray, i: int, x: Eight) -> None:
    """Row `i` of (n, 8) becomes x."""
    rows[i, 0], rows[i, 1], rows[i, 2], rows[i, 3] = x[0], x[1], x[2], x[3]
    rows[i, 4], rows[i, 5], rows[i, 6], rows[i, 7] = x[4], x[5], x[6], x[7]


@numba.njit(inline="always")
def add(x: Eight, y: Eight) -> Eight:
    """The sum of x and y in each lane."""
    return (
        x[0] + y[0],
        x[1] + y[1],
        x[2] + y[2],
        x[3] + y[3],
        x[4] + y[4],
        x[5] + y[5],
        x[6] + y[6],
        x[7] + y[7],
    )


@numba.njit(inline="always")
def subtract(x: Eight, y: Eight) -> Eight:
    """The difference of x and y in each lane."""
    return (
        x[0] - y[0],
        x[1] - y[1],
        x[2] - y[2],
        x[3] - y[3],
        x[4] - y[4],
        x[5] - y[5],
        x[6] - y[6],
        x[7] - y[7],
    )


@numba.njit(inline="always")
def scale(a: float, x: Eight) -> Eight:
    """Each lane of x times a."""
    return (a * x[0], a * x[1], a * x[2], a * x[3], a * x[4], a * x[5], a * x[6], a * x[7])


@numba.njit(inline="always")
def least(x: Eight, y: Eight) -> Eight:
    """The lesser of x and y in each lane."""
    return (
        x[0] if x[0] < y[0] else y[0],
        x[1] if x[1] < y[1] else y[1],
        x[2] if x[2] < y[2] else y[2],
        x[3] if x[3] < y[3] else y[3],
        x[4] if x[4] < y[4] else y[4],
        x[5] if x[5] < y[5] else y[5],
        x[6] if x[6] < y[6] else y[6],
        x[7] if x[7] < y[7] else y[7],
    )


@numba.njit(inline="always")
def greatest(x: Eight, y: Eight) -> Eight:
    """The greater of x and y in each lane."""
    return (
        x[0] if x[0] > y[0] else y[0],
        x[1] if x[1] > y[1] else y[1],
        x[2] if x[2] > y[2] else y[2],
        x[3] if x[3] > y[3] else y[3],
        x[4] if x[4] > y[4] else y[4],
        x[5] if x[5] > y[5] else y[5],
        x[6] if x[6] > y[6] else y[6],
        x[7] if x[7] > y[7] else y[7],
    )
