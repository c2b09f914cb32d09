"""Cells of the CSV files that people open -> cells that no spreadsheet runs as a formula, and back.

A text that begins with `=`, `+`, `-`, `@`, a tab or a carriage return gets an apostrophe before it, as OWASP ("CSV
Injection") has it; one that begins with apostrophes before such a character gets one more, so that every text comes
back. Numbers are no texts: a negative number stays one.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pandas as pd

_FORMULA = re.compile(r"'*[=+\-@\t\r]")


def guarded(cell: Any) -> Any:
    """A cell as it is written.

    >>> [guarded(cell) for cell in ("=1+1", "'=1+1", "dense", -0.5)]
    ["'=1+1", "''=1+1", 'dense', -0.5]
    """
    return f"'{cell}" if isinstance(cell, str) and _FORMULA.match(cell) else cell


def unguarded(cell: Any) -> Any:
    """A cell as it was before it was written.

    >>> [unguarded(cell) for cell in ("'=1+1", "''=1+1", "'tis", -0.5)]
    ['=1+1', "'=1+1", "'tis", -0.5]
    """
    return cell[1:] if isinstance(cell, str) and cell[:1] == "'" and _FORMULA.match(cell[1:]) else cell


def csv_of(frame: pd.DataFrame, *, index: bool = False, float_format: str | None = None) -> str:
    """A table as CSV: texts in columns, headings and index are `guarded`."""
    written: str = _mapped(frame, guarded).to_csv(index=index, float_format=float_format, lineterminator="\n")
    return written


def frame_of_csv(frame: pd.DataFrame) -> pd.DataFrame:
    """A table that was read from what `csv_of` wrote, with its texts as they were."""
    return _mapped(frame, unguarded)


def _mapped(frame: pd.DataFrame, change: Callable[[Any], Any]) -> pd.DataFrame:
    texts = {name: frame[name].map(change) for name in frame.columns if frame[name].dtype.kind == "O"}
    frame = frame.assign(**texts) if texts else frame
    frame = (
        frame.rename(columns=change, index=change) if frame.index.dtype.kind == "O" else frame.rename(columns=change)
    )
    return frame.rename_axis(index=change(frame.index.name)) if frame.index.name else frame
