"""Graphs of LightRAG, nano-graphrag, RAG-Anything and Microsoft GraphRAG -> extractions.

LightRAG [1], nano-graphrag and RAG-Anything write `graph_chunk_entity_relation.graphml` (the
default storage) and `kv_store_text_chunks.json`, by which chunks are found among our passages.
Fields with several values are joined by "<SEP>". Releases from October 2025 on keep a bounded
number of chunk ids in the graph and all of them in `kv_store_entity_chunks.json` and
`kv_store_relation_chunks.json`; those are read where they exist. Theirs: an edge has no direction;
keywords name its subject, the description explains it. Ours: the keywords are the relation's name,
"related to" where there are none, as in what nano-graphrag writes.

Of GraphRAG's tables, entities, relationships and text_units [2] are read, by their names of today
(`entities.parquet`) or those of releases until 1.2 (`create_final_entities.parquet`); the earliest
call an entity's title `name`. Theirs: a relationship has a description and a weight, but no name.
Ours: it is "related to", unless somebody's own prompts or scripts brought a column that names it.

[1] Guo et al., "LightRAG: Simple and Fast Retrieval-Augmented Generation", arXiv 2410.05779.
[2] https://microsoft.github.io/graphrag/index/outputs/
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from kg2rag.extraction import Entity, Extraction
from kg2rag.extraction.importers import (
    FileSource,
    Row,
    nearest_file,
    noting_encodings,
    unquoted,
)
from kg2rag.extraction.importers.exported import ChunkMap, Relation, extraction_of
from kg2rag.extraction.importers.graph_files import read_graphml
from kg2rag.text.records import (
    DataError,
    existing,
    read_json,
    read_parquet,
    text,
    wrong,
)
from kg2rag.types import Corpus

GRAPH = "graph_chunk_entity_relation.graphml"
CHUNKS = "kv_store_text_chunks.json"
ALL_CHUNKS = ("kv_store_entity_chunks.json", "kv_store_relation_chunks.json")
SEPARATOR = "<SEP>"
TABLES = ("entities", "relationships", "text_units")
NAMES = (
    "relation",
    "relationship",
    "relation_type",
    "relationship_type",
    "predicate",
    "type",
)
"""Columns that may name a relationship; the first that the table has counts."""


@dataclass(frozen=True)
class LightRAG(FileSource):
    """The graph that LightRAG built, with the default storages (files, networkx).

    Parameters
    ----------
    path : its working directory, or the GraphML file in it; the chunks' file must be in the same folder. A workspace,
        which is a folder in the working directory, is found where there is only one.
    """

    kind: ClassVar[str] = "lightrag-3"

    def __post_init__(self) -> None:
        file = Path(self.path).expanduser()
        if file.is_dir():
            file = nearest_file(file, GRAPH) or file / GRAPH
        file = existing(
            file,
            f"LightRAG's working directory, with {GRAPH}, as its default storages write it",
        )
        object.__setattr__(self, "path", file)
        existing(
            file.with_name(CHUNKS),
            f"the {CHUNKS} that LightRAG wrote next to the graph",
        )

    def files(self) -> Mapping[str, Path]:
        """The graph, the chunks and, of some releases, all chunk ids of entities and relations."""
        files = [
            self.path,
            *(self.path.with_name(name) for name in (CHUNKS, *ALL_CHUNKS)),
        ]
        return {
            str(number): file for number, file in enumerate(files) if file.is_file()
        }

    @noting_encodings
    def extract(self, corpus: Corpus) -> Extraction:
        """The edges as triples, and the nodes as entities with mentions, in the file's order.

        `notes` counts how chunks were found, those that the corpus lacks, and what has no passage.
        DataError where no chunk is found, or a file is malformed.
        """
        notes: Counter[str] = Counter()
        graph = read_graphml(self.path)
        file = self.path.with_name(CHUNKS)
        texts = {
            key: text(row.record, "content", file, row.place)
            for key, row in _records(file)
        }
        chunks = ChunkMap.of(texts, corpus, file, notes)
        chunks_of_entity, chunks_of_relation = (
            _all_chunks(self.path.with_name(name)) for name in ALL_CHUNKS
        )
        entities = []
        names = {}
        for node, data in graph.nodes(data=True):
            names[node] = unquoted(str(data.get("entity_id", node)))
            description = " ".join(_split(data.get("description")))
            entity = Entity(
                names[node], unquoted(str(data.get("entity_type", ""))), description
            )
            entities.append(
                (
                    entity,
                    chunks_of_entity.get(str(node)) or _split(data.get("source_id")),
                )
            )
        relations = []
        for number, (head, tail, data) in enumerate(graph.edges(data=True), start=1):
            key = SEPARATOR.join(sorted((str(head), str(tail))))
            relation = Relation(
                head=names[head],
                name=", ".join(_split(data.get("keywords"))),
                tail=names[tail],
                weight=Row(
                    f"{self.path}, edge {head!r} - {tail!r}", number, data
                ).number("weight"),
                chunks=chunks_of_relation.get(key) or _split(data.get("source_id")),
                description=" ".join(_split(data.get("description"))),
            )
            relations.append(relation)
        return extraction_of(entities, relations, chunks, notes)


def _all_chunks(file: Path) -> dict[str, tuple[str, ...]]:
    """Entity, or both ends of a relation joined by `SEPARATOR` -> its chunk ids; {} without the file."""
    if not file.is_file():
        return {}
    return {key: row.strings("chunk_ids") for key, row in _records(file)}


def _records(file: Path) -> Iterator[tuple[str, Row]]:
    """The keys and records of one of LightRAG's key-value files."""
    contents = read_json(file)
    if not isinstance(contents, dict):
        raise DataError(
            f"{file}: a {type(contents).__name__} at the top; LightRAG writes an object, a record a key."
        )
    for number, (key, record) in enumerate(contents.items(), start=1):
        if not isinstance(record, dict):
            wrong(file, number, "record", record, "an object")
        yield key, Row(file, number, record)


