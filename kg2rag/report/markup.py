"""A sheet -> Markdown for a README; and any rows as a Markdown table."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Sequence

from kg2rag.report.notes import notes
from kg2rag.report.table import Sheet, rows
from kg2rag.text.cells import visible

_ACTIVE = re.compile(r"\||\\(?=\\*\|)|<(?=[A-Za-z/!?])")
"""What ends a cell, or keeps the backslash before a bar from doing so, or begins a tag; "p < .05" begins none."""
_ESCAPE = r"\\\g<0>"


def markdown(sheet: Sheet) -> str:
    """A pipe table; what Markdown would read as markup is escaped."""
    header = ["system", *sheet.metrics, "ms/query"]
    lines = [f"| {' | '.join(map(plain, header))} |", f"|---|{'---:|' * (len(header) - 1)}"]
    for row in rows(sheet):
        cells = [plain(row.name) + (" (baseline)" if row.is_baseline else "")]
        for cell in row.cells:
            mean = (f"**{cell.mean}**" if cell.bold else cell.mean) + plain(cell.stars)
            cells.append(" ".join(filter(None, [mean, cell.spread, f"({cell.low} to {cell.high})"])))
        lines.append(f"| {' | '.join([*cells, row.ms])} |")
    return "\n".join([*lines, "", "\n\n".join(map(plain, notes(sheet))), ""])


def pipe_table(header: Sequence[str], rows: Iterable[Iterable[object]], right: Collection[str] = ()) -> list[str]:
    """The lines of a pipe table; cells may hold Markdown, but no HTML. `right` names columns aligned to the right."""

    def line(cells: Iterable[object]) -> str:
        return f"| {' | '.join(_ACTIVE.sub(_ESCAPE, _one_line(str(cell))) for cell in cells)} |"

    rule = "".join("--:|" if name in right else "---|" for name in header)
    return [line(header), f"|{rule}", *map(line, rows)]


def plain(text: str) -> str:
    """A text on one line, of which Markdown reads nothing as markup."""
    return "".join(f"\\{char}" if char in "\\`*_|<>[]" else char for char in _one_line(text))


def _one_line(text: str) -> str:
    """A text without line breaks, which would end a row, and control characters."""
    return visible(" ".join(text.splitlines()))
