"""A query's form -> the weights of the sides with the highest predicted score.

A ridge regression predicts, from `signals.FEATURES`, the score of every point of a grid of weights.
`eval/weights.py --save FILE` fits one on questions with known gold and writes it.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from kg2rag.knowledge import TrigramIndex
from kg2rag.retrievers.dynamic_hybrid.analysers import SIDES, QueryAnalysis, RuleAnalyser
from kg2rag.retrievers.dynamic_hybrid.signals import FEATURES, read
from kg2rag.text.records import DataError, quote, read_json, reading
from kg2rag.types import FloatArray, Query

MADE_FOR = {"format": 1, "features": list(FEATURES), "sides": list(SIDES)}
ARRAYS = ("grid", "coefficients", "intercept")


@dataclass(frozen=True, eq=False)
class LearnedAnalyser:
    """Load one from a file.

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
        if seen := [query for query in queries if fingerprint(query) in self.fitted_on]:
            raise ValueError(
                f"{len(seen)} of {len(queries)} queries (first: {seen[0].id!r}, {seen[0].text[:60]!r}) are among those "
                "this analyser was fitted on. Evaluate it on other questions."
            )
        analyses = []
        ruled = RuleAnalyser(self.vocabulary).analyse(queries)
        for rule, features in zip(ruled, features_of(queries, self.vocabulary), strict=True):
            # einsum, row by row: BLAS may round a batch and a single query differently.
            predicted = np.einsum("gf,f->g", self.coefficients, features) + self.intercept
            chosen = int(predicted.round(9).argmax())
            reason = f"predicted score {predicted[chosen]:.3f}, the highest of the grid"
            weights = dict(zip(SIDES, self.grid[chosen].tolist(), strict=True))
            analyses.append(QueryAnalysis(rule.query_type, weights, reason))
        return analyses

    def save(self, path: Path | str) -> None:
        """Write the model as JSON, without the vocabulary."""
        arrays = {name: getattr(self, name).tolist() for name in ARRAYS}
        record = {**MADE_FOR, "alpha": self.alpha, **arrays, "fitted_on": sorted(self.fitted_on)}
        Path(path).write_text(json.dumps(record), encoding="utf-8")

    @classmethod
    def load(cls, path: Path | str, vocabulary: TrigramIndex | None = None) -> LearnedAnalyser:
        """Read what `save` wrote; DataError where the file has other features or shapes than this version."""
        with reading(path, "Fit the analyser anew."):
            record = read_json(Path(path))
            for name, wanted in MADE_FOR.items():
                if record.get(name) != wanted:
                    given = quote(record.get(name))
                    raise DataError(f"{path}: {name} is {given}, not {wanted!r}. Fit the analyser anew.")
            arrays = [np.array(record[name], dtype=np.float64) for name in ARRAYS]
            shapes, n = [array.shape for array in arrays], len(arrays[0])
            if shapes != [(n, len(SIDES)), (n, len(FEATURES)), (n,)] or not all(np.isfinite(a).all() for a in arrays):
                raise DataError(f"{path}: {', '.join(ARRAYS)} have shapes {shapes} or a number that is not finite.")
            grid, coefficients, intercept = arrays
            fitted_on = frozenset(record["fitted_on"])
            return cls(grid, coefficients, intercept, float(record["alpha"]), fitted_on, vocabulary)


def features_of(queries: Sequence[Query], vocabulary: TrigramIndex | None) -> FloatArray:
    """(n_queries, n_features), the `FEATURES` of each query's form."""
    rows = [read(query.text, vocabulary).numbers() for query in queries]
    return np.array(rows, dtype=np.float64).reshape(len(queries), len(FEATURES))


def fingerprint(query: Query) -> str:
    """Of the text with case and spacing folded: a question in capitals is not a new one."""
    folded = " ".join(query.text.casefold().split())
    return hashlib.sha256(folded.encode("utf-8", "surrogatepass")).hexdigest()[:32]
