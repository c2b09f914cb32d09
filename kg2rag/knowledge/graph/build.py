"""An `Extraction` and its corpus -> the tables of a knowledge graph.

Two names are one entity where `text.normalise` makes them equal. A name that normalises to nothing ("++") is
its own stripped spelling. Entities are numbered by first appearance: the source's entity records, then the ends of the
triples, then the mentions.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

import numpy as np

from kg2rag.extraction import Entity, Extraction
from kg2rag.knowledge.graph.csr import Incidence, frozen, incidence
from kg2rag.knowledge.graph.tables import TripleTable
from kg2rag.text.normalisation import entity_key
from kg2rag.types.corpus import Corpus
from kg2rag.types.passages import Triple

SMALLEST = float(np.finfo(np.float32).tiny)


@dataclass
class EntityRegister:
    """Entities by key, in order of first appearance; `code` adds the unknown ones."""

    codes: dict[str, int] = field(default_factory=dict)
    names: list[str] = field(default_factory=list)
    types: list[str] = field(default_factory=list)
    descriptions: list[str] = field(default_factory=list)
    aliases: list[tuple[str, ...]] = field(default_factory=list)
    repeated: int = 0
    _spellings: dict[str, int] = field(default_factory=dict)

    def code(self, name: str) -> int:
        """The code of a name. Names repeat by the thousand, so their spelling is looked up before it is normalised."""
        if (known := self._spellings.get(name)) is not None:
            return known
        key = entity_key(name)
        if not key:
            raise ValueError(
                f"An entity needs a name, not {name!r}. Drop it in the extractor, and count it in `notes`."
            )
        code = self.codes.setdefault(key, len(self.names))
        if code == len(self.names):
            self.names.append(name.strip())
            self.types.append("")
            self.descriptions.append("")
            self.aliases.append(())
        self._spellings[name] = code
        return code

    def describe(self, entity: Entity) -> None:
        """Add a record of a source; of several records of one entity the first type and description are kept."""
        before = len(self.names)
        code = self.code(entity.name)
        self.repeated += code < before
        self.types[code] = self.types[code] or entity.type
        self.descriptions[code] = self.descriptions[code] or entity.description
        self.aliases[code] = tuple(dict.fromkeys(self.aliases[code] + tuple(entity.aliases)))


@dataclass(frozen=True)
class GraphTables:
    """The numbered entities and the arrays of a graph."""

    entities: EntityRegister
    relations: tuple[str, ...]
    triples: TripleTable
    mentions: Incidence
    notes: dict[str, int]


def collect(extraction: Extraction, corpus: Corpus) -> GraphTables:
    """Number the entities and relations, merge exact duplicates, count mentions.

    Raises
    ------
    ValueError : a triple or mention names a passage that the corpus lacks, or an end of a triple is blank.
    """
    entities = EntityRegister()
    for entity in extraction.entities:
        entities.describe(entity)
    relations: dict[str, int] = {}
    triples = _triple_table(extraction.triples, entities, relations, corpus)
    pairs = [
        (entities.code(mention.entity), _row(corpus, mention.passage_id, "mention of", mention.entity))
        for mention in extraction.mentions
    ]
    mentions = _mentions(pairs, triples, len(entities.names))
    notes = dict(extraction.notes)
    for cause, count in (
        ("exact duplicate triples merged in the graph", len(extraction.triples) - len(triples)),
        ("entity records merged in the graph", entities.repeated),
    ):
        if count:
            notes[cause] = notes.get(cause, 0) + count
    return GraphTables(entities, tuple(relations), triples, mentions, notes)


def _triple_table(
    triples: Iterable[Triple], entities: EntityRegister, relations: dict[str, int], corpus: Corpus
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
