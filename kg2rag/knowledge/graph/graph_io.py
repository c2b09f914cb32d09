"""A knowledge graph -> three Parquet files and back, a networkx graph, the folder of a build.

The files (entities, triples, mentions) hold names and passage ids, not codes: pandas and the source
`triples(FILE)` read `triples.parquet`. networkx attributes are strings and numbers only, so
`networkx.write_graphml` and Gephi accept the result;
`kg2rag.extraction.importers.networkx_graph` reads it back.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from kg2rag.compute import check_outputs, new_outputs
from kg2rag.extraction import Extraction, Extractor
from kg2rag.extraction.importers.saved import (
    ABOUT,
    FAILED,
    TABLES,
    About,
    CorpusMark,
    read_about,
    write_jsonl,
    write_tables,
)
from kg2rag.knowledge.graph.csr import Codes, Incidence, incidence
from kg2rag.knowledge.graph.tables import TripleTable
from kg2rag.text.records import DataError, as_parquet, read_parquet, reading, sha256
from kg2rag.types import Corpus

if TYPE_CHECKING:
    import networkx as nx

    from kg2rag.knowledge.graph import KnowledgeGraph

PASSAGE = "passage:"  # prefix of the id in the name of a passage's node
EDGE_FIELDS = ("relation", "description", "strength", "confidence", "passage_id")


def to_networkx(graph: KnowledgeGraph, *, passages: bool = False) -> nx.MultiDiGraph:
    """The graph in networkx: entities as nodes named by their first spelling, triples as edges.

    Nodes carry kind ("entity"), type, description, aliases (a JSON list) and mentions (how often
    the corpus names them); edges relation, description, strength, confidence, passage_id and order
    (the number of the triple).

    Parameters
    ----------
    passages : add a node "passage:<id>" for every passage (kind "passage", `passage_id`), with an edge of kind
        "mention" and its count from each entity named in it. Without them, mentions outside triples cannot be read
        back.
    """
    import networkx as nx

    exported = nx.MultiDiGraph()
    counts = graph.mention_counts.tolist()
    for entity, name in enumerate(graph.names):
        exported.add_node(
            name,
            kind="entity",
            type=graph.types[entity],
            description=graph.descriptions[entity],
            aliases=json.dumps(graph.aliases[entity], ensure_ascii=False),
            mentions=counts[entity],
        )
    for index in range(graph.n_triples):
        triple = graph.triple(index)
        fields = {field: getattr(triple, field) for field in EDGE_FIELDS}
        exported.add_edge(
            triple.head, triple.tail, kind="triple", **fields, order=index
        )
    if passages:
        _add_passages(exported, graph)
    return exported


def _add_passages(exported: nx.MultiDiGraph, graph: KnowledgeGraph) -> None:
    """Add the passages to a networkx graph, with edges from the entities that they name."""
    for id_ in graph.passage_ids:
        if PASSAGE + id_ in exported:
            raise ValueError(
                f"Entity {PASSAGE + id_!r} has the name that the node of passage {id_!r} needs."
            )
        exported.add_node(PASSAGE + id_, kind="passage", passage_id=id_)
    columns = (graph.mentions.owners, graph.mentions.others, graph.mentions.counts)
    for entity, row, count in zip(
        *(column.tolist() for column in columns), strict=True
    ):
        exported.add_edge(
            graph.names[entity],
            PASSAGE + graph.passage_ids[row],
            kind="mention",
            count=count,
        )


_NOTES = b"kg2rag.notes"
_TEXT = pa.string()
COLUMNS: Mapping[str, Mapping[str, pa.DataType]] = {
    "entities.parquet": {
        "name": _TEXT,
        "type": _TEXT,
        "description": _TEXT,
        "aliases": pa.list_(_TEXT),
    },
    "triples.parquet": dict.fromkeys(("head", "relation", "tail", "passage_id"), _TEXT)
    | {"strength": pa.float32(), "confidence": pa.float32(), "description": _TEXT},
    "mentions.parquet": {"entity": _TEXT, "passage_id": _TEXT, "count": pa.int32()},
}
MAX_WEIGHTS = {"strength": 10.0, "confidence": 1.0}
AGAIN = "Save the graph again."


def save(graph: KnowledgeGraph, directory: Path | str) -> None:
    """Write the three files into a directory, which is made if it is missing.

    FileExistsError : a file would be overwritten that kg2rag did not write, or that was edited since.
    """
    with new_outputs(Path(directory), "graph", keep_former=True) as partial:
        write_files(graph, partial)


def write_files(graph: KnowledgeGraph, directory: Path) -> None:
    """Write the three files into a new directory, which exists."""
    names, ids = (pa.array(texts, _TEXT) for texts in (graph.names, graph.passage_ids))
    table, mentions = graph.triples, graph.mentions
    contents: tuple[tuple[Any, ...], ...] = (
        (names, graph.types, graph.descriptions, list(map(list, graph.aliases))),
        (
            names.take(pa.array(table.heads)),
            pa.array(graph.relations, _TEXT).take(pa.array(table.relations)),
            names.take(pa.array(table.tails)),
            ids.take(pa.array(table.passages, mask=table.passages < 0)),
            table.strengths,
            table.confidences,
            pa.array(graph.triple_descriptions, _TEXT).take(
                pa.array(table.descriptions)
            ),
        ),
        (
            names.take(pa.array(mentions.owners)),
            ids.take(pa.array(mentions.others)),
            mentions.counts,
        ),
    )
    for (file, columns), values in zip(COLUMNS.items(), contents, strict=True):
        schema = pa.schema(
            columns.items(), metadata={_NOTES: json.dumps(dict(graph.notes))}
        )
        (directory / file).write_bytes(
            as_parquet(pa.table(list(values), schema=schema), compression="snappy")
        )


def read(directory: Path, corpus: Corpus) -> dict[str, Any]:
    """The fields of a saved graph, without the passage ids.

    Raises
    ------
    FileNotFoundError : a file is missing.
    DataError : a file is damaged, has other columns, or names an entity or passage that is not there.
    """
    for file in COLUMNS:
        if not (directory / file).is_file():
            raise FileNotFoundError(
                f"{directory} lacks {file}. A saved graph has {', '.join(COLUMNS)}."
            )
    entities = _table(directory / "entities.parquet")
    names = tuple(entities["name"].to_pylist())
    if len(set(names)) < len(names):
        raise DataError(
            f"{directory / 'entities.parquet'}: two entities have one name. {AGAIN}"
        )
    return {
        "names": names,
        "types": tuple(entities["type"].to_pylist()),
        "descriptions": tuple(entities["description"].to_pylist()),
        "aliases": tuple(map(tuple, entities["aliases"].to_pylist())),
        "mentions": _read_mentions(directory / "mentions.parquet", names, corpus),
        **_read_triples(directory / "triples.parquet", names, corpus),
        "notes": _read_notes(directory / "entities.parquet", entities),
    }


def _read_mentions(path: Path, names: Sequence[str], corpus: Corpus) -> Incidence:
    """The mentions in a saved graph's file."""
    table = _table(path)
    counts = table["count"].to_numpy()
    if (counts < 1).any():
        raise DataError(f"{path}: a count is below 1. {AGAIN}")
    entities = _codes(table, "entity", names, path)
    rows = _codes(table, "passage_id", corpus.ids, path)
    return incidence(entities, rows, counts, len(names))