def _split(value: object) -> tuple[str, ...]:
    """The values of a joined field, stripped, each once."""
    parts = (unquoted(part) for part in str(value or "").split(SEPARATOR))
    return tuple(dict.fromkeys(part for part in parts if part))


@dataclass(frozen=True)
class MicrosoftGraphRAG(FileSource):
    """The graph that Microsoft GraphRAG indexed.

    Parameters
    ----------
    path : its output folder, where entities.parquet, relationships.parquet and text_units.parquet are, or a folder that
        has one such folder below it.
    """

    kind: ClassVar[str] = "msgraphrag-3"

    def __post_init__(self) -> None:
        folder = Path(self.path).expanduser()
        entities = nearest_file(
            folder, "entities.parquet", "create_final_entities.parquet"
        )
        object.__setattr__(
            self, "path", folder if entities is None else entities.parent
        )
        self.files()

    def files(self) -> Mapping[str, Path]:
        """The three tables; where releases left two of a kind, the one with today's name."""
        files = {}
        for table in TABLES:
            old = self.path / f"create_final_{table}.parquet"
            new = self.path / f"{table}.parquet"
            is_old = old.is_file() and not new.is_file()
            files[table] = old if is_old else existing(new, "GraphRAG's output folder")
        return files

    @noting_encodings
    def extract(self, corpus: Corpus) -> Extraction:
        """Relationships as triples, entities with their mentions, in the tables' order.

        `notes` counts how text units were found, those that the corpus lacks, and what has no
        passage. DataError where no text unit is found, a column is missing, or a value is of the
        wrong type.
        """
        notes: Counter[str] = Counter()
        files = self.files()
        units = {
            row.unquoted("id"): row.string("text")
            for row in _rows(files["text_units"], "id", "text")
        }
        chunks = ChunkMap.of(units, corpus, files["text_units"], notes)
        entities = []
        for row in _rows(files["entities"], "title", "text_unit_ids"):
            entity = Entity(
                row.unquoted("title", "name"),
                row.unquoted("type"),
                row.unquoted("description"),
            )
            entities.append((entity, row.strings("text_unit_ids")))
        relations = []
        for row in _rows(files["relationships"], "source", "target", "text_unit_ids"):
            relation = Relation(
                head=row.unquoted("source"),
                name=row.unquoted(*NAMES),
                tail=row.unquoted("target"),
                weight=row.number("weight"),
                chunks=row.strings("text_unit_ids"),
                description=row.unquoted("description"),
            )
            relations.append(relation)
        return extraction_of(entities, relations, chunks, notes)


def _rows(file: Path, *columns: str) -> Iterator[Row]:
    """The rows of a table; DataError if it lacks one of these columns."""
    table = read_parquet(file)
    for name in columns:
        if name not in table.column_names and not (
            name == "title" and "name" in table.column_names
        ):
            raise DataError(
                f"{file}: no column {name!r}. It has {', '.join(table.column_names)}."
            )
    for number, record in enumerate(table.to_pylist(), start=1):
        yield Row(file, number, record)
