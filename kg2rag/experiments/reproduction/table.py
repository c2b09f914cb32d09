"""Rows of a reproduction -> Markdown and a terminal's table."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kg2rag.report.markup import pipe_table

if TYPE_CHECKING:
    import pandas as pd
    from rich.table import Table

SHOWN = ("published", "set", "metric", "theirs", "ours", "difference", "tolerance", "verdict", "system", "why")
NUMBERS = ("theirs", "ours", "difference", "tolerance")
STYLES = {"ok": "green", "close": "yellow", "off": "bold red", "not comparable": "dim", "not run": "dim"}


def texts(row: pd.Series) -> list[str]:
    """A row's texts; a number that is missing is blank."""
    return [_number(name, row[name]) if name in NUMBERS else str(row[name]) for name in SHOWN]


def markdown(frame: pd.DataFrame) -> str:
    """One table a ledger, under its name."""
    lines = []
    for name, part in frame.groupby("ledger", sort=False):
        lines += [f"### {name}", "", *pipe_table(SHOWN, (texts(row) for _, row in part.iterrows()), NUMBERS), ""]
    return "\n".join(lines)


def rich_table(frame: pd.DataFrame) -> Table:
    """All rows; verdicts in colour."""
    from rich import box
    from rich.table import Table

    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for name in SHOWN:
        table.add_column(name, justify="right" if name in NUMBERS else "left", overflow="fold")
    for _, row in frame.iterrows():
        table.add_row(*texts(row), style=STYLES[str(row["verdict"])])
    return table


def _number(name: str, value: float) -> str:
    if value != value:
        return ""
    return f"{value:+.1f}" if name == "difference" else f"{value:.1f}"
