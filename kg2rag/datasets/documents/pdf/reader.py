"""A PDF, read by pypdfium2 -> paragraphs with their pages, and headings by its outline or fonts."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from ctypes import c_ushort
from functools import partial
from itertools import chain, pairwise
from typing import Any, NamedTuple

from kg2rag.datasets.documents.blocks import Block, FileDocument, join_remarks, one_line
from kg2rag.datasets.documents.contents_headings import contents_headings, line_key
from kg2rag.datasets.documents.pdf.annotations import (
    annotations_of,
    remark_on_attachments,
)
from kg2rag.datasets.documents.pdf.divided_words import LINE_END_HYPHEN, DividedWords
from kg2rag.datasets.documents.pdf.letters import page_text
from kg2rag.datasets.documents.pdf.outline import Outline, outline_of
from kg2rag.datasets.documents.pdf.unread_letters import remark_on_letters
from kg2rag.datasets.documents.pdf.unspaced_lines import joined_lines
from kg2rag.datasets.documents.running_heads import (
    SENTENCE_END,
    body_rows,
    running_heads,
)
from kg2rag.text.records import DataError

_FORMS_OF_XML = (2, 3)
"""pdfium's numbers of forms in XML (XFA)."""
_CONTENTS_ENTRY = re.compile(r"(?:\.[ \t]?){4,}+[ \t]*\w+$")
_BULLET = re.compile(r"[•◦▪–*-]\s|\d+[.)]\s")
_MARKS = "•◦▪–"
"""Marks of points that a program draws apart from their text."""
_DIVIDED_WORD = re.compile(r"(?<=[^\W\d_])([-\u2010])\s*$")
# Soft hyphens, and hyphens that divide no word.
_SOFT_HYPHEN = re.compile(rf"[\x02{LINE_END_HYPHEN}\xad]\s*")
# Control characters, which fonts without a character map give, and carriage returns.
_UNSHOWN = re.compile(r"[\x00-\x08\x0b-\x1f]")
_ENDS_WITH_PAGE = re.compile(r"[\s.]\d+$")
ENTRY_LINES = 3
"""Most lines of an entry of a table of contents, whose last line ends with a page number."""
HEADING_LINES = 3
"""Most lines of a heading that the outline has as one."""

MAX_FIELD_CHARACTERS = 20_000
"""Longest value of a field of a form."""
_NOT_FILLED = ("", "Off")
"""Values of fields that are not filled in."""
_PATH_OF_FIELD = re.compile(r".*\.|\[\d+\]")
"""The fields above a field, and its number, in a full name such as `form[0].page[0].City[0]`."""


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
    """The document of a PDF; the title in its properties is not read, since it is often wrong.

    DataError: it is encrypted with a password.
    """
    with _opened(data) as document:
        pages = [page_text(page.get_textpage()) for page in document]
        divided = DividedWords([page.text for page in pages])
        texts = [_shown_text(divided.joined(page.text)) for page in pages]
        kind_of_form = document.get_formtype()
        form = list(form_blocks(document)) if kind_of_form else []
        outline, line_levels = outline_of(document, pages)
        pdf_text = pdf_blocks(
            [text.split("\n") for text in texts], outline, line_levels
        )
        annotations = annotations_of(pages)
        further = [remark_on_letters(pages), remark_on_attachments(document)]
    remark = join_remarks(_remark_on_empty_pages(texts), *further)
    if form:
        remark = join_remarks("the values of its form are read last", remark)
    elif kind_of_form in _FORMS_OF_XML:
        remark = join_remarks("the values of its form (XFA) are not read", remark)
    blocks = [*form, *annotations.blocks]
    source = [pdf_text.source, *(block.text for block in blocks), *annotations.comments]
    return [
        FileDocument(
            [*pdf_text.blocks, *blocks],
            source="\n".join(source),
            left_out="\n".join([*pdf_text.left_out, *annotations.comments]),
            remark=remark,
        )
    ]


