"""LaTeX -> the same with letters in place of accents and of the names of letters."""

from __future__ import annotations

import re
import unicodedata

DOTLESS = re.compile(r"(\\[`'^\"~=.]\s*)(?:\{\\([ij])\}|\\([ij])(?![a-zA-Z])\s?)")
"""An accent on the letter i or j without its dot, which pandoc does not join."""
_ACCENT = re.compile(
    r"(?<!\\)\\(?:([`'^\"~=.])|([Hbcdkruv])(?![a-zA-Z]))\s*(\{)?\\?([a-zA-Z])(?(3)\})"
)
_LETTER = re.compile(
    r"(?<!\\)\\(AA|AE|DH|DJ|L|NG|O|OE|SS|TH|aa|ae|dh|dj|i|j|l|ng|o|oe|ss|th)(?![a-zA-Z])(?:\{\}|\s*)"
)
_GROUP = re.compile(r"\{([^\x00-\x7f])\}")
_MARK_OF_ACCENT = {
    "`": "\u0300", "'": "\u0301", "^": "\u0302", '"': "\u0308", "~": "\u0303", "=": "\u0304", ".": "\u0307",
    "H": "\u030b", "b": "\u0331", "c": "\u0327", "d": "\u0323", "k": "\u0328", "r": "\u030a", "u": "\u0306",
    "v": "\u030c",
}  # fmt: skip
"""Accent of LaTeX -> the combining mark."""
_LETTER_OF_NAME = {
    "AA": "Å", "AE": "Æ", "DH": "Ð", "DJ": "Đ", "L": "Ł", "NG": "Ŋ", "O": "Ø", "OE": "Œ", "SS": "ẞ", "TH": "Þ",
    "aa": "å", "ae": "æ", "dh": "ð", "dj": "đ", "i": "ı", "j": "ȷ", "l": "ł", "ng": "ŋ", "o": "ø", "oe": "œ",
    "ss": "ß", "th": "þ",
}  # fmt: skip


def with_letters(text: str) -> str:
    r"""LaTeX with letters in place of accents and of the names of letters.

    >>> with_letters(r"G\"odel, Erd{\H o}s, caf\'{e}, stra\ss e, na\"{\i}ve, Gar\c{c}on \cite{x}")
    'Gödel, Erdős, café, straße, naïve, Garçon \\cite{x}'
    """

    def accented(match: re.Match[str]) -> str:
        mark = _MARK_OF_ACCENT[match[1] or match[2]]
        return unicodedata.normalize("NFC", f"{match[4]}{mark}")

    text = _ACCENT.sub(accented, text)
    text = _LETTER.sub(lambda match: _LETTER_OF_NAME[match[1]], text)
    return _GROUP.sub(r"\1", text)
