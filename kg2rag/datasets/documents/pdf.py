"""A PDF, read by pypdfium2 -> paragraphs with their pages, and headings by its outline or fonts."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from ctypes import create_string_buffer
from functools import partial
from itertools import pairwise
from typing import Any, NamedTuple

from kg2rag.datasets.documents.blocks import Block, FileDocument, join_remarks
from kg2rag.datasets.documents.contents_headings import contents_headings, line_key
from kg2rag.datasets.documents.pdf_forms import form_blocks
from kg2rag.datasets.documents.running_heads import (
    SENTENCE_END,
    body_rows,
    running_heads,
)
from kg2rag.datasets.documents.unspaced_lines import joined_lines
from kg2rag.text.scripts import SYLLABLES

Outline = Mapping[tuple[int, str], int]
"""(page from 0, or -1 for any page; `line_key` of a line) -> its level as a heading."""

_FORMS_OF_XML = (2, 3)
"""pdfium's numbers of forms in XML (XFA)."""
_CONTENTS_ENTRY = re.compile(r"(?:\.[ \t]?){4,}+[ \t]*\w+$")
_BULLET = re.compile(r"[•◦▪–*-]\s|\d+[.)]\s")
# In the name of a bold font; "bx" is TeX's.
_BOLD = re.compile(r"(?i)bold|black|heavy|medi|bx\d")
_NUMBERED = re.compile(r"(?:\d+|[A-Z](?=\.\d))((?:\.\d+)*)\.?\s+[^\W\d]")
_WORD = re.compile(rf"[^\W\d_]{{3}}|[{SYLLABLES}]{{2}}")
_DIVIDED_WORD = re.compile(r"(?<=[^\W\d_])[-\u2010]\s*$")
# A soft hyphen, or the hyphen of a program that sets HTML, which a compound word may keep.
_HYPHEN = re.compile(
    r"[\x02\ufffe\xad]\s*|(?<=[^\W\d_])(\u2010)[ \t\r]*\n[ \t]*(?=[^\W\d_])"
)
_CONJUNCTION = re.compile(r"(?:und|oder|bzw|sowie|and|or|en|of|och|og|eller)\b")
# Control characters, which fonts without a character map give, and carriage returns.
_UNSHOWN = re.compile(r"[\x00-\x08\x0b-\x1f]")
_RIGHT_TO_LEFT = re.compile("[\u0591-\u08ff\ufb1d-\ufdff\ufe70-\ufefc]+")
_ENDS_WITH_PAGE = re.compile(r"[\s.]\d+$")
ENTRY_LINES = 3
"""Most lines of an entry of a table of contents, whose last line ends with a page number."""
HEADING_LINES = 3
"""Most lines of a heading that the outline has as one."""


class PdfText(NamedTuple):
    """The text of pages.

    Attributes
    ----------
    blocks : paragraphs and headings.
    left_out : lines that are running heads or entries of a table of contents.
    source : all lines, with words whole that a page break divides.
    """

    blocks: list[Block]
    left_out: list[str]
    source: str


def read_pdf(data: bytes, name: str = "") -> list[FileDocument]:  # noqa: ARG001
    """The document of a PDF; the title in its properties is not read, since it is often wrong."""
    import pypdfium2

    with pypdfium2.PdfDocument(data) as document:
        bookmarks = _bookmarks(document)
        pages = [page.get_textpage() for page in document]
        texts = [
            _UNSHOWN.sub("", _HYPHEN.sub(_kept_hyphen, _page_text(page))).strip("\n")
            for page in pages
        ]
        kind_of_form = document.get_formtype()
        form = list(form_blocks(document)) if kind_of_form else []
        outline, line_levels = _outline(bookmarks, pages)
        pdf_text = pdf_blocks(
            [text.split("\n") for text in texts], outline, line_levels
        )
    remark = _remark_on_empty_pages(texts)
    if form:
        remark = join_remarks("the values of its form are read last", remark)
    elif kind_of_form in _FORMS_OF_XML:
        remark = join_remarks("the values of its form (XFA) are not read", remark)
    return [
        FileDocument(
            [*pdf_text.blocks, *form],
            source="\n".join([pdf_text.source, *(block.text for block in form)]),
            left_out="\n".join(pdf_text.left_out),
            remark=remark,
        )
    ]


def _kept_hyphen(hyphen: re.Match[str]) -> str:
    """The hyphen of a word in two lines if a capital follows a small letter; else "".

    Before "and" or "or", a hyphen stands for the rest of a word, and a blank follows it.
    """
    if not hyphen[1]:
        return ""
    following = hyphen.string[hyphen.end() : hyphen.end() + 8]
    if _CONJUNCTION.match(following):
        return f"{hyphen[1]} "
    is_compound = hyphen.string[hyphen.start() - 1].islower() and following[0].isupper()
    return hyphen[1] if is_compound else ""


