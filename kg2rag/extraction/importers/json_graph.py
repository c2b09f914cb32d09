"""Graphs as JSON -> networkx: nodes, and the edges between them.

Read are node-link data of networkx (`links` of old releases, `edges` of new ones; ends by id, or by place as D3 and
networkx 1 have them), Cytoscape (`elements`, `data`), the JSON Graph Format (`graph`, `metadata`), Neo4j's APOC (JSON
Lines, a list, or `nodes` and `rels`, with `properties`), and graphs of LangChain and LlamaIndex.
"""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kg2rag.extraction.importers.field_names import columns_of
from kg2rag.text.records import DataError, Record, decode, parse_json, quote

if TYPE_CHECKING:
    import networkx as nx

EDGES = ("links", "edges", "relationships", "rels", "relations")
NESTED = ("data", "properties", "metadata", "attributes")
"""Objects within a node or edge that hold its attributes."""
RELATIONSHIP = ("relationship", "edge")


def read_json_values(file: Path) -> Any:
    """The value of a JSON file; of one with an object a line, which APOC calls .json as well, the list of them."""
    text = decode(file.read_bytes(), file)
    lines = [line for line in text.splitlines() if line.strip()]
    if len(lines) > 1 and lines[0].strip().endswith("}"):
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
    """The graph that a JSON value holds; None where it has no nodes and edges. DataError: an edge without a node."""
    import networkx as nx

    parts = _nodes_and_edges(value)
    if parts is None:
        return None
    nodes, edges = parts
    is_directed = not isinstance(value, Mapping) or value.get("directed", True)
    graph = nx.MultiDiGraph() if is_directed else nx.MultiGraph()
    ids = [_identity(node, place) for place, node in enumerate(nodes)]
    for id_, node in zip(ids, nodes, strict=True):
        graph.add_node(id_, **{name: value for name, value in _texts(node).items() if name != "id" or value != id_})
    for number, (edge, head, tail) in enumerate(_edges_with_ends(edges, ids), start=1):
        for field, end in (("head", head), ("tail", tail)):
            if end not in graph:
                names = ", ".join(edge) or "none"
                raise DataError(f"{file}, edge {number}: no node is its {field}: {quote(edge)}. Its fields: {names}.")
        graph.add_edge(head, tail, **_texts(edge))
    return graph


def _edges_with_ends(edges: list[Record], ids: list[Hashable]) -> Iterator[tuple[Record, Hashable, Hashable]]:
    """The edges with the nodes at their ends, None where an edge names none.

    D3 and networkx 1 count places among the nodes: then some number is no id.
    """
    known = frozenset(ids)
    heads = [_end(edge, "head", known) for edge in edges]
    tails = [_end(edge, "tail", known) for edge in edges]
    if any(isinstance(end, int) and end not in known for end in (*heads, *tails)):
        places: dict[Hashable, Hashable] = dict(enumerate(ids))
        heads = [places.get(head, head) for head in heads]
        tails = [places.get(tail, tail) for tail in tails]
    yield from zip(edges, heads, tails, strict=True)


def _nodes_and_edges(value: Any) -> tuple[list[Record], list[Record]] | None:
    """The nodes and edges of a value, their attributes flat; None where there are none."""
    if isinstance(value, list):
        return _apoc_nodes_and_edges(value)
    if not isinstance(value, Mapping):
        return None
    for wrapper in ("elements", "graph"):
        inner = value.get(wrapper)
        if isinstance(inner, Mapping) and "nodes" in inner:
            value = inner
        elif isinstance(inner, list):  # Cytoscape.js: an element with a source is an edge
            elements = [_flat(element) for element in inner]
            edges = [element for element in elements if "source" in element]
            return [element for element in elements if "source" not in element], edges
    edges_name = next((name for name in EDGES if isinstance(value.get(name), list | Mapping)), None)
    if edges_name is None:
        return None
    edges = [_flat(edge) for edge in _members(value[edges_name]) if isinstance(edge, Mapping)]
    nodes = [_flat(node) for node in _members(value.get("nodes", []))]
    return nodes or _nodes_of_ends(edges), edges


def _apoc_nodes_and_edges(values: list[Any]) -> tuple[list[Record], list[Record]] | None:
    """The nodes and relationships of a list of both, as Neo4j's APOC writes them; None where it holds anything else."""
    records = [value for value in values if isinstance(value, Mapping)]
    edges = [record for record in records if record.get("type") in RELATIONSHIP]
    nodes = [record for record in records if record.get("type") == "node"]
    if not edges or len(nodes) + len(edges) < len(values):
        return None
    # The ends of relationships may be nodes that are written nowhere else.
    known = {node.get("id") for node in nodes}
    for edge in edges:
        for end in (edge.get("start"), edge.get("end")):
            if isinstance(end, Mapping) and end.get("id") not in known:
                known.add(end.get("id"))
                nodes.append(end)
    return [_flat(node) for node in nodes], [_flat(edge) for edge in edges]


def _members(collection: list[Any] | Mapping[str, Any]) -> Iterator[Any]:
    """The members of a list, or of an object by id."""
    if isinstance(collection, list):
        yield from collection
        return
    for id_, member in collection.items():
        yield {"id": id_, **member} if isinstance(member, Mapping) else {"id": id_, "name": member}


def _nodes_of_ends(edges: Iterable[Record]) -> list[Record]:
    """The nodes that are only named as ends of edges."""
    nodes: dict[Hashable, Record] = {}
    for edge in edges:
        for field in ("head", "tail"):
            for column in columns_of(field, tuple(edge))[:1]:
                end = edge[column]
                id_ = end.get("id") if isinstance(end, Mapping) else end
                if isinstance(id_, str | int):
                    nodes.setdefault(id_, _flat(end) if isinstance(end, Mapping) else {"id": id_})
    return list(nodes.values())


def _flat(record: Any) -> Record:
    """A node or edge with the attributes of its inner objects beside its own, without APOC's type "node"."""
    if not isinstance(record, Mapping):
        return {"id": record}
    flat = {name: value for name, value in record.items() if name not in NESTED}
    if flat.get("type") in ("node", *RELATIONSHIP):
        del flat["type"]
    for name in NESTED:
        inner = record.get(name)
        if isinstance(inner, Mapping):
            flat = {**inner, **flat}
            if "id" in inner and name == "properties" and isinstance(inner["id"], str):
                flat["entity_id"] = inner["id"]  # LangChain and LlamaIndex name nodes so in Neo4j
    return flat


def _identity(node: Record, place: int) -> Hashable:
    """The id by which edges name a node; its place where it has none."""
    for name in ("id", "_id", "key", "name"):
        value = node.get(name)
        if isinstance(value, str | int):
            return value
    return place


def _end(edge: Record, field: str, known: Collection[Hashable]) -> Hashable | None:
    """What an edge has as one of its ends, also within an object; of several columns, one that is an id."""
    ends: list[Hashable] = []
    for column in columns_of(field, tuple(edge)):
        end = edge[column]
        if isinstance(end, Mapping):
            end = end.get("id", end.get("name"))
        if isinstance(end, str | int):
            ends.append(end)
    return next((end for end in ends if end in known), ends[0] if ends else None)


def _texts(record: Record) -> dict[str, Any]:
    """The attributes of a node or edge; the node's id is one, for it may be its name."""
    return {str(name): value for name, value in record.items() if not isinstance(value, Mapping)}
