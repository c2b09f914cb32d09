"""A spreadsheet -> its tables, with percentages as they are shown, and the notes of its cells."""

from __future__ import annotations

import re
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime, time
from io import BytesIO
from typing import TYPE_CHECKING, Any

from kg2rag.datasets.documents.archives import Archive, named, parse_xml
from kg2rag.datasets.documents.office.sheet_tables import tables_of
from kg2rag.datasets.documents.web.merged_cells import (
    Span,
    spans_of_opendocument,
    spans_of_sheets,
    with_merged_values,
)
from kg2rag.text.records import DataError, as_csv, sheets_of

if TYPE_CHECKING:
    import pandas as pd

_STYLES = "xl/styles.xml"
_WORKBOOK = "xl/workbook.xml"
_CONTENT = "content.xml"  # of OpenDocument
_PERCENT_FORMATS = frozenset(("9", "10"))
"""Numbers of Excel's own formats of percentages."""
_NAMES_ABOVE = re.compile(rb"""<outlinePr\b[^>]*\bsummaryBelow=["'](?:0|false)["']""")
_PLACE = re.compile(r"([A-Z]{1,3})([1-9]\d{0,6})")
Cells = Mapping[tuple[int, int], float]
"""(row, column), both from 0 -> the value of a cell."""
_NOTES = "notes of cells.txt"
_FORMULAS = "formulas"
"""Names of the parts of a workbook that are no tables."""
_SHEET_OR_COMMENTS = re.compile(
    r"xl/(?:worksheets/[^/]+|comments/?[^/]+|threadedComments/[^/]+)\.xml"
)
# The value of a formula may be an empty text.
_FORMULA_WITHOUT_VALUE = re.compile(
    rb"""<c\b(?![^>]*\bt="str")[^>]*><f\b[^>]*(?:/>|>[^<]*</f>)(?:<v */>|<v></v>)?</c>"""
)


class Workbook:
    """The tables of a spreadsheet, each as a file of comma-separated values, and the notes of its cells.

    A value that is merged over rows is in each of them, and the name of a group in each row that is
    grouped below it. Formulas of .xlsx without values, which
    programs write that do not calculate, are a part that cannot be read, and so are notes, formats
    and merged cells in a sheet that is too large.

    DataError: the package `python-calamine` is not installed.
    """

    def __init__(self, data: bytes) -> None:
        tables = sheets_of(data)
        parts = dict[str, bytes]()
        percents = dict[str, Cells]()
        levels = dict[str, Mapping[int, int]]()
        self._fault = ""
        is_zip = zipfile.is_zipfile(BytesIO(data))
        spans = {} if is_zip else spans_of_sheets(data)
        if is_zip:
            try:
                parts = _parts_of_workbook(Archive(data))
                percents = _percent_cells(Archive(data))
                levels = dict(_levels_of_rows(Archive(data), parts))
                spans = _spans(data, parts)
            except DataError as error:
                self._fault = f"notes, formats and merged cells are not read: {error}"
        sheets = {
            name: _with_groups(
                with_merged_values(
                    _shown_percents(
                        table.map(_without_midnight),
                        percents.get(name, {}),
                    ),
                    spans.get(name, ()),
                ),
                levels.get(name, {}),
            )
            for name, table in tables.items()
        }
        self._tables = _tables_of_sheets(sheets)
        self._notes = "\n\n".join(_notes_of_cells(parts))
        self._n_empty = sum(
            len(_FORMULA_WITHOUT_VALUE.findall(part))
            for name, part in parts.items()
            if "/worksheets/" in name
        )
        self.names = list(self._tables)
        if self._notes or self._fault:
            self.names.append(_NOTES)
        if self._n_empty:
            self.names.append(_FORMULAS)

    def read(self, name: str) -> bytes:
        """The bytes of a table, without empty rows and columns, or of the notes."""
        if name == _NOTES and self._fault:
            raise DataError(self._fault)
        if name == _NOTES:
            return self._notes.encode()
        if name == _FORMULAS:
            raise DataError(
                f"formulas without values: {self._n_empty}. Open the workbook in Excel or LibreOffice and save it."
            )
        return b"sep=,\n" + as_csv(self._tables[name])


def _parts_of_workbook(archive: Archive) -> dict[str, bytes]:
    """The sheets and comments of a workbook in XML, by name; {} for one of another format."""
    names = filter(_SHEET_OR_COMMENTS.fullmatch, archive.names)
    return {name: archive.read(name) for name in names}


def _tables_of_sheets(sheets: Mapping[str, pd.DataFrame]) -> dict[str, pd.DataFrame]:
    """The tables of sheets by the names of their files; further ones of a sheet are numbered from 2."""
    tables: dict[str, pd.DataFrame] = {}
    for name, sheet in sheets.items():
        parts = list(tables_of(sheet.to_numpy(dtype=object).tolist()))
        for number, part in enumerate(parts, start=1):
            file = f"{name}.csv" if number == 1 else f"{name}, table {number}.csv"
            tables[file] = sheet if len(parts) == 1 else type(sheet)(part)
    return tables


def _spans(data: bytes, parts: Mapping[str, bytes]) -> dict[str, list[Span]]:
    """The cells of a zipped workbook that are merged over rows, by the name of the sheet.

    parts : the sheets of .xlsx in XML.
    """
    archive = Archive(data)
    if _CONTENT in archive.names:
        return spans_of_opendocument(archive.xml(_CONTENT))
    has_merged_cells = any(b"<mergeCell " in part for part in parts.values())
    return spans_of_sheets(data) if has_merged_cells else {}


