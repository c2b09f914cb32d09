"""The records of a table of triples -> columns of numbers: what each row says, checked, its texts numbered.

Records come in pieces. A piece whose values are all as they should be is taken column by column; any other is read row
by row, which knows every exception and words the errors.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path

import numpy as np
import pyarrow as pa

from kg2rag.extraction.columns import Codes, Numbering
from kg2rag.extraction.importers.file_source import Row
from kg2rag.text.parquet import read_parquet
from kg2rag.text.records import DataError, Record, read_delimited, read_jsonl, wrong
from kg2rag.types import FloatArray, IntArray

COLUMNS: Mapping[str, tuple[str, ...]] = {
    "head": ("head", "subject", "subj", "h"),
    "relation": ("relation", "predicate", "rel", "r"),
    "tail": ("tail", "object", "obj", "t"),
    "passage_id": ("passage_id", "chunk_id", "passage", "chunk"),
    "strength": ("strength", "weight"),
    "confidence": ("confidence", "llm_confidence"),
    "head_type": ("head_type", "subject_type", "subj_type"),
    "tail_type": ("tail_type", "object_type", "obj_type"),
    "head_id": ("head_id", "subject_id", "subj_id"),
    "tail_id": ("tail_id", "object_id", "obj_id"),
    "description": ("description", "relation_description"),
}
REQUIRED = ("head", "relation", "tail", "passage_id")
ONE_LINE = tuple(name for field, names in COLUMNS.items() for name in names if field != "description")
"""Columns of a CSV whose cells hold no line break."""
# The greatest value, and the one taken where none is given.
RANGES = {"strength": (10.0, 5.0), "confidence": (1.0, 1.0)}
TEXTS = {
    "head": "name",
    "tail": "name",
    "relation": "relation",
    "passage_id": "passage",
    "description": "description",
} | {f"{end}_{what}": what for end in ("head", "tail") for what in ("type", "id")}
"""Field -> the numbering that its texts have; both ends share one."""
PIECE = 20_000
BLANK = "triples with a blank part"
DOUBTED = "triples of confidence 0"
OUTSIDE = "triples of passages outside the corpus"

Values = Mapping[str, Sequence[object]]


@dataclass
class TripleRows:
    """What the rows of a table say, (n_rows,) of each column, stripped of outer white space.

    Attributes
    ----------
    texts : numbering -> its texts: "name", "relation", "passage", "description", "type", "id".
    codes : field -> the numbers of its texts; "" where it is null, or optional and missing.
    weights : "strength" and "confidence", in their ranges; 0 for a confidence that is.
    numbers : the line or record of each row, from 1.
    """

    texts: Mapping[str, Sequence[str]]
    codes: Mapping[str, Codes]
    weights: Mapping[str, FloatArray]
    numbers: IntArray


def read_rows(source: Path | pa.Table, known: Collection[str]) -> TripleRows:
    """The rows of a file by its suffix, or of a table; `known` are the passages of the corpus.

    Raises
    ------
    ValueError : a column is missing, or a value of a row that counts is of the wrong type or out of range.
    """
    file = source if isinstance(source, Path) else "DataFrame"
    numberings = {kind: Numbering("") for kind in TEXTS.values()}
    pieces: list[tuple[dict[str, Codes], dict[str, FloatArray], IntArray]] = []
    for piece in _pieces(source):
        texts, weights = piece.checked() or _row_by_row(str(file), piece, known)
        codes = {name: numberings[kind].codes(texts.get(name, ())) for name, kind in TEXTS.items()}
        absent = np.zeros(len(piece.numbers), dtype=np.int32)  # the code of ""
        codes = {name: found if name in texts else absent for name, found in codes.items()}
        pieces.append((codes, weights, np.array(piece.numbers, dtype=np.int64)))
    empty = np.empty(0)
    return TripleRows(
        texts={kind: numbering.values for kind, numbering in numberings.items()},
        codes={
            name: np.concatenate([empty.astype(np.int32), *(codes[name] for codes, _, _ in pieces)]) for name in TEXTS
        },
        weights={name: np.concatenate([empty, *(weights[name] for _, weights, _ in pieces)]) for name in RANGES},
        numbers=np.concatenate([empty.astype(np.int64), *(numbers for _, _, numbers in pieces)]),
    )


@dataclass(frozen=True)
class _Piece:
    """Some rows: by column, where they all have the same ones; their records otherwise."""

    numbers: Sequence[int]
    columns: Values | None = None
    records: Sequence[Record] = field(default=())

    def checked(self) -> tuple[dict[str, list[str]], dict[str, FloatArray]] | None:
        """The texts of the columns there are and the weights; None where a row needs a closer look."""
        if self.columns is None:
            return None
        texts: dict[str, list[str]] = {}
        for name in TEXTS:
            values = _first(self.columns, COLUMNS[name])
            if values is None and name not in REQUIRED:
                continue
            stripped = None if values is None else _stripped(values)
            if stripped is None:
                return None
            texts[name] = stripped
        weights: dict[str, FloatArray] = {}
        for name, (greatest, default) in RANGES.items():
            numbers = _numbers(_first(self.columns, COLUMNS[name]) or [None] * len(self.numbers), default)
            least = 0 if name == "confidence" else np.nextafter(0, 1)
            if numbers is None or not bool(((numbers >= least) & (numbers <= greatest)).all()):
                return None
            weights[name] = numbers
        return texts, weights

    def rows(self) -> Iterator[Record]:
        """The records."""
        if self.columns is None:
            yield from self.records
        else:
            names = list(self.columns)
            yield from (dict(zip(names, row, strict=True)) for row in zip(*self.columns.values(), strict=True))


def _pieces(source: Path | pa.Table) -> Iterator[_Piece]:
    if isinstance(source, Path) and source.suffix in (".jsonl", ".csv", ".tsv"):
        delimiter = "\t" if source.suffix == ".tsv" else ","
        rows = read_jsonl(source) if source.suffix == ".jsonl" else read_delimited(source, delimiter, ONE_LINE)
        yield from _of_records(rows)
        return
    table, start = read_parquet(source) if isinstance(source, Path) else source, 1
    for batch in table.to_batches(max_chunksize=PIECE):
        columns = {name: batch.column(name).to_pylist() for name in batch.schema.names}
        yield _Piece(range(start, start + len(batch)), columns)
        start += len(batch)


def _of_records(rows: Iterable[tuple[int, Record]]) -> Iterator[_Piece]:
    """Records with their numbers, `PIECE` at a time."""
    left = iter(rows)
    while some := list(islice(left, PIECE)):
        numbers, records = [number for number, _ in some], [record for _, record in some]
        names = records[0].keys()
        if all(record.keys() == names for record in records):
            yield _Piece(numbers, {name: [record[name] for record in records] for name in names})
        else:
            yield _Piece(numbers, records=records)


def _first(columns: Values, names: Sequence[str]) -> Sequence[object] | None:
    """Of several names of one field, the column of the first that is there."""
    return next((columns[name] for name in names if name in columns), None)


def _stripped(values: Sequence[object]) -> list[str] | None:
    """Strings without outer white space, "" for null; None where there is anything else."""
    if not {*map(type, values)} <= {str, type(None)}:
        return None
    return [value.strip() if value else "" for value in values]  # type: ignore[attr-defined]


def _numbers(values: Sequence[object], default: float) -> FloatArray | None:
    """Numbers, also those that are written as text; `default` for null and ""; None where there is anything else."""
    kinds = {*map(type, values)}
    if not kinds <= {int, float, str, type(None)}:
        return None
    if not kinds <= {int, float}:
        values = [default if value is None or value == "" else value for value in values]
    try:
        return np.array([float(value) for value in values], dtype=np.float64)  # type: ignore[arg-type]
    except (ValueError, OverflowError):
        return None


def _row_by_row(file: str, piece: _Piece, known: Collection[str]) -> tuple[dict[str, list[str]], dict[str, FloatArray]]:
    """As `_Piece.checked`; of a row that is left out, the optional fields are not looked at."""
    texts: dict[str, list[str]] = {name: [] for name in TEXTS}
    weights: dict[str, list[float]] = {name: [] for name in RANGES}
    for number, record in zip(piece.numbers, piece.rows(), strict=True):
        row = _TripleRow(file, number, record)
        required = [row.text(part) for part in REQUIRED]
        blank = not all(required[:3])
        confidence = 1.0 if blank else row.ranged("confidence")
        counts = not blank and confidence > 0 and (not required[3] or required[3] in known)
        for name in TEXTS:
            texts[name].append(row.text(name) if counts or name in REQUIRED else "")
        weights["strength"].append(row.ranged("strength") if counts else 1.0)
        weights["confidence"].append(confidence)
    return texts, {name: np.array(values, dtype=np.float64) for name, values in weights.items()}


@dataclass(frozen=True)
class _TripleRow(Row):
    """One record, its fields by our names."""

    def text(self, field_name: str) -> str:
        """A field as a stripped string; "" where it is null, or optional and missing."""
        if field_name in REQUIRED and not any(name in self.record for name in COLUMNS[field_name]):
            given, allowed = ", ".join(self.record) or "none", ", ".join(COLUMNS[field_name])
            raise DataError(
                f"{self.file}, record {self.number}: no {field_name}. Columns: {given}; it may be called {allowed}."
            )
        return self.string(*COLUMNS[field_name]).strip()

    def ranged(self, field_name: str) -> float:
        """A field as a number in its range; its default where it is null or missing. Confidence may be 0 here."""
        greatest, default = RANGES[field_name]
        value = self.value(*COLUMNS[field_name])
        if value is None or value == "":
            return default
        try:
            number = float(value)  # type: ignore[arg-type]
        except (TypeError, ValueError):
            wrong(self.file, self.number, field_name, value, "a number")
        if not (0 < number <= greatest or (field_name == "confidence" and number == 0)):
            wrong(self.file, self.number, field_name, value, f"above 0, at most {greatest:g}")
        return number
