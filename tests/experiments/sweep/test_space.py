"""What a parameter may be, and the values taken from it."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kg2rag.experiments.sweep.space import Choice, Range, draws, grid, read


@pytest.mark.parametrize(
    ("given_", "values"),
    [
        ("cut", ("cut",)),
        ([3, 1, 2], (3, 1, 2)),
        ([True, 1], (True, 1)),
        ({"low": 0.1, "high": 0.5, "step": 0.1}, (0.1, 0.2, 0.3, 0.4, 0.5)),
        ({"low": 1, "high": 9, "step": 4}, (1, 5, 9)),
    ],
)
def test_a_grid_takes_every_value(given_: object, values: tuple[object, ...]) -> None:
    found = read(given_).grid()
    assert found == values
    assert [*map(type, found)] == [*map(type, values)]


def test_the_last_parameter_of_a_grid_changes_fastest() -> None:
    points = [tuple(point.values()) for point in grid({"a": Choice((1, 2)), "b": Choice(("x", "y"))})]
    assert points == [(1, "x"), (1, "y"), (2, "x"), (2, "y")]


@pytest.mark.parametrize(
    ("given_", "message"),
    [
        ([], "an empty list leaves nothing to run"),
        ([1, 2, 1], "1 is repeated"),
        ({"low": 1}, "A range has low and high"),
        ({"low": 1, "high": 2, "setp": 1}, "is no range"),
        ({"low": 2, "high": 1}, "low must be"),
        ({"low": "a", "high": 1}, "low must be a number, not 'a'"),
        ({"low": 0.0, "high": 1.0, "log": True}, "low must be"),
        ({"low": 0, "high": 1, "log": "yes"}, "log must be true or false"),
    ],
)
def test_what_is_no_space_is_refused(given_: object, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        read(given_)


def test_a_range_without_a_step_has_no_grid() -> None:
    with pytest.raises(ValueError, match="give the range a step"):
        Range(0.0, 1.0).grid()


@given(st.integers(0, 10_000), st.booleans(), st.booleans())
def test_a_draw_lies_in_its_range(seed: int, whole: bool, log: bool) -> None:
    space = Range(1, 50, log=log) if whole else Range(0.001, 10.0, log=log)
    value = space.draw(np.random.default_rng(seed))
    assert space.low <= value <= space.high  # type: ignore[operator]
    assert isinstance(value, int) == whole


def test_a_logarithmic_range_draws_as_often_below_its_geometric_mean_as_above() -> None:
    random = np.random.default_rng(0)
    drawn = [Range(0.01, 100.0, log=True).draw(random) for _ in range(2000)]
    assert sum(value < 1.0 for value in drawn) == pytest.approx(1000, abs=100)  # type: ignore[operator]


def test_draws_are_different_and_stop_where_the_space_is_exhausted() -> None:
    found = list(draws({"a": Choice((1, 2, 3))}, 10, np.random.default_rng(0)))
    assert sorted(point["a"] for point in found) == [1, 2, 3]  # type: ignore[type-var]
