"""`FileDocument`, which every reader of documents returns, and the words of a file that it lacks."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import Any, NamedTuple

from kg2rag.text.scripts import words

WIKI = "wiki:"
"""Prefix of a link's target that is the name of a page: its file name, title, alias or label."""
PROSE = "prose"
CODE = "code"
READER_FIELDS = ("file", "headings", "page", "last_page", "links")
"""Fields of metadata that readers write."""
LONGEST_WORD = 60
"""Characters of a word whose loss is counted; longer runs are encoded pictures or minified code."""


class Link(NamedTuple):
    """A hyperlink in a block: its words, and its target as the file writes it."""

    text: str
    target: str


class Block(NamedTuple):
    """A paragraph, list item, row of a table, listing or heading.

    `level` is 0, or the level of a heading, from 1. `kind` is PROSE or CODE. `page` and `last_page`
    count from 1, and are 0 in files without pages.
    """

    text: str
    level: int = 0
    kind: str = PROSE
    page: int = 0
    last_page: int = 0
    links: tuple[Link, ...] = ()


@dataclass(frozen=True)
class FileDocument:
    """One document of a file.

    Attributes
    ----------
    blocks : headings, prose and code in their order.
    title : the title that the file declares outside its text; "" for none.
    key : the name of the document within its file; "" if the file is one document.
    source : all text that the file shows, by a second and simpler reading; its words that no
        passage has are counted.
    left_out : text that is left out on purpose: navigation, running heads, front matter.
    remark : what the report says of the document, such as pages without text; "" for nothing.
    names : other names by which links point to the document.
    metadata : further fields for its passages.
    """

    blocks: list[Block]
    title: str = ""
    key: str = ""
    source: str = ""
    left_out: str = ""
    remark: str = ""
    names: tuple[str, ...] = ()
    metadata: Mapping[str, Any] = field(default_factory=dict)


def joined_documents(
    documents: Sequence[FileDocument], remark: str = ""
) -> FileDocument:
    """One document of the blocks of several, without empty blocks; it has a remark and theirs."""
    return FileDocument(
        [
            block
            for document in documents
            for block in document.blocks
            if block.text.strip()
        ],
        source="\n".join(document.source for document in documents),
        left_out="\n".join(document.left_out for document in documents),
        remark=join_remarks(remark, *(document.remark for document in documents)),
    )


def paragraphs(text: str) -> Iterator[Block]:
    """The paragraphs of a plain text, which are separated by blank lines."""
    return (Block(part.strip()) for part in re.split(r"\n\s*\n", text) if part.strip())


def titled_blocks(title: str, texts: Iterable[str]) -> list[Block]:
    """A heading of level 1 and paragraphs, without empty ones."""
    blocks = [Block(title, 1), *map(Block, texts)]
    return [block for block in blocks if block.text]


def plain_document(text: str, remark: str = "") -> FileDocument:
    """The document of a plain text."""
    return FileDocument(list(paragraphs(text)), source=text, remark=remark)


def one_line(text: str) -> str:
    """A text with single blanks in place of line breaks and runs of blanks."""
    return " ".join(text.split())


def join_remarks(*remarks: str) -> str:
    """Several remarks as one, without empty ones and repetitions."""
    return "; ".join(dict.fromkeys(filter(None, remarks)))


def counted_remark(text: str, count: int) -> str:
    """The remark that something occurs so many times; "" for none."""
    if not count:
        return ""
    return f"{text}: {count}"


def named_remark(text: str, names: Sequence[str]) -> str:
    """The remark that something holds for these names; "" for none."""
    if not names:
        return ""
    return f"{text}: {', '.join(names)}"


def lost_words(source: Sequence[str], texts: Iterable[str]) -> list[str]:
    """The words of a source that the texts lack, in its order: a word as often as it is missing.

    A word that is more frequent in the source than in the texts is named where it occurs last.
    """
    source_counts = Counter(source)
    text_counts = Counter(chain.from_iterable(map(words, texts)))
    rare_words = source_counts - text_counts
    if not rare_words:
        return []
    # The words of texts that markup divides in the source.
    joined_words = text_counts - source_counts
    n_found: Counter[str] = Counter()
    lost = []
    for index, word in enumerate(source):
        if word not in rare_words or len(word) > LONGEST_WORD:
            continue
        if _is_part_of_word(source, index, joined_words):
            continue
        n_found[word] += 1
        if n_found[word] > text_counts[word]:
            lost.append(word)
    return lost


def _is_part_of_word(
    source: Sequence[str], index: int, joined_words: Container[str]
) -> bool:
    """Whether a word of the source and its neighbours, up to four in all, are one word of a text."""
    for start in range(max(0, index - 3), index + 1):
        for stop in range(index + 1, start + 5):
            if stop - start > 1 and "".join(source[start:stop]) in joined_words:
                return True
    return False
