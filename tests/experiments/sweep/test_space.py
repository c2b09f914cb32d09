"""What a parameter may be, and the values taken from it."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kg2rag.experiments.sweep.space import Range, draws, read


@pytest.mark.parametrize(
    ("given_", "message"),
    [
        ([], "an empty list leaves nothing to run"),
        ([1, 2, 1], "1 is repeated"),
        ({"low": 1}, "high"),
        ({"low": 1, "high": 2, "step": 1}, "step"),
        ({"low": 2, "high": 1}, "low must be"),
        ({"low": "a", "high": 1}, "low"),
        ({"low": 0.0, "high": 1.0, "log": True}, "low must be"),
        ({"low": 0, "high": 1, "log": "yes"}, "log"),
        ({"low": False, "high": 1}, "low"),
    ],
)
def test_what_is_no_space_is_refused(given_: object, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        read(given_)


@given(st.integers(0, 10_000), st.booleans(), st.booleans())
def test_a_draw_lies_in_its_range(seed: int, whole: bool, log: bool) -> None:
    space = Range(low=1, high=50, log=log) if whole else Range(low=0.001, high=10.0, log=log)
    value = space.draw(np.random.default_rng(seed))
    assert space.low <= value <= space.high
    assert isinstance(value, int) == whole


def test_a_logarithmic_range_draws_as_often_below_its_geometric_mean_as_above() -> None:
    random = np.random.default_rng(0)
    drawn = [Range(low=0.01, high=100.0, log=True).draw(random) for _ in range(2000)]
    assert sum(value < 1.0 for value in drawn) == pytest.approx(1000, abs=100)


def test_draws_are_different_and_stop_where_the_space_is_exhausted() -> None:
    found = list(draws({"a": (1, 2, 3)}, 10, np.random.default_rng(0)))
    assert sorted(point["a"] for point in found) == [1, 2, 3]  # type: ignore[type-var]
