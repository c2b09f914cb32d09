"""Graphs as JSON in shapes without nodes and edges -> the same graph with nodes and edges.

Read are the results of a SPARQL query (W3C's JSON, as Wikidata's query service downloads it),
LlamaIndex's SimpleGraphStore, the pair of nodes and edges that Cognee returns, GraphSON by vertex
(JanusGraph), dumps of Wikidata, Kumu's maps, and Obsidian's canvas.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path, PurePosixPath
from typing import Any

from kg2rag.extraction.importers.field_names import columns_of
from kg2rag.text.records import DataError, Record, quote

LABEL = "Label"
"""The ending that Wikidata's label service adds to a variable for the variable of its label."""
CARD_TYPES = frozenset({"text", "file", "link", "group"})
"""The types of the cards of a canvas."""


def with_nodes_and_edges(value: Any, file: Path) -> Any:
    """The nodes and edges of a JSON value in one of `SHAPES`; a value of another shape unchanged.

    DataError: a SPARQL result without recognisable head and tail, or with an address in place of a
    name.
    """
    for is_shape, graph_of in SHAPES:
        if is_shape(value):
            return graph_of(value, file)
    return value


def _is_list_of(value: Any, is_member: Callable[[Any], bool]) -> bool:
    """Whether a value is a non-empty list whose members all fulfil `is_member`."""
    return isinstance(value, list) and bool(value) and all(map(is_member, value))


def _field(value: Any, name: str) -> Any:
    """A field of an object; None for a missing field or another value."""
    return value.get(name) if isinstance(value, Mapping) else None


def _is_sparql_result(value: Any) -> bool:
    return isinstance(_field(_field(value, "results"), "bindings"), list)


def _sparql_graph(value: Mapping[str, Any], file: Path) -> Record:
    """The graph of a SPARQL result: an edge for each row."""
    variables = _variables(value)
    head, relation, tail = _sparql_columns(variables, file)
    edges: list[Record] = []
    for number, row in enumerate(value["results"]["bindings"], start=1):
        where = f"{file}, row {number}"
        edge = {"head": _name(row, head, where), "tail": _name(row, tail, where)}
        edges.append(
            {**edge, "relation": _relation(row, relation) if relation else tail}
        )
    if not (columns_of("head", variables) and columns_of("tail", variables)):
        note = f"rows read as ?{head} -> ?{tail}, by the order of the variables"
        return {"edges": edges, "notes": {note: len(edges)}}
    return {"edges": edges}


def _variables(value: Mapping[str, Any]) -> tuple[str, ...]:
    """The variables of a SPARQL query, without those of labels."""
    names = _field(_field(value, "head"), "vars") or []
    return tuple(
        name for name in names if name.removesuffix(LABEL) not in set(names) - {name}
    )


def _sparql_columns(variables: tuple[str, ...], file: Path) -> tuple[str, str, str]:
    """The variables of head, relation and tail, recognised by name, else by order; "" for no relation.

    DataError: neither two or three variables nor names of a head and a tail.
    """
    heads, tails = (columns_of(field, variables) for field in ("head", "tail"))
    if heads and tails:
        relations = columns_of("relation", variables)
        return heads[0], next(iter(relations), ""), tails[0]
    if len(variables) == 2:
        return variables[0], "", variables[1]
    if len(variables) != 3:
        raise DataError(
            f"{file}: the variables {', '.join(variables) or 'none'} name no head and tail. "
            "Call them ?subject, ?predicate and ?object."
        )
    return variables[0], variables[1], variables[2]


def _name(row: Mapping[str, Any], variable: str, where: str) -> str:
    """The label of a variable in a row, else its value; DataError: it is missing or an address."""
    term = row.get(variable + LABEL) or row.get(variable)
    if term is None or not str(term.get("value", "")).strip():
        raise DataError(
            f"{where}: ?{variable} has no value. Leave such rows out of the query: FILTER(BOUND(?{variable}))."
        )
    if term.get("type") in ("uri", "bnode"):
        raise DataError(
            f"{where}: ?{variable} is the address {quote(term['value'])}, which no text names. Ask for its label as "
            f"?{variable}{LABEL}; Wikidata has it by SERVICE wikibase:label."
        )
    return str(term["value"])


def _relation(row: Mapping[str, Any], variable: str) -> str:
    """The label of a relation in a row, else its value, of an address only the last part."""
    term = row.get(variable + LABEL) or row.get(variable) or {}
    name = str(term.get("value", ""))
    if term.get("type") == "uri":
        name = name.rstrip("/#").replace("#", "/").rpartition("/")[2]
    return name


def _is_store(value: Any) -> bool:
    return isinstance(_field(value, "graph_dict"), Mapping)


def _store_graph(value: Mapping[str, Any], _: Path) -> Record:
    """The graph of LlamaIndex's store, which maps a head to pairs of relation and tail."""
    edges = [
        {"head": head, "relation": relation, "tail": tail}
        for head, pairs in value["graph_dict"].items()
        for relation, tail in pairs
    ]
    return {"edges": edges}


def _is_pair(value: Any) -> bool:
    """Whether a value is a list of nodes, (id, attributes), and one of edges, (id, id, relation, attributes)."""
    if not _is_list_of(value, _is_list) or len(value) != 2:
        return False
    nodes, edges = value
    return all(_is_tuple(node, 2) for node in nodes) and all(
        _is_tuple(edge, 4) for edge in edges
    )


