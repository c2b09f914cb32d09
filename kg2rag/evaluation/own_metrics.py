"""Functions (ranking, gold) -> float over all questions -> scores, checked: finite numbers, the same when repeated."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from numbers import Real

import numpy as np

from kg2rag.evaluation.metric_names import Metric, MetricFunction
from kg2rag.types.arrays import FloatArray
from kg2rag.types.rankings import Ranking

REPEATED = 10
"""So many questions are scored twice, to detect a metric that draws random numbers or remembers its calls."""


def function_scores(metric: Metric, rankings: Sequence[Ranking], gold: Sequence[Mapping[str, int]]) -> FloatArray:
    """(n_queries,) what a metric's function returns for each ranking, empty ones included.

    Raises
    ------
    TypeError : it returned no number. ValueError : NaN or infinite, or another number for the same question.
    """
    function = metric.function
    assert function is not None
    scores = np.empty(len(rankings))
    for place, (ranking, wanted) in enumerate(zip(rankings, gold, strict=True)):
        scores[place] = value = _score(metric.name, function, ranking, wanted)
        if place < REPEATED and (again := _score(metric.name, function, ranking, wanted)) != value:
            raise ValueError(
                f"Metric {metric.name!r}, query {ranking.query_id!r}: {value!r}, then {again!r}. A metric must give "
                "the same score for the same ranking: fix its seed, keep no state."
            )
    return scores


def _score(name: str, function: MetricFunction, ranking: Ranking, gold: Mapping[str, int]) -> float:
    where = f"Metric {name!r}, query {ranking.query_id!r}"
    try:
        found: object = function(ranking, dict(gold))  # a copy: what it changes is its own
    except Exception as error:  # whatever a metric raises is raised on, with where it happened
        error.add_note(f"{where} failed.")
        raise
    if not isinstance(found, Real | np.bool_):
        raise TypeError(f"{where}: a metric returns a number, not {found!r} ({type(found).__name__}).")
    if not math.isfinite(found):
        raise ValueError(f"{where}: the score is {found!r}. Return a finite number; 0 where nothing was found.")
    return float(found)
