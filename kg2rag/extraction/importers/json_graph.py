"""Graphs as JSON -> networkx: nodes, and the edges between them.

Read are node-link and adjacency data of networkx (`links` of old releases, `edges` of new ones; ends by id, or by place
as D3 and networkx 1 have them), Cytoscape (`elements`, `data`, CX), the JSON Graph Format (`graph`, `metadata`), Neo4j
(APOC's JSON Lines, list, or `nodes` and `rels`; rows and paths of the browser; answers of the HTTP API), MCP's memory,
and graphs of LangChain and LlamaIndex, also as a list of graphs.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from kg2rag.extraction.importers.field_names import columns_of, values_of
from kg2rag.text.records import DataError, Record, decode, parse_json, quote

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
MAX_DEPTH = 12
"""Lists and objects within one another in which nodes and edges are looked for."""


class Parts(NamedTuple):
    """The nodes and edges of a value, their attributes flat."""

    nodes: list[Record]
    edges: list[Record]

    def add(self, other: Parts) -> None:
        """Append the nodes and edges of another value."""
        self.nodes.extend(other.nodes)
        self.edges.extend(other.edges)


def read_json_values(file: Path) -> Any:
    """The value of a JSON file; of one with a value a line, which APOC calls .json as well, the list of them."""
    text = decode(file.read_bytes(), file)
    lines = [line for line in text.splitlines() if line.strip()]
    if len(lines) > 1 and lines[0].strip().endswith(("}", "]")):
        return [parse_json(line, f"{file}, line {number}") for number, line in enumerate(lines, start=1)]
    return parse_json(text, file)


def read_json_graph(file: Path) -> nx.Graph:
    """The graph in a JSON file; DataError where it has no nodes and edges."""
    graph = graph_of_json(read_json_values(file), file)
    if graph is None:
        needed = f"nodes, and one of {', '.join(EDGES)}, or a list of nodes and relationships"
        raise DataError(f"{file}: no graph. Needed: {needed}.")
    return graph


def graph_of_json(value: Any, file: Path) -> nx.Graph | None:
    """The graph that a JSON value holds; None where it has no edges.

    DataError: an edge whose end is no node, two names for one node, or a list that mixes nodes with something else.
    """
    import networkx as nx

    nodes, edges = _parts(value, file, MAX_DEPTH)
    if not edges:
        return None
    is_directed = not isinstance(value, Mapping) or value.get("directed", True)
    graph = nx.MultiDiGraph() if is_directed else nx.MultiGraph()
    for place, node in enumerate(nodes or _nodes_of_ends(edges)):
        _add_node(graph, _key(node, place), node, file)
    key_of = _keys_by_end(graph, edges)
    for number, edge in enumerate(edges, start=1):
        ends = []
        for field in ("head", "tail"):
            known = [key_of[end] for end in _ends(edge, field) if end in key_of]
            if not known:
                columns = ", ".join(edge) or "none"
                raise DataError(f"{file}, edge {number}: no node is its {field}: {quote(edge)}. Its fields: {columns}.")
            ends.append(known[0])
        graph.add_edge(ends[0], ends[1], **_attributes(edge))
    return graph


def _parts(value: Any, file: Path, depth: int) -> Parts:
    """The nodes and edges in a value, at any depth."""
    parts = Parts([], [])
    if isinstance(value, list) and depth:
        _refuse_mixture(value, file)
        for member in value:
            parts.add(_parts(member, file, depth - 1))
    elif isinstance(value, Mapping) and depth:
        wrapped = _wrapped(value)
        if wrapped is not None:
            return _parts(wrapped, file, depth - 1)
        if _is_edge(value):
            edges = [_flat(value)]
            return Parts(_end_objects(edges), edges)
        if _is_node(value):
            return Parts([_flat(value)], [])
        parts = _collections(value)
        if not parts.nodes and not parts.edges:
            for member in value.values():
                parts.add(_parts(member, file, depth - 1))
    return parts


def _refuse_mixture(values: list[Any], file: Path) -> None:
    """DataError where some members of a list are nodes or edges, and others are objects of another kind."""
    is_part = [_is_edge(value) or _is_node(value) for value in values]
    if any(is_part) and not all(is_part):
        number = is_part.index(False) + 1
        raise DataError(f"{file}, record {number}: neither a node nor an edge: {quote(values[number - 1])}.")


def _wrapped(value: Record) -> Any:
    """What Cytoscape, the JSON Graph Format and Neo4j's HTTP API put around a graph; None where there is nothing."""
    for name in ("elements", "graph"):
        inner = value.get(name)
        if isinstance(inner, Mapping) and inner.keys() & {*NODES, *EDGES}:
            return inner
        if isinstance(inner, list) and inner and all(isinstance(member, Mapping) for member in inner):
            return inner
    return None


def _is_edge(value: Any) -> bool:
    """Whether a member of a list is an edge: by its type, or with two ends and an object of attributes."""
    if not isinstance(value, Mapping) or "segments" in value or isinstance(value.get("relationship"), Mapping):
        return False  # a path of Neo4j, or a segment of one, holds nodes and edges
    if value.get("type") in EDGE_TYPES:
        return True
    inner = value["data"] if isinstance(value.get("data"), Mapping) else value
    ends = [inner[column] for field in ("head", "tail") for column in columns_of(field, _columns(inner))[:1]]
    has_objects = any(isinstance(value.get(name), Mapping) for name in ("data", "properties", "attributes"))
    is_labelled = isinstance(value.get("labels"), list)  # a node of Neo4j may have a property "start"
    return len(ends) == 2 and not is_labelled and (has_objects or any(isinstance(end, Mapping) for end in ends))


