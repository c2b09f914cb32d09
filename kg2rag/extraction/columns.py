"""Triples as columns: every text once, and numbers in its place, so that millions of triples are a few arrays.

`TripleColumns` is a sequence of `Triple` like any other; the objects are made when they are read.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import overload

import numpy as np
from numpy.typing import NDArray

from kg2rag.types import FloatArray, Triple

Codes = NDArray[np.int32]


@dataclass(frozen=True, eq=False, repr=False)
class TripleColumns(Sequence[Triple]):
    """Triples, (n,) of each column.

    Attributes
    ----------
    names, relations, passage_ids : the texts that occur, in any order, each once.
    heads, tails : codes into `names`. relation_codes, passage_codes : into `relations` and `passage_ids`.
    strengths, confidences : in the ranges of `Triple`, which whoever makes the columns has checked.
    descriptions : the texts that occur. description_codes : into them; None where no triple is described.
    """

    names: Sequence[str]
    relations: Sequence[str]
    passage_ids: Sequence[str]
    heads: Codes
    relation_codes: Codes
    tails: Codes
    passage_codes: Codes
    strengths: FloatArray
    confidences: FloatArray
    descriptions: Sequence[str] = ("",)
    description_codes: Codes | None = None

    @classmethod
    def of(cls, triples: Sequence[Triple]) -> TripleColumns:
        """The same triples as columns."""
        if isinstance(triples, cls):
            return triples
        return cls.of_rows(
            (t.head, t.relation, t.tail, t.passage_id, t.strength, t.confidence, t.description) for t in triples
        )

    @classmethod
    def of_rows(cls, rows: Iterable[tuple[str, str, str, str, float, float, str]]) -> TripleColumns:
        """Triples given by their fields, which are read one after another; ValueError for one that is no `Triple`."""
        names: dict[str, int] = {}
        relations: dict[str, int] = {}
        passages: dict[str, int] = {}
        descriptions: dict[str, int] = {"": 0}
        codes, weights = array("i"), array("d")
        for head, relation, tail, passage, strength, confidence, description in rows:
            codes.append(names.setdefault(head, len(names)))
            codes.append(relations.setdefault(relation, len(relations)))
            codes.append(names.setdefault(tail, len(names)))
            codes.append(passages.setdefault(passage, len(passages)))
            codes.append(descriptions.setdefault(description, len(descriptions)))
            weights.append(strength)
            weights.append(confidence)
        heads, labels, tails, places, described = np.array(codes, dtype=np.int32).reshape(-1, 5).T
        strengths, confidences = np.array(weights, dtype=np.float64).reshape(-1, 2).T
        texts = list(names), list(relations), list(passages)
        about = (list(descriptions), described) if len(descriptions) > 1 else (("",), None)
        made = cls(*texts, heads, labels, tails, places, strengths, confidences, *about)
        wrong = ~((strengths > 0) & (strengths <= 10) & (confidences > 0) & (confidences <= 1))
        if wrong.any():
            made[int(np.argmax(wrong))]  # raises, and says which and why
        return made

    def __len__(self) -> int:
        return len(self.heads)

    @overload
    def __getitem__(self, index: int) -> Triple: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[Triple, ...]: ...
    def __getitem__(self, index: int | slice) -> Triple | tuple[Triple, ...]:
        if isinstance(index, slice):
            return tuple(self._made(index))
        number = range(len(self))[index]
        return next(self._made(slice(number, number + 1)))

    def __iter__(self) -> Iterator[Triple]:
        for start in range(0, len(self), 10_000):
            yield from self._made(slice(start, start + 10_000))

    def _made(self, rows: slice) -> Iterator[Triple]:
        texts = (
            [known[code] for code in codes[rows].tolist()]
            for known, codes in (
                (self.names, self.heads),
                (self.relations, self.relation_codes),
                (self.names, self.tails),
                (self.passage_ids, self.passage_codes),
            )
        )
        weights = self.strengths[rows].tolist(), self.confidences[rows].tolist()
        if self.description_codes is None:
            return map(Triple, *texts, *weights)
        about = (self.descriptions[code] for code in self.description_codes[rows].tolist())
        return map(Triple, *texts, *weights, about)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, tuple | TripleColumns):
            return NotImplemented
        return len(self) == len(other) and all(mine == theirs for mine, theirs in zip(self, other, strict=True))

    def __hash__(self) -> int:
        return hash(tuple(self))

    def __repr__(self) -> str:
        # As the tuple of the same triples: what depends on an extraction's text does not depend on how it is held.
        return repr(tuple(self))
