"""A page of a PDF -> its text, with the letter of pdfium that each character comes from.

Ours: an accent that a program draws apart from its letter, as TeX does with its first fonts, is
part of the letter that stands below or above it.
"""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from ctypes import addressof
from functools import cache, partial
from typing import Any, NamedTuple

from kg2rag.datasets.documents.pdf.columns import Line, line_order
from kg2rag.datasets.documents.pdf.divided_words import LINE_END_HYPHEN
from kg2rag.datasets.documents.pdf.right_to_left import (
    RIGHT_TO_LEFT,
    reading_order,
    with_mirrored_brackets,
)

_COMBINING = dict(
    zip(
        "`\u00b4\u02b9^\u02c6~\u02dc\u00af\u02c9\u02d8\u02d9\u00a8\u02da\u02dd\u02c7\u00b8\u02db",
        "\u0300\u0301\u0301\u0302\u0302\u0303\u0303\u0304\u0304\u0306\u0307\u0308\u030a\u030b\u030c\u0327\u0328",
        strict=True,
    )
)
"""Accent -> the character that combines it with the letter before."""
_ACCENT = re.compile(f"[{re.escape(''.join(_COMBINING))}]")
_WITH_DOT = {"\u0131": "i", "\u0237": "j"}
"""Letters without a dot, which stand below accents, and with one."""


_WORD_BEHIND_NUMBER = re.compile(r"(?<=\d)[A-Z\u00c0-\u00de][^\W\d_]{2}")
_LINE = re.compile(r"[^\n]*\n|[^\n]+")
_HALVES = re.compile("[\ud800-\udbff][\udc00-\udfff]")
"""Characters beyond U+FFFF, which pdfium returns in two."""
MOST_RISE = 0.5
"""Largest distance of an accent from its usual height, as part of the height of a font."""
MOST_SHIFT = 0.25
"""Largest distance of a line from one that it repeats, as part of the height of a font."""
WORD_GAP = 0.125
"""Least distance of words as part of the height of a font."""


class PageText(NamedTuple):
    """The text of a page.

    Attributes
    ----------
    text_page : pypdfium2's text page.
    text : lines, which end with a carriage return and a line feed.
    letters : for each character, the number of pdfium's letter.
    """

    text_page: Any
    text: str
    letters: Sequence[int]


class _Box(NamedTuple):
    """The place of a letter on its page, in points from the bottom left."""

    left: float
    bottom: float
    right: float
    top: float


class _Letter(NamedTuple):
    """A character and the number of pdfium's letter that it comes from."""

    character: str
    row: int


def page_text(text_page: Any) -> PageText:
    """The text of a text page of pypdfium2, in reading order.

    Lines outside the page are left out.
    """
    letters = [
        _Letter(character, row)
        for row, character in enumerate(_characters(text_page))
        if character
    ]
    letters = list(_with_cells_apart(letters, text_page))
    box = cache(partial(_box, text_page))
    letters = _by_columns(_within_page(letters, text_page, box), box)
    text = _text(letters)
    order = reading_order(text, lambda place: box(letters[place].row).left)
    letters = [letters[place] for place in order]
    characters = list(with_mirrored_brackets(_text(letters)))
    _compose(characters, lambda place: box(letters[place].row))
    rows = [
        letter.row for letter, text in zip(letters, characters, strict=True) if text
    ]
    return PageText(text_page, "".join(characters), rows)


def _with_cells_apart(letters: Sequence[_Letter], text_page: Any) -> Iterator[_Letter]:
    """The letters, with a blank between a number and a word that were drawn apart, as in two cells."""
    from pypdfium2 import raw

    places = {match.start() for match in _WORD_BEHIND_NUMBER.finditer(_text(letters))}
    if not places:
        yield from letters
        return
    for place, letter in enumerate(letters):
        if place in places:
            objects = [
                raw.FPDFText_GetTextObject(text_page.raw, letters[neighbour].row)
                for neighbour in (place - 1, place)
            ]
            if addressof(objects[0].contents) != addressof(objects[1].contents):
                yield letter._replace(character=" ")
        yield letter


