"""The cells of a sheet -> its tables, which blank rows or columns separate.

Ours: when the rows behind a blank row are another table. Their first row with two cells has
different texts, one in each column of the rows below it. Besides, the table above has only numbers
and dates in one of these columns, or no cell, or there are two blank rows. Other rows go on with
the table above. Two blank columns separate tables if each has names in the same row and they end
in different rows; tables of one length may be one.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Any

BLANK_COLUMNS = 2
"""Least number of blank columns that separate two tables."""
Row = Sequence[Any]
"""The cells of a row; "" for an empty one."""


def tables_of(rows: Sequence[Row]) -> Iterator[Sequence[Row]]:
    """The tables of a sheet, in their order."""
    for table in _tables_below_each_other(rows):
        yield from _tables_beside_each_other(table)


def _tables_beside_each_other(rows: Sequence[Row]) -> Iterator[Sequence[Row]]:
    """The tables between blank columns."""
    for start, end in pairwise([*_first_columns(rows), None]):
        yield [row[start:end] for row in rows]


def _first_columns(rows: Sequence[Row]) -> list[int]:
    """The first column of each of the tables that stand beside each other, from 0."""
    columns = list(map(_filled, rows))
    starts = [0]
    for left, right in pairwise(sorted(set().union(*columns))):
        before = range(starts[-1], left + 1)
        behind = range(right, len(rows[0]))
        if right - left > BLANK_COLUMNS and _are_tables(columns, before, behind):
            starts.append(right)
    return starts


def _are_tables(columns: Sequence[Sequence[int]], before: range, behind: range) -> bool:
    """Whether the columns on both sides of a gap have names in one row, and end in different rows.

    columns : for each row, the columns of its cells.
    """
    header = next((names for names in columns if len(names) > 1), [])
    have_names = all(len(set(header) & set(side)) > 1 for side in (before, behind))
    return have_names and _n_rows(columns, before) != _n_rows(columns, behind)


def _n_rows(columns: Sequence[Sequence[int]], side: range) -> int:
    """The number of rows up to the last one that has a cell in some columns."""
    filled = [
        row for row, names in enumerate(columns, 1) if not set(side).isdisjoint(names)
    ]
    return max(filled, default=0)


def _tables_below_each_other(rows: Sequence[Row]) -> Iterator[Sequence[Row]]:
    """The tables of a sheet between blank rows, in their order."""
    start = end = 0
    for first, last in _runs(rows):
        n_blank = first - end
        end = last
        columns = _columns_of_header(rows[first:last])
        above = rows[start : first - n_blank]
        is_other = n_blank > 1 or any(_has_no_text(above, column) for column in columns)
        is_table = any(len(_filled(row)) > 1 for row in above)
        if is_table and columns and is_other:
            yield above
            start = first
    yield rows[start:]


def _runs(rows: Sequence[Row]) -> Iterator[tuple[int, int]]:
    """The first row of each run of rows with cells, and the row behind the run."""
    filled = [bool(_filled(row)) for row in rows]
    first = 0
    for number, is_filled in enumerate([*filled, False]):
        if not is_filled:
            if number > first:
                yield first, number
            first = number + 1


def _filled(row: Row) -> list[int]:
    """The columns of the cells of a row that are not empty."""
    return [column for column, cell in enumerate(row) if str(cell) != ""]


def _columns_of_header(rows: Sequence[Row]) -> list[int]:
    """The columns of the names in the first row with two cells; [] if these are no names of all columns."""
    columns = list(map(_filled, rows))
    header = next((n for n, filled in enumerate(columns) if len(filled) > 1), len(rows))
    if header + 1 >= len(rows):
        return []
    names = [rows[header][column] for column in columns[header]]
    are_names = all(isinstance(name, str) for name in names)
    below = set().union(*columns[header + 1 :])
    is_header = are_names and len(set(names)) == len(names)
    return columns[header] if is_header and below <= set(columns[header]) else []


def _has_no_text(table: Sequence[Row], column: int) -> bool:
    """Whether a column of a table has no cell, or only numbers and dates below its name."""
    cells = [row[column] for row in table if str(row[column]) != ""]
    values = cells[1:]
    return not cells or bool(values and not any(isinstance(one, str) for one in values))
