"""A canvas (Obsidian, JSON Canvas) -> the texts of its cards, and links to the files that it shows."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from kg2rag.datasets.documents.blocks import FileDocument, joined_documents
from kg2rag.datasets.documents.decoding import decode_text
from kg2rag.datasets.documents.markdown import markdown_document
from kg2rag.text.records import DataError, parse_json


def read_canvas(data: bytes, name: str = "") -> list[FileDocument]:
    """The document of a canvas: the texts, labels, files and addresses of its cards and arrows.

    DataError: it is no canvas.
    """
    canvas = parse_json(decode_text(data).text, name or "canvas")
    if not isinstance(canvas, Mapping) or not isinstance(canvas.get("nodes"), list):
        raise DataError("it is no canvas: its JSON has no list of nodes.")
    cards = joined_documents(
        [
            markdown_document("\n\n".join(_texts(part)))
            for part in [*canvas["nodes"], *(canvas.get("edges") or [])]
            if isinstance(part, Mapping)
        ]
    )
    # A heading of level 1 names a card, not the canvas.
    blocks = [
        block._replace(level=block.level + 1) if block.level else block
        for block in cards.blocks
    ]
    return [replace(cards, blocks=blocks)]


def _texts(part: Mapping[str, Any]) -> Iterator[str]:
    """The label, text, address and file of a card or an arrow, as Markdown."""
    for name in ("label", "text", "url"):
        yield str(part.get(name) or "")
    if part.get("file"):
        yield f"[[{part['file']}]]"
