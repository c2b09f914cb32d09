"""The passages of a folder's pages without lists and excerpts of other pages.

Ours: what a list and an excerpt are. A page of HTML is a list, such as the index of an export, if most
of its blocks are links to other pages that have the words of the link, and no other block is a
sentence. Of a folder's pages, the only one that leads to all others needs no majority of links if its
other blocks are short. A section is one if its heading is the title of another page, and if that
page has all words of each of its blocks but for short ones, such as dates. A summary of another page
that several lists show is read in the first of them.
"""

from __future__ import annotations

import posixpath
from collections import defaultdict
from collections.abc import Container, Iterator, Mapping, Sequence, Set
from itertools import chain
from pathlib import PurePosixPath
from typing import NamedTuple

from kg2rag.datasets.documents.passages.entries import FileEntry
from kg2rag.datasets.documents.passages.furniture import (
    WRITTEN,
    block_texts,
    consists_of,
    count_words,
    pages_of,
    renumber,
)
from kg2rag.datasets.documents.passages.links import Pages
from kg2rag.datasets.documents.passages.splitting import PassageRow
from kg2rag.datasets.documents.running_heads import SENTENCE_END
from kg2rag.text.scripts import words

SHORT = 8
"""Words of a block below which it says nothing of a page: a date, an author, "Read more"."""
COMMON_WORDS = 5
"""Fewest words of an excerpt."""
SHORTEST_LIST = 3
"""Fewest blocks of links in a list of pages."""
LIST_REASON = "a list of other pages of the folder"


class _Page(NamedTuple):
    """The words of a page, and its number among the pages."""

    number: int
    words: frozenset[str]


def remove_lists(entries: Mapping[str, FileEntry]) -> None:
    """Take the passages of pages that are lists of other pages, and give the reason, unless all are."""
    pages = list(pages_of(entries))
    index = Pages([row for _, rows in pages for row in rows], {})
    words_of = {rows[0]["doc_id"]: _words_of_page(rows) for _, rows in pages}
    links = [set(_links_to_pages(rows, index, words_of)) for _, rows in pages]
    indexes = set(_indexes([rows for _, rows in pages], links))
    lists = [
        entry
        for number, (entry, rows) in enumerate(pages)
        if _is_list(rows, {text for text, _ in links[number]}, number in indexes)
    ]
    if len(lists) < len(pages):
        for entry in lists:
            entry.left_out += count_words(entry)
            entry.rows.clear()
            _name_list(entry)


def _indexes(
    pages: Sequence[Sequence[PassageRow]], links: Sequence[Set[tuple[str, str]]]
) -> Iterator[int]:
    """The numbers of the pages that lead to all other pages of their folder, as no other page does.

    pages, links : of each page the passages, and the texts and documents of its links.
    """
    folders = defaultdict[str, list[int]](list)
    for number, rows in enumerate(pages):
        folders[posixpath.dirname(rows[0]["metadata"]["file"])].append(number)
    for numbers in folders.values():
        documents = {pages[number][0]["doc_id"] for number in numbers}
        leading = [
            number
            for number in numbers
            if documents - {document for _, document in links[number]}
            <= {pages[number][0]["doc_id"]}
        ]
        if len(leading) == 1 and len(numbers) > SHORTEST_LIST:
            yield leading[0]


def _is_list(rows: Sequence[PassageRow], link_texts: Set[str], is_index: bool) -> bool:
    """Whether a page is a list of other pages.

    link_texts : the texts of its links to other pages.
    is_index : whether it is one of the `_indexes`.
    """
    blocks = list(chain.from_iterable(map(block_texts, rows)))
    others = [text for text in blocks if not consists_of(text, link_texts)]
    n_links = len(blocks) - len(others)
    if n_links < SHORTEST_LIST:
        return False
    if any(SENTENCE_END.search(text.rstrip(":")) for text in others):
        return False
    are_short = all(len(words(text)) < SHORT for text in others)
    return n_links > len(others) or (is_index and are_short)


def _links_to_pages(
    rows: Sequence[PassageRow], index: Pages, words_of: Mapping[str, frozenset[str]]
) -> Iterator[tuple[str, str]]:
    """The texts and documents of the links of a page to other pages that have all words of the text.

    Links of pages in Markdown, which people write, are none of a list.
    """
    file = rows[0]["metadata"]["file"]
    if PurePosixPath(file).suffix.lower() in WRITTEN:
        return
    for row in rows:
        for text, target in row["links"]:
            document, _ = index.find(target, file)
            page_words = words_of.get(document, frozenset())
            if document != row["doc_id"] and page_words.issuperset(words(text)):
                yield text, document


def _words_of_page(rows: Sequence[PassageRow]) -> frozenset[str]:
    """The words of a page and of its title."""
    texts = [rows[0]["title"], *(row["text"] for row in rows)]
    return frozenset(chain.from_iterable(map(words, texts)))


def _name_list(entry: FileEntry) -> None:
    """Give an entry without passages the reason that it is a list."""
    entry.reason = LIST_REASON
    entry.titles.clear()
    entry.names.clear()


def remove_excerpts(entries: Mapping[str, FileEntry]) -> int:
    """Take the excerpts of other pages from the passages of pages, and count their words in `left_out`.

    A page that has nothing else gets a reason why it is not read. Returns the number of words.
    """
    pages = list(pages_of(entries))
    titled = _pages_by_title(pages)
    lists = set[int]()
    summaries = set[str]()
    n_removed = 0
    for number, (entry, rows) in enumerate(pages):
        own = {*lists, number}
        remaining = [
            row
            for row in rows
            if not _repeats_page(row, titled, own) and row["text"] not in summaries
        ]
        summaries.update(
            row["text"] for row in remaining if _is_summary(row, titled, number)
        )
        if len(remaining) == len(rows):
            continue
        lists.add(number)
        n_before = count_words(entry)
        renumber(entry, rows, remaining)
        n_words = n_before - count_words(entry)
        entry.left_out += n_words
        n_removed += n_words
        if not entry.rows:
            _name_list(entry)
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


def _is_summary(
    row: PassageRow, titled: Mapping[str, Sequence[_Page]], number: int
) -> bool:
    """Whether the heading of a passage of a page is the title of another page to which it leads."""
    heading = row["headings"][-1] if row["headings"] else ""
    pages = titled.get(heading.casefold(), ())
    is_of_other = bool(pages) and all(page.number != number for page in pages)
    return is_of_other and bool(row["links"]) and len(list(words(row["text"]))) >= SHORT


def _is_excerpt(row: PassageRow, page: _Page) -> bool:
    """Whether a passage has no words, but for those of short blocks, that a page lacks."""
    texts = [list(words(text)) for text in block_texts(row)]
    n_common = sum(len(text) for text in texts if page.words.issuperset(text))
    others = [text for text in texts if not page.words.issuperset(text)]
    n_others = sum(map(len, others))
    return n_common >= max(COMMON_WORDS, n_others) and all(
        len(text) < SHORT for text in others
    )
