"""The values given for a parameter -> those that a grid or a random draw takes from them.

A parameter is a single value, a list of values, or, to draw from, a range: `{low = 0.1, high = 0.9}` or
`{low = 0.001, high = 1.0, log = true}`. A range whose ends are whole numbers has whole values.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from itertools import product
from typing import Any

import numpy as np
from pydantic import BaseModel, ConfigDict, FiniteFloat, ValidationError, model_validator

DIGITS = 6  # significant; a drawn number is compared by its printed form


class Range(BaseModel):
    """A number from `low` to `high`, both included; uniform, or with `log` uniform in its logarithm."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    low: int | FiniteFloat
    high: int | FiniteFloat
    log: bool = False

    @model_validator(mode="after")
    def _holds_numbers(self) -> Range:
        if self.low >= self.high or (self.log and self.low <= 0):
            raise ValueError("low must be below high, and above 0 with log = true")
        return self

    def draw(self, random: np.random.Generator) -> int | float:
        """One of its numbers."""
        whole = isinstance(self.low, int) and isinstance(self.high, int)
        if whole and not self.log:
            return int(random.integers(int(self.low), int(self.high) + 1))
        low, high = (math.log(self.low), math.log(self.high + whole)) if self.log else (self.low, self.high)
        drawn = random.uniform(low, high)
        number = math.exp(drawn) if self.log else drawn
        return min(math.floor(number), int(self.high)) if whole else float(f"{number:.{DIGITS}g}")


Space = tuple[object, ...] | Range
"""All values of a parameter, each drawn with equal probability, or a range."""


def read(given: object) -> Space:
    """The space of one parameter.

    Raises
    ------
    ValueError : an empty list, a repeated value, or no range; the caller adds the name of the parameter.
    """
    if isinstance(given, Mapping):
        try:
            return Range.model_validate(dict(given))
        except ValidationError as error:
            first = error.errors(include_url=False)[0]
            where = ".".join(str(part) for part in first["loc"][:1]) or "the range"
            raise ValueError(f"{where}: {first['msg']}. A range has low and high, and may have log = true") from None
    values = tuple(given) if isinstance(given, list | tuple) else (given,)
    if not values:
        raise ValueError("an empty list leaves nothing to run")
    for i, value in enumerate(values):
        if any(value == other and type(value) is type(other) for other in values[:i]):
            raise ValueError(f"{value!r} is repeated")
    return values


def grid(spaces: Mapping[str, Space]) -> Iterator[dict[str, object]]:
    """Every combination; the last parameter changes fastest."""
    for values in product(*map(values_of, spaces.values())):
        yield dict(zip(spaces, values, strict=True))


def draws(spaces: Mapping[str, Space], samples: int, random: np.random.Generator) -> Iterator[dict[str, object]]:
    """`samples` different combinations at most: fewer where the space seems to hold no more."""
    seen: list[dict[str, object]] = []
    for _ in range(50 * samples):
        if len(seen) == samples:
            return
        drawn = {name: _drawn(space, random) for name, space in spaces.items()}
        if drawn not in seen:
            seen.append(drawn)
            yield drawn


def _drawn(space: Space, random: np.random.Generator) -> Any:
    return space.draw(random) if isinstance(space, Range) else space[int(random.integers(len(space)))]


def values_of(space: Space) -> tuple[object, ...]:
    """All values, or the ends of a range."""
    return (space.low, space.high) if isinstance(space, Range) else space


def each_value_once(spaces: Mapping[str, Space]) -> Iterator[dict[str, object]]:
    """Settings in which one parameter at a time departs from the first values."""
    yield {name: values_of(space)[0] for name, space in spaces.items()}
    for name, space in spaces.items():
        yield from ({name: value} for value in values_of(space))
