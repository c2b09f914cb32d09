"""The graph sources by name: "mentions", "openie(FILE)"; "mentions+openie(FILE)" is a union.

To add one: a file with its extractor, and a line here, or an entry point `kg2rag.graphs` of another
package.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from operator import attrgetter
from typing import Any

from kg2rag.extraction import Extraction, Extractor
from kg2rag.text.registry import Registry
from kg2rag.types import Corpus, Triple


@dataclass(frozen=True)
class GivenExtraction:
    """An extraction as an extractor."""

    extraction: Extraction

    def __repr__(self) -> str:
        return f"GivenExtraction({len(self.extraction.triples):,} triples, {self.fingerprint[:8]})"

    @cached_property
    def fingerprint(self) -> str:
        """The sha256 of the extraction, its raw triples included."""
        content = repr((self.extraction, self.extraction.raw)).encode(
            "utf-8", "surrogatepass"
        )
        return f"given-{hashlib.sha256(content).hexdigest()}"

    def extract(self, corpus: Corpus) -> Extraction:
        """The extraction as it is; building the graph refuses passages that the corpus lacks."""
        return self.extraction


@dataclass(frozen=True)
class CombinedExtractor:
    """The extractions of several sources over one corpus, one after the other.

    The graph has exact duplicates once. An entity that several sources describe has the first type
    and description, and all aliases. At least two sources are needed, such as
    `(Mentions(), HippoRAGOpenIE(path))`.
    """

    sources: tuple[Extractor, ...]

    def __post_init__(self) -> None:
        object.__setattr__(self, "sources", tuple(self.sources))
        if len(self.sources) < 2 or not all(
            isinstance(source, Extractor) for source in self.sources
        ):
            raise ValueError(
                f"A union needs at least two sources with a fingerprint and extract, not {self.sources}."
            )

    @property
    def fingerprint(self) -> str:
        """The fingerprints of the sources, in order."""
        parts = ["union-1", *(source.fingerprint for source in self.sources)]
        return hashlib.sha256(json.dumps(parts).encode()).hexdigest()

    def extract(self, corpus: Corpus) -> Extraction:
        """The union of all extractions.

        `notes` names the source of each cause ("HippoRAGOpenIE: …"), numbered from 1.
        """
        extractions = [source.extract(corpus) for source in self.sources]
        notes: dict[str, int] = {}
        for label, extraction in zip(self._labels(), extractions, strict=True):
            notes |= {
                f"{label}: {cause}": count for cause, count in extraction.notes.items()
            }
        return Extraction(
            _concatenated("triples", extractions),
            _concatenated("mentions", extractions),
            _concatenated("entities", extractions),
            notes,
            _raw_triples(extractions),
        )

    def _labels(self) -> list[str]:
        """The class name of each source, numbered from 1 if several sources have one class."""
        kinds = [type(source).__name__ for source in self.sources]
        labels = []
        for position, kind in enumerate(kinds, start=1):
            number = kinds[:position].count(kind)
            labels.append(f"{kind} {number}" if kinds.count(kind) > 1 else kind)
        return labels


def _concatenated(field: str, extractions: Sequence[Extraction]) -> tuple[Any, ...]:
    """The members of one field of all extractions, in their order."""
    return tuple(chain.from_iterable(map(attrgetter(field), extractions)))


def _raw_triples(extractions: Sequence[Extraction]) -> tuple[Triple, ...] | None:
    """The raw triples of all extractions; None if none has raw triples.

    An extraction without raw triples contributes its triples.
    """
    if all(extraction.raw is None for extraction in extractions):
        return None
    raw = (
        extraction.triples if extraction.raw is None else extraction.raw
        for extraction in extractions
    )
    return tuple(chain.from_iterable(raw))


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
    """Whether a name is that of a built-in source that reads a file."""
    return f"{name}(FILE)" in SOURCES.usages()