def _read_triples(path: Path, names: Sequence[str], corpus: Corpus) -> dict[str, Any]:
    """The triples in a saved graph's file, their relations and their descriptions, by field."""
    table = _table(path)
    weights = {column: np.array(table[column].to_numpy()) for column in MAX_WEIGHTS}
    for column, largest in MAX_WEIGHTS.items():
        if not ((weights[column] > 0) & (weights[column] <= largest)).all():
            raise DataError(f"{path}: a {column} is not in (0, {largest:g}]. {AGAIN}")
    relations = tuple(pc.unique(table["relation"]).to_pylist())
    descriptions = tuple(
        dict.fromkeys(("", *pc.unique(table["description"]).to_pylist()))
    )
    triples = TripleTable(
        heads=_codes(table, "head", names, path),
        relations=_codes(table, "relation", relations, path),
        tails=_codes(table, "tail", names, path),
        passages=_codes(table, "passage_id", corpus.ids, path),
        strengths=weights["strength"],
        confidences=weights["confidence"],
        descriptions=_codes(table, "description", descriptions, path),
    )
    return {
        "triples": triples,
        "relations": relations,
        "triple_descriptions": descriptions,
    }


def _read_notes(path: Path, table: pa.Table) -> dict[str, int]:
    """Cause -> count, from the metadata of a saved table."""
    with reading(path, AGAIN):
        notes: dict[str, int] = json.loads(table.schema.metadata[_NOTES])
        if not all(isinstance(count, int) for count in notes.values()):
            raise DataError(f"{path}: its notes are no counts by cause. {AGAIN}")
    return notes


