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
    "text": ("text", "contents", "content", "body", "passage", "paragraph", "page_content"),
    "title": ("title", "name", "headline"),
    "doc_id": ("doc_id", "document_id"),
    "position": ("position",),
}
"""Field -> what a column of it may be called; of several, the first counts, and the others are metadata."""


def corpus_of(given: object, where: str = "corpus") -> Corpus:
    """A corpus of texts, of records (dicts), of `Passage`s, of a mapping from id to text or record, or of a frame.

    Frames are of pandas, polars, pyarrow or any library that narwhals knows; documents of LangChain and LlamaIndex are
    records. Ids may be of any type; without them they are places from 0, or the index of a pandas frame. Fields that
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
    id_ = identifier(row.get("id"), where, number)
    position = row.get("position", 0)
    if isinstance(position, str) and position.strip().isdecimal():  # of a table without types
        position = int(position)
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
    rows = list(_rows(given, where, names.get("id", ())))
    columns = dict.fromkeys(str(column) for row in rows for column in row)
    column_of = {column.casefold(): column for column in reversed(columns)} | {column: column for column in columns}
    found = {
        field: next((column_of[name] for name in called if name in column_of), "") for field, called in names.items()
    }
    ours = {theirs: field for field, theirs in found.items() if theirs}
    renamed = ({ours.get(str(name), str(name)): value for name, value in row.items()} for row in rows)
    return [row if found["id"] else {"id": at, **row} for at, row in enumerate(renamed)]


def _rows(given: Any, where: str, id_names: Sequence[str]) -> Iterator[dict[str, Any]]:
    frame = _frame(given)
    if frame is not None:
        yield from _frame_rows(frame, where, id_names)
        return
    if isinstance(given, Mapping):
        given = [{"id": id_, **(one if isinstance(one, Mapping) else {"text": one})} for id_, one in given.items()]
    if isinstance(given, str | bytes) or not isinstance(given, Iterable):
        wanted = "a list of texts or of dicts, {id: text} or a frame"
        raise TypeError(f"{where}: give {wanted}, not {quote(given)}. kg2rag.from_folder(path) reads files.")
    for number, item in enumerate(given, start=1):
        record = _library_document(item)
        if isinstance(record, str):
            record = {"text": record}
        if not isinstance(record, Mapping):
            raise TypeError(f"{where}, record {number}: a text or a dict is needed, not {quote(item)}.")
        yield {key: value for key, value in record.items() if value is not None}


def _frame(given: Any) -> Any:
    """A frame of pandas, polars, pyarrow or another library as narwhals has it; None for anything else."""
    import narwhals as nw

    frame = nw.from_native(given, pass_through=True)
    if isinstance(frame, nw.LazyFrame):
        return frame.collect()
    return frame if isinstance(frame, nw.DataFrame) else None


def _frame_rows(frame: Any, where: str, id_names: Sequence[str]) -> Iterator[dict[str, Any]]:
    """The rows of a frame with a value; the index of a pandas frame is the id if no column is."""
    native = frame.to_native()
    labels: list[Any] = []
    if hasattr(native, "index") and not set(id_names) & set(map(str, frame.columns)):
        import pandas as pd

        labels = [] if isinstance(native.index, pd.RangeIndex) else native.index.tolist()
        twice = native.index[native.index.duplicated()]
        if labels and len(twice):
            raise DataError(
                f"{where}: no column is an id, and the index has {quote(twice[0])} more than once. "
                "Give a column 'id', or number the rows: frame.reset_index(drop=True)."
            )
    for row, values in enumerate(frame.iter_rows(named=True)):
        fields = {str(name): plain(value) for name, value in values.items() if not _is_missing(value)}
        yield {"id": labels[row], **fields} if labels else fields


def _is_missing(value: Any) -> bool:
    """Whether a cell is empty: None, NaN, or the NaT or NA of pandas, which differ from themselves or have no truth."""
    if value is None:
        return True
    if hasattr(value, "__len__"):
        return False
    try:
        return bool(value != value)
    except TypeError:  # pandas.NA
        return True


def _library_document(item: Any) -> Any:
    """A document of LangChain or LlamaIndex as a record: its text, id and metadata; anything else as it is."""
    metadata = getattr(item, "metadata", None)
    if not isinstance(metadata, Mapping):
        return item
    if isinstance(getattr(item, "page_content", None), str):
        return {**metadata, "id": getattr(item, "id", None) or metadata.get("id"), "text": item.page_content}
    if callable(getattr(item, "get_content", None)):
        document = getattr(item, "ref_doc_id", None)
        return {**metadata, "id": getattr(item, "node_id", None), "text": item.get_content(), "doc_id": document}
    return item


def plain(value: Any) -> Any:
    """A value of pandas or numpy as Python's: an array as a list, a whole float as a whole number."""
    if hasattr(value, "tolist"):
        value = value.tolist()
    return int(value) if isinstance(value, float) and value.is_integer() else value


def identifier(value: object, where: str, number: int) -> str:
    """An id of any type as text; a whole float is a whole number. DataError where it is empty or a collection."""
    shown = "" if value is None else str(plain(value))
    if not shown.strip() or value != value or isinstance(value, bool | dict | list | set):
        raise DataError(f"{where}, record {number}: its id is {quote(value)}. Give every record a unique one.")
    return shown
