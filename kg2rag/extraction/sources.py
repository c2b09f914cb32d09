"""The graph sources by name: "mentions", "openie(FILE)", "mentions+openie(FILE)" for the union of several.

To add one: a file with its extractor, and a line here, or an entry point `kg2rag.graphs` of another package.
"""

from __future__ import annotations

from kg2rag.extraction import Extractor
from kg2rag.extraction.combined import CombinedExtractor
from kg2rag.text.registry import Registry

SOURCES: Registry[Extractor] = Registry(
    "graph source",
    {
        "mentions": "kg2rag.extraction.mentions.extractor:Mentions",
        "cooccurrence": "kg2rag.extraction.cooccurrence:Cooccurrence",
        "code": "kg2rag.extraction.code:PythonCode",
        "dependency(MODEL)": "kg2rag.extraction.dependency:DependencyTriples",
        "graph(FOLDER)": "kg2rag.extraction.importers.saved:SavedGraph",
        "graphml(FILE)": "kg2rag.extraction.importers.networkx_graph:GraphMLFile",
        "lightrag(FOLDER)": "kg2rag.extraction.importers.graphrag:LightRAG",
        "msgraphrag(FOLDER)": "kg2rag.extraction.importers.graphrag:MicrosoftGraphRAG",
        "openie(FILE)": "kg2rag.extraction.importers.hipporag:HippoRAGOpenIE",
        "subkgs(FILE)": "kg2rag.extraction.importers.subkgs:KG2RAGSubgraphs",
        "triples(FILE)": "kg2rag.extraction.importers.triples:TriplesFile",
    },
    group="kg2rag.graphs",
    joined=CombinedExtractor,
)


def takes_file(name: str) -> bool:
    """Whether this is the name of one of our sources that read a file."""
    return f"{name}(FILE)" in SOURCES.usages()
