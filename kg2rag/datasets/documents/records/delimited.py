"""Text with separators -> the records of a table: its separator, its header and its rows are recognised."""

from __future__ import annotations

import csv
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from io import StringIO
from itertools import islice
from typing import Any

from kg2rag.datasets.documents.blocks import join_remarks
from kg2rag.datasets.documents.records.json_texts import QUESTION_COLUMNS
from kg2rag.text.records import DataError, delimited_rows
from kg2rag.types.coerce_corpus import PASSAGE

TEXT_COLUMNS = frozenset((*PASSAGE["text"], *QUESTION_COLUMNS))
ID_COLUMNS = frozenset((*PASSAGE["id"], *PASSAGE["doc_id"], *PASSAGE["position"]))
_NUMBER = re.compile(r"[-+]?[\d.,\s]*\d[\d.,\s]*[%€$£]?")
DELIMITERS = ",;\t|"
MAX_LEVELS = 4
"""Most levels of the columns of a pivot table."""
HEADER_ROWS = 12
"""Rows by which a second row of names is recognised."""
MAX_LINES_ABOVE = 20
"""Lines among which the header of a table is looked for."""
_SEPARATOR = re.compile(r"(?i)\Asep=(.)")
NO_CELL = re.compile(r"(?i:\Asep=.)|\\N(?=[\t,;|\r\n]|\Z)")
"""Excel's first line `sep=;`, and an empty cell as databases write it."""


def delimited_records(text: str, name: str) -> tuple[list[Mapping[str, Any]], str]:
    """The rows of a table by the separator of its header, or of Excel's first line `sep=;`; a remark."""
    lines = text.strip("\n").split("\n")
    separator = _SEPARATOR.fullmatch(lines[0])
    if separator:
        delimiter = separator[1]
        lines = lines[1:] or [""]
    elif name.lower().endswith(".tsv"):
        delimiter = "\t"
    else:
        delimiter = find_delimiter(lines)
    lines, remarks = _with_header(lines, delimiter)
    if delimiter == "\t":
        rows = _quoted_rows(lines, name)
        if rows is not None:
            return rows, join_remarks(*remarks)
        remarks.append("quotation marks are read as text: they enclose no cells")
    rows = [row for _, row in delimited_rows(lines, name, delimiter)]
    return rows, join_remarks(*remarks)


def _with_header(lines: Sequence[str], delimiter: str) -> tuple[list[str], list[str]]:
    """The lines of a table from its header on, and remarks on what was left out or added."""
    remarks = list[str]()
    n_above = _lines_above(lines, delimiter)
    if n_above:
        remarks.append(f"lines above the names of the columns, left out: {n_above}")
    table_lines = [f"{line}\n" for line in lines[n_above:]]
    first_rows = _first_rows(table_lines, delimiter)
    of_levels, n_rows = names_in_levels(first_rows)
    two_rows = names_in_two_rows(first_rows)
    if of_levels:
        remarks.append(f"names of columns in {n_rows} rows, joined")
        table_lines[:n_rows] = [_line_of(of_levels, delimiter)]
    elif two_rows:
        remarks.append("names of columns in two rows, joined")
        table_lines[:2] = [_line_of(two_rows, delimiter)]
    cells = _cells_of(table_lines[0], delimiter)
    names = default_column_names(cells)
    if names:
        remarks.append("columns without names, named by their position")
        table_lines.insert(0, f"{delimiter.join(names)}\n")
        return table_lines, remarks
    repeated = {cell.casefold() for cell, count in Counter(cells).items() if count > 1}
    if repeated and repeated.isdisjoint(TEXT_COLUMNS | ID_COLUMNS):
        table_lines[0] = _line_of(_numbered_apart(cells), delimiter)
        remarks.append("columns of one name, numbered")
    return table_lines, remarks


def _first_rows(lines: Sequence[str], delimiter: str) -> list[list[str]]:
    """The first rows of a table; [] if the csv module cannot read them."""
    try:
        return list(islice(csv.reader(iter(lines), delimiter=delimiter), HEADER_ROWS))
    except csv.Error:
        return []


