"""Test collections and corpora in one text file -> one document per record, with its id and title.

A record of SMART (Cranfield, Medline, CISI, CACM) begins with `.I` and its number, and has fields such
as `.T`, the title, and `.W`, the text. One of NPL is a line with its number, the text, and a line with
a slash. One of TREC or WikiExtractor is an element `doc`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace

from kg2rag.datasets.documents.blocks import (
    FileDocument,
    one_line,
    plain_document,
    titled_blocks,
)
from kg2rag.datasets.documents.web.html import visible_text

_SMART = re.compile(r"\s*\.I[ \t]*\d+[ \t]*\n\.[A-Z][ \t]*\n")
_RECORD = re.compile(r"(?m)^\.I[ \t]*(\d+)[ \t]*$")
_FIELD = re.compile(r"(?m)^\.([A-Z])[ \t]*$")
_NPL = re.compile(r"\s*1[ \t]*\n(?:[^/\n]+\n)+[ \t]*/[ \t]*\n\s*2[ \t]*\n")
_NPL_RECORD = re.compile(r"(?m)^[ \t]*(\d+)[ \t]*\n((?:[^/\n]+\n)+)[ \t]*/[ \t]*$")
_ABOUT = ("A", "B", "K")
"""Fields that are read beside title and text: authors, publication, keywords. Others are numbers."""

_COLLECTION = re.compile(r"\s*<(?:DOC|doc [^<>]*)>")
_COLLECTED = re.compile(r"(?is)<doc\b([^<>]*)>(.*?)</doc>")
_ELEMENT = re.compile(r"(?is)<(docno|title|headline)>(.*?)</\1>")
_ATTRIBUTE = re.compile(r'(\w+)="([^"]*)"')


def is_collection(text: str) -> bool:
    """Whether a text begins like a collection."""
    return any(start.match(text) for start in (_SMART, _NPL, _COLLECTION))


def collection_documents(text: str, remark: str = "") -> Iterator[FileDocument]:
    """One document per record of a collection."""
    if _COLLECTION.match(text):
        yield from _element_documents(text, remark)
    elif _NPL.match(text):
        for number, body in _NPL_RECORD.findall(text):
            yield replace(plain_document(body, remark), key=number)
    else:
        parts = _RECORD.split(text)
        for number, body in zip(parts[1::2], parts[2::2], strict=True):
            yield _smart_document(number, body, remark)


def _smart_document(number: str, body: str, remark: str) -> FileDocument:
    """The document of a record; a text that begins with the title has it once."""
    fields = _fields(body)
    title = one_line(fields.get("T", ""))
    text = one_line(fields.get("W", ""))
    values = [one_line(fields.get(name, "")) for name in _ABOUT]
    left_out = [fields[name] for name in fields if name not in ("T", "W", *_ABOUT)]
    if title and text.startswith(title):
        text = text.removeprefix(title).strip()
        left_out.append(title)
    return FileDocument(
        titled_blocks(title, [*values, text]),
        title=title,
        key=number,
        source="\n".join(fields.values()),
        left_out="\n".join(left_out),
        remark=remark,
    )


def _fields(body: str) -> Mapping[str, str]:
    """The fields of a record by their letters; of a field that occurs twice, all lines."""
    parts = _FIELD.split(body)
    fields = dict[str, str]()
    for name, value in zip(parts[1::2], parts[2::2], strict=True):
        fields[name] = "\n".join(filter(None, [fields.get(name), value.strip()]))
    return fields


def _element_documents(text: str, remark: str) -> Iterator[FileDocument]:
    """The documents of a collection of TREC or WikiExtractor."""
    for attributes, body in _COLLECTED.findall(text):
        fields = dict(_ATTRIBUTE.findall(attributes))
        fields |= {tag.casefold(): field for tag, field in _ELEMENT.findall(body)}
        key = fields.get("docno") or fields.get("id", "")
        title = one_line(fields.get("title") or fields.get("headline", ""))
        document = plain_document(visible_text(_ELEMENT.sub("", body)), remark)
        yield replace(
            document,
            blocks=[block for block in document.blocks if block.text != title],
            title=title,
            key=key.strip(),
        )
