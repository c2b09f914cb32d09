"""The output of the command line, with control characters of files and names replaced."""

from __future__ import annotations

import json
import sys
import traceback
from collections.abc import Iterable, Sequence
from types import TracebackType
from typing import Any

import typer

from kg2rag.text.cells import MAX_CHARACTERS, console, visible


def print_line(line: object, *, err: bool = False) -> None:
    """Print a text without wrapping, to stderr if `err`."""
    typer.echo(visible(str(line)), err=err)


def print_json(value: object) -> None:
    """Print a value as JSON in one line; control characters are escaped."""
    text = json.dumps(value, ensure_ascii=False)
    if visible(text) != text:
        text = json.dumps(value).replace("\x7f", "\\u007f")
    typer.echo(text)


def print_rich(*shown: Any, **settings: Any) -> None:
    """Print tables and other objects by rich.

    `settings` are those of `rich.console.Console.print`.
    """
    console().print(*shown, **settings)


def print_text(text: str) -> None:
    """Print a text that is wrapped at the width of the terminal."""
    print_rich(text, markup=False, highlight=False)


def print_table(columns: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    """Print a table; its first column, with the names that a user types, is never wrapped."""
    from rich import box
    from rich.table import Table
    from rich.text import Text

    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for i, column in enumerate(columns):
        table.add_column(column, no_wrap=i == 0, overflow="fold")
    for row in rows:
        table.add_row(*(Text(visible(cell[:MAX_CHARACTERS])) for cell in row))
    print_rich(table)


def print_warning(message: Warning | str, category: type[Warning], *_: object) -> None:
    """Print a warning in one line; a function for `warnings.showwarning`."""
    print_line(f"{category.__name__}: {message}", err=True)


def print_traceback(
    kind: type[BaseException], error: BaseException, trace: TracebackType | None
) -> None:
    """Print an unexpected error; a function for `sys.excepthook`."""
    sys.stderr.write(visible("".join(traceback.format_exception(kind, error, trace))))
