"""LightRAG's working directory -> triples, mentions and entities of the corpus.

Read are `graph_chunk_entity_relation.graphml` (what its default storage writes) and `kv_store_text_chunks.json`, by
which chunks are found among our passages. Fields with several values are joined by "<SEP>". Releases from October 2025
on keep a bounded number of chunk ids in the graph and all of them in `kv_store_entity_chunks.json` and
`kv_store_relation_chunks.json`; those are read where they exist. Theirs [1]: an edge has no direction; keywords name
its subject, the description says what it is. Ours: the keywords are the relation's name, "related to" where there are
none, as in what nano-graphrag writes in the same files.

[1] Guo et al., "LightRAG: Simple and Fast Retrieval-Augmented Generation", arXiv 2410.05779.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from kg2rag.extraction import Entity, Extraction
from kg2rag.extraction.importers.exported import Relation, extraction_of, match_chunks
from kg2rag.extraction.importers.file_source import FileSource, Row, unquoted
from kg2rag.extraction.importers.networkx_graph import read_graphml
from kg2rag.text.records import DataError, existing, read_json, text, wrong
from kg2rag.types import Corpus

GRAPH = "graph_chunk_entity_relation.graphml"
CHUNKS = "kv_store_text_chunks.json"
ALL_CHUNKS = {"entities": "kv_store_entity_chunks.json", "relations": "kv_store_relation_chunks.json"}
SEPARATOR = "<SEP>"


@dataclass(frozen=True)
class LightRAG(FileSource):
    """The graph that LightRAG built, with the default storages (files, networkx).

    Parameters
    ----------
    path : its working directory, or the GraphML file in it; the chunks' file must be in the same folder.
    partial : count chunks that the corpus lacks, instead of raising; at least one must match even so.
    """

    kind: ClassVar[str] = "lightrag-2"
    by_id: ClassVar[bool] = True

    partial: bool = True

    def __post_init__(self) -> None:
        given = Path(self.path).expanduser()
        file = existing(given / GRAPH if given.is_dir() else given, f"LightRAG's working directory, with {GRAPH}")
        object.__setattr__(self, "path", file)
        existing(file.with_name(CHUNKS), f"the {CHUNKS} that LightRAG wrote next to the graph")

    def files(self) -> Mapping[str, Path]:
        """The graph, the chunks and, where a release writes them, all chunk ids of entities and relations."""
        places = [self.path, *(self.path.with_name(name) for name in (CHUNKS, *ALL_CHUNKS.values()))]
        return {str(number): file for number, file in enumerate(places) if file.is_file()}

    def extract(self, corpus: Corpus) -> Extraction:
        """The graph's edges as triples, its nodes as entities with their mentions, in the file's order.

        `notes` counts how chunks were found and what has no passage.

        Raises
        ------
        ValueError : no chunk is found in the corpus (or any, unless `partial`), or a malformed file.
        """
        notes: Counter[str] = Counter()
        graph, file = read_graphml(self.path), self.path.with_name(CHUNKS)
        texts = {id_: text(record, "content", file, number) for number, (id_, record) in _records(file)}
        chunks = match_chunks(texts, corpus, self.path, notes, partial=self.partial)
        named_in, stated_in = (self._all_chunks(kind) for kind in ALL_CHUNKS)
        entities, names = [], {}
        for node, data in graph.nodes(data=True):
            names[node] = unquoted(str(data.get("entity_id", node)))
            known = [unquoted(str(data.get(field, ""))) for field in ("entity_type", "description")]
            entity = Entity(names[node], known[0], " ".join(_split(known[1])))
            entities.append((entity, named_in.get(str(node)) or _split(data.get("source_id"))))
        relations = [
            Relation(
                names[head],
                ", ".join(_split(data.get("keywords"))),
                names[tail],
                _weight(data.get("weight"), f"{self.path}, edge {head!r} - {tail!r}"),
                stated_in.get(SEPARATOR.join(sorted((str(head), str(tail))))) or _split(data.get("source_id")),
                " ".join(_split(data.get("description"))),
            )
            for head, tail, data in graph.edges(data=True)
        ]
        return extraction_of(entities, relations, chunks, notes)

    def _all_chunks(self, kind: str) -> dict[str, tuple[str, ...]]:
        """Every chunk of an entity or a relation, by its key, where the release keeps them apart."""
        file = self.path.with_name(ALL_CHUNKS[kind])
        records = _records(file) if file.is_file() else ()
        return {key: Row(file, at, record).strings("chunk_ids", "strings") for at, (key, record) in records}


def _records(file: Path) -> list[tuple[int, tuple[str, Mapping[str, Any]]]]:
    """The numbered (key, record) pairs of one of its key-value files."""
    contents = read_json(file)
    if not isinstance(contents, dict):
        raise DataError(f"{file}: a {type(contents).__name__} at the top; LightRAG writes an object, a record a key.")
    for number, record in enumerate(contents.values(), start=1):
        if not isinstance(record, dict):
            wrong(file, number, "record", record, "an object")
    return list(enumerate(contents.items(), start=1))


def _weight(value: object, where: str) -> float | None:
    if value is not None and not isinstance(value, int | float):
        raise DataError(f"{where}: weight is {value!r}; needed: a number.")
    return None if value is None else float(value)


def _split(value: object) -> tuple[str, ...]:
    """The values of a joined field, stripped, each once."""
    parts = (unquoted(part) for part in str(value or "").split(SEPARATOR))
    return tuple(dict.fromkeys(part for part in parts if part))
