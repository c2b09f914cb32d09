"""A table of triples (TSV, CSV, Parquet, JSON Lines or a DataFrame) -> triples of the corpus, entities and all.

Columns go by any of the names in `COLUMNS`. An `entities.jsonl` in the same folder is read for types, descriptions and
aliases; where triples name their ends by entity id, the ends take that entity's name, so that resolved spellings meet.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

import pyarrow as pa

from kg2rag.extraction import Entity, Extraction
from kg2rag.extraction.importers.file_source import Row
from kg2rag.text.normalisation import entity_key
from kg2rag.text.records import (
    DataError,
    Record,
    existing,
    file_fingerprint,
    read_delimited,
    read_jsonl,
    read_parquet,
    wrong,
)
from kg2rag.types import Corpus, Triple

if TYPE_CHECKING:
    import pandas as pd
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
}
REQUIRED = ("head", "relation", "tail", "passage_id")
FORMATS = (".tsv", ".csv", ".parquet", ".jsonl")
ONE_LINE = tuple(name for names in COLUMNS.values() for name in names)
"""Columns of a CSV whose cells hold no line break."""
OUTSIDE = "triples of passages outside the corpus"
# The greatest value, and the one taken where none is given.
_RANGES = {"strength": (10.0, 5.0), "confidence": (1.0, 1.0)}


@dataclass(frozen=True)
class TriplesFile:
    """Triples that another tool extracted.

    Parameters
    ----------
    path : a .tsv, .csv, .parquet or .jsonl file. Tables need a header. An empty passage id means that no passage states
        the triple.
    entities : JSON Lines with name, type, description, aliases; by default `entities.jsonl` in the folder of `path`.
    partial : count triples of passages that the corpus lacks, instead of raising; one must match even so.
    table : what `from_frame` fills in place of `path`.
    """

    by_id: ClassVar[bool] = True

    path: Path | None = None
    entities: Path | None = None
    partial: bool = True
    table: pa.Table | None = field(default=None, repr=False, hash=False)

    def __post_init__(self) -> None:
        if (self.path is None) == (self.table is None):
            raise ValueError("TriplesFile needs a path. Of a DataFrame, make one with TriplesFile.from_frame.")
        if self.path is not None:
            file = existing(self.path, f"triples as {', '.join(FORMATS)}")
            if file.suffix not in FORMATS:
                raise ValueError(f"{file}: unknown format {file.suffix!r}. Known: {', '.join(FORMATS)}.")
            object.__setattr__(self, "path", file)
            beside = file.with_name("entities.jsonl")
            if self.entities is None and beside.is_file() and beside != file:
                object.__setattr__(self, "entities", beside)
        if self.entities is not None:
            object.__setattr__(self, "entities", existing(self.entities, "entities as JSON Lines"))

    @classmethod
    def from_frame(cls, frame: pd.DataFrame, *, entities: Path | None = None, partial: bool = True) -> TriplesFile:
        """The triples of a DataFrame, with the same columns as a file; its index is left out."""
        return cls(table=pa.Table.from_pandas(frame, preserve_index=False), entities=entities, partial=partial)

    @property
    def fingerprint(self) -> str:
        """The kind, the options and the checksums of the files, or of the frame's contents."""
        given = {"path": self.path, "entities": self.entities}
        files = {name: file for name, file in given.items() if file is not None}
        options: dict[str, object] = {"partial": self.partial}
        if self.table is not None:
            options["table"] = hashlib.sha256(repr(self.table.to_pylist()).encode()).hexdigest()
        return file_fingerprint("triples", files, options)

    def extract(self, corpus: Corpus) -> Extraction:
        """The triples whose passages the corpus has, in the file's order, and the entities at their ends.

        `notes` counts triples with a blank part or of confidence 0, and those of other passages.

        Raises
        ------
        ValueError : a column is missing, a value is of the wrong type or out of range, a passage is unknown (unless
            `partial`), or every passage is.
        """
        described = EntityFile(self.entities)
        entities: dict[str, Entity] = {}
        triples: list[Triple] = []
        notes: Counter[str] = Counter()
        for row in self._rows(frozenset(corpus.ids), notes):
            head, tail = (described.entity(row.text(end), row.text(f"{end}_id")) for end in ("head", "tail"))
            weights = row.ranged("strength"), row.ranged("confidence")
            triples.append(Triple(head.name, row.text("relation"), tail.name, row.text("passage_id"), *weights))
            for entity, end in ((head, "head"), (tail, "tail")):
                if entity.name not in entities or not entities[entity.name].type:
                    entities[entity.name] = replace(entity, type=entity.type or row.text(f"{end}_type"))
        if notes[OUTSIDE] and not triples:
            raise DataError(f"{self.path or 'DataFrame'}: none of its {notes[OUTSIDE]} passages is in the corpus.")
        return Extraction(tuple(triples), entities=tuple(entities.values()), notes=dict(notes))

    def _rows(self, known: frozenset[str], notes: Counter[str]) -> Iterator[_TripleRow]:
        for number, record in self._records():
            row = _TripleRow(str(self.path or "DataFrame"), number, record)
            cause = row.fault(known)
            if cause == OUTSIDE and not self.partial:
                allowed = "a passage of the corpus (or partial=True)"
                wrong(row.file, number, "passage_id", row.text("passage_id"), allowed)
            if cause is None:
                yield row
            else:
                notes[cause] += 1

    def _records(self) -> Iterator[tuple[int, Record]]:
        if self.path is None:
            assert self.table is not None
            return enumerate(self.table.to_pylist(), start=1)
        if self.path.suffix == ".parquet":
            return enumerate(read_parquet(self.path).to_pylist(), start=1)
        if self.path.suffix == ".jsonl":
            return read_jsonl(self.path)
        return read_delimited(self.path, "\t" if self.path.suffix == ".tsv" else ",", ONE_LINE)


