"""Tables without a header, as sets for link prediction have them (FB15k, WN18RR, PyKEEN) -> records.

The first line of a table is a row if it has no known name of a column, and a cell of it occurs again
in another row. In a folder, the tables of two columns whose first has the ids of the triples give
their names (entity2text.txt of KG-BERT): the shortest texts are names, the others descriptions. So do
lists of an id, a name and any number of aliases (Wikidata5M). Objects of JSON in a column hold weights
and other fields of the edges (ConceptNet).
"""

from __future__ import annotations

import csv
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import Literal

from kg2rag.extraction.importers.field_names import FIELDS, columns_of
from kg2rag.extraction.importers.strengths import number_of
from kg2rag.text.decoding import decode
from kg2rag.text.records import Record, delimiter_of, first_line, parse_json

COMPARED_ROWS = 10_000
"""Rows in which a cell of the first line is looked for."""
NAMED_SHARE = 0.5
"""Least share of the first cells of a table of names that the triples have."""
EDGE_FIELDS = ("passage_id", "strength", "weight", "confidence", "description")
"""Fields of an edge that a column of JSON may hold."""
_CONCEPTNET = re.compile(r"/c/[a-z-]+/([^/]+)(?:/.*)?|/r/(.+)")
_BRACKETS = re.compile(r"\(.*\)|\[.*\]|<.*>")
Rows = Sequence[Sequence[str]]


def headless_rows(file: Path) -> list[Record]:
    """The edges in a table without a header; [] if its first line names columns."""
    rows = rows_without_header(file)
    if len(set(map(len, rows))) > 1:
        return []
    fields, rows = _without_objects(rows, file)
    rows = _without_column_of_all(_without_brackets(rows))
    columns = _columns_of_edges(rows, rows[1:])
    if not columns:
        return []
    return [
        {**of_row, **dict(zip(columns, map(_plain_name, row), strict=True))}
        for of_row, row in zip(fields, rows, strict=True)
    ]


def _without_brackets(rows: Rows) -> Rows:
    """The rows without the brackets around each and the quotes around cells, as in "('a', 'b', 'c')"."""
    if not rows or not all(_BRACKETS.fullmatch(row[0] + row[-1]) for row in rows):
        return rows
    return [
        [cell.strip("'\"") for cell in (row[0][1:], *row[1:-1], row[-1][:-1])]
        for row in rows
    ]


def _without_objects(rows: Rows, file: Path) -> tuple[list[Record], Rows]:
    """The `EDGE_FIELDS` of each row from a last column of JSON objects, and the other cells."""
    if not rows or not all(row[-1].startswith("{") for row in rows):
        return [{} for _ in rows], rows
    fields: list[Record] = []
    for number, row in enumerate(rows, start=1):
        record = parse_json(row[-1], f"{file}, record {number}")
        columns = chain.from_iterable(
            columns_of(field, tuple(record)) for field in EDGE_FIELDS
        )
        fields.append({column: record[column] for column in columns})
    return fields, [row[:-1] for row in rows]


def _without_column_of_all(rows: Rows) -> Rows:
    """The rows without a first cell that holds all others, such as "/a/[/r/IsA/,/c/en/dog/,/c/en/animal/]"."""
    is_id = all(len(row) > 3 and all(cell in row[0] for cell in row) for row in rows)
    return [row[1:] for row in rows] if is_id else rows


def _plain_name(cell: str) -> str:
    """The words of a cell; of a path of ConceptNet, such as "/c/en/ice_cream/n", the term or relation."""
    path = _CONCEPTNET.fullmatch(cell)
    return (path[1] or path[2]).replace("_", " ") if path else cell


def rows_without_header(file: Path) -> Rows:
    """The cells of a table whose first line names no known column; [] for another one.

    Rows apart by tabs may have different lengths, from two cells.
    """
    first = first_cells(file)
    if any(columns_of(field, tuple(first)) for field in FIELDS):
        return []
    text = decode(file.read_bytes(), file)
    delimiter = delimiter_of(file)
    rows = list(_cells(text.splitlines(), delimiter))
    lengths = set(map(len, rows))
    is_table = len(lengths) == 1 or (delimiter == "\t" and min(lengths, default=0) > 1)
    return rows if is_table else []


def first_cells(file: Path) -> list[str]:
    """The cells of the first line of a table; [] for an empty one."""
    return next(_cells([first_line(file)], delimiter_of(file)), [])


def _cells(lines: Iterable[str], delimiter: str) -> Iterator[list[str]]:
    """The stripped cells of lines that are not blank."""
    quoting: Literal[0, 3] = csv.QUOTE_NONE if delimiter == "\t" else csv.QUOTE_MINIMAL
    for row in csv.reader(lines, delimiter=delimiter, quoting=quoting):
        if row:
            yield [cell.strip() for cell in row]


def _columns_of_edges(rows: Rows, others: Rows) -> tuple[str, ...]:
    """The columns of edges in rows of two or three cells; () if no cell of the first row is in `others`."""
    if not rows or len(rows[0]) not in (2, 3):
        return ()
    cells = set(chain.from_iterable(others[:COMPARED_ROWS]))
    if cells.isdisjoint(rows[0]):
        return ()
    if len(rows[0]) == 2:
        return ("head", "tail")
    are_numbers = [number_of(cell) is not None for cell in rows[0]]
    are_weights = are_numbers == [False, False, True]
    if are_weights:
        return ("head", "tail", "weight")
    return _order_of_triples(rows)


