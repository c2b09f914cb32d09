"""The passages of a dataset in a fixed order: one Arrow table, memory-mapped after a save.

`Passage` objects are made when they are accessed, so that millions of them need no RAM.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from kg2rag.text.records import DataError
from kg2rag.text.sentences import split_sentences
from kg2rag.types.passages import IntArray, Passage

if TYPE_CHECKING:
    import pandas as pd

_TEXTS = dict.fromkeys(("id", "title", "text", "doc_id"), pa.string())
SCHEMA = pa.schema(
    {**_TEXTS, "position": pa.int32(), "sentences": pa.list_(pa.string())}
)
_PASSAGE = SCHEMA.names[:-1]
_OPTIONAL = (pa.field("exact", pa.string()), pa.field("metadata", pa.string()))


class Corpus(Sequence[Passage]):
    """The passages of a dataset in a fixed order; the *row* of a passage is its index, from 0.

    `table` has the columns of `SCHEMA`; `sentences` is null if the source has no sentence split.
    Two columns are optional: `exact`, the text with the leading and trailing blanks of the source,
    and `metadata`, a JSON object. DataError: a column is missing, there is no passage, a passage
    has no id, document or text, or two passages have one id.
    """

    def __init__(self, table: pa.Table) -> None:
        if not isinstance(table, pa.Table):
            raise TypeError(
                f"A {type(table).__name__} is no Arrow table. Corpus.from_passages(...) takes passages."
            )
        for name in SCHEMA.names:
            if name not in table.column_names:
                raise DataError(
                    f"The table has no column {name!r}. A corpus needs: {', '.join(SCHEMA.names)}."
                )
        fields = [
            *SCHEMA,
            *(field for field in _OPTIONAL if _has_values(table, field.name)),
        ]
        self.table = (
            table.select([field.name for field in fields])
            .cast(pa.schema(fields))
            .combine_chunks()
        )
        self.ids: list[str] = PassageIds(self.table["id"].to_pylist(), self)
        self._row_of = {id_: row for row, id_ in enumerate(self.ids)}
        self._require_values()

    def _require_values(self) -> None:
        """Raise DataError for the first passage without id, document or text, or an id twice."""
        if not len(self.table):
            raise DataError("A corpus needs at least one passage; this one is empty.")
        for name in ("id", "doc_id"):
            missing = np.flatnonzero(self.table[name].is_null().to_numpy())
            if len(missing):
                raise DataError(
                    f"The passage in row {missing[0]} has no {name}. Give it one."
                )
        for row, id_ in enumerate(self.ids):
            if self._row_of[id_] != row:
                raise DataError(
                    f"Passage id {id_!r} is in the corpus twice. Ids must be unique."
                )
        has_ink = pc.fill_null(pc.match_substring_regex(self.table["text"], INK), False)
        for row in np.flatnonzero(~has_ink.to_numpy()).tolist():
            if not (self.table["text"][row].as_py() or "").strip():
                raise DataError(
                    f"Passage {self.ids[row]!r} (row {row}) has no text. Drop it or give it text."
                )

    @classmethod
    def from_passages(
        cls,
        passages: Iterable[Passage],
        sentences: Sequence[Any] | None = None,
        exact: Sequence[Any] | None = None,
    ) -> Corpus:
        """The corpus of some passages, in their order.

        `sentences` has the sentences of each passage in its source, or None; `exact` its text in
        the source, or None if the text is the same.
        """
        passages = list(passages)
        for passage in passages:
            if not isinstance(passage, Passage):
                raise TypeError(
                    f"A corpus is made of Passage objects, not of {passage!r:.60}. Give id, title, text, …"
                )
        columns = dict[str, Sequence[Any]]()
        for name in _PASSAGE:
            columns[name] = [getattr(passage, name) for passage in passages]
        nulls = [None] * len(passages)
        columns["sentences"] = sentences or nulls
        columns["exact"] = exact or nulls
        columns["metadata"] = [_as_json(passage.metadata) for passage in passages]
        return cls(pa.table(columns, schema=pa.schema([*SCHEMA, *_OPTIONAL])))

    @classmethod
    def open(cls, path: Path) -> Corpus:
        """The corpus that `save` wrote to a file, memory-mapped."""
        with pa.memory_map(str(path)) as source:
            return cls(pa.ipc.open_file(source).read_all())

    def save(self, path: Path) -> None:
        """Write the table as one Arrow file."""
        with (
            pa.OSFile(str(path), "wb") as sink,
            pa.ipc.new_file(sink, self.table.schema) as writer,
        ):
            writer.write_table(self.table)

    def __len__(self) -> int:
        return len(self.ids)

    def __getitem__(self, row: int) -> Passage:  # type: ignore[override]
        return next(self._passages(self.table.slice(range(len(self))[row], 1)))

    def __iter__(self) -> Iterator[Passage]:
        return self._passages(self.table)

    @staticmethod
    def _passages(table: pa.Table) -> Iterator[Passage]:
        """The passages of a table's rows, converted in batches."""
        columns = [
            name for name in (*_PASSAGE, "metadata") if name in table.column_names
        ]
        for batch in table.select(columns).to_batches(max_chunksize=BATCH_PASSAGES):
            for record in batch.to_pylist():
                metadata = json.loads(record.pop("metadata", None) or "{}")
                yield Passage(**record, metadata=metadata)

    def __contains__(self, id_: object) -> bool:
        return id_ in self._row_of

    def __repr__(self) -> str:
        return f"Corpus({len(self):,} passages, {len(set(self.doc_ids)):,} documents)"

    def row(self, id_: str) -> int:
        """The row of a passage id; KeyError names the unknown one."""
        if id_ not in self._row_of:
            raise KeyError(
                f"Unknown passage {id_!r}. The corpus has {len(self)} passages, such as {self.ids[0]!r}."
            )
        return self._row_of[id_]

    def rows(self, ids: Iterable[str]) -> IntArray:
        """The distinct rows of several ids, ascending."""
        return np.unique(np.fromiter((self.row(id_) for id_ in ids), dtype=np.int64))

    @cached_property
    def titles(self) -> list[str]:
        """The title of every passage, by row; "" if it has none."""
        return [title or "" for title in self.table["title"].to_pylist()]

    @cached_property
    def doc_ids(self) -> list[str]:
        """The document of every passage, by row."""
        return list(self.table["doc_id"].to_pylist())

    @cached_property
    def metadata(self) -> pd.DataFrame:
        """The metadata of all passages: one row each, indexed by id; one column per name."""
        import pandas as pd

        if "metadata" not in self.table.column_names:
            return pd.DataFrame(index=list(self.ids))
        records = [
            json.loads(text or "{}") for text in self.table["metadata"].to_pylist()
        ]
        return pd.DataFrame(records, index=list(self.ids))

    def where(self, **values: object) -> tuple[str, ...]:
        """The ids of the passages with these metadata values.

        A list, tuple or set of values allows any of them. KeyError: no passage has metadata of a
        name.
        """
        metadata = self.metadata
        selected = np.ones(len(self), dtype=bool)
        for name, value in values.items():
            if name not in metadata:
                raise KeyError(
                    f"No passage has metadata {name!r}. They have: {', '.join(map(str, metadata)) or 'none'}."
                )
            allowed = value if isinstance(value, list | tuple | set) else [value]
            selected &= metadata[name].isin(allowed).to_numpy()
        return tuple(self.ids[row] for row in np.flatnonzero(selected).tolist())

    @cached_property
    def contents(self) -> list[str]:
        """The indexed and encoded text of every passage, by row: title, line break, text."""
        return _titled_texts(self.table)

    @property
    def streamed_contents(self) -> Contents:
        """`contents`, built lazily: for one pass over millions of passages."""
        return Contents(self.table)

    def joined(self, separator: str, *, exact: bool = False) -> list[str]:
        """Title, separator and text by row, or only the text without a title.

        `exact` : the text keeps the leading and trailing blanks of the source.
        """
        table = self.table
        if exact and "exact" in table.column_names:
            table = table.set_column(
                2, "text", pc.coalesce(table["exact"], table["text"])
            )
        return _titled_texts(table, separator)

    def sentences(self, row: int) -> list[str]:
        """The sentences of a passage: the split of the source if it has one, else ours."""
        split: list[str] | None = self.table["sentences"][row].as_py()
        return (
            split_sentences(self.table["text"][row].as_py()) if split is None else split
        )

    @cached_property
    def fingerprint(self) -> str:
        """The sha256 of all columns, `exact` included; equal corpora have equal fingerprints."""
        digest = hashlib.sha256()
        for name in self.table.column_names:
            for part in _hashed_bytes(self.table[name]):
                digest.update(part)
        return digest.hexdigest()

    def __reduce__(self) -> tuple[type[Corpus], tuple[pa.Table]]:
        return Corpus, (self.table,)


