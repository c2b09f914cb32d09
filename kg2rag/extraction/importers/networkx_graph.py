"""A networkx graph -> an `Extraction`: nodes are entities or passages, edges triples or mentions.

`KnowledgeGraph.to_networkx` writes `kind` ("entity", "passage", "triple", "mention"), `passage_id`,
`order`, `count`. Of a graph of any other tool, the attributes are those of `field_names`. Ours:
which of them names a node.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from operator import itemgetter
from typing import TYPE_CHECKING, Any

from kg2rag.extraction import Entity, Extraction, Mention
from kg2rag.extraction.importers import Row, Statement, triples_of
from kg2rag.extraction.importers.field_names import (
    columns_of,
    columns_with,
    folded,
    joined,
    relation_of,
    values_of,
)
from kg2rag.extraction.importers.json_graph import NOTES
from kg2rag.text.normalisation import entity_key
from kg2rag.text.records import DataError, parse_json, wrong
from kg2rag.types import Triple
from kg2rag.types.coerce_corpus import PASSAGE

if TYPE_CHECKING:
    import networkx as nx

MAX_COUNT = 2**31
"""`order` and `count` of an edge are below it."""
CHUNK_TYPES = frozenset(("chunk", "textchunk", "textunit", "textnode"))
"""Types of nodes of LlamaIndex, LangChain, GraphRAG and LightRAG that hold a text, folded."""
SOURCE_TYPES = frozenset(("document", "text"))
"""Types of nodes that are chunks, too, as are texts that mention other nodes, unless an edge joins two of them, as a
citation joins papers."""
GENERAL_TYPES = frozenset(("entity", "node", "kgbuilder", "resource", "thing"))
"""Types, folded, that tools give every node beside its own, such as Neo4j's `__Entity__`."""
NO_RELATION = "edges without a relation, called 'related to'"
Attributes = Mapping[str, Any]


def extraction_of_networkx(graph: nx.Graph) -> Extraction:
    """The entities, triples and mentions of a graph, in its order.

    An edge runs from its first end to its second.

    Edges may have the passage that states them (`passage_id`), a description, a confidence in (0,
    1], and a `strength` in (0, 10] or a weight, see `strengths`. `notes` counts which attribute
    names the nodes, edges without a relation, which get "related to", and blank entities, which are
    left out with their edges. DataError: a node without a name, or an attribute of another type.
    """
    notes: Counter[str] = Counter(graph.graph.get(NOTES, {}))
    graph = _without_chunks(graph, notes)
    passages = {
        node: str(data.get("passage_id"))
        for node, data in graph.nodes(data=True)
        if _is_passage(data)
    }
    entities = _entities(graph, notes)
    names = {node: entity.name for node, entity in entities.items()}
    statements: list[tuple[int, Statement]] = []
    mentions: list[Mention] = []
    for head, tail, row in _edges(graph):
        if row.record.get("kind") == "mention" or not passages.keys().isdisjoint(
            (head, tail)
        ):
            mentions += _mentions(row, (head, tail), names, passages)
        elif head in names and tail in names:
            statements.append(
                (
                    _whole_number(row, "order"),
                    _statement(row, names[head], names[tail], notes),
                )
            )
        else:
            notes["edges of blank entities, left out"] += 1
    statements.sort(key=itemgetter(0))  # networkx walks edges node by node
    triples = triples_of([statement for _, statement in statements], notes)
    return Extraction(
        triples, _further_mentions(mentions, triples), tuple(entities.values()), notes
    )


def _statement(row: Row, head: str, tail: str, notes: Counter[str]) -> Statement:
    """The triple of an edge; `notes` counts edges without a relation."""
    relation = row.relation
    # `to_networkx` wrote the edge: its relation is kept exactly, blanks included.
    if row.record.get("kind") == "triple":
        relation = str(row.record["relation"])
    notes[NO_RELATION] += not relation
    return row.statement(head, relation, tail, str(row.record.get("passage_id", "")))


def _mentions(
    row: Row,
    ends: tuple[Hashable, Hashable],
    names: Mapping[Hashable, str],
    passages: Mapping[Hashable, str],
) -> list[Mention]:
    """The count of a mention edge; DataError: its ends are not an entity and a passage."""
    entity, passage = ends
    if entity in passages:  # an undirected edge may begin with the passage
        passage, entity = ends
    if (
        row.record.get("kind") != "mention"
        or entity not in names
        or passage not in passages
    ):
        raise DataError(
            f"{row.file}: needed is an edge of kind 'mention', but its ends are no entity and passage."
        )
    return [Mention(names[entity], passages[passage])] * _whole_number(row, "count")


def _further_mentions(
    mentions: list[Mention], triples: Iterable[Triple]
) -> tuple[Mention, ...]:
    """The mentions without one for each end of a triple, since a graph counts these by itself."""
    ends = Counter(
        (end, triple.passage_id)
        for triple in triples
        for end in (triple.head, triple.tail)
    )
    further: list[Mention] = []
    for mention, count in Counter(mentions).items():
        further += [mention] * (count - ends[mention.entity, mention.passage_id])
    return tuple(further)


