"""An `Extraction` and its corpus -> the tables of a knowledge graph: triples as columns, and adjacency.

Two names are one entity where `text.normalise` makes them equal. A name that normalises to nothing ("++") is
its own stripped spelling. Entities are numbered by first appearance: the source's entity records, then the ends of the
triples, then the mentions.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kg2rag.extraction import Entity, Extraction
from kg2rag.extraction.columns import TripleColumns
from kg2rag.knowledge.graph.csr import Codes, Incidence, Offsets, frozen, incidence, offsets, run_starts
from kg2rag.text.normalisation import entity_key
from kg2rag.types import Corpus, IntArray

Weights = NDArray[np.float32]
SMALLEST = float(np.finfo(np.float32).tiny)


@dataclass(frozen=True, eq=False)
class TripleTable:
    """The triples as columns, (n_triples,) each.

    Attributes
    ----------
    heads, tails : entity codes.
    relations : codes into the graph's relations.
    passages : corpus rows; -1 where no passage states the triple.
    strengths : in (0, 10]; `confidences` : in (0, 1].
    descriptions : codes into the graph's descriptions of triples; 0 where a triple has none.
    """

    heads: Codes
    relations: Codes
    tails: Codes
    passages: Codes
    strengths: Weights
    confidences: Weights
    descriptions: Codes

    def __len__(self) -> int:
        return len(self.heads)

    def take(self, index: NDArray[np.integer]) -> TripleTable:
        """The triples at `index`, in that order."""
        return TripleTable(*(frozen(getattr(self, name)[index]) for name in TripleTable.__dataclass_fields__))

    def followed_by(self, other: TripleTable) -> TripleTable:
        """These triples, then those."""
        names = TripleTable.__dataclass_fields__
        pairs = [(getattr(self, name), getattr(other, name)) for name in names]
        return TripleTable(*(frozen(np.concatenate(pair)) for pair in pairs))

    def distinct(self) -> TripleTable:
        """Each triple once, at its first place, with the greatest strength and confidence among its duplicates.

        Its description is that of the first of them that has one.
        """
        # Two numbers of 64 bits are sorted several times as fast as rows of four of 32; a passage may be -1.
        facts = (self.heads.astype(np.int64) << 32) | self.tails
        places = (self.relations.astype(np.int64) << 32) | (self.passages + 1)
        order = np.lexsort((places, facts))  # stable: the first of equal statements leads them
        starts = np.flatnonzero(run_starts(facts[order], places[order]))
        if len(starts) == len(self):
            return self
        best = {name: np.maximum.reduceat(getattr(self, name)[order], starts) for name in ("strengths", "confidences")}
        described = np.where(self.descriptions[order] > 0, np.arange(len(order)), len(order))
        first = np.minimum.reduceat(described, starts)
        best["descriptions"] = np.append(self.descriptions[order], np.int32(0))[first]
        places_kept = np.argsort(order[starts])
        kept = self.take(order[starts][places_kept])
        return replace(kept, **{name: frozen(values[places_kept]) for name, values in best.items()})


def first_seen(values: Codes) -> tuple[Codes, IntArray]:
    """Values renumbered by first appearance, and the distinct ones in that order.

    >>> codes, order = first_seen(np.array([7, 3, 7, 5], dtype=np.int32))
    >>> codes.tolist(), order.tolist()
    ([0, 1, 0, 2], [7, 3, 5])
    """
    distinct, first, inverse = np.unique(values, return_index=True, return_inverse=True)
    order = np.argsort(first)
    return np.argsort(order)[inverse].astype(np.int32).reshape(-1), distinct[order].astype(np.int64)


def canonical(triples: TripleTable, descriptions: Sequence[str]) -> tuple[TripleTable, tuple[str, ...]]:
    """The triples and their descriptions, renumbered by first appearance after "", those of no triple left out."""
    codes, order = first_seen(np.concatenate([np.zeros(1, dtype=np.int32), triples.descriptions]))
    return replace(triples, descriptions=frozen(codes[1:])), tuple(descriptions[code] for code in order.tolist())


@dataclass(frozen=True, eq=False)
class Adjacency:
    """The triples at each entity, walkable both ways; one slot per triple and end, a self-loop has one.

    The slots of an entity are ordered by (-strength, triple): the first slot of a neighbour is its strongest triple.

    Attributes
    ----------
    indptr : (n_entities + 1,). neighbours, triples : (n_slots,) the entity at the other end, and the triple between.
    along : (n_slots,) True where the walk goes from head to tail.
    """

    indptr: Offsets
    neighbours: Codes
    triples: Codes
    along: NDArray[np.bool_]


def adjacency(triples: TripleTable, n_entities: int) -> Adjacency:
    """The adjacency of a triple table."""
    number = np.arange(len(triples), dtype=np.int32)
    back = triples.heads != triples.tails
    entities = np.concatenate([triples.heads, triples.tails[back]])
    others = np.concatenate([triples.tails, triples.heads[back]])
    numbers = np.concatenate([number, number[back]])
    along = np.arange(len(entities)) < len(triples)
    order = np.lexsort((numbers, -triples.strengths[numbers], entities))
    return Adjacency(
        indptr=offsets(entities, n_entities),
        neighbours=frozen(others[order]),
        triples=frozen(numbers[order]),
        along=frozen(along[order]),
    )


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

    def codes_of(self, names: Iterable[str]) -> Codes:
        """The codes of several names."""
        return np.array([self.code(name) for name in names], dtype=np.int32)

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
    given = TripleColumns.of(extraction.triples)
    triples, relations = _triple_table(given, entities, corpus)
    triples, described = canonical(triples, ["", *map(str.strip, given.descriptions)])
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
        "relations": relations,
        "triple_descriptions": described,
        "triples": triples,
        "mentions": _mentions(pairs, triples, len(entities.names)),
        "notes": notes,
    }


def _triple_table(given: TripleColumns, entities: _Entities, corpus: Corpus) -> tuple[TripleTable, tuple[str, ...]]:
    """The distinct triples, and the relations in order of appearance."""
    passages = _rows_of(given, corpus)
    ends, names = first_seen(np.stack([given.heads, given.tails], axis=1).reshape(-1))
    relations, labels = first_seen(given.relation_codes)
    codes = entities.codes_of([given.names[name] for name in names.tolist()])[ends].reshape(-1, 2)
    # A fact that a passage states twice is as strong, and as sure, as its best statement.
    table = TripleTable(
        heads=np.ascontiguousarray(codes[:, 0]),
        relations=relations,
        tails=np.ascontiguousarray(codes[:, 1]),
        passages=passages,
        strengths=np.maximum(given.strengths, SMALLEST).astype(np.float32),
        confidences=np.maximum(given.confidences, SMALLEST).astype(np.float32),
        descriptions=_description_codes(given),
    ).distinct()
    for name in TripleTable.__dataclass_fields__:
        frozen(getattr(table, name))
    return table, tuple(given.relations[label] for label in labels.tolist())


def _description_codes(given: TripleColumns) -> Codes:
    """(n_triples,) the code of each description as given, one more than its place; 0 for a blank one."""
    if given.description_codes is None:
        return np.zeros(len(given), dtype=np.int32)
    blank = np.array([not text.strip() for text in given.descriptions], dtype=bool)
    found: Codes = np.where(blank[given.description_codes], 0, given.description_codes + 1).astype(np.int32)
    return found


def _rows_of(given: TripleColumns, corpus: Corpus) -> Codes:
    """(n_triples,) the corpus row of each; -1 where no passage states it."""
    known = frozenset(corpus.ids)
    unknown = np.array([bool(id_) and id_ not in known for id_ in given.passage_ids], dtype=bool)
    if (foreign := unknown[given.passage_codes]).any():
        triple = given[int(np.argmax(foreign))]
        _row(corpus, triple.passage_id, "triple", triple)
    rows = [corpus.row(id_) if id_ in known else -1 for id_ in given.passage_ids]
    return np.array(rows, dtype=np.int32)[given.passage_codes]


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
