"""The passages of a folder's pages without excerpts of other pages, as home pages and archives list them.

Ours: what an excerpt is. A section is one if its heading is the title of another page that is
longer, and if that page has all words of each of its blocks but for the short ones, such as dates.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
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
    n_removed = 0
    for number, (entry, rows) in enumerate(pages):
        excerpts = set(_excerpts(number, rows, titled))
        if not excerpts:
            continue
        n_before = count_words(entry)
        remaining = [row for index, row in enumerate(rows) if index not in excerpts]
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
    """The title of a page in lower case -> the pages that have it."""
    titled: dict[str, list[_Page]] = {}
    for number, (_, rows) in enumerate(pages):
        all_words = frozenset(word for row in rows for word in words(row["text"]))
        page = _Page(number, all_words)
        titled.setdefault(rows[0]["title"].casefold(), []).append(page)
    return titled


def _excerpts(
    number: int, rows: Sequence[PassageRow], titled: Mapping[str, Sequence[_Page]]
) -> Iterator[int]:
    """The indexes of the passages of a page that are excerpts of other pages.

    number : that of the page.
    """
    for index, row in enumerate(rows):
        if not row["headings"]:
            continue
        heading = row["headings"][-1].casefold()
        texts = [list(words(text)) for text in block_texts(row)]
        long_texts = [text for text in texts if len(text) >= SHORT]
        excerpt = set().union(*long_texts)
        for page in titled.get(heading, ()):
            if page.number != number and excerpt and excerpt < page.words:
                yield index
                break
