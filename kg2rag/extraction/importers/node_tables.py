"""Tables of nodes and edges -> networkx (APOC, Neo4j's import, Gephi, Neptune, KGX, ArangoDB, Kùzu)."""

from __future__ import annotations

import ast
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING

from kg2rag.extraction.importers.cypher_columns import with_import_columns
from kg2rag.extraction.importers.field_names import relation_of, values_of
from kg2rag.extraction.importers.headless_tables import (
    first_cells,
    named_parts,
    rows_without_header,
)
from kg2rag.extraction.importers.json_graph import (
    NOTES,
    graph_of_json,
    has_ends,
    read_json_values,
)
from kg2rag.text.decoding import decode
from kg2rag.text.records import (
    DataError,
    Record,
    delimited_rows,
    delimiter_of,
    first_line,
    parse_json,
    read_delimited,
    read_parquet,
    wrong,
)
from kg2rag.types.coerce_corpus import distinct_columns

if TYPE_CHECKING:
    import networkx as nx

TABLES = (".csv", ".tsv", ".txt")
JSON_LINES = (".jsonl", ".ndjson")
OBJECT_COLUMNS = ("graph_data", "properties", "attributes")
"""Columns in which LightRAG's export and others have the attributes of a node or edge as an object."""
_TABLE_OF_EDGES = re.compile(
    r"edges?|relationships?|relations?|rels?|links?", re.IGNORECASE
)
_TABLES_OF_NODES = ("nodes", "node", "vertices", "entities")
_ID_SPACE = re.compile(r":(?:START_|END_)?ID\((.+)\)")


def nodes_file(edges: Path) -> Path | None:
    """The table of nodes beside a table of edges, such as city_nodes.tsv beside city_edges.tsv, or None."""
    word = _TABLE_OF_EDGES.search(edges.stem)
    if word is None or not _has_columns(edges):
        return None
    names = [
        edges.stem[: word.start()] + nodes + edges.stem[word.end() :]
        for nodes in _TABLES_OF_NODES
    ]
    file_names = [f"{name}{edges.suffix}".casefold() for name in names]
    beside = {
        file.name.casefold(): file
        for file in sorted(edges.parent.iterdir())
        if file.is_file()
    }
    return next((beside[name] for name in file_names if name in beside), None)


def _has_columns(file: Path) -> bool:
    """Whether a file is a table of several columns, and no list of names, or JSON Lines or Parquet."""
    suffix = file.suffix.lower()
    is_columnar = suffix in (*JSON_LINES, ".parquet")
    return is_columnar or (suffix in TABLES and len(first_cells(file)) > 1)


def read_tables(file: Path) -> nx.Graph:
    """The graph in a table of edges and the table of nodes beside it, else in one table of both (APOC)."""
    beside = nodes_file(file)
    if beside is None:
        return _graph_of_tables(file, [file])
    return _graph_of_tables(file, [beside, file], nodes=beside)


def read_folder(folder: Path) -> nx.Graph:
    """The graph in the tables of a folder; its `NOTES` count rows that are neither nodes nor edges."""
    _require_headers_of_kuzu(folder)
    return _graph_of_tables(folder, tables_of(folder))


def _require_headers_of_kuzu(folder: Path) -> None:
    """DataError: a folder is an export of Kùzu whose tables have no header, as its statements say."""
    statements = folder / "copy.cypher"
    if not statements.is_file():
        return
    for line in decode(statements.read_bytes(), statements).splitlines():
        if '.csv"' in line and "header=true" not in line:
            raise DataError(
                f"{folder}: an export of Kùzu without headers ({line.strip()}). Export it again: "
                'EXPORT DATABASE "FOLDER" (format="csv", header=true).'
            )


def _graph_of_tables(
    where: Path, files: list[Path], nodes: Path | None = None
) -> nx.Graph:
    """The graph in some tables: a row with two ends is an edge, one with an id a node.

    `nodes` : the table that has no edges.
    """
    notes: Counter[str] = Counter()
    parts: dict[str, list[Record]] = {"nodes": [], "edges": []}
    for file, rows in _rows_of_tables(files, notes).items():
        is_general = len(files) == 1 or _TABLE_OF_EDGES.search(file.stem)
        # one table for each relation, as of ArangoDB
        relation = {} if is_general else {"title": file.stem}
        for row in rows:
            if file != nodes and has_ends(row):
                parts["edges"].append(row if relation_of(row) else {**relation, **row})
            elif values_of("node_key", row):
                parts["nodes"].append(row)
            else:
                notes[f"rows of {file.name} without ends or an id, left out"] += 1
    if parts["edges"] and not _have_ends(parts["nodes"], parts["edges"]):
        notes["rows with an id that no edge has, left out"] = len(parts["nodes"])
        parts["nodes"] = []
    graph = graph_of_json(parts, where)
    if graph is None:
        raise DataError(
            f"{where}: no row has two ends. A table of edges has columns such as source and target, and one of nodes "
            "id and name."
        )
    graph.graph[NOTES].update(notes)
    return graph


