"""Queries with known gold -> a `LearnedAnalyser`, and what it scores on questions that it was not fitted on.

Few questions teach little: `cross_validate` measures the gain on unseen questions, with the regularisation chosen
inside each training part.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from hindsight import simplex

from kg2rag.knowledge import TrigramIndex
from kg2rag.retrievers.dynamic_hybrid.learned import LearnedAnalyser, features_of, fingerprint
from kg2rag.types import FloatArray, IntArray, Query

ALPHAS = (0.1, 1.0, 10.0, 100.0, 1000.0)


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
    scores : (n_queries, n_grid), of `hindsight.grid_scores` over `simplex(steps)`.
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
