"""The lines of a page of a PDF with their places -> their order from top to bottom, by columns.

Ours: the order in which a program drew the text holds unless a text stands above or left of
another that it was drawn after; then the page is divided at its white gaps, as in the X-Y cut of
Nagy and Seth (1984), and columns come before rows.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations
from statistics import median
from typing import NamedTuple

MIN_LINES = 3
"""Least number of lines of a column beside another."""
MIN_LETTERS = 40
"""Least number of characters of a text whose place is compared."""
LINE_GAP = 1.0
"""Largest distance of two lines of a text, as part of the height of the first."""
TITLE_HEIGHT = 1.3
"""Least height of the letters of a title, as part of the usual one."""


class Line(NamedTuple):
    """A line of a page: its number, its number of characters and its place in points."""

    number: int
    n_characters: int
    left: float
    bottom: float
    right: float
    top: float

    @property
    def height(self) -> float:
        """The height of the line, in points."""
        return self.top - self.bottom


class _Text(NamedTuple):
    """Lines that follow each other downwards, and the place of all."""

    lines: list[Line]

    @property
    def left(self) -> float:
        return min(line.left for line in self.lines)

    @property
    def right(self) -> float:
        return max(line.right for line in self.lines)

    @property
    def bottom(self) -> float:
        return min(line.bottom for line in self.lines)

    @property
    def top(self) -> float:
        return max(line.top for line in self.lines)


def line_order(lines: Sequence[Line]) -> list[int]:
    """The numbers of the lines in reading order."""
    if not lines:
        return []
    texts = list[_Text]()
    for line in lines:
        if texts and _continues(texts[-1].lines[-1], line):
            texts[-1].lines.append(line)
        else:
            texts.append(_Text([line]))
    texts = _with_titles_first(texts)
    if any(_is_misplaced(*pair) for pair in combinations(_long(texts), 2)):
        texts = list(_divided(texts))
    return [line.number for text in texts for line in text.lines]


def _with_titles_first(texts: Sequence[_Text]) -> list[_Text]:
    """The texts; a line of large letters that was drawn late stands before the texts below it.

    With such a line, a text below all others stands last, as the foot of a slide does.
    """
    usual = median(line.height for text in texts for line in text.lines)
    titles = list[_Text]()
    others = list[_Text]()
    for text in texts:
        is_large = text.lines[0].height >= TITLE_HEIGHT * usual
        if is_large and others and _is_above(text, [*titles, *others]):
            titles.insert(0, text)
        else:
            others.append(text)
    if not titles:
        return others
    return [*titles, *_with_foot_last(others)]


def _with_foot_last(texts: Sequence[_Text]) -> list[_Text]:
    """The texts; one that stands below all others is the last."""
    lowest = min(texts, key=lambda text: text.top)
    others = [text for text in texts if text is not lowest]
    if all(_is_above(text, [lowest]) for text in others):
        return [*others, lowest]
    return list(texts)


def _is_above(text: _Text, others: Sequence[_Text]) -> bool:
    """Whether a text stands above all others."""
    return all(text.bottom >= other.top for other in others)


def _continues(line: Line, following: Line) -> bool:
    """Whether a line is the next one of a text."""
    gap = line.bottom - following.top
    is_below = following.top < line.top and gap < LINE_GAP * line.height
    return is_below and following.left < line.right and line.left < following.right


def _long(texts: Sequence[_Text]) -> list[_Text]:
    """The texts that are long enough to be compared."""
    return [
        text
        for text in texts
        if sum(line.n_characters for line in text.lines) >= MIN_LETTERS
    ]


def _is_misplaced(text: _Text, following: _Text) -> bool:
    """Whether a text that was drawn later stands above another or in a column left of it."""
    if following.left < text.right and text.left < following.right:
        return following.bottom >= text.top
    are_columns = min(len(text.lines), len(following.lines)) >= MIN_LINES
    overlap = min(text.top, following.top) - max(text.bottom, following.bottom)
    height = min(text.top - text.bottom, following.top - following.bottom)
    return are_columns and following.right <= text.left and overlap > height / 2


def _divided(texts: Sequence[_Text]) -> Iterator[_Text]:
    """The texts by columns, if a gap from top to bottom divides them, or else by rows."""
    columns = _columns(texts)
    if len(columns) > 1 and not any(_is_margin(column, texts) for column in columns):
        for column in columns:
            yield from _divided(column)
        return
    rows = _rows(texts)
    if len(rows) == 1:
        yield from texts
        return
    groups = [rows[0]]
    for row in rows[1:]:
        n_columns = len(_columns([*groups[-1], *row]))
        if n_columns > 1 and len(_columns(groups[-1])) in (1, n_columns):
            groups[-1].extend(row)
        else:
            groups.append(row)
    if len(groups) == 1:  # a margin stands between columns
        yield from groups[0]
        return
    for group in groups:
        yield from _divided(group)


def _is_margin(column: Sequence[_Text], texts: Sequence[_Text]) -> bool:
    """Whether a column stands above or below all other texts of a page, as its number may."""
    others = [text for text in texts if text not in column]
    bottom = min(text.bottom for text in column)
    top = max(text.top for text in column)
    is_below = all(text.bottom >= top for text in others)
    return is_below or all(text.top <= bottom for text in others)


def _columns(texts: Sequence[_Text]) -> list[list[_Text]]:
    """The texts between vertical gaps, from left to right, each in the order of the page."""
    columns = list[list[_Text]]()
    right = float("-inf")
    for text in sorted(texts, key=lambda text: text.left):
        if text.left >= right:
            columns.append([])
        columns[-1].append(text)
        right = max(right, text.right)
    return columns


def _rows(texts: Sequence[_Text]) -> list[list[_Text]]:
    """The texts between horizontal gaps, from top to bottom."""
    rows = list[list[_Text]]()
    bottom = float("inf")
    for text in sorted(texts, key=lambda text: -text.top):
        if text.top <= bottom:
            rows.append([])
        rows[-1].append(text)
        bottom = min(bottom, text.bottom)
    return rows
