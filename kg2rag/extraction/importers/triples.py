"""A table of triples (TSV, CSV, Parquet, JSON Lines or a DataFrame) -> triples of the corpus, entities and all.

Columns go by any of the names in `triple_rows.COLUMNS`. An `entities.jsonl` in the same folder is read for types,
descriptions and aliases; where triples name their ends by entity id, the ends take that entity's name, so that resolved
spellings meet.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

import pyarrow as pa

from kg2rag.extraction import Entity, Extraction
from kg2rag.extraction.columns import TripleColumns
from kg2rag.extraction.importers.file_source import Row
from kg2rag.extraction.importers.triple_rows import OUTSIDE, counting_rows
from kg2rag.text.normalisation import entity_key
from kg2rag.text.records import DataError, existing, file_fingerprint, read_jsonl, wrong
from kg2rag.types import Corpus

if TYPE_CHECKING:
    import pandas as pd
NAMES = ("name", "canonical_name")
IDS = ("id", "entity_id")
FORMATS = (".tsv", ".csv", ".parquet", ".jsonl")


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
        notes: Counter[str] = Counter()
        entities: dict[str, Entity] = {}
        columns = TripleColumns.of_rows(self._triples(frozenset(corpus.ids), entities, notes))
        if notes[OUTSIDE] and not len(columns):
            raise DataError(f"{self.path or 'DataFrame'}: none of its {notes[OUTSIDE]} passages is in the corpus.")
        counted = {cause: count for cause, count in notes.items() if count}
        return Extraction(columns, entities=tuple(entities.values()), notes=counted)

    def _triples(
        self, known: frozenset[str], entities: dict[str, Entity], notes: Counter[str]
    ) -> Iterator[tuple[str, str, str, str, float, float, str]]:
        """The fields of the triples that count; `entities` gets those at their ends, in the order of appearance.

        Of several records of one name, the first that has a type describes it, else the last.
        """
        described = EntityFile(self.entities)
        for row in counting_rows(self.path or self.table, known, notes, partial=self.partial):
            ends = []
            for end in ("head", "tail"):
                entity = described.entity(row.text(end), row.text(f"{end}_id"))
                if type_ := entity.type or row.text(f"{end}_type"):
                    entity = replace(entity, type=type_)
                if entity.name not in entities or not entities[entity.name].type:
                    entities[entity.name] = entity
                ends.append(entity.name)
            weights = row.ranged("strength"), row.ranged("confidence")
            yield ends[0], row.text("relation"), ends[1], row.text("passage_id"), *weights, row.text("description")


class EntityFile:
    """The entities of `entities.jsonl`, beside a table of triples: name, and optionally id, type, description, aliases.

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
        known = self._by_name.get(entity_key(name)) if self._by_name else None
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
