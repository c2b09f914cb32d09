"""Extractions and sources -> one: several joined, or one that is already made."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import chain

from kg2rag.extraction import Extraction, Extractor
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


def joined(*extractions: Extraction) -> Extraction:
    """All extractions, one after the other; notes of one cause are added."""
    notes: Counter[str] = Counter()
    written = [each.triples if each.raw is None else each.raw for each in extractions]
    for extraction in extractions:
        notes.update(extraction.notes)
    return Extraction(
        tuple(triple for extraction in extractions for triple in extraction.triples),
        tuple(mention for extraction in extractions for mention in extraction.mentions),
        tuple(entity for extraction in extractions for entity in extraction.entities),
        dict(notes),
        None if all(each.raw is None for each in extractions) else tuple(chain.from_iterable(written)),
    )


@dataclass(frozen=True)
class CombinedExtractor:
    """The extractions of several sources over one corpus, one after the other.

    Exact duplicates become one where the graph is built. Of an entity that several sources describe, the first type and
    description are kept, and all aliases. At least two are needed, such as `(Mentions(), HippoRAGOpenIE(path))`.
    """

    sources: tuple[Extractor, ...]

    def __post_init__(self) -> None:
        object.__setattr__(self, "sources", tuple(self.sources))
        if len(self.sources) < 2:
            raise ValueError(f"A union needs at least two sources, not {len(self.sources)}.")
        for source in self.sources:
            if not isinstance(source, Extractor):
                raise ValueError(
                    f"{source!r} is no source: it has no fingerprint or no extract. Make names with parse."
                )

    @property
    def fingerprint(self) -> str:
        """Those of the sources, in their order."""
        parts = ["union-1", *(source.fingerprint for source in self.sources)]
        return hashlib.sha256(json.dumps(parts).encode()).hexdigest()

    def extract(self, corpus: Corpus) -> Extraction:
        """What every source found; `notes` names the source of each cause ("HippoRAGOpenIE: …")."""
        found = [source.extract(corpus) for source in self.sources]
        notes = {
            f"{label}: {cause}": count
            for label, extraction in zip(self._labels(), found, strict=True)
            for cause, count in extraction.notes.items()
        }
        return replace(joined(*found), notes=notes)

    def _labels(self) -> list[str]:
        """The kinds of the sources; several of one kind are numbered from 1."""
        kinds = [type(source).__name__ for source in self.sources]
        return [
            f"{kind} {kinds[: at + 1].count(kind)}" if kinds.count(kind) > 1 else kind for at, kind in enumerate(kinds)
        ]
