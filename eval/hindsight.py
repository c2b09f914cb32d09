"""The runs of the four sides and a score -> what other weights would have brought: per query, and one for all.

The best weights in hindsight need gold: they are a bound to measure an analyser against, never a system.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from kg2rag.retrievers.dynamic_hybrid.analysis import SIDES, QueryAnalysis, blend
from kg2rag.types import FloatArray, Ranking

Runs = Mapping[str, Sequence[Ranking]]
Score = Callable[[Sequence[Ranking]], FloatArray]


@dataclass(frozen=True)
class Regret:
    """What an analyser's weights scored, and what was possible.

    Attributes
    ----------
    achieved, best : (n_queries,) score with the analyser's weights, and with the best of the grid for that query.
    fixed : (n_queries,) score with `fixed_weights`, the one point of the grid that is best on average.
    """

    achieved: FloatArray
    best: FloatArray
    fixed: FloatArray
    fixed_weights: Mapping[str, float]

    @property
    def mean(self) -> float:
        """Mean score lost to the best weights per query, at least 0 where the analyser's weights are on the grid."""
        return float((self.best - self.achieved).mean())

    @property
    def to_fixed(self) -> float:
        """Mean score lost to the best weights for all; negative where choosing per query was worth it."""
        return float((self.fixed - self.achieved).mean())


def simplex(steps: int = 5) -> FloatArray:
    """(n, 4) all weights that are multiples of 1 / steps and sum to 1, in the order of `SIDES`."""
    if steps < 1:
        raise ValueError(f"steps must be at least 1, not {steps}.")
    whole = [
        (a, b, c, steps - a - b - c)
        for a in range(steps + 1)
        for b in range(steps + 1 - a)
        for c in range(steps + 1 - a - b)
    ]
    return np.array(whole, dtype=np.float64) / steps


def grid_scores(runs: Runs, score: Score, grid: FloatArray, constant: float = 60.0) -> FloatArray:
    """(n_queries, n_grid) score of every query under every weights of a grid.

    Parameters
    ----------
    runs : side -> one ranking a query, the same queries in each; `DynamicHybrid.sides()` retrieves them.
    score : rankings -> (n_queries,), such as a column of `evaluation.metrics.evaluate`.
    grid : (n_grid, 4), rows as in `simplex`.
    """
    columns = [
        score(_blended(runs, [dict(zip(SIDES, row, strict=True))] * _length(runs), constant)) for row in grid.tolist()
    ]
    return np.stack(columns, axis=1)


def regret(
    analyses: Sequence[QueryAnalysis], runs: Runs, score: Score, *, steps: int = 5, constant: float = 60.0
) -> Regret:
    """What the weights of some analyses lost to the best in hindsight, over a grid; see `Regret`.

    The analyses' own weights count among the candidates of their query, so no query's regret is below 0.
    """
    if len(analyses) != _length(runs):
        raise ValueError(f"{len(analyses)} analyses for runs of {_length(runs)} queries.")
    grid = simplex(steps)
    scores = grid_scores(runs, score, grid, constant)
    achieved = score(_blended(runs, [analysis.weights for analysis in analyses], constant))
    fixed = int(scores.mean(axis=0).argmax())
    return Regret(
        achieved=achieved,
        best=np.maximum(scores.max(axis=1), achieved),
        fixed=scores[:, fixed],
        fixed_weights=dict(zip(SIDES, grid[fixed].tolist(), strict=True)),
    )


def _length(runs: Runs) -> int:
    lengths = {side: len(runs[side]) if side in runs else -1 for side in SIDES}
    if len(set(lengths.values())) != 1 or -1 in lengths.values():
        raise ValueError(
            f"Runs must hold {', '.join(SIDES)}, one ranking a query each; they hold {lengths} (-1: none)."
        )
    return lengths[SIDES[0]]


def _blended(runs: Runs, weights: Sequence[Mapping[str, float]], constant: float) -> list[Ranking]:
    depth = max((len(ranking) for rankings in runs.values() for ranking in rankings), default=0)
    return [
        blend(
            {side: replace(runs[side][i], stages=(side,), stage_codes=None, score_parts={}) for side in SIDES},
            of_query,
            max(depth, 1),
            constant,
        )
        for i, of_query in enumerate(weights)
    ]
