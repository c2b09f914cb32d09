"""Text with patterns of Cypher, "(:Person {name: 'Ada'})-[:KNOWS]->(:Person {name: 'Bo'})" -> nodes and edges.

Such text is in rows of nodes and relationships that cypher-shell and Neo4j's browser save, and in
statements that create a graph (CREATE, MERGE). A variable with a label or properties stands for
that node from there on.
"""

from __future__ import annotations

import ast
import re
from pathlib import Path

from kg2rag.extraction.importers.field_names import joined
from kg2rag.text.decoding import decode
from kg2rag.text.records import Record

_NAME = r"(?:\w+|`[^`]*`)"
_BODY = rf"({_NAME}?)\s*((?::\s*{_NAME}\s*)*)(\{{[^{{}}]*\}})?"
_NODE = rf"\(\s*{_BODY}\s*\)"
_RELATION = rf"\[\s*{_BODY}\s*\]"
_PATTERN = re.compile(rf"(<?)-?\s*{_RELATION}|{_NODE}")
_ROW = re.compile(rf"\(\s*{_NAME}?\s*:{_NAME}.*\[\s*{_NAME}?\s*:{_NAME}")
_PROPERTY = re.compile(
    rf"({_NAME})\s*:\s*('(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\"|\[[^\]]*\]|.*?)\s*(?=,\s*{_NAME}\s*:|\}}$)"
)


def has_patterns(first_lines: str) -> bool:
    """Whether some lines of a table hold a node with a label and a relationship.

    >>> has_patterns('(:Person {name: "Ada"}), [:KNOWS], (:Person)'), has_patterns("Ada (born: 1815)")
    (True, False)
    """
    return any(map(_ROW.search, first_lines.splitlines()))


def parts_of_patterns(file: Path) -> dict[str, list[Record]]:
    """The nodes and edges of all patterns in a file; a node that is written twice alike is one.

    Edges of a variable that stands for no node are left out.
    """
    graph = _CypherGraph()
    head: Record | None = None
    relation: Record | None = None
    is_reversed = False
    text = decode(file.read_bytes(), file).replace('""', '"')
    for arrow, *parts in map(re.Match.groups, _PATTERN.finditer(text)):
        if arrow is not None:
            relation = _record(*parts[:3])
            is_reversed = arrow == "<"
            continue
        tail = graph.node_of(*parts[3:])
        if relation and head and tail:
            start, end = (tail, head) if is_reversed else (head, tail)
            graph.edges.append(_edge(relation, start["id"], end["id"]))
        head = tail
        relation = None
    return {"nodes": list(graph.nodes.values()), "edges": graph.edges}


class _CypherGraph:
    """The nodes by their labels and properties, the edges, and the node of each variable."""

    def __init__(self) -> None:
        self.nodes: dict[str, Record] = {}
        self.edges: list[Record] = []
        self._node_of_variable: dict[str, Record] = {}

    def node_of(self, variable: str, labels: str, properties: str) -> Record | None:
        """The node of a pattern, a new one if it has other labels or properties; None if it has neither."""
        if labels or properties:
            key = f"{labels.strip()} {properties or variable}"
            new = {"id": f"n{len(self.nodes)}", **_record(variable, labels, properties)}
            self._node_of_variable[variable] = self.nodes.setdefault(key, new)
        return self._node_of_variable.get(variable)


def _edge(relation: Record, start: object, end: object) -> Record:
    """The edge of a relationship between the ids of two nodes."""
    type_ = joined(relation.get("labels", ""), ", ")
    properties = {name: relation[name] for name in relation if name != "labels"}
    return {**properties, "type": type_, "start": start, "end": end}


def _record(_: str, labels: str, properties: str | None) -> Record:
    """The labels and the properties of a node or relationship."""
    names = [name.strip("` ") for name in re.findall(_NAME, labels)]
    values = {
        name.strip("`"): _value(value)
        for name, value in _PROPERTY.findall(properties or "")
    }
    return {**values, "labels": names}


def _value(text: str) -> object:
    """The value of a literal of Cypher; text without quotation marks, of Neo4j's browser, is itself."""
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError):
        return text
