"""Several rankings of one query -> one ranking: by weighted reciprocal ranks or scaled scores.

[1] Cormack, Clarke & Buettcher, "Reciprocal Rank Fusion outperforms Condorcet", SIGIR 2009. [2]
Bruch, Gai & Ingber, "An Analysis of Fusion Functions for Hybrid Retrieval", TOIS 2023, for min-max
and its bounds.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, NamedTuple

import numpy as np
from numpy.typing import NDArray

from kg2rag.retrievers.contract import Retriever
from kg2rag.types import (
    Count,
    FloatArray,
    IntArray,
    Notes,
    Query,
    Ranking,
    Trace,
    Weight,
    called,
    check,
    first_of,
    number,
    one_of,
    sources,
    step,
)

BoolArray = NDArray[np.bool_]
METHODS = ("rrf", "sum")
RRF_CONSTANT = 60.0  # the k of [1]


@dataclass(frozen=True)
class FusionNotes(Notes):
    """Notes of a fusion: its method; the notes of its rankings are the inputs, in order."""

    method: str = "rrf"


@dataclass(frozen=True)
class Fusion(Retriever):
    """A fusion of retrievers; `fuse` makes one.

    Parameters
    ----------
    weights : one for each retriever, at least 0 and not all 0.
    method : "rrf" [1], sum of weight / (constant + rank); "sum" of weight × min-max scaled scores [2].
    depth : the number of hits read from each retriever, whatever `k` is.
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
            raise ValueError(
                f"{len(self.retrievers)} retrievers need as many weights, not {len(self.weights)}."
            )
        if min(self.weights) < 0 or not any(self.weights):
            raise ValueError(
                f"Weights {self.weights} must be at least 0, and one of them above 0."
            )

    def retrieve_batch(self, queries: Sequence[Query], k: int) -> list[Ranking]:
        """Fuse the first `depth` hits of every retriever."""
        runs = [
            retriever.retrieve_batch(queries, self.depth)
            for retriever in self.retrievers
        ]
        return [self._fused(rankings, k) for rankings in zip(*runs, strict=True)]

    def _fused(self, rankings: Sequence[Ranking], k: int) -> Ranking:
        return fuse_rankings(
            rankings, self.weights, k, method=self.method, constant=self.constant
        )

    def prepare(self, queries: Sequence[Query]) -> None:
        """Prepare every retriever."""
        for retriever in self.retrievers:
            retriever.prepare(queries)

    def trace_batch(self, queries: Sequence[Query], k: int) -> list[Trace]:
        """The steps: the union of the members' rankings, and the hits read from them."""
        member_traces = [
            member.trace_batch(queries, max(k, self.depth))
            for member in self.retrievers
        ]
        beyond_depth = f"below the first {self.depth} hits of every member"
        traces = []
        for query_traces in zip(*member_traces, strict=True):
            rankings = [trace.ranking for trace in query_traces]
            read = [ranking.top(self.depth) for ranking in rankings]
            retrieved = [ranking.rows for ranking in rankings]
            steps = (
                step(
                    "retrieved", "not retrieved", "in no member's ranking", *retrieved
                ),
                step(
                    "read", "pruned", beyond_depth, *(ranking.rows for ranking in read)
                ),
            )
            traces.append(Trace(self._fused(read, k), steps))
        return traces


def fuse(
    *retrievers: Retriever,
    weights: Sequence[float] | None = None,
    method: str = "rrf",
    depth: int = 100,
    constant: float = RRF_CONSTANT,
) -> Fusion:
    """The fusion of some retrievers, with equal weights by default; see `Fusion`."""
    for place, member in enumerate(retrievers, start=1):
        if not isinstance(member, Retriever):
            raise TypeError(
                f"fuse takes retrievers, fuse(a, b); number {place} is {called(member)}."
            )
    if weights is None:
        return Fusion(retrievers, (1.0,) * len(retrievers), method, depth, constant)
    if not isinstance(weights, Sequence):
        raise TypeError(
            f"weights must be one number for each retriever, such as (1.0, 0.5), not {weights!r}."
        )
    return Fusion(retrievers, tuple(weights), method, depth, constant)


def min_max(
    values: FloatArray, low: float | None = None, high: float | None = None
) -> FloatArray:
    """The values scaled to [0, 1] by their minimum and maximum, or by `low` and `high`.

    All are 1 if minimum and maximum are equal.
    """
    if low is None:
        low = values.min(initial=np.inf)
    if high is None:
        high = values.max(initial=-np.inf)
    if high <= low:
        return np.ones(len(values))
    return np.clip((values - low) / (high - low), 0.0, 1.0)


class FusedRanking(NamedTuple):
    """A ranking within a fusion; all arrays are (n_rows,), over the rows of all rankings.

    `labels` : the stages of its hits in the fused ranking. `contributions`, `score_parts` : NaN for
    missing rows. `stage_codes` : the index of each row's label in `labels`.
    """

    term: str
    labels: tuple[str, ...]
    contributions: FloatArray
    score_parts: dict[str, FloatArray]
    stage_codes: IntArray