def _numbered_apart(names: Sequence[str]) -> list[str]:
    """The names of columns, with a number behind each that was there before.

    >>> _numbered_apart(["Key", "Label", "Label"])
    ['Key', 'Label', 'Label 2']
    """
    distinct = list[str]()
    counts = Counter[str]()
    for name in names:
        counts[name] += 1
        while counts[name] > 1 and f"{name} {counts[name]}" in names:
            counts[name] += 1
        distinct.append(name if counts[name] == 1 else f"{name} {counts[name]}")
    return distinct


def _line_of(cells: Sequence[str], delimiter: str) -> str:
    """The line of some cells in a table."""
    line = StringIO()
    csv.writer(line, delimiter=delimiter, lineterminator="\n").writerow(cells)
    return line.getvalue()


def default_column_names(cells: Sequence[str]) -> list[str]:
    """Names for the columns of a table by its first row; [] if this row is a header.

    A row whose first cell is a number is a record. Its first column is the id. Of the others, one
    that has twice as many letters as any other is the text.

    >>> default_column_names(["17", "Ada", "Ada wrote notes."])
    ['id', 'column_2', 'text']
    >>> default_column_names(["17", "Ada Byron", "Ockham Park"])
    ['id', 'column_2', 'column_3']
    """
    if len(cells) < 2 or not cells[0].strip().isdecimal():
        return []
    names = ["id", *(f"column_{number}" for number in range(2, len(cells) + 1))]
    n_letters = [sum(map(str.isalpha, cell)) for cell in cells]
    *_, second, most = sorted(n_letters)
    if most >= 2 * second:
        names[n_letters.index(most)] = "text"
    return names


def _lines_above(lines: Sequence[str], delimiter: str) -> int:
    """The number of lines above the header, such as a report's title.

    The header is the first line that has a column of text and fills more cells than each line above
    it; without a column of text, the first line that fills two cells.
    """
    filled_cells = list[int]()
    for number, line in enumerate(lines[:MAX_LINES_ABOVE]):
        cells = [cell.strip().lower() for cell in _cells_of(line, delimiter)]
        n_filled = sum(map(bool, cells))
        is_widest = n_filled > max([1, *filled_cells])
        if is_widest and not TEXT_COLUMNS.isdisjoint(cells):
            return number
        filled_cells.append(n_filled)
    return next((i for i, n_filled in enumerate(filled_cells) if n_filled > 1), 0)


def _cells_of(line: str, delimiter: str) -> list[str]:
    """The cells of a line; [] if the csv module cannot read it."""
    try:
        return next(csv.reader([line], delimiter=delimiter), [])
    except csv.Error:
        return []


def _quoted_rows(lines: Sequence[str], name: str) -> list[Mapping[str, Any]] | None:
    """The rows of a table of tabs whose cells may be quoted; None if quotation marks are text."""
    try:
        rows = [row for _, row in delimited_rows(lines, name, "\t", quoted_tabs=True)]
    except DataError:
        return None
    # A tab within a cell shows that two lone quotation marks enclose several cells.
    if any("\t" in str(cell) for row in rows for cell in row.values()):
        return None
    return list(rows)


def find_delimiter(lines: Sequence[str]) -> str:
    """The separator of a table by its header: one that separates a column of text.

    Among several such, or if there is none, it is the one with the most columns; by default a
    comma.
    """
    header = next((line for line in lines if line.strip()), "")

    def has_text_and_columns(delimiter: str) -> tuple[bool, int]:
        cells = _cells_of(header, delimiter)
        has_text = not TEXT_COLUMNS.isdisjoint(cell.strip().lower() for cell in cells)
        return has_text, len(cells)

    return max(DELIMITERS, key=has_text_and_columns)


