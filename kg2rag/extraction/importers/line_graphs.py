"""Graphs as lines of text -> networkx: SIF, edge lists (networkx, igraph's NCOL) and Pajek's .net."""

from __future__ import annotations

import ast
import re
from pathlib import Path
from typing import TYPE_CHECKING

from kg2rag.extraction.importers.strengths import number_of
from kg2rag.text.decoding import decode
from kg2rag.text.records import DataError, quote, reading

if TYPE_CHECKING:
    import networkx as nx

_NO_WEIGHT = re.compile(r"^(\s*\d+\s+\d+)\s+(l\s)")
"""An edge whose label comes right after its ends; a vertex has its own label there."""


def read_pajek(file: Path) -> nx.Graph:
    """The graph in a .net file of Pajek; labels name its nodes and edges."""
    import networkx as nx

    lines = decode(file.read_bytes(), file).splitlines()
    with reading(file, "Is it a network of Pajek?"):
        graph = nx.parse_pajek([_with_weight(line) for line in lines])
    for _, data in graph.nodes(data=True):
        data.pop("id", None)  # the place of the vertex in the file, which networkx adds
    return graph


def _with_weight(line: str) -> str:
    """A line of Pajek; an edge without a weight, as igraph writes it, gets the weight 1 for networkx."""
    return _NO_WEIGHT.sub(r"\1 1 \2", line)


def read_sif(file: Path) -> nx.Graph:
    """The graph in a SIF file of Cytoscape.

    A line has a node, a relation and further nodes, separated by tabs if the file has any, else by
    blanks. DataError: a line has only a node and a relation, or a blank cell before its last one.
    """
    import networkx as nx

    text = decode(file.read_bytes(), file)
    separator = "\t" if "\t" in text else None
    graph = nx.MultiDiGraph()
    for number, line in enumerate(text.splitlines(), start=1):
        if not line.strip():
            continue
        cells = [cell.strip() for cell in line.rstrip().split(separator)]
        if len(cells) == 2:
            raise DataError(
                f"{file}, line {number}: {quote(line)} has a node and a relation, but no further node."
            )
        if "" in cells:
            raise DataError(
                f"{file}, line {number}: {quote(line)} has a blank cell {cells.index('') + 1}. Give each node and "
                "relation a name."
            )
        graph.add_nodes_from([cells[0], *cells[2:]])
        for tail in cells[2:]:
            graph.add_edge(cells[0], tail, relation=cells[1])
    return graph


def read_edge_list(file: Path) -> nx.Graph:
    """The graph in an edge list, whose lines have two nodes and perhaps a weight or a Python dict.

    DataError: a line has another form, such as names with blanks.
    """
    import networkx as nx

    graph = nx.MultiDiGraph()
    lines = decode(file.read_bytes(), file).splitlines()
    for number, line in enumerate(lines, start=1):
        if line.strip() and not line.startswith("#"):
            graph.add_edges_from([_listed_edge(line, f"{file}, line {number}")])
    return graph


def _listed_edge(line: str, where: str) -> tuple[str, str, dict[str, object]]:
    """The head, the tail and the attributes in a line of an edge list."""
    names, brace, rest = line.partition("{")
    cells = names.strip().split("\t") if "\t" in names.strip() else names.split()
    attributes = _edge_attributes(brace + rest)
    if len(cells) == 3 and not brace:
        weight = number_of(cells.pop())
        attributes = None if weight is None else {"weight": weight}
    if attributes is None or len(cells) != 2:
        raise DataError(
            f"{where}: {quote(line)} is no edge: two nodes, and perhaps a weight or attributes in braces. Do names "
            "have blanks? Write the graph as GraphML, or as a table of head, relation and tail."
        )
    return cells[0].strip(), cells[1].strip(), attributes


def _edge_attributes(text: str) -> dict[str, object] | None:
    """The attributes of an edge in the text of a Python dict; {} for no text, None for another text."""
    if not text:
        return {}
    try:
        value = ast.literal_eval(text)
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return None
    return value if isinstance(value, dict) else None
