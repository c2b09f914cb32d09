"""The values given for a parameter -> those that a grid or a random draw takes from them.

A parameter is a single value, a list of values, or a range: `{low = 0.1, high = 0.9, step = 0.1}` or
`{low = 0.001, high = 1.0, log = true}`. A range whose ends are whole numbers has whole values.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import product
from typing import Any, cast

import numpy as np

DIGITS = 6  # significant; a drawn number is compared by its printed form
MOST_VALUES = 10_000  # of a range in a grid


@dataclass(frozen=True)
class Choice:
    """One of some values; a draw takes each with equal probability."""

    values: tuple[object, ...]

    def grid(self) -> tuple[object, ...]:
        """All of them."""
        return self.values

    def draw(self, random: np.random.Generator) -> object:
        """One of them."""
        return self.values[int(random.integers(len(self.values)))]


@dataclass(frozen=True)
class Range:
    """A number from `low` to `high`, both included; uniform, or with `log` uniform in its logarithm."""

    low: float
    high: float
    step: float | None = None
    log: bool = False

    @property
    def values(self) -> tuple[object, ...]:
        """Its ends."""
        return (self.low, self.high)

    @property
    def whole(self) -> bool:
        """Whether the values are whole numbers."""
        return all(isinstance(end, int) for end in (self.low, self.high)) and isinstance(self.step, int | None)

    def grid(self) -> tuple[object, ...]:
        """`low`, `low + step`, … up to `high`."""
        if self.step is None:
            raise ValueError("a grid needs values: write a list, or give the range a step")
        if not (self.high - self.low) / self.step < MOST_VALUES:
            raise ValueError(f"a step of {self.step:g} gives {MOST_VALUES:,} values and more. Give a greater one")
        count = math.floor((self.high - self.low) / self.step + 1e-9) + 1
        return tuple(self._value(self.low + i * self.step) for i in range(count))

    def draw(self, random: np.random.Generator) -> object:
        """A value, on the steps where there are any."""
        if self.step is not None:
            return Choice(self.grid()).draw(random)
        if self.log:
            end = math.log(self.high + 1) if self.whole else math.log(self.high)
            drawn = math.exp(random.uniform(math.log(self.low), end))
            return self._value(min(math.floor(drawn), self.high) if self.whole else drawn)
        if self.whole:
            return int(random.integers(int(self.low), int(self.high) + 1))
        return self._value(random.uniform(self.low, self.high))

    def _value(self, number: float) -> int | float:
        return int(number) if self.whole else float(f"{number:.{DIGITS}g}")


Space = Choice | Range


def read(given: object) -> Space:
    """The space of one parameter.

    Raises
    ------
    ValueError : an empty list, a repeated value, or no range; the caller adds the name of the parameter.
    """
    if isinstance(given, Mapping):
        return _range(given)
    values = tuple(given) if isinstance(given, list | tuple) else (given,)
    if not values:
        raise ValueError("an empty list leaves nothing to run")
    for i, value in enumerate(values):
        if any(value == other and type(value) is type(other) for other in values[:i]):
            raise ValueError(f"{value!r} is repeated")
    return Choice(values)


def _range(given: Mapping[str, object]) -> Range:
    if set(given) - {"high", "log", "low", "step"} or not {"low", "high"} <= set(given):
        raise ValueError(f"{dict(given)!r} is no range. A range has low and high, and may have step or log = true")
    if not isinstance(given.get("log", False), bool):
        raise ValueError(f"log must be true or false, not {given['log']!r}")
    for key in ("low", "high", "step"):
        value = given.get(key, 1)
        if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
            raise ValueError(f"{key} must be a number, not {value!r}")
    found = Range(**cast("dict[str, Any]", given))
    if found.low >= found.high or (found.step is not None and found.step <= 0):
        raise ValueError(f"low must be below high and step above 0, not {dict(given)!r}")
    if found.log and (found.low <= 0 or found.step is not None):
        raise ValueError(f"with log = true, low must be above 0 and there is no step, not {dict(given)!r}")
    return found


def grid(spaces: Mapping[str, Space]) -> Iterator[dict[str, object]]:
    """Every combination; the last parameter changes fastest."""
    for values in product(*(space.grid() for space in spaces.values())):
        yield dict(zip(spaces, values, strict=True))


def draws(spaces: Mapping[str, Space], samples: int, random: np.random.Generator) -> Iterator[dict[str, object]]:
    """`samples` different combinations at most: fewer where the space seems to hold no more."""
    seen: list[dict[str, object]] = []
    for _ in range(50 * samples):
        if len(seen) == samples:
            return
        drawn = {name: space.draw(random) for name, space in spaces.items()}
        if drawn not in seen:
            seen.append(drawn)
            yield drawn


def each_value_once(spaces: Mapping[str, Space]) -> Iterator[dict[str, object]]:
    """Settings in which one parameter at a time departs from the first values."""
    first = {name: space.values[0] for name, space in spaces.items()}
    yield first
    for name, space in spaces.items():
        yield from ({name: value} for value in space.values)
