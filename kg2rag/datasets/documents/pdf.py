"""A PDF -> its blocks with their pages, by pypdfium2: lines joined to paragraphs, headings by its outline or its fonts.

Ours: which lines are running heads. A line at the edge of a page is one if at least three pages
have it at an edge, numbers aside; if its numbers are the same everywhere or count with the pages;
and if it is no sentence.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from ctypes import create_string_buffer
from functools import partial
from typing import Any, NamedTuple

from kg2rag.datasets.documents.blocks import Block, FileDocument, join_remarks

Outline = Mapping[tuple[int, str], int]
"""(page from 0, or -1 for any; the letters of a line, in lower case) -> its level as a heading."""

RUNNING_HEAD_PAGES = 3
"""Pages that begin or end with a line from which it may be a running head."""
_ENDS = re.compile(r"[.!?:;。！？][\"”’)]?$")
_CONTENTS_ENTRY = re.compile(r"(?:\.[ \t]?){4,}+[ \t]*\w+$")
_BULLET = re.compile(r"[•◦▪–*-]\s|\d+[.)]\s")
# In a font's name; the last is TeX's.
_BOLD = re.compile(r"(?i)bold|black|heavy|medi|bx\d")
_NUMBERED = re.compile(r"(?:\d+|[A-Z](?=\.\d))((?:\.\d+)*)\.?\s+[^\W\d]")
_WORD = re.compile(r"[^\W\d_]{3}")
_NUMBER = re.compile(r"\d+(?:[.,]\d+)*")
_SOFT_HYPHEN = re.compile(r"[\x02\ufffe\xad]\s*")
# letters of fonts that do not say which, and carriage returns
_UNSHOWN = re.compile(r"[\x00-\x08\x0b-\x1f]")
_RIGHT_TO_LEFT = re.compile("[\u0591-\u08ff\ufb1d-\ufdff\ufe70-\ufefc]+")
_CONTENTS = ("contents", "tableofcontents")


class PdfText(NamedTuple):
    """The blocks of a PDF, and the lines that were left out: running heads and tables of contents."""

    blocks: list[Block]
    left_out: list[str]


def read_pdf(data: bytes, name: str = "") -> list[FileDocument]:  # noqa: ARG001
    """The document of a PDF. The title of its properties is not read: in most files it is another document's."""
    import pypdfium2

    with pypdfium2.PdfDocument(data) as document:
        bookmarks = _bookmarks(document)
        pages = [page.get_textpage() for page in document]
        texts = [
            _UNSHOWN.sub("", _SOFT_HYPHEN.sub("", _page_text(page))).strip("\n")
            for page in pages
        ]
        has_form = bool(document.get_formtype())
        outline = bookmarks or _outline_by_fonts(pages)
        pdf_text = pdf_blocks(
            [text.split("\n") for text in texts], outline, by_lines=not bookmarks
        )
    left_out = "\n".join(pdf_text.left_out)
    remark = join_remarks(
        "the values of its form are not read" * has_form, _empty_pages(texts)
    )
    return [
        FileDocument(
            pdf_text.blocks, source="\n".join(texts), left_out=left_out, remark=remark
        )
    ]


def _page_text(page: Any) -> str:
    """The text of a page; pdfium reverses words that a file writes from right to left, letter by letter.

    pdfium gives the text of a page's area or of its letters. The former joins the lines behind a
    hyphenated one; the latter may lack letters at its end.
    """
    text: str = page.get_text_range()
    if _RIGHT_TO_LEFT.search(text):
        return _RIGHT_TO_LEFT.sub(partial(_in_reading_order, page), text)
    text_of_area: str = page.get_text_bounded()
    if line_key(text) == line_key(text_of_area):
        return text
    return text_of_area


def _in_reading_order(page: Any, word: re.Match[str]) -> str:
    """A word of a page, its letters from right to left."""
    left_of_first, left_of_last = (
        page.get_charbox(word.start())[0],
        page.get_charbox(word.end() - 1)[0],
    )
    if left_of_first < left_of_last:
        return word[0][::-1]
    return word[0]


def _bookmarks(document: Any) -> dict[tuple[int, str], int]:
    """The page of each heading in a document's outline, -1 if it has none, and its letters -> its level."""
    outline = dict[tuple[int, str], int]()
    for entry in document.get_toc():
        target = entry.get_dest()
        page = -1
        if target is not None and target.get_index() is not None:
            page = target.get_index()
        outline[page, line_key(entry.get_title())] = entry.level + 1
    return outline


