"""A knowledge graph -> three Parquet files and back, a networkx graph, texts to encode, a lexicon of its entities.

The files (entities, triples, mentions) hold names and passage ids, not codes: `triples.parquet` reads in pandas as it
is, and `triples(FILE)` takes it. networkx attributes are strings and numbers only, so `networkx.write_graphml` and
Gephi take the result as it is; `kg2rag.extraction.importers.networkx_graph` reads it back.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from kg2rag.knowledge.graph.csr import Codes, frozen, incidence
from kg2rag.knowledge.graph.data import Graph, GraphData
from kg2rag.knowledge.graph.tables import TripleTable
from kg2rag.text.lexicon import FUNCTION_WORDS, Lexicon
from kg2rag.text.normalisation import normalise
from kg2rag.text.parquet import as_parquet, read_parquet
from kg2rag.text.records import DataError, reading
from kg2rag.types import Corpus

if TYPE_CHECKING:
    import networkx as nx
PASSAGE = "passage:"


def to_networkx(graph: GraphData, *, passages: bool = False) -> nx.MultiDiGraph:
    """Entities as nodes named by their first spelling, triples as edges.

    Nodes carry kind ("entity"), type, description, aliases (a JSON list) and mentions (how often the corpus names
    them); edges relation, description, strength, confidence, passage_id and order (the number of the triple).

    Parameters
    ----------
    passages : every passage becomes a node "passage:<id>" too (kind "passage", `passage_id`), with an edge of kind
        "mention" and its count from each entity named in it. Without them, mentions outside triples cannot come back.
    """
    import networkx as nx

    out = nx.MultiDiGraph()
    rows = zip(graph.names, graph.types, graph.descriptions, graph.aliases, graph.mention_counts.tolist(), strict=True)
    for name, type_, description, aliases, mentions in rows:
        known = {"type": type_, "description": description, "aliases": json.dumps(aliases, ensure_ascii=False)}
        out.add_node(name, kind="entity", **known, mentions=mentions)
    for index in range(graph.n_triples):
        triple = graph.triple(index)
        weights = {"strength": triple.strength, "confidence": triple.confidence}
        where = {"passage_id": triple.passage_id, "order": index}
        said = {"relation": triple.relation, "description": triple.description}
        out.add_edge(triple.head, triple.tail, kind="triple", **said, **weights, **where)
    for id_ in graph.passage_ids if passages else ():
        if PASSAGE + id_ in out:
            raise ValueError(f"Entity {PASSAGE + id_!r} has the name that the node of passage {id_!r} needs.")
        out.add_node(PASSAGE + id_, kind="passage", passage_id=id_)
    pairs = (graph.mentions.owners, graph.mentions.others, graph.mentions.counts) if passages else ()
    for entity, row, count in zip(*(column.tolist() for column in pairs), strict=True):
        out.add_edge(graph.names[entity], PASSAGE + graph.passage_ids[row], kind="mention", count=count)
    return out


def triple_texts(graph: GraphData) -> list[str]:
    """(n_triples,) each triple as "head relation tail", and ": description" after it where it has one."""
    table, about = graph.triples, graph.triple_descriptions
    columns = (table.heads, table.relations, table.tails, table.descriptions)
    return [
        f"{graph.names[head]} {graph.relations[relation]} {graph.names[tail]}{about[said] and f': {about[said]}'}"
        for head, relation, tail, said in zip(*(column.tolist() for column in columns), strict=True)
    ]


def entity_lexicon(graph: GraphData) -> tuple[Lexicon, list[int]]:
    """Finds the names, and then the aliases, of entities; the list maps a match to its entity."""
    codes: dict[str, int] = {}
    for entity, name in enumerate(graph.names):
        codes.setdefault(normalise(name), entity)
    for entity, aliases in enumerate(graph.aliases):
        for alias in aliases:
            codes.setdefault(normalise(alias), entity)
    for word in FUNCTION_WORDS:
        codes.pop(word, None)
    return Lexicon(list(codes)), list(codes.values())


VERSION = 5  # raise it when the files, or what a graph is built of, change, so that stored graphs are built anew
FILES = ("entities.parquet", "triples.parquet", "mentions.parquet")
_NOTES = b"kg2rag.notes"
_TEXT = pa.string()
COLUMNS: Mapping[str, Mapping[str, pa.DataType]] = {
    "entities.parquet": {"name": _TEXT, "type": _TEXT, "description": _TEXT, "aliases": pa.list_(_TEXT)},
    "triples.parquet": dict.fromkeys(("head", "relation", "tail", "passage_id", "description"), _TEXT)
    | {"strength": pa.float32(), "confidence": pa.float32()},
    "mentions.parquet": {"entity": _TEXT, "passage_id": _TEXT, "count": pa.int32()},
}
RANGES = {"strength": 10.0, "confidence": 1.0}
AGAIN = "Save the graph again."


def save(graph: GraphData, directory: Path | str) -> None:
    """Write the three files into a directory, which is made where it is missing."""
    directory = Path(directory)
    directory.mkdir(parents=True, exist_ok=True)
    names = pa.array(graph.names, pa.string())
    ids = pa.array(graph.passage_ids, pa.string())
    entities = {
        "name": names,
        "type": pa.array(graph.types, pa.string()),
        "description": pa.array(graph.descriptions, pa.string()),
        "aliases": pa.array([list(aliases) for aliases in graph.aliases], pa.list_(pa.string())),
    }
    table = graph.triples
    triples = {
        "head": names.take(pa.array(table.heads)),
        "relation": pa.array(graph.relations, pa.string()).take(pa.array(table.relations)),
        "tail": names.take(pa.array(table.tails)),
        "passage_id": ids.take(pa.array(table.passages, mask=table.passages < 0)),
        "strength": pa.array(table.strengths),
        "confidence": pa.array(table.confidences),
        "description": pa.array(graph.triple_descriptions, pa.string()).take(pa.array(table.descriptions)),
    }
    mentions = {
        "entity": names.take(pa.array(graph.mentions.owners)),
        "passage_id": ids.take(pa.array(graph.mentions.others)),
        "count": pa.array(graph.mentions.counts),
    }
    for file, columns in zip(FILES, (entities, triples, mentions), strict=True):
        table = pa.table(columns, metadata={_NOTES: json.dumps(dict(graph.notes))})
        (directory / file).write_bytes(as_parquet(table, compression="snappy"))


def load(kind: type[Graph], directory: Path, corpus: Corpus) -> Graph:
    """Read what `save` wrote, over the corpus that the graph was built on.

    Raises
    ------
    FileNotFoundError : the directory lacks one of the files.
    DataError : a file is damaged or has other columns than `save` writes, names an entity that `entities.parquet`
        lacks, or a passage that the corpus lacks.
    """
    for file in FILES:
        if not (directory / file).is_file():
            raise FileNotFoundError(f"{directory} lacks {file}. A saved graph has {', '.join(FILES)}.")
    entities, triples, mentions = (_table(directory / file, COLUMNS[file]) for file in FILES)
    names = tuple(entities["name"].to_pylist())
    owners = _codes(mentions, "entity", names, directory / FILES[2])
    rows = _codes(mentions, "passage_id", corpus.ids, directory / FILES[2])
    relations = tuple(pc.unique(triples["relation"]).to_pylist())
    descriptions = tuple(dict.fromkeys(("", *pc.unique(triples["description"]).to_pylist())))
    coded = {"head": names, "relation": relations, "tail": names, "passage_id": corpus.ids, "description": descriptions}
    *columns, said = (_codes(triples, column, values, directory / FILES[1]) for column, values in coded.items())
    weights = [np.array(triples[column].to_numpy()) for column in RANGES]
    for (column, most), values in zip(RANGES.items(), weights, strict=True):
        if not ((values > 0) & (values <= most)).all():
            raise DataError(f"{directory / FILES[1]}: a {column} is not above 0 and at most {most:g}. {AGAIN}")
    counts = mentions["count"].to_numpy()
    if (counts < 1).any():
        raise DataError(f"{directory / FILES[2]}: a count is below 1. {AGAIN}")
    if len(set(names)) < len(names):
        raise DataError(f"{directory / FILES[0]}: two entities have one name. {AGAIN}")
    with reading(directory / FILES[0], AGAIN):
        notes = json.loads(entities.schema.metadata[_NOTES])
        if not all(isinstance(count, int) for count in notes.values()):
            raise DataError(f"{directory / FILES[0]}: its notes are no counts by cause. {AGAIN}")
    return kind(
        names=names,
        types=tuple(entities["type"].to_pylist()),
        descriptions=tuple(entities["description"].to_pylist()),
        aliases=tuple(tuple(aliases) for aliases in entities["aliases"].to_pylist()),
        relations=relations,
        triples=TripleTable(*map(frozen, (*columns, *weights, said))),
        triple_descriptions=descriptions,
        mentions=incidence(owners, rows, counts, len(names)),
        passage_ids=corpus.ids,
        notes=notes,
    )


def _table(file: Path, columns: Mapping[str, pa.DataType]) -> pa.Table:
    """A table with those columns, of those types and, but for the passages of triples, without nulls."""
    table = read_parquet(file)
    for name, kind in columns.items():
        if name not in table.column_names or table[name].type != kind:
            raise DataError(f"{file}: no column {name!r} of type {kind}. {AGAIN}")
        if table[name].null_count and (file.name, name) != (FILES[1], "passage_id"):
            raise DataError(f"{file}: column {name!r} has a blank. {AGAIN}")
    return table


def _codes(table: pa.Table, column: str, values: Sequence[str], file: Path) -> Codes:
    """The place of every cell of a column in `values`; -1 for null."""
    cells = table[column].cast(pa.string())
    places = pc.index_in(cells, value_set=pa.array(values, pa.string()))
    unknown = pc.and_(pc.is_null(places), pc.is_valid(cells))
    if pc.any(unknown).as_py():
        where = "corpus" if column == "passage_id" else "entity table"
        raise DataError(
            f"{file}: column {column!r} names {cells.filter(unknown)[0].as_py()!r}, which the {where} lacks. "
            "Load a graph over the corpus it was built on."
        )
    return np.array(pc.fill_null(places, -1).to_numpy(), dtype=np.int32)
