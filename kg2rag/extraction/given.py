"""Extractions that are already made: as an extractor, less what some passages state, several as one."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Container
from dataclasses import dataclass
from functools import cached_property
from itertools import chain

from kg2rag.extraction import Extraction
from kg2rag.text.normalisation import entity_key
from kg2rag.types.corpus import Corpus


@dataclass(frozen=True)
class GivenExtraction:
    """An extraction as an extractor."""

    extraction: Extraction

    def __repr__(self) -> str:
        return f"GivenExtraction({len(self.extraction.triples):,} triples, {self.fingerprint[:8]})"

    @cached_property
    def fingerprint(self) -> str:
        """sha256 over the extraction."""
        return "given-" + hashlib.sha256(repr(self.extraction).encode("utf-8", "surrogatepass")).hexdigest()

    def extract(self, corpus: Corpus) -> Extraction:  # noqa: ARG002
        """The extraction as it is; building the graph refuses passages that the corpus lacks."""
        return self.extraction


def without(extraction: Extraction, gone: Container[str]) -> Extraction:
    """An extraction without the statements of some passages.

    The record of an entity that only they named goes too; the record of one that no passage ever named stays, as do
    triples without a passage.
    """
    kept: set[str] = set()
    lost: set[str] = set()
    for triple in extraction.triples:
        (lost if triple.passage_id in gone else kept).update((entity_key(triple.head), entity_key(triple.tail)))
    for mention in extraction.mentions:
        (lost if mention.passage_id in gone else kept).add(entity_key(mention.entity))
    return Extraction(
        tuple(triple for triple in extraction.triples if triple.passage_id not in gone),
        tuple(mention for mention in extraction.mentions if mention.passage_id not in gone),
        tuple(entity for entity in extraction.entities if entity_key(entity.name) not in lost - kept),
        extraction.notes,
    )


def joined(*extractions: Extraction) -> Extraction:
    """All extractions, one after the other; notes of one cause are added."""
    notes: Counter[str] = Counter()
    for extraction in extractions:
        notes.update(extraction.notes)
    return Extraction(
        tuple(chain.from_iterable(extraction.triples for extraction in extractions)),
        tuple(chain.from_iterable(extraction.mentions for extraction in extractions)),
        tuple(chain.from_iterable(extraction.entities for extraction in extractions)),
        dict(notes),
    )
