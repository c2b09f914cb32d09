"""Graphs as JSON -> networkx: nodes, and the edges between them.

Read are node-link and adjacency data of networkx (`links` of old releases, `edges` of new ones;
ends by id, or by place as D3 and networkx 1 have them), Cytoscape (`elements`, `data`, CX, CX2),
the JSON Graph Format (`graph`, `metadata`), Neo4j (APOC's JSON Lines, list, or `nodes` and `rels`;
rows and paths of the browser; answers of the HTTP API), MCP's memory, graphs of LangChain and
LlamaIndex, also as a list of graphs, lists of any name whose ids fit (VOSviewer), and the shapes
of `json_dialects`.
"""

from __future__ import annotations

from collections import ChainMap, Counter, defaultdict
from collections.abc import Hashable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeGuard

from kg2rag.extraction.importers import triple_record
from kg2rag.extraction.importers.field_names import (
    columns_of,
    values_of,
    words_joined,
)
from kg2rag.extraction.importers.json_dialects import with_nodes_and_edges
from kg2rag.text.decoding import decode
from kg2rag.text.records import DataError, Record, parse_json, quote, reading

if TYPE_CHECKING:
    import networkx as nx

EDGES = ("links", "edges", "relationships", "rels", "relations", "arcs")
NODES = ("nodes", "vertices", "entities")
NESTED = ("data", "properties", "metadata", "attributes", "v")
"""Objects within a node or edge that hold its attributes."""
EDGE_TYPES = ("relationship", "edge", "relation")
NODE_TYPES = ("node", "entity")
CX_NAMES = {"@id": "id", "n": "name", "s": "source", "t": "target", "i": "interaction"}
"""Attributes of nodes and edges in Cytoscape's CX."""
NOTES = "kg2rag notes"
"""The attribute of a graph with what its reader counted, by cause."""
MAX_DEPTH = 12
"""Lists and objects within one another in which nodes and edges are looked for."""


class Parts(NamedTuple):
    """The nodes and edges of a value, their attributes flat."""

    nodes: list[Record]
    edges: list[Record]


def read_json_values(file: Path) -> Any:
    """The value of a JSON file; the list of values if each line has one, as in APOC's .json."""
    text = decode(file.read_bytes(), file)
    lines = [
        (number, line)
        for number, line in enumerate(text.splitlines(), start=1)
        if line.strip()
    ]
    if len(lines) > 1 and lines[0][1].strip().endswith(("}", "]")):
        return [
            parse_json(line, f"{file}, line {number}", pairs=_untyped)
            for number, line in lines
        ]
    return parse_json(text, file, pairs=_untyped)


def _untyped(pairs: list[tuple[str, Any]]) -> Any:
    """The object of some pairs; if it has only a type and a value, as in GraphSON, the value."""
    value = dict(pairs)
    return value["@value"] if value.keys() == {"@type", "@value"} else value


def read_json_graph(file: Path) -> nx.Graph:
    """The graph in a JSON file; DataError where it has no nodes and edges."""
    graph = graph_of_json(read_json_values(file), file)
    if graph is None:
        needed = f"nodes, and one of {', '.join(EDGES)}, or a list of nodes and relationships"
        raise DataError(f"{file}: no graph. Needed: {needed}.")
    return graph


def graph_of_json(value: Any, file: Path) -> nx.Graph | None:
    """The graph that a JSON value holds; None where it has no edges.

    Edges with an end that is no node are left out and counted. DataError: all edges are such, one node
    has two names, or a list mixes nodes with something else.
    """
    import networkx as nx

    with reading(file, "Is it a graph as its tool wrote it?"):
        value = with_nodes_and_edges(value, file)
        nodes, edges = _parts(value, file, MAX_DEPTH)
    if not edges:
        return None
    notes = value.get("notes") if isinstance(value, Mapping) else None
    counts = Counter[str](notes if isinstance(notes, Mapping) else {})
    graph = nx.MultiDiGraph(**{NOTES: counts})
    for index, node in enumerate(nodes or _nodes_of_ends(edges)):
        _add_node(graph, _key(node, index), node, file)
    key_of = _keys_by_end(graph, edges)
    for edge in edges:
        heads = _nodes_at(edge, "head", key_of)
        tails = _nodes_at(edge, "tail", key_of)
        if heads and tails:
            # add_edge would take an attribute "key" for the key of the edge.
            graph.add_edges_from([(heads[0], tails[0], _edge_attributes(edge))])
        else:
            counts["edges with an end that is no node, left out"] += 1
    if not graph.number_of_edges():
        edge = edges[0]
        raise DataError(
            f"{file}: no edge has a node at both ends, such as edge 1: {quote(edge)}. "
            f"Its fields: {', '.join(edge) or 'none'}."
        )
    return graph


