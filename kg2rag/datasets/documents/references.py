"""Lists of references in BibTeX, by pandoc -> one document per entry, with authors and abstract."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from kg2rag.datasets.documents.blocks import Block, FileDocument, one_line
from kg2rag.datasets.documents.decoding import decode_text
from kg2rag.datasets.documents.plain import converted
from kg2rag.text.records import DataError, parse_json

_TEXT_FIELDS = (
    *("container-title", "publisher", "keyword", "abstract", "note", "annote"),
)
# pandoc writes English titles in lower case; of an entry in German it leaves them as they are.
_LANGUAGE = re.compile(r"(?im)^([ \t]*)(?:langid|language)(?=[ \t]*=)")
_KEY = re.compile(r"(?m)^([ \t]*@(?!(?i:comment|string|preamble)\b)\w+\s*\{[^,{}=]*,)")
_TAG = re.compile(r"</?[a-z]+[^<>]*>")


def read_references(data: bytes, name: str) -> list[FileDocument]:
    """One document per reference; DataError: pandoc cannot read the list, or it is empty."""
    decoded = decode_text(data)
    text = _LANGUAGE.sub(r"\1original-language", decoded.text)
    text = _KEY.sub(r"\1 langid = {ngerman},", text)
    entries = parse_json(converted(text, "bibtex", "csljson").text, name)
    if not entries:
        raise DataError("it has no entry.")
    return [_entry_document(entry, decoded.remark) for entry in entries]


def _entry_document(entry: Mapping[str, Any], remark: str) -> FileDocument:
    """The document of an entry in CSL-JSON."""
    title = _without_tags(entry.get("title", ""))
    lines = [", ".join(_people(entry)), _date(entry)]
    lines += [_without_tags(entry.get(field, "")) for field in _TEXT_FIELDS]
    blocks = [Block(title, 1), *map(Block, lines)]
    return FileDocument(
        [block for block in blocks if block.text],
        title=title,
        key=str(entry.get("id", title)),
        source="\n".join([title, *lines]),
        remark=remark,
    )


def _without_tags(value: object) -> str:
    """A field as one line without markup."""
    return one_line(_TAG.sub("", str(value)))


def _people(entry: Mapping[str, Any]) -> Iterator[str]:
    """The names of the authors, then of the editors."""
    for person in [*entry.get("author", ()), *entry.get("editor", ())]:
        parts = [
            person.get("given", ""),
            person.get("family", ""),
            person.get("literal", ""),
        ]
        yield " ".join(filter(None, parts))


def _date(entry: Mapping[str, Any]) -> str:
    """The date of an entry as year-month-day, as far as it is known."""
    dates = entry.get("issued", {}).get("date-parts") or [[]]
    return "-".join(map(str, dates[0]))
