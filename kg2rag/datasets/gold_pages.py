"""A column of pages beside gold that names documents -> the pages as gold, `a.pdf#page=3`."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from kg2rag.datasets.gold import GoldIndex
from kg2rag.text.printed_values import flattened, parsed_literal

_PAGES = re.compile(
    r"(?:\b|_)(?:pages?|seiten?|página|pagina|strona|sayfa|страница)(?:\b|_)|页|頁|ページ|페이지",
    re.IGNORECASE,
)
"""The name of a column of pages."""
_RANGE = re.compile(r"(\d{1,5})(?:\s*[-–]\s*(\d{1,5}))?")
MAX_PAGES = 20
"""Most pages in a range such as "3-5"; other cells are no pages."""


def with_pages(
    rows: list[dict[str, Any]], index: GoldIndex, notes: Counter[str]
) -> list[dict[str, Any]]:
    """The rows with pages of documents as gold, if a column says them and the documents have pages.

    Pages are counted from 1, or from 0 if one is 0, as LangChain does. `notes` counts the questions,
    and those whose document lacks the page, which keep the document.
    """
    column = _column_of_pages(rows)
    if not column:
        return rows
    pages_of = [_pages_in(row.get(column)) for row in rows]
    first = int(not any(0 in pages for pages in pages_of))
    gold = [
        _gold_pages(row.get("gold"), [page + 1 - first for page in pages], index)
        for row, pages in zip(rows, pages_of, strict=True)
    ]
    n_found = sum(map(bool, gold))
    if not n_found:
        return rows
    notes[f"questions whose gold is the page in {column!r}, from {first} on"] = n_found
    n_lacking = sum(map(bool, pages_of)) - n_found
    if n_lacking:
        notes[f"questions without the page in {column!r}, document taken"] = n_lacking
    return [
        _with_gold_of_pages(row, pages, column)
        for row, pages in zip(rows, gold, strict=True)
    ]


def _with_gold_of_pages(
    row: dict[str, Any], pages: Sequence[str], column: str
) -> dict[str, Any]:
    """The row with pages as gold, in place of their column; without pages, the row itself."""
    if not pages:
        return row
    rest = {name: cell for name, cell in row.items() if name != column}
    return {**rest, "gold": pages}


def _column_of_pages(rows: Sequence[Mapping[str, Any]]) -> str:
    """The first column that is one of pages by its name and cells; "" if there is none."""
    columns = dict.fromkeys(column for row in rows for column in row)
    for column in columns:
        cells = [row[column] for row in rows if column in row]
        if _PAGES.search(column) and any(map(_pages_in, cells)):
            return column
    return ""


def _pages_in(cell: Any) -> list[int]:
    """The pages in a cell: a number, a list of numbers, or a text such as "3-5" or "p. 3, 7"."""
    pages = list[int]()
    for piece in flattened(parsed_literal(cell)):
        if isinstance(piece, str | int) or (
            isinstance(piece, float) and piece.is_integer()
        ):
            text = piece if isinstance(piece, str) else str(int(piece))
            for start, end in _RANGE.findall(text):
                last = int(end or start)
                pages += range(int(start), min(last, int(start) + MAX_PAGES) + 1)
    return pages


def _gold_pages(gold: Any, pages: Sequence[int], index: GoldIndex) -> list[str]:
    """The pages of the only document of the gold; [] unless the document has all of them."""
    names = [name for name in flattened(gold) if isinstance(name, str)]
    if len(names) != 1 or len(flattened(gold)) != 1:
        return []
    named = [f"{names[0]}#page={page}" for page in pages]
    return named if all(map(index.has_name, named)) else []
