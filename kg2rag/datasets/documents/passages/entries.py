"""`FileEntry`: the passages of one file and their report, as the store keeps them."""

from __future__ import annotations

import json
import re
import zlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import filterfalse
from typing import Any

from kg2rag.datasets.documents.blocks import (
    READER_FIELDS,
    Block,
    counted_remark,
    join_remarks,
    paragraphs,
)
from kg2rag.datasets.documents.markup.markdown import markdown_document
from kg2rag.datasets.documents.markup.markdown import visible_text as visible_markdown
from kg2rag.datasets.documents.passages.splitting import PassageRow, Splitter
from kg2rag.datasets.documents.records.json_values import value_text
from kg2rag.datasets.documents.records.tables import Table, with_texts
from kg2rag.datasets.documents.web.html import is_page, page_document, visible_text
from kg2rag.text.scripts import words
from kg2rag.types import Corpus, corpus_of
from kg2rag.types.coerce_corpus import PASSAGE, fields_of_columns

MANY_LOST = 0.03
"""Share of a file's words whose loss the report remarks on."""
_MARKDOWN = re.compile(
    r"(?m)(?:\A|\n[ \t]*\n)(?:#{1,6}[ \t]+[^\n]+(?:\n[ \t]*\n|\n?\Z)|<!--)|^```"
)
"""A heading with blank lines around it, a comment or a listing: the text of a record is Markdown."""


@dataclass
class FileEntry:
    """The passages of one file, and the counts of its words.

    Attributes
    ----------
    rows : the fields of its passages.
    titles : id of each document -> its possible titles, best first.
    names : id of each document -> other names by which links point to it.
    reason : why there are no passages; "" for a file that was read.
    remark : what the report says of the reading; "" for nothing.
    divided : number of blocks that were longer than a passage.
    words, left_out, lost : numbers of words of the file, of those left out on purpose, and of those
        that no passage has.
    failed : whether the reader raised an error; such an entry is not stored.
    """

    rows: list[PassageRow] = field(default_factory=list)
    titles: dict[str, list[str]] = field(default_factory=dict)
    names: dict[str, list[str]] = field(default_factory=dict)
    reason: str = ""
    remark: str = ""
    divided: int = 0
    words: int = 0
    left_out: int = 0
    lost: int = 0
    failed: bool = False

    def summary(self, relative_path: str) -> Mapping[str, Any]:
        """The row of a file in the report."""
        status = "read"
        if self.reason:
            status = "skipped"
        return {
            "document": relative_path,
            "status": status,
            "reason": self.reason,
            "passages": len(self.rows),
            "divided": self.divided,
            "words": self.words,
            "left_out": self.left_out,
            "lost": self.lost,
            "remark": self.remark,
        }

    def count_lost(self, lost: Sequence[str]) -> None:
        """Count the words that no passage has, and name some in the remark if they are many."""
        self.lost = len(lost)
        if self.rows and self.lost > MANY_LOST * self.words:
            examples = ", ".join(list(dict.fromkeys(lost))[:3])
            remark = f"{self.lost} of {self.words} words are in no passage, such as {examples}"
            self.remark = join_remarks(self.remark, remark)

    def dump(self) -> bytes:
        """The entry as compressed JSON."""
        return zlib.compress(
            json.dumps(vars(self), ensure_ascii=False).encode("utf-8", "surrogatepass")
        )

    @classmethod
    def load(cls, data: bytes) -> FileEntry:
        """The entry that `dump` wrote."""
        return cls(**json.loads(zlib.decompress(data)))


def table_entry(table: Table, relative_path: str, splitter: Splitter) -> FileEntry:
    """The entry of a table; records without a text are left out and counted."""
    table = with_texts(table)
    records, remark_on_ids = _numbered(table.records)
    filled = list(filterfalse(_lacks_text, records))
    corpus = corpus_of(filled or records, relative_path)
    rows = record_rows(
        corpus, splitter, prefix=f"{relative_path}#", relative_path=relative_path
    )
    n_empty = len(table.records) - len(filled)
    remark_on_empty = counted_remark("records without a text, left out", n_empty)
    entry = FileEntry(
        rows, remark=join_remarks(table.remark, remark_on_ids, remark_on_empty)
    )
    source = table.source
    if any(is_page(passage.text) for passage in corpus):
        source = visible_text(source)
    unshown = [str(column) for record in table.records for column in record]
    unshown += [
        _markup_of(passage.text) for passage in corpus if _MARKDOWN.search(passage.text)
    ]
    _count_words(entry, source, unshown)
    return entry