def _without_chunks(graph: nx.Graph, notes: Counter[str]) -> nx.Graph:
    """The graph without the chunks of text that LlamaIndex and others keep beside the entities."""
    chunks = _nodes_of_text(graph, CHUNK_TYPES)
    sources = _nodes_of_text(graph, SOURCE_TYPES) | _mentioning_texts(graph)
    if chunks or not any(sources.issuperset(edge[:2]) for edge in graph.edges):
        chunks |= sources
    if not chunks:
        return graph
    notes["chunks of text, no entities, left out with their edges"] = len(chunks)
    entities = graph.copy()
    entities.remove_nodes_from(chunks | _sources_of(chunks, graph))
    return entities


def _sources_of(chunks: set[Hashable], graph: nx.Graph) -> set[Hashable]:
    """The documents that chunks have as "source", as of LlamaIndex, if only chunks have edges to them."""
    from networkx import all_neighbors

    documents = {
        tail
        for head, tail, data in graph.edges(data=True)
        if head in chunks and folded(relation_of(data)) == "source"
    }
    return {node for node in documents if chunks.issuperset(all_neighbors(graph, node))}


def _nodes_of_text(graph: nx.Graph, types: frozenset[str]) -> set[Hashable]:
    """The nodes that have a text and one of these types."""
    return {
        node
        for node, data in graph.nodes(data=True)
        if not types.isdisjoint(_folded_types(data)) and _has_text(data)
    }


def _mentioning_texts(graph: nx.Graph) -> set[Hashable]:
    """The nodes that have a text and an edge "mentions", such as the episodes of Graphiti."""
    return {
        head
        for head, _, data in graph.edges(data=True)
        if folded(relation_of(data)) == "mentions" and _has_text(graph.nodes[head])
    }


def _folded_types(data: Attributes) -> set[str]:
    """The types and captions of a node, folded."""
    labels = [*values_of("node_type", data), *values_of("caption", data)]
    return {folded(name) for label in labels for name in joined(label, ":").split(":")}


def _has_text(data: Attributes) -> bool:
    """Whether a node has a column of text, such as "content" or "original_text"."""
    return any(
        str(column).casefold().rpartition("_")[2] in PASSAGE["text"] for column in data
    )


def _is_passage(data: Attributes) -> bool:
    return data.get("kind") == "passage"


@dataclass(frozen=True)
class NameRule:
    """The attributes in which the nodes of a graph have their names and types.

    Attributes
    ----------
    ids_first : whether the ids of nodes are names ("Marek Lund"), which then precede a title or a label.
    types : the columns of titles and labels that name types ("Person", "Person", "Ship").
    general : the types that all nodes have beside others, and `GENERAL_TYPES`.
    """

    ids_first: bool
    types: frozenset[str]
    general: frozenset[str]

    @classmethod
    def of(cls, nodes: Sequence[tuple[Hashable, Attributes]]) -> NameRule:
        """The rule of a graph, see `_are_names` and `_are_types`."""
        captions: defaultdict[str, list[str]] = defaultdict(list)
        for _, data in nodes:
            for column, value in columns_with("caption", data).items():
                captions[column].append(str(value))
        types = [column for column, values in captions.items() if _are_types(values)]
        ids_first = _are_names([node for node, _ in nodes])
        no_names = {
            *types,
            *(_columns_of_ids(nodes) if captions.keys() - types else ()),
        }
        return cls(ids_first, frozenset(no_names), _general_types(nodes))

    def name(self, node: Hashable, data: Attributes) -> tuple[str, str]:
        """The name of a node, "" if blank, and its attribute, "" for the node itself."""
        texts = self._texts(data)
        for column, text in texts.items():
            if text.strip():
                return text, column
        if texts and not self.ids_first:
            return "", ""
        if not isinstance(node, str):
            raise DataError(
                f"Node {node!r} is no string. Give every node a name (networkx.relabel_nodes)."
            )
        return node, ""

    def _texts(self, data: Attributes) -> dict[str, str]:
        """Column -> text, for the columns that may name a node, the most specific first; "" included."""
        fields = ("name",) if self.ids_first else ("name", "caption", "id")
        columns = [
            column
            for field in fields
            for column in columns_of(field, tuple(map(str, data)))
        ]
        return {
            column: data[column]
            for column in columns
            if column not in self.types and isinstance(data[column], str)
        }

    def type_of(self, name: str, data: Attributes) -> str:
        """The first type of a node, from labels such as Neo4j's ":Person:Captain" or ["Person"].

        Of several labels, the `general` ones are left out.
        """
        types = _node_types(data)
        for column, caption in columns_with("caption", data).items():
            if caption != name and (self.ids_first or column in self.types):
                types.append(caption)
        if not types:
            return ""
        labels = _labels(types[0])
        specific = [label for label in labels if label not in self.general]
        return ", ".join(specific or labels)


