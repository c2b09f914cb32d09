"""An adjacency matrix in a table, as pandas, networkx, Gephi and UCINET write it -> nodes and edges."""

from __future__ import annotations

from itertools import islice
from pathlib import Path

from kg2rag.extraction.importers.headless_tables import first_cells
from kg2rag.extraction.importers.strengths import number_of
from kg2rag.text.records import Record, delimiter_of, read_delimited, wrong

COMPARED_ROWS = 3


def is_matrix(file: Path) -> bool:
    """Whether the first column of a table has no name, and has the names of the others, in order."""
    corner, *names = first_cells(file) or ["-"]
    if corner or len(names) < 2:
        return False
    rows = islice(read_delimited(file, delimiter_of(file)), COMPARED_ROWS)
    heads = [str(row[corner]).strip() for _, row in rows]
    return bool(heads) and heads == names[: len(heads)]


def parts_of_matrix(file: Path) -> dict[str, list[Record]]:
    """The nodes of a matrix, and an edge for each number that is not 0, which is its weight.

    The same number in both directions is one edge. DataError: a cell is no number.
    """
    weights: dict[tuple[str, str], float] = {}
    position: dict[str, int] = {}
    for number, row in read_delimited(file, delimiter_of(file)):
        (_, first), *cells = row.items()
        head = str(first).strip()
        position[head] = len(position)
        for tail, cell in cells:
            weight = number_of(cell) if str(cell).strip() else 0.0
            if weight is None:
                wrong(file, number, tail, cell, "a number, the weight of an edge")
            weights[head, tail] = weight
    edges: list[Record] = []
    for (head, tail), weight in weights.items():
        is_opposite = position.get(tail, 0) < position[head]
        if weight and not (is_opposite and weights.get((tail, head)) == weight):
            edges.append({"source": head, "target": tail, "weight": weight})
    return {"nodes": [{"id": name} for name in position], "edges": edges}