def _page_text(page: Any) -> str:
    """The text of a page, by its letters or by its area.

    pdfium returns both: the text by area joins the lines behind a hyphenated one, and the text by
    letters may lack some at its end. Words from right to left, whose letters pdfium returns in
    visual order, are put into reading order.
    """
    text: str = page.get_text_range()
    if _RIGHT_TO_LEFT.search(text):
        return _RIGHT_TO_LEFT.sub(partial(_in_reading_order, page), text)
    text_of_area: str = page.get_text_bounded()
    if line_key(text) == line_key(text_of_area):
        return text
    return text_of_area


def _in_reading_order(page: Any, word: re.Match[str]) -> str:
    """A word of a page from right to left, reversed if its first letter stands left of its last."""
    left_of_first = page.get_charbox(word.start())[0]
    left_of_last = page.get_charbox(word.end() - 1)[0]
    return word[0][::-1] if left_of_first < left_of_last else word[0]


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


def _remark_on_empty_pages(texts: Sequence[str]) -> str:
    """The remark on pages without text; "" if all have some."""
    empty = [number for number, text in enumerate(texts, start=1) if not text.strip()]
    if not empty:
        return ""
    if len(empty) == len(texts):
        return "of a scan, recognise the text first"
    return f"{len(empty)} of {len(texts)} pages have no text, the first is page {empty[0]}: scans?"


def _outline(
    bookmarks: Outline, pages: Sequence[Any]
) -> tuple[Outline, Container[int]]:
    """The outline of a PDF, and the levels whose entries are lines instead of whole headings.

    The title by its letters stands above the bookmarks that lack it. Without bookmarks, all
    headings are recognised by their letters.
    """
    lines, usual = _styled_lines(pages)
    title = _title_lines(lines, usual)
    if not bookmarks:
        outline = _outline_by_fonts(lines, usual, title)
        return outline, set(outline.values())
    keys = {line_key(line.text) for line in title}
    if not keys or any(key in keys for page, key in bookmarks if page <= 0):
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
    """A line of a page, counted from 0, with the size in points and the weight of its first letter."""

    page: int
    text: str
    size: float
    is_bold: bool


def _styled_lines(pages: Sequence[Any]) -> tuple[list[_StyledLine], float]:
    """The lines that contain a word, and the usual size, that of most letters, in points."""
    from pypdfium2 import raw

    font = create_string_buffer(128)
    matrix = raw.FS_MATRIX()
    letters = Counter[float]()
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
    """Whether a line is a heading: larger than usual, and bold or numbered.

    A bold line of usual size is one if its number has several parts. Labels in figures may be
    large, but are neither bold nor numbered.
    """
    number = _NUMBERED.match(line.text)
    if len(line.text) < 100 and line.size > 1.05 * usual and (line.is_bold or number):
        return True
    return bool(line.is_bold and number and number[1] and line.size == usual)


def pdf_blocks(
    pages: Sequence[Sequence[str]],
    outline: Outline,
    line_levels: Container[int] = (),
) -> PdfText:
    """The paragraphs and headings of pages given as lines.

    line_levels : the levels whose entries of the outline are lines, so that two that follow each
    other may be one heading; entries of other levels are whole headings.
    """
    heads = running_heads(pages)
    pages = _with_whole_words(pages, heads)
    joiner = _LineJoiner(
        line_levels=line_levels,
        counts=Counter(line_key(line) for lines in pages for line in lines),
    )
    for number, lines in enumerate(pages):
        body_lines = list[str]()
        for row, line in enumerate(lines):
            if (number, row) in heads and not _level(outline, number, line):
                joiner.left_out.append(line)
            else:
                body_lines.append(line)
        joiner.add_page(
            list(_with_levels(body_lines, partial(_level, outline, number))), number + 1
        )
    joiner.end_paragraph()
    source = "\n".join(line for lines in pages for line in lines)
    return PdfText(joiner.blocks, joiner.left_out, source)


def _level(outline: Outline, page: int, line: str) -> int:
    """The level of a line of a page, counted from 0, as a heading; 0 for none."""
    key = line_key(line)
    return outline.get((page, key), outline.get((-1, key), 0))


def _with_levels(
    lines: Sequence[str], level: Callable[[str], int]
) -> Iterator[tuple[str, int]]:
    """The lines of a page with their levels; lines that are one heading together are one line."""
    row = 0
    while row < len(lines):
        n_lines = _heading_lines(lines[row : row + HEADING_LINES], level)
        line = " ".join(lines[row : row + n_lines])
        yield line, level(line)
        row += n_lines