def _nodes_at(
    edge: Record, field: str, key_of: Mapping[Hashable, Hashable]
) -> list[Hashable]:
    """The keys of nodes at the head or tail (`field`) of an edge, by the names that the edge has for it."""
    return [key_of[end] for end in _endpoint_ids(edge, field) if end in key_of]


def _parts(value: Any, file: Path, depth: int) -> Parts:
    """The nodes and edges in a value, down to a depth of `depth` lists and objects."""
    if isinstance(value, list):
        _refuse_mixture(value, file)
        return _joined_parts(_cx2_aspects(value), file, depth)
    if not isinstance(value, Mapping):
        return Parts([], [])
    if _is_edge(value):
        edges = [_flat(value)]
        return Parts(_end_objects(edges), edges)
    if _is_node(value):
        return Parts([_flat(value)], [])
    graph = value.get("graph")
    if isinstance(graph, Mapping) and not graph.keys().isdisjoint(NODES):
        value = graph  # rows of Neo4j's HTTP API repeat it in other forms
    parts = _listed_parts(value)
    if parts.nodes or parts.edges:
        return parts
    return _joined_parts(value.values(), file, depth)


def _joined_parts(values: Iterable[Any], file: Path, depth: int) -> Parts:
    """The nodes and edges in several values; none if `depth` is 0."""
    joined = Parts([], [])
    if not depth:
        return joined
    for value in values:
        parts = _parts(value, file, depth - 1)
        joined.nodes.extend(parts.nodes)
        joined.edges.extend(parts.edges)
    return joined


def _cx2_aspects(values: list[Any]) -> list[Any]:
    """The nodes and edges of a list in Cytoscape's CX2, with declared attributes; any other list unchanged.

    A declaration may abbreviate an attribute ("a": "n") and give it a default ("v").
    """
    if not (values and isinstance(values[0], Mapping) and "CXVersion" in values[0]):
        return values
    aspects: defaultdict[str, list[Any]] = defaultdict(list)
    for fragment in values[1:]:
        for name, members in fragment.items():
            aspects[name] += members
    graph: dict[str, list[Record]] = {}
    for kind in ("nodes", "edges"):
        declared = ChainMap(
            *(
                declarations.get(kind, {})
                for declarations in aspects["attributeDeclarations"]
            )
        )
        graph[kind] = [_cx2_part(part, declared) for part in aspects[kind]]
    return [graph]


def _cx2_part(part: Mapping[str, Any], declared: Mapping[str, Any]) -> Record:
    """A node or edge of CX2 with the full names of its attributes, and the defaults of those that it lacks."""
    names = {declaration.get("a", name): name for name, declaration in declared.items()}
    defaults = {
        name: declaration["v"]
        for name, declaration in declared.items()
        if "v" in declaration
    }
    attributes = {
        names.get(name, name): value for name, value in part.get("v", {}).items()
    }
    return {**part, "v": {**defaults, **attributes}}


def _refuse_mixture(values: list[Any], file: Path) -> None:
    """DataError where some members of a list are nodes or edges, and others are objects of another kind."""
    is_part = [_is_edge(value) or _is_node(value) for value in values]
    if any(is_part) and not all(is_part):
        number = is_part.index(False) + 1
        raise DataError(
            f"{file}, record {number}: neither a node nor an edge: {quote(values[number - 1])}."
        )


def _is_edge(value: Any) -> bool:
    """Whether a member of a list is an edge: by its type, or with two ends and an object of attributes."""
    if (
        not isinstance(value, Mapping)
        or "segments" in value
        or _has_object(value, "relationship")
    ):
        return False  # a path of Neo4j, or a segment of one, holds nodes and edges
    if isinstance(value.get("labels"), list):
        return False  # a node of Neo4j may have a property "start"
    if value.get("type") in EDGE_TYPES:
        return True
    if _has_object(value, "data"):
        return has_ends(value["data"])
    ends = [
        column
        for field in ("head", "tail")
        for column in columns_of(field, _columns(value))[:1]
    ]
    return has_ends(value) and _has_object(value, "properties", "attributes", *ends)


