"""A networkx graph, or a GraphML file -> an `Extraction`: nodes are entities or passages, edges triples or mentions.

The attributes are those that `KnowledgeGraph.to_networkx` writes. Of any other graph, an entity is called what its node
has as `name`, `label` or `title`, where all nodes have it, and else as the node; a relation is the first of `LABELS`
that the edge has.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, NoReturn
from xml.etree import ElementTree

from kg2rag.extraction import Entity, Extraction, Mention
from kg2rag.extraction.importers import FileSource, Row
from kg2rag.text.records import DataError, parse_json, quote, reading, wrong
from kg2rag.types import Corpus, Triple

if TYPE_CHECKING:
    import networkx as nx
NAMES = ("name", "label", "title")
LABELS = ("relation", "label", "predicate", "rel", "type", "title")
MOST = 2**31
"""What `order` and `count` of an edge stay below."""


def extraction_of_networkx(graph: nx.Graph) -> Extraction:
    """Entities, triples and mentions of a graph, in its own order; an edge runs from its first end to its second.

    Edges may have the passage that states them (`passage_id`), a `description`, a `strength` in (0, 10] and a
    `confidence` in (0, 1]. `notes` counts those without a relation, which get "related to". DataError for a node
    without a name, or an attribute of another type.
    """
    of_passages = {node: data for node, data in graph.nodes(data=True) if data.get("kind") == "passage"}
    passages = {node: str(data.get("passage_id")) for node, data in of_passages.items()}
    nodes = [(node, data) for node, data in graph.nodes(data=True) if node not in passages]
    called = next((name for name in NAMES if all(isinstance(data.get(name), str) for _, data in nodes)), None)
    names: dict[Any, str] = {}
    entities = []
    for number, (node, data) in enumerate(nodes, start=1):
        names[node] = name = node if called is None else data[called]
        if not isinstance(name, str):
            raise DataError(f"Node {node!r} is no string. Give every node a name (networkx.relabel_nodes).")
        aliases = parse_json(str(data.get("aliases", "[]")), f"Node {node!r}, aliases")
        if not isinstance(aliases, list) or not all(isinstance(alias, str) for alias in aliases):
            wrong(f"Node {node!r}", number, "aliases", data["aliases"], "a JSON list of strings")
        type_, about = (str(data.get(field, "")) for field in ("type", "description"))
        entities.append(Entity(name, type_, about, tuple(aliases)))
    numbered: list[tuple[int, Triple]] = []
    counts: list[tuple[tuple[str, str], int]] = []
    notes: Counter[str] = Counter()
    for number, (head, tail, data) in enumerate(graph.edges(data=True), start=1):
        edge = Row(f"Edge {head!r} - {tail!r}", number, data)
        if data.get("kind") == "mention":
            # An undirected graph may have its passage first.
            entity, passage = (tail, head) if head in passages else (head, tail)
            if entity not in names or passage not in passages:
                raise DataError(f"{edge.file} is of kind 'mention', and its ends are no entity and passage.")
            counts.append(((names[entity], passages[passage]), _whole(edge, "count")))
            continue
        if head in passages or tail in passages:
            raise DataError(f"{edge.file} of a passage has a kind that is not 'mention'.")
        said = next((str(data[name]) for name in LABELS if data.get(name)), "")
        notes["edges without a relation, called 'related to'"] += not said
        given = {name: edge.value((name,), (int, float), "a number") for name in ("strength", "confidence")}
        weights = {name: value for name, value in given.items() if value is not None}
        where, about = str(data.get("passage_id", "")), str(data.get("description", ""))
        triple = Triple(names[head], said or "related to", names[tail], where, **weights, description=about)
        numbered.append((_whole(edge, "order"), triple))
    # networkx walks edges node by node; `order` brings the triples' own order back.
    triples = tuple(triple for _, triple in sorted(numbered, key=lambda pair: pair[0]))
    # The ends of triples are mentions already, which a graph counts by itself.
    ends = Counter((end, triple.passage_id) for triple in triples for end in (triple.head, triple.tail))
    mentions = (Mention(*named) for named, count in counts for _ in range(count - ends[named]))
    return Extraction(triples, tuple(mentions), tuple(entities), notes)


def _whole(edge: Row, name: str) -> int:
    """A whole number from 0, which it is where it is missing."""
    found = edge.value((name,), int, "a whole number from 0") or 0
    if isinstance(found, bool) or not 0 <= found < MOST:
        wrong(edge.file, edge.number, name, found, "a whole number from 0")
    return int(found)


@dataclass(frozen=True)
class GraphMLFile(FileSource):
    """A graph in a GraphML file, such as `networkx.write_graphml` writes; see `extraction_of_networkx`.

    Parameters
    ----------
    path : the file.
    """

    kind: ClassVar[str] = "graphml-3"
    wanted: ClassVar[str] = "a GraphML file"

    def extract(self, corpus: Corpus) -> Extraction:
        """The edges as triples, the nodes as entities, in the file's order.

        DataError for no GraphML, an attribute of another type or out of range, or a passage that the corpus lacks.
        """
        graph = read_graphml(self.path)
        try:
            found = extraction_of_networkx(graph)
        except ValueError as error:
            raise DataError(f"{self.path}: {error}") from None
        named = [*(triple.passage_id for triple in found.triples), *(one.passage_id for one in found.mentions)]
        known = frozenset(("", *corpus.ids))
        if strangers := [id_ for id_ in dict.fromkeys(named) if id_ not in known]:
            raise DataError(
                f"{self.path}: {len(strangers)} passages are not in the corpus (first: {strangers[0]!r}). "
                "Load the corpus that the graph was made from."
            )
        return found


def read_graphml(file: Path) -> nx.Graph:
    """The graph in a GraphML file; DataError where it holds none, has a DTD, or where an edge has an unknown end."""
    import networkx as nx

    try:
        tree = ElementTree.parse(file, ElementTree.XMLParser(target=_WithoutDoctype()))  # noqa: S314  # no entities
    except ElementTree.ParseError as error:
        raise DataError(f"{file}: no XML ({error}).") from None
    except (LookupError, ValueError) as error:  # of ours below, or an encoding that is unknown or of several bytes
        raise DataError(f"{file}: {error}") from None
    # networkx takes no id as the node "None", and an end that is no node as one.
    nodes: set[str | None] = {None}
    for number, node in enumerate(tree.iterfind(".//{*}node"), start=1):
        if (id_ := node.get("id")) in nodes:
            raise DataError(f"{file}: node {number} needs an id of its own; it has {quote(id_)}.")
        nodes.add(id_)
    for number, edge in enumerate(tree.iterfind(".//{*}edge"), start=1):
        for end in (edge.get("source"), edge.get("target")):
            if end is None or end not in nodes:
                raise DataError(f"{file}: edge {number} has the end {quote(end)}, which is the id of no node.")
    with reading(file, "Is it GraphML that networkx reads?"):
        try:
            return nx.read_graphml(file)
        except nx.NetworkXError as error:
            raise DataError(f"{file}: no GraphML that networkx reads ({error}).") from None


class _WithoutDoctype(ElementTree.TreeBuilder):
    """The tree of an XML file that defines no entities."""

    def doctype(self, *_: object) -> NoReturn:
        raise DataError("it has a document type (<!DOCTYPE>), which could define entities. Remove it.")
