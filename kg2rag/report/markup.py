"""A sheet -> Markdown for a README, LaTeX for a paper; and any rows as a Markdown table."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Sequence

import pandas as pd

from kg2rag.report.notes import notes
from kg2rag.report.table import LARGER, TUNED, Cell, Sheet, rows
from kg2rag.text.cells import visible

_ACTIVE = re.compile(r"\||\\(?=\\*\|)|<(?=[A-Za-z/!?])")
"""What ends a cell, or keeps the backslash before a bar from doing so, or begins a tag; "p < .05" begins none."""
_ESCAPE = r"\\\g<0>"


def markdown(sheet: Sheet) -> str:
    """A pipe table; what Markdown would read as markup is escaped."""
    header = ["system", *sheet.metrics, "ms/query"]
    lines = [f"| {' | '.join(map(plain, header))} |", f"|---|{'---:|' * (len(header) - 1)}"]
    for row in rows(sheet):
        name = plain(row.name) + (" (baseline)" if row.is_baseline else "")
        lines.append(f"| {' | '.join([name, *map(_markdown_cell, row.cells), row.ms])} |")
    return "\n".join([*lines, "", "\n\n".join(map(plain, notes(sheet))), ""])


def pipe_table(header: Sequence[str], rows: Iterable[Iterable[object]], right: Collection[str] = ()) -> list[str]:
    """The lines of a pipe table; cells may hold Markdown, but no HTML. `right` names columns aligned to the right."""

    def line(cells: Iterable[object]) -> str:
        return f"| {' | '.join(_ACTIVE.sub(_ESCAPE, _one_line(str(cell))) for cell in cells)} |"

    rule = "".join("--:|" if name in right else "---|" for name in header)
    return [line(header), f"|{rule}", *map(line, rows)]


def _markdown_cell(cell: Cell) -> str:
    mean = f"**{cell.mean}**" if cell.bold else cell.mean
    return " ".join(filter(None, [mean + plain(cell.stars), cell.spread, f"({cell.low} to {cell.high})"]))


def plain(text: str) -> str:
    """A text on one line, of which Markdown reads nothing as markup."""
    return "".join(f"\\{char}" if char in "\\`*_|<>[]" else char for char in _one_line(text))


def _one_line(text: str) -> str:
    """A text without line breaks, which would end a row or a comment, and control characters."""
    return visible(" ".join(text.splitlines()))


def latex(sheet: Sheet) -> str:
    """A `booktabs` table; names are escaped, with the notes below it as LaTeX comments."""
    table = [[*map(_latex_cell, row.cells), row.ms] for row in rows(sheet)]
    names = pd.Index([_one_line(row.name) for row in rows(sheet)])
    styler = pd.DataFrame(table, index=names, columns=[*map(_one_line, sheet.metrics), "ms/query"]).style
    styler = styler.format_index(escape="latex", axis=0).format_index(escape="latex", axis=1)
    text: str = styler.to_latex(hrules=True, column_format="l" + "r" * (len(sheet.metrics) + 1))
    signs = {TUNED: r"$^{\dagger}$", LARGER: r"$^{\ddagger}$"}
    for sign, command in signs.items():
        text = text.replace(f" {sign}", command).replace(sign, command)
    return text + "".join(f"% {_one_line(note)}\n" for note in notes(sheet))


def _latex_cell(cell: Cell) -> str:
    mean = rf"\textbf{{{cell.mean}}}" if cell.bold else cell.mean
    spread = rf" $\pm$ {cell.spread.removeprefix('± ')}" if cell.spread else ""
    return rf"{mean}{f'$^{{{cell.stars}}}$' if cell.stars else ''}{spread} {{\scriptsize [{cell.low}, {cell.high}]}}"
