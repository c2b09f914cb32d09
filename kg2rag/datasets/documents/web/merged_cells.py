"""Cells that are merged over rows -> their value in each of these rows.

A row of a table of records so has the value that its column shows beside it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from copy import copy
from io import BytesIO
from typing import TYPE_CHECKING, Any

from kg2rag.datasets.documents.archives import attribute, local_name, named
from kg2rag.datasets.documents.web.page_tree import holds, text_of

if TYPE_CHECKING:
    import pandas as pd

LONGEST_VALUE = 100
"""Characters of a cell above which it is a text, which is read once."""
Span = tuple[int, int, int]
"""The first row, the last row and the first column of merged cells, from 0."""
_CELLS = frozenset(("tc", "table-cell", "covered-table-cell"))
_ROWS = ("{*}tr", "{*}table-row")
_CELLS_OF_PAGE = ("td", "th")
_LAYOUT = frozenset("table pre h1 h2 h3 h4 h5 h6".split())


def spans_of_sheets(data: bytes) -> dict[str, list[Span]]:
    """The cells of each sheet of Excel that are merged over rows, by its name."""
    from python_calamine import CalamineWorkbook

    workbook = CalamineWorkbook.from_filelike(BytesIO(data))
    sheets = map(workbook.get_sheet_by_name, workbook.sheet_names)
    return {
        sheet.name: [
            (first, last, column)
            for (first, column), (last, _) in sheet.merged_cell_ranges or ()
            if last > first
        ]
        for sheet in sheets
    }


def spans_of_opendocument(root: Any) -> dict[str, list[Span]]:
    """The cells of each sheet of OpenDocument that are merged over rows, by its name."""
    return {
        attribute(table, "name"): list(_spans_of_table(table))
        for table in named(root, "table")
    }


def _spans_of_table(table: Any) -> Iterator[Span]:
    """The cells of a table of OpenDocument that are merged over rows."""
    number = 0
    for row in named(table, "table-row"):
        for column, cell in _columns(row):
            n_rows = _number(cell, "number-rows-spanned")
            if n_rows > 1:
                yield number, number + n_rows - 1, column
        number += _number(row, "number-rows-repeated")


def with_merged_values(table: pd.DataFrame, spans: Sequence[Span]) -> pd.DataFrame:
    """A frame of cells with the value of merged cells in each of their rows that has another cell.

    The names of columns are not repeated: cells that are merged above the first record stay.
    """
    cells = table.to_numpy(dtype=object, copy=True)
    n_filled = (table.map(str) != "").sum(axis=1).to_numpy()
    header = next((row for row, count in enumerate(n_filled) if count > 1), len(cells))
    for first, last, column in spans:
        if first > header and column < cells.shape[1]:
            rows = [
                row
                for row in range(first + 1, last + 1)
                if any(n_filled[row : row + 1])
            ]
            cells[rows, column] = cells[first, column]
    return type(table)(cells)


def value_cell(cell: Any) -> Any:
    """The cell with the value of a cell of an Office file: the one above that covers it, or itself."""
    row = cell.getparent()
    if not _is_covered(cell) or row is None:
        return cell
    column = next((column for column, other in _columns(row) if other is cell), -1)
    above = row.itersiblings(*_ROWS, preceding=True)
    for distance, row_above in enumerate(above, start=1):
        other = dict(_columns(row_above)).get(column)
        if other is None:
            break
        if not _is_covered(other):
            if _has_value_below(other, distance):
                return other
            break
    return cell


def _has_value_below(cell: Any, distance: int) -> bool:
    """Whether a cell of an Office file has a short value, for so many rows below it, too."""
    covers = local_name(cell) == "tc" or _number(cell, "number-rows-spanned") > distance
    return covers and len(text_of(cell)) <= LONGEST_VALUE


def _is_covered(cell: Any) -> bool:
    """Whether a cell of an Office file goes on with the cell above it."""
    if local_name(cell) == "covered-table-cell":
        return True
    if cell.get("vMerge") in ("1", "true"):  # PowerPoint
        return cell.get("hMerge") not in ("1", "true")
    marks = cell.iterfind("{*}tcPr/{*}vMerge")
    return any(attribute(mark, "val") != "restart" for mark in marks)


def _columns(row: Any) -> Iterator[tuple[int, Any]]:
    """The cells of a row of an Office file, each behind the number of its first column, from 0."""
    column = 0
    for cell in row.iter("*"):
        if local_name(cell) in _CELLS and next(cell.iterancestors(*_ROWS)) is row:
            yield column, cell
            spans = [*cell.iterfind("{*}tcPr/{*}gridSpan")]
            of_word = [int(attribute(span, "val") or 1) for span in spans]
            column += sum(of_word) or _number(cell, "number-columns-repeated")


def repeat_merged_cells(page: Any) -> None:
    """Put a copy of each short cell of a page that is merged over rows in each of these rows."""
    rows = [
        cell.getparent() for cell in page.iter(*_CELLS_OF_PAGE) if cell.get("rowspan")
    ]
    for table in dict.fromkeys(row.getparent() for row in rows):
        merged: dict[int, tuple[Any, int]] = {}
        for row in table.findall("tr") if table is not None else ():
            merged = _add_merged_cells(row, merged)


def _add_merged_cells(
    row: Any, merged: Mapping[int, tuple[Any, int]]
) -> dict[int, tuple[Any, int]]:
    """Add copies of the cells above to a row of a page.

    merged : first column of each merged cell -> the cell, and the number of rows that it has from
        this row on. Returns the same for the next row.
    """
    following = dict[int, tuple[Any, int]]()
    cells = list(row.iterchildren(*_CELLS_OF_PAGE))
    last = max(merged, default=-1)
    column = 0
    while cells or column <= last:
        if column in merged:
            cell, n_rows = merged[column]
            if _is_value(cell):
                _insert(copy(cell), row, cells)
        elif cells:
            cell = cells.pop(0)
            n_rows = _span(cell, "rowspan")
        else:
            column = min(key for key in merged if key > column)
            continue
        if n_rows > 1:
            following[column] = cell, n_rows - 1
        column += _span(cell, "colspan")
    return following


def _insert(cell: Any, row: Any, following: Sequence[Any]) -> None:
    """Put a cell into a row of a page, before the first of the following cells."""
    if following:
        following[0].addprevious(cell)
    else:
        row.append(cell)


def _span(cell: Any, name: str) -> int:
    """The number of rows or columns of a cell of a page."""
    value = cell.get(name, "").strip()
    return max(1, int(value)) if value.isdecimal() else 1


def _is_value(cell: Any) -> bool:
    """Whether a cell of a page has a short text, and no parts of the page."""
    text = text_of(cell).strip()
    return 0 < len(text) <= LONGEST_VALUE and not holds(cell, _LAYOUT)


def _number(element: Any, name: str) -> int:
    """An attribute that is a number; 1 without it."""
    value = attribute(element, name)
    return int(value) if value.isdecimal() else 1