def _columns_of_ids(nodes: Sequence[tuple[Hashable, Attributes]]) -> set[str]:
    """The columns of names that repeat the ids of all nodes, which are numbers, as networkx adds for Cytoscape."""
    columns = [
        {
            column
            for column, name in columns_with("name", data).items()
            if str(name) == str(node) and str(name).isdecimal()
        }
        for node, data in nodes
    ]
    return set.intersection(*columns) if columns else set()


def _general_types(nodes: Sequence[tuple[Hashable, Attributes]]) -> frozenset[str]:
    """The types that say nothing: those of all nodes, and those in `GENERAL_TYPES`."""
    labels = [_labels(value) for _, data in nodes for value in _node_types(data)]
    shared = frozenset(labels[0]).intersection(*labels) if labels else frozenset()
    return shared.union(
        name for name in chain(*labels) if folded(name) in GENERAL_TYPES
    )


def _node_types(data: Attributes) -> list[Any]:
    """The first column of types that a node has, if any."""
    return values_of("node_type", data)[:1]


def _labels(types: object) -> list[str]:
    """The labels in a list, in Neo4j's ":Person:Captain" or in Neptune's "Person;Captain"."""
    if isinstance(types, list | tuple):
        return list(map(str, types))
    text = str(types)
    return text[1:].split(":") if text.startswith(":") else text.split(";")


def _are_names(ids: Sequence[Hashable]) -> bool:
    """Whether at least half of the ids of nodes have a blank, as names of several words do."""
    n_names = sum(isinstance(id_, str) and " " in id_.strip() for id_ in ids)
    return 2 * n_names >= max(len(ids), 1)


def _are_types(values: Sequence[str]) -> bool:
    """Whether the values of a column name types: two or more, each twice on average."""
    return len(values) > 1 and len(values) >= 2 * len(set(values))


def _entities(graph: nx.Graph, notes: Counter[str]) -> dict[Hashable, Entity]:
    """The entity of every node that is no passage, and whose name is not blank."""
    nodes = [
        (node, data) for node, data in graph.nodes(data=True) if not _is_passage(data)
    ]
    rule = NameRule.of(nodes)
    n_named_by: Counter[str] = Counter()
    entities: dict[Hashable, Entity] = {}
    for number, (node, data) in enumerate(nodes, start=1):
        aliases = _aliases(node, number, data)
        if data.get("kind") == "entity" and isinstance(node, str):
            entities[node] = Entity(
                node,
                str(data.get("type", "")),
                str(data.get("description", "")),
                aliases,
            )
            continue
        written, attribute = rule.name(node, data)
        name = " ".join(written.split())  # a label of yEd may have several lines
        if not entity_key(name):
            notes["blank entities, left out"] += 1
            continue
        n_named_by[attribute] += 1
        description = Row("", number, data).joined("node_description")
        entities[node] = Entity(name, rule.type_of(name, data), description, aliases)
    if set(n_named_by) - {""}:
        for attribute, count in n_named_by.items():
            notes[f"entities named by {attribute or 'the id of the node'}"] = count
    return entities


def _aliases(node: Hashable, number: int, data: Attributes) -> tuple[str, ...]:
    """The aliases of a node, from a list or its JSON; DataError: they are no strings."""
    aliases = data.get("aliases", [])
    if not isinstance(aliases, list):
        aliases = parse_json(str(aliases), f"Node {node!r}, aliases")
    if not isinstance(aliases, list) or not all(
        isinstance(alias, str) for alias in aliases
    ):
        wrong(
            f"Node {node!r}",
            number,
            "aliases",
            data["aliases"],
            "a JSON list of strings",
        )
    return tuple(aliases)


def _edges(graph: nx.Graph) -> Iterator[tuple[Hashable, Hashable, Row]]:
    """The head, tail and attributes of every edge.

    The key of an edge without a relation is its relation if it has no digit ("steers", not "e1").
    """
    if graph.is_multigraph():
        edges = graph.edges(keys=True, data=True)
    else:
        edges = (
            (head, tail, None, data) for head, tail, data in graph.edges(data=True)
        )
    for number, (head, tail, key, data) in enumerate(edges, start=1):
        word = data.get("key", key)
        is_word = isinstance(word, str) and not any(map(str.isdigit, word))
        if is_word and not relation_of(data):
            data = {**data, "relation": word}
        yield head, tail, Row(f"Edge {head!r} - {tail!r}", number, data)


def _whole_number(edge: Row, name: str) -> int:
    """The whole number of an attribute, at least 0; 0 if it is missing."""
    number = edge.value((name,), int, "a whole number from 0") or 0
    if isinstance(number, bool) or not 0 <= number < MAX_COUNT:
        wrong(edge.file, edge.place, name, number, "a whole number from 0")
    return int(number)
