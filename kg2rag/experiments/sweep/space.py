"""The values given for a parameter -> those that a grid or a random draw takes; questions -> those of dev and of test.

A parameter is a single value, a list of values, or, to draw from, a range: `{low = 0.1, high = 0.9}` or
`{low = 0.001, high = 1.0, log = true}`. A range whose ends are whole numbers has whole values.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from itertools import product
from typing import Any, TypeVar

import numpy as np
from pydantic import BaseModel, ConfigDict, Field, FiniteFloat, ValidationError, model_validator

from kg2rag.types import QADataset

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


Kind = TypeVar("Kind", bound=BaseModel)
Space = tuple[object, ...] | Range
"""All values of a parameter, each drawn with equal probability, or a range."""


def read(given: object) -> Space:
    """The space of one parameter.

    Raises
    ------
    ValueError : an empty list, a repeated value, or no range; the caller adds the name of the parameter.
    """
    if isinstance(given, Mapping):
        return _valid(Range, given)
    values = tuple(given) if isinstance(given, list | tuple) else (given,)
    if not values:
        raise ValueError("an empty list leaves nothing to run")
    for i, value in enumerate(values):
        if any(value == other and type(value) is type(other) for other in values[:i]):
            raise ValueError(f"{value!r} is repeated")
    return values


def _valid(kind: type[Kind], given: Mapping[Any, Any]) -> Kind:
    """A table of a sweep file as what it is; ValueError in the words of its first mistake."""
    try:
        return kind.model_validate(dict(given))
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        where = ".".join(str(part) for part in first["loc"][:1]) or "the table"
        raise ValueError(f"{where}: {first['msg']}. It has {', '.join(kind.model_fields)}") from None


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


class Split(BaseModel):
    """How questions are divided into dev, where configurations are chosen, and test, where the chosen are judged.

    Parameters
    ----------
    dev : the share of questions to choose by, in (0, 1), of each type of question (or number of hops, where types are
        not known) alike; or, with `test`, the name of the set's own split.
    test : the name of the set's own split.
    seed : of the draw.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    dev: float | str = 0.5
    test: str | None = None
    seed: int = Field(default=0, ge=0)

    @model_validator(mode="after")
    def _is_a_share_or_two_names(self) -> Split:
        named = isinstance(self.dev, str)
        if named != isinstance(self.test, str) or self.dev == self.test or not (named or 0 < float(self.dev) < 1):
            raise ValueError(
                f"dev = {self.dev!r}, test = {self.test!r}: give dev as a share between 0 and 1 alone, or dev and test "
                "as two of the set's own splits"
            )
        return self

    @classmethod
    def read(cls, given: object) -> Split:
        """The split of a table with dev, seed and test; ValueError names what is wrong."""
        if isinstance(given, Split):
            return given
        if not isinstance(given, Mapping):
            raise ValueError(f"split = {given!r}: expected a table with dev, seed, test.")
        try:
            return _valid(cls, given)
        except ValueError as error:
            raise ValueError(f"split = {dict(given)}: {error}.") from None

    def labels(self, data: Sequence[QADataset]) -> list[list[str]]:
        """For each question of each data set, "dev" or "test". ValueError: one of the two would be empty."""
        if self.test is not None:
            return [[name] * len(one) for name, one in zip(("dev", "test"), data, strict=True)]
        (only,) = data
        groups: dict[str, list[int]] = {}
        for i, question in enumerate(only.questions):
            groups.setdefault(question.type or str(question.hops or ""), []).append(i)
        random, share = np.random.default_rng(self.seed), float(self.dev)
        line = [i for name in sorted(groups) for i in random.permutation(groups[name]).tolist()]
        # The n-th is drawn where n · share passes a whole number: each stretch of the line gives its share.
        dev = {i for n, i in enumerate(line) if math.floor((n + 1) * share) > math.floor(n * share)}
        if not 0 < len(dev) < len(only):
            raise ValueError(
                f"split.dev = {self.dev} of {len(only)} questions leaves none for {'test' if dev else 'dev'}."
            )
        return [["dev" if i in dev else "test" for i in range(len(only))]]
