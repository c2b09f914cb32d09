"""Passages -> triples, mentions and entities, by extractors and importers behind `Extractor`.

An extractor depends on a corpus, not on graphs or retrievers; `knowledge.graph` turns its
`Extraction` into arrays.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol, runtime_checkable

from kg2rag.types import Corpus, Triple

__all__ = ["Entity", "Extraction", "Extractor", "Mention", "TripleTexts"]

TripleTexts = tuple[str, str, str]
"""Head, relation and tail, as spelled."""


@dataclass(frozen=True, slots=True)
class Entity:
    """What a source states about an entity in addition to its name."""

    name: str
    type: str = ""
    description: str = ""
    aliases: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Mention:
    """An entity named in a passage; `sentence` counts from 0, -1 if unknown."""

    entity: str
    passage_id: str
    sentence: int = -1


@dataclass(frozen=True)
class Extraction:
    """The result of an extractor.

    `notes` counts cleaned and dropped items by cause ("triples with an empty end": 12), so that
    nothing is lost silently; a cause with 0 is left out. `raw` are all triples in the source's
    spelling if `triples` are cleaned or fewer; None if both are the same.
    """

    triples: tuple[Triple, ...] = ()
    mentions: tuple[Mention, ...] = ()
    entities: tuple[Entity, ...] = ()
    notes: Mapping[str, int] = field(default_factory=dict)
    # Not in the comparison: the graph does not depend on it.
    raw: tuple[Triple, ...] | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(
            self,
            "notes",
            {cause: count for cause, count in self.notes.items() if count},
        )


@runtime_checkable
class Extractor(Protocol):
    """Anything that turns a corpus into an `Extraction`; its arguments are its configuration."""

    @property
    def fingerprint(self) -> str:
        """The inputs besides the corpus: parameters, and the checksums of files."""
        ...

    def extract(self, corpus: Corpus) -> Extraction:
        """The extraction of a corpus; an error if the source names passages that it lacks."""
        ...
