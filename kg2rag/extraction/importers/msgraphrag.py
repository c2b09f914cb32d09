"""Microsoft GraphRAG's output tables -> triples, mentions and entities of the corpus.

Read are entities, relationships and text_units [1], by their names of today (`entities.parquet`) or those of releases
until 1.2 (`create_final_entities.parquet`), the earliest of which call an entity's title `name`. Theirs: a relationship
has a description and a weight, but no name. Ours: it is "related to", unless somebody's own prompts or scripts brought
a column that names it.

[1] https://microsoft.github.io/graphrag/index/outputs/
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from kg2rag.extraction import Entity, Extraction
from kg2rag.extraction.importers.exported import Relation, extraction_of, match_chunks
from kg2rag.extraction.importers.file_source import FileSource, Row, unquoted
from kg2rag.text.parquet import read_parquet
from kg2rag.text.records import DataError, existing, wrong
from kg2rag.types import Corpus

TABLES = ("entities", "relationships", "text_units")
OLD = "create_final_"
NAMES = ("relation", "relationship", "relation_type", "relationship_type", "predicate", "type")
"""Columns that may name a relationship; the first that the table has counts."""


@dataclass(frozen=True)
class MicrosoftGraphRAG(FileSource):
    """The graph that Microsoft GraphRAG indexed.

    Parameters
    ----------
    path : its output folder, where entities.parquet, relationships.parquet and text_units.parquet are.
    partial : count text units that the corpus lacks, instead of raising; at least one must match even so.
    """

    kind: ClassVar[str] = "msgraphrag-2"
    by_id: ClassVar[bool] = True

    partial: bool = True

    def __post_init__(self) -> None:
        object.__setattr__(self, "path", Path(self.path).expanduser())
        self.files()

    def files(self) -> Mapping[str, Path]:
        """The three tables."""
        return {table: self._file(table) for table in TABLES}

    def extract(self, corpus: Corpus) -> Extraction:
        """Relationships as triples, entities with their mentions, in the tables' order.

        `notes` counts how text units were found and what has no passage.

        Raises
        ------
        ValueError : no text unit is found in the corpus (or any, unless `partial`), a column is missing, or a value is
            of the wrong type.
        """
        notes: Counter[str] = Counter()
        units = {_text(row, "id"): row.string("text") for row in self._rows("text_units", "id", "text")}
        chunks = match_chunks(units, corpus, self._file("text_units"), notes, partial=self.partial)
        entities = [
            (
                Entity(_text(row, "title", "name"), _text(row, "type"), _text(row, "description")),
                row.strings("text_unit_ids", "ids"),
            )
            for row in self._rows("entities", "title", "text_unit_ids")
        ]
        relations = [
            Relation(
                _text(row, "source"),
                _text(row, *NAMES),
                _text(row, "target"),
                row.weight("weight"),
                row.strings("text_unit_ids", "ids"),
                _text(row, "description"),
            )
            for row in self._rows("relationships", "source", "target", "text_unit_ids")
        ]
        return extraction_of(entities, relations, chunks, notes)

    def _file(self, table: str) -> Path:
        """A table's file; where both exist, as some releases left them, the one with today's name."""
        old, new = self.path / f"{OLD}{table}.parquet", self.path / f"{table}.parquet"
        return old if old.is_file() and not new.is_file() else existing(new, "GraphRAG's output folder")

    def _rows(self, table: str, *required: str) -> Iterator[Row]:
        file = self._file(table)
        read = read_parquet(file)
        for name in required:
            if name not in read.column_names and not (name == "title" and "name" in read.column_names):
                raise DataError(f"{file}: no column {name!r}. It has {', '.join(read.column_names)}.")
        for number, record in enumerate(read.to_pylist(), start=1):
            row = Row(file, number, record)
            for name in required[: 2 if table == "relationships" else 1]:
                if not _text(row, name, "name" if name == "title" else name):
                    wrong(file, number, name, record.get(name), "a string that is not blank")
            yield row


def _text(row: Row, *names: str) -> str:
    return unquoted(row.string(*names))
