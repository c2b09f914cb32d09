"""What every reader of documents gives: `FileDocument`s of headings, prose and code; and the count of words lost."""

from __future__ import annotations

import re
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from kg2rag.text.scripts import words

WIKI = "wiki:"
"""Begins the target of a link that names a page by its file, its title, an alias or a label."""
PROSE, CODE = "prose", "code"
LONGEST_WORD = 60
"""Characters; longer runs are pictures and minified code, which a passage may divide."""


class Link(NamedTuple):
    """A hyperlink in a block: the words that carry it, and its target as the file writes it."""

    text: str
    target: str


class Block(NamedTuple):
    """A paragraph, a list item, a row of a table, a listing; or a heading, whose level counts from 1.

    `page` and `last_page` count from 1; 0 in files without pages.
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
    blocks : headings, prose and code in the order of the page.
    title : the title that the file declares outside its text; "" for none.
    key : names the document within its file; "" where the file is one document.
    source : all text that the file shows, by a second and simpler reading; what passages lack of it is counted.
    left_out : text that is left out on purpose: navigation, running heads, front matter.
    remark : what else a reader should know, such as pages without text.
    names : other names by which links point to the document.
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
    """The blocks of documents that have text, one after the other, as one document."""
    return FileDocument(
        [
            block
            for document in documents
            for block in document.blocks
            if block.text.strip()
        ],
        source="\n".join(document.source for document in documents),
        left_out="\n".join(document.left_out for document in documents),
        remark=remark,
    )


def paragraphs(text: str) -> Iterator[Block]:
    """The paragraphs of a plain text, which blank lines divide."""
    return (Block(part.strip()) for part in re.split(r"\n\s*\n", text) if part.strip())


def plain_document(text: str, remark: str = "") -> FileDocument:
    """The document of a plain text."""
    return FileDocument(list(paragraphs(text)), source=text, remark=remark)


def one_line(text: str) -> str:
    """A text with single blanks in place of line breaks and runs of blanks."""
    return " ".join(text.split())


def join_remarks(*remarks: str) -> str:
    """The remarks of a report as one; empty ones and repetitions are dropped."""
    return "; ".join(dict.fromkeys(filter(None, remarks)))


def lost_words(source: Sequence[str], texts: Iterable[str]) -> list[str]:
    """The words of a source that no text has, as often as the source has them, in its order."""
    text_words = set[str]()
    for text in texts:
        text_words.update(words(text))
    return [
        word
        for place, word in enumerate(source)
        if word not in text_words
        and len(word) <= LONGEST_WORD
        and not _is_part_of_word(source, place, text_words)
    ]


def _is_part_of_word(
    source: Sequence[str], place: int, text_words: Container[str]
) -> bool:
    """Whether up to four neighbouring words are one word of a text: markup within a word divides it in the source."""
    for start in range(max(0, place - 3), place + 1):
        for stop in range(place + 1, start + 5):
            if "".join(source[start:stop]) in text_words:
                return True
    return False
