"""Query -> the weights that a fitted model predicts to score best.

A ridge regression predicts, from a query's form (`signals`), the score of every point of a grid of weights; the point
with the highest prediction is chosen. `eval/weights.py` fits it on questions with known gold.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from kg2rag.knowledge import TrigramIndex
from kg2rag.retrievers.dynamic_hybrid.analysis import SIDES, QueryAnalysis, RuleAnalyser
from kg2rag.retrievers.dynamic_hybrid.signals import FEATURES, read
from kg2rag.text.records import DataError, quote, read_json, reading
from kg2rag.types import FloatArray, Query

FORMAT = 1


@dataclass(frozen=True, eq=False)
class LearnedAnalyser:
    """Load one from a file; `eval/weights.py --save FILE` fits one and writes it.

    Attributes
    ----------
    grid : (n_grid, 4) weights to choose from.
    coefficients, intercept : (n_grid, n_features) and (n_grid,), of predicted score.
    alpha : strength of the ridge's regularisation that cross-validation chose.
    fitted_on : hashes of the texts it was fitted on; it refuses to analyse these.
    """

    grid: FloatArray = field(repr=False)
    coefficients: FloatArray = field(repr=False)
    intercept: FloatArray = field(repr=False)
    alpha: float
    fitted_on: frozenset[str] = field(repr=False)
    vocabulary: TrigramIndex | None = field(default=None, repr=False)

    def analyse(self, queries: Sequence[Query]) -> list[QueryAnalysis]:
        """The weights with the highest predicted score; the first of equals. The type is that of `RuleAnalyser`.

        ValueError: a query is one of those the model was fitted on, so that no score profits from it.
        """
        seen = [query for query in queries if fingerprint(query) in self.fitted_on]
        if seen:
            raise ValueError(
                f"{len(seen)} of {len(queries)} queries (first: {seen[0].id!r}, {seen[0].text[:60]!r}) are among those "
                "this analyser was fitted on. Evaluate it on other questions."
            )
        types = RuleAnalyser(self.vocabulary).analyse(queries)
        return [
            self._analysis(row, ruled.query_type)
            for row, ruled in zip(features_of(queries, self.vocabulary), types, strict=True)
        ]

    def _analysis(self, features: FloatArray, query_type: str) -> QueryAnalysis:
        # einsum, row by row: BLAS may round a batch and a single query differently.
        predicted = np.einsum("gf,f->g", self.coefficients, features) + self.intercept
        chosen = int(predicted.round(9).argmax())
        weights = dict(zip(SIDES, self.grid[chosen].tolist(), strict=True))
        return QueryAnalysis(query_type, weights, f"predicted score {predicted[chosen]:.3f}, the highest of the grid")

    def save(self, path: Path | str) -> None:
        """Write the model as JSON, without the vocabulary."""
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
        """Read what `save` wrote; DataError where the file has other features or shapes than this version."""
        with reading(path, "Fit the analyser anew."):
            return cls._read(Path(path), vocabulary)

    @classmethod
    def _read(cls, path: Path, vocabulary: TrigramIndex | None) -> LearnedAnalyser:
        record: dict[str, Any] = read_json(path)
        for name, wanted in (("format", FORMAT), ("features", list(FEATURES)), ("sides", list(SIDES))):
            if record.get(name) != wanted:
                raise DataError(f"{path}: {name} is {quote(record.get(name))}, not {wanted!r}. Fit the analyser anew.")
        arrays = [np.array(record[name], dtype=np.float64) for name in ("grid", "coefficients", "intercept")]
        shapes = [array.shape for array in arrays]
        n = len(arrays[0])
        if shapes != [(n, len(SIDES)), (n, len(FEATURES)), (n,)]:
            raise DataError(f"{path}: grid, coefficients and intercept have shapes {shapes}, which do not fit.")
        if not all(np.isfinite(array).all() for array in arrays):
            raise DataError(f"{path}: grid, coefficients or intercept hold a number that is not finite.")
        grid, coefficients, intercept = arrays
        return cls(grid, coefficients, intercept, float(record["alpha"]), frozenset(record["fitted_on"]), vocabulary)


def features_of(queries: Sequence[Query], vocabulary: TrigramIndex | None) -> FloatArray:
    """(n_queries, n_features), the `FEATURES` of each query's form."""
    rows = [read(query.text, vocabulary).numbers() for query in queries]
    return np.array(rows, dtype=np.float64).reshape(len(queries), len(FEATURES))


def fingerprint(query: Query) -> str:
    """Of the text with case and spacing folded: a question in capitals is not a new one."""
    folded = " ".join(query.text.casefold().split())
    return hashlib.sha256(folded.encode("utf-8", "surrogatepass")).hexdigest()[:32]
