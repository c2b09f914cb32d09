"""Ranked numbers and gold numbers -> scores per query by ranx; the only module that calls ranx.

ranx compiles its metrics with numba. It reorders hits of equal score, wants queries of one shape
and raises if all rankings are empty, so it gets 1/rank as scores, queries in groups of one shape,
and no query without hits.

Bassani, "ranx: A Blazing-Fast Python Library for Ranking Evaluation and Comparison", ECIR 2022
(0.3.21 here).
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from threading import Lock
from typing import Any

import numpy as np

from kg2rag.types import FloatArray, Ranking

_IMPORT = Lock()


def score(
    gold: Sequence[Mapping[int, int]],
    ranked: Sequence[Sequence[int]],
    metrics: Iterable[str],
) -> dict[str, FloatArray]:
    """Metric -> scores (n_queries,), in the order of the queries.

    gold : for each query, number of a relevant unit -> grade of 1 or more; at least one.
    ranked : for each query, the distinct numbers of returned units, best first.
    """
    from numba import get_num_threads, set_num_threads

    evaluate = _ranx().evaluate
    scores = {name: np.zeros(len(gold)) for name in metrics}
    threads = get_num_threads()
    try:
        with warnings.catch_warnings():
            # numba warns of this cast in ranx's code.
            warnings.filterwarnings(
                "ignore", message="unsafe cast from uint64 to int64"
            )
            for queries, qrels, run in _groups_of_one_shape(gold, ranked):
                # One thread is fastest: starting others takes longer than a thousand queries.
                # The metric "hits" is added because ranx raises KeyError for a single metric "@k".
                by_metric = evaluate(
                    qrels, run, [*scores, "hits"], return_mean=False, threads=1
                )
                for name, column in scores.items():
                    column[queries] = by_metric[name]
    finally:
        set_num_threads(threads)
    return scores


def run_of(rankings: Iterable[Ranking], name: str) -> Any:
    """Rankings as a `ranx.Run`; the score of a hit is 1/rank, since ranx reorders equal scores.

    Queries without hits, which ranx does not accept, are left out.
    """
    hits = {}
    for ranking in rankings:
        if len(ranking):
            ranked = enumerate(ranking.passage_ids, start=1)
            hits[ranking.query_id] = {
                passage_id: 1.0 / rank for rank, passage_id in ranked
            }
    return _ranx().Run(hits, name=name)


def _ranx() -> Any:
    """The package ranx; the threading layer of numba, which its import sets, is restored.

    The layer of ranx is not thread-safe.
    """
    from numba import config

    with _IMPORT:
        layer = config.THREADING_LAYER
        import ranx

        config.THREADING_LAYER = layer
    return ranx


def _groups_of_one_shape(
    gold: Sequence[Mapping[int, int]], ranked: Sequence[Sequence[int]]
) -> Iterator[tuple[list[int], FloatArray, FloatArray]]:
    """For each group of queries with equal numbers of gold and of hits: indices, qrels and run.

    Qrels and run are arrays (n_queries, length, 2) of (number, grade) and (number, score). Arrays
    avoid the classes `Qrels` and `Run`, which ranx compiles for twelve seconds for every new width
    of ids. Gold is ordered by falling grade, as ranx requires. Queries without hits, whose score is
    0, are left out.
    """
    groups: dict[tuple[int, int], list[int]] = {}
    for query, (relevant, hits) in enumerate(zip(gold, ranked, strict=True)):
        if hits:
            groups.setdefault((len(relevant), len(hits)), []).append(query)
    for (_, length), queries in groups.items():
        grades = [
            sorted(gold[query].items(), key=lambda grade: (-grade[1], grade[0]))
            for query in queries
        ]
        run = np.empty((len(queries), length, 2))
        run[:, :, 0] = [ranked[query] for query in queries]
        run[:, :, 1] = 1 / np.arange(1, length + 1)
        yield queries, np.array(grades, dtype=np.float64), run
