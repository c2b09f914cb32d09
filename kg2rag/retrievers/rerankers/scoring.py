"""What a reranker is, and the one call by which stages ask it: (query, text) pairs -> checked scores.

A `Reranker` is one of two: a `PairReranker`'s score depends on the pair alone, a `ListReranker` compares the texts of a
query with one another.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol, runtime_checkable

import numpy as np

from kg2rag.types.arrays import FloatArray


class PairReranker(Protocol):
    """Anything that scores pairs."""

    def scores(self, pairs: Sequence[tuple[str, str]]) -> FloatArray:
        """(n_pairs,) finite scores of (query, text), higher for a better fit; comparable within one query."""
        ...


@runtime_checkable
class ListReranker(Protocol):
    """Anything that scores the texts of a query together; each query's scores depend on its own texts alone."""

    def score_lists(self, lists: Sequence[Sequence[tuple[str, str]]]) -> list[FloatArray]:
        """(n_pairs,) finite scores for each query's (query, text) pairs, which come best first as retrieved."""
        ...


Reranker = PairReranker | ListReranker


def score_batches(reranker: Reranker, pairs: Sequence[Sequence[tuple[str, str]]]) -> list[FloatArray]:
    """The scores of each query's pairs, by one call of the reranker.

    Raises
    ------
    ValueError : the reranker returned another number of scores, or one that is not finite.
    """
    every = [pair for group in pairs for pair in group]
    ends = np.cumsum([len(group) for group in pairs])
    if isinstance(reranker, ListReranker):
        lists = reranker.score_lists(pairs)
        wrong = [i for i, (found, group) in enumerate(zip(lists, pairs, strict=True)) if len(found) != len(group)]
        if wrong:
            given, wanted = len(lists[wrong[0]]), len(pairs[wrong[0]])
            raise ValueError(f"{reranker!r} returned {given} scores for a list of {wanted} pairs.")
        scores = np.concatenate([np.empty(0), *lists])
    else:
        scores = np.asarray(reranker.scores(every), dtype=np.float64)
    if scores.shape != (len(every),):
        raise ValueError(f"{reranker!r} returned scores of shape {scores.shape} for {len(every)} pairs.")
    if not np.isfinite(scores).all():
        query, text = every[int(np.argmin(np.isfinite(scores)))]
        raise ValueError(f"{reranker!r}: the score of {text[:60]!r} for {query[:60]!r} is not finite.")
    return np.split(scores, ends[:-1]) if pairs else []
