"""A score sheet -> a table for the terminal that fits its width.

Names are never wrapped or cut. In a narrow terminal intervals and counts are left out, and the
metrics are divided among several tables, one below the other. Control characters in names and texts
are replaced.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from rich import box
from rich.console import Console, ConsoleOptions, RenderResult
from rich.measure import Measurement
from rich.table import Table
from rich.text import Text

from kg2rag.report.notes import notes
from kg2rag.report.score_sheet import (
    Cell,
    Row,
    ScoreSheet,
    headline,
    placebo_rows,
    rows,
)
from kg2rag.text.cells import visible

if TYPE_CHECKING:
    import pandas as pd
TOO_NARROW = "Intervals and counts need a wider terminal; the report has them."
UNBOUNDED_WIDTH = 10_000


@dataclass(frozen=True)
class TerminalTable:
    """A sheet that `rich` prints: per cell mean and stars, interval, and wins/ties/losses."""

    sheet: ScoreSheet

    def __rich_console__(
        self, console: Console, options: ConsoleOptions
    ) -> RenderResult:
        def fits(table: Table) -> bool:
            wide = options.update(width=UNBOUNDED_WIDTH, max_width=UNBOUNDED_WIDTH)
            return Measurement.get(console, wide, table).maximum <= options.max_width

        yield _text(headline(self.sheet.config), style="italic")
        columns = list(range(len(self.sheet.metrics)))
        whole = _table(self.sheet, columns, full=True)
        if fits(whole):
            yield whole
        else:
            yield from self._blocks(fits)
            yield _text(TOO_NARROW, style="dim")
        for note in notes(self.sheet):
            yield _text(note, style="dim")

    def _blocks(self, fits: Callable[[Table], bool]) -> list[Table]:
        """Tables without intervals and counts, each with as many metrics as fit into the width."""
        blocks: list[list[int]] = [[]]
        for column in range(len(self.sheet.metrics)):
            if blocks[-1] and not fits(
                _table(self.sheet, [*blocks[-1], column], full=False)
            ):
                blocks.append([])
            blocks[-1].append(column)
        return [_table(self.sheet, block, full=False) for block in blocks]


def _text(text: str, style: str = "") -> Text:
    """A text that rich prints without markup, its control characters replaced."""
    return Text(visible(text), style=style)


def _table(sheet: ScoreSheet, columns: Sequence[int], *, full: bool) -> Table:
    """The table of the metrics with these indices; `full` adds intervals and counts."""
    table = Table(
        box=box.SIMPLE_HEAD, pad_edge=False, collapse_padding=True, show_edge=False
    )
    table.add_column("system", no_wrap=True)
    for column in columns:
        # Line breaks keep the header as narrow as the numbers.
        header = sheet.metrics[column].replace("@", "\n@").replace("_", "_\n")
        header = header.replace("tokens", "\ntokens")
        table.add_column(_text(header), justify="right", no_wrap=True)
    table.add_column("ms/\nquery", justify="right", no_wrap=True)
    for row in rows(sheet):
        cells = [_cell_text(row.cells[column], full=full) for column in columns]
        table.add_row(_name_text(row, full=full), *cells, row.ms)
    return table


def _name_text(row: Row, *, full: bool) -> Text:
    """The cell with the name of a system; `full` marks the baseline."""
    text = _text(row.name)
    if row.is_baseline and full:
        text.append("\nbaseline", style="dim")
    return text


def _cell_text(cell: Cell, *, full: bool) -> Text:
    """The cell of a score; `full` adds interval and counts."""
    if not cell.mean:
        return Text()
    text = Text(cell.mean, style="bold" if cell.bold else "")
    # Stars of fixed width keep the numbers of a column aligned.
    text.append(f"{cell.stars:<3}", style="not bold")
    if cell.spread:
        text.append(f"\n{cell.spread}", style="not bold")
    if full:
        text.append(f"\n{cell.low}–{cell.high}", style="dim not bold")
    if full and cell.counts:
        text.append(f"\n{cell.counts}", style="dim not bold")
    return text


def placebo_table(sheet: ScoreSheet, placebos: pd.DataFrame, metric: str) -> Table:
    """The table of graphs and their shuffled copies, from `Comparison.against_placebo`."""
    lines = []
    for strategy, graph, mean, placebo, gain, interval, p in placebo_rows(
        sheet, placebos, metric
    ):
        lines.append((f"{strategy}.{graph}", mean, placebo, f"{gain}\n{interval}", p))
    columns = ("system", "graph", "shuffled", "gain", "p")
    return text_table(f"Graphs against their placebos in {metric}", columns, lines)


def text_table(
    title: str,
    columns: Iterable[str],
    rows: Iterable[Iterable[str]],
    left: Collection[str] = (),
) -> Table:
    """A table of plain texts; the first column and those in `left` are aligned to the left."""
    table = Table(
        title=_text(title), box=box.SIMPLE_HEAD, pad_edge=False, title_justify="left"
    )
    for i, column in enumerate(columns):
        is_left = i == 0 or column in left
        table.add_column(
            _text(column), justify="left" if is_left else "right", no_wrap=not left
        )
    for row in rows:
        table.add_row(*map(_text, row))
    return table
