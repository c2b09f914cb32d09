"""Tables whose cells are nodes and relationships as JSON, as Neo4j's browser and Apache AGE save them."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from kg2rag.text.decoding import decode
from kg2rag.text.records import delimiter_of, first_lines, parse_json

_VERTEX = re.compile(r'"label": ?("[^"]*")(.*)::vertex$', re.DOTALL)  # of AGE
_EDGE = re.compile("::edge$")


def has_objects(file: Path) -> bool:
    """Whether each cell of the first row below the header is an object."""
    rows = list(_rows(first_lines(file, 2), file))
    return len(rows) == 2 and all(cell.startswith("{") for cell in rows[1])


def read_objects(file: Path) -> list[list[Any]]:
    """The objects of each row."""
    rows = list(_rows(decode(file.read_bytes(), file), file))
    return [
        [parse_json(_without_type(cell), f"{file}, row {number}") for cell in row]
        for number, row in enumerate(rows[1:], start=1)
    ]


def _without_type(cell: str) -> str:
    """The JSON in a cell of AGE, whose vertices have one label and no type; any other cell itself."""
    return _EDGE.sub("", _VERTEX.sub(r'"type": "node", "labels": [\1]\2', cell))


def _rows(text: str, file: Path) -> Iterator[list[str]]:
    return csv.reader(text.splitlines(), delimiter=delimiter_of(file))
