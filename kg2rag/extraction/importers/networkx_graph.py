"""A networkx graph, or a GraphML file -> an `Extraction`: nodes are entities or passages, edges triples or mentions.

The attributes are those that `KnowledgeGraph.to_networkx` writes; of any other graph, nodes are names and
edges triples, of which `relation` is required.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, NoReturn
from xml.parsers.expat import ExpatError, ParserCreate

from kg2rag.extraction import Entity, Extraction, Mention
from kg2rag.extraction.importers import FileSource
from kg2rag.text.records import DataError, parse_json, quote, reading
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
    passages: dict[Any, str] = {}
    entities = []
    for node, data in graph.nodes(data=True):
        place = f"Node {node!r}"
        if data.get("kind") == "passage":
            passages[node] = str(_field(data, "passage_id", place, object, "an id"))
            continue
        if name is None and not isinstance(node, str):
            raise DataError(f"{place} is no string. Rename nodes to entity names (networkx.relabel_nodes).")
        names[node] = node if name is None else _field(data, name, place, str, "a string", "name")
        aliases = parse_json(str(data.get("aliases", "[]")), f"{place}, aliases")
        if not isinstance(aliases, list) or not all(isinstance(alias, str) for alias in aliases):
            _refuse(data, "aliases", place, "a JSON list of strings")
        type_, about = (str(data.get(field, "")) for field in ("type", "description"))
        entities.append(Entity(names[node], type_, about, tuple(aliases)))
    numbered: list[tuple[int, Triple]] = []
    counts: list[tuple[tuple[str, str], int]] = []
    for head, tail, data in graph.edges(data=True):
        place = f"Edge {head!r} - {tail!r}"
        if data.get("kind") == "mention":
            # An undirected graph may have its passage first.
            entity, passage = (tail, head) if head in passages else (head, tail)
            if entity not in names or passage not in passages:
                raise DataError(f"{place} is of kind 'mention', and its ends are no entity and passage.")
            counts.append(((names[entity], passages[passage]), _number(data, "count", place)))
            continue
        if head in passages or tail in passages:
            raise DataError(f"{place} of a passage has a kind that is not 'mention'.")
        said = _field(data, relation, place, str, "a string", "relation")
        weights = {
            field: _field(data, field, place, (int, float), "a number")
            for field in ("strength", "confidence")
            if field in data
        }
        where, about = str(data.get("passage_id", "")), str(data.get("description", ""))
        triple = Triple(names[head], said, names[tail], where, **weights, description=about)
        numbered.append((_number({"order": 0, **data}, "order", place), triple))
    # networkx walks edges node by node; `order` brings the triples' own order back.
    triples = tuple(triple for _, triple in sorted(numbered, key=lambda pair: pair[0]))
    # The ends of triples are mentions already, which a graph counts by itself.
    ends = Counter((end, triple.passage_id) for triple in triples for end in (triple.head, triple.tail))
    mentions = (Mention(*named) for named, count in counts for _ in range(count - ends[named]))
    return Extraction(triples, tuple(mentions), tuple(entities))


def _field(
    data: Mapping[str, Any], field: str, place: str, kinds: type | tuple[type, ...], needed: str, option: str = ""
) -> Any:
    """An attribute of one of these types; `option` is the parameter that can name another."""
    if field not in data or not isinstance(data[field], kinds):
        _refuse(data, field, place, needed, f"; another attribute can hold it ({option}=…)" if option else "")
    return data[field]


def _number(data: Mapping[str, Any], field: str, place: str) -> int:
    found = _field(data, field, place, int, "a whole number from 0")
    if isinstance(found, bool) or not 0 <= found < MOST:
        _refuse(data, field, place, "a whole number from 0")
    return int(found)


def _refuse(data: Mapping[str, Any], field: str, place: str, needed: str, advice: str = "") -> NoReturn:
    given = ", ".join(map(str, data)) or "no attributes"
    raise DataError(f"{place} has {field} {quote(data.get(field))}; needed: {needed}. It has {given}{advice}.")


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
        named = (*(triple.passage_id for triple in found.triples), *(one.passage_id for one in found.mentions))
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

    _check_xml(file)
    with reading(file, "Is it GraphML that networkx reads?"):
        try:
            return nx.read_graphml(file)
        except nx.NetworkXError as error:
            raise DataError(f"{file}: no GraphML that networkx reads ({error}).") from None


def _check_xml(file: Path) -> None:
    """DataError for what networkx takes: no id as the node "None", an end that is no node, a DTD."""
    nodes: set[str] = set()
    ends: list[str | None] = []

    def doctype(*_: object) -> NoReturn:
        raise DataError("it has a document type (<!DOCTYPE>), which could define entities. Remove it.")

    def start(tag: str, attributes: Mapping[str, str]) -> None:
        kind, id_ = tag.rpartition(":")[2], attributes.get("id")
        if kind == "edge":
            ends.extend((attributes.get("source"), attributes.get("target")))
        elif kind == "node" and (id_ is None or id_ in nodes):
            raise DataError(f"node {len(nodes) + 1} needs an id of its own; it has {quote(id_)}.")
        elif kind == "node":
            nodes.add(str(id_))

    parser = ParserCreate()
    parser.StartDoctypeDeclHandler, parser.StartElementHandler = doctype, start
    try:
        with file.open("rb") as stream:
            parser.ParseFile(stream)
    except ExpatError as error:
        raise DataError(f"{file}: no XML ({error}).") from None
    except (LookupError, ValueError) as error:  # of ours above, or an encoding that is unknown or of several bytes
        raise DataError(f"{file}: {error}") from None
    for at, name in enumerate(ends):
        if name not in nodes:
            raise DataError(f"{file}: edge {at // 2 + 1} has the end {quote(name)}, which is the id of no node.")