def _markup_of(text: str) -> str:
    """The words of a text in Markdown that it does not show, such as comments and addresses."""
    shown = set(words(visible_markdown(text)))
    return " ".join(word for word in words(text) if word not in shown)


def _count_words(entry: FileEntry, source: str, unshown: Iterable[str]) -> None:
    """Count all words of a table, and those that are left out and lost.

    unshown : the names of columns and the markup of texts, which are left out, as are ids and
        metadata.
    """
    text_words = set[str]()
    other_words = set(words("\n".join(dict.fromkeys(unshown))))
    for row in entry.rows:
        text_words.update(words(f"{row['title']}\n{row['text']}"))
        other_words.update(words(value_text([row["id"], row["metadata"]])))
    source_words = words(source)
    outside_texts = [word for word in source_words if word not in text_words]
    lost = [word for word in outside_texts if word not in other_words]
    entry.words = len(source_words)
    entry.left_out = len(outside_texts) - len(lost)
    entry.count_lost(lost)


def _numbered(
    records: Sequence[Mapping[str, Any]],
) -> tuple[Sequence[Mapping[str, Any]], str]:
    """The records, numbered from 0 if none has an id, and a remark, else "".

    A column of another name than `id` or `_id` has no ids if it repeats a value; the remark names it.
    """
    remark = ""
    columns = [str(column) for record in records for column in record]
    for column in fields_of_columns(columns, {"id": PASSAGE["id"]}):
        values = [str(record.get(column)) for record in records]
        if column.casefold() in ("id", "_id") or len(set(values)) == len(values):
            return records, ""
        remark = f"column {column!r} repeats values, records numbered as their ids"
    return [{"id": number, **record} for number, record in enumerate(records)], remark


def _lacks_text(record: Mapping[str, Any]) -> bool:
    """Whether a record has no column of text."""
    columns = {str(column).casefold() for column in record}
    return columns.isdisjoint(PASSAGE["text"])


def record_rows(
    corpus: Corpus, splitter: Splitter, *, prefix: str = "", relative_path: str = ""
) -> list[PassageRow]:
    """The passages of a table's records, or of texts.

    Each has two further fields: `record`, the id of its record, and `divided`, how many blocks of
    the record were longer than a passage. A passage keeps the document of its record. It keeps the
    position, too, unless two passages of a document have the same: then they are numbered.

    prefix : precedes the ids of passages and documents.
    relative_path : the file of the records; "" for texts.
    """
    rows = list[PassageRow]()
    documents = dict[str, list[PassageRow]]()
    for passage in corpus:
        divided_before = splitter.divided
        parts = splitter.passages(
            f"{prefix}{passage.id}",
            passage.title,
            _record_blocks(passage.text, is_of_file=bool(relative_path)),
            _record_fields(passage.metadata, relative_path),
        )
        for part in parts:
            part["record"] = passage.id
            part["divided"] = splitter.divided - divided_before
            part["doc_id"] = f"{prefix}{passage.doc_id}"
            part["position"] = passage.position
            documents.setdefault(part["doc_id"], []).append(part)
        rows += parts
    for parts in documents.values():
        if len({part["position"] for part in parts}) < len(parts):
            parts.sort(key=lambda part: part["position"])
            for position, part in enumerate(parts):
                part["position"] = position
    return rows


def _record_blocks(text: str, *, is_of_file: bool) -> list[Block]:
    """The blocks of a record's text, which may be a page of HTML or, in a file, of Markdown."""
    if is_page(text):
        return page_document(text).blocks
    if is_of_file and _MARKDOWN.search(text):
        return markdown_document(text).blocks
    return list(paragraphs(text))


def _record_fields(metadata: Mapping[str, Any], relative_path: str) -> dict[str, Any]:
    """The metadata of a record, with its file.

    A column named like a field that readers write is renamed to `column_<name>`.
    """
    fields = dict(metadata)
    if not relative_path:
        return fields
    clashing = {
        f"column_{name}": fields.pop(name) for name in READER_FIELDS if name in fields
    }
    return {"file": relative_path, **fields, **clashing}
