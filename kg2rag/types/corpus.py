"""The passages of a dataset in a fixed order, as one Arrow table, memory-mapped where it was saved.

`Passage` objects are made when they are accessed, so that millions of them need no RAM.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from kg2rag.text.normalisation import split_sentences
from kg2rag.text.records import DataError
from kg2rag.types.passages import IntArray, Passage, PassageIds

if TYPE_CHECKING:
    import pandas as pd

_TEXTS = dict.fromkeys(("id", "title", "text", "doc_id"), pa.string())
SCHEMA = pa.schema({**_TEXTS, "position": pa.int32(), "sentences": pa.list_(pa.string())})
_PASSAGE = SCHEMA.names[:-1]
_OPTIONAL = (pa.field("exact", pa.string()), pa.field("metadata", pa.string()))


class Corpus(Sequence[Passage]):
    """The passages of a dataset, in a fixed order; a passage's *row* is its place in that order, from 0.

    `table` has the columns of `SCHEMA`; `sentences` is null where the source has no sentence split. Two more may be
    there: `exact`, the text with the blanks at its ends that it has in the source, and `metadata`, as JSON objects.
    DataError: a column is missing, there is no passage, or one without id, document or text, or an id twice.
    """

    def __init__(self, table: pa.Table) -> None:
        if not isinstance(table, pa.Table):
            raise TypeError(f"A {type(table).__name__} is no Arrow table. Corpus.from_passages(...) takes passages.")
        if missing := [name for name in SCHEMA.names if name not in table.column_names]:
            raise DataError(f"The table has no column {missing[0]!r}. A corpus needs: {', '.join(SCHEMA.names)}.")
        kept = [one for one in _OPTIONAL if one.name in table.column_names and table[one.name].null_count < len(table)]
        self.table = table.select([*SCHEMA.names, *(one.name for one in kept)]).cast(pa.schema([*SCHEMA, *kept]))
        self.table = self.table.combine_chunks()
        if not len(self.table):
            raise DataError("A corpus needs at least one passage; this one is empty.")
        self.ids: list[str] = PassageIds(self.table["id"].to_pylist(), self)
        for name in ("id", "doc_id"):
            if self.table[name].null_count:
                row = self.table[name].to_pylist().index(None)
                raise DataError(f"The passage in row {row} has no {name}. Give it one.")
        self._row_of = {id_: row for row, id_ in enumerate(self.ids)}
        if len(self._row_of) < len(self.ids):
            twice = next(id_ for row, id_ in enumerate(self.ids) if self._row_of[id_] != row)
            raise DataError(f"Passage id {twice!r} is in the corpus twice. Ids must be unique.")
        inked = pc.fill_null(pc.match_substring_regex(self.table["text"], INK), False)
        for row in np.flatnonzero(~inked.to_numpy()).tolist():
            if not (self.table["text"][row].as_py() or "").strip():
                raise DataError(f"Passage {self.ids[row]!r} (row {row}) has no text. Drop it or give it text.")

    @classmethod
    def from_passages(
        cls, passages: Iterable[Passage], sentences: Sequence[Any] | None = None, exact: Sequence[Any] | None = None
    ) -> Corpus:
        """A corpus of passages in the given order.

        `sentences`: a passage's split in its source, or None; `exact`: its text there, None where it is the same.
        """
        passages = list(passages)
        for each in passages:
            if not isinstance(each, Passage):
                raise TypeError(f"A corpus is made of Passage objects, not of {each!r:.60}. Give id, title, text, ...")
        columns = [[getattr(passage, name) for passage in passages] for name in _PASSAGE]
        none = [None] * len(passages)
        extra = [json.dumps(p.metadata, ensure_ascii=False, default=str) if p.metadata else None for p in passages]
        schema = pa.schema([*SCHEMA, *_OPTIONAL])
        return cls(pa.table([*columns, sentences or none, exact or none, extra], schema=schema))

    @classmethod
    def open(cls, path: Path) -> Corpus:
        """A corpus written by `save`, memory-mapped."""
        with pa.memory_map(str(path)) as source:
            return cls(pa.ipc.open_file(source).read_all())

    def save(self, path: Path) -> None:
        """Write the table as one Arrow file."""
        with pa.OSFile(str(path), "wb") as sink, pa.ipc.new_file(sink, self.table.schema) as writer:
            writer.write_table(self.table)

    def __len__(self) -> int:
        return len(self.ids)

    def __getitem__(self, row: int) -> Passage:  # type: ignore[override]
        return next(self._passages(self.table.slice(range(len(self))[row], 1)))

    def __iter__(self) -> Iterator[Passage]:
        return self._passages(self.table)

    @staticmethod
    def _passages(table: pa.Table) -> Iterator[Passage]:
        names = [name for name in (*_PASSAGE, "metadata") if name in table.column_names]
        for batch in table.select(names).to_batches(max_chunksize=AT_ONCE):
            for record in batch.to_pylist():
                yield Passage(**{**record, "metadata": json.loads(record.get("metadata") or "{}")})

    def __contains__(self, id_: object) -> bool:
        return id_ in self._row_of

    def __repr__(self) -> str:
        return f"Corpus({len(self):,} passages, {len(set(self.doc_ids)):,} documents)"

    def row(self, id_: str) -> int:
        """The row of a passage id; KeyError names the unknown one."""
        if id_ not in self._row_of:
            raise KeyError(f"Unknown passage {id_!r}. The corpus has {len(self)} passages, such as {self.ids[0]!r}.")
        return self._row_of[id_]

    def rows(self, ids: Iterable[str]) -> IntArray:
        """The rows of several ids, ascending, each once."""
        return np.unique(np.fromiter((self.row(id_) for id_ in ids), dtype=np.int64))

    @cached_property
    def titles(self) -> list[str]:
        """The title of every passage, by row; "" where it has none."""
        return [title or "" for title in self.table["title"].to_pylist()]

    @cached_property
    def doc_ids(self) -> list[str]:
        """The document of every passage, by row."""
        return list(self.table["doc_id"].to_pylist())

    @cached_property
    def metadata(self) -> pd.DataFrame:
        """What else is known of the passages: one row each, by id, a column for each name."""
        import pandas as pd

        texts = self.table["metadata"].to_pylist() if "metadata" in self.table.column_names else [None] * len(self)
        return pd.DataFrame([json.loads(text or "{}") for text in texts], index=list(self.ids))

    def where(self, **wanted: object) -> tuple[str, ...]:
        """The ids of the passages whose metadata have these values, or one of a list; KeyError: none has the name."""
        known, kept = self.metadata, np.ones(len(self), dtype=bool)
        for name, value in wanted.items():
            if name not in known:
                raise KeyError(f"No passage has metadata {name!r}. They have: {', '.join(map(str, known)) or 'none'}.")
            kept &= known[name].isin(value if isinstance(value, list | tuple | set) else [value]).to_numpy()
        return tuple(self.ids[row] for row in np.flatnonzero(kept).tolist())

    @cached_property
    def contents(self) -> list[str]:
        """The indexed and encoded text of every passage, by row: title, line break, text."""
        return _joined(self.table)

    @property
    def streamed_contents(self) -> Contents:
        """`contents`, made while they are read: for one pass over millions."""
        return Contents(self.table)

    def joined(self, separator: str, *, exact: bool = False) -> list[str]:
        """Title, separator and text, or only the text, by row; `exact`: with the blanks at its ends in the source."""
        table = self.table
        if exact and "exact" in table.column_names:
            table = table.set_column(2, "text", pc.coalesce(table["exact"], table["text"]))
        return _joined(table, separator)

    def sentences(self, row: int) -> list[str]:
        """The sentences of a passage: the split of the source if it has one, else ours."""
        given = self.table["sentences"][row].as_py()
        return given if given is not None else split_sentences(self.table["text"][row].as_py())

    @cached_property
    def fingerprint(self) -> str:
        """sha256 over all columns, `exact` where there is one: equal corpora have equal fingerprints."""
        digest = hashlib.sha256()
        for name in self.table.column_names:
            for part in _written(self.table[name]):
                digest.update(part)
        return digest.hexdigest()

    def __reduce__(self) -> tuple[type[Corpus], tuple[pa.Table]]:
        return Corpus, (self.table,)


INK = r"[^\t-\r\x1c-\x20\x{85}\p{Z}]"  # a character that `str.strip` leaves
AT_ONCE = 10_000  # passages whose objects or texts are made together


class Contents(Sequence[str]):
    """The contents of a table's passages, by row; each is made when it is read."""

    def __init__(self, table: pa.Table) -> None:
        self.table = table

    def __len__(self) -> int:
        return len(self.table)

    def __getitem__(self, index: Any) -> Any:
        rows = range(len(self))[index]
        if isinstance(rows, int):
            return _joined(self.table.slice(rows, 1))[0]
        return _joined(self.table.take(np.array(rows, dtype=np.int64)))

    def __iter__(self) -> Iterator[str]:
        for start in range(0, len(self), AT_ONCE):
            yield from self[start : start + AT_ONCE]


def _joined(table: pa.Table, separator: str = "\n") -> list[str]:
    pairs = zip(table["title"].to_pylist(), table["text"].to_pylist(), strict=True)
    return [f"{title}{separator}{text}" if title else text for title, text in pairs]


def _written(column: pa.ChunkedArray) -> Iterator[bytes]:
    """A column: what is null, the lengths of its values, then their bytes; in whatever chunks it is."""
    if pa.types.is_list(column.type):
        yield _little(pc.fill_null(pc.list_value_length(column), -1))
        yield from _written(pc.list_flatten(column))
    elif pa.types.is_string(column.type):
        yield _little(pc.fill_null(pc.binary_length(column), -1))
        for start in range(0, len(column), AT_ONCE):
            yield "".join(filter(None, column.slice(start, AT_ONCE).to_pylist())).encode()
    else:
        yield pc.is_null(column).to_numpy().tobytes()
        yield _little(pc.fill_null(column, 0))


def _little(numbers: pa.ChunkedArray) -> bytes:
    return bytes(numbers.to_numpy().astype("<i4").tobytes())