def _fused_ranking(
    name: str,
    ranking: Ranking,
    weight: float,
    counted: BoolArray | None,
    method: str,
    constant: float,
    rows: IntArray,
) -> FusedRanking:
    """A ranking within a fusion by a method of `METHODS`; `counted` as in `fuse_rankings`."""
    if method == "rrf":
        part = "rank"
        values = np.arange(1.0, len(ranking) + 1)
        contributions = weight * (1.0 / (constant + values))
        term = f"{number(weight)} / ({number(constant)} + {name} rank)"
    else:
        part = "scaled"
        values = min_max(ranking.scores)
        contributions = weight * values
        term = f"{number(weight)} · {name} scaled"
    positions = np.searchsorted(rows, ranking.rows)
    stage_codes = np.zeros(len(rows), dtype=np.int64)
    if ranking.stage_codes is not None:
        stage_codes[positions] = ranking.stage_codes
    is_counted = np.ones(len(ranking), dtype=bool) if counted is None else counted

    def spread(column: FloatArray) -> FloatArray:
        """A column of hits as (n_rows,), NaN for other rows: 0 is the scaled last hit."""
        over_rows = np.full(len(rows), np.nan)
        over_rows[positions[is_counted]] = column[is_counted]
        return over_rows

    parts = {
        name: spread(contributions),
        f"{name} {part}": spread(values),
        f"{name} score": spread(ranking.scores),
    }
    labels = (name, *(f"{name}: {stage}" for stage in ranking.stages[1:]))
    return FusedRanking(term, labels, parts[name], parts, stage_codes)


def _unique_names(rankings: Sequence[Ranking]) -> list[str]:
    """The first stage of each ranking; repeated names are numbered: "dense", "bm25", "dense 2"."""
    stages = [ranking.stages[0] or "ranking" for ranking in rankings]
    names = []
    for position, stage in enumerate(stages):
        n_earlier = stages[:position].count(stage)
        names.append(f"{stage} {n_earlier + 1}" if n_earlier else stage)
    return names


def fuse_rankings(
    rankings: Sequence[Ranking],
    weights: Sequence[float],
    k: int,
    method: str = "rrf",
    constant: float = RRF_CONSTANT,
    counted: Sequence[BoolArray] | None = None,
) -> Ranking:
    """The fusion of rankings of one query; each is named by its first stage, see `_unique_names`.

    The stage of a fused hit is its stage in the ranking with the largest contribution (the first on a
    tie): the name of that ranking or, for a later stage, such as "walk: dense". Its path is the first
    non-empty one. Its score parts are, for each ranking with the hit, the contribution ("dense"), the
    score there ("dense score"), and the rank or scaled score ("dense rank", "dense scaled"). The notes
    of the rankings are kept as inputs.

    `counted` : for each ranking, (n_hits,) whether a hit contributes; by default all do. Every passage
    needs a contribution. A hit has no score parts from a ranking in which it does not count.
    """
    rows = np.unique(np.concatenate([ranking.rows for ranking in rankings]))
    masks = counted or (None,) * len(rankings)
    columns = zip(_unique_names(rankings), rankings, weights, masks, strict=True)
    fused = [_fused_ranking(*column, method, constant, rows) for column in columns]
    contributions = np.array([ranking.contributions for ranking in fused])
    labels: list[str] = []
    parts: dict[str, FloatArray] = {}
    for ranking in fused:
        labels += ranking.labels
        parts |= ranking.score_parts
    inputs = tuple(ranking.notes for ranking in rankings)
    notes = FusionNotes(
        " + ".join(ranking.term for ranking in fused),
        _sources(fused, rankings),
        method=method,
        inputs=inputs,
    )
    return Ranking.from_scores(
        rankings[0].query_id,
        rows,
        np.nan_to_num(contributions, nan=0.0).sum(axis=0),
        rankings[0].ids,
        stages=tuple(labels),
        stage_codes=_stage_codes(fused, contributions),
        score_parts=parts,
        paths=first_of(*(ranking.paths for ranking in rankings)),
        notes=notes,
    ).top(k)


def _sources(
    fused: Sequence[FusedRanking], rankings: Sequence[Ranking]
) -> dict[str, str]:
    """Label of a fused ranking -> the source of its hits."""
    source_of: dict[str, str] = {}
    for fused_ranking, ranking in zip(fused, rankings, strict=True):
        stage_sources = [sources(ranking)[stage] for stage in ranking.stages]
        source_of |= zip(fused_ranking.labels, stage_sources, strict=True)
    return source_of


def held_by(ranking: Ranking, stage: str) -> BoolArray | None:
    """(n_hits,) whether a fused hit was in the ranking named `stage`; None without that ranking."""
    scores = ranking.score_parts.get(f"{stage} score")
    return None if scores is None else ~np.isnan(scores)


def _stage_codes(fused: Sequence[FusedRanking], contributions: FloatArray) -> IntArray:
    """(n_rows,) the index of each row's stage, that of its largest contribution, in all labels."""
    n_rows = contributions.shape[1]
    if not n_rows:
        return np.empty(0, dtype=np.int64)
    codes = []
    n_stages = 0
    for ranking in fused:
        codes.append(ranking.stage_codes + n_stages)
        n_stages += len(ranking.labels)
    return np.asarray(
        np.array(codes)[np.nanargmax(contributions, axis=0), np.arange(n_rows)]
    )
