"""Queries -> the passages that are worth ranking: the first of a walk, of the cosines and of BM25, about 60 a query.

The walk is that of `mention_ppr`, started also at the passages nearest to the question's sub-phrases.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from kg2rag.knowledge import KnowledgeBase
from kg2rag.knowledge.graph.pagerank import NodeWeights
from kg2rag.types import FloatArray, IntArray, Matrix, best


@dataclass(frozen=True)
class Found:
    """What three searches found for one query; (n_passages,) each, of which only `allowed` count.

    Attributes
    ----------
    allowed : corpus rows that the query may return, ascending.
    walk, cosine, bm25 : share of the walk, cosine with the question, BM25.
    phrases : (n_phrases, dim) the vectors of its sub-phrases.
    """

    allowed: IntArray
    walk: FloatArray
    cosine: FloatArray
    bm25: FloatArray
    phrases: Matrix

    def candidates(self, walk: int, dense: int, bm25: int) -> IntArray:
        """The first so many rows of each search, ascending, each once; none that walk or BM25 gives 0."""
        reached = [
            rows[scores[rows] > 0]
            for scores, k in ((self.walk, walk), (self.bm25, bm25))
            for rows in [self.first(scores, k)]
        ]
        return np.unique(np.concatenate([*reached, self.first(self.cosine, dense)]))

    def first(self, scores: FloatArray, k: int) -> IntArray:
        """The `k` best allowed rows, equal scores by row."""
        rows = self.allowed[best(scores[self.allowed], k)]
        return rows[np.lexsort((rows, -scores[rows]))][:k]


def phrase_restarts(
    kb: KnowledgeBase,
    vectors: Sequence[Matrix],
    masks: Sequence[IntArray | None],
    *,
    seeds: int,
    weight: float,
    temperature: float,
    fit_temperature: float,
) -> list[NodeWeights]:
    """What sub-phrases add to where each walk starts.

    The `seeds` passages nearest to a phrase share weight · exp((best cosine - 1) / fit_temperature) by softmax of their
    cosines / temperature.

    Parameters
    ----------
    vectors : (n_phrases, dim) of each query's phrases. masks : the rows that each query may return.
    """
    starts: list[list[tuple[IntArray, FloatArray]]] = [[] for _ in vectors]
    owner = np.repeat(np.arange(len(vectors)), [len(each) for each in vectors])
    masked = [masks[i] for i in owner.tolist()]
    nearest = kb.dense.search(np.concatenate(vectors), seeds, masked) if len(owner) else []
    for i, (rows, cosines) in zip(owner.tolist(), nearest, strict=True):
        if len(rows):
            share = np.exp((cosines - cosines[0]) / temperature)
            starts[i].append((rows, weight * np.exp((cosines[0] - 1) / fit_temperature) * share / share.sum()))
    nothing = (np.empty(0, dtype=np.int64), np.empty(0))
    return [NodeWeights.of(*map(np.concatenate, zip(nothing, *found, strict=True))) for found in starts]
