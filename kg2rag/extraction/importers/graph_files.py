"""A graph in a file of another tool -> networkx -> an `Extraction`.

GraphML (networkx, Neo4j's APOC, Gephi, yEd, Cytoscape, igraph), GEXF and GML (Gephi, yEd), JSON in
`json_graph`, RDF in `rdf`, lines of text in `line_graphs`, patterns of Cypher in `cypher_text`, adjacency matrices
in `matrices`, and tables of nodes and edges (APOC, Neo4j's import, Gephi, Neptune, KGX, ArangoDB).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, NoReturn
from xml.etree import ElementTree

from kg2rag.extraction import Extraction
from kg2rag.extraction.importers import FileSource, noting_encodings
from kg2rag.extraction.importers.cypher_text import has_patterns, parts_of_patterns
from kg2rag.extraction.importers.field_names import folded
from kg2rag.extraction.importers.headless_tables import first_cells
from kg2rag.extraction.importers.json_graph import (
    graph_of_json,
    read_json_graph,
    read_json_values,
)
from kg2rag.extraction.importers.line_graphs import (
    read_edge_list,
    read_pajek,
    read_sif,
)
from kg2rag.extraction.importers.matrices import is_matrix, parts_of_matrix
from kg2rag.extraction.importers.networkx_graph import extraction_of_networkx
from kg2rag.extraction.importers.node_tables import (
    JSON_LINES,
    TABLES,
    nodes_file,
    read_folder,
    read_tables,
    tables_of,
)
from kg2rag.extraction.importers.object_cells import has_objects, read_objects
from kg2rag.extraction.importers.rdf import FORMATS as RDF_FORMATS
from kg2rag.extraction.importers.rdf import is_linked_data, read_rdf
from kg2rag.text.decoding import decode
from kg2rag.text.records import DataError, first_lines, quote, reading
from kg2rag.types import Corpus

if TYPE_CHECKING:
    import networkx as nx

# Of GraphML's keys.
_TYPES = frozenset({"boolean", "int", "long", "float", "double", "string"})
_DECLARED_ENCODING = re.compile(rb"<\?xml[^>]*?encoding\s*=\s*[\"']([\w.:-]+)")
_GEXF = "http://www.gexf.net/1.2draft"
"""The namespace as networkx knows it; Gephi's releases write others."""


@dataclass(frozen=True)
class GraphFile(FileSource):
    """A graph in a file; see `extraction_of_networkx`.

    Parameters
    ----------
    path : a file with one of the suffixes of `READERS`, a table of APOC, or a table of edges (or JSON Lines of edges)
        with the nodes in another one beside it: nodes.csv beside edges.csv, city_nodes.tsv beside city_edges.tsv; or a
        folder of tables of nodes and edges, see `read_folder`.
    """

    kind: ClassVar[str] = "graphml-9"
    wanted: ClassVar[str] = (
        "a graph as GraphML, GEXF, GML, SIF or JSON, or tables of edges and nodes"
    )

    def __post_init__(self) -> None:
        if not Path(self.path).is_dir():
            super().__post_init__()

    def files(self) -> Mapping[str, Path]:
        """The file, and the table of nodes beside it; of a folder, its tables."""
        if self.path.is_dir():
            return {file.name: file for file in tables_of(self.path)}
        nodes = nodes_file(self.path)
        return (
            {"path": self.path}
            if nodes is None
            else {"path": self.path, "nodes": nodes}
        )

    @noting_encodings
    def extract(self, corpus: Corpus) -> Extraction:
        """The edges as triples, the nodes as entities, in the file's order.

        DataError: the file holds no graph, an attribute of another type or out of range, or a
        passage that the corpus lacks.
        """
        graph = read_graph(self.path)
        try:
            extraction = extraction_of_networkx(graph)
        except ValueError as error:
            raise DataError(f"{self.path}: {error}") from None
        passage_ids = frozenset(("", *corpus.ids))
        stated_in = [triple.passage_id for triple in extraction.triples]
        stated_in += [mention.passage_id for mention in extraction.mentions]
        strangers = [id_ for id_ in dict.fromkeys(stated_in) if id_ not in passage_ids]
        if strangers:
            raise DataError(
                f"{self.path}: {len(strangers)} passages are not in the corpus (first: {strangers[0]!r}). "
                "Load the corpus that the graph was made from."
            )
        return extraction