def _empty_pages(texts: Sequence[str]) -> str:
    """What a report says of pages without text; "" if all have some."""
    empty = [number for number, text in enumerate(texts, start=1) if not text.strip()]
    if not empty:
        return ""
    if len(empty) == len(texts):
        return "of a scan, recognise the text first"
    return f"{len(empty)} of {len(texts)} pages have no text, the first is page {empty[0]}: scans?"


def _outline_by_fonts(pages: Sequence[Any]) -> dict[tuple[int, str], int]:
    """The outline of a PDF that has none, from the fonts of its lines' first letters.

    The largest letters of the first page are the title. A heading is larger than most letters, and
    bold or numbered; or bold with a number of several parts. Labels in figures may be large, but
    are neither.
    """
    lines, usual = _styled_lines(pages)
    largest = max((line.size for line in lines if line.page == 0), default=0.0)
    sizes = dict[tuple[int, str], float]()
    for line in lines:
        is_title = line.page == 0 and line.size == largest > 1.3 * usual
        if is_title or _looks_like_heading(line, usual):
            sizes.setdefault(
                (line.page, line_key(line.text)),
                float("inf") if is_title else line.size,
            )
    ranked = sorted({*sizes.values(), float("inf")}, reverse=True)
    return {place: 1 + ranked.index(size) for place, size in sizes.items()}


class _StyledLine(NamedTuple):
    page: int
    text: str
    size: float
    bold: bool


def _styled_lines(pages: Sequence[Any]) -> tuple[list[_StyledLine], float]:
    """The lines that have a word, with the font of their first letter, and the size of most letters."""
    from pypdfium2 import raw

    font, matrix, letters = create_string_buffer(128), raw.FS_MATRIX(), Counter[float]()
    lines = list[_StyledLine]()
    for number, page in enumerate(pages):
        start = 0
        for line in _RIGHT_TO_LEFT.sub(
            partial(_in_reading_order, page), page.get_text_range()
        ).split("\r\n"):
            first = start + len(line) - len(line.lstrip())
            start += len(line) + 2
            raw.FPDFText_GetMatrix(page.raw, first, matrix)
            raw.FPDFText_GetFontInfo(page.raw, first, font, len(font), None)
            size = round(raw.FPDFText_GetFontSize(page.raw, first) * abs(matrix.d), 1)
            letters[size] += len(line)
            if _WORD.search(line):
                is_bold = bool(_BOLD.search(font.value.decode("latin-1")))
                lines.append(_StyledLine(number, line.strip(), size, is_bold))
    usual = max(letters, key=lambda size: letters[size], default=0.0)
    return lines, usual


def _looks_like_heading(line: _StyledLine, usual: float) -> bool:
    numbered = _NUMBERED.match(line.text)
    if len(line.text) < 100 and line.size > 1.05 * usual and (line.bold or numbered):
        return True
    return bool(line.bold and numbered and numbered[1] and line.size == usual)


def pdf_blocks(
    pages: Sequence[Sequence[str]], outline: Outline, *, by_lines: bool = False
) -> PdfText:
    """Lines joined to paragraphs.

    `by_lines` : the outline has lines, and two that follow each other may be one heading; else it has headings.
    """
    running_heads = _running_heads(pages)
    joiner = _LineJoiner(
        by_lines=by_lines,
        counts=Counter(line_key(line) for lines in pages for line in lines),
    )
    for number, lines in enumerate(pages):
        levels = [
            outline.get((number, key), outline.get((-1, key), 0))
            for key in map(line_key, lines)
        ]
        body_lines = list[tuple[str, int]]()
        for row, (line, level) in enumerate(zip(lines, levels, strict=True)):
            if _CONTENTS_ENTRY.search(line) or (
                not level and (number, row) in running_heads
            ):
                joiner.left_out.append(line)
            else:
                body_lines.append((line, level))
        joiner.add_page(body_lines, number + 1)
    joiner.end_paragraph()
    return PdfText(joiner.blocks, joiner.left_out)