INK = r"[^\t-\r\x1c-\x20\x{85}\p{Z}]"  # a character that `str.strip` keeps
BATCH_PASSAGES = 10_000  # passages that are converted together


class Contents(Sequence[str]):
    """The contents of a table's passages by row, each built when it is read."""

    def __init__(self, table: pa.Table) -> None:
        self.table = table

    def __len__(self) -> int:
        return len(self.table)

    def __getitem__(self, index: Any) -> Any:
        rows = range(len(self))[index]
        if isinstance(rows, int):
            return _titled_texts(self.table.slice(rows, 1))[0]
        return _titled_texts(self.table.take(np.array(rows, dtype=np.int64)))

    def __iter__(self) -> Iterator[str]:
        for start in range(0, len(self), BATCH_PASSAGES):
            yield from self[start : start + BATCH_PASSAGES]


class PassageIds(list[str]):
    """The passage ids of a corpus by row, with a reference to it; copied or pickled as a list."""

    def __init__(self, ids: Iterable[str], corpus: Corpus) -> None:
        super().__init__(ids)
        self.corpus = corpus

    def __reduce_ex__(self, protocol: Any) -> tuple[type[list[str]], tuple[list[str]]]:
        return list, (list(self),)


def _has_values(table: pa.Table, column: str) -> bool:
    """Whether a table has a column with at least one value."""
    return column in table.column_names and table[column].null_count < len(table)


