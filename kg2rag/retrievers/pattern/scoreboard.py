"""The terms of one query and what each matched in the corpus -> a ranking with the parts of its scores."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from kg2rag.knowledge import Similar, TrigramIndex
from kg2rag.types import FloatArray, IntArray, Notes, Query, Ranking, best, number, rank

DEFINES, VERBATIM = 0.01, 0.02
"""Added to the strength of a term that the passage defines, and of one in the query's very spelling; tie-breakers."""


class Term(NamedTuple):
    """Something a query looks up: as written, its key, and how similar a match must be."""

    text: str
    key: str
    min_similarity: float


class Match(NamedTuple):
    """A term of the corpus that one of the query's matched."""

    term: str
    matched: str
    strength: float
    similarity: float


@dataclass(frozen=True)
class PatternNotes(Notes):
    """The terms looked up, how many were left out, and for each hit the terms of the corpus that matched."""

    terms: tuple[str, ...] = ()
    terms_left_out: int = 0
    matched: Mapping[str, tuple[Match, ...]] = field(default_factory=dict)


class Found(NamedTuple):
    """What one term of the query matched: its part and rarity; the rows, ascending, and of each the best match."""

    part: str
    written: str
    rarity: float
    rows: IntArray
    terms: IntArray
    strengths: FloatArray
    similarities: FloatArray

    def at(self, rows: IntArray, values: FloatArray) -> FloatArray:
        """Those of `values`, one a row of its own, that belong to some rows; NaN for rows not matched."""
        found = np.full(len(rows), np.nan)
        if len(self.rows):
            places = np.minimum(np.searchsorted(self.rows, rows), len(self.rows) - 1)
            matched = self.rows[places] == rows
            found[matched] = values[places[matched]]
        return found


class Scoreboard:
    """Adds up, over the terms of one query, what each passage scores."""

    def __init__(self, index: TrigramIndex) -> None:
        self._index = index
        self._scores = np.zeros(index.n_rows)
        self._n_terms = 0
        self._found: list[Found] = []

    def add(self, term: Term, similar: Similar) -> None:
        """The next term of the query, a fuzzy one, and the keys like it."""
        self._n_terms += 1
        if not len(similar.keys):
            return
        terms, of = self._index.terms_of(similar.keys)
        strengths = similar.strengths[of]
        equal = np.flatnonzero(strengths == 2)
        strengths[equal] += [VERBATIM * (self._index.terms[int(terms[at])].as_py() == term.text) for at in equal]
        self._add(term.text, terms, strengths, similar.similarities[of], int(self._index.key_df[similar.keys[0]]))

    def add_terms(self, wildcard: str, terms: IntArray) -> None:
        """The next term, a wildcard, and the terms that it fits: the shorter, the nearer to what was written."""
        self._n_terms += 1
        if not len(terms):
            return
        written = len(wildcard.replace("*", ""))
        lengths = np.array([len(name) for name in self._index.terms.take(pa.array(terms)).to_pylist()])
        frequency = int(self._index.key_df[self._index.key_of(terms)].min())
        self._add(wildcard, terms, 1 + written / lengths, written / lengths, frequency)

    def _add(
        self, written: str, terms: IntArray, strengths: FloatArray, similarities: FloatArray, frequency: int
    ) -> None:
        rows, of, defines = self._index.postings(terms)
        values = strengths[of] + DEFINES * defines
        order = np.lexsort((of, -values))
        rows, first = np.unique(rows[order], return_index=True)  # the best match of each passage
        of, values = of[order][first], values[order][first]
        rarity = float(np.log1p(self._index.n_rows / frequency))
        self._scores[rows] += rarity * values
        self._found.append(Found(f"term {self._n_terms}", written, rarity, rows, terms[of], values, similarities[of]))

    def ranking(self, query: Query, ids: Sequence[str], mask: IntArray | None, k: int, said: PatternNotes) -> Ranking:
        """The passages that matched anything; their part "term 2" is how strongly the second term added matched."""
        rows = best(self._scores, k) if mask is None else mask
        rows = rows[self._scores[rows] > 0]
        formula = " + ".join(f"{number(found.rarity)} · {found.part}" for found in self._found)
        ranked = rank(
            query.id,
            rows,
            self._scores[rows],
            ids,
            k,
            stages=("pattern",),
            score_parts=self._parts(rows),
        )
        matched = {ids[row]: tuple(self._matched(row)) for row in ranked.rows.tolist()}
        return replace(ranked, notes=replace(said, formula=formula, source="pattern", matched=matched))

    def _parts(self, rows: IntArray) -> dict[str, FloatArray]:
        strengths = {found.part: found.at(rows, found.strengths) for found in self._found}
        similarities = [found.at(rows, found.similarities) for found in self._found]
        if not len(rows):
            return strengths
        return {
            "similarity": np.nanmax(similarities, axis=0),
            "strength": np.nanmax(list(strengths.values()), axis=0),
            "terms_matched": np.isfinite(list(strengths.values())).sum(axis=0).astype(np.float64),
            **strengths,
        }

    def _matched(self, row: int) -> Iterable[Match]:
        for found in self._found:
            at = int(np.searchsorted(found.rows, row))
            if at < len(found.rows) and found.rows[at] == row:
                name: str = self._index.terms[int(found.terms[at])].as_py()
                yield Match(found.written, name, float(found.strengths[at]), float(found.similarities[at]))
