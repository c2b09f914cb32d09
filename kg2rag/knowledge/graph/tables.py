"""An `Extraction` and its corpus -> the tables of a knowledge graph: triples as columns, and adjacency.

Two names are one entity where `text.normalise` makes them equal. A name that normalises to nothing ("++") is
its own stripped spelling. Entities are numbered by first appearance: the source's entity records, then the ends of the
triples, then the mentions.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kg2rag.extraction import Entity, Extraction
from kg2rag.knowledge.graph.csr import Codes, Columns, Incidence, Offsets, incidence, offsets
from kg2rag.text.normalisation import entity_key
from kg2rag.types import Corpus, Triple

Weights = NDArray[np.float32]
SMALLEST = float(np.finfo(np.float32).tiny)


@dataclass(frozen=True, eq=False)
class TripleTable(Columns):
    """The triples as columns, (n_triples,) each.

    Heads and tails are codes of entities, relations and descriptions of the graph's, 0 for no description; passages are
    corpus rows, -1 where none states the triple; strengths are in (0, 10], confidences in (0, 1].
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
        return TripleTable(*(column[index] for column in vars(self).values()))

    def distinct(self) -> TripleTable:
        """Each triple once, at its first place, with the greatest strength and confidence among its duplicates.

        Its description is that of the first of them that has one.
        """
        import pandas as pd  # slow to import, and reading a set needs none of it

        frame = pd.DataFrame(vars(self))
        frame["descriptions"] = frame["descriptions"].where(frame["descriptions"] > 0)  # blanks are no first one
        best = {"strengths": "max", "confidences": "max", "descriptions": "first"}
        found = frame.groupby(["heads", "relations", "tails", "passages"], sort=False).agg(best).reset_index()
        kinds = {"strengths": np.float32, "confidences": np.float32}
        columns = {name: found[name].fillna(0).to_numpy(kinds.get(name, np.int32)) for name in vars(self)}
        return TripleTable(**{name: np.array(column) for name, column in columns.items()})


def numbered(values: NDArray[Any]) -> tuple[Codes, list[Any]]:
    """Values as numbers in order of appearance, and each distinct one once, in that order."""
    import pandas as pd

    codes, distinct = pd.factorize(values)
    return codes.astype(np.int32), distinct.tolist()


def canonical(triples: TripleTable, descriptions: Sequence[str]) -> tuple[TripleTable, tuple[str, ...]]:
    """The triples and their descriptions, renumbered by first appearance after "", those of no triple left out."""
    codes, order = numbered(np.append(np.int32(0), triples.descriptions))
    return replace(triples, descriptions=codes[1:]), tuple(descriptions[code] for code in order)


@dataclass(frozen=True, eq=False)
class Adjacency(Columns):
    """The triples at each entity, walkable both ways; one slot per triple and end, a self-loop has one.

    The slots of an entity are ordered by (-strength, triple): the first slot of a neighbour is its strongest triple.

    Of each slot, (n_slots,): the entity at the other end, the triple between, and whether the walk goes `along` it,
    from head to tail.
    """

    indptr: Offsets
    neighbours: Codes
    triples: Codes
    along: NDArray[np.bool_]

    @classmethod
    def of(cls, triples: TripleTable, n_entities: int) -> Adjacency:
        """The adjacency of a triple table."""
        number, back = np.arange(len(triples), dtype=np.int32), triples.heads != triples.tails
        entities = np.concatenate([triples.heads, triples.tails[back]])
        others = np.concatenate([triples.tails, triples.heads[back]])
        numbers = np.concatenate([number, number[back]])
        along = np.arange(len(entities)) < len(triples)
        order = np.lexsort((numbers, -triples.strengths[numbers], entities))
        return cls(offsets(entities, n_entities), others[order], numbers[order], along[order])


