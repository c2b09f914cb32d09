"""The passages of a folder's pages without excerpts of other pages, as home pages and archives list them.

Ours: what an excerpt is. A section is one if its heading is the title of another page, and if that
page has all words of each of its blocks but for short ones, such as dates.
"""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from typing import NamedTuple

from kg2rag.datasets.documents.entries import FileEntry
from kg2rag.datasets.documents.furniture import (
    block_texts,
    count_words,
    pages_of,
    renumber,
)
from kg2rag.datasets.documents.splitting import PassageRow
from kg2rag.text.scripts import words

SHORT = 8
"""Words of a block below which it says nothing of a page: a date, an author, "Read more"."""
COMMON_WORDS = 5
"""Fewest words of an excerpt."""
LIST_REASON = "a list of other pages of the folder"


class _Page(NamedTuple):
    """The words of a page, and its number among the pages."""

    number: int
    words: frozenset[str]


def remove_excerpts(entries: Mapping[str, FileEntry]) -> int:
    """Take the excerpts of other pages from the passages of pages, and count their words in `left_out`.

    A page that has nothing else gets a reason why it is not read. Returns the number of words.
    """
    pages = list(pages_of(entries))
    titled = _pages_by_title(pages)
    lists = set[int]()
    n_removed = 0
    for number, (entry, rows) in enumerate(pages):
        own = {*lists, number}
        remaining = [row for row in rows if not _repeats_page(row, titled, own)]
        if len(remaining) == len(rows):
            continue
        lists.add(number)
        n_before = count_words(entry)
        renumber(entry, rows, remaining)
        n_words = n_before - count_words(entry)
        entry.left_out += n_words
        n_removed += n_words
        if not entry.rows:
            entry.reason = LIST_REASON
            entry.titles.clear()
            entry.names.clear()
    return n_removed


def _pages_by_title(
    pages: Sequence[tuple[FileEntry, Sequence[PassageRow]]],
) -> dict[str, list[_Page]]:
    """The title of a page in lower case, if it is a heading -> the pages that have it."""
    headings = {
        heading.casefold()
        for _, rows in pages
        for row in rows
        for heading in row["headings"]
    }
    titled: dict[str, list[_Page]] = {}
    for number, (_, rows) in enumerate(pages):
        if rows[0]["title"].casefold() not in headings:
            continue
        all_words = frozenset(word for row in rows for word in words(row["text"]))
        page = _Page(number, all_words)
        titled.setdefault(rows[0]["title"].casefold(), []).append(page)
    return titled


def _repeats_page(
    row: PassageRow, titled: Mapping[str, Sequence[_Page]], lists: Container[int]
) -> bool:
    """Whether a passage is an excerpt of a page that is the title of one of its headings.

    lists : the numbers of the pages that have excerpts, and of the passage's page.
    """
    pages = [
        page
        for heading in row["headings"]
        for page in titled.get(heading.casefold(), ())
    ]
    return any(page.number not in lists and _is_excerpt(row, page) for page in pages)


def _is_excerpt(row: PassageRow, page: _Page) -> bool:
    """Whether a passage has no words, but for those of short blocks, that a page lacks."""
    texts = [list(words(text)) for text in block_texts(row)]
    n_common = sum(len(text) for text in texts if page.words.issuperset(text))
    others = [text for text in texts if not page.words.issuperset(text)]
    n_others = sum(map(len, others))
    return n_common >= max(COMMON_WORDS, n_others) and all(
        len(text) < SHORT for text in others
    )