def _notes_of_cells(parts: Mapping[str, bytes]) -> Iterator[str]:
    """The notes and comments of cells, each behind the name of its cell.

    The author of a note that only repeats a comment, for older programs, begins with "tc=".
    """
    for name, part in parts.items():
        if "omments" not in name:
            continue
        root = parse_xml(part, name)
        authors = ["".join(author.itertext()) for author in named(root, "author")]
        for note in named(root, "comment", "threadedComment"):
            author = authors[int(note.get("authorId", 0))] if authors else ""
            text = " ".join("".join(note.itertext()).split())
            if text and not author.startswith("tc="):
                yield f"{note.get('ref', '')}: {text}"


def _without_midnight(cell: Any) -> Any:
    """A cell; of a date and time at midnight, which is how a date is stored, the date."""
    if isinstance(cell, datetime) and cell.time() == time.min:
        return cell.date()
    return cell


def _percent_cells(archive: Archive) -> dict[str, Cells]:
    """The cells of percentages of each sheet, by its name; DataError: a part cannot be read."""
    if not {_STYLES, _WORKBOOK} <= set(archive.names):
        return {}
    styles = _percent_styles(archive.xml(_STYLES))
    if not styles:
        return {}
    return {
        name: _cells(archive.xml(part), styles) for name, part in _sheet_parts(archive)
    }


def _sheet_parts(archive: Archive) -> Iterator[tuple[str, str]]:
    """The names of the sheets of .xlsx, and the names of their parts."""
    relations = archive.relations(_WORKBOOK)
    for sheet in archive.xml(_WORKBOOK).iter("{*}sheet"):
        ids = [value for name, value in sheet.attrib.items() if name.endswith("}id")]
        _, part = relations.get("".join(ids), ("", ""))
        if part in archive.names:
            yield sheet.get("name", ""), part


def _levels_of_rows(
    archive: Archive, parts: Mapping[str, bytes]
) -> Iterator[tuple[str, dict[int, int]]]:
    """Sheets whose rows are grouped below their names -> row from 0 -> its level, from 1.

    parts : the sheets of .xlsx in XML.
    """
    if not any(map(_NAMES_ABOVE.search, parts.values())):
        return
    for name, part in _sheet_parts(archive):
        if _NAMES_ABOVE.search(parts.get(part, b"")):
            yield (
                name,
                {
                    int(row.get("r", 0)) - 1: int(row.get("outlineLevel", 0))
                    for row in archive.xml(part).iter("{*}row")
                },
            )


def _with_groups(table: pd.DataFrame, levels: Mapping[int, int]) -> pd.DataFrame:
    """A frame of cells with a further column: the names of the groups in which a row is."""
    if not any(levels.values()):
        return table
    rows = table.to_numpy(dtype=object).tolist()
    groups = _groups_of_rows(rows, levels)
    return type(table)([[*row, group] for row, group in zip(rows, groups, strict=True)])


def _groups_of_rows(
    rows: Sequence[Sequence[Any]], levels: Mapping[int, int]
) -> Iterator[str]:
    """The names of the groups in which each row is, from the outer one, joined by " > ".

    The name of a group is the first cell of the row above it, unless that is the first row of all.
    """
    first = next((number for number, row in enumerate(rows) if any(row)), 0)
    names = dict[int, str]()
    for number, row in enumerate(rows):
        level = levels.get(number, 0)
        names = {upper: name for upper, name in names.items() if upper < level}
        yield " > ".join(names.values())
        if number > first:
            names[level] = next((str(cell) for cell in row if str(cell) != ""), "")


def _percent_styles(root: Any) -> set[str]:
    """The numbers of the formats of cells that show a percentage."""
    formats = {
        str(element.get("numFmtId"))
        for element in root.iter("{*}numFmt")
        if "%" in element.get("formatCode", "")
    }
    return {
        str(number)
        for number, style in enumerate(root.iterfind("{*}cellXfs/{*}xf"))
        if style.get("numFmtId") in formats | _PERCENT_FORMATS
    }


def _cells(root: Any, styles: set[str]) -> Cells:
    """The numbers in the cells of a sheet that have one of these formats."""
    cells = dict[tuple[int, int], float]()
    for cell in root.iter("{*}c"):
        place = _PLACE.fullmatch(cell.get("r", ""))
        value = cell.findtext("{*}v")
        if cell.get("s") in styles and cell.get("t", "n") == "n" and place and value:
            column = 0
            for letter in place[1]:
                column = 26 * column + ord(letter) - ord("A") + 1
            cells[int(place[2]) - 1, column - 1] = float(value)
    return cells


def _shown_percents(table: pd.DataFrame, cells: Cells) -> pd.DataFrame:
    """A frame of cells with percentages as they are shown: 12.5% for 0.125."""
    if not cells:
        return table
    shown = table.to_numpy(dtype=object, copy=True)
    for (row, column), value in cells.items():
        is_inside = row < shown.shape[0] and column < shown.shape[1]
        if is_inside and shown[row, column] == value:
            shown[row, column] = f"{100 * value:.10g}%"
    return type(table)(shown)