def read_graph(file: Path) -> nx.Graph:
    """The graph in a file, by its suffix, or in a folder of tables; GraphML where the suffix says nothing."""
    if file.is_dir():
        return read_folder(file)
    if nodes_file(file) is not None:
        return read_tables(file)
    if file.suffix.lower() == ".json" and is_linked_data(read_json_values(file)):
        return read_rdf(file)
    by_suffix = READERS.get(file.suffix.lower(), read_graphml)
    return (_reader_by_contents(file) or by_suffix)(file)


def _reader_by_contents(file: Path) -> Callable[[Path], nx.Graph] | None:
    """The reader of a table with patterns of Cypher, objects, or an adjacency matrix; None for another file."""
    if file.suffix.lower() not in TABLES:
        return None
    if has_patterns(first_lines(file, 3)):
        return read_cypher
    if has_objects(file):
        return read_object_cells
    return read_matrix if is_matrix(file) else None


def read_cypher(file: Path) -> nx.Graph:
    """The graph in the patterns of Cypher that a text has."""
    return _graph_of_parts(parts_of_patterns(file), file)


def read_matrix(file: Path) -> nx.Graph:
    """The graph in a table with an adjacency matrix."""
    return _graph_of_parts(parts_of_matrix(file), file)


def read_object_cells(file: Path) -> nx.Graph:
    """The graph in a table whose cells are nodes and relationships as JSON."""
    return _graph_of_parts(read_objects(file), file)


def _graph_of_parts(parts: object, file: Path) -> nx.Graph:
    """The graph of nodes and edges; DataError: there is no edge."""
    graph = graph_of_json(parts, file)
    if graph is None:
        raise DataError(f"{file}: it has no edge.")
    return graph


def read_graphml(file: Path) -> nx.Graph:
    """The graph in a GraphML file.

    DataError: it has none, it has a document type, or a node or edge has no valid id or end.
    """
    import networkx as nx

    tree = _xml(file)
    # networkx takes no id as the node "None", and an end that is no node as one.
    nodes: set[str | None] = {None}
    for number, node in enumerate(tree.iterfind(".//{*}node"), start=1):
        id_ = node.get("id")
        if id_ in nodes:
            raise DataError(
                f"{file}: node {number} needs a unique id; it has {quote(id_)}."
            )
        nodes.add(id_)
    for number, edge in enumerate(tree.iterfind(".//{*}edge"), start=1):
        for end in (edge.get("source"), edge.get("target")):
            if end is None or end not in nodes:
                raise DataError(
                    f"{file}: edge {number} has the end {quote(end)}, which is the id of no node."
                )
    namespace = tree.tag[: tree.tag.find("}") + 1]
    _direct(tree, "edgedefault", "directed")
    _add_edge_labels(tree, namespace)
    _declare_keys(tree, namespace)
    with reading(file, "Is it GraphML that networkx reads?"):
        return nx.parse_graphml(ElementTree.tostring(tree, encoding="unicode"))


def _direct(tree: ElementTree.Element, default: str, of_edge: str) -> None:
    """Make every edge directed, since networkx may swap the ends of undirected edges.

    `default`, `of_edge` : the attributes with the direction of a graph's edges, and of one edge.
    """
    for graph in tree.iterfind(".//{*}graph"):
        graph.set(default, "directed")
    for edge in tree.iterfind(".//{*}edge"):
        edge.attrib.pop(of_edge, None)


def _add_edge_labels(tree: ElementTree.Element, namespace: str) -> None:
    """Add the label of an edge to its data if it is an XML attribute, as APOC writes it."""
    for edge in tree.iterfind(".//{*}edge"):
        keys = {data.get("key") for data in edge.iterfind("{*}data")}
        if edge.get("label") and "label" not in keys:
            ElementTree.SubElement(
                edge, f"{namespace}data", {"key": "label"}
            ).text = edge.get("label")


