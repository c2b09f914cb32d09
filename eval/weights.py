"""Questions with gold -> recall@5 of `dynamic_hybrid` with the weights of its rules and with learned weights.

    python eval/weights.py musique --path FOLDER
    python eval/weights.py hotpotqa --path FOLDER --setting pooled --save FILE

The rows of the table are the components, each without the others; the weights of the rules; weights
of a ridge regression (`learned`: nested five-fold cross-validation, equal questions in one fold);
the weights of a grid with the best mean over these questions (`fixed`); and the best weights of the
grid for each question (`best`). The last two are chosen by gold, so they are upper bounds. `--save
FILE` writes the regression of all questions, for `dynamic_hybrid(analyser=learned(FILE))`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Annotated

import numpy as np
import pandas as pd
import typer
from public_sets import ENCODER
from sklearn.linear_model import Ridge

import kg2rag
from kg2rag.evaluation import evaluate
from kg2rag.evaluation.statistics import interval_of_mean
from kg2rag.retrievers.designs.dynamic_hybrid.analysers import (
    SIDES,
    LearnedAnalyser,
    features_of,
    fingerprint,
)
from kg2rag.retrievers.designs.dynamic_hybrid.retriever import blend
from kg2rag.types import FloatArray, IntArray, Query, Ranking

METRIC = "recall@5"
DEPTH = 100
CONSTANT = 60.0  # of the fusion
STEPS = 5  # of the grid: weights are multiples of 1 / STEPS
FOLDS = 5
ALPHAS = (0.1, 1.0, 10.0, 100.0, 1000.0)
Runs = Mapping[str, Sequence[Ranking]]
"""Component, one of `SIDES` -> one ranking per query."""
Score = Callable[[Sequence[Ranking]], FloatArray]
"""One ranking per query -> (n_queries,) scores."""


def weight_grid() -> FloatArray:
    """(n_grid, 4) all weights that are multiples of 1 / STEPS and sum to 1, in the order of `SIDES`."""
    multiples = [
        weights
        for weights in product(range(STEPS + 1), repeat=len(SIDES))
        if sum(weights) == STEPS
    ]
    return np.array(multiples, dtype=np.float64) / STEPS


def blended(runs: Runs, weights: Sequence[Mapping[str, float]]) -> list[Ranking]:
    """The rankings of all components fused with the weights of each query."""
    rankings = []
    for i, weights_of_query in enumerate(weights):
        sides = {}
        for side in SIDES:
            sides[side] = replace(
                runs[side][i], stages=(side,), stage_codes=None, score_parts={}
            )
        rankings.append(blend(sides, weights_of_query, DEPTH, CONSTANT))
    return rankings


def grid_scores(runs: Runs, score: Score) -> FloatArray:
    """(n_queries, n_grid) the score of each query with each row of `weight_grid`."""
    n_queries = len(runs[SIDES[0]])
    columns = []
    for row in weight_grid().tolist():
        columns.append(
            score(blended(runs, [dict(zip(SIDES, row, strict=True))] * n_queries))
        )
    return np.stack(columns, axis=1)


def fit(queries: Sequence[Query], scores: FloatArray) -> LearnedAnalyser:
    """Fit on training questions; scores: (n_queries, n_grid), of `grid_scores`."""
    features = features_of(queries, None)
    alpha = _best_alpha(features, scores, _groups(queries))
    model = Ridge(alpha=alpha).fit(features, scores)
    texts = frozenset(map(fingerprint, queries))
    return LearnedAnalyser(weight_grid(), model.coef_, model.intercept_, alpha, texts)


def cross_validate(queries: Sequence[Query], scores: FloatArray) -> FloatArray:
    """(n_queries,) the score of each query with weights learned without it and without an equal text.

    In each fold, the regularisation is chosen by cross-validation of the training part.
    """
    features, groups = features_of(queries, None), _groups(queries)
    achieved = np.zeros(len(queries))
    for train, test in _folds(groups):
        alpha = _best_alpha(features[train], scores[train], groups[train])
        achieved[test] = _achieved(features, scores, train, test, alpha)
    return achieved


def _best_alpha(features: FloatArray, scores: FloatArray, groups: IntArray) -> float:
    """The strongest of the best regularisations, which errs least on new questions."""
    folds = _folds(groups)
    means = []
    for alpha in ALPHAS:
        achieved = [
            _achieved(features, scores, train, test, alpha) for train, test in folds
        ]
        means.append(round(float(np.concatenate(achieved).mean()), 9))
    return max(zip(means, ALPHAS, strict=True))[1]


def _achieved(
    features: FloatArray,
    scores: FloatArray,
    train: IntArray,
    test: IntArray,
    alpha: float,
) -> FloatArray:
    """The scores of test queries with the weights that training queries predict to be best."""
    model = Ridge(alpha=alpha).fit(features[train], scores[train])
    predicted = features[test] @ model.coef_.T + model.intercept_
    achieved: FloatArray = scores[test, predicted.round(9).argmax(axis=1)]
    return achieved


def _folds(groups: IntArray) -> list[tuple[IntArray, IntArray]]:
    """Positions of training and test queries; queries of a group are on the same side."""
    n_groups = len(np.unique(groups))
    if n_groups < 2:
        raise ValueError(
            f"{n_groups} different question(s) cannot be split into a training and a test part."
        )
    n_folds = min(FOLDS, n_groups)
    fold = np.random.default_rng(0).permutation(int(groups.max()) + 1) % n_folds
    return [
        (np.flatnonzero(fold[groups] != i), np.flatnonzero(fold[groups] == i))
        for i in range(n_folds)
    ]


def _groups(queries: Sequence[Query]) -> IntArray:
    """(n_queries,) equal numbers for equal texts."""
    number_of: dict[str, int] = {}
    return np.array(
        [number_of.setdefault(fingerprint(query), len(number_of)) for query in queries],
        dtype=np.int64,
    )


def main(
    dataset: Annotated[str, typer.Argument(help="The name of a set.")] = "bundled",
    path: Annotated[Path | None, typer.Option(help="The folder of the set.")] = None,
    setting: Annotated[
        str | None, typer.Option(help="The setting of the set, such as pooled.")
    ] = None,
    graph: Annotated[
        str, typer.Option(help="The component that reads the graph.")
    ] = kg2rag.DynamicHybrid.graph,
    save: Annotated[
        Path | None,
        typer.Option(help="Write the analyser that is fitted on all questions."),
    ] = None,
) -> None:
    """Print the table of one set."""
    data = kg2rag.load(dataset, path=path, setting=setting)
    hybrid = kg2rag.DynamicHybrid(
        kg2rag.KnowledgeBase.build(data.corpus, embedder=ENCODER), graph=graph
    )

    def score(rankings: Sequence[Ranking]) -> FloatArray:
        values: FloatArray = evaluate(rankings, data, [METRIC])[METRIC].to_numpy()
        return values

    runs = {
        side: component.retrieve_batch(data.queries, DEPTH)
        for side, component in hybrid.members.items()
    }
    scores = grid_scores(runs, score)
    fixed = int(scores.mean(axis=0).argmax())
    rows = {side: score(rankings) for side, rankings in runs.items()}
    rows["rules"] = score(
        blended(runs, [analysis.weights for analysis in hybrid.analyse(data.queries)])
    )
    rows["learned"] = cross_validate(data.queries, scores)
    rows["fixed"] = scores[:, fixed]
    rows["best"] = np.maximum(scores.max(axis=1), rows["rules"])
    low, high = interval_of_mean(np.stack(list(rows.values()), axis=1), seed=0)
    table = pd.DataFrame(
        {METRIC: [values.mean() for values in rows.values()], "low": low, "high": high},
        list(rows),
    )
    typer.echo(table.round(3).to_string())
    fixed_weights = zip(SIDES, weight_grid()[fixed].tolist(), strict=True)
    typer.echo(
        "Best fixed weights: "
        + ", ".join(f"{side} {weight:g}" for side, weight in fixed_weights)
    )
    if save is not None:
        fit(data.queries, scores).save(save)


if __name__ == "__main__":
    typer.run(main)
