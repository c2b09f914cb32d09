"""Documents of blocks -> passages of the encoder's length, with headings, pages, links and the prose to find names in.

Blocks longer than a passage are divided by semchunk. A passage is a stretch of one section; its
text begins with the section's headings. Names are looked for in prose only: in what a passage says
without code, addresses and references.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any

from kg2rag.compute import EncoderTokens
from kg2rag.datasets.documents.blocks import PROSE, Block, Link
from kg2rag.text.normalisation import split_sentences

CHARACTERS_PER_TOKEN = 20
"""Of a passage at most: runs of letters and of blanks have few tokens."""
DIVIDED_CHARACTERS = 20_000
"""Of a text that is divided by its tokens at once; a longer one is first cut at line ends and blanks."""
COUNTED_TEXTS = 100
"""Texts whose tokens are counted at once: the tokenizer keeps some hundred bytes for each token."""
_ADDRESS = r"(?:https?://|www\.)\S+|(?<!\S)[^\s@]++@[^\s@.]++\.\S++"
_PLACE = r"\b(?:Figures?|Fig\.|Sections?|Sec\.|Chapters?|Tables?|Versions?|Appendix) v?[\dA-Z][\d.]*+(?!\w)"
_LINK = "Additionally|Also|Alternatively|Consequently|Currently|Finally|Furthermore|Hence|Instead|Moreover|Nevertheless"
_LINK += "|Normally|Note|Notes|Otherwise|Please|See|Similarly|Therefore|Typically|Unfortunately|Usually"
NO_NAME = re.compile(rf"{_ADDRESS}|{_PLACE}|(?:^|(?<=[.!?:;)] ))(?:{_LINK})\b")
"""Capitals that name nothing: addresses, places in a text, words that join sentences."""

HEADING_CHARACTERS = 100
"""Of a heading at most: a longer one is a paragraph."""

PassageRow = dict[str, Any]
"""The fields of a `Passage`; its headings; `sentences`, the prose in which names are looked for; and its links."""


class Splitter:
    """Divides documents into passages of a number of tokens, without title and headings."""

    def __init__(self, tokens: int) -> None:
        if isinstance(tokens, bool) or not isinstance(tokens, int) or tokens < 16:
            raise ValueError(f"tokens must be a whole number from 16, not {tokens!r}.")
        self.tokens = tokens
        self.characters = CHARACTERS_PER_TOKEN * tokens
        self.divided = 0
        self._counter = EncoderTokens()
        self._run = re.compile(rf"\S{{{self.characters}}}")

    @cached_property
    def _chunk(self) -> Callable[[str], list[str]]:
        from semchunk import chunkerify

        chunk: Callable[[str], list[str]] = chunkerify(
            lambda text: self.count([text])[0], self.tokens
        )
        return chunk

    def count(self, texts: Sequence[str]) -> list[int]:
        """The number of tokens of each text."""
        counts = list[int]()
        for start in range(0, len(texts), COUNTED_TEXTS):
            counts += self._counter.count(texts[start : start + COUNTED_TEXTS])
        return counts

    def passages(
        self, id_: str, title: str, blocks: Sequence[Block], metadata: Mapping[str, Any]
    ) -> list[PassageRow]:
        """The passages of a document."""
        rows = list[PassageRow]()
        for path, section in _sections(blocks):
            headings = [heading.text for heading in path]
            for packed in self._pack(self._divide(section)):
                rows.append(_row(title, headings, packed, metadata))
        for position, row in enumerate(rows):
            row["id"] = id_ if len(rows) == 1 else f"{id_}#{position}"
            row["doc_id"] = id_
            row["position"] = position
        return rows

    def _divide(self, blocks: Sequence[Block]) -> list[tuple[Block, int]]:
        """Blocks no longer than a passage, each with its number of tokens."""
        is_long = [len(block.text) > DIVIDED_CHARACTERS for block in blocks]
        counts = self.count(
            [
                "" if long else block.text
                for block, long in zip(blocks, is_long, strict=True)
            ]
        )
        parts = list[tuple[Block, int]]()
        for block, long, count in zip(blocks, is_long, counts, strict=True):
            if not long and count <= self.tokens and len(block.text) <= self.characters:
                parts.append((block, count))
                continue
            self.divided += 1
            texts = self._divide_text(block.text)
            links = _links_of_parts(block, texts)
            for text, size, links_of_part in zip(
                texts, self.count(texts), links, strict=True
            ):
                parts.append((block._replace(text=text, links=links_of_part), size))
        return parts

    def _divide_text(self, text: str) -> list[str]:
        pieces = list[str]()
        for stretch in cut_text(
            self._run.sub(lambda run: f"{run[0]} ", text), DIVIDED_CHARACTERS
        ):
            for chunk in self._chunk(stretch):
                pieces += cut_text(chunk, self.characters)
        return pieces

    def _pack(self, parts: Sequence[tuple[Block, int]]) -> Iterator[list[Block]]:
        """Neighbouring blocks together, as many as a passage holds."""
        packed, tokens, characters = list[Block](), 0, 0
        for block, count in parts:
            is_full = (
                tokens + count > self.tokens
                or characters + len(block.text) > self.characters
            )
            if packed and is_full:
                yield packed
                packed, tokens, characters = [], 0, 0
            packed.append(block)
            tokens += count
            characters += len(block.text)
        if packed:
            yield packed


def _links_of_parts(block: Block, parts: Sequence[str]) -> list[tuple[Link, ...]]:
    """The links of each part of a block, by the places of their words."""
    starts = _places(block.text, parts)
    links = [list[Link]() for _ in parts]
    for link, place in zip(
        block.links,
        _places(block.text, [link.text for link in block.links]),
        strict=True,
    ):
        links[bisect_right(starts, place, lo=1) - 1].append(link)
    return list(map(tuple, links))


def _places(text: str, pieces: Iterable[str]) -> list[int]:
    """The places of pieces that follow each other in a text; a piece that it lacks is where the last one ends."""
    places, end = list[int](), 0
    for piece in pieces:
        place = text.find(piece, end)
        if place < 0:
            places.append(end)
        else:
            places.append(place)
            end = place + len(piece)
    return places


def cut_text(text: str, limit: int) -> Iterator[str]:
    """A text in parts of at most `limit` characters, cut at the last line end, sentence or blank, else at the limit."""
    start = 0
    while len(text) - start > limit:
        stop = max(
            text.rfind("\n", start, start + limit),
            text.rfind(". ", start, start + limit) + 1,
        )
        if stop <= start + limit // 2:
            stop = text.rfind(" ", start, start + limit)
        if stop <= start:
            stop = start + limit
        if text[start:stop].strip():
            yield text[start:stop].rstrip()
        start = stop + (text[stop] in "\n ")
    if text[start:].strip():
        yield text[start:]


def _sections(blocks: Sequence[Block]) -> Iterator[tuple[list[Block], list[Block]]]:
    """The headings above each section, and its blocks.

    A heading with nothing below it, and one too long for a heading, is text: of the section that
    follows.
    """
    path = list[Block]()
    section = list[Block]()
    orphans = list[Block]()  # headings that have nothing below them
    is_bare = False  # the last heading has nothing below it so far
    for block in blocks:
        level = block.level * (len(block.text) <= HEADING_CHARACTERS)
        if not level:
            section += [*orphans, block._replace(level=0)]
            orphans = []
            is_bare = False
            continue
        if section:
            yield path, section
            section = []
        if is_bare and path[-1].level >= level:
            orphans.append(path[-1]._replace(level=0))
        path = [*(heading for heading in path if heading.level < level), block]
        is_bare = True
    if is_bare:
        orphans.append(path.pop()._replace(level=0))
    section += orphans
    if section:
        yield path, section


def _row(
    title: str,
    headings: Sequence[str],
    blocks: Sequence[Block],
    metadata: Mapping[str, Any],
) -> PassageRow:
    """A passage's text, metadata and prose."""
    body = "\n\n".join(block.text for block in blocks)
    if headings:
        body = f"{' > '.join(headings)}\n{body}"
    prose = [NO_NAME.sub(" ", block.text) for block in blocks if block.kind == PROSE]
    sentences = [sentence for text in prose for sentence in split_sentences(text)]
    links = [link for block in blocks for link in block.links]
    return {
        "title": title,
        "text": body,
        "metadata": {**metadata, **_place(headings, blocks)},
        "headings": list(headings),
        "sentences": sentences,
        "links": links,
    }


def _place(headings: Sequence[str], blocks: Sequence[Block]) -> dict[str, Any]:
    """Where a passage stands in its document: its headings and pages, if there are any."""
    pages = {page for block in blocks for page in (block.page, block.last_page) if page}
    first, last = min(pages, default=0), max(pages, default=0)
    place = {
        "headings": list(headings),
        "page": first,
        "last_page": last * (last > first),
    }
    return {name: value for name, value in place.items() if value}
