"""A networkx graph -> an `Extraction`: nodes are entities (or passages), edges are triples (or mentions).

The attributes are those that `KnowledgeGraph.to_networkx` writes; of any other graph, nodes are names and
edges triples, of which `relation` is required.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from kg2rag.extraction import Entity, Extraction, Mention
from kg2rag.text.records import DataError
from kg2rag.types.passages import Triple

if TYPE_CHECKING:
    import networkx as nx


def extraction_of_networkx(graph: nx.Graph, *, relation: str = "relation", name: str | None = None) -> Extraction:
    """Entities, triples and mentions of a graph, in its own order; an edge runs from its first end to its second.

    Parameters
    ----------
    relation : the edges' attribute that holds the relation.
    name : the nodes' attribute that holds the entity's name; where not given, the node is the name.

    Raises
    ------
    ValueError : a name that is no string, an edge without a relation, a weight out of range.
    """
    names: dict[Any, str] = {}
    entities, passages = [], {}
    for node, data in graph.nodes(data=True):
        if data.get("kind") == "passage":
            passages[node] = str(data["passage_id"])
        else:
            names[node] = _name(node, data, name)
            aliases = tuple(json.loads(data.get("aliases", "[]")))
            entities.append(Entity(names[node], data.get("type", ""), data.get("description", ""), aliases))
    edges = [edge for edge in graph.edges(data=True) if edge[2].get("kind") != "mention"]
    # networkx walks edges node by node; `order` brings the triples' own order back.
    edges.sort(key=lambda edge: edge[2].get("order", 0))
    triples = tuple(_triple(names[head], names[tail], data, relation) for head, tail, data in edges)
    pairs = (
        (names[entity], passages[passage], data["count"])
        for entity, passage, data in (_from_entity(edge, passages) for edge in graph.edges(data=True))
        if data.get("kind") == "mention"
    )
    return Extraction(triples, tuple(_mentions(pairs, triples)), tuple(entities))


def _name(node: object, data: Mapping[str, object], attribute: str | None) -> str:
    found = node if attribute is None else data.get(attribute)
    if isinstance(found, str):
        return found
    if attribute is None:
        raise DataError(f"Node {node!r} is no string. Rename nodes to entity names (networkx.relabel_nodes).")
    raise DataError(
        f"Node {node!r} has {attribute} {found!r}; a string is needed. "
        f"It has {_listed(data)}; another attribute can hold it (name=…)."
    )


def _triple(head: str, tail: str, data: Mapping[str, Any], relation: str) -> Triple:
    if not isinstance(found := data.get(relation), str):
        raise DataError(
            f"Edge {head!r} - {tail!r} has {relation} {found!r}; a string is needed. "
            f"It has {_listed(data)}; another attribute can hold it (relation=…)."
        )
    optional = {field: data[field] for field in ("strength", "confidence") if field in data}
    return Triple(head, found, tail, str(data.get("passage_id", "")), **optional)


def _from_entity(edge: tuple[Any, Any, dict[str, Any]], passages: Mapping[Any, str]) -> tuple[Any, Any, dict[str, Any]]:
    """A mention's edge with its passage second: an undirected graph may have it the other way round."""
    first, second, data = edge
    return (second, first, data) if first in passages else edge


def _mentions(pairs: Iterable[tuple[str, str, int]], triples: Iterable[Triple]) -> Iterator[Mention]:
    """The mentions beyond those that the ends of the triples make, which a graph counts by itself."""
    ends = Counter((end, triple.passage_id) for triple in triples for end in (triple.head, triple.tail))
    for entity, passage, count in pairs:
        yield from (Mention(entity, passage) for _ in range(count - ends[entity, passage]))


def _listed(data: Mapping[str, object]) -> str:
    return ", ".join(map(str, data)) or "no attributes"
