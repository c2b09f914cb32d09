"""A knowledge graph -> three Parquet files and back, a networkx graph, the folder of a build.

The files (entities, triples, mentions) hold names and passage ids, not codes: `triples.parquet` reads in pandas as it
is, and `triples(FILE)` takes it. networkx attributes are strings and numbers only, so `networkx.write_graphml` and
Gephi take the result as it is; `kg2rag.extraction.importers.networkx_graph` reads it back.
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
from kg2rag.knowledge.graph.csr import Codes, incidence
from kg2rag.knowledge.graph.tables import TripleTable
from kg2rag.text.records import DataError, as_parquet, read_parquet, reading, sha256
from kg2rag.types import Corpus

if TYPE_CHECKING:
    import networkx as nx

    from kg2rag.knowledge.graph import KnowledgeGraph
PASSAGE = "passage:"


def to_networkx(graph: KnowledgeGraph, *, passages: bool = False) -> nx.MultiDiGraph:
    """Entities as nodes named by their first spelling, triples as edges.

    Nodes carry kind ("entity"), type, description, aliases (a JSON list) and mentions (how often the corpus names
    them); edges relation, description, strength, confidence, passage_id and order (the number of the triple).
    `passages` : every passage becomes a node "passage:<id>" too (kind "passage", `passage_id`), with an edge of kind
    "mention" and its count from each entity named in it. Without them, mentions outside triples cannot come back.
    """
    import networkx as nx

    out = nx.MultiDiGraph()
    rows = zip(graph.names, graph.types, graph.descriptions, graph.aliases, graph.mention_counts.tolist(), strict=True)
    for name, type_, description, aliases, mentions in rows:
        known = {"type": type_, "description": description, "aliases": json.dumps(aliases, ensure_ascii=False)}
        out.add_node(name, kind="entity", **known, mentions=mentions)
    told = ("relation", "description", "strength", "confidence", "passage_id")
    for index, triple in enumerate(map(graph.triple, range(graph.n_triples))):
        about = {name: getattr(triple, name) for name in told}
        out.add_edge(triple.head, triple.tail, kind="triple", **about, order=index)
    if passages:
        for id_ in graph.passage_ids:
            if PASSAGE + id_ in out:
                raise ValueError(f"Entity {PASSAGE + id_!r} has the name that the node of passage {id_!r} needs.")
            out.add_node(PASSAGE + id_, kind="passage", passage_id=id_)
        columns = (graph.mentions.owners, graph.mentions.others, graph.mentions.counts)
        for entity, row, count in zip(*(column.tolist() for column in columns), strict=True):
            out.add_edge(graph.names[entity], PASSAGE + graph.passage_ids[row], kind="mention", count=count)
    return out


VERSION = 5  # raise it when the files, or what a graph is built of, change, so that stored graphs are built anew
_NOTES = b"kg2rag.notes"
_TEXT = pa.string()
COLUMNS: Mapping[str, Mapping[str, pa.DataType]] = {
    "entities.parquet": {"name": _TEXT, "type": _TEXT, "description": _TEXT, "aliases": pa.list_(_TEXT)},
    "triples.parquet": dict.fromkeys(("head", "relation", "tail", "passage_id"), _TEXT)
    | {"strength": pa.float32(), "confidence": pa.float32(), "description": _TEXT},
    "mentions.parquet": {"entity": _TEXT, "passage_id": _TEXT, "count": pa.int32()},
}
AGAIN = "Save the graph again."


def save(graph: KnowledgeGraph, directory: Path | str) -> None:
    """Write the three files into a directory, which is made where it is missing.

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
            pa.array(graph.triple_descriptions, _TEXT).take(pa.array(table.descriptions)),
        ),
        (names.take(pa.array(mentions.owners)), ids.take(pa.array(mentions.others)), mentions.counts),
    )
    for (file, columns), values in zip(COLUMNS.items(), contents, strict=True):
        schema = pa.schema(columns.items(), metadata={_NOTES: json.dumps(dict(graph.notes))})
        (directory / file).write_bytes(as_parquet(pa.table(list(values), schema=schema), compression="snappy"))


