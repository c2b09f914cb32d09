"""A networkx graph -> an `Extraction`: nodes are entities or passages, edges triples or mentions.

`KnowledgeGraph.to_networkx` writes `kind` ("entity", "passage", "triple", "mention"), `passage_id`, `order`, `count`.
Of a graph of any other tool, the attributes are those of `field_names`. Ours: which of them names a node.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from kg2rag.extraction import Entity, Extraction, Mention
from kg2rag.extraction.importers import Row
from kg2rag.extraction.importers.field_names import folded, relation_of, values_of
from kg2rag.extraction.importers.strengths import filled_strengths, is_missing, number_of
from kg2rag.text.normalisation import entity_key
from kg2rag.text.records import DataError, parse_json, wrong
from kg2rag.types import Triple

if TYPE_CHECKING:
    import networkx as nx

MAX_COUNT = 2**31
"""`order` and `count` of an edge are below it."""
NO_RELATION = "edges without a relation, called 'related to'"
Attributes = Mapping[str, Any]


def extraction_of_networkx(graph: nx.Graph) -> Extraction:
    """Entities, triples and mentions of a graph, in its order; an edge runs from its first end to its second.

    Edges may have the passage that states them (`passage_id`), a description, a confidence in (0, 1], and a `strength`
    in (0, 10] or a weight, see `strengths`. `notes` counts which attribute names the nodes, edges without a relation,
    which get "related to", and blank entities, which are left out with their edges. DataError: a node without a name,
    or an attribute of another type.
    """
    notes: Counter[str] = Counter()
    passages = {
        node: str(data.get("passage_id")) for node, data in graph.nodes(data=True) if data.get("kind") == "passage"
    }
    entities = _entities([item for item in graph.nodes(data=True) if item[0] not in passages], notes)
    edges: list[Edge] = []
    mentions: list[tuple[Mention, int]] = []
    for number, (head, tail, data) in enumerate(_edges(graph), start=1):
        row = Row(f"Edge {head!r} - {tail!r}", number, data)
        if data.get("kind") == "mention":
            # An undirected graph may have its passage first.
            entity, passage = (tail, head) if head in passages else (head, tail)
            if entity not in entities or passage not in passages:
                raise DataError(f"{row.file} is of kind 'mention', and its ends are no entity and passage.")
            mentions.append((Mention(entities[entity].name, passages[passage]), _whole_number(row, "count")))
        elif head in passages or tail in passages:
            raise DataError(f"{row.file} of a passage has a kind that is not 'mention'.")
        elif head in entities and tail in entities:
            edges.append(_edge(row, entities[head].name, entities[tail].name, notes))
        else:
            notes["edges of blank entities, left out"] += 1
    triples = _triples(edges, notes)
    return Extraction(triples, _further_mentions(mentions, triples), tuple(entities.values()), notes)


def _further_mentions(mentions: list[tuple[Mention, int]], triples: Iterable[Triple]) -> tuple[Mention, ...]:
    """The mentions by their counts, without those that a graph counts by itself: the ends of triples."""
    ends = Counter((end, triple.passage_id) for triple in triples for end in (triple.head, triple.tail))
    further: list[Mention] = []
    for mention, count in mentions:
        further += [mention] * (count - ends[mention.entity, mention.passage_id])
    return tuple(further)


@dataclass(frozen=True)
class NameRule:
    """Where the nodes of a graph have their names.

    Attributes
    ----------
    ids_first : the nodes themselves are names ("Marek Lund"), and come before a title or a label.
    has_captions : titles and labels are names; else they repeat ("Person", "Person", "Ship"), and are types.
    """

    ids_first: bool
    has_captions: bool

    @classmethod
    def of(cls, nodes: Iterable[tuple[Hashable, Attributes]]) -> NameRule:
        """The rule of a graph: ids are names where half have a blank inside; captions are types where half repeat."""
        is_name = []
        captions = []
        for node, data in nodes:
            is_name.append(isinstance(node, str) and " " in node.strip())
            captions += values_of("caption", data)[:1]
        repeats = len(captions) > 1 and 2 * len(set(map(str, captions))) <= len(captions)
        return cls(ids_first=2 * sum(is_name) >= max(len(is_name), 1), has_captions=not repeats)

    def name(self, node: Hashable, data: Attributes) -> tuple[str, str]:
        """A node's name, and which attribute it is, "" for the node itself; the name is "" where all are blank."""
        fields = ["name"]
        if self.has_captions and not self.ids_first:
            fields += ["caption", "id"]
        for value in (value for field in fields for value in values_of(field, data)):
            if isinstance(value, str):
                return value, next(str(attribute) for attribute in data if data[attribute] is value)
        if not self.ids_first and self._has_blank_name(data):
            return "", ""
        if not isinstance(node, str):
            raise DataError(f"Node {node!r} is no string. Give every node a name (networkx.relabel_nodes).")
        return node, ""

    def _has_blank_name(self, data: Attributes) -> bool:
        names = ("name", "title", "label") if self.has_captions else ("name",)
        values = [value for attribute, value in data.items() if folded(attribute) in names]
        return any(isinstance(value, str) and not value.strip() for value in values)

    def type_of(self, name: str, data: Attributes) -> str:
        """The first type of a node: of Neo4j's ":Person:Captain" or ["Person"] the labels without colons."""
        types = values_of("node_type", data)
        if self.ids_first or not self.has_captions:
            types += [caption for caption in values_of("caption", data) if caption != name]
        if not types:
            return ""
        labels = types[0] if isinstance(types[0], list | tuple) else [str(types[0]).strip(":")]
        return ", ".join(map(str, labels))


