"""Several rankings of one query -> one ranking: weighted reciprocal rank, min-max sum, maximum.

[1] Cormack, Clarke & Buettcher, "Reciprocal Rank Fusion outperforms Condorcet", SIGIR 2009.
[2] Bruch, Gai & Ingber, "An Analysis of Fusion Functions for Hybrid Retrieval", TOIS 2023, for min-max and its bounds.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated

import numpy as np

from kg2rag.retrievers.contract import Retriever
from kg2rag.retrievers.dense import min_max
from kg2rag.types import FloatArray, Notes, Query, Ranking, Trace, first_of, number, sources, step
from kg2rag.types.parameters import Count, Weight, called, check, one_of

METHODS = ("max", "rrf", "sum")
RRF_CONSTANT = 60.0  # the k of [1]


@dataclass(frozen=True)
class FusionNotes(Notes):
    """How rankings were joined; their notes are the inputs, in order."""

    method: str = "rrf"


@dataclass(frozen=True)
class Fusion(Retriever):
    """Retrievers joined; build one with `fuse`.

    Parameters
    ----------
    weights : one for each retriever, at least 0 and not all 0.
    method : "rrf" [1], weight / (constant + rank); "sum" or "max" of weight × min-max scaled scores [2].
    depth : hits read from each retriever, whatever `k` the caller wants.
    constant : the k of [1].
    """

    retrievers: tuple[Retriever, ...]
    weights: tuple[float, ...]
    method: Annotated[str, one_of(METHODS)] = "rrf"
    depth: Count = 100
    constant: Weight = RRF_CONSTANT

    def __post_init__(self) -> None:
        check(self)
        if not self.retrievers:
            raise ValueError("Fusion needs at least one retriever.")
        if len(self.weights) != len(self.retrievers):
            raise ValueError(f"{len(self.retrievers)} retrievers need as many weights, not {len(self.weights)}.")
        if min(self.weights) < 0 or not any(self.weights):
            raise ValueError(f"Weights {self.weights} must be at least 0, and one of them above 0.")

    def retrieve_batch(self, queries: Sequence[Query], k: int) -> list[Ranking]:
        """Fuse the first `depth` hits of every retriever."""
        runs = [retriever.retrieve_batch(queries, self.depth) for retriever in self.retrievers]
        return [self._fused(rankings, k) for rankings in zip(*runs, strict=True)]

    def _fused(self, rankings: Sequence[Ranking], k: int) -> Ranking:
        return fuse_rankings(rankings, self.weights, k, method=self.method, constant=self.constant)

    def prepare(self, queries: Sequence[Query]) -> None:
        """Prepare every retriever."""
        for retriever in self.retrievers:
            retriever.prepare(queries)

    def trace_batch(self, queries: Sequence[Query], k: int) -> list[Trace]:
        """The union of the members' rankings, and of the hits that were read of them."""
        traces, why = [], f"below the first {self.depth} hits of every member"
        for own in zip(*[member.trace_batch(queries, max(k, self.depth)) for member in self.retrievers], strict=True):
            read = [trace.ranking.top(self.depth) for trace in own]
            found = step("retrieved", "not retrieved", "in no member's ranking", *(one.ranking.rows for one in own))
            steps = (found, step("read", "pruned", why, *(each.rows for each in read)))
            traces.append(Trace(self._fused(read, k), steps))
        return traces


def fuse(
    *retrievers: Retriever,
    weights: Sequence[float] | None = None,
    method: str = "rrf",
    depth: int = 100,
    constant: float = RRF_CONSTANT,
) -> Fusion:
    """Join retrievers into one; equal weights where none are given. See `Fusion`."""
    for at, member in enumerate(retrievers):
        if not isinstance(member, Retriever):
            raise TypeError(f"fuse takes retrievers, fuse(a, b); number {at + 1} is {called(member)}.")
    if weights is not None and not isinstance(weights, Sequence):
        raise TypeError(f"weights must be one number for each retriever, such as (1.0, 0.5), not {weights!r}.")
    given = tuple(weights) if weights is not None else (1.0,) * len(retrievers)
    return Fusion(retrievers, given, method, depth, constant)


def fuse_rankings(
    rankings: Sequence[Ranking], weights: Sequence[float], k: int, method: str = "rrf", constant: float = RRF_CONSTANT
) -> Ranking:
    """Fuse rankings of one query; each goes by the name of its first stage, numbered where two share one.

    The stage of a fused hit is its stage in the ranking that contributed most (the first on a tie): that ranking's name
    or, beyond its first stage, such as "walk: dense". Its path is the first non-empty one. Its parts are, of each
    ranking that holds it, the contribution ("dense"), the score there ("dense score") and what is read of that ("dense
    rank", or "dense scaled"). Their notes are kept as inputs.
    """
    names = [ranking.stages[0] or "ranking" for ranking in rankings]
    names = [f"{name} {seen + 1}" if (seen := names[:i].count(name)) else name for i, name in enumerate(names)]
    rows, inverse = np.unique(np.concatenate([ranking.rows for ranking in rankings]), return_inverse=True)
    places = np.split(inverse, np.cumsum(list(map(len, rankings)))[:-1])
    given, read, scores = np.full((3, len(rankings), len(rows)), np.nan)  # NaN, not 0: min-max gives the last hit 0
    codes = np.zeros((len(rankings), len(rows)), dtype=np.int64)
    stages, terms, formulas, looked = list[str](), list[str](), dict[str, str](), dict[str, str]()
    for i, (name, at, ranking, weight) in enumerate(zip(names, places, rankings, weights, strict=True)):
        values = unweighted = min_max(ranking.scores)
        terms.append(f"{number(weight)} · {name} scaled")
        if method == "rrf":
            values = np.arange(1, len(ranking) + 1, dtype=np.float64)
            unweighted = 1.0 / (constant + values)
            terms[-1] = f"{number(weight)} / ({number(constant)} + {name} rank)"
        scores[i, at], read[i, at], given[i, at] = ranking.scores, values, weight * unweighted
        codes[i, at] = len(stages) + (0 if ranking.stage_codes is None else ranking.stage_codes.astype(np.int64))
        labels, of = [name, *(f"{name}: {stage}" for stage in ranking.stages[1:])], sources(ranking)
        stages += labels
        formulas |= dict.fromkeys(labels, terms[-1])
        looked |= zip(labels, (of[stage] for stage in ranking.stages), strict=True)
    most = np.nanargmax(given, axis=0) if len(rows) else np.empty(0, dtype=np.int64)
    join, what = np.maximum if method == "max" else np.add, "rank" if method == "rrf" else "scaled"
    formula, parts = formulas if method == "max" else " + ".join(terms), dict[str, FloatArray]()
    for name, gave, value, score in zip(names, given, read, scores, strict=True):
        parts |= {name: gave, f"{name} {what}": value, f"{name} score": score}
    return Ranking.from_scores(
        rankings[0].query_id,
        rows,
        join.reduce(np.nan_to_num(given, nan=0.0), axis=0),
        rankings[0].ids,
        stages=tuple(stages),
        stage_codes=codes[most, np.arange(len(rows))],
        score_parts=parts,
        paths=first_of(*(ranking.paths for ranking in rankings)),
        notes=FusionNotes(formula, looked, method=method, inputs=tuple(ranking.notes for ranking in rankings)),
    ).top(k)
