"""A graph in a file of another tool -> networkx -> an `Extraction`.

GraphML (networkx, Neo4j's APOC, Gephi, yEd, Cytoscape), GEXF and GML (Gephi, yEd), and JSON in `json_graph`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, NoReturn
from xml.etree import ElementTree

from kg2rag.extraction import Extraction
from kg2rag.extraction.importers import FileSource
from kg2rag.extraction.importers.json_graph import RELATIONSHIP, graph_of_json, read_json_graph, read_json_values
from kg2rag.extraction.importers.networkx_graph import extraction_of_networkx
from kg2rag.text.records import DataError, Record, delimiter_of, quote, read_delimited, read_jsonl, reading
from kg2rag.types import Corpus

if TYPE_CHECKING:
    import networkx as nx

_TYPES = frozenset({"boolean", "int", "long", "float", "double", "string"})  # of GraphML's keys


@dataclass(frozen=True)
class GraphFile(FileSource):
    """A graph in a file; see `extraction_of_networkx`.

    Parameters
    ----------
    path : a .graphml, .gexf, .gml, .json or .jsonl file, or a .csv file of APOC.
    """

    kind: ClassVar[str] = "graphml-4"
    wanted: ClassVar[str] = "a graph as GraphML, GEXF, GML or JSON"

    def extract(self, corpus: Corpus) -> Extraction:
        """The edges as triples, the nodes as entities, in the file's order.

        DataError: the file holds no graph, an attribute of another type or out of range, or a passage that the corpus
        lacks.
        """
        graph = read_graph(self.path)
        try:
            extraction = extraction_of_networkx(graph)
        except ValueError as error:
            raise DataError(f"{self.path}: {error}") from None
        known = frozenset(("", *corpus.ids))
        named = [triple.passage_id for triple in extraction.triples]
        named += [mention.passage_id for mention in extraction.mentions]
        strangers = [id_ for id_ in dict.fromkeys(named) if id_ not in known]
        if strangers:
            raise DataError(
                f"{self.path}: {len(strangers)} passages are not in the corpus (first: {strangers[0]!r}). "
                "Load the corpus that the graph was made from."
            )
        return extraction


def read_graph(file: Path) -> nx.Graph:
    """The graph in a file, by its suffix; GraphML where the suffix says nothing."""
    return READERS.get(file.suffix.lower(), read_graphml)(file)


def read_graphml(file: Path) -> nx.Graph:
    """The graph in a GraphML file; DataError where it holds none, has a DTD, or where an edge has an unknown end."""
    import networkx as nx

    tree = _xml(file)
    # networkx takes no id as the node "None", and an end that is no node as one.
    nodes: set[str | None] = {None}
    for number, node in enumerate(tree.iterfind(".//{*}node"), start=1):
        id_ = node.get("id")
        if id_ in nodes:
            raise DataError(f"{file}: node {number} needs a unique id; it has {quote(id_)}.")
        nodes.add(id_)
    for number, edge in enumerate(tree.iterfind(".//{*}edge"), start=1):
        for end in (edge.get("source"), edge.get("target")):
            if end is None or end not in nodes:
                raise DataError(f"{file}: edge {number} has the end {quote(end)}, which is the id of no node.")
    _declare_keys(tree)
    with reading(file, "Is it GraphML that networkx reads?"):
        try:
            return nx.parse_graphml(ElementTree.tostring(tree, encoding="unicode"))
        except nx.NetworkXError as error:
            raise DataError(f"{file}: no GraphML that networkx reads ({error}).") from None


def _declare_keys(tree: ElementTree.Element) -> None:
    """Declare the keys that data uses and the file does not; an unknown type of a key is a string."""
    namespace = tree.tag.partition("}")[0] + "}" if "}" in tree.tag else ""
    keys = {key.get("id") for key in tree.iterfind("{*}key")}
    used = dict.fromkeys(data.get("key") for data in tree.iterfind(".//{*}data"))
    for key in tree.iterfind("{*}key"):
        if key.get("yfiles.type") is None and key.get("attr.type") not in _TYPES:
            key.set("attr.type", "string")
    for name in used:
        if name is not None and name not in keys:
            key = ElementTree.Element(f"{namespace}key", {"id": name, "for": "all", "attr.name": name})
            key.set("attr.type", "string")
            tree.insert(0, key)


def read_gexf(file: Path) -> nx.Graph:
    """The graph in a GEXF file, of any of its versions."""
    import networkx as nx

    _xml(file)
    with reading(file, "Is it GEXF that networkx reads?"):
        for version in ("1.2draft", "1.3", "1.1draft"):
            try:
                return nx.read_gexf(file, version=version)
            except nx.NetworkXError as error:
                if "No <graph> element" not in str(error):
                    raise
        raise DataError(f"{file}: no GEXF of version 1.1, 1.2 or 1.3. Save it as GEXF 1.2.")


def read_gml(file: Path) -> nx.Graph:
    """The graph in a GML file."""
    import networkx as nx

    with reading(file, "Is it GML that networkx reads?"):
        return nx.read_gml(file, label="id")


def _xml(file: Path) -> ElementTree.Element:
    """The root of an XML file; DataError for no XML, or a document type, which could define entities."""
    try:
        parser = ElementTree.XMLParser(target=_WithoutDoctype())  # noqa: S314  # no entities
        return ElementTree.parse(file, parser).getroot()  # noqa: S314
    except ElementTree.ParseError as error:
        raise DataError(f"{file}: no XML ({error}).") from None
    except (LookupError, ValueError) as error:  # of ours below, or an encoding that is unknown or of several bytes
        raise DataError(f"{file}: {error}") from None


class _WithoutDoctype(ElementTree.TreeBuilder):
    """The tree of an XML file that defines no entities."""

    def doctype(self, *_: object) -> NoReturn:
        raise DataError("it has a document type (<!DOCTYPE>), which could define entities. Remove it.")


def read_apoc_table(file: Path) -> nx.Graph:
    """The graph in a table that Neo4j's APOC wrote: its rows are nodes (`_id`) or relationships (`_start`, `_end`)."""
    nodes: list[Record] = []
    edges: list[Record] = []
    for _, record in read_delimited(file, delimiter_of(file)):
        filled = {name: value for name, value in record.items() if value}
        (edges if "_start" in filled else nodes).append(filled)
    graph = graph_of_json({"nodes": nodes, "edges": edges}, file)
    if graph is None:
        raise DataError(f"{file}: no nodes and relationships.")
    return graph


def is_graph_file(file: Path) -> bool:
    """Whether a file holds nodes and edges, and no table of triples; for .json and .csv, the contents decide."""
    suffix = file.suffix.lower()
    if suffix == ".json":
        return graph_of_json(read_json_values(file), file) is not None
    if suffix == ".jsonl":
        _, first = next(read_jsonl(file), (0, {}))
        return first.get("type") in ("node", *RELATIONSHIP)
    if suffix == ".csv":
        _, first = next(read_delimited(file, delimiter_of(file)), (0, {}))
        return {"_id", "_start", "_end"} <= first.keys()
    return suffix in READERS


READERS: Mapping[str, Callable[[Path], nx.Graph]] = {
    ".graphml": read_graphml,
    ".gexf": read_gexf,
    ".gml": read_gml,
    ".json": read_json_graph,
    ".jsonl": read_json_graph,
    ".csv": read_apoc_table,
}