def _table(file: Path) -> pa.Table:
    """The table of a saved graph's file.

    DataError: a column is missing, has another type or a null, other than the passage of a triple.
    """
    table = read_parquet(file)
    for name, kind in COLUMNS[file.name].items():
        if name not in table.column_names or table[name].type != kind:
            raise DataError(f"{file}: no column {name!r} of type {kind}. {AGAIN}")
        if table[name].null_count and (file.name, name) != (
            "triples.parquet",
            "passage_id",
        ):
            raise DataError(f"{file}: column {name!r} has a blank. {AGAIN}")
    return table


def _codes(table: pa.Table, column: str, values: Sequence[str], file: Path) -> Codes:
    """The index in `values` of each cell of a column; -1 for null. DataError: an unknown value."""
    cells = table[column].cast(_TEXT)
    positions = pc.index_in(cells, value_set=pa.array(values, _TEXT))
    unknown = pc.and_(pc.is_null(positions), pc.is_valid(cells))
    if pc.any(unknown).as_py():
        owner = "corpus" if column == "passage_id" else "entity table"
        raise DataError(
            f"{file}: column {column!r} names {cells.filter(unknown)[0].as_py()!r}, which the {owner} lacks. "
            "Load a graph over the corpus that it was built on."
        )
    return np.array(pc.fill_null(positions, -1).to_numpy(), dtype=np.int32)


# The folder of a build: the graph, the extraction, `build.json`;
# `kg2rag.extraction.importers.saved` reads it.


def check_free(
    directory: Path, extractor: Extractor, corpus: Corpus, *, force: bool = False
) -> None:
    """Check that the graph of an extractor over a corpus can be written into a folder.

    Raises
    ------
    ValueError : the folder holds another graph of kg2rag, unless `force`.
    FileExistsError : a file would be overwritten that kg2rag did not write, or that was edited since.
    """
    check_outputs(directory, [*COLUMNS, *TABLES, ABOUT, FAILED])
    if force or not (directory / ABOUT).is_file():
        return
    about = read_about(directory)
    if (about.fingerprint, about.corpus.fingerprint) != (
        extractor.fingerprint,
        corpus.fingerprint,
    ):
        raise ValueError(
            f"{directory} holds the graph of {about.extractor} over {about.corpus}, which is not the one to be built. "
            "Give another --out, or --force to replace it."
        )


def write_graph(
    directory: Path,
    extraction: Extraction,
    corpus: Corpus,
    extractor: Extractor,
    *,
    corpus_name: str,
    failures: Iterable[Mapping[str, object]] = (),
    failed_passages: int = 0,
    usage: Mapping[str, object] | None = None,
) -> KnowledgeGraph:
    """Build the graph, write its folder atomically in place of a former graph, and return it.

    FileExistsError : a file would be overwritten that kg2rag did not write, or that was edited since.
    """
    from kg2rag.knowledge.graph import KnowledgeGraph

    graph = KnowledgeGraph.build(extraction, corpus)
    with new_outputs(directory, "graph", last=ABOUT) as partial:
        write_files(graph, partial)
        write_tables(extraction, partial)
        files = sorted(file for file in partial.rglob("*") if file.is_file())
        failed = list(failures)
        if failed:
            # Not listed in `files`, since a later build may rewrite it.
            write_jsonl(failed, partial / FAILED)
        about = About(
            version=version("kg2rag"),
            corpus=CorpusMark(
                name=corpus_name, passages=len(corpus), fingerprint=corpus.fingerprint
            ),
            extractor=repr(extractor),
            fingerprint=extractor.fingerprint,
            notes=dict(extraction.notes),
            failed_passages=failed_passages,
            usage=None if usage is None else dict(usage),
            files={str(file.relative_to(partial)): sha256(file) for file in files},
        )
        (partial / ABOUT).write_text(about.model_dump_json(indent=1), encoding="utf-8")
    return graph


def write_failures(directory: Path, failures: Iterable[Mapping[str, object]]) -> Path:
    """Write the failures of a build without a graph, and return the path of their file.

    A graph in the folder is kept.
    """
    with new_outputs(directory, "graph", keep_former=True) as partial:
        write_jsonl(failures, partial / FAILED)
    return directory / FAILED