@dataclass(frozen=True)
class _TripleRow(Row):
    """One record, its fields by our names."""

    def fault(self, known: frozenset[str]) -> str | None:
        """Why the record is left out, or None. Raises where it is malformed."""
        parts = [self.text(part) for part in REQUIRED]
        if not all(parts[:3]):
            return "triples with a blank part"
        if self.ranged("confidence") == 0:
            return "triples of confidence 0"
        return OUTSIDE if parts[3] and parts[3] not in known else None

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
        greatest, default = _RANGES[field_name]
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


NAMES = ("name", "canonical_name")
IDS = ("id", "entity_id")


class EntityFile:
    """The entities of a JSON Lines file: name, and optionally id, type, description, aliases.

    Aliases are strings, or objects whose `surface` is one. Where two records have the same name, the first describes
    it. No file, no entities.
    """

    def __init__(self, file: Path | None) -> None:
        self._by_id: dict[str, Entity] = {}
        self._by_name: dict[str, Entity] = {}
        for number, record in read_jsonl(file) if file else ():
            entity = _entity(Row(str(file), number, record))
            self._by_name.setdefault(entity_key(entity.name), entity)
            for column in IDS:
                if isinstance(id_ := record.get(column), str):
                    self._by_id[id_] = entity

    def entity(self, name: str, id_: str = "") -> Entity:
        """The entity of that id, else one of that name; else a bare one."""
        if id_ in self._by_id:
            return self._by_id[id_]
        known = self._by_name.get(entity_key(name))
        return known or Entity(name)


def _entity(row: Row) -> Entity:
    name = row.string(*NAMES)
    if not name.strip():
        wrong(row.file, row.number, " or ".join(NAMES), row.value(*NAMES), "a string that is not blank")
    given = row.value("aliases") or []
    if not isinstance(given, list):
        wrong(row.file, row.number, "aliases", given, "a list")
    aliases: dict[str, None] = {}
    for item in given:
        alias = item.get("surface") if isinstance(item, dict) else item
        if not isinstance(alias, str):
            wrong(row.file, row.number, "aliases", item, "strings, or objects with a surface")
        if alias != name:
            aliases[alias] = None
    return Entity(name.strip(), row.string("type"), row.string("description"), tuple(aliases))
