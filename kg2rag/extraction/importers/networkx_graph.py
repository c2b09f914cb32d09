"""A networkx graph, or a GraphML file -> an `Extraction`: nodes are entities or passages, edges triples or mentions.

The attributes are those that `KnowledgeGraph.to_networkx` writes; of any other graph, nodes are names and
edges triples, of which `relation` is required.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar
from xml.etree.ElementTree import ParseError

from kg2rag.extraction import Entity, Extraction, Mention
from kg2rag.extraction.importers.file_source import FileSource
from kg2rag.text.records import DataError
from kg2rag.types import Corpus, Triple

if TYPE_CHECKING:
    import networkx as nx


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
        # The passage second: an undirected graph may have it the other way round.
        for entity, passage, data in ((b, a, d) if a in passages else (a, b, d) for a, b, d in graph.edges(data=True))
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

    Edges may have the passage that states them (`passage_id`), a `strength` in (0, 10] and a `confidence` in (0, 1].

    Parameters
    ----------
    relation : the edges' attribute that holds the relation; "label" in many tools' files.
    name : the nodes' attribute that holds the entity's name; where not given, the node's id is the name.
    """

    kind: ClassVar[str] = "graphml-1"
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
        try:
            found = extraction_of_networkx(read_graphml(self.path), relation=self.relation, name=self.name)
        except ValueError as error:
            if str(error).startswith(str(self.path)):
                raise
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
    """The graph in a GraphML file; ValueError where it holds none."""
    import networkx as nx

    try:
        return nx.read_graphml(file)
    except ParseError as error:
        raise DataError(f"{file}: no XML ({error}).") from None
    except nx.NetworkXError as error:
        raise DataError(f"{file}: no GraphML that networkx reads ({error}).") from None
