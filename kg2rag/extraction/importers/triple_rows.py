"""The records of a table of triples -> what each row says, checked, row by row."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa

from kg2rag.extraction.importers.file_source import Row
from kg2rag.text.parquet import read_parquet
from kg2rag.text.records import DataError, Record, read_delimited, read_jsonl, wrong

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
BLANK = "triples with a blank part"
DOUBTED = "triples of confidence 0"
OUTSIDE = "triples of passages outside the corpus"


def counting_rows(
    source: Path | pa.Table, known: Collection[str], notes: Counter[str], *, partial: bool
) -> Iterator[TripleRow]:
    """The rows that count, of a file by its suffix, or of a table; `notes` counts the others, by cause.

    Optional fields of a row that is left out are not looked at.

    Parameters
    ----------
    known : the passages of the corpus. partial : a row of another passage is counted; otherwise it is an error.

    Raises
    ------
    ValueError : a column is missing, or a value of a row that counts is of the wrong type or out of range.
    """
    file = source if isinstance(source, Path) else "DataFrame"
    for number, record in _records(source):
        row = TripleRow(file, number, record)
        head, relation, tail, passage = (row.text(part) for part in REQUIRED)
        if not (head and relation and tail):
            notes[BLANK] += 1
        elif row.ranged("confidence") == 0:
            notes[DOUBTED] += 1
        elif not passage or passage in known:
            yield row
        elif partial:
            notes[OUTSIDE] += 1
        else:
            wrong(file, number, "passage_id", passage, "a passage of the corpus (or partial=True)")


def _records(source: Path | pa.Table) -> Iterable[tuple[int, Record]]:
    """Every record with its line or number, from 1."""
    if isinstance(source, Path) and source.suffix == ".jsonl":
        return read_jsonl(source)
    if isinstance(source, Path) and source.suffix != ".parquet":
        return read_delimited(source, "\t" if source.suffix == ".tsv" else ",", ONE_LINE)
    table = read_parquet(source) if isinstance(source, Path) else source
    return enumerate((record for batch in table.to_batches(10_000) for record in batch.to_pylist()), start=1)


@dataclass(frozen=True)
class TripleRow(Row):
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