def _within_page(
    letters: Sequence[_Letter], text_page: Any, box: Callable[[int], _Box]
) -> list[_Letter]:
    """The letters of the lines that start or end within the page; a line drawn twice counts once."""
    page = _Box(*text_page.page.get_bbox())
    within = list[_Letter]()
    drawn = defaultdict[str, list[_Box]](list)
    for line in _LINE.finditer(_text(letters)):
        for piece in _pieces(letters[slice(*line.span())], box):
            first = box(piece[0].row)
            text = _text(piece).strip()
            if any(_is_same_place(first, place) for place in drawn[text]):
                within += _missing_line_end(within, piece)
            elif _overlap(page, first) or _overlap(page, box(piece[-1].row)):
                within += piece
                if text:
                    drawn[text].append(first)
    return within


def _missing_line_end(
    letters: Sequence[_Letter], piece: Sequence[_Letter]
) -> list[_Letter]:
    """The end of line of a piece that is left out, if the letters before it have none."""
    if not letters or letters[-1].character == "\n":
        return []
    return [letter for letter in piece if letter.character in "\r\n"]


def _pieces(
    line: Sequence[_Letter], box: Callable[[int], _Box]
) -> Iterator[Sequence[_Letter]]:
    """The parts of a line; each starts with the same letter, in the same place."""
    first = line[0]
    start = 0
    for place in range(1, len(line)):
        follows_blank = line[place - 1].character == " "
        is_equal = follows_blank and line[place].character == first.character
        if is_equal and _is_same_place(box(first.row), box(line[place].row)):
            yield line[start:place]
            start = place
    yield line[start:]


def _is_same_place(box: _Box, other: _Box) -> bool:
    """Whether a letter stands where another one does, or so near that one is hidden."""
    distance = MOST_SHIFT * (box.top - box.bottom)
    is_beside = abs(box.left - other.left) > distance
    rise = abs(box.bottom + box.top - other.bottom - other.top) / 2
    return not is_beside and rise <= distance


def _by_columns(
    letters: Sequence[_Letter], box: Callable[[int], _Box]
) -> list[_Letter]:
    """The letters; lines that were drawn in another order than they stand are in reading order.

    Columns of a page with letters from right to left stay as they were drawn.
    """
    text = _text(letters)
    if RIGHT_TO_LEFT.search(text):
        return list(letters)
    spans = [slice(*match.span()) for match in _LINE.finditer(text)]
    lines = [
        line
        for number, span in enumerate(spans)
        for line in _placed_lines(number, letters[span], box)
    ]
    order = line_order(lines)
    if order == sorted(order):
        return list(letters)
    newline = next(letter for letter in reversed(letters) if letter.character == "\n")
    ordered = list[_Letter]()
    for number in order:
        ordered += letters[spans[number]]
        if ordered[-1].character != "\n":
            ordered += [newline._replace(character="\r"), newline]
    return ordered


def _placed_lines(
    number: int, letters: Sequence[_Letter], box: Callable[[int], _Box]
) -> Iterator[Line]:
    """A line by the places of its first and last visible letters; none for a blank line."""
    visible = [letter for letter in letters if letter.character.strip()]
    if visible:
        ends = [box(visible[0].row), box(visible[-1].row)]
        yield Line(
            number,
            len(visible),
            min(end.left for end in ends),
            min(end.bottom for end in ends),
            max(end.right for end in ends),
            max(end.top for end in ends),
        )


def _text(letters: Sequence[_Letter]) -> str:
    """The text of letters of one character each."""
    return "".join(letter.character for letter in letters)


