"""A response of the dataset viewer of the Hugging Face hub (`/rows`, `/first-rows`) -> its rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from kg2rag.text.records import DataError


def viewer_rows(value: Any, name: str | None) -> list[Any] | None:
    """The rows in a response of the viewer; None for any other JSON value.

    name : the file, for the DataError about a cell that the viewer has truncated; None accepts it.
    """
    if not isinstance(value, Mapping) or "features" not in value:
        return None
    rows = value.get("rows")
    if not isinstance(rows, list) or not all(map(_is_row, rows)):
        return None
    if name is not None:
        _check_cells(rows, name)
    return [row["row"] for row in rows]


def _check_cells(rows: Sequence[Mapping[str, Any]], name: str) -> None:
    """DataError: the viewer has truncated a cell; it names the file and the row."""
    for row in rows:
        cells = row.get("truncated_cells")
        if cells:
            raise DataError(
                f"{name}, row {row.get('row_idx')}: the viewer has cut {', '.join(cells)}. "
                "Take the file of the set: hf download, or load_dataset."
            )


def _is_row(row: Any) -> bool:
    """Whether a value is a row of the viewer, an object with the record under "row"."""
    return isinstance(row, Mapping) and isinstance(row.get("row"), Mapping)
