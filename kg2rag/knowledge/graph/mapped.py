"""A knowledge graph -> a folder of arrays, and back: mapped from the disk, so that opening one reads next to nothing.

How the store keeps a graph. Codes stand for names and rows for passages, so the folder is read over the corpus it was
written over and no other; what other programs read is written by `KnowledgeGraph.save`.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import fields
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from kg2rag.compute.files import mapped
from kg2rag.knowledge.graph.csr import Incidence
from kg2rag.knowledge.graph.data import Graph, GraphData
from kg2rag.knowledge.graph.tables import Adjacency, TripleTable
from kg2rag.types import Corpus

VERSION = 4  # raise it when the files, or what a graph is built of, change, so that stored graphs are built anew
TABLES: dict[str, type[Any]] = {
    "triples": TripleTable,
    "mentions": Incidence,
    "mentioned": Incidence,
    "adjacency": Adjacency,
}
ENTITIES = pa.schema(
    {name: pa.string() for name in ("name", "key", "type", "description")} | {"aliases": pa.list_(pa.string())}
)


def write(graph: GraphData, folder: Path) -> None:
    """Write a graph, its adjacency and its passages' entities and triples into a folder that is there."""
    for table, kind in TABLES.items():
        for column in fields(kind):
            array: np.ndarray = getattr(getattr(graph, table), column.name)
            np.save(folder / f"{table}.{column.name}.npy", array)
    indptr, triples = graph.stated
    np.save(folder / "stated.indptr.npy", indptr)
    np.save(folder / "stated.triples.npy", triples)
    aliases = [list(each) for each in graph.aliases]
    columns = [pa.array(values) for values in (graph.names, graph.keys, graph.types, graph.descriptions, aliases)]
    entities = pa.table([column.cast(kind) for column, kind in zip(columns, ENTITIES.types, strict=True)], ENTITIES)
    with pa.OSFile(str(folder / "entities.arrow"), "wb") as sink, pa.ipc.new_file(sink, ENTITIES) as writer:
        writer.write_table(entities)
    texts = {"relations": graph.relations, "triple descriptions": graph.triple_descriptions}
    about = {**texts, "notes": dict(graph.notes), "fingerprint": graph.fingerprint}
    (folder / "graph.json").write_text(json.dumps(about), encoding="utf-8")


def read(kind: type[Graph], folder: Path, corpus: Corpus) -> Graph:
    """The graph that `write` wrote, over the same corpus; its arrays are read-only and mapped."""
    about = json.loads((folder / "graph.json").read_text(encoding="utf-8"))
    with pa.memory_map(str(folder / "entities.arrow")) as source:
        entities = pa.ipc.open_file(source).read_all()
    tables = {name: table(**dict(_columns(folder, name, table))) for name, table in TABLES.items()}
    graph = kind(
        names=tuple(entities["name"].to_pylist()),
        types=_texts(entities["type"]),
        descriptions=_texts(entities["description"]),
        aliases=_aliases(entities["aliases"]),
        relations=tuple(about["relations"]),
        triples=tables["triples"],
        mentions=tables["mentions"],
        passage_ids=corpus.ids,
        triple_descriptions=tuple(about["triple descriptions"]),
        notes=about["notes"],
    )
    known = {
        "keys": tuple(entities["key"].to_pylist()),
        "fingerprint": about["fingerprint"],
        "adjacency": tables["adjacency"],
        "mentioned": tables["mentioned"],
        "stated": (mapped(folder / "stated.indptr.npy"), mapped(folder / "stated.triples.npy")),
    }
    vars(graph).update(known)  # in place of what the cached properties would work out
    return graph


def _columns(folder: Path, name: str, table: type[Any]) -> Iterator[tuple[str, np.ndarray]]:
    for column in fields(table):
        yield column.name, mapped(folder / f"{name}.{column.name}.npy")


def _texts(column: pa.ChunkedArray) -> tuple[str, ...]:
    """The strings; where all are empty, as in most graphs, without making a million objects."""
    if not pc.sum(pc.binary_length(column)).as_py():
        return ("",) * len(column)
    return tuple(column.to_pylist())


def _aliases(column: pa.ChunkedArray) -> tuple[tuple[str, ...], ...]:
    if not pc.sum(pc.list_value_length(column)).as_py():
        return ((),) * len(column)
    return tuple(map(tuple, column.to_pylist()))
