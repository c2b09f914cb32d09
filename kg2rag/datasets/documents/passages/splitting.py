"""Blocks of documents -> passages of the encoder's length, with headings, pages and links.

Blocks longer than a passage are divided by semchunk. A passage is a stretch of one section; its
text begins with the section's headings. Its `sentences` are its prose, without code, addresses and
references; entities are extracted from them.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import zip_longest
from typing import Any

from kg2rag.compute import EncoderTokens
from kg2rag.datasets.documents.blocks import PROSE, Block, Link
from kg2rag.text.sentences import split_sentences

CHARACTERS_PER_TOKEN = 20
"""Maximum length of a passage for each of its tokens: runs of letters and of blanks have few tokens."""
DIVIDED_CHARACTERS = 20_000
"""Longest text that semchunk divides; longer ones are cut first, since it counts all their tokens."""
COUNTED_TEXTS = 100
"""Texts in one call of the tokenizer, which keeps some hundred bytes for each token."""
_ADDRESS = r"(?:https?://|www\.)\S+|(?<!\S)[^\s@]++@[^\s@.]++\.\S++"
_PLACE = r"\b(?:Figures?|Fig\.|Sections?|Sec\.|Chapters?|Tables?|Versions?|Appendix) v?[\dA-Z][\d.]*+(?!\w)"
_LINK = "Additionally|Also|Alternatively|Consequently|Currently|Finally|Furthermore|Hence|Instead|Moreover|Nevertheless"
_LINK += "|Normally|Note|Notes|Otherwise|Please|See|Similarly|Therefore|Typically|Unfortunately|Usually"
NO_NAME = re.compile(rf"{_ADDRESS}|{_PLACE}|(?:^|(?<=[.!?:;)] ))(?:{_LINK})\b")
"""Text with capitals that names no entity: addresses, numbers of figures, words that join sentences."""

HEADING_CHARACTERS = 100
"""Longest heading; a longer one is a paragraph."""

PassageRow = dict[str, Any]
"""The fields of a `Passage`, and `headings`, `sentences` (its prose) and `links` (of `Link`)."""


class Splitter:
    """Divides documents into passages of at most `tokens` tokens, without title and headings.

    `divided` counts the blocks that were longer than a passage.
    """

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
        """The function of semchunk that divides a text into parts of `tokens` tokens."""
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
        """The passages of a document, with the id of the document if there is only one."""
        rows = list[PassageRow]()
        for headings, section in _sections(blocks):
            for passage_blocks in self._pack(self._divide(section)):
                rows.append(_passage_row(title, headings, passage_blocks, metadata))
        for position, row in enumerate(rows):
            row["id"] = id_ if len(rows) == 1 else f"{id_}#{position}"
            row["doc_id"] = id_
            row["position"] = position
        return rows

    def _divide(self, blocks: Sequence[Block]) -> list[tuple[Block, int]]:
        """Blocks no longer than a passage, each with its number of tokens.

        No text has more tokens than bytes, so blocks that have few enough bytes are not counted, nor
        are the ends of texts that have too many characters.
        """
        sizes = [len(block.text.encode("utf-8", "replace")) for block in blocks]
        if sum(sizes) <= self.tokens:
            return list(zip(blocks, sizes, strict=True))
        limit = min(self.characters, DIVIDED_CHARACTERS)
        counts = self.count([block.text[:limit] for block in blocks])
        parts = list[tuple[Block, int]]()
        for block, count in zip(blocks, counts, strict=True):
            if len(block.text) <= limit and count <= self.tokens:
                parts.append((block, count))
            else:
                self.divided += 1
                parts += self._parts(block)
        return parts

    def _parts(self, block: Block) -> Iterator[tuple[Block, int]]:
        """The parts of a block that is longer than a passage, each with its number of tokens."""
        texts = self._divide_text(block.text)
        links = _links_by_part(block, texts)
        for text, count, links_of_part in zip(
            texts, self.count(texts), links, strict=True
        ):
            yield block._replace(text=text, links=links_of_part), count

    def _divide_text(self, text: str) -> list[str]:
        """The parts of a text that are no longer than a passage in tokens and in characters."""
        # The tokenizer takes a run without blanks whole, however long it is.
        text = self._run.sub(lambda run: f"{run[0]} ", text)
        parts = list[str]()
        for stretch in cut_text(text, DIVIDED_CHARACTERS):
            for chunk in self._chunk(stretch):
                parts += cut_text(chunk, self.characters)
        return parts

    def _pack(self, parts: Sequence[tuple[Block, int]]) -> Iterator[list[Block]]:
        """The blocks of each passage: as many neighbours as it holds.

        parts : blocks with their numbers of tokens.
        """
        blocks = list[Block]()
        tokens = characters = 0
        for block, count in parts:
            tokens += count
            characters += len(block.text)
            if blocks and (tokens > self.tokens or characters > self.characters):
                yield blocks
                blocks = []
                tokens = count
                characters = len(block.text)
            blocks.append(block)
        if blocks:
            yield blocks


def _links_by_part(block: Block, parts: Sequence[str]) -> list[tuple[Link, ...]]:
    """The links of each part of a block: those whose words begin in the part."""
    starts = _offsets(block.text, parts)
    offsets = _offsets(block.text, [link.text for link in block.links])
    links = [list[Link]() for _ in parts]
    for link, offset in zip(block.links, offsets, strict=True):
        # The last part that starts at or before the link; `lo` keeps the index from 0.
        links[bisect_right(starts, offset, lo=1) - 1].append(link)
    return list(map(tuple, links))


def _offsets(text: str, pieces: Iterable[str]) -> list[int]:
    """The offsets in a text of pieces that follow each other in it.

    A piece that the text lacks has the offset at which the last piece ends.
    """
    offsets = list[int]()
    end = 0
    for piece in pieces:
        offset = text.find(piece, end)
        if offset < 0:
            offsets.append(end)
        else:
            offsets.append(offset)
            end = offset + len(piece)
    return offsets


def cut_text(text: str, limit: int) -> Iterator[str]:
    """The parts of a text, each of at most `limit` characters, without the blanks between them.

    Unlike semchunk, it counts characters, so it also divides runs that have few tokens.
    """
    start = 0
    while len(text) - start > limit:
        stop = _cut_offset(text, start, limit)
        part = text[start:stop].rstrip()
        if part:
            yield part
        start = stop
        if text[start] in "\n ":
            start += 1
    if text[start:].strip():
        yield text[start:]


def _cut_offset(text: str, start: int, limit: int) -> int:
    """The offset of the last cut within `limit` characters from `start`.

    It is the last end of a line or sentence in the second half of these characters, else the last
    blank among them, else their end.
    """
    end = start + limit
    offset = max(text.rfind("\n", start, end), text.rfind(". ", start, end) + len("."))
    if offset <= start + limit // 2:
        offset = text.rfind(" ", start, end)
    return offset if offset > start else end


def _sections(blocks: Sequence[Block]) -> Iterator[tuple[list[str], list[Block]]]:
    """The texts of the headings above each section, and its blocks.

    A heading with nothing below it, or of over `HEADING_CHARACTERS`, is text of the next section.
    """
    path = list[Block]()
    section = list[Block]()
    orphans = list[Block]()
    for block, following in zip_longest(blocks, blocks[1:]):
        if not _is_heading(block):
            section += [*orphans, block._replace(level=0)]
            orphans = []
            continue
        if section:
            yield [heading.text for heading in path], section
            section = []
        path = [heading for heading in path if heading.level < block.level]
        if _has_nothing_below(block, following):
            orphans.append(block._replace(level=0))
        else:
            path.append(block)
    section += orphans
    if section:
        yield [heading.text for heading in path], section


def _is_heading(block: Block) -> bool:
    """Whether a block is a heading of a section."""
    return block.level > 0 and len(block.text) <= HEADING_CHARACTERS


def _has_nothing_below(heading: Block, following: Block | None) -> bool:
    """Whether a heading is the last block, or a heading that is not below it follows."""
    if following is None:
        return True
    return _is_heading(following) and following.level <= heading.level


def _passage_row(
    title: str,
    headings: Sequence[str],
    blocks: Sequence[Block],
    metadata: Mapping[str, Any],
) -> PassageRow:
    """The fields of a passage except for its ids and its position."""
    body = "\n\n".join(block.text for block in blocks)
    if headings:
        body = f"{' > '.join(headings)}\n{body}"
    prose = [NO_NAME.sub(" ", block.text) for block in blocks if block.kind == PROSE]
    sentences = [sentence for text in prose for sentence in split_sentences(text)]
    links = [link for block in blocks for link in block.links]
    return {
        "title": title,
        "text": body,
        "metadata": {**metadata, **_headings_and_pages(headings, blocks)},
        "headings": list(headings),
        "sentences": sentences,
        "links": links,
    }


def _headings_and_pages(
    headings: Sequence[str], blocks: Sequence[Block]
) -> dict[str, Any]:
    """The headings, the first page and, if it is another, the last page of a passage."""
    fields = dict[str, Any]()
    if headings:
        fields["headings"] = list(headings)
    pages = {page for block in blocks for page in (block.page, block.last_page) if page}
    if pages:
        fields["page"] = min(pages)
    if len(pages) > 1:
        fields["last_page"] = max(pages)
    return fields
