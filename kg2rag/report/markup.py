"""A score sheet -> a table in Markdown or LaTeX; rows of texts -> a Markdown table."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Sequence

from kg2rag.report.notes import notes
from kg2rag.report.score_sheet import Cell, ScoreSheet, headline, rows
from kg2rag.text.cells import visible

_ACTIVE = re.compile(r"\||\\(?=\\*\|)|<(?=[A-Za-z/!?])")
"""Characters to escape: bars, backslashes before bars, and the beginnings of tags."""
_ESCAPED = r"\\\g<0>"
_LATEX = str.maketrans(
    {
        "&": r"\&",
        "%": r"\%",
        "$": r"\$",
        "#": r"\#",
        "_": r"\_",
        "{": r"\{",
        "}": r"\}",
        "\\": r"\textbackslash{}",
        "~": r"\textasciitilde{}",
        "^": r"\textasciicircum{}",
        "<": r"\textless{}",
        ">": r"\textgreater{}",
        "†": r"$\dagger$",
        "‡": r"$\ddagger$",
        "±": r"$\pm$",
        "−": "$-$",
    }
)


def markdown(sheet: ScoreSheet) -> str:
    """A pipe table and its notes; characters with a meaning in Markdown are escaped."""
    header = ["system", *sheet.metrics, "ms/query"]
    lines = [
        f"| {' | '.join(map(plain, header))} |",
        f"|---|{'---:|' * (len(header) - 1)}",
    ]
    for row in rows(sheet):
        cells = [plain(row.label), *map(_markdown_cell, row.cells), row.ms]
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join([*lines, "", "\n\n".join(map(plain, notes(sheet))), ""])


def _markdown_cell(cell: Cell) -> str:
    """A cell as mean with stars, spread and interval."""
    if not cell.mean:
        return ""
    mean = f"**{cell.mean}**" if cell.bold else cell.mean
    parts = (f"{mean}{plain(cell.stars)}", cell.spread, f"({cell.low} to {cell.high})")
    return " ".join(filter(None, parts))


def latex(sheet: ScoreSheet) -> str:
    """A booktabs table with a caption, and the notes as comments below it."""
    header = " & ".join(
        escape_latex(name) for name in ("system", *sheet.metrics, "ms/query")
    )
    lines = [
        r"\begin{table}",
        r"\centering",
        rf"\caption{{{escape_latex(headline(sheet.config))}.}}",
        rf"\begin{{tabular}}{{l{'r' * (len(sheet.metrics) + 1)}}}",
        r"\toprule",
        rf"{header} \\",
        r"\midrule",
    ]
    for row in rows(sheet):
        cells = [escape_latex(row.label), *map(_latex_cell, row.cells), row.ms]
        lines.append(rf"{' & '.join(cells)} \\")
    lines += [r"\bottomrule", r"\end{tabular}", r"\end{table}"]
    lines += [f"% {_one_line(note)}" for note in notes(sheet)]
    return "\n".join([*lines, ""])


def _latex_cell(cell: Cell) -> str:
    """A cell as mean with stars, spread and interval."""
    if not cell.mean:
        return ""
    mean = rf"\textbf{{{cell.mean}}}" if cell.bold else cell.mean
    if cell.stars:
        mean += f"$^{{{cell.stars}}}$"
    interval = rf"{{\scriptsize [{cell.low}, {cell.high}]}}"
    return " ".join(filter(None, (mean, escape_latex(cell.spread), interval)))


def escape_latex(text: str) -> str:
    """A text on one line with the special characters of LaTeX escaped."""
    return _one_line(text).translate(_LATEX)


def pipe_table(
    header: Sequence[str], rows: Iterable[Iterable[object]], right: Collection[str] = ()
) -> list[str]:
    """The lines of a pipe table, whose cells may contain Markdown, but no HTML.

    right : the columns that are aligned to the right.
    """

    def line(cells: Iterable[object]) -> str:
        return f"| {' | '.join(_ACTIVE.sub(_ESCAPED, _one_line(str(cell))) for cell in cells)} |"

    rule = "".join("--:|" if name in right else "---|" for name in header)
    return [line(header), f"|{rule}", *map(line, rows)]


def plain(text: str) -> str:
    """A text on one line with the special characters of Markdown escaped."""
    return "".join(
        f"\\{char}" if char in "\\`*_|<>[]" else char for char in _one_line(text)
    )


def _one_line(text: str) -> str:
    """A text without line breaks, which would end a row, and without control characters."""
    return visible(" ".join(text.splitlines()))
