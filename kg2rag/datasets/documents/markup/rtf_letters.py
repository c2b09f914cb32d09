r"""RTF -> RTF with Unicode characters in place of escapes.

pandoc decodes all bytes as Windows-1252, and loses blanks behind escapes. Bytes are in the code page
of their font's character set (`\fcharset204` is Cyrillic), or else in that of the file.
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterator

_CODE_PAGE = re.compile(r"\\ansicpg(\d+)")
_DEFAULT_FONT = re.compile(r"\\deff(\d+)")
_FONT = re.compile(r"\\f(\d+)(?:\\(?!f\d)[a-z]+-?\d*)*?\\fcharset(\d+)")
_TOKEN = re.compile(
    r"(?P<bytes>(?:\\'[0-9a-fA-F]{2})+)|\\u(?P<unit>-?\d+) ?|\\uc(?P<count>\d+)|\\f(?P<font>\d+)(?!\d)|"
    r"(?P<plain>\\plain(?![a-z]))|(?P<brace>[{}])|\\[a-z]+-?\d*|\\[^a-z']"
)
_REPLACEMENT = re.compile(r"\\'[0-9a-fA-F]{2}|[^\\{}\r\n]")
"""What older programs show in place of a Unicode character."""
_SPECIAL = re.compile(r"[\\{}]")
_CODE_PAGE_OF_CHARSET = dict(
    zip(
        map(int, "128 129 130 134 136 161 162 163 177 178 186 204 222 238".split()),
        "932 949 1361 936 950 1253 1254 1258 1255 1256 1257 1251 874 1250".split(),
        strict=True,
    )
)
"""Character set of a font -> its code page."""


def unicode_rtf(text: str) -> str:
    r"""RTF with Unicode characters in place of escapes.

    >>> unicode_rtf(r"{\rtf1\ansi{\fonttbl{\f0\fcharset204 Times;}}\f0 \'c4\'e0 \u8364?}")
    '{\\rtf1\\ansi{\\fonttbl{\\f0\\fcharset204 Times;}}\\f0 Да €}'
    """
    pieces = "".join(_Reader(text).pieces())
    return pieces.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


class _Reader:
    """Reads a text from start to end, with the font and the length of replacements of each group."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.encoding = _encoding(_CODE_PAGE.search(text[:1000]))
        self.encodings = dict(_encodings_of_fonts(text))
        default = _DEFAULT_FONT.search(text[:1000])
        self.default = int(default[1]) if default else -1
        self.font = self.default
        self.n_replaced = 1
        self._groups = list[tuple[int, int]]()

    def pieces(self) -> Iterator[str]:
        """The pieces of the text; halves of characters are surrogates."""
        end = 0
        while token := _TOKEN.search(self.text, end):
            yield self.text[end : token.start()]
            end = token.end()
            if token["bytes"]:
                yield self._letters(token["bytes"])
            elif token["unit"]:
                yield chr(int(token["unit"]) % 0x10000)
                end = self._behind_replacement(end)
            else:
                self._note(token)
                yield token[0]
        yield self.text[end:]

    def _note(self, token: re.Match[str]) -> None:
        """Keep what a control word or a brace means for the letters behind it."""
        if token["font"]:
            self.font = int(token["font"])
        elif token["plain"]:
            self.font = self.default
        elif token["count"]:
            self.n_replaced = int(token["count"])
        elif token["brace"] == "{":
            self._groups.append((self.font, self.n_replaced))
        elif token["brace"] and self._groups:
            self.font, self.n_replaced = self._groups.pop()

    def _letters(self, escapes: str) -> str:
        """The characters of escaped bytes."""
        encoding = self.encodings.get(self.font, self.encoding)
        letters = bytes.fromhex(escapes.replace("\\'", "")).decode(encoding, "replace")
        return _SPECIAL.sub(r"\\\g<0>", letters)

    def _behind_replacement(self, place: int) -> int:
        """The place behind what older programs show for a Unicode character that ends at a place."""
        for _ in range(self.n_replaced):
            replacement = _REPLACEMENT.match(self.text, place)
            if replacement is None:
                break
            place = replacement.end()
        return place


def _encodings_of_fonts(text: str) -> Iterator[tuple[int, str]]:
    """The numbers of fonts with a known character set, and its encoding."""
    for font, charset in _FONT.findall(text):
        if int(charset) in _CODE_PAGE_OF_CHARSET:
            yield int(font), f"cp{_CODE_PAGE_OF_CHARSET[int(charset)]}"


def _encoding(declared: re.Match[str] | None) -> str:
    """The encoding of the code page that a file declares; Windows-1252 for none or an unknown one."""
    name = f"cp{declared[1]}" if declared else "cp1252"
    try:
        return codecs.lookup(name).name
    except LookupError:
        return "cp1252"
