"""Tables of the terminal."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.table import Table


def table(columns: Sequence[str], rows: Iterable[Sequence[str]]) -> Table:
    """A table whose first column is never cut: it holds the names one types."""
    from rich import box
    from rich.table import Table

    made = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for i, column in enumerate(columns):
        made.add_column(column, no_wrap=i == 0, overflow="fold")
    for row in rows:
        made.add_row(*row)
    return made


def show(columns: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    """Print a table."""
    from rich.console import Console

    Console().print(table(columns, rows))


def readable(value: object) -> str:
    """A value as one reads it: counts by name, lists without brackets, nothing for None."""
    if isinstance(value, Mapping):
        return ", ".join(f"{name}: {count}" for name, count in value.items())
    return "" if value is None else commas(value)


def commas(values: object) -> str:
    """The members of a list, separated by commas; anything else as text."""
    return ", ".join(map(str, values)) if isinstance(values, tuple | list) else str(values)
