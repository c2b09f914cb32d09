"""The passages of a folder's pages without furniture: menus, notices and labels that most pages repeat.

Ours: which repeated blocks are furniture. A block of at most `LONGEST` words is repeated if at least
`PAGES` pages have it in the same words and these are `SHARE` of the pages in their common folder.
It is furniture if it consists of links, or if it stands at an edge of the page: no block between it
and the first or the last block is content. Labels within a page, such as "Returns:", and fields at
its beginning, such as "Status: open", stay, and sections of Markdown that would be empty, unless the
page begins with a menu: then a crawler wrote it.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from itertools import groupby, pairwise
from pathlib import PurePosixPath
from typing import NamedTuple

from kg2rag.datasets.documents.blocks import WIKI, Link, one_line
from kg2rag.datasets.documents.passages.entries import FileEntry
from kg2rag.datasets.documents.passages.splitting import PassageRow
from kg2rag.text.scripts import words

PAGES = 5
"""Fewest pages that have a repeated block."""
SHARE = 0.75
"""Smallest share of the pages in the common folder of those that have a repeated block."""
LONGEST = 50
"""Words of a block above which it is text."""
ENDINGS = frozenset(".html .htm .xhtml .mhtml .mht .md .markdown .mdx".split())
"""Endings of the files that are pages."""
WRITTEN = frozenset(".md .markdown .mdx".split())
"""Endings of pages that people write, so that a section such as "License" is content."""
MENU_PARTS = 3
"""Blocks of furniture at the beginning of a page of Markdown that a crawler wrote."""
_BETWEEN_BLOCKS = "\n\n"
_FIELD = re.compile(r"\w[\w ]{0,30}: \S")


class _Part(NamedTuple):
    """A heading or block of a page.

    `row` is the index of its passage in the page. `is_repeated` says whether most pages of its
    folder have it, and it has no link of a wiki, which people write. `may_pass` says whether it is
    furniture between furniture: it consists of links to pages, is the title of the page, or has no word.
    """

    row: int
    text: str
    is_heading: bool
    is_repeated: bool
    is_link: bool = False
    may_pass: bool = False


def remove_furniture(entries: Mapping[str, FileEntry]) -> int:
    """Take the furniture from the passages of pages, and count its words in `left_out`.

    A page that has only furniture stays as it is. Returns the number of words.
    """
    pages = list(pages_of(entries))
    repeated = _repeated_texts(pages)
    n_removed = 0
    for entry, rows in pages:
        if repeated.isdisjoint(_texts_of(rows)):
            continue
        parts = list(_parts_of(rows, repeated))
        content = _content_of(parts, rows[0]["metadata"]["file"])
        has_text = not all(part.is_heading for part in content)
        if has_text and len(content) < len(parts):
            n_before = count_words(entry)
            _keep_parts(entry, rows, content, repeated)
            n_words = n_before - count_words(entry)
            entry.left_out += n_words
            n_removed += n_words
    return n_removed


def count_words(entry: FileEntry) -> int:
    """The number of words in the passages of a file."""
    return sum(len(words(row["text"])) for row in entry.rows)


def pages_of(
    entries: Mapping[str, FileEntry],
) -> Iterator[tuple[FileEntry, list[PassageRow]]]:
    """The passages of each page, with the entry of its file."""
    for path, entry in entries.items():
        if PurePosixPath(path).suffix.lower() in ENDINGS and entry.titles:
            for _, rows in groupby(entry.rows, lambda row: row["doc_id"]):
                yield entry, list(rows)


def _repeated_texts(
    pages: Sequence[tuple[FileEntry, Sequence[PassageRow]]],
) -> set[str]:
    """The texts, of headings or blocks, that most pages of a folder have."""
    n_pages_below = Counter[str]()
    n_pages_with = Counter[str]()
    folder_of = dict[str, str]()
    for _, rows in pages:
        folders = _folders_above(rows[0]["metadata"]["file"])
        n_pages_below.update(folders)
        for text in _texts_of(rows):
            n_pages_with[text] += 1
            folder_of[text] = _common_folder(folder_of.get(text), folders)
    return {
        text
        for text, count in n_pages_with.items()
        if count >= max(PAGES, SHARE * n_pages_below[folder_of[text]])
        and 0 < len(words(text)) <= LONGEST
    }


def _folders_above(path: str) -> list[str]:
    """The folders that contain a file, from its own to the listed one, ".", as paths."""
    return [str(folder) for folder in PurePosixPath(path).parents]


def _common_folder(folder: str | None, folders: Sequence[str]) -> str:
    """The deepest of `folders` that is or contains `folder`; the first of them for None."""
    if folder is None or folder == folders[0]:
        return folders[0]
    above = {folder, *map(str, PurePosixPath(folder).parents)}
    return next(candidate for candidate in folders if candidate in above)


def _texts_of(rows: Sequence[PassageRow]) -> set[str]:
    """The headings and blocks of a page."""
    headings = {row["headings"][-1] for row in rows if row["headings"]}
    return headings.union(*map(block_texts, rows))


def _parts_of(rows: Sequence[PassageRow], repeated: Container[str]) -> Iterator[_Part]:
    """The headings and blocks of the passages of a page; a section has its heading once."""
    headings = list[str]()
    for index, row in enumerate(rows):
        if row["headings"] and row["headings"] != headings:
            heading = row["headings"][-1]
            yield _Part(index, heading, True, heading in repeated)
        headings = row["headings"]
        yield from _block_parts(index, row, repeated)


def _block_parts(
    index: int, row: PassageRow, repeated: Container[str]
) -> Iterator[_Part]:
    """The blocks of a passage, given with its index in the page."""
    names, link_texts = _link_texts(row)
    for text in block_texts(row):
        is_repeated = text in repeated and not any(name in text for name in names)
        is_link = consists_of(text, link_texts)
        may_pass = is_link or one_line(text) == row["title"] or not words(text)
        yield _Part(index, text, False, is_repeated, is_link, may_pass)


def _link_texts(row: PassageRow) -> tuple[set[str], set[str]]:
    """The texts of the links of a wiki in a passage, and those of its other links."""
    links = [Link(*link) for link in row["links"] if link[0]]
    names = {link.text for link in links if link.target.startswith(WIKI)}
    return names, {link.text for link in links} - names


def block_texts(row: PassageRow) -> list[str]:
    """The texts of the blocks of a passage, below its headings."""
    body = row["text"]
    if row["headings"]:
        body = body.partition("\n")[2]
    return [text for text in body.split(_BETWEEN_BLOCKS) if text.strip()]


def consists_of(text: str, link_texts: Iterable[str]) -> bool:
    """Whether a text has no words beside those of links."""
    rest = one_line(text)
    linked = [link_text for link_text in link_texts if link_text in rest]
    for link_text in sorted(linked, key=len, reverse=True):
        rest = rest.replace(link_text, " ")
    return bool(linked) and not any(map(str.isalnum, rest))


def _content_of(parts: Sequence[_Part], file: str) -> list[_Part]:
    """The parts of the page of a file that are no furniture."""
    indexes = set(_furniture_of(parts))
    is_crawled = indexes.issuperset(range(MENU_PARTS))
    if PurePosixPath(file).suffix.lower() in WRITTEN and not is_crawled:
        indexes -= _whole_sections(parts, indexes)
    return [part for index, part in enumerate(parts) if index not in indexes]


def _furniture_of(parts: Sequence[_Part]) -> Iterator[int]:
    """The indexes of the furniture among the parts of a page."""
    n_first = _edge(parts, is_end=False)
    if not any(part.is_link for part in parts[:n_first]):
        n_first = 0  # the author of all pages
    n_last = _edge(parts[::-1], is_end=True)
    for index, part in enumerate(parts):
        is_repeated_link = part.is_link and part.is_repeated
        if is_repeated_link or index < n_first or index >= len(parts) - n_last:
            yield index


def _whole_sections(parts: Sequence[_Part], indexes: Container[int]) -> set[int]:
    """The indexes of the parts of sections that have a heading and only furniture below it."""
    starts = [index for index, part in enumerate(parts) if part.is_heading]
    sections = [range(*pair) for pair in pairwise([*starts, len(parts)])]
    return {
        index
        for section in sections
        if all(index in indexes for index in section[1:])
        for index in section
    }


def _edge(parts: Iterable[_Part], *, is_end: bool) -> int:
    """How many of the first parts are furniture: as many as end with a repeated block.

    is_end : whether the parts are those of the end of a page in the reverse order. An end may have
        sections with repeated headings; a beginning stops at headings and at fields such as
        "Status: open".
    """
    n_parts = n_of_sections = 0
    for number, part in enumerate(parts, start=1):
        if not is_end and (part.is_heading or _FIELD.match(part.text)):
            return n_parts
        if part.is_heading:
            if not part.is_repeated:
                return n_of_sections
            if n_parts == number - 1:
                n_parts = number
            n_of_sections = n_parts
        elif part.is_repeated:
            n_parts = number
        elif not part.may_pass:
            return n_parts
    return n_parts


def _keep_parts(
    entry: FileEntry,
    rows: Sequence[PassageRow],
    kept: Sequence[_Part],
    repeated: set[str],
) -> None:
    """Set the texts, links and numbers of the passages of a page to those of the kept parts."""
    texts: dict[int, list[str]] = {}
    for part in kept:
        if not part.is_heading:
            texts.setdefault(part.row, []).append(part.text)
    remaining = list[PassageRow]()
    for index, row in enumerate(rows):
        if index not in texts and (
            not row["headings"] or row["headings"][-1] in repeated
        ):
            continue
        blocks = texts.get(index, [])
        if len(blocks) < len(block_texts(row)):
            _set_blocks(row, blocks)
        remaining.append(row)
    renumber(entry, rows, remaining)


def renumber(
    entry: FileEntry, rows: Sequence[PassageRow], remaining: Sequence[PassageRow]
) -> None:
    """Replace the passages of a page in the entry of its file by those that remain, newly numbered."""
    for position, row in enumerate(remaining):
        row["position"] = position
        row["id"] = (
            row["doc_id"] if len(remaining) == 1 else f"{row['doc_id']}#{position}"
        )
    of_page = {id(row) for row in rows}
    first = next(index for index, row in enumerate(entry.rows) if id(row) in of_page)
    entry.rows[first : first + len(rows)] = remaining


def _set_blocks(row: PassageRow, blocks: Sequence[str]) -> None:
    """Set the text of a passage to its headings and these blocks; keep their links and sentences."""
    removed = one_line(" ".join(set(block_texts(row)) - set(blocks)))
    lines = [" > ".join(row["headings"]), _BETWEEN_BLOCKS.join(blocks)]
    row["text"] = "\n".join(filter(None, lines))
    text = one_line(row["text"])
    row["links"] = [link for link in row["links"] if link[0] in text]
    row["sentences"] = [
        sentence
        for sentence in row["sentences"]
        if one_line(sentence) in text or one_line(sentence) not in removed
    ]
