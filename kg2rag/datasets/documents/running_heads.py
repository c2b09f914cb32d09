"""Pages of lines -> their running heads and feet.

Ours: which lines they are. A line at the top or bottom of a page is one if all pages or at least
three have it there, numbers aside; if its numbers are equal on all pages or count with them; and if
it is no sentence. A line without letters must count with the pages. Below a running head, the next
line stands at the top. Many lines that are most of the text are labels of a form.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Container, Mapping, Sequence
from statistics import mode
from typing import Literal

from kg2rag.datasets.documents.contents_headings import line_key

RUNNING_HEAD_PAGES = 3
"""Number of pages with a line at their edge from which it is a running head, though others lack it."""
MOST_HEAD_LINES = 4
"""Lines of heads and feet of a page whose text may be shorter than these."""
SENTENCE_END = re.compile(r"[.!?:;。！？][\"”’)]?$")
_NUMBER = re.compile(r"\d+(?:[.,]\d+)*")
# What programs write between the pages of a PDF in Markdown: a form feed or a line.
_PAGE_MARK = re.compile(
    r"(?im)\f|^[ \t]*(?:\{\d+\}-{20,}|-{2,} *end of page\b[^\n]*|<!-- *page[ _-]?(?:break|number|end|\d)[^\n]*-->)"
    r"[ \t]*$"
)


def without_page_marks(text: str) -> tuple[str, list[str]]:
    """A text without the marks between its pages and their running heads, and what was removed."""
    marks = [mark for mark in _PAGE_MARK.findall(text) if mark.strip()]
    pages = [page.split("\n") for page in _PAGE_MARK.split(text)]
    heads = running_heads(pages)
    lines = [
        line
        for number, page in enumerate(pages)
        for row, line in enumerate(page)
        if (number, row) not in heads
    ]
    return "\n".join(lines), [*marks, *(pages[number][row] for number, row in heads)]


def has_page_marks(text: str) -> bool:
    """Whether a text has marks between pages."""
    return _PAGE_MARK.search(text) is not None


def running_heads(pages: Sequence[Sequence[str]]) -> set[tuple[int, int]]:
    """The (page, line) of every running head, counted from 0; no page loses all its lines."""
    heads = set[tuple[int, int]]()
    n_before = -1
    while len(heads) > n_before:
        n_before = len(heads)
        for positions in _edge_lines(body_rows(pages, heads), pages).values():
            lines = [(number, pages[number][row]) for number, row in positions]
            if _are_running_heads(lines, len(pages)):
                heads.update(positions)
    if _are_labels(pages, heads):
        return set()
    for number, rows in enumerate(body_rows(pages, heads)):
        if not rows:
            heads -= {(number, row) for row in range(len(pages[number]))}
    return heads


def _are_labels(pages: Sequence[Sequence[str]], heads: set[tuple[int, int]]) -> bool:
    """Whether the lines that pages share are the labels of a form that is filled in on each page.

    They are more than heads and feet have, and most of the text.
    """
    if len(heads) <= MOST_HEAD_LINES * len(pages):
        return False
    n_characters = Counter[bool]()
    for number, lines in enumerate(pages):
        for row, line in enumerate(lines):
            n_characters[(number, row) in heads] += len(line.strip())
    return n_characters[True] > n_characters[False]


def body_rows(
    pages: Sequence[Sequence[str]], heads: Container[tuple[int, int]]
) -> list[list[int]]:
    """The lines of each page, counted from 0, that are neither empty nor running heads."""
    return [
        [
            row
            for row, line in enumerate(lines)
            if line.strip() and (number, row) not in heads
        ]
        for number, lines in enumerate(pages)
    ]


def _edge_lines(
    body_rows: Sequence[Sequence[int]], pages: Sequence[Sequence[str]]
) -> Mapping[str, list[tuple[int, int]]]:
    """`line_key` -> the (page, line) of each such line that is the first or last of its body."""
    positions = defaultdict[str, list[tuple[int, int]]](list)
    for number, rows in enumerate(body_rows):
        for row in {*rows[:1], *rows[-1:]}:
            positions[line_key(pages[number][row])].append((number, row))
    return positions


def _are_running_heads(lines: Sequence[tuple[int, str]], n_pages: int) -> bool:
    """Whether lines with the same letters, each with its page, are heads of a text of `n_pages`."""
    n_lines = len({number for number, _ in lines})
    if n_lines < 2 or n_lines < min(RUNNING_HEAD_PAGES, n_pages):
        return False
    has_sentence = any(
        SENTENCE_END.search(line.strip()) and len(line.split()) > 2 for _, line in lines
    )
    return not has_sentence and _numbers_count_pages(lines)


def _numbers_count_pages(lines: Sequence[tuple[int, str]]) -> bool:
    """Whether the numbers of most lines are equal, such as a chapter's, or count with the pages.

    Compared are the lines with the most frequent number of numbers, column by column. Of lines
    without letters, which may be cells of a table, one column must count with the pages.
    """
    numbers = [(page, _NUMBER.findall(line)) for page, line in lines]
    n_columns = mode(len(cells) for _, cells in numbers)
    rows = [(page, cells) for page, cells in numbers if len(cells) == n_columns]
    kinds = set[str]()
    for column in range(n_columns):
        kinds.add(_kind_of_numbers([(page, cells[column]) for page, cells in rows]))
    has_letters = bool(line_key(lines[0][1]))
    return "other" not in kinds and ("counting" in kinds or has_letters)


def _kind_of_numbers(
    numbers: Sequence[tuple[int, str]],
) -> Literal["counting", "equal", "other"]:
    """Whether most of some numbers, each with its page, count with the pages or are equal."""
    values = Counter(number for _, number in numbers)
    offsets = Counter(
        int(number) - page for page, number in numbers if number.isdecimal()
    )
    if max(offsets.values(), default=0) > len(numbers) / 2:
        return "counting"
    return "equal" if max(values.values()) > len(numbers) / 2 else "other"
