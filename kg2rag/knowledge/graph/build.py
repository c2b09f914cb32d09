"""An `Extraction` and its corpus -> the tables of a knowledge graph.

Two names are one entity where `text.normalise` makes them equal. A name that normalises to nothing ("++") is
its own stripped spelling. Entities are numbered by first appearance: the source's entity records, then the ends of the
triples, then the mentions.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from kg2rag.extraction import Entity, Extraction
from kg2rag.knowledge.graph.csr import Incidence, frozen, incidence
from kg2rag.knowledge.graph.tables import TripleTable
from kg2rag.text.normalisation import entity_key
from kg2rag.types import Corpus, Triple

SMALLEST = float(np.finfo(np.float32).tiny)


class _Entities:
    """Entities by key, in order of first appearance; `code` adds the unknown ones."""

    def __init__(self) -> None:
        self.codes: dict[str, int] = {}
        self.spellings: dict[str, int] = {}
        self.names: list[str] = []
        self.types: list[str] = []
        self.descriptions: list[str] = []
        self.aliases: list[tuple[str, ...]] = []

    def code(self, name: str) -> int:
        """The code of a name. Names repeat by the thousand, so their spelling is looked up before it is normalised."""
        if (known := self.spellings.get(name)) is not None:
            return known
        key = entity_key(name)
        if not key:
            raise ValueError(
                f"An entity needs a name, not {name!r}. Drop it in the extractor, and count it in `notes`."
            )
        code = self.spellings[name] = self.codes.setdefault(key, len(self.names))
        if code == len(self.names):
            self.names.append(name.strip())
            self.types.append("")
            self.descriptions.append("")
            self.aliases.append(())
        return code

    def describe(self, entity: Entity) -> None:
        """Add a record of a source; of several records of one entity the first type and description are kept."""
        code = self.code(entity.name)
        self.types[code] = self.types[code] or entity.type
        self.descriptions[code] = self.descriptions[code] or entity.description
        self.aliases[code] = tuple(dict.fromkeys(self.aliases[code] + tuple(entity.aliases)))


def collect(extraction: Extraction, corpus: Corpus) -> dict[str, Any]:
    """The fields of a graph: entities and relations numbered, exact duplicates merged, mentions counted."""
    entities = _Entities()
    for entity in extraction.entities:
        entities.describe(entity)
    repeated = len(extraction.entities) - len(entities.names)
    relations: dict[str, int] = {}
    triples = _triple_table(extraction.triples, entities, relations, corpus)
    pairs = [
        (entities.code(mention.entity), _row(corpus, mention.passage_id, "mention of", mention.entity))
        for mention in extraction.mentions
    ]
    notes = dict(extraction.notes)
    for cause, count in (
        ("exact duplicate triples merged in the graph", len(extraction.triples) - len(triples)),
        ("entity records merged in the graph", repeated),
    ):
        if count:
            notes[cause] = notes.get(cause, 0) + count
    return {
        **{name: tuple(getattr(entities, name)) for name in ("names", "types", "descriptions", "aliases")},
        "relations": tuple(relations),
        "triples": triples,
        "mentions": _mentions(pairs, triples, len(entities.names)),
        "notes": notes,
    }


def _triple_table(
    triples: Iterable[Triple], entities: _Entities, relations: dict[str, int], corpus: Corpus
) -> TripleTable:
    rows: dict[tuple[int, int, int, int], tuple[float, float]] = {}
    for triple in triples:
        passage = _row(corpus, triple.passage_id, "triple", triple) if triple.passage_id else -1
        key = (
            entities.code(triple.head),
            relations.setdefault(triple.relation, len(relations)),
            entities.code(triple.tail),
            passage,
        )
        # A fact that a passage states twice is as strong, and as sure, as its best statement.
        strength, confidence = rows.get(key, (0.0, 0.0))
        rows[key] = max(strength, triple.strength, SMALLEST), max(confidence, triple.confidence, SMALLEST)
    codes = np.array(list(rows), dtype=np.int32).reshape(-1, 4)
    weights = np.array(list(rows.values()), dtype=np.float32).reshape(-1, 2)
    columns = [frozen(np.ascontiguousarray(column)) for column in (*codes.T, *weights.T)]
    return TripleTable(*columns)


def _mentions(pairs: list[tuple[int, int]], triples: TripleTable, n_entities: int) -> Incidence:
    given = np.array(pairs, dtype=np.int32).reshape(-1, 2)
    stated = triples.passages >= 0
    owners = np.concatenate([given[:, 0], triples.heads[stated], triples.tails[stated]])
    rows = np.concatenate([given[:, 1], triples.passages[stated], triples.passages[stated]])
    return incidence(owners, rows, np.ones(len(owners), dtype=np.int32), n_entities)


def _row(corpus: Corpus, passage_id: str, kind: str, what: object) -> int:
    try:
        return corpus.row(passage_id)
    except KeyError:
        raise ValueError(
            f"{kind} {str(what)!r} names passage {passage_id!r}, which the corpus lacks "
            f"(it has {len(corpus):,}, such as {corpus.ids[0]!r}). Were extraction and corpus made from the same data?"
        ) from None
