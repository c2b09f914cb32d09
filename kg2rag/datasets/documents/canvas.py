"""A canvas (Obsidian, JSON Canvas) -> the texts of its cards, and links to the files that it shows."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from kg2rag.datasets.documents.blocks import Block, FileDocument, Link
from kg2rag.datasets.documents.decoding import decode_text
from kg2rag.datasets.documents.markdown import markdown_document
from kg2rag.text.records import DataError, parse_json


def read_canvas(data: bytes, name: str = "") -> list[FileDocument]:
    """The document of a canvas: cards of text, titles of groups, files and addresses, and labels of arrows.

    DataError: it is no canvas.
    """
    canvas = parse_json(decode_text(data).text, name or "canvas")
    if not isinstance(canvas, Mapping) or not isinstance(canvas.get("nodes"), list):
        raise DataError("it is no canvas: its JSON has no list of nodes.")
    cards = [card for card in canvas["nodes"] if isinstance(card, Mapping)]
    arrows = [arrow for arrow in canvas.get("edges") or [] if isinstance(arrow, Mapping)]
    pages = [markdown_document(str(card["text"])) for card in cards if card.get("text")]
    blocks = [block for page in pages for block in page.blocks]
    labels = [*_link_blocks(cards), *_label_blocks([*cards, *arrows])]
    source = [page.source for page in pages] + [block.text for block in labels]
    left_out = [page.left_out for page in pages]
    return [
        FileDocument(
            [*_below_title(blocks), *labels],
            source="\n".join(source),
            left_out="\n".join(left_out),
        )
    ]


def _below_title(blocks: list[Block]) -> Iterator[Block]:
    """The blocks of cards, whose headings name a card and not the canvas."""
    for block in blocks:
        level = block.level + 1 if block.level else 0
        yield block._replace(level=level)


def _link_blocks(cards: list[Mapping[str, Any]]) -> Iterator[Block]:
    for card in cards:
        target = str(card.get("file") or card.get("url") or "")
        if target:
            yield Block(target, links=(Link(target, target),))


def _label_blocks(parts: list[Mapping[str, Any]]) -> Iterator[Block]:
    for part in parts:
        if part.get("label"):
            yield Block(str(part["label"]))