class _LineJoiner:
    """Joins lines to blocks, page by page; `counts` : the letters of a line -> how many lines have them."""

    def __init__(self, *, by_lines: bool, counts: Mapping[str, int]) -> None:
        self.by_lines = by_lines
        self.counts = counts
        self.blocks = list[Block]()
        self.left_out = list[str]()
        self._lines = list[str]()
        self._page, self._last_page = 0, 0
        self._in_contents = False

    def add_page(self, lines: Sequence[tuple[str, int]], page: int) -> None:
        """Add the lines of a page, each with its level as a heading."""
        widths = sorted(len(line) for line, _ in lines)
        width = next(iter(widths[len(widths) * 3 // 4 :]), 0)
        for line, level in lines:
            if level or not line or _BULLET.match(line):
                self.end_paragraph()
            if self._is_entry(line, level):
                self.left_out.append(line)
            elif level:
                self._add_heading(line, level, page)
            elif line:
                self._add_line(line, page, width)

    def _add_line(self, line: str, page: int, width: int) -> None:
        """Add a line of a paragraph; one that ends a sentence far from the `width` of the page is its last."""
        if not self._lines:
            self._page = page
        self._last_page = page
        self._lines.append(line)
        if _ENDS.search(line) and len(line) < 0.8 * width:
            self.end_paragraph()

    def _is_entry(self, line: str, level: int) -> bool:
        """Whether a line is an entry of a table of contents, whose heading comes again as such."""
        ends_with_page = self._in_contents and re.search(r"[\s.]\d+$", line)
        return bool(ends_with_page and (not level or self.counts[line_key(line)] > 1))

    def end_paragraph(self) -> None:
        """End the paragraph that the last lines belong to."""
        text = " ".join(self._lines).strip()
        if text:
            self.blocks.append(Block(text, page=self._page, last_page=self._last_page))
        self._lines = []

    def _add_heading(self, line: str, level: int, page: int) -> None:
        self._in_contents = line_key(line) in _CONTENTS
        if self._in_contents:
            self.left_out.append(line)
            return
        follows_heading = (
            self.by_lines and bool(self.blocks) and self.blocks[-1].level == level
        )
        if follows_heading and not line[:1].isdigit():
            line = f"{self.blocks.pop().text} {line}"  # a heading of two lines
        self.blocks.append(Block(line, level, page=page, last_page=page))


def _running_heads(pages: Sequence[Sequence[str]]) -> set[tuple[int, int]]:
    """The (page, row) of every running head; no page loses all its lines."""
    heads = set[tuple[int, int]]()
    for places in _edges(pages).values():
        lines = [(number, pages[number][row]) for number, row in places]
        if _repeats_as_head(lines):
            heads.update(places)
    for number, lines_of_page in enumerate(pages):
        places_of_page = {
            (number, row) for row, line in enumerate(lines_of_page) if line.strip()
        }
        if places_of_page <= heads:
            heads -= places_of_page
    return heads


def _edges(pages: Sequence[Sequence[str]]) -> Mapping[str, list[tuple[int, int]]]:
    """The letters of a line -> the (page, row) where it begins or ends a page."""
    places = defaultdict[str, list[tuple[int, int]]](list)
    for number, lines in enumerate(pages):
        for row in {0, len(lines) - 1}:
            if lines and lines[row].strip():
                places[line_key(lines[row])].append((number, row))
    return places


def _repeats_as_head(lines: Sequence[tuple[int, str]]) -> bool:
    """Whether lines with the same letters, each with its page, are a running head."""
    if len({number for number, _ in lines}) < RUNNING_HEAD_PAGES:
        return False
    has_sentence = any(
        _ENDS.search(line.strip()) and len(line.split()) > 2 for _, line in lines
    )
    return not has_sentence and _numbers_count_pages(lines)


def _numbers_count_pages(lines: Sequence[tuple[int, str]]) -> bool:
    """Whether each number of the lines is the same in most, as a chapter's, or counts with their pages."""
    numbers = [(page, _NUMBER.findall(line)) for page, line in lines]
    columns = Counter(len(line_numbers) for _, line_numbers in numbers).most_common(1)[
        0
    ][0]
    usual = [
        (page, line_numbers)
        for page, line_numbers in numbers
        if len(line_numbers) == columns
    ]
    for column in range(columns):
        values = Counter(line_numbers[column] for _, line_numbers in usual)
        offsets = Counter(
            int(line_numbers[column]) - page
            for page, line_numbers in usual
            if line_numbers[column].isdecimal()
        )
        constant = max(values.values())
        counting = max(offsets.values(), default=0)
        if max(constant, counting) <= len(usual) / 2:
            return False
    return True


def line_key(line: str) -> str:
    """A line by its letters: numbers differ from page to page, blanks from outline to text."""
    return "".join(filter(str.isalpha, line.casefold()))
