"""The triples of a knowledge graph as columns, the adjacency that they make of its entities, and label filters."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from kg2rag.knowledge.graph.csr import Codes, Offsets, frozen, offsets, run_starts
from kg2rag.text.normalisation import entity_key
from kg2rag.types import IntArray

Weights = NDArray[np.float32]


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


class Labels:
    """Labels (relations, entity types) as codes of their normalised forms, so that a filter is one table look-up.

    `kind` is what error messages call one of `labels`.
    """

    def __init__(self, kind: str, labels: Sequence[str]) -> None:
        self.kind = kind
        self.groups: dict[str, int] = {}
        codes = [self.groups.setdefault(entity_key(label), len(self.groups)) for label in labels]
        self.codes = np.array(codes, dtype=np.int64)

    def among(self, wanted: Iterable[str]) -> NDArray[np.bool_]:
        """(n_labels,) which labels are wanted; ValueError for a wanted one that there is none of."""
        chosen = np.zeros(len(self.groups), dtype=bool)
        for name in [wanted] if isinstance(wanted, str) else wanted:
            group = self.groups.get(entity_key(name))
            if group is None:
                known = sorted(set(self.groups) - {""})
                more = f" and {len(known) - 10} more" if len(known) > 10 else ""
                shown = ", ".join(map(repr, known[:10])) or "none at all"
                raise ValueError(f"The graph has no {self.kind} {name!r}. Known: {shown}{more}.")
            chosen[group] = True
        mask: NDArray[np.bool_] = chosen[self.codes]
        return mask