def _characters(text_page: Any) -> list[str]:
    """The character of each letter; "" for the second half of one."""
    from pypdfium2 import raw

    n_letters = text_page.count_chars()
    text: str = text_page.get_text_range()
    if len(text) == n_letters:
        return list(text)
    rows = range(n_letters)
    codes = [raw.FPDFText_GetUnicode(text_page.raw, row) for row in rows]
    characters = list(map(chr, codes))
    for row in rows:
        if raw.FPDFText_IsHyphen(text_page.raw, row) == 1:
            characters[row] = LINE_END_HYPHEN
    for pair in _HALVES.finditer("".join(characters)):
        code = pair[0].encode("utf-16-le", "surrogatepass")
        characters[slice(*pair.span())] = [code.decode("utf-16-le"), ""]
    return characters


def _overlap(box: _Box, other: _Box) -> bool:
    """Whether two places have points in common."""
    is_beside = box.left > other.right or other.left > box.right
    return not (is_beside or box.bottom > other.top or other.bottom > box.top)


def _box(page: Any, letter: int) -> _Box:
    """The place of a letter, with the height of its font."""
    return _Box(*page.get_charbox(letter, loose=True))


def _compose(characters: list[str], box: Callable[[int], _Box]) -> None:
    """Compose letters with their accents, in place; an accent becomes "", as do blanks beside it."""
    text = "".join(characters)
    for match in _ACCENT.finditer(text):
        accent = match.start()
        for letter in _nearest_first(text, accent, box):
            base = _WITH_DOT.get(characters[letter], characters[letter])
            composed = unicodedata.normalize("NFC", base + _COMBINING[match[0]])
            if len(composed) == 1:
                characters[letter] = composed
                characters[accent] = ""
                _close_gap(characters, accent, box)
                break


def _nearest_first(text: str, accent: int, box: Callable[[int], _Box]) -> Iterator[int]:
    """The letters of the lines around an accent that stand above or below its centre."""
    lines = [match.start() for match in re.finditer("\n", text)]
    row = bisect(lines, accent)
    start = lines[row - 2] if row > 1 else 0
    end = lines[row + 1] if row + 1 < len(lines) else len(text)
    place = box(accent)
    distances = list[tuple[float, int]]()
    for letter in range(start, end):
        if text[letter].isalpha() and _is_above_or_below(place, box(letter)):
            distances.append((abs(_center(box(letter)) - _center(place)), letter))
    return (letter for _, letter in sorted(distances))


def _center(place: _Box) -> float:
    """The middle between left and right."""
    return (place.left + place.right) / 2


def _is_above_or_below(accent: _Box, letter: _Box) -> bool:
    """Whether the centre of an accent is within the width of a letter of the same line."""
    is_within = letter.left <= _center(accent) <= letter.right
    rise = abs(accent.bottom + accent.top - letter.bottom - letter.top) / 2
    return is_within and rise < MOST_RISE * (letter.top - letter.bottom)


def _close_gap(characters: list[str], accent: int, box: Callable[[int], _Box]) -> None:
    """Remove blanks around an accent that became "", in place, but for the one between two words.

    A line that has no other character is removed.
    """
    start, end = _blanks_around(characters, accent)
    is_start = not start or characters[start - 1] == "\n"
    is_end = end == len(characters) or characters[end] == "\r"
    if is_start and is_end:
        end += 2
    has_blank = " " in characters[start:end] and not (is_start or is_end)
    characters[start:end] = [""] * len(characters[start:end])
    if has_blank and _is_word_gap(box(start - 1), box(end)):
        characters[start] = " "


def _blanks_around(characters: Sequence[str], place: int) -> tuple[int, int]:
    """The start and the end of the blanks and empty characters around a place."""
    start, end = place, place + 1
    while start and characters[start - 1] in ("", " "):
        start -= 1
    while end < len(characters) and characters[end] in ("", " "):
        end += 1
    return start, end


def _is_word_gap(left: _Box, right: _Box) -> bool:
    """Whether the distance of two letters is one of words."""
    return abs(right.left - left.right) > WORD_GAP * (left.top - left.bottom)
