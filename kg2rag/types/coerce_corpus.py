"""Texts, records or a DataFrame, in whatever shape people have them -> a `Corpus`, and the records of any table."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from kg2rag.text.records import DataError, quote, reading, wrong
from kg2rag.text.records import text as text_of
from kg2rag.types.corpus import Corpus
from kg2rag.types.passages import Passage

PASSAGE: Mapping[str, tuple[str, ...]] = {
    "id": ("id", "_id", "passage_id", "chunk_id", "docid"),
    "text": ("text", "contents", "content", "body", "passage", "paragraph"),
    "title": ("title", "name", "headline"),
    "doc_id": ("doc_id", "document_id"),
    "position": ("position",),
}
"""Field -> what a column of it may be called; of several, the first counts, and the others are metadata."""


def corpus_of(given: object, where: str = "corpus") -> Corpus:
    """A corpus of texts, of records (dicts), of `Passage`s, of a mapping from id to text or record, or of a DataFrame.

    Ids may be of any type, and are places from 0 (of a DataFrame, its index) where there are none. Fields that
    `PASSAGE` does not name are metadata. DataError names record and field: no text, a wrong type, an id twice.
    """
    if isinstance(given, Corpus):
        return given
    items = list(given) if isinstance(given, Iterable) and not isinstance(given, str | bytes | Mapping) else []
    with reading(where, "Give at least one passage.", ValueError):
        if items and all(isinstance(one, Passage) for one in items):
            return Corpus.from_passages(items)
        rows = enumerate(records(given, where, PASSAGE), start=1)
        return Corpus.from_passages(_passage(row, where, number) for number, row in rows)


def _passage(row: Mapping[str, Any], where: str, number: int) -> Passage:
    if "text" not in row:
        names = ", ".join(PASSAGE["text"])
        raise DataError(f"{where}, record {number}: no text; it has {', '.join(row)}. Call its column one of {names}.")
    id_, position = identifier(row.get("id"), where, number), row.get("position", 0)
    if isinstance(position, bool) or not isinstance(position, int) or position < 0:
        wrong(where, number, "position", position, "a whole number from 0")
    document = identifier(row["doc_id"], where, number) if "doc_id" in row else id_
    title = text_of(row, "title", where, number) if "title" in row else ""
    extra = {name: value for name, value in row.items() if name not in PASSAGE}
    return Passage(id_, title, text_of(row, "text", where, number), document, position, extra)


def records(given: object, where: str, names: Mapping[str, Sequence[str]]) -> list[dict[str, Any]]:
    """The rows of a table or list under our names of their fields, without missing values.

    `names` : field -> what it may be called; of those without an `id`, the place is the id.
    """
    rows = list(_rows(given, where))
    columns = dict.fromkeys(column for row in rows for column in row)
    found = {field: next((name for name in called if name in columns), None) for field, called in names.items()}
    ours = {theirs: field for field, theirs in found.items() if theirs is not None}
    renamed = ({ours.get(str(name), str(name)): value for name, value in row.items()} for row in rows)
    return [row if found["id"] else {"id": at, **row} for at, row in enumerate(renamed)]


def _rows(given: Any, where: str) -> Iterator[dict[str, Any]]:
    if hasattr(given, "to_dict") and hasattr(given, "columns"):
        import pandas as pd

        named = not isinstance(given.index, pd.RangeIndex) and not set(PASSAGE["id"]) & set(map(str, given.columns))
        # Through Python objects: pandas keeps whole numbers as numpy's, and as floats beside a missing value.
        for label, row in zip(given.index, given.to_dict("records"), strict=True):
            own = {k: plain(v) for k, v in row.items() if not (pd.api.types.is_scalar(v) and pd.isna(v))}
            yield {str(k): v for k, v in ({"id": label, **own} if named else own).items()}
        return
    if isinstance(given, Mapping):
        given = [{"id": id_, **(one if isinstance(one, Mapping) else {"text": one})} for id_, one in given.items()]
    if isinstance(given, str | bytes) or not isinstance(given, Iterable):
        wanted = "a list of texts or of dicts, {id: text} or a DataFrame"
        raise TypeError(f"{where}: give {wanted}, not {quote(given)}. kg2rag.from_folder(path) reads files.")
    for number, one in enumerate(given, start=1):
        if not isinstance(one, str | Mapping):
            raise TypeError(f"{where}, record {number}: a text or a dict is needed, not {quote(one)}.")
        yield {"text": one} if isinstance(one, str) else {k: v for k, v in one.items() if v is not None}


def plain(value: Any) -> Any:
    """A value of pandas or numpy as Python's: an array as a list, a whole float as a whole number."""
    if hasattr(value, "tolist"):
        value = value.tolist()
    return int(value) if isinstance(value, float) and value.is_integer() else value


def identifier(value: object, where: str, number: int) -> str:
    """An id of any type as text; a whole float is a whole number. DataError where it is empty or a collection."""
    shown = "" if value is None else str(plain(value))
    if not shown.strip() or value != value or isinstance(value, bool | dict | list | set):
        raise DataError(f"{where}, record {number}: its id is {quote(value)}. Every record needs one of its own.")
    return shown