def _is_list(value: Any) -> bool:
    return isinstance(value, list)


def _is_tuple(value: Any, length: int) -> bool:
    """Whether a value is a list of that length whose last member holds attributes."""
    return (
        isinstance(value, list)
        and len(value) == length
        and isinstance(value[-1], Mapping)
    )


def _pair_graph(value: list[Any], _: Path) -> Record:
    nodes, edges = value
    return {
        "nodes": [{**attributes, "id": id_} for id_, attributes in nodes],
        "edges": [
            {**attributes, "source": head, "target": tail, "relation": relation}
            for head, tail, relation, attributes in edges
        ],
    }


def _is_adjacency(value: Any) -> bool:
    """Whether a value is a list of vertices with their edges, a line each, as GraphSON writes a graph."""
    vertices = value if isinstance(value, list) else [value]
    return any(isinstance(_field(vertex, "outE"), Mapping) for vertex in vertices)


def _adjacency_graph(value: Any, _: Path) -> Record:
    """The graph of vertices that have their outgoing edges by label.

    Incoming edges are ignored, since they are outgoing edges of other vertices.
    """
    vertices = value if isinstance(value, list) else [value]
    edges = [
        {**edge, "outV": vertex["id"], "relation": label}
        for vertex in vertices
        for label, edges_of_label in vertex.get("outE", {}).items()
        for edge in edges_of_label
    ]
    return {"nodes": vertices, "edges": edges}


def _is_wikidata(value: Any) -> bool:
    return _is_list_of(
        _wikidata_items(value), lambda item: isinstance(_field(item, "claims"), Mapping)
    )


def _wikidata_items(value: Any) -> list[Any]:
    """The entities in a dump of Wikidata, or in the site's response about one entity."""
    entities = _field(value, "entities")
    if isinstance(entities, Mapping):
        return list(entities.values())
    return value if isinstance(value, list) else [value]


def _wikidata_graph(value: Any, _: Path) -> Record:
    """The graph of Wikidata's entities: an edge for each claim whose value is an entity.

    An entity without a label has the name "".
    """
    items = _wikidata_items(value)
    names = {item["id"]: _wikidata_text(item, "labels") for item in items}
    descriptions = {item["id"]: _wikidata_text(item, "descriptions") for item in items}
    edges = [edge for item in items for edge in _wikidata_edges(item, names)]
    ends = dict.fromkeys(edge[end] for edge in edges for end in ("head", "tail"))
    nodes = [
        {"id": id_, "name": names.get(id_, ""), "description": descriptions.get(id_)}
        for id_ in ends
    ]
    return {"nodes": nodes, "edges": edges}


def _wikidata_edges(
    item: Mapping[str, Any], names: Mapping[str, str]
) -> Iterator[dict[str, str]]:
    """An edge for each claim of an item whose value is an entity."""
    for property_, claims in item["claims"].items():
        relation = names.get(property_) or property_
        for claim in claims:
            snak = _field(claim.get("mainsnak"), "datavalue")
            target = _field(_field(snak, "value"), "id")
            if target is not None:
                yield {"head": item["id"], "relation": relation, "tail": target}


def _wikidata_text(item: Mapping[str, Any], field: str) -> str:
    """The English text of a field, else its first."""
    texts: Mapping[str, Any] = _field(item, field) or {}
    languages = [name for name in ("en", "mul", *texts) if name in texts]
    return str(texts[languages[0]].get("value", "")) if languages else ""


def _is_kumu(value: Any) -> bool:
    return _is_list(_field(value, "elements")) and _is_list(
        _field(value, "connections")
    )


def _kumu_graph(value: Mapping[str, Any], _: Path) -> Record:
    return {"nodes": value["elements"], "edges": value["connections"]}


def _is_canvas(value: Any) -> bool:
    return _is_list_of(_field(value, "nodes"), _is_card) and _is_list(
        _field(value, "edges")
    )


def _is_card(node: Any) -> bool:
    return _field(node, "type") in CARD_TYPES and "width" in node


def _canvas_graph(value: Mapping[str, Any], _: Path) -> Record:
    """The graph of a canvas, whose nodes are its cards; a group is one only if it is an end of an edge."""
    ends = {edge.get(end) for edge in value["edges"] for end in ("fromNode", "toNode")}
    nodes = [
        {"id": card["id"], "name": _card_name(card)}
        for card in value["nodes"]
        if card["type"] != "group" or card["id"] in ends
    ]
    return {"nodes": nodes, "edges": value["edges"]}


def _card_name(card: Mapping[str, Any]) -> str:
    """The name of a card: its file without suffix, else its text, label or address."""
    if card["type"] == "file":
        return PurePosixPath(str(card.get("file", ""))).stem
    names = (card.get(field) for field in ("text", "label", "url"))
    return str(next(filter(None, names), ""))


SHAPES: tuple[tuple[Callable[[Any], bool], Callable[[Any, Path], Any]], ...] = (
    (_is_pair, _pair_graph),
    (_is_sparql_result, _sparql_graph),
    (_is_store, _store_graph),
    (_is_kumu, _kumu_graph),
    (_is_adjacency, _adjacency_graph),
    (_is_wikidata, _wikidata_graph),
    (_is_canvas, _canvas_graph),
)
"""(whether a value has a shape, the nodes and edges of such a value)."""
