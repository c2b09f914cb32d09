"""`KnowledgeGraph` <-> three Parquet files: entities, triples, mentions.

They hold names and passage ids, not codes: `triples.parquet` reads in pandas as it is, and `triples:FILE` takes it.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from kg2rag.knowledge.graph.csr import Codes, frozen, incidence
from kg2rag.knowledge.graph.data import Graph, GraphData
from kg2rag.knowledge.graph.tables import TripleTable
from kg2rag.types.corpus import Corpus

FILES = ("entities.parquet", "triples.parquet", "mentions.parquet")
_NOTES = b"kg2rag.notes"


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
    }
    mentions = {
        "entity": names.take(pa.array(graph.mentions.owners)),
        "passage_id": ids.take(pa.array(graph.mentions.others)),
        "count": pa.array(graph.mentions.counts),
    }
    for file, columns in zip(FILES, (entities, triples, mentions), strict=True):
        pq.write_table(pa.table(columns, metadata={_NOTES: json.dumps(dict(graph.notes))}), directory / file)


def load(kind: type[Graph], directory: Path, corpus: Corpus) -> Graph:
    """Read what `save` wrote, over the corpus that the graph was built on.

    Raises
    ------
    FileNotFoundError : the directory lacks one of the files.
    ValueError : a file names an entity that `entities.parquet` lacks, or a passage that the corpus lacks.
    """
    for file in FILES:
        if not (directory / file).is_file():
            raise FileNotFoundError(f"{directory} lacks {file}. A saved graph has {', '.join(FILES)}.")
    entities, triples, mentions = (pq.read_table(directory / file) for file in FILES)
    names = tuple(entities["name"].to_pylist())
    owners = _codes(mentions, "entity", names, directory / FILES[2])
    rows = _codes(mentions, "passage_id", corpus.ids, directory / FILES[2])
    relations = tuple(dict.fromkeys(triples["relation"].to_pylist()))
    coded = {"head": names, "relation": relations, "tail": names, "passage_id": corpus.ids}
    columns = [_codes(triples, column, values, directory / FILES[1]) for column, values in coded.items()]
    weights = [np.array(triples[column].to_numpy()) for column in ("strength", "confidence")]
    return kind(
        names=names,
        types=tuple(entities["type"].to_pylist()),
        descriptions=tuple(entities["description"].to_pylist()),
        aliases=tuple(tuple(aliases) for aliases in entities["aliases"].to_pylist()),
        relations=relations,
        triples=TripleTable(*map(frozen, (*columns, *weights))),
        mentions=incidence(owners, rows, mentions["count"].to_numpy(), len(names)),
        passage_ids=corpus.ids,
        notes=json.loads(entities.schema.metadata[_NOTES]),
    )


def _codes(table: pa.Table, column: str, values: Sequence[str], file: Path) -> Codes:
    """The place of every cell of a column in `values`; -1 for null."""
    codes: dict[str | None, int] = {value: code for code, value in enumerate(values)}
    codes[None] = -1
    cells = table[column].to_pylist()
    try:
        return np.array([codes[cell] for cell in cells], dtype=np.int32)
    except KeyError as unknown:
        where = "corpus" if column == "passage_id" else "entity table"
        raise ValueError(
            f"{file}: column {column!r} names {unknown.args[0]!r}, which the {where} lacks. "
            "Load a graph over the corpus it was built on."
        ) from None
