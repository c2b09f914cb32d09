"""How far the weights of `dynamic_hybrid` are from the best in hindsight, by rules and as learned.

    python eval/weights.py musique --path FOLDER
    python eval/weights.py hotpotqa --path FOLDER --setting pooled --save FILE

recall@5 with each side alone; with the rules' weights; with those of a ridge regression that saw neither a question nor
an equal one (`learned`: nested five-fold cross-validation); with the one point of the grid that is best on average over
these questions (`fixed`); and with the best point for each question (`best`). The last two are chosen by the gold:
bounds, no systems.
`--save FILE` writes the ridge regression of all questions, for `LearnedAnalyser.load`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated

import numpy as np
import pandas as pd
import typer
from public_sets import ENCODER

import kg2rag
from kg2rag.evaluation import evaluate
from kg2rag.evaluation.statistics import interval_of_mean
from kg2rag.knowledge import TrigramIndex
from kg2rag.retrievers.designs.dynamic_hybrid.analysers import (
    SIDES,
    LearnedAnalyser,
    QueryAnalysis,
    features_of,
    fingerprint,
)
from kg2rag.retrievers.designs.dynamic_hybrid.retriever import blend
from kg2rag.types import FloatArray, IntArray, Query, Ranking

METRIC = "recall@5"
ALPHAS = (0.1, 1.0, 10.0, 100.0, 1000.0)
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
        raise ValueError("steps must be")
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


def fit(
    queries: Sequence[Query],
    scores: FloatArray,
    *,
    steps: int = 5,
    vocabulary: TrigramIndex | None = None,
    seed: int = 0,
) -> LearnedAnalyser:
    """Fit on the questions of a train split.

    Parameters
    ----------
    scores : (n_queries, n_grid), of `grid_scores` over `simplex(steps)`.
    """
    grid = simplex(steps)
    features = features_of(queries, vocabulary)
    if scores.shape != (len(queries), len(grid)):
        raise ValueError(f"scores have shape {scores.shape}; {(len(queries), len(grid))} is needed.")
    alpha = _best_alpha(features, scores, _groups(queries), seed)
    coefficients, intercept = _ridge(features, scores, alpha)
    return LearnedAnalyser(grid, coefficients, intercept, alpha, frozenset(map(fingerprint, queries)), vocabulary)


def cross_validate(
    queries: Sequence[Query],
    scores: FloatArray,
    *,
    folds: int = 5,
    vocabulary: TrigramIndex | None = None,
    seed: int = 0,
) -> FloatArray:
    """(n_queries,) the score of each query under weights predicted by a model that saw neither it nor an equal text.

    Nested: in each fold, the regularisation is chosen by cross-validation of the training part alone.
    """
    features, groups = features_of(queries, vocabulary), _groups(queries)
    achieved = np.zeros(len(queries))
    for train, test in _folds(groups, folds, seed):
        alpha = _best_alpha(features[train], scores[train], groups[train], seed)
        achieved[test] = _achieved(features, scores, train, test, alpha)
    return achieved


def _best_alpha(features: FloatArray, scores: FloatArray, groups: IntArray, seed: int) -> float:
    folds = list(_folds(groups, 5, seed))
    means = [
        np.mean(np.concatenate([_achieved(features, scores, train, test, alpha) for train, test in folds]))
        for alpha in ALPHAS
    ]
    # The strongest regularisation of the equally good: fewer accidents on new questions.
    return max(zip(np.round(means, 9).tolist(), ALPHAS, strict=True))[1]


def _achieved(features: FloatArray, scores: FloatArray, train: IntArray, test: IntArray, alpha: float) -> FloatArray:
    coefficients, intercept = _ridge(features[train], scores[train], alpha)
    chosen = (features[test] @ coefficients.T + intercept).round(9).argmax(axis=1)
    found: FloatArray = scores[test, chosen]
    return found


def _ridge(features: FloatArray, scores: FloatArray, alpha: float) -> tuple[FloatArray, FloatArray]:
    from sklearn.linear_model import Ridge

    model = Ridge(alpha=alpha).fit(features, scores)
    return model.coef_, model.intercept_


def _folds(groups: IntArray, folds: int, seed: int) -> list[tuple[IntArray, IntArray]]:
    """Train and test places; equal texts lie on the same side."""
    n_groups = int(groups.max()) + 1 if len(groups) else 0
    if n_groups < 2:
        raise ValueError(f"{n_groups} different question(s) cannot be split into a training and a test part.")
    fold = np.random.default_rng(seed).permutation(n_groups) % min(folds, n_groups)
    return [(np.flatnonzero(fold[groups] != i), np.flatnonzero(fold[groups] == i)) for i in range(min(folds, n_groups))]


def _groups(queries: Sequence[Query]) -> IntArray:
    number: dict[str, int] = {}
    return np.array([number.setdefault(fingerprint(query), len(number)) for query in queries], dtype=np.int64)


def main(
    dataset: Annotated[str, typer.Argument()] = "bundled",
    path: Annotated[Path | None, typer.Option()] = None,
    setting: Annotated[str | None, typer.Option()] = None,
    seed: Annotated[int, typer.Option()] = 0,
    graph: Annotated[str, typer.Option(help="The fourth side.")] = kg2rag.DynamicHybrid.graph,
    save: Annotated[Path | None, typer.Option(help="Write the analyser fitted on all questions.")] = None,
) -> None:
    """Measure on one data set, show the table."""
    data = kg2rag.load(dataset, path=path, setting=setting)
    hybrid = kg2rag.DynamicHybrid(kg2rag.KnowledgeBase.build(data.corpus, embedder=ENCODER), graph=graph)

    def score(rankings: Sequence[kg2rag.Ranking]) -> np.ndarray:
        return evaluate(rankings, data, [METRIC])[METRIC].to_numpy()

    runs = {side: retriever.retrieve_batch(data.queries, 100) for side, retriever in hybrid.members.items()}
    rules = regret(hybrid.analyse(data.queries), runs, score)
    scores = grid_scores(runs, score, simplex())
    learned = cross_validate(data.queries, scores, seed=seed)
    if save is not None:
        fit(data.queries, scores, seed=seed).save(save)
    rows = {side: score(rankings) for side, rankings in runs.items()}
    rows |= {"rules": rules.achieved, "learned": learned, "fixed": rules.fixed, "best": rules.best}
    low, high = interval_of_mean(np.stack(list(rows.values()), axis=1), seed=seed)
    table = pd.DataFrame(
        {
            "weights": name,
            METRIC: values.mean(),
            "low": low[at],
            "high": high[at],
            "regret": (rules.best - values).mean(),
        }
        for at, (name, values) in enumerate(rows.items())
    )
    typer.echo(table.round(3).to_string(index=False))
    typer.echo("Best fixed weights: " + ", ".join(f"{side} {w:g}" for side, w in rules.fixed_weights.items()))


if __name__ == "__main__":
    typer.run(main)