def _entities(nodes: list[tuple[Hashable, Attributes]], notes: Counter[str]) -> dict[Hashable, Entity]:
    """The entity of every node whose name is not blank."""
    rule = NameRule.of(nodes)
    n_named_by: Counter[str] = Counter()
    entities: dict[Hashable, Entity] = {}
    for number, (node, data) in enumerate(nodes, start=1):
        aliases = _aliases(node, number, data)
        if data.get("kind") == "entity" and isinstance(node, str):
            entities[node] = Entity(node, str(data.get("type", "")), str(data.get("description", "")), aliases)
            continue
        written, attribute = rule.name(node, data)
        name = " ".join(written.split())  # a label of yEd may have several lines
        if not entity_key(name):
            notes["blank entities, left out"] += 1
            continue
        n_named_by[attribute] += 1
        entities[node] = Entity(name, rule.type_of(name, data), _text("node_description", data), aliases)
    if set(n_named_by) - {""}:
        for attribute, count in n_named_by.items():
            notes[f"entities named by {attribute or 'the id of the node'}"] = count
    return entities


def _text(field: str, data: Attributes) -> str:
    """The first value of a field as text, a list with semicolons; "" where it has none."""
    for value in values_of(field, data)[:1]:
        return "; ".join(map(str, value)) if isinstance(value, list | tuple) else str(value)
    return ""


def _aliases(node: Hashable, number: int, data: Attributes) -> tuple[str, ...]:
    aliases = data.get("aliases", [])
    if not isinstance(aliases, list):
        aliases = parse_json(str(aliases), f"Node {node!r}, aliases")
    if not isinstance(aliases, list) or not all(isinstance(alias, str) for alias in aliases):
        wrong(f"Node {node!r}", number, "aliases", data["aliases"], "a JSON list of strings")
    return tuple(aliases)


class Edge(NamedTuple):
    """An edge with the number of its triple; `weight` counts where `strength` is None."""

    order: int
    fact: tuple[str, str, str]
    passage_id: str
    strength: float | None
    weight: float | None
    confidence: float
    description: str


def _edges(graph: nx.Graph) -> Iterable[tuple[Hashable, Hashable, Attributes]]:
    """The ends and attributes of every edge; a key that is a word ("steers", no id such as "e1") is its relation."""
    if not graph.is_multigraph():
        yield from graph.edges(data=True)
        return
    for head, tail, key, data in graph.edges(keys=True, data=True):
        is_word = isinstance(key, str) and not any(map(str.isdigit, key))
        yield head, tail, data if not is_word or relation_of(data) else {**data, "relation": key}


def _edge(row: Row, head: str, tail: str, notes: Counter[str]) -> Edge:
    data = row.record
    if data.get("kind") == "triple":
        relation = str(data["relation"])
        description = str(data.get("description", ""))
    else:
        relation = relation_of(data)
        description = _text("description", data)
    notes[NO_RELATION] += not relation
    confidence = _number(row, "confidence")
    return Edge(
        order=_whole_number(row, "order"),
        fact=(head, relation or "related to", tail),
        passage_id=str(data.get("passage_id", "")),
        strength=_number(row, "strength"),
        weight=_number(row, "weight"),
        confidence=1.0 if confidence is None else confidence,
        description=description,
    )


def _triples(edges: list[Edge], notes: Counter[str]) -> tuple[Triple, ...]:
    """The triples, in their own order: networkx walks edges node by node."""
    strengths = filled_strengths([edge.strength for edge in edges], [edge.weight for edge in edges], notes)
    numbered = []
    for edge, strength in zip(edges, strengths, strict=True):
        triple = Triple(*edge.fact, edge.passage_id, strength, edge.confidence, edge.description)
        numbered.append((edge.order, triple))
    return tuple(triple for _, triple in sorted(numbered, key=lambda pair: pair[0]))


def _number(row: Row, field: str) -> float | None:
    """An attribute as a number, also one written as text; None where it is missing."""
    values = values_of(field, row.record)
    if not values or is_missing(values[0]):
        return None
    number = number_of(values[0])
    if number is None:
        wrong(row.file, row.place, field, values[0], "a number")
    return number


def _whole_number(edge: Row, name: str) -> int:
    """A whole number from 0, which it is where it is missing."""
    number = edge.value((name,), int, "a whole number from 0") or 0
    if isinstance(number, bool) or not 0 <= number < MAX_COUNT:
        wrong(edge.file, edge.place, name, number, "a whole number from 0")
    return int(number)
