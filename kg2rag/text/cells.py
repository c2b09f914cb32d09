"""Cells of the CSV files that people open -> cells that no spreadsheet runs as a formula, and back.

A text that begins with `=`, `+`, `-`, `@`, a tab or a carriage return, or with apostrophes before
such a character, gets an apostrophe, as OWASP ("CSV Injection") has it. Numbers stay.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pandas as pd
    from rich.console import Console

PASSAGE_CHARACTERS = 160  # the maximum of a displayed passage
_FORMULA = re.compile(r"'*[=+\-@\t\r]")


def guard(cell: Any) -> Any:
    """The form in which a cell is written to a CSV file.

    >>> [guard(cell) for cell in ("=1+1", "'=1+1", "dense", -0.5)]
    ["'=1+1", "''=1+1", 'dense', -0.5]
    """
    if isinstance(cell, str) and _FORMULA.match(cell):
        return f"'{cell}"
    return cell


def unguard(cell: Any) -> Any:
    """The cell that `guard` turned into a cell of a CSV file.

    >>> [unguard(cell) for cell in ("'=1+1", "''=1+1", "'tis", -0.5)]
    ['=1+1', "'=1+1", "'tis", -0.5]
    """
    if isinstance(cell, str) and cell.startswith("'") and _FORMULA.match(cell[1:]):
        return cell[1:]
    return cell


def csv_of(
    frame: pd.DataFrame, *, index: bool = False, float_format: str | None = None
) -> str:
    """A frame as the text of a CSV file; texts in columns, headings and index are guarded."""
    return str(
        frame_of_csv(frame, guard).to_csv(
            index=index, float_format=float_format, lineterminator="\n"
        )
    )


def frame_of_csv(
    frame: pd.DataFrame, convert: Callable[[Any], Any] = unguard
) -> pd.DataFrame:
    """The frame with its cells, headings and index converted; by default read from a guarded CSV."""
    texts = {
        name: frame[name].map(convert)
        for name in frame.columns
        if frame[name].dtype.kind == "O"
    }
    frame = frame.assign(**texts).rename(columns=convert, index=convert)
    return frame.rename_axis(index=convert(frame.index.name))


REPLACEMENT = "\N{REPLACEMENT CHARACTER}"
# The maximum of characters that a terminal shows; rich needs minutes to wrap a word of a million.
MAX_CHARACTERS = 10_000
# Joiners stay: Persian, Indic scripts and emoji need them.
_CONTROL_CHARACTERS = {
    code: REPLACEMENT
    for code in (*range(0x20), *range(0x7F, 0xA0), 0xAD, *range(0x200B, 0x2070), 0xFEFF)
    if unicodedata.category(chr(code)) in ("Cc", "Cf", "Cn")
    and chr(code) not in "\n\t\u200c\u200d"
}


def visible(text: str) -> str:
    r"""A text with control, direction and zero-width characters replaced.

    >>> visible("a\x1b[31mb\u202ec\n")
    'a�[31mb�c\n'
    """
    return text.translate(_CONTROL_CHARACTERS)


def console(**options: Any) -> Console:
    """A rich console that replaces control characters by `visible`; its colours remain."""
    from rich import console as rich
    from rich.segment import Segment

    class VisibleConsole(rich.Console):
        def render_str(self, text: str, **options: Any) -> Any:
            return super().render_str(excerpt(text, MAX_CHARACTERS), **options)

        def render(self, *arguments: Any, **options: Any) -> Any:
            for segment in super().render(*arguments, **options):
                if segment.control:
                    yield segment
                else:
                    yield Segment(visible(segment.text), segment.style)

    return VisibleConsole(**options)


def excerpt(text: str, characters: int = PASSAGE_CHARACTERS) -> str:
    """The beginning of a text, with an ellipsis if the text exceeds `characters`.

    >>> excerpt("FastAPI", 5)
    'Fast…'
    """
    return text if len(text) <= characters else f"{text[: characters - 1]}…"


def duration(seconds: float) -> str:
    """A duration, to a second, a minute or a tenth of an hour.

    >>> [duration(seconds) for seconds in (89, 90, 5400)]
    ['89 seconds', '2 minutes', '1.5 hours']
    """
    if seconds < 90:
        return f"{seconds:.0f} seconds"
    if seconds < 5400:
        return f"{seconds / 60:.0f} minutes"
    return f"{seconds / 3600:.1f} hours"