def _is_node(value: Any) -> bool:
    """Whether a member of a list is a node: by its type, by Neo4j's labels, or with an id in Cytoscape's `data`."""
    if not isinstance(value, Mapping) or "elements" in value:
        return False  # a network of Cytoscape has `data` beside its elements
    if isinstance(value.get("labels"), list) and _has_object(value, "properties"):
        return True
    return value.get("type") in NODE_TYPES or (
        _has_object(value, "data") and "id" in value["data"]
    )


def has_ends(value: Any) -> bool:
    """Whether a record has a column for its head and one for its tail."""
    return isinstance(value, Mapping) and all(
        columns_of(field, _columns(value)) for field in ("head", "tail")
    )


def is_part(value: Record) -> bool:
    """Whether a record is a node or an edge by its type."""
    return value.get("type") in (*NODE_TYPES, *EDGE_TYPES)


def _has_object(value: Mapping[str, Any], *names: str) -> bool:
    """Whether a record has an object under one of these names."""
    return any(isinstance(value.get(name), Mapping) for name in names)


def _listed_parts(value: Record) -> Parts:
    """The nodes and edges in the lists or objects that an object has under `NODES` and `EDGES`."""
    nodes = [_flat(node) for name in NODES for node in _members(value.get(name))]
    edges: list[Record] = []
    for name in EDGES:
        records = list(map(triple_record, _members(value.get(name))))
        # A list with a member of another kind, such as names, has no edges.
        if None not in records:
            edges += map(_flat, records)
    if not nodes:
        return _parts_by_ids(value, edges)
    edges += _adjacency_edges(nodes, value.get("adjacency"))
    return Parts([*nodes, *_end_objects(edges)], edges)


def _parts_by_ids(value: Record, edges: list[Record]) -> Parts:
    """The nodes and edges in lists with other names, such as `items` and `links` of VOSviewer.

    A list is one of nodes if each end of the edges is the id of a member, and one of edges if each
    member has two ends. Other tools' strengths have any scale: they are weights. Without a list of
    nodes, the parts are the given `edges` and the nodes at their ends.
    """
    tables = [
        list(map(_flat, records))
        for name, records in value.items()
        if name not in EDGES and _are_records(records)
    ]
    lists_of_edges = [edges]
    if not edges:
        lists_of_edges = [rows for rows in tables if all(map(has_ends, rows))]
    for links in lists_of_edges:
        nodes = _table_of_nodes(tables, links)
        if nodes:
            return Parts(nodes, list(map(_with_weight, links)))
    return Parts(_end_objects(edges), edges)


def _table_of_nodes(tables: list[list[Record]], edges: list[Record]) -> list[Record]:
    """The first other table whose ids include the ends of some edges; [] if there is none."""
    ends = {node["id"] for node in _nodes_of_ends(edges)}
    for rows in tables:
        if ends and rows is not edges and ends <= {_key(row, None) for row in rows}:
            return rows
    return []


def _are_records(value: Any) -> TypeGuard[list[Record]]:
    """Whether a value is a list of objects."""
    return (
        isinstance(value, list)
        and bool(value)
        and all(isinstance(member, Mapping) for member in value)
    )


def _with_weight(edge: Record) -> Record:
    """An edge whose strength is its weight."""
    return {"weight" if name == "strength" else name: edge[name] for name in edge}


def _adjacency_edges(nodes: list[Record], adjacency: Any) -> Iterator[Record]:
    """The edges in networkx's adjacency data, which lists the neighbours of each node, in order."""
    if isinstance(adjacency, list):
        for node, neighbours in zip(nodes, adjacency, strict=False):
            for edge in neighbours:
                yield {**edge, "source": node.get("id"), "target": edge.get("id")}


def _members(collection: Any) -> Iterator[Any]:
    """The members of a list; those of an object as records with their keys as ids."""
    if isinstance(collection, list):
        yield from collection
    elif isinstance(collection, Mapping):
        for id_, member in collection.items():
            if isinstance(member, Mapping):
                yield {"id": id_, **member}
            else:
                yield {"id": id_, "name": member}


def _flat(record: Any) -> Record:
    """The record of a node or edge with the attributes of its inner objects as its own.

    A type that only says "node" or "edge" is left out. A value that is no object is an id.
    """
    if not isinstance(record, Mapping):
        return {"id": record}
    if "@id" in record:
        record = {CX_NAMES.get(name, name): value for name, value in record.items()}
    inner = {
        name: _single_values(record[name])
        for name in NESTED
        if _has_object(record, name)
    }
    flat = {name: value for name, value in record.items() if name not in inner}
    if is_part(flat):
        del flat["type"]
    entity_id = inner.get("properties", {}).get("id")
    if isinstance(entity_id, str):
        flat["entity_id"] = entity_id  # LangChain and LlamaIndex name nodes so in Neo4j
    return dict(ChainMap(flat, *inner.values()))


