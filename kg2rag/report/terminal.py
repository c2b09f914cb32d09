"""A sheet -> a table for the terminal, within its width.

Names are never wrapped or cut: where space is short, intervals and counts are left out, then the metrics are divided
into several tables, one below the other.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from rich import box
from rich.console import Console, ConsoleOptions, RenderResult
from rich.measure import Measurement
from rich.table import Table
from rich.text import Text

from kg2rag.report.notes import notes
from kg2rag.report.table import Sheet, headline, placebo_rows, rows

if TYPE_CHECKING:
    import pandas as pd
_NARROW = "Too narrow here for intervals and counts: see the report, or widen the terminal."


@dataclass(frozen=True)
class TerminalTable:
    """What `rich` can print: mean and stars, below them the interval, below that wins/ties/losses."""

    sheet: Sheet

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        def fits(table: Table) -> bool:
            wide = options.update(width=10_000, max_width=10_000)
            return Measurement.get(console, wide, table).maximum <= options.max_width

        yield Text(headline(self.sheet.config), style="italic")
        metrics, below = range(len(self.sheet.metrics)), notes(self.sheet)
        if fits(whole := _table(self.sheet, metrics, full=True)):
            yield whole
        else:
            below, blocks = [_NARROW, *below], list[list[int]]([[]])
            for metric in metrics:
                if blocks[-1] and not fits(_table(self.sheet, [*blocks[-1], metric], full=False)):
                    blocks.append([])
                blocks[-1].append(metric)
            yield from (_table(self.sheet, block, full=False) for block in blocks)
        yield from (Text(note, style="dim") for note in below)


def _table(sheet: Sheet, metrics: Sequence[int], *, full: bool) -> Table:
    """The table of some metrics; `full` has intervals and counts."""
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, collapse_padding=True, show_edge=False)
    table.add_column("system", no_wrap=True)
    for metric in metrics:
        # In lines no wider than its numbers.
        header = sheet.metrics[metric].replace("@", "\n@").replace("_", "_\n").replace("tokens", "\ntokens")
        table.add_column(Text(header), justify="right", no_wrap=True)
    table.add_column("ms/\nquery", justify="right", no_wrap=True)
    for row in rows(sheet):
        texts = [Text(row.name).append("\nbaseline" if row.is_baseline and full else "", style="dim")]
        for cell in (row.cells[metric] for metric in metrics):
            # Stars have a fixed width, so that the numbers of a column stay aligned.
            text = Text(cell.mean, style="bold" if cell.bold else "").append(f"{cell.stars:<3}", style="not bold")
            text.append(f"\n{cell.spread}" if cell.spread else "", style="not bold")
            below = [f"{cell.low}–{cell.high}", cell.counts] if full else []
            texts.append(text.append("".join(f"\n{line}" for line in below if line), style="dim not bold"))
        table.add_row(*texts, row.ms)
    return table


def placebo_table(sheet: Sheet, placebos: pd.DataFrame, metric: str) -> Table:
    """Graphs against their shufflings, from the columns of `Comparison.against_placebo`."""
    rows = (
        (f"{strategy}.{graph}", *means, f"{gain}\n{interval}", p)
        for strategy, graph, *means, gain, interval, p in placebo_rows(sheet, placebos, metric)
    )
    return text_table(f"Graphs against their placebos in {metric}", ("system", "graph", "shuffled", "gain", "p"), rows)


def text_table(title: str, columns: Iterable[str], rows: Iterable[Iterable[str]], left: Collection[str] = ()) -> Table:
    """A table of plain texts; the first column and those of `left` are aligned to the left."""
    table = Table(title=Text(title), box=box.SIMPLE_HEAD, pad_edge=False, title_justify="left")
    for place, column in enumerate(columns):
        table.add_column(Text(column), justify="left" if not place or column in left else "right", no_wrap=not left)
    for row in rows:
        table.add_row(*map(Text, row))
    return table
