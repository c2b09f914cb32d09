"""A networkx graph, or a GraphML file -> an `Extraction`: nodes are entities or passages, edges triples or mentions.

The attributes are those that `KnowledgeGraph.to_networkx` writes; of any other graph, nodes are names and
edges triples, of which `relation` is required.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar
from xml.etree.ElementTree import ParseError, XMLParser

from kg2rag.extraction import Entity, Extraction, Mention
from kg2rag.extraction.importers.file_source import FileSource
from kg2rag.text.records import DEPTH, DataError, parse_json, quote, reading
from kg2rag.types import Corpus, Triple

if TYPE_CHECKING:
    import networkx as nx
MOST = 2**31
"""What `order` and `count` of an edge stay below."""


def extraction_of_networkx(graph: nx.Graph, *, relation: str = "relation", name: str | None = None) -> Extraction:
    """Entities, triples and mentions of a graph, in its own order; an edge runs from its first end to its second.

    Parameters
    ----------
    relation : the edges' attribute that holds the relation.
    name : the nodes' attribute that holds the entity's name; where not given, the node is the name.
    """
    names: dict[Any, str] = {}
    entities, passages = [], {}
    for node, data in graph.nodes(data=True):
        if data.get("kind") == "passage":
            passages[node] = _passage(node, data)
        else:
            names[node] = _name(node, data, name)
            type_, description = (str(data.get(field, "")) for field in ("type", "description"))
            entities.append(Entity(names[node], type_, description, _aliases(node, data)))
    edges = [edge for edge in graph.edges(data=True) if edge[2].get("kind") != "mention"]
    # networkx walks edges node by node; `order` brings the triples' own order back.
    edges.sort(key=lambda edge: _number(edge, "order", 0))
    for head, tail, _ in edges:
        if head in passages or tail in passages:
            raise DataError(f"Edge {head!r} - {tail!r} of a passage has a kind that is not 'mention'.")
    triples = tuple(_triple(names[head], names[tail], data, relation) for head, tail, data in edges)
    mentions = [edge for edge in graph.edges(data=True) if edge[2].get("kind") == "mention"]
    pairs = [_mentioned(edge, names, passages) for edge in mentions]
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


def _passage(node: object, data: Mapping[str, object]) -> str:
    if "passage_id" not in data:
        raise DataError(f"Node {node!r} is of kind 'passage' and has no passage_id. It has {_listed(data)}.")
    return str(data["passage_id"])


def _aliases(node: object, data: Mapping[str, object]) -> tuple[str, ...]:
    found = parse_json(str(data.get("aliases", "[]")), f"node {node!r}, aliases")
    if not isinstance(found, list) or not all(isinstance(alias, str) for alias in found):
        raise DataError(f"Node {node!r} has aliases {quote(found)}; a JSON list of strings is needed.")
    return tuple(found)


def _number(edge: tuple[Any, Any, Mapping[str, object]], field: str, default: int | None = None) -> int:
    head, tail, data = edge
    found = data.get(field, default)
    if not isinstance(found, int) or isinstance(found, bool) or not 0 <= found < MOST:
        raise DataError(f"Edge {head!r} - {tail!r} has {field} {quote(found)}; a whole number from 0 is needed.")
    return found


def _mentioned(
    edge: tuple[Any, Any, Mapping[str, object]], names: Mapping[Any, str], passages: Mapping[Any, str]
) -> tuple[str, str, int]:
    # The passage second: an undirected graph may have it the other way round.
    entity, passage = (edge[1], edge[0]) if edge[0] in passages else edge[:2]
    if entity not in names or passage not in passages:
        raise DataError(f"Edge {entity!r} - {passage!r} is of kind 'mention', and its ends are no entity and passage.")
    return names[entity], passages[passage], _number(edge, "count")


def _triple(head: str, tail: str, data: Mapping[str, Any], relation: str) -> Triple:
    if not isinstance(found := data.get(relation), str):
        raise DataError(
            f"Edge {head!r} - {tail!r} has {relation} {found!r}; a string is needed. "
            f"It has {_listed(data)}; another attribute can hold it (relation=…)."
        )
    optional = {field: data[field] for field in ("strength", "confidence") if field in data}
    if strange := [field for field, value in optional.items() if not isinstance(value, int | float)]:
        raise DataError(f"Edge {head!r} - {tail!r} has {strange[0]} {quote(data[strange[0]])}; a number is needed.")
    return Triple(
        head, found, tail, str(data.get("passage_id", "")), **optional, description=str(data.get("description", ""))
    )


def _mentions(pairs: Iterable[tuple[str, str, int]], triples: Iterable[Triple]) -> Iterator[Mention]:
    """The mentions beyond those that the ends of the triples make, which a graph counts by itself."""
    ends = Counter((end, triple.passage_id) for triple in triples for end in (triple.head, triple.tail))
    for entity, passage, count in pairs:
        yield from (Mention(entity, passage) for _ in range(count - ends[entity, passage]))


def _listed(data: Mapping[str, object]) -> str:
    return ", ".join(map(str, data)) or "no attributes"


@dataclass(frozen=True)
class GraphMLFile(FileSource):
    """A graph in a GraphML file, such as `networkx.write_graphml` writes of `KnowledgeGraph.to_networkx`.

    Edges may have the passage that states them (`passage_id`), a `description`, a `strength` in (0, 10] and a
    `confidence` in (0, 1].

    Parameters
    ----------
    relation : the edges' attribute that holds the relation; "label" in many tools' files.
    name : the nodes' attribute that holds the entity's name; where not given, the node's id is the name.
    """

    kind: ClassVar[str] = "graphml-2"
    wanted: ClassVar[str] = "a GraphML file"
    by_id: ClassVar[bool] = True
    strict: ClassVar[bool] = True

    relation: str = "relation"
    name: str | None = None

    def extract(self, corpus: Corpus) -> Extraction:
        """The edges as triples, the nodes as entities, in the file's order.

        Raises
        ------
        ValueError : no GraphML, a node without a name, an edge without a relation, a weight out of range, or a passage
            that the corpus lacks.
        """
        graph = read_graphml(self.path)
        try:
            found = extraction_of_networkx(graph, relation=self.relation, name=self.name)
        except ValueError as error:
            raise DataError(f"{self.path}: {error}") from None
        stated = [triple.passage_id for triple in found.triples if triple.passage_id]
        known = frozenset(corpus.ids)
        named = dict.fromkeys((*stated, *(mention.passage_id for mention in found.mentions)))
        strangers = [id_ for id_ in named if id_ not in known]
        if strangers:
            raise DataError(
                f"{self.path}: {len(strangers)} passages are not in the corpus (first: {strangers[0]!r}). "
                "Load the corpus that the graph was made from."
            )
        return found


def read_graphml(file: Path) -> nx.Graph:
    """The graph in a GraphML file; DataError where it holds none, has a DTD, or where an edge has an unknown end."""
    import networkx as nx

    _check_xml(file)
    with reading(file, "Is it GraphML that networkx reads?"):
        try:
            return nx.read_graphml(file)
        except nx.NetworkXError as error:
            raise DataError(f"{file}: no GraphML that networkx reads ({error}).") from None


class _Outline:
    """The ids and the edges' ends of a GraphML file, element by element; what is wrong with them is a DataError."""

    def __init__(self) -> None:
        self.nodes: set[str] = set()
        self.ends: list[str | None] = []
        self.depth = 0

    def doctype(self, name: str, pubid: str | None, system: str | None) -> None:  # noqa: ARG002
        raise DataError("it has a document type (<!DOCTYPE>), which could define entities. Remove it.")

    def start(self, tag: str, attributes: Mapping[str, str]) -> None:
        self.depth += 1
        if self.depth > DEPTH:
            raise DataError(f"its elements nest deeper than {DEPTH} levels.")
        kind = tag.rpartition("}")[2]
        if kind == "node":
            id_ = attributes.get("id")
            if id_ is None or id_ in self.nodes:
                raise DataError(f"node {len(self.nodes) + 1} needs an id of its own; it has {quote(id_)}.")
            self.nodes.add(id_)
        elif kind == "edge":
            self.ends += attributes.get("source"), attributes.get("target")

    def end(self, tag: str) -> None:  # noqa: ARG002
        self.depth -= 1


def _check_xml(file: Path) -> None:
    """DataError for what networkx takes: no id as the node "None", an end that is no node, a DTD, any depth."""
    outline = _Outline()
    parser = XMLParser(target=outline)  # noqa: S314 (`_Outline` refuses the document type, without which no entity)
    try:
        with file.open("rb") as stream:
            while piece := stream.read(1 << 20):
                parser.feed(piece)
        parser.close()
    except ParseError as error:
        raise DataError(f"{file}: no XML ({error}).") from None
    except (LookupError, ValueError) as error:  # of ours above, or an encoding that is unknown or of several bytes
        raise DataError(f"{file}: {error}") from None
    for at, end in enumerate(outline.ends):
        if end not in outline.nodes:
            raise DataError(f"{file}: edge {at // 2 + 1} has the end {quote(end)}, which is the id of no node.")
