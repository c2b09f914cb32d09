"""Numbers as the pages show them, and the register of what a marker may ask for."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple, TypeVar

from page_data import UnknownError

GROUPS = {"multihop": ("musique-100", "hotpotqa-300", "2wiki-1000", "2wiki-kg-500")}
HOLM = 0.05


class Number(NamedTuple):
    """A value and how it is shown; of a range the largest value, and the least."""

    value: float
    text: str
    least: float | None = None

    def above(self, other: Number) -> bool:
        """Whether all of it is above all of the other."""
        return (self.value if self.least is None else self.least) > other.value


QUERIES: dict[str, Callable[..., Number | str]] = {}
Query = TypeVar("Query", bound=Callable[..., Number | str])


def query(function: Query) -> Query:
    """Let markers use a function by its name."""
    QUERIES[function.__name__] = function
    return function


def percent(share: float) -> Number:
    """A share in per cent, without its sign."""
    return Number(100 * share, f"{100 * share:.1f}")


def points(difference: float) -> Number:
    """A difference in points, with its sign; what rounds to nothing has none."""
    text = f"{100 * difference:+.1f}"
    return Number(100 * difference, "0.0" if float(text) == 0 else text)


def between(numbers: Sequence[Number]) -> Number:
    """The smallest and the largest; one number where they show the same."""
    low, high = min(numbers, key=lambda one: one.value), max(numbers, key=lambda one: one.value)
    text = high.text if low.text == high.text else f"{low.text} to {high.text}"
    return Number(high.value, text, low.value)


def listed(parts: Sequence[str]) -> str:
    """An enumeration.

    >>> listed(["a"]), listed(["a", "b", "c"])
    ('a', 'a, b and c')
    """
    return " and ".join([", ".join(parts[:-1]), parts[-1]] if len(parts) > 1 else parts)


def sets(names: str) -> tuple[str, ...]:
    """Names parted by commas, or those of a group."""
    return GROUPS.get(names) or tuple(names.split(","))


def counted(value: float) -> Number:
    """A whole number; anything else is refused."""
    if float(value) != int(value):
        raise UnknownError(f"{value} is no count.")
    return Number(int(value), f"{int(value):,}")


def written(value: float) -> Number:
    """A number as the file has it, with commas."""
    return Number(float(value), f"{value:,}")