def _declare_keys(tree: ElementTree.Element, namespace: str) -> None:
    """Declare the undeclared keys of data, and replace unknown types of keys by "string"."""
    for key in tree.iterfind("{*}key"):
        if key.get("yfiles.type") is None and key.get("attr.type") not in _TYPES:
            key.set("attr.type", "string")
    declared = {None, *(key.get("id") for key in tree.iterfind("{*}key"))}
    for name in dict.fromkeys(data.get("key") for data in tree.iterfind(".//{*}data")):
        if name not in declared:
            attributes = {
                "id": str(name),
                "for": "all",
                "attr.name": str(name),
                "attr.type": "string",
            }
            tree.insert(0, ElementTree.Element(f"{namespace}key", attributes))


def read_gexf(file: Path) -> nx.Graph:
    """The graph in a GEXF file of any version; an edge without a label gets its kind as label."""
    import networkx as nx

    tree = _xml(file)
    for element in tree.iter():
        namespace, _, name = element.tag.rpartition("}")
        if not namespace or "gexf.net" in namespace:
            viz = "/viz" if namespace.endswith("viz") else ""
            element.tag = f"{{{_GEXF}{viz}}}{name}"
        if name == "edge" and not element.get("label") and element.get("kind"):
            element.set("label", str(element.get("kind")))
    _direct(tree, "defaultedgetype", "type")
    with reading(file, "Is it GEXF that networkx reads?"):
        return nx.read_gexf(BytesIO(ElementTree.tostring(tree)), version="1.2draft")


def read_gml(file: Path) -> nx.Graph:
    """The graph in a GML file in any encoding; its edges are directed as in the file and may be parallel."""
    import networkx as nx

    text = decode(file.read_bytes(), file).encode("ascii", "xmlcharrefreplace").decode()
    header, node, parts = text.partition("node")
    header = re.sub(r"\b(?:directed|multigraph)\s+[01]\b", "", header).replace(
        "[", "[ directed 1 multigraph 1 ", 1
    )
    with reading(file, "Is it GML that networkx reads?"):
        return nx.parse_gml(header + node + parts, label="id")


def _xml(file: Path) -> ElementTree.Element:
    """The root of an XML file; DataError: it is no XML, or has a document type."""
    data = file.read_bytes()
    declared = _DECLARED_ENCODING.match(data)
    text = decode(data, file, declared[1].decode() if declared else "")
    try:
        parser = ElementTree.XMLParser(target=_WithoutDoctype())  # noqa: S314  # no entities
        parser.feed(text)
        return parser.close()
    except ElementTree.ParseError as error:
        raise DataError(f"{file}: no XML ({error}).") from None
    except ValueError as error:  # of ours below
        raise DataError(f"{file}: {error}") from None


class _WithoutDoctype(ElementTree.TreeBuilder):
    """The tree of an XML file that defines no entities."""

    def doctype(self, *_: object) -> NoReturn:
        raise DataError(
            "it has a document type (<!DOCTYPE>), which could define entities. Remove it."
        )


def is_graph_file(file: Path) -> bool:
    """Whether a file holds nodes and edges, and no table of triples; for JSON and tables, the contents decide."""
    if nodes_file(file) is not None:
        return True
    suffix = file.suffix.lower()
    if suffix in (".json", *JSON_LINES):
        value = read_json_values(file)
        return is_linked_data(value) or graph_of_json(value, file) is not None
    if suffix in TABLES:
        columns = set(map(folded, first_cells(file)))
        return {"id", "start", "end"} <= columns or _reader_by_contents(
            file
        ) is not None
    return suffix in READERS


READERS: Mapping[str, Callable[[Path], nx.Graph]] = {
    ".graphml": read_graphml,
    ".gexf": read_gexf,
    ".gml": read_gml,
    ".sif": read_sif,
    ".net": read_pajek,
    ".edgelist": read_edge_list,
    ".ncol": read_edge_list,
    ".json": read_json_graph,
    ".jsonl": read_json_graph,
    ".ndjson": read_json_graph,
    ".cx": read_json_graph,
    ".cx2": read_json_graph,
    ".cyjs": read_json_graph,
    ".canvas": read_json_graph,
    ".csv": read_tables,
    ".tsv": read_tables,
    ".txt": read_tables,
    ".cypher": read_cypher,
    ".cql": read_cypher,
    **dict.fromkeys(RDF_FORMATS, read_rdf),
}
