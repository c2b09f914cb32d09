"""Several rankings of one query -> one ranking: weighted reciprocal rank, min-max sum, maximum.

[1] Cormack, Clarke & Buettcher, "Reciprocal Rank Fusion outperforms Condorcet", SIGIR 2009.
[2] Bruch, Gai & Ingber, "An Analysis of Fusion Functions for Hybrid Retrieval", TOIS 2023, for min-max and its bounds.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from kg2rag.pipeline import Retriever
from kg2rag.types import FloatArray, Query, Ranking, Triple, rank


def _reciprocal_rank(ranking: Ranking, constant: float) -> FloatArray:
    found: FloatArray = 1.0 / (constant + np.arange(1, len(ranking) + 1, dtype=np.float64))
    return found


def _min_max(ranking: Ranking, constant: float) -> FloatArray:  # noqa: ARG001
    if not len(ranking):
        return ranking.scores
    low, high = ranking.scores[-1], ranking.scores[0]
    return np.ones(len(ranking)) if high == low else (ranking.scores - low) / (high - low)


# method -> (what a hit contributes, how the contributions to one passage are joined)
METHODS: dict[str, tuple[Callable[[Ranking, float], FloatArray], np.ufunc]] = {
    "max": (_min_max, np.maximum),
    "rrf": (_reciprocal_rank, np.add),
    "sum": (_min_max, np.add),
}


@dataclass(frozen=True)
class Fusion(Retriever):
    """Retrievers joined; build one with `fuse`.

    Parameters
    ----------
    weights : one for each retriever, at least 0 and not all 0.
    method : "rrf" [1], weight / (constant + rank); "sum" or "max" of weight × min-max scaled scores [2].
    depth : hits read from each retriever, whatever `k` the caller wants.
    constant : the k of [1]; 60 in the paper.
    """

    retrievers: tuple[Retriever, ...]
    weights: tuple[float, ...]
    method: str = "rrf"
    depth: int = 100
    constant: float = 60.0

    def __post_init__(self) -> None:
        if self.method not in METHODS:
            raise ValueError(f"Unknown fusion method {self.method!r}. Known: {', '.join(METHODS)}.")
        if not self.retrievers:
            raise ValueError("Fusion needs at least one retriever.")
        if len(self.weights) != len(self.retrievers):
            raise ValueError(f"{len(self.retrievers)} retrievers need as many weights, not {len(self.weights)}.")
        if min(self.weights) < 0 or not any(self.weights):
            raise ValueError(f"Weights {self.weights} must be at least 0, and one of them above 0.")
        if self.depth < 1:
            raise ValueError(f"depth must be at least 1, not {self.depth}.")
        if self.constant < 0:
            raise ValueError(f"constant must be at least 0, not {self.constant}.")

    def retrieve_batch(self, queries: Sequence[Query], k: int) -> list[Ranking]:
        """Fuse the first `depth` hits of every retriever."""
        runs = [retriever.retrieve_batch(queries, self.depth) for retriever in self.retrievers]
        return [
            fuse_rankings(rankings, self.weights, k, method=self.method, constant=self.constant)
            for rankings in zip(*runs, strict=True)
        ]

    def prepare(self, queries: Sequence[Query]) -> None:
        """Prepare every retriever."""
        for retriever in self.retrievers:
            retriever.prepare(queries)


def fuse(
    *retrievers: Retriever,
    weights: Sequence[float] | None = None,
    method: str = "rrf",
    depth: int = 100,
    constant: float = 60.0,
) -> Fusion:
    """Join retrievers into one; equal weights where none are given. See `Fusion`."""
    given = tuple(weights) if weights is not None else (1.0,) * len(retrievers)
    return Fusion(retrievers, given, method, depth, constant)


def fuse_rankings(
    rankings: Sequence[Ranking], weights: Sequence[float], k: int, *, method: str = "rrf", constant: float = 60.0
) -> Ranking:
    """Fuse rankings of one query.

    The stage of a fused hit is that of the ranking that contributed most (the first on a tie), its path the first
    non-empty one, its parts what each stage contributed.
    """
    contribution, join = METHODS[method]
    rows, inverse = np.unique(np.concatenate([ranking.rows for ranking in rankings]), return_inverse=True)
    given = np.full((len(rankings), len(rows)), np.nan)  # NaN, not 0: min-max gives the last hit 0
    paths: dict[int, tuple[Triple, ...]] = {}
    start = 0
    for i, (ranking, weight) in enumerate(zip(rankings, weights, strict=True)):
        end = start + len(ranking)
        given[i, inverse[start:end]] = weight * contribution(ranking, constant)
        paths = {**ranking.paths, **paths}
        start = end
    names = _distinct([ranking.stages[0] for ranking in rankings])
    return rank(
        rankings[0].query_id,
        rows,
        join.reduce(np.nan_to_num(given, nan=0.0), axis=0),
        rankings[0].ids,
        k,
        stages=tuple(names),
        stage_codes=np.nanargmax(given, axis=0) if len(rows) else np.empty(0, dtype=np.int8),
        parts=dict(zip(names, given, strict=True)),
        paths=paths,
        metadata={name: value for ranking in rankings for name, value in ranking.metadata.items()},
    )


def _distinct(names: Sequence[str]) -> list[str]:
    """The names, numbered from the second of a kind on, so that no part overwrites another."""
    return [f"{name} {seen + 1}" if (seen := names[:i].count(name)) else name for i, name in enumerate(names)]