def collect(extraction: Extraction, corpus: Corpus) -> dict[str, Any]:
    """The fields of a graph: entities and relations numbered, exact duplicates merged, mentions counted."""
    records, named = extraction.entities, extraction.mentions
    ends = [name for one in extraction.triples for name in (one.head, one.tail)]
    names = [*(one.name for one in records), *ends, *(one.entity for one in named)]
    spelled, spellings = numbered(np.array(names, dtype=object))  # names repeat by the thousand: each is read once
    keys = list(map(entity_key, spellings))
    if "" in keys:
        name = spellings[keys.index("")]
        raise ValueError(f"An entity needs a name, not {name!r}. Drop it in the extractor, and count it in `notes`.")
    code_of, _ = numbered(np.array(keys, dtype=object))
    known = [Entity(spellings[at].strip()) for at in np.unique(code_of, return_index=True)[1].tolist()]
    codes = code_of[spelled]
    own, ends_, owners = np.split(codes, [len(records), len(records) + len(ends)])
    for code, one in zip(own.tolist(), records, strict=True):  # the first type and description are kept
        old = known[code]
        about = old.type or one.type, old.description or one.description
        known[code] = Entity(old.name, *about, tuple(dict.fromkeys((*old.aliases, *one.aliases))))
    every, relations, descriptions = _triple_table(extraction.triples, ends_.reshape(-1, 2), corpus)
    triples, described = canonical(every.distinct(), descriptions)
    ids = [mention.passage_id for mention in named]
    rows = _rows(ids, corpus, lambda at: f"mention of {named[at].entity!r}", required=True)
    notes = Counter(extraction.notes)
    notes["exact duplicate triples merged in the graph"] += len(every) - len(triples)
    notes["entity records merged in the graph"] += len(records) - len(np.unique(own))
    singular = {"names": "name", "types": "type", "descriptions": "description", "aliases": "aliases"}
    return {
        **{field: tuple(getattr(one, name) for one in known) for field, name in singular.items()},
        "relations": tuple(relations),
        "triple_descriptions": described,
        "triples": triples,
        "mentions": counted(incidence(owners, rows, np.ones_like(rows), len(known)), triples, 1),
        "notes": {cause: count for cause, count in notes.items() if count or cause in extraction.notes},
    }


def counted(mentions: Incidence, triples: TripleTable, sign: int) -> Incidence:
    """Mentions of entities with those of some triples' ends added (1) or taken away (-1)."""
    stated = triples.passages >= 0
    owners = np.concatenate([mentions.owners, triples.heads[stated], triples.tails[stated]])
    rows = np.concatenate([mentions.others, np.tile(triples.passages[stated], 2)])
    counts = np.concatenate([mentions.counts, np.full(len(rows) - len(mentions.others), sign)])
    return incidence(owners, rows, counts, len(mentions.indptr) - 1)


def _triple_table(given: Sequence[Triple], ends: Codes, corpus: Corpus) -> tuple[TripleTable, list[str], list[str]]:
    """The triples as given, and the relations and descriptions that they have, in order of appearance."""
    relations, names = numbered(np.array([one.relation for one in given], dtype=object))
    described, texts = numbered(np.array(["", *(one.description.strip() for one in given)], dtype=object))
    weights = np.array([(one.strength, one.confidence) for one in given], dtype=np.float64).reshape(-1, 2)
    passages, ids = numbered(np.array([one.passage_id for one in given], dtype=object))
    rows = _rows(ids, corpus, lambda at: f"triple {str(given[int(np.argmax(passages == at))])!r}")
    strengths, confidences = np.ascontiguousarray(np.maximum(weights, SMALLEST).astype(np.float32).T)
    heads, tails = np.ascontiguousarray(ends.T)
    columns = heads, relations, tails, rows[passages], strengths, confidences, described[1:]
    return TripleTable(*columns), names, texts


def _rows(ids: Sequence[str], corpus: Corpus, statement: Callable[[int], str], *, required: bool = False) -> Codes:
    """(n,) the corpus row of each id; -1 for "" where none is required."""
    known = frozenset(corpus.ids)
    for at, id_ in enumerate(ids):
        if (id_ or required) and id_ not in known:
            raise ValueError(
                f"{statement(at)} names passage {id_!r}, which the corpus lacks (it has {len(corpus):,}, such as "
                f"{corpus.ids[0]!r}). Were extraction and corpus made from the same data?"
            )
    return np.array([corpus.row(id_) if id_ else -1 for id_ in ids], dtype=np.int32)