def _is_node(value: Any) -> bool:
    """Whether a member of a list is a node: by its type, by Neo4j's labels, or with an id in Cytoscape's `data`."""
    if not isinstance(value, Mapping):
        return False
    has_properties = isinstance(value.get("properties"), Mapping)
    data = value.get("data")
    return (
        value.get("type") in NODE_TYPES
        or (isinstance(value.get("labels"), list) and has_properties)
        or (isinstance(data, Mapping) and "id" in data)
    )


def _collections(value: Record) -> Parts:
    """The members of an object's collection of nodes, and of that of edges."""
    nodes = [_flat(node) for name in NODES for node in _members(value.get(name))]
    edges: list[Record] = []
    for name in EDGES:
        members = list(_members(value.get(name)))
        if all(isinstance(member, Mapping) or (isinstance(member, list) and len(member) == 3) for member in members):
            edges += [_edge_record(member) for member in members]
    adjacency = value.get("adjacency")
    if isinstance(adjacency, list):
        for node, neighbours in zip(nodes, adjacency, strict=False):
            edges += [
                {**neighbour, "source": node.get("id"), "target": neighbour.get("id")} for neighbour in neighbours
            ]
    return Parts([*nodes, *_end_objects(edges)], edges)


def _members(collection: Any) -> Iterator[Any]:
    """The members of a list, or of an object by id."""
    if isinstance(collection, list):
        yield from collection
    elif isinstance(collection, Mapping):
        for id_, member in collection.items():
            yield {"id": id_, **member} if isinstance(member, Mapping) else {"id": id_, "name": member}


def _edge_record(member: Any) -> Record:
    """An edge that is an object, or a list of head, relation and tail."""
    if isinstance(member, list):
        return dict(zip(("head", "relation", "tail"), member, strict=True))
    return _flat(member)


def _flat(record: Any) -> Record:
    """A node or edge with the attributes of its inner objects beside its own, without APOC's type "node"."""
    if not isinstance(record, Mapping):
        return {"id": record}
    if "@id" in record:
        record = {CX_NAMES.get(name, name): value for name, value in record.items()}
    flat = {name: value for name, value in record.items() if name not in NESTED or not isinstance(value, Mapping)}
    if flat.get("type") in (*NODE_TYPES, *EDGE_TYPES):
        del flat["type"]
    for name in NESTED:
        inner = record.get(name)
        if isinstance(inner, Mapping):
            flat = {**inner, **flat}
            if "id" in inner and name == "properties" and isinstance(inner["id"], str):
                flat["entity_id"] = inner["id"]  # LangChain and LlamaIndex name nodes so in Neo4j
    return flat


def _end_objects(edges: list[Record]) -> list[Record]:
    """The nodes that are written as the ends of edges."""
    objects = []
    for edge in edges:
        for field in ("head", "tail"):
            for column in columns_of(field, _columns(edge)):
                if isinstance(edge[column], Mapping):
                    objects.append(_flat(edge[column]))
    return objects


def _nodes_of_ends(edges: list[Record]) -> list[Record]:
    """The nodes that are only named as ends of edges."""
    return [{"id": end} for edge in edges for field in ("head", "tail") for end in _ends(edge, field)[:1]]


def _ends(edge: Record, field: str) -> list[str | int]:
    """What an edge has as one of its ends, the most specific first; of an object its id or name."""
    ends: list[str | int] = []
    for column in columns_of(field, _columns(edge)):
        end = edge[column]
        key = _key(_flat(end), None) if isinstance(end, Mapping) else end
        if isinstance(key, str | int):
            ends.append(key)
    return ends


def _key(node: Record, place: int | None) -> Hashable:
    """The id by which edges name a node; its place where it has none."""
    return next((value for value in values_of("node_key", node) if isinstance(value, str | int)), place)


def _keys_by_end(graph: nx.Graph, edges: list[Record]) -> dict[Hashable, Hashable]:
    """What edges may have as an end -> the node: its id, also as text, its name, or its place.

    D3 and networkx 1 count places: then some number is no id.
    """
    key_of: dict[Hashable, Hashable] = {key: key for key in graph}
    for key, data in graph.nodes(data=True):
        for name in (str(key), *values_of("name", data)):
            if isinstance(name, str):
                key_of.setdefault(name, key)
    ends = [end for edge in edges for field in ("head", "tail") for end in _ends(edge, field)[:1]]
    if any(isinstance(end, int) and end not in graph for end in ends):
        key_of |= dict(enumerate(graph))
    return key_of


def _add_node(graph: nx.Graph, key: Hashable, node: Record, file: Path) -> None:
    """Add a node, or what a further record of it adds; DataError where the two have different names."""
    attributes = {name: value for name, value in _attributes(node).items() if name != "id" or value != key}
    if key in graph:
        names = [values_of("name", record)[:1] for record in (graph.nodes[key], attributes)]
        if all(names) and names[0] != names[1]:
            raise DataError(f"{file}: node {quote(key)} has the names {quote(names[0][0])} and {quote(names[1][0])}.")
        attributes |= graph.nodes[key]
    graph.add_node(key, **attributes)


def _attributes(record: Record) -> dict[str, Any]:
    """The attributes of a node or edge."""
    return {str(name): value for name, value in record.items() if not isinstance(value, Mapping)}


def _columns(record: Record) -> tuple[str, ...]:
    return tuple(map(str, record))
