"""The arrays that a knowledge graph is made of: triples as columns, and two kinds of compressed sparse rows.

CSR throughout: what belongs to `i` stands at `indptr[i]:indptr[i + 1]` of the other arrays.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

Scalar = TypeVar("Scalar", bound=np.generic)
Codes = NDArray[np.int32]
Offsets = NDArray[np.int64]
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
    """

    heads: Codes
    relations: Codes
    tails: Codes
    passages: Codes
    strengths: Weights
    confidences: Weights

    def __len__(self) -> int:
        return len(self.heads)

    def take(self, index: NDArray[np.integer]) -> TripleTable:
        """The triples at `index`, in that order."""
        columns = (self.heads, self.relations, self.tails, self.passages, self.strengths, self.confidences)
        return TripleTable(*(frozen(column[index]) for column in columns))

    def followed_by(self, other: TripleTable) -> TripleTable:
        """These triples, then those."""
        return TripleTable(
            heads=frozen(np.concatenate([self.heads, other.heads])),
            relations=frozen(np.concatenate([self.relations, other.relations])),
            tails=frozen(np.concatenate([self.tails, other.tails])),
            passages=frozen(np.concatenate([self.passages, other.passages])),
            strengths=frozen(np.concatenate([self.strengths, other.strengths])),
            confidences=frozen(np.concatenate([self.confidences, other.confidences])),
        )


@dataclass(frozen=True, eq=False)
class Incidence:
    """How often the members of one kind meet those of another: entities and passages, either way round.

    Attributes
    ----------
    indptr : (n + 1,). others : (n_pairs,) ascending within each row, no pair twice. counts : (n_pairs,) at least 1.
    """

    indptr: Offsets
    others: Codes
    counts: Codes

    def of(self, code: int) -> tuple[Codes, Codes]:
        """What `code` meets, ascending, and how often."""
        inside = slice(self.indptr[code], self.indptr[code + 1])
        return self.others[inside], self.counts[inside]

    @property
    def owners(self) -> Codes:
        """(n_pairs,) the member that each pair belongs to."""
        return np.repeat(np.arange(len(self.indptr) - 1, dtype=np.int32), np.diff(self.indptr))

    def transposed(self, n_others: int) -> Incidence:
        """The same pairs, seen from the other side."""
        return incidence(self.others, self.owners, self.counts, n_others)


@dataclass(frozen=True, eq=False)
class Adjacency:
    """The triples at each entity, walkable both ways; one slot per triple and end, a self-loop has one.

    Attributes
    ----------
    indptr : (n_entities + 1,). neighbours, triples : (n_slots,) the entity at the other end, and the triple between.
    along : (n_slots,) True where the walk goes from head to tail.

    Notes
    -----
    The slots of an entity are ordered by (-strength, triple): the first slot of a neighbour is its strongest triple.
    """

    indptr: Offsets
    neighbours: Codes
    triples: Codes
    along: NDArray[np.bool_]


def adjacency(triples: TripleTable, n_entities: int) -> Adjacency:
    """The adjacency of a triple table."""
    number = np.arange(len(triples), dtype=np.int32)
    back = triples.heads != triples.tails
    owners = np.concatenate([triples.heads, triples.tails[back]])
    others = np.concatenate([triples.tails, triples.heads[back]])
    numbers = np.concatenate([number, number[back]])
    along = np.arange(len(owners)) < len(triples)
    order = np.lexsort((numbers, -triples.strengths[numbers], owners))
    return Adjacency(
        indptr=_offsets(owners, n_entities),
        neighbours=frozen(others[order]),
        triples=frozen(numbers[order]),
        along=frozen(along[order]),
    )


def incidence(
    owners: NDArray[np.integer], others: NDArray[np.integer], counts: NDArray[np.integer], n_owners: int
) -> Incidence:
    """The incidence of pairs, (n,) each; a pair that stands several times has its counts added."""
    order = np.lexsort((others, owners))
    owners, others, counts = owners[order], others[order], counts[order]
    first = np.ones(len(owners), dtype=bool)
    first[1:] = (owners[1:] != owners[:-1]) | (others[1:] != others[:-1])
    starts = np.flatnonzero(first)
    # reduceat cannot take an empty list of starts.
    sums = np.add.reduceat(counts, starts) if len(starts) else counts
    return Incidence(
        indptr=_offsets(owners[first], n_owners),
        others=frozen(others[first].astype(np.int32)),
        counts=frozen(sums.astype(np.int32)),
    )


def frozen(array: NDArray[Scalar]) -> NDArray[Scalar]:
    """The same array, read-only."""
    array.flags.writeable = False
    return array


def _offsets(owners: NDArray[np.integer], n_owners: int) -> Offsets:
    offsets = np.zeros(n_owners + 1, dtype=np.int64)
    np.cumsum(np.bincount(owners, minlength=n_owners), out=offsets[1:])
    return offsets
