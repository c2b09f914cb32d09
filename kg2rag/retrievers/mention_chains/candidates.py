"""Three searches -> the candidates of a question, about 60 passages.

The candidates are the first hits of a walk, of dense search and of BM25. The walk is that of
`mention_ppr`; it also starts at the passages nearest to the question's sub-phrases.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from kg2rag.knowledge.graph.pagerank import NodeWeights
from kg2rag.types import (
    FloatArray,
    IntArray,
    canonical_order,
    top_with_ties,
)


class Hits(NamedTuple):
    """The hits of a search: corpus rows and scores, (n_hits,) each, best first, ties by row."""

    rows: IntArray
    scores: FloatArray

    @property
    def best(self) -> float:
        """The highest score; 0 without a hit."""
        return float(self.scores[0]) if len(self.scores) else 0.0


def best_hits(rows: IntArray, scores: FloatArray, k: int) -> Hits:
    """The `k` hits with the highest scores; `rows` and `scores` are (n,)."""
    first = top_with_ties(scores, k)
    order = first[np.lexsort((rows[first], -scores[first]))][:k]
    return Hits(rows[order], scores[order])


class Pool(NamedTuple):
    """The passages that are near to a question or to one of its sub-phrases, nearest to the question first.

    Attributes
    ----------
    rows : (n,) corpus rows.
    cosines : (1 + n_phrases, n) the cosines with the question, then with each of its sub-phrases.
    """

    rows: IntArray
    cosines: FloatArray

    @classmethod
    def from_cosines(cls, rows: IntArray, cosines: FloatArray) -> Pool:
        """The pool of some rows in any order."""
        order = canonical_order(rows, cosines[0])
        return cls(rows[order], cosines[:, order])

    def first(self, k: int) -> Hits:
        """The `k` passages nearest to the question, with their cosines."""
        return Hits(self.rows[:k], self.cosines[0, :k])


@dataclass(frozen=True)
class Searches:
    """The first hits of three searches for one query, among the passages that it may return.

    Attributes
    ----------
    walk, bm25 : the hits by share of the walk and by BM25, with scores above 0.
    dense : the hits by cosine with the question.
    """

    walk: Hits
    dense: Hits
    bm25: Hits

    def candidates(
        self, walk: int, dense: int, bm25: int
    ) -> tuple[IntArray, NDArray[np.bool_]]:
        """The rows of the candidates, (m,), ascending, and whether only the walk found each, (m,).

        `walk`, `dense`, `bm25` : the number of first hits of each search that are candidates.
        """
        text_rows = np.concatenate([self.bm25.rows[:bm25], self.dense.rows[:dense]])
        rows = np.unique(np.concatenate([self.walk.rows[:walk], text_rows]))
        return rows, ~np.isin(rows, text_rows)


@dataclass(frozen=True)
class Candidates:
    """The m candidates of one question with their scores by each search, (m,) each.

    Attributes
    ----------
    rows : corpus rows, ascending.
    walk : the share of the walk.
    bm25 : the BM25 score.
    cosines : (1 + n_phrases, m) the cosines with the question, then with each of its sub-phrases.
    """

    rows: IntArray
    walk: FloatArray
    bm25: FloatArray
    cosines: FloatArray


def phrase_restart(
    rows: IntArray,
    cosines: FloatArray,
    *,
    seeds: int,
    weight: float,
    temperature: float,
    fit_temperature: float,
) -> NodeWeights:
    """The restart weights that the sub-phrases of a question add to its walk.

    The `seeds` passages nearest to a phrase share weight · exp((best cosine - 1) / fit_temperature) by softmax of their
    cosines / temperature. `cosines` : (n_phrases, n_rows), of each phrase with the passages in `rows`.
    """
    nodes = [np.empty(0, dtype=np.int64)]
    weights = [np.empty(0)]
    for phrase_cosines in cosines:
        nearest = best_hits(rows, phrase_cosines, seeds)
        if len(nearest.rows):
            fit = np.exp((nearest.best - 1) / fit_temperature)
            share = np.exp((nearest.scores - nearest.best) / temperature)
            nodes.append(nearest.rows)
            weights.append(weight * fit * share / share.sum())
    return NodeWeights.of(np.concatenate(nodes), np.concatenate(weights))