def _as_json(metadata: Mapping[str, Any]) -> str | None:
    """The metadata as JSON, values without a JSON type as texts; None if there is none."""
    return json.dumps(metadata, ensure_ascii=False, default=str) if metadata else None


def _titled_texts(table: pa.Table, separator: str = "\n") -> list[str]:
    """The title, separator and text of each passage; only the text if it has no title."""
    pairs = zip(table["title"].to_pylist(), table["text"].to_pylist(), strict=True)
    return [f"{title}{separator}{text}" if title else text for title, text in pairs]


def _hashed_bytes(column: pa.ChunkedArray) -> Iterator[bytes]:
    """The bytes of a column that a checksum covers, in pieces; they do not depend on its chunks.

    The length of each value, -1 for null, comes before the values.
    """
    if pa.types.is_list(column.type):
        yield _little_endian(pc.fill_null(pc.list_value_length(column), -1))
        yield from _hashed_bytes(pc.list_flatten(column))
    elif pa.types.is_string(column.type):
        yield _little_endian(pc.fill_null(pc.binary_length(column), -1))
        for start in range(0, len(column), BATCH_PASSAGES):
            yield "".join(
                filter(None, column.slice(start, BATCH_PASSAGES).to_pylist())
            ).encode()
    else:
        yield pc.is_null(column).to_numpy().tobytes()
        yield _little_endian(pc.fill_null(column, 0))


def _little_endian(numbers: pa.ChunkedArray) -> bytes:
    """The numbers as 32-bit integers in one byte order, the same on every machine."""
    return bytes(numbers.to_numpy().astype("<i4").tobytes())