def _single_values(attributes: Record) -> dict[str, Any]:
    """Attributes with their values; of GraphSON's, which are lists of values with ids, the first."""
    singles = dict(attributes)
    for name, values in attributes.items():
        first = values[0] if isinstance(values, list) and values else None
        if isinstance(first, Mapping) and "value" in first:
            singles[name] = first["value"]
    return singles


def _end_objects(edges: list[Record]) -> list[Record]:
    """The nodes that edges have as objects at their ends."""
    objects = []
    for edge in edges:
        for field in ("head", "tail"):
            for column in columns_of(field, _columns(edge)):
                if isinstance(edge[column], Mapping):
                    objects.append(_flat(edge[column]))
    return objects


def _nodes_of_ends(edges: list[Record]) -> list[Record]:
    """The nodes that are only named as ends of edges."""
    return [
        {"id": end}
        for edge in edges
        for field in ("head", "tail")
        for end in _endpoint_ids(edge, field)[:1]
    ]


def _endpoint_ids(edge: Record, field: str) -> list[str | int | float]:
    """The ids or names that an edge has for its head or tail (`field`), the most specific first.

    The id of a node that is an object is that of `_key`.
    """
    ids: list[str | int | float] = []
    for column in columns_of(field, _columns(edge)):
        end = words_joined(edge[column])
        key = _key(_flat(end), None) if isinstance(end, Mapping) else end
        if isinstance(key, str | int | float):
            ids.append(key)
    return ids


def _key(node: Record, index: int | None) -> Hashable:
    """The id or name by which edges refer to a node; its index if it has none."""
    for value in values_of("node_key", node):
        if isinstance(value, str | int | float):
            return value
    return index


def _keys_by_end(graph: nx.Graph, edges: list[Record]) -> dict[Hashable, Hashable]:
    """The value at an end of an edge -> the key of the node.

    The value may be the key, its text, or the element id, name or caption of the node. In the data of D3
    and networkx 1 it is the index of the node; that is assumed if an integer is no key, and all are indices.
    """
    key_of: dict[Hashable, Hashable] = {key: key for key in graph}
    for field in ("element_id", "name", "caption"):
        for key, data in graph.nodes(data=True):
            for name in map(str, (key, *values_of(field, data))):
                key_of.setdefault(name, key)
    numbers = {
        node["id"] for node in _nodes_of_ends(edges) if isinstance(node["id"], int)
    }
    if not numbers <= set(graph) and numbers <= set(range(len(graph))):
        key_of |= dict(enumerate(graph))
    return key_of


def _add_node(graph: nx.Graph, key: Hashable, node: Record, file: Path) -> None:
    """Add a node, or the further attributes of one that the graph has; DataError: other names for it."""
    attributes = {
        name: value
        for name, value in _attributes(node).items()
        if name != "id" or value != key
    }
    if key in graph:
        for field in ("name", "caption"):
            names = [
                name
                for record in (graph.nodes[key], attributes)
                for name in values_of(field, record)[:1]
            ]
            if len(set(map(str, names))) > 1:
                raise DataError(
                    f"{file}: node {quote(key)} has the names {quote(names[0])} and {quote(names[1])}."
                )
        attributes |= graph.nodes[key]
    graph.add_node(key, **attributes)


def _attributes(record: Record) -> dict[str, Any]:
    """The attributes of a node or edge that are no objects, and the text of a relation that is one."""
    attributes = {
        str(name): value
        for name, value in record.items()
        if not isinstance(value, Mapping)
    }
    for column in columns_of("relation", _columns(record)):
        relation = record[column]
        if isinstance(relation, Mapping) and "text" in relation:
            attributes[column] = relation["text"]
    return attributes


def _edge_attributes(edge: Record) -> dict[str, Any]:
    """The attributes of an edge; a number "value" of D3 or vis.js is its weight."""
    attributes = _attributes(edge)
    value = attributes.get("value")
    if isinstance(value, int | float) and not isinstance(value, bool):
        attributes.setdefault("weight", value)
    return attributes


def _columns(record: Record) -> tuple[str, ...]:
    return tuple(map(str, record))
