"""Work that takes a while -> a bar in a terminal or a notebook, a line now and then in a file or a pipe."""

from __future__ import annotations

import os
import sys
from io import StringIO
from typing import TYPE_CHECKING, Any, TextIO

if TYPE_CHECKING:
    from tqdm import tqdm

EVERY = 10.0
"""Seconds between two lines where no bar can be drawn; work that takes less says nothing."""
LINE = "{desc}: {n_fmt} of {total_fmt}, {elapsed} gone, {remaining} left"


def bar(total: int | None, what: str, unit: str, *, shown: bool = True) -> tqdm[Any]:
    """A tqdm bar of `total` units: a widget in a notebook; on stderr a bar in a terminal, lines elsewhere.

    Neither a notebook's kernel nor a pipe is a terminal, so that alone does not say whether a bar can be drawn.
    TQDM_DISABLE=1 hides all.
    """
    from tqdm import auto, std

    hidden = not shown or bool(os.environ.get("TQDM_DISABLE"))  # which tqdm's widget would not read
    given: dict[str, Any] = {"total": total, "desc": what, "unit": unit, "leave": False, "disable": hidden}
    if auto.notebook_tqdm is not std.tqdm:
        return auto.tqdm(**given)
    if sys.stderr.isatty():
        return std.tqdm(**given, file=sys.stderr)
    paced = {"mininterval": EVERY, "maxinterval": EVERY, "delay": EVERY, "miniters": 1}
    return std.tqdm(**{**given, "leave": True}, **paced, bar_format=LINE, file=_Lines(sys.stderr))


class _Lines(StringIO):
    """What tqdm draws over and over in one place, as one line each time that it differs."""

    def __init__(self, to: TextIO) -> None:
        super().__init__()
        self._to, self._last = to, ""

    def write(self, drawn: str) -> int:
        text = drawn.replace("\x1b[A", "").strip()
        if text not in ("", self._last):
            self._last = text
            self._to.write(f"{text}\n")
            self._to.flush()
        return len(drawn)