def _order_of_triples(rows: Rows) -> tuple[str, ...]:
    """The columns of rows of three cells: the relation is in the middle, unless two others share cells.

    Relations share no cell with the ends.
    """
    columns = [set(column) for column in zip(*rows, strict=True)]
    first, middle, last = columns
    if not middle.isdisjoint(last) and first.isdisjoint(middle | last):
        return ("relation", "head", "tail")
    if not first.isdisjoint(middle) and last.isdisjoint(first | middle):
        return ("head", "tail", "relation")
    return ("head", "relation", "tail")


def named_parts(tables: Mapping[Path, Rows]) -> dict[Path, list[Record]]:
    """The nodes and edges in the tables without a header of a folder, by file; [] for names of relations.

    A node has its name and descriptions, and an edge the name of its relation, from the tables of
    two columns.
    """
    lists = _lists_of_names(tables)
    edges = _edges_of(
        {file: rows for file, rows in tables.items() if file not in lists}
    )
    ends, relations = _ids_of(edges.values())
    parts: dict[Path, list[Record]] = {}
    names_of_relations: dict[str, str] = {}
    field = "name"
    for file in _by_length(tables, lists):
        pairs = [(row[0], row[1]) for row in tables[file]]
        if _name_most(pairs, ends):
            parts[file] = [_node(row, field) for row in tables[file]]
            field = "description"  # of the next table, whose texts are longer
        elif _name_most(pairs, relations):
            names_of_relations = dict(pairs) | names_of_relations
            parts[file] = []
    for file, rows in edges.items():
        parts[file] = [_with_name(edge, names_of_relations) for edge in rows]
    return parts


def _ids_of(tables: Iterable[list[dict[str, str]]]) -> tuple[set[str], set[str]]:
    """The ids of the ends and of the relations of some edges."""
    edges = [edge for rows in tables for edge in rows]
    ends = {edge[end] for edge in edges for end in ("head", "tail")}
    return ends, {edge["relation"] for edge in edges if "relation" in edge}


def _edges_of(tables: Mapping[Path, Rows]) -> dict[Path, list[dict[str, str]]]:
    """The edges in the tables of three columns; a cell of a first row may occur again in another table."""
    triples = {
        file: rows for file, rows in tables.items() if rows and len(rows[0]) == 3
    }
    edges = {}
    for file, rows in triples.items():
        # Two tables may have the same header.
        others = [row for name in triples if name != file for row in triples[name][1:]]
        columns = _columns_of_edges(rows, [*rows[1:], *others])
        if columns:
            edges[file] = [dict(zip(columns, row, strict=True)) for row in rows]
    return edges


def _lists_of_names(tables: Mapping[Path, Rows]) -> set[Path]:
    """The tables of an id, a name and aliases: ids are distinct, most names in no other table.

    Rows of different lengths are such a table in any case, since triples have one length.
    """
    lists = set()
    for file, rows in tables.items():
        lengths = set(map(len, rows))
        if len(lengths) > 1 or (lengths == {3} and _are_names(file, rows, tables)):
            lists.add(file)
    return lists


def _are_names(file: Path, rows: Rows, tables: Mapping[Path, Rows]) -> bool:
    """Whether rows of three cells, two or more, have distinct ids and names that no other table has."""
    ids = {row[0] for row in rows}
    if len(rows) < 2 or len(ids) < len(rows) or len({row[1] for row in rows}) == 1:
        return False
    other_rows = chain.from_iterable(tables[name] for name in tables if name != file)
    others = set(chain.from_iterable(other_rows))
    n_ids = len(ids & others)
    n_names = sum(not others.isdisjoint(row[1:]) for row in rows)
    return n_ids >= NAMED_SHARE * len(rows) and n_names < NAMED_SHARE * len(rows)


def _node(row: Sequence[str], field: str) -> Record:
    """The node of an id and a text, which is its name or description (`field`), and perhaps aliases."""
    node: dict[str, object] = {"id": row[0], field: row[1]}
    if field == "name" and len(row) > 2:
        node["aliases"] = list(row[2:])
    return node


def _by_length(tables: Mapping[Path, Rows], lists: Collection[Path]) -> list[Path]:
    """The tables of two columns and the `lists` of names, those with the shortest texts first."""
    files = [
        file
        for file, rows in tables.items()
        if rows and (len(rows[0]) == 2 or file in lists)
    ]
    return sorted(
        files,
        key=lambda file: sum(len(row[1]) for row in tables[file]) / len(tables[file]),
    )


def _name_most(pairs: Sequence[tuple[str, str]], ids: set[str]) -> bool:
    """Whether most first cells of some pairs are among some ids."""
    return sum(id_ in ids for id_, _ in pairs) >= NAMED_SHARE * len(pairs)


def _with_name(edge: Record, name_of: Mapping[str, str]) -> Record:
    """An edge with the name of its relation."""
    if "relation" not in edge:
        return edge
    return {**edge, "relation": name_of.get(str(edge["relation"]), edge["relation"])}