def _opened(data: bytes) -> Any:
    """A document of pypdfium2; DataError: it is encrypted with a password."""
    import pypdfium2

    try:
        return pypdfium2.PdfDocument(data)
    except pypdfium2.PdfiumError as error:
        if "password" in str(error).casefold():
            raise DataError(
                "it is encrypted with a password: save it without one."
            ) from None
        raise


def _shown_text(text: str) -> str:
    """The text of a page without soft hyphens, control characters and blank lines at its ends."""
    return _UNSHOWN.sub("", _SOFT_HYPHEN.sub("", text)).strip("\n")


def _remark_on_empty_pages(texts: Sequence[str]) -> str:
    """The remark on pages without text; "" if all have some."""
    empty = [number for number, text in enumerate(texts, start=1) if not text.strip()]
    if not empty:
        return ""
    if len(empty) == len(texts):
        return "of a scan, recognise the text first"
    return f"{len(empty)} of {len(texts)} pages have no text, the first is page {empty[0]}: scans?"


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
        texts = [line for line, _ in lines]
        width = _usual_width(texts)
        for row, (line, level) in enumerate(lines):
            following = texts[row + 1 : row + 1 + ENTRY_LINES]
            if _CONTENTS_ENTRY.search(line):
                self.left_out.append(line)
            elif self._is_of_contents(line, level, following):
                self._leave_out_entry(line)
            elif level:
                self._add_heading(line, level, page)
            else:
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
        if not line or _BULLET.match(line):
            self.end_paragraph()
        if not line:
            return
        self._entry_lines = max(0, self._entry_lines - 1)
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
        if text and text not in _MARKS:
            self.blocks.append(Block(text, page=self._page, last_page=self._last_page))
        self._lines = []

    def _add_heading(self, line: str, level: int, page: int) -> None:
        """Add a heading or the second line of one."""
        self.end_paragraph()
        self._entry_lines = 0
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
    divided = DividedWords(chain.from_iterable(pages))
    bodies = [
        (lines, rows)
        for lines, rows in zip(whole, body_rows(pages, heads), strict=True)
        if rows
    ]
    for (lines, rows), (next_lines, next_rows) in pairwise(bodies):
        division = _DIVIDED_WORD.search(lines[rows[-1]])
        end, _, remainder = next_lines[next_rows[0]].lstrip().partition(" ")
        if division and end[0].islower():
            start = lines[rows[-1]][: division.start()]
            lines[rows[-1]] = start + divided.hyphen(start, division[1], end) + end
            next_lines[next_rows[0]] = remainder
    return whole


def form_blocks(document: Any) -> Iterator[Block]:
    """The values of the fields that are filled in, page by page, as "name: value"."""
    import pypdfium2.raw as pdfium

    document.init_forms()
    for number, page in enumerate(document, start=1):
        for index in range(pdfium.FPDFPage_GetAnnotCount(page.raw)):
            field = pdfium.FPDFPage_GetAnnot(page.raw, index)
            value = _field_text(pdfium.FPDFAnnot_GetFormFieldValue, document, field)
            label = _field_text(
                pdfium.FPDFAnnot_GetFormFieldAlternateName, document, field
            )
            name = _field_text(pdfium.FPDFAnnot_GetFormFieldName, document, field)
            pdfium.FPDFPage_CloseAnnot(field)
            if value not in _NOT_FILLED:
                label = label or _PATH_OF_FIELD.sub("", name)
                yield Block(f"{label}: {value}", page=number, last_page=number)


def _field_text(read: Callable[..., int], document: Any, field: Any) -> str:
    """A text of a field by one of pdfium's functions, which fill a buffer of UTF-16; "" for none."""
    buffer = (c_ushort * MAX_FIELD_CHARACTERS)()
    n_bytes = read(document.formenv.raw, field, buffer, 2 * MAX_FIELD_CHARACTERS)
    data = bytes(buffer)[: min(n_bytes, 2 * MAX_FIELD_CHARACTERS)]
    return one_line(data.decode("utf-16-le", "replace").rstrip("\0"))