def names_in_levels(rows: Sequence[Sequence[str]]) -> tuple[list[str], int]:
    """The names of the columns of a pivot table as pandas writes it, and their number of rows.

    The rows above the last one have the levels of the columns, but no cell in the columns of the
    index, or only the name of a level in the last of them; the last row has the names of the index
    only. ([], 0) for another table.

    >>> rows = [["", "", "Days", ""], ["", "Year", "2013", "2014"], ["Job", "Name", "", ""]]
    >>> names_in_levels([*rows, ["Clerk", "Ada", "3", "5"]])
    (['Job', 'Name', 'Days 2013', 'Days 2014'], 3)
    """
    for number in range(2, min(len(rows) - 1, MAX_LEVELS + 1)):
        index = [cell.strip() for cell in rows[number] if cell.strip()]
        levels = rows[:number]
        if _are_levels(levels, rows[number], len(index)):
            columns = range(len(index), len(rows[number]))
            filled = [_with_cells_filled(level) for level in levels[:-1]]
            names = [
                " ".join(filter(None, (row[column] for row in [*filled, levels[-1]])))
                for column in columns
            ]
            return [*index, *names], number + 1
    return [], 0


def _are_levels(
    levels: Sequence[Sequence[str]], row: Sequence[str], n_index: int
) -> bool:
    """Whether rows have levels of columns, and the row below them the names of `n_index` columns."""
    is_index = 0 < n_index < len(row) and all(cell.strip() for cell in row[:n_index])
    if not is_index or any(len(level) != len(row) for level in levels):
        return False
    n_empty = max(1, n_index - 1)
    are_beside = not any(cell.strip() for level in levels for cell in level[:n_empty])
    n_filled = sum(bool(cell.strip()) for cell in levels[-1][n_index:])
    return are_beside and 2 * n_filled > len(row) - n_index


def _with_cells_filled(cells: Sequence[str]) -> list[str]:
    """The cells of a row; an empty one has the text of the one before it."""
    filled = list[str]()
    for cell in cells:
        filled.append(cell.strip() or (filled[-1] if filled else ""))
    return filled


def names_in_two_rows(rows: Sequence[Sequence[str]]) -> list[str]:
    """The names of columns, each behind that of its group; [] for a table with one row of names.

    The first row has an empty cell behind the name of a group, as merged cells leave them; the
    second has none, unless the name above is merged with it. In a column below are numbers only, or
    the first name is merged so.

    >>> names_in_two_rows([["Costs", ""], ["Planned", "Actual"], ["12", "14"]])
    ['Costs Planned', 'Costs Actual']
    """
    if len(rows) < 3 or not _are_groups_and_names(rows[0], rows[1]):
        return []
    groups, names, *records = rows
    is_merged = _is_merged_with_next(groups, names, records)
    if not is_merged and not any(
        _is_number_column(name, records, column) for column, name in enumerate(names)
    ):
        return []
    joined = list[str]()
    group = ""
    for cell, name in zip(groups, names, strict=True):
        group = cell.strip() or group
        joined.append(f"{group} {name.strip()}".strip())
    return joined


def _are_groups_and_names(groups: Sequence[str], names: Sequence[str]) -> bool:
    """Whether two rows name all columns, and the first lacks a name behind its first cell."""
    has_names = [bool(name.strip()) for name in names]
    has_groups = [bool(group.strip()) for group in groups]
    return (
        len(groups) == len(names)
        and any(has_groups)
        and not all(has_groups[1:])
        and any(has_names[1:])
        and all(map(any, zip(has_groups, has_names, strict=True)))
    )


def _is_merged_with_next(
    groups: Sequence[str], names: Sequence[str], records: Sequence[Sequence[str]]
) -> bool:
    """Whether the first name of a table is merged with the empty cell below it.

    Then the second row has no number, and the first record has a cell in that column.
    """
    has_number = any(_NUMBER.fullmatch(name.strip()) for name in names)
    is_filled = bool(records[0]) and records[0][0].strip() != ""
    return (
        bool(groups[0].strip())
        and not names[0].strip()
        and is_filled
        and not has_number
    )


def _is_number_column(name: str, records: Sequence[Sequence[str]], column: int) -> bool:
    """Whether a column has a name, which is no number, and below it numbers only."""
    cells = [record[column].strip() for record in records if len(record) > column]
    filled = list(filter(None, cells))
    is_name = bool(name.strip()) and not re.search(r"\d", name)
    return is_name and bool(filled) and all(map(_NUMBER.fullmatch, filled))
