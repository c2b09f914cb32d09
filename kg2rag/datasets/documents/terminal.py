r"""What a program printed -> the text that its terminal shows.

Escape sequences (ECMA-48) set colours and move the cursor; `\r` returns to the beginning of a line,
as progress bars do, so that only the last state of a line is shown.
"""

from __future__ import annotations

import re

_ESCAPE = re.compile(
    r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b\n]{0,2000}(?:\x07|\x1b\\)|[ -/]?[0-~])"
)
"""A control sequence such as a colour, the title of a window, or another escape."""
_OF_CURSOR = re.compile(r"[\x1b\r\b]")


def shown_on_terminal(text: str) -> str:
    r"""The text that a terminal shows of what a program prints.

    >>> shown_on_terminal("\x1b[32mready\x1b[0m\n 10%|#   |\r100%|####|\n")
    'ready\n100%|####|\n'
    """
    if not _OF_CURSOR.search(text):
        return text
    lines = _ESCAPE.sub("", text).replace("\r\n", "\n").split("\n")
    return "\n".join(map(_shown_line, lines))


def _shown_line(line: str) -> str:
    r"""The last state of a line that is written several times, each time from its beginning.

    `\b` goes back by one character; before `\r` it has no effect.
    """
    shown = ""
    for state in line.split("\r"):
        written = state.rstrip("\b")
        while "\b" in written:
            before, _, after = written.partition("\b")
            written = before[:-1] + after
        shown = written + shown[len(written) :]
    return shown
