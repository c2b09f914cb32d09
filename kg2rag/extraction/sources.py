"""The graph sources by name: "mentions", "openie(FILE)", "mentions+openie(FILE)" for the union of several.

To add one: a file with its extractor, and a line here, or an entry point `kg2rag.graphs` of another package.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from functools import cached_property

from kg2rag.extraction import Extraction, Extractor
from kg2rag.text.registry import Registry
from kg2rag.types import Corpus


@dataclass(frozen=True)
class GivenExtraction:
    """An extraction as an extractor."""

    extraction: Extraction

    def __repr__(self) -> str:
        return f"GivenExtraction({len(self.extraction.triples):,} triples, {self.fingerprint[:8]})"

    @cached_property
    def fingerprint(self) -> str:
        """sha256 over the extraction."""
        written = repr(self.extraction) + ("" if self.extraction.raw is None else repr(tuple(self.extraction.raw)))
        return "given-" + hashlib.sha256(written.encode("utf-8", "surrogatepass")).hexdigest()

    def extract(self, corpus: Corpus) -> Extraction:  # noqa: ARG002
        """The extraction as it is; building the graph refuses passages that the corpus lacks."""
        return self.extraction


@dataclass(frozen=True)
class CombinedExtractor:
    """The extractions of several sources over one corpus, one after the other.

    Exact duplicates become one where the graph is built. Of an entity that several sources describe, the first type and
    description are kept, and all aliases. At least two are needed, such as `(Mentions(), HippoRAGOpenIE(path))`.
    """

    sources: tuple[Extractor, ...]

    def __post_init__(self) -> None:
        object.__setattr__(self, "sources", tuple(self.sources))
        if len(self.sources) < 2 or not all(isinstance(source, Extractor) for source in self.sources):
            raise ValueError(f"A union needs at least two sources with a fingerprint and extract, not {self.sources}.")

    @property
    def fingerprint(self) -> str:
        """Those of the sources, in their order."""
        parts = ["union-1", *(source.fingerprint for source in self.sources)]
        return hashlib.sha256(json.dumps(parts).encode()).hexdigest()

    def extract(self, corpus: Corpus) -> Extraction:
        """What every source found; `notes` names the source of each cause ("HippoRAGOpenIE: …"), numbered from 1."""
        found = [source.extract(corpus) for source in self.sources]
        kinds = [type(source).__name__ for source in self.sources]
        notes: dict[str, int] = {}
        for at, (kind, extraction) in enumerate(zip(kinds, found, strict=True)):
            label = f"{kind} {kinds[: at + 1].count(kind)}" if kinds.count(kind) > 1 else kind
            notes |= {f"{label}: {cause}": count for cause, count in extraction.notes.items()}
        written = [each.triples if each.raw is None else each.raw for each in found]
        return Extraction(
            tuple(triple for each in found for triple in each.triples),
            tuple(mention for each in found for mention in each.mentions),
            tuple(entity for each in found for entity in each.entities),
            notes,
            None if all(each.raw is None for each in found) else tuple(one for raw in written for one in raw),
        )


SOURCES: Registry[Extractor] = Registry(
    "graph source",
    {
        "mentions": "kg2rag.extraction.mentions.extractor:Mentions",
        "cooccurrence": "kg2rag.extraction.cooccurrence:Cooccurrence",
        "code": "kg2rag.extraction.code:PythonCode",
        "dependency(MODEL)": "kg2rag.extraction.dependency:DependencyTriples",
        "graph(FOLDER)": "kg2rag.extraction.importers.saved:SavedGraph",
        "graphml(FILE)": "kg2rag.extraction.importers.graph_files:GraphFile",
        "links": "kg2rag.extraction.links:Links",
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
