"""The cells of a workbook (.xlsx) that are shown as percentages; their values are fractions."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pandas as pd

    from kg2rag.datasets.documents.archives import Archive

_STYLES, _WORKBOOK = "xl/styles.xml", "xl/workbook.xml"
_PERCENT_FORMATS = frozenset(("9", "10"))
"""Numbers of Excel's own formats of percentages."""
_PLACE = re.compile(r"([A-Z]{1,3})([1-9]\d{0,6})")

Cells = Mapping[tuple[int, int], float]
"""(row, column), both from 0 -> the value of a cell."""


def percent_cells(archive: Archive) -> dict[str, Cells]:
    """The cells of percentages of each sheet, by its name; DataError: a part cannot be read."""
    if not {_STYLES, _WORKBOOK} <= set(archive.names):
        return {}
    styles = _percent_styles(archive.xml(_STYLES))
    if not styles:
        return {}
    relations = archive.relations(_WORKBOOK)
    cells = dict[str, Cells]()
    for sheet in archive.xml(_WORKBOOK).iter("{*}sheet"):
        ids = [value for name, value in sheet.attrib.items() if name.endswith("}id")]
        _, part = relations.get("".join(ids), ("", ""))
        if part in archive.names:
            cells[sheet.get("name", "")] = _cells(archive.xml(part), styles)
    return cells


def _percent_styles(root: Any) -> set[str]:
    """The numbers of the formats of cells that show a percentage."""
    own = {
        str(one.get("numFmtId"))
        for one in root.iter("{*}numFmt")
        if "%" in one.get("formatCode", "")
    }
    formats = own | _PERCENT_FORMATS
    return {
        str(number)
        for number, one in enumerate(root.iterfind("{*}cellXfs/{*}xf"))
        if one.get("numFmtId") in formats
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


def shown_percents(table: pd.DataFrame, cells: Cells) -> pd.DataFrame:
    """A frame of cells with percentages as they are shown: 12.5% for 0.125."""
    if not cells:
        return table
    shown = table.to_numpy(dtype=object, copy=True)
    for (row, column), value in cells.items():
        is_inside = row < shown.shape[0] and column < shown.shape[1]
        if is_inside and shown[row, column] == value:
            shown[row, column] = f"{100 * value:.10g}%"
    return type(table)(shown)