def _heading_lines(lines: Sequence[str], level: Callable[[str], int]) -> int:
    """How many of the first lines are one heading; 1 for a line of text, too."""
    for n_lines in range(1, len(lines) + 1):
        if not line_key(lines[n_lines - 1]):
            break
        if level(" ".join(lines[:n_lines])):
            return n_lines
    return 1


def _usual_width(lines: Sequence[str]) -> int:
    """The upper quartile of the numbers of characters of lines outside tables of contents; 0 for none."""
    widths = sorted(len(line) for line in lines if not _CONTENTS_ENTRY.search(line))
    return widths[len(widths) * 3 // 4] if widths else 0


class _LineJoiner:
    """Joins lines to blocks, page by page.

    line_levels : as in `pdf_blocks`.
    counts : `line_key` -> number of lines of the document that have it.
    """

    def __init__(
        self, *, line_levels: Container[int], counts: Mapping[str, int]
    ) -> None:
        self.line_levels = line_levels
        self.counts = counts
        self.blocks = list[Block]()
        self.left_out = list[str]()
        self._lines = list[str]()
        self._page = 0
        self._last_page = 0
        self._entry_lines = 0
        """Number of lines that the next entry of a table of contents may have; 0 outside of one."""

    def add_page(self, lines: Sequence[tuple[str, int]], page: int) -> None:
        """Add the lines of a page, each with its level as a heading, 0 for none."""
        width = _usual_width([line for line, _ in lines])
        for row, (line, level) in enumerate(lines):
            if _CONTENTS_ENTRY.search(line):
                self.left_out.append(line)
                continue
            if level or not line or _BULLET.match(line):
                self.end_paragraph()
            following = [text for text, _ in lines[row + 1 :][:ENTRY_LINES]]
            if self._is_of_contents(line, level, following):
                self._leave_out_entry(line)
            elif level:
                self._entry_lines = 0
                self._add_heading(line, level, page)
            elif line:
                self._entry_lines = max(0, self._entry_lines - 1)
                self._add_line(line, page, width)

    def _leave_out_entry(self, line: str) -> None:
        """Leave out the heading of a table of contents, or one of its entries."""
        self.end_paragraph()
        self._entry_lines = ENTRY_LINES
        self.left_out.append(line)

    def _add_line(self, line: str, page: int, width: int) -> None:
        """Add a line of a paragraph, and end it if the line ends a sentence far below `width`.

        width : the usual number of characters of the page's lines.
        """
        if not self._lines:
            self._page = page
        self._last_page = page
        self._lines.append(line)
        if SENTENCE_END.search(line) and len(line) < 0.8 * width:
            self.end_paragraph()

    def _is_of_contents(self, line: str, level: int, following: Sequence[str]) -> bool:
        """Whether a line is the heading of a table of contents, or an entry below that heading.

        An entry ends with a page number. A heading that does is an entry if the document has the
        line again.
        """
        if line_key(line) in contents_headings():
            return any(map(_ends_with_page, following))
        if not self._entry_lines or not _ends_with_page(line):
            return False
        return not level or self.counts[line_key(line)] > 1

    def end_paragraph(self) -> None:
        """Make a block of the lines since the last paragraph."""
        text = joined_lines(self._lines).strip()
        if text:
            self.blocks.append(Block(text, page=self._page, last_page=self._last_page))
        self._lines = []

    def _add_heading(self, line: str, level: int, page: int) -> None:
        """Add a heading or the second line of one."""
        follows_heading = (
            level in self.line_levels
            and bool(self.blocks)
            and self.blocks[-1].level == level
        )
        if follows_heading and not line[:1].isdigit():
            line = joined_lines([self.blocks.pop().text, line])  # of two lines
        self.blocks.append(Block(line, level, page=page, last_page=page))


def _ends_with_page(line: str) -> bool:
    """Whether a line ends as an entry of a table of contents does."""
    return bool(_ENDS_WITH_PAGE.search(line) or _CONTENTS_ENTRY.search(line))


def _with_whole_words(
    pages: Sequence[Sequence[str]], heads: Container[tuple[int, int]]
) -> list[list[str]]:
    """The pages; a word that a page break divides at a hyphen stands on the first of its pages."""
    whole = [list(lines) for lines in pages]
    bodies = [
        (lines, rows)
        for lines, rows in zip(whole, body_rows(pages, heads), strict=True)
        if rows
    ]
    for (lines, rows), (next_lines, next_rows) in pairwise(bodies):
        start, n_hyphens = _DIVIDED_WORD.subn("", lines[rows[-1]])
        end, _, rest = next_lines[next_rows[0]].lstrip().partition(" ")
        if n_hyphens and end[0].islower():
            lines[rows[-1]] = start + end
            next_lines[next_rows[0]] = rest
    return whole