def _have_ends(nodes: Iterable[Record], edges: Iterable[Record]) -> bool:
    """Whether any node is an end of an edge; a table of chunks beside one of edges has no such rows."""
    ends = {
        str(end)
        for edge in edges
        for field in ("head", "tail")
        for end in values_of(field, edge)
    }
    return any(
        str(key) in ends for node in nodes for key in values_of("node_key", node)
    )


def _rows_of_tables(files: list[Path], notes: Counter[str]) -> dict[Path, list[Record]]:
    """The rows of each table, with the columns of nodes or edges where tools name them otherwise."""
    cells = {
        file: rows_without_header(file)
        for file in files
        if file.suffix in TABLES and _header_file(file) is None
    }
    parts = named_parts(cells)
    for file, rows in parts.items():
        columns = ", ".join(rows[0]) if rows else "names of relations"
        cause = f"rows of {file.name}, which has no header, read as {columns}"
        notes[cause] = len(cells[file])
    others = {file: _filled_rows(file) for file in files if file not in parts}
    return {**parts, **_with_id_spaces(with_import_columns(others))}


def _with_id_spaces(rows_of: Mapping[Path, list[Record]]) -> dict[Path, list[Record]]:
    """The rows of each table; an id that two id spaces of Neo4j's import have names its space, too."""
    space_of = _space_of_columns(rows_of.values())
    spaces: defaultdict[object, set[str]] = defaultdict(set)
    for row in chain.from_iterable(rows_of.values()):
        for column in space_of.keys() & row.keys():
            spaces[row[column]].add(space_of[column])
    if all(len(names) < 2 for names in spaces.values()):
        return dict(rows_of)
    return {
        file: [
            {
                column: _id_in_space(space_of.get(column), value, spaces)
                for column, value in row.items()
            }
            for row in rows
        ]
        for file, rows in rows_of.items()
    }


def _space_of_columns(tables: Iterable[Sequence[Record]]) -> dict[str, str]:
    """Column -> its id space, for the columns of Neo4j's import that have one."""
    columns = chain.from_iterable(map(distinct_columns, tables))
    matches = {column: _ID_SPACE.search(column) for column in columns}
    return {column: match[1] for column, match in matches.items() if match}


def _id_in_space(
    space: str | None, value: object, spaces: Mapping[object, set[str]]
) -> object:
    """The value of a column of ids in a space; of an id with several `spaces`, behind that of the column."""
    if space is None or len(spaces[value]) < 2:
        return value
    return f"{space}:{value}"


def tables_of(folder: Path) -> list[Path]:
    """The tables and files of JSON in a folder, by name, without the headers of Neo4j's import."""
    files = [
        file
        for file in folder.iterdir()
        if file.suffix.lower() in (*TABLES, *JSON_LINES, ".json", ".parquet")
    ]
    headers = set(map(_header_file, files))
    return sorted(file for file in files if file not in headers)


def _header_file(file: Path) -> Path | None:
    """The file beside a table that has its header, as persons-header.csv beside persons.csv; None without one."""
    for mark in ("-header", "_header"):
        header = file.with_stem(f"{file.stem}{mark}")
        if header.is_file():
            return header
    return None


def _filled_rows(file: Path) -> list[Record]:
    """The rows of a table without their blank cells."""
    suffix = file.suffix.lower()
    header = _header_file(file)
    if header is not None:
        lines = (
            first_line(header).rstrip(),
            *decode(file.read_bytes(), file).splitlines(),
        )
        table = delimited_rows(
            [f"{line}\n" for line in lines], file, delimiter_of(header)
        )
        records = [row for _, row in table]
    elif suffix in TABLES:
        records = [row for _, row in read_delimited(file, delimiter_of(file))]
    elif suffix == ".parquet":
        records = read_parquet(file).to_pylist()
    else:
        value = read_json_values(file)
        records = value if isinstance(value, list) else [value]
    rows: list[Record] = []
    for number, record in enumerate(records, start=1):
        if not isinstance(record, Mapping):
            wrong(file, number, "record", record, "an object")
        filled = {
            name: value for name, value in record.items() if value not in ("", None)
        }
        rows.append({**_object_in(filled), **filled})
    return rows


def _object_in(record: Record) -> Record:
    """The fields of the object that a cell of `OBJECT_COLUMNS` has as JSON or Python; {} without one."""
    for column in OBJECT_COLUMNS:
        text = record.get(column)
        if isinstance(text, str) and text.startswith("{"):
            try:
                value = ast.literal_eval(text)
            except (ValueError, SyntaxError):
                value = parse_json(text, column)
            if isinstance(value, dict):
                return value
    return {}