def read(directory: Path, corpus: Corpus) -> dict[str, Any]:
    """The fields of a graph that `save` wrote, but for the passage ids."""
    for file in COLUMNS:
        if not (directory / file).is_file():
            raise FileNotFoundError(f"{directory} lacks {file}. A saved graph has {', '.join(COLUMNS)}.")
    about, facts, named = (directory / file for file in COLUMNS)
    entities, triples, mentions = (_table(file) for file in (about, facts, named))
    names = tuple(entities["name"].to_pylist())
    owners = _codes(mentions, "entity", names, named)
    rows = _codes(mentions, "passage_id", corpus.ids, named)
    relations = tuple(pc.unique(triples["relation"]).to_pylist())
    descriptions = tuple(dict.fromkeys(("", *pc.unique(triples["description"]).to_pylist())))
    coded = {"head": names, "relation": relations, "tail": names, "passage_id": corpus.ids, "description": descriptions}
    columns: list[Any] = [_codes(triples, column, values, facts) for column, values in coded.items()]
    weights = [np.array(triples[column].to_numpy()) for column in ("strength", "confidence")]
    counts = mentions["count"].to_numpy()
    sound = [((values > 0) & (values <= most)).all() for values, most in zip(weights, (10.0, 1.0), strict=True)]
    for fault, found in (
        (f"{facts}: a strength or confidence is out of range", not all(sound)),
        (f"{named}: a count is below 1", (counts < 1).any()),
        (f"{about}: two entities have one name", len(set(names)) < len(names)),
    ):
        if found:
            raise DataError(f"{fault}. {AGAIN}")
    with reading(about, AGAIN):
        notes = json.loads(entities.schema.metadata[_NOTES])
        if not all(isinstance(count, int) for count in notes.values()):
            raise DataError(f"{about}: its notes are no counts by cause. {AGAIN}")
    return {
        "names": names,
        "types": tuple(entities["type"].to_pylist()),
        "descriptions": tuple(entities["description"].to_pylist()),
        "aliases": tuple(map(tuple, entities["aliases"].to_pylist())),
        "relations": relations,
        "triples": TripleTable(*columns[:4], *weights, *columns[4:]),
        "triple_descriptions": descriptions,
        "mentions": incidence(owners, rows, counts, len(names)),
        "notes": notes,
    }


def _table(file: Path) -> pa.Table:
    """A table with its columns, of their types and, but for the passages of triples, without nulls."""
    table = read_parquet(file)
    for name, kind in COLUMNS[file.name].items():
        if name not in table.column_names or table[name].type != kind:
            raise DataError(f"{file}: no column {name!r} of type {kind}. {AGAIN}")
        if table[name].null_count and (file.name, name) != ("triples.parquet", "passage_id"):
            raise DataError(f"{file}: column {name!r} has a blank. {AGAIN}")
    return table


def _codes(table: pa.Table, column: str, values: Sequence[str], file: Path) -> Codes:
    """The place of every cell of a column in `values`; -1 for null."""
    cells = table[column].cast(_TEXT)
    places = pc.index_in(cells, value_set=pa.array(values, _TEXT))
    unknown = pc.and_(pc.is_null(places), pc.is_valid(cells))
    if pc.any(unknown).as_py():
        where = "corpus" if column == "passage_id" else "entity table"
        raise DataError(
            f"{file}: column {column!r} names {cells.filter(unknown)[0].as_py()!r}, which the {where} lacks. "
            "Load a graph over the corpus it was built on."
        )
    return np.array(pc.fill_null(places, -1).to_numpy(), dtype=np.int32)


# The folder of a build: the graph, the extraction, `build.json`; `kg2rag.extraction.importers.saved` reads it.


def check_free(directory: Path, extractor: Extractor, corpus: Corpus, *, force: bool = False) -> None:
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
    if (about.fingerprint, about.corpus.fingerprint) != (extractor.fingerprint, corpus.fingerprint):
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
    """Build the graph and write its folder, whole or not at all, in place of a former graph; the graph.

    FileExistsError : a file would be overwritten that kg2rag did not write, or that was edited since.
    """
    from kg2rag.knowledge.graph import KnowledgeGraph

    graph = KnowledgeGraph.build(extraction, corpus)
    with new_outputs(directory, "graph", last=ABOUT) as partial:
        write_files(graph, partial)
        write_tables(extraction, partial)
        written = sorted(file for file in partial.rglob("*") if file.is_file())
        if failed := list(failures):
            write_jsonl(failed, partial / FAILED)  # after the listing: a later build may write it again
        about = About(
            version=version("kg2rag"),
            corpus=CorpusMark(name=corpus_name, passages=len(corpus), fingerprint=corpus.fingerprint),
            extractor=repr(extractor),
            fingerprint=extractor.fingerprint,
            notes=dict(extraction.notes),
            failed_passages=failed_passages,
            usage=None if usage is None else dict(usage),
            files={str(file.relative_to(partial)): sha256(file) for file in written},
        )
        (partial / ABOUT).write_text(about.model_dump_json(indent=1), encoding="utf-8")
    return graph


def write_failures(directory: Path, failures: Iterable[Mapping[str, object]]) -> Path:
    """Write the list of failures where no graph is written; the file. An existing graph is kept."""
    with new_outputs(directory, "graph", keep_former=True) as partial:
        write_jsonl(failures, partial / FAILED)
    return directory / FAILED
