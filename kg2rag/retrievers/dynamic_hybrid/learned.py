"""Queries with known gold -> an analyser that predicts which weights will score best.

A ridge regression predicts, from a query's form (`signals`), the score of every point of a grid of weights; the point
with the highest prediction is chosen. Few questions teach little: `cross_validate` says what it brings on questions
that it did not see, with its regularisation chosen inside each training part.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from kg2rag.knowledge.indexes.trigram import TrigramIndex
from kg2rag.retrievers.dynamic_hybrid.analysis import SIDES, QueryAnalysis
from kg2rag.retrievers.dynamic_hybrid.hindsight import simplex
from kg2rag.retrievers.dynamic_hybrid.rules import RuleAnalyser
from kg2rag.retrievers.dynamic_hybrid.signals import FEATURES, read
from kg2rag.types.arrays import FloatArray, IntArray
from kg2rag.types.passages import Query

ALPHAS = (0.1, 1.0, 10.0, 100.0, 1000.0)
FORMAT = 1


@dataclass(frozen=True, eq=False)
class LearnedAnalyser:
    """Build one with `fit` or `load`.

    Attributes
    ----------
    grid : (n_grid, 4) weights to choose from.
    coefficients, intercept : (n_grid, n_features) and (n_grid,), of predicted score.
    alpha : strength of the ridge's regularisation that cross-validation chose.
    fitted_on : hashes of the texts it was fitted on; these it refuses to analyse.
    """

    grid: FloatArray = field(repr=False)
    coefficients: FloatArray = field(repr=False)
    intercept: FloatArray = field(repr=False)
    alpha: float
    fitted_on: frozenset[str] = field(repr=False)
    vocabulary: TrigramIndex | None = field(default=None, repr=False)

    @classmethod
    def fit(
        cls,
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
        features = _features(queries, vocabulary)
        if scores.shape != (len(queries), len(grid)):
            raise ValueError(f"scores have shape {scores.shape}; {(len(queries), len(grid))} is needed.")
        alpha = _best_alpha(features, scores, _groups(queries), seed)
        coefficients, intercept = _ridge(features, scores, alpha)
        return cls(grid, coefficients, intercept, alpha, frozenset(map(_hash, queries)), vocabulary)

    def analyse(self, queries: Sequence[Query]) -> list[QueryAnalysis]:
        """The weights with the highest predicted score; the first of equals. The type is the rules' opinion.

        Raises
        ------
        ValueError : a query is one of those the model was fitted on, so that no score can be flattered by that.
        """
        seen = [query for query in queries if _hash(query) in self.fitted_on]
        if seen:
            raise ValueError(
                f"{len(seen)} of {len(queries)} queries (first: {seen[0].id!r}, {seen[0].text[:60]!r}) are among those "
                "this analyser was fitted on. Evaluate it on other questions, or use `cross_validate`."
            )
        types = RuleAnalyser(self.vocabulary).analyse(queries)
        return [
            self._analysis(row, ruled.query_type)
            for row, ruled in zip(_features(queries, self.vocabulary), types, strict=True)
        ]

    def _analysis(self, features: FloatArray, query_type: str) -> QueryAnalysis:
        # einsum, row by row: BLAS may round a batch and a single query differently.
        predicted = np.einsum("gf,f->g", self.coefficients, features) + self.intercept
        chosen = int(predicted.round(9).argmax())
        weights = dict(zip(SIDES, self.grid[chosen].tolist(), strict=True))
        return QueryAnalysis(query_type, weights, f"predicted score {predicted[chosen]:.3f}, the highest of the grid")

    def save(self, path: Path | str) -> None:
        """Write the model as JSON; the vocabulary stays behind."""
        record = {
            "format": FORMAT,
            "features": FEATURES,
            "sides": SIDES,
            "alpha": self.alpha,
            "grid": self.grid.tolist(),
            "coefficients": self.coefficients.tolist(),
            "intercept": self.intercept.tolist(),
            "fitted_on": sorted(self.fitted_on),
        }
        Path(path).write_text(json.dumps(record), encoding="utf-8")

    @classmethod
    def load(cls, path: Path | str, vocabulary: TrigramIndex | None = None) -> LearnedAnalyser:
        """Read what `save` wrote; ValueError where the file has other features or shapes than this version."""
        record: dict[str, Any] = json.loads(Path(path).read_text(encoding="utf-8"))
        for name, wanted in (("format", FORMAT), ("features", list(FEATURES)), ("sides", list(SIDES))):
            if record.get(name) != wanted:
                raise ValueError(f"{path}: {name} is {record.get(name)!r}, not {wanted!r}. Fit the analyser anew.")
        arrays = [np.array(record[name], dtype=np.float64) for name in ("grid", "coefficients", "intercept")]
        shapes = [array.shape for array in arrays]
        n = len(arrays[0])
        if shapes != [(n, len(SIDES)), (n, len(FEATURES)), (n,)]:
            raise ValueError(f"{path}: grid, coefficients and intercept have shapes {shapes}, which do not fit.")
        grid, coefficients, intercept = arrays
        return cls(grid, coefficients, intercept, float(record["alpha"]), frozenset(record["fitted_on"]), vocabulary)


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
    features, groups = _features(queries, vocabulary), _groups(queries)
    achieved = np.zeros(len(queries))
    for train, test in _folds(groups, folds, seed):
        alpha = _best_alpha(features[train], scores[train], groups[train], seed)
        achieved[test] = _achieved(features, scores, train, test, alpha)
    return achieved


def _features(queries: Sequence[Query], vocabulary: TrigramIndex | None) -> FloatArray:
    rows = [read(query.text, vocabulary).numbers() for query in queries]
    return np.array(rows, dtype=np.float64).reshape(len(queries), len(FEATURES))


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
    return np.array([number.setdefault(_hash(query), len(number)) for query in queries], dtype=np.int64)


def _hash(query: Query) -> str:
    """Of the text with case and spacing folded: a question put in capitals is no new one."""
    folded = " ".join(query.text.casefold().split())
    return hashlib.sha256(folded.encode("utf-8", "surrogatepass")).hexdigest()[:32]
