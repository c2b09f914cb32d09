"""A table of triples (TSV, CSV, Parquet, JSON Lines or rows in memory) -> triples of the corpus, entities and all.

Columns go by any of the names in `COLUMNS`. An `entities.jsonl` in the same folder is read for types, descriptions and
aliases; where triples name their ends by entity id, the ends take that entity's name, so that resolved spellings meet.
"""

from __future__ import annotations

import hashlib
import sys
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from kg2rag.extraction import Entity, Extraction
from kg2rag.extraction.importers import Row
from kg2rag.text.normalisation import entity_key
from kg2rag.text.records import DataError, existing, file_fingerprint, read_delimited, read_jsonl, read_parquet, wrong
from kg2rag.types import Corpus, Triple

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
OUTSIDE = "triples of passages outside the corpus"
NAMES = ("name", "canonical_name")
FORMATS = (".tsv", ".csv", ".parquet", ".jsonl")


@dataclass(frozen=True)
class TriplesFile:
    """Triples that another tool extracted.

    Parameters
    ----------
    path : a .tsv, .csv, .parquet or .jsonl file. Tables need a header. An empty passage id means that no passage states
        the triple.
    entities : JSON Lines with name, and optionally id, type, description and aliases (strings, or objects whose
        `surface` is one); of two records of one name, the first counts. By default `entities.jsonl` beside `path`.
    rows : the records in place of `path`.
    """

    path: Path | None = None
    entities: Path | None = None
    rows: tuple[Mapping[str, object], ...] | None = field(default=None, repr=False, hash=False)

    def __post_init__(self) -> None:
        if (self.path is None) == (self.rows is None):
            raise ValueError("TriplesFile needs a path, or rows.")
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

    @property
    def fingerprint(self) -> str:
        """The kind and the checksums of the files, or of the rows."""
        files = {name: file for name in ("path", "entities") if (file := getattr(self, name)) is not None}
        rows = hashlib.sha256(repr(self.rows).encode("utf-8", "surrogatepass")).hexdigest()
        return file_fingerprint("triples", files, {"rows": rows})

    def extract(self, corpus: Corpus) -> Extraction:
        """The triples whose passages the corpus has, in the file's order, and the entities at their ends.

        Of several records of one name, the first that has a type describes it, else the last. `notes` counts triples
        with a blank part or of confidence 0, and those of other passages; their optional fields are not looked at.
        DataError where a column is missing, a value is of the wrong type or out of range, or every passage is unknown.
        """
        notes: Counter[str] = Counter()
        entities: dict[str, Entity] = {}
        triples: list[Triple] = []
        known = frozenset(corpus.ids)
        by_id, by_name = _described(self.entities)
        for number, record in self.records():
            row = TripleRow(self.path or "rows", number, record)
            head, relation, tail, passage = (row.text(part) for part in REQUIRED)
            if not (head and relation and tail):
                notes["triples with a blank part"] += 1
                continue
            if not (confidence := row.ranged("confidence")):
                notes["triples of confidence 0"] += 1
                continue
            if passage and passage not in known:
                notes[OUTSIDE] += 1
                continue
            ends = []
            for end, name in (("head", head), ("tail", tail)):
                entity = by_id.get(row.text(f"{end}_id")) or by_name.get(entity_key(name)) or Entity(name)
                if type_ := entity.type or row.text(f"{end}_type"):
                    entity = replace(entity, type=type_)
                if entity.name not in entities or not entities[entity.name].type:
                    entities[entity.name] = entity
                ends.append(entity.name)
            weights = row.ranged("strength"), confidence
            triples.append(Triple(ends[0], relation, ends[1], passage, *weights, row.text("description")))
        if notes[OUTSIDE] and not triples:
            raise DataError(f"{self.path or 'rows'}: none of its {notes[OUTSIDE]} passages is in the corpus.")
        return Extraction(tuple(triples), entities=tuple(entities.values()), notes=notes)

    def records(self) -> Iterator[tuple[int, Mapping[str, object]]]:
        """Every record with its line or number, from 1."""
        if self.path is None:
            return enumerate(self.rows or (), start=1)
        if self.path.suffix == ".jsonl":
            return read_jsonl(self.path)
        if self.path.suffix != ".parquet":
            return read_delimited(self.path, "\t" if self.path.suffix == ".tsv" else ",", ONE_LINE)
        batches = read_parquet(self.path).to_batches(10_000)
        return enumerate((record for batch in batches for record in batch.to_pylist()), start=1)


@dataclass(frozen=True)
class TripleRow(Row):
    """One record, its fields by our names."""

    def text(self, name: str) -> str:
        """A field as a stripped string; "" where it is null, or optional and missing."""
        if name in REQUIRED and self.record.keys().isdisjoint(COLUMNS[name]):
            given, allowed = ", ".join(self.record) or "none", ", ".join(COLUMNS[name])
            raise DataError(f"{self.file}, record {self.number}: no {name}. Columns: {given}; allowed: {allowed}.")
        return sys.intern(self.string(*COLUMNS[name]).strip())  # names and passages occur in many rows

    def ranged(self, name: str) -> float:
        """A field as a number in its range; its default where it is null or missing. Confidence may be 0 here."""
        greatest, default = RANGES[name]
        value = self.value(COLUMNS[name], object, "a number")
        if value is None or value == "":
            return default
        try:
            number = float(value)
        except (TypeError, ValueError):
            wrong(self.file, self.number, name, value, "a number")
        if not (0 < number <= greatest or (name == "confidence" and number == 0)):
            wrong(self.file, self.number, name, value, f"above 0, at most {greatest:g}")
        return number


def _described(file: Path | None) -> tuple[dict[str, Entity], dict[str, Entity]]:
    """The entities of a file by id, and by normalised name."""
    by_id: dict[str, Entity] = {}
    by_name: dict[str, Entity] = {}
    for number, record in read_jsonl(file) if file else ():
        row = Row(str(file), number, record)
        if not (name := row.string(*NAMES)).strip():
            wrong(row.file, number, " or ".join(NAMES), row.value(NAMES, str, ""), "a string that is not blank")
        if not isinstance(given := row.value(("aliases",), object, "a list") or [], list):
            wrong(row.file, number, "aliases", given, "a list")
        aliases: list[Any] = [item.get("surface") if isinstance(item, dict) else item for item in given]
        for item, alias in zip(given, aliases, strict=True):
            if not isinstance(alias, str):
                wrong(row.file, number, "aliases", item, "strings, or objects with a surface")
        others = tuple(dict.fromkeys(alias for alias in aliases if alias != name))
        entity = Entity(name.strip(), row.string("type"), row.string("description"), others)
        by_name.setdefault(entity_key(entity.name), entity)
        by_id |= {id_: entity for id_ in (record.get("id"), record.get("entity_id")) if isinstance(id_, str)}
    return by_id, by_name
