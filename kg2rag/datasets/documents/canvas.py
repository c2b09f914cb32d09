"""A canvas (Obsidian, JSON Canvas) -> the texts of its cards, and links to the files that it shows."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from kg2rag.datasets.documents.blocks import Block, FileDocument, Link, joined_documents
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
    cards = _objects(canvas["nodes"])
    arrows = _objects(canvas.get("edges") or [])
    texts = joined_documents(list(_text_pages(cards)))
    labels = [*_link_blocks(cards), *_label_blocks([*cards, *arrows])]
    source = [texts.source, *(block.text for block in labels)]
    blocks = [*_below_title(texts.blocks), *labels]
    return [replace(texts, blocks=blocks, source="\n".join(source))]


def _objects(values: list[Any]) -> list[Mapping[str, Any]]:
    return [value for value in values if isinstance(value, Mapping)]


def _text_pages(cards: list[Mapping[str, Any]]) -> Iterator[FileDocument]:
    for card in cards:
        if card.get("text"):
            yield markdown_document(str(card["text"]))


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
