"""Lines of a paragraph -> its text; in scripts without blanks between words, a line's end is none.

Ours, as CSS has it for line breaks in Chinese and Japanese. A line that is much shorter than the
longest one of its paragraph ends there on purpose, as a heading or a row of a table does, and keeps
its blank.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from itertools import pairwise

from kg2rag.text.scripts import MARKS, UNSPACED

MIN_COLUMNS = 20
"""Shortest full line; a Chinese character has two columns."""
FULL_LINE = 0.8
"""Columns of a full line as part of those of the longest line."""
_HANGUL = "\u1100-\u11ff\u3131-\u318e\uac00-\ud7fb"
_WIDE_SIGNS = "\u3001-\u3003\u3008-\u3011\u3014-\u301f\uff01-\uff0f\uff1a-\uff1f\uff3b-\uff40\uff5b-\uff65"
# Korean has blanks between words; quotation marks, dashes and dots also stand in Latin text.
_LETTER_CLASS = f"[{UNSPACED}{MARKS}{_WIDE_SIGNS}]"
_LETTER = f"(?![{_HANGUL}]){_LETTER_CLASS}"
_UNSPACED = re.compile(_LETTER)
_BLANK = re.compile(rf"(?<={_LETTER_CLASS})(?<![{_HANGUL}]) +(?={_LETTER})")
_BLANK_BEFORE_STOP = re.compile(rf"(?<={_LETTER_CLASS}) [\u3001\u3002\uff0c\uff0e]")
_WIDE_SIGN = re.compile(f"[{_WIDE_SIGNS}]")
_SPACED_PAIR = re.compile(rf"{_LETTER} (?=[A-Za-z0-9])|[A-Za-z0-9] (?={_LETTER})")
_CLOSE_PAIR = re.compile(rf"{_LETTER}(?=[A-Za-z0-9])|[A-Za-z0-9](?={_LETTER})")


def joined_lines(lines: Sequence[str]) -> str:
    """The text of the lines of a paragraph.

    Between a letter of a script without blanks and one with them, the text has a blank if the
    paragraph has one at most such places.

    >>> joined_lines(["安装前请确认电源已经断开，并", "由电工进行接线操作。"])
    '安装前请确认电源已经断开，并由电工进行接线操作。'
    >>> joined_lines(["The power has to be cut off", "before the wires are laid."])
    'The power has to be cut off before the wires are laid.'
    """
    if not any(map(_UNSPACED.search, lines)):
        return " ".join(lines)
    if _has_blanks_of_recognition(" ".join(lines)):
        lines = [_BLANK.sub("", line) for line in lines]
    full = max(MIN_COLUMNS, FULL_LINE * max(map(_columns, lines)))
    text = "".join(lines)
    is_spaced = len(_SPACED_PAIR.findall(text)) > len(_CLOSE_PAIR.findall(text))
    parts = [lines[0]]
    for line, following in pairwise(lines):
        if _columns(line) < full or _has_blank(line, following, is_spaced=is_spaced):
            parts.append(" ")
        parts.append(following)
    return "".join(parts)


def _has_blanks_of_recognition(text: str) -> bool:
    """Whether a program has set blanks between the letters that it recognised in a scan, as Tesseract does.

    One stands before a full stop or a comma, where no writer sets one, and most pieces are single
    letters.
    """
    pieces = _BLANK.split(text)
    n_single = sum(len(piece.strip()) == 1 for piece in pieces)
    return bool(_BLANK_BEFORE_STOP.search(text)) and 2 * n_single > len(pieces)


def _columns(line: str) -> int:
    """The width of a line in columns of a terminal."""
    return sum(
        1 + (unicodedata.east_asian_width(char) in "WF")
        for char in line.strip()
        if not unicodedata.combining(char)
    )


def _has_blank(line: str, following: str, *, is_spaced: bool) -> bool:
    """Whether a blank stands between two lines of a paragraph.

    is_spaced : whether the paragraph has blanks between letters of two kinds of scripts.
    """
    pair = line.rstrip()[-1:], following.lstrip()[:1]
    n_unspaced = sum(map(bool, map(_UNSPACED.match, pair)))
    if n_unspaced == 1 and not any(map(_WIDE_SIGN.match, pair)):
        return is_spaced
    return not n_unspaced
