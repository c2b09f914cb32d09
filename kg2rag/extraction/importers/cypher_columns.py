"""Tables whose columns are those of a query in Cypher (n.name, type(r), m.name) -> columns of nodes and edges.

Kùzu's `EXPORT DATABASE` has a table for each kind of node (Person.csv: a.id, a.name) and of relation
(Follows_Person_City.csv: a.id, b.name, r.since). Neo4j's browser and shell save the rows of a query.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from kg2rag.text.records import Record
from kg2rag.types.coerce_corpus import distinct_columns

_PROPERTY = re.compile(r"(\w+)\.(\w+)")
_TYPE = re.compile(r"(?:type|label)\((\w+)\)", re.IGNORECASE)


def query_ends(columns: Sequence[str]) -> tuple[str, str, str] | None:
    """The columns of head, relation ("" for none) and tail of a query's rows; None for other columns.

    >>> query_ends(["n.name", "type(r)", "r.since", "m.name"])
    ('n.name', 'type(r)', 'm.name')
    >>> query_ends(["p.name", "m.title"])
    ('p.name', '', 'm.title')
    """
    types = _matches(_TYPE, columns)
    properties = _matches(_PROPERTY, columns)
    ends = [variable for variable in properties if variable not in types]
    if len(ends) == 3 and not types:
        del ends[1]  # the relation, between its ends
    if len(ends) != 2 or len(types) > 1:
        return None
    head, tail = ends
    return properties[head], "".join(types.values()), properties[tail]


def _matches(pattern: re.Pattern[str], columns: Sequence[str]) -> dict[str, str]:
    """Variable -> the first column that matches a pattern, whose first group is the variable."""
    column_of: dict[str, str] = {}
    for match in map(pattern.fullmatch, columns):
        if match:
            column_of.setdefault(match[1], match[0])
    return column_of


def with_import_columns(
    rows_of: Mapping[Path, Sequence[Record]],
) -> dict[Path, list[Record]]:
    """The tables of an export of Kùzu with the columns of Neo4j's import; other tables as they are.

    An id has the table of its nodes as its id space.
    """
    ends_of = {file: _end_tables(file, rows_of) for file in rows_of}
    keys = {
        table: _PROPERTY.sub(r"\2", column)
        for file, tables in ends_of.items()
        for table, column in zip(tables, distinct_columns(rows_of[file]), strict=False)
    }
    tables: dict[Path, list[Record]] = {}
    for file, rows in rows_of.items():
        if ends_of[file]:
            tables[file] = [_edge(row, file.stem, ends_of[file]) for row in rows]
        elif file.stem in keys:
            tables[file] = [_node(row, file.stem, keys[file.stem]) for row in rows]
        else:
            tables[file] = list(rows)
    return tables


def _end_tables(file: Path, rows_of: Mapping[Path, object]) -> tuple[str, ...]:
    """The tables of nodes that the name of a table of relations ends with; () for another table."""
    stems = [other.stem for other in rows_of]
    for head in stems:
        for tail in stems:
            if file.stem.endswith(f"_{head}_{tail}"):
                return head, tail
    return ()


def _edge(row: Record, stem: str, tables: Sequence[str]) -> Record:
    """A row of a table of relations, whose first two columns are the ends."""
    head, tail = tables
    columns = list(row)
    relation = stem.removesuffix(f"_{head}_{tail}")
    ends = {
        f":START_ID({head})": row[columns[0]],
        f":END_ID({tail})": row[columns[1]],
        ":TYPE": relation,
    }
    rest = {_PROPERTY.sub(r"\2", name): row[name] for name in columns[2:]}
    return {**ends, **rest}


def _node(row: Record, stem: str, key: str) -> Record:
    """A row of a table of nodes, whose id is in the column `key`."""
    node = {_PROPERTY.sub(r"\2", name): value for name, value in row.items()}
    # Of two columns of ids, the first counts.
    return {f":ID({stem})": node.get(key), **node, ":LABEL": stem}
