"""A PDF -> its headings: by its bookmarks, or by the fonts of its lines."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Container, Mapping, Sequence
from ctypes import create_string_buffer
from math import atan2, degrees, hypot
from typing import Any, NamedTuple

from kg2rag.datasets.documents.contents_headings import contents_headings, line_key
from kg2rag.datasets.documents.pdf.letters import PageText
from kg2rag.text.scripts import SYLLABLES

Outline = Mapping[tuple[int, str], int]
"""(page from 0, or -1 for any page; `line_key` of a line) -> its level as a heading."""
# In the name of a bold font; "bx" is TeX's.
_BOLD = re.compile(r"(?i)bold|black|heavy|medi|bx\d")
_NUMBERED = re.compile(r"(?:\d+|[A-Z](?=\.\d))((?:\.\d+)*)\.?\s+[^\W\d]")
_WORD = re.compile(rf"[^\W\d_]{{3}}|[{SYLLABLES}]{{2}}")


def _bookmarks(document: Any) -> dict[tuple[int, str], int]:
    """The `Outline` that a document has; an entry without a target has page -1."""
    outline = dict[tuple[int, str], int]()
    for entry in document.get_toc():
        target = entry.get_dest()
        page = -1
        if target is not None and target.get_index() is not None:
            page = target.get_index()
        outline[page, line_key(entry.get_title())] = entry.level + 1
    return outline


def outline_of(
    document: Any, pages: Sequence[PageText]
) -> tuple[Outline, Container[int]]:
    """The outline of a PDF, and the levels whose entries are lines instead of whole headings.

    The title by its letters stands above the bookmarks that lack it. Without bookmarks, all
    headings are recognised by their letters.

    pages : the pages of the document.
    """
    bookmarks = _bookmarks(document)
    lines, usual = _styled_lines(pages)
    title = _title_lines(lines, usual)
    if not bookmarks:
        outline = _outline_by_fonts(lines, usual, title)
        return outline, set(outline.values())
    texts = [line.text for line in title]
    keys = set(map(line_key, texts))
    possible = {*keys, line_key(" ".join(texts))}
    if not keys or any(key in possible for page, key in bookmarks if page <= 0):
        return bookmarks, ()
    below = {place: level + 1 for place, level in bookmarks.items()}
    return {**below, **{(0, key): 1 for key in keys}}, (1,)


def _title_lines(lines: Sequence[_StyledLine], usual: float) -> list[_StyledLine]:
    """The lines of the title: the largest letters of the first page, much larger than usual."""
    first = [
        line
        for line in lines
        if line.page == 0 and line_key(line.text) not in contents_headings()
    ]
    largest = max((line.size for line in first), default=0.0)
    return [line for line in first if line.size == largest > 1.3 * usual]


def _outline_by_fonts(
    lines: Sequence[_StyledLine], usual: float, title: Container[_StyledLine]
) -> dict[tuple[int, str], int]:
    """The `Outline` of a PDF that has none, from the font of the first letter of each line.

    Headings are the title and the lines recognised by `_looks_like_heading`; a larger font is a
    higher level.
    """
    sizes = dict[tuple[int, str], float]()
    for line in lines:
        is_title = line in title
        if is_title or _looks_like_heading(line, usual):
            sizes.setdefault(
                (line.page, line_key(line.text)),
                float("inf") if is_title else line.size,
            )
    ranked = sorted({*sizes.values(), float("inf")}, reverse=True)
    return {line: 1 + ranked.index(size) for line, size in sizes.items()}


class _StyledLine(NamedTuple):
    """A line of a page, counted from 0, with the style of its first letter.

    Attributes
    ----------
    size : in points.
    angle : from the left to the right of the page, in tens of degrees.
    """

    page: int
    text: str
    size: float
    is_bold: bool
    angle: int


def _styled_lines(pages: Sequence[PageText]) -> tuple[list[_StyledLine], float]:
    """The lines that contain a word, and the usual size, that of most letters, in points.

    Lines at another angle than most of the document are left out, such as marks across a page.
    """
    from pypdfium2 import raw

    font = create_string_buffer(128)
    matrix = raw.FS_MATRIX()
    letters = Counter[float]()
    angles = Counter[int]()
    lines = list[_StyledLine]()
    for number, page in enumerate(pages):
        start = 0
        text_page = page.text_page.raw
        for line in page.text.split("\r\n"):
            first = start + len(line) - len(line.lstrip())
            letter = page.letters[first] if first < len(page.letters) else 0
            start += len(line) + 2
            raw.FPDFText_GetMatrix(text_page, letter, matrix)
            raw.FPDFText_GetFontInfo(text_page, letter, font, len(font), None)
            height = hypot(matrix.c, matrix.d)
            size = round(raw.FPDFText_GetFontSize(text_page, letter) * height, 1)
            angle = round(degrees(atan2(matrix.b, matrix.a)) / 10)
            letters[size] += len(line)
            angles[angle] += len(line)
            if _WORD.search(line):
                is_bold = bool(_BOLD.search(font.value.decode("latin-1")))
                styled = _StyledLine(number, line.strip(), size, is_bold, angle)
                lines.append(styled)
    usual = max(letters, key=lambda size: letters[size], default=0.0)
    usual_angle = max(angles, key=lambda angle: angles[angle], default=0)
    return [line for line in lines if line.angle == usual_angle], usual


def _looks_like_heading(line: _StyledLine, usual: float) -> bool:
    """Whether a line is a heading: larger than usual, and bold or numbered.

    A bold line of usual size is one if its number has several parts. Labels in figures may be
    large, but are neither bold nor numbered.
    """
    number = _NUMBERED.match(line.text)
    if len(line.text) < 100 and line.size > 1.05 * usual and (line.is_bold or number):
        return True
    return bool(line.is_bold and number and number[1] and line.size == usual)
