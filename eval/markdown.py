"""Numbers and frames -> Markdown: paragraphs, commands, tables and cells of the generated pages."""

from __future__ import annotations

import math
from collections.abc import Callable

import pandas as pd

from kg2rag.report import stars
from kg2rag.report.markup import pipe_table
from kg2rag.report.markup import plain as escaped


def page(*parts: str | list[str]) -> str:
    """Paragraphs, and tables and lists by their lines, separated by blank lines."""
    return "\n\n".join(
        part if isinstance(part, str) else "\n".join(part) for part in parts
    )


def shell(command: str) -> str:
    """A command as a code block."""
    return f"```sh\n{command}\n```"


def table(
    head: str, cells: pd.DataFrame, row_name: Callable[[str], str] = "`{}`".format
) -> list[str]:
    """A pipe table of a frame of texts, aligned to the right; `row_name` writes its index, under the header `head`."""
    rows = ([row_name(name), *row] for name, *row in cells.itertuples(name=None))
    return pipe_table([head, *cells], rows, list(cells))


def starred(mean: float, p: float) -> str:
    """A mean in per cent with its stars, escaped for Markdown."""
    return percent(mean) + escaped(stars(p))


def percent(share: float) -> str:
    """A share in per cent with one decimal."""
    return f"{100 * share:.1f}"


def number(value: float) -> str:
    """Two significant digits, since times and memory vary by more; blank for a value that was not measured."""
    if math.isnan(value):
        return ""
    rounded = float(f"{value:.2g}")
    return f"{rounded:#.2g}".rstrip(".") if rounded < 100 else f"{rounded:,.0f}"
