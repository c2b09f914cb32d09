"""The analysers that need a model or a file, a chain of analysers, and the names of all.

- `LLMAnalyser`: weights by a language model, prompted as in the dynamic hybrid design. Unambiguous errors of a small
  model are repaired: broken JSON, weights that sum to 100 or nearly to 1. Anything else raises an error that names the
  query, unless another analyser follows: `llm(MODEL@BASE_URL)+rules`.
- `LearnedAnalyser`: a ridge regression predicts, from a query's form (`signals`), the score of every point of a grid of
  weights; the point with the highest prediction is chosen. `eval/weights.py` fits it on questions with known gold.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from importlib.resources import files
from pathlib import Path
from typing import Any, Literal

import numpy as np
from pydantic import BaseModel, ConfigDict, Field

from kg2rag.compute import ChatModel, CompletionError, Store
from kg2rag.compute.llm import ask_each, chat_model, name_of, quoted, unusable
from kg2rag.knowledge import KnowledgeBase, TrigramIndex
from kg2rag.retrievers.dynamic_hybrid.analysis import SIDES, Analyser, FixedAnalyser, QueryAnalysis, RuleAnalyser
from kg2rag.retrievers.dynamic_hybrid.signals import FEATURES, read
from kg2rag.text.records import DataError, quote, read_json, reading
from kg2rag.text.registry import Registry
from kg2rag.types import FloatArray, Query

NEARLY = 0.1
"""How far from 1 (or 100) the weights may sum and still be rescaled."""
_PROMPT = (files(__package__) / "prompt.txt").read_text(encoding="utf-8").rstrip("\n")


class _Weights(BaseModel):
    model_config = ConfigDict(extra="forbid", allow_inf_nan=False)
    dense: float = Field(ge=0)
    sparse: float = Field(ge=0)
    pattern: float = Field(ge=0)
    graph: float = Field(ge=0)


class Reply(BaseModel):
    """The reply that the model must give; its JSON schema is sent with the prompt."""

    query_type: Literal["conceptual", "identifier", "relationship", "fuzzy", "mixed"]
    weights: _Weights
    reasoning: str = ""


@dataclass(frozen=True)
class LLMAnalyser:
    """Prompts a language model for every query, a batch at once; equal texts are sent once.

    Parameters
    ----------
    model : the model; its earlier answers come from the store.
    prompt : `{query}` is replaced by the query as a JSON string, so that quotes cannot end it.
    """

    model: ChatModel
    prompt: str = _PROMPT

    def __post_init__(self) -> None:
        if "{query}" not in self.prompt:
            raise ValueError("The prompt has no place for the query: write {query} where it belongs.")

    def analyse(self, queries: Sequence[Query]) -> list[QueryAnalysis]:
        """One analysis a query. CompletionError: a reply is missing, or not as required; the query is named."""
        prompts = [self.prompt.replace("{query}", quoted(query.text)) for query in queries]
        names = [name_of(query) for query in queries]
        analyses = []
        for name, completion in zip(names, ask_each(self.model, names, prompts, Reply, "weighing"), strict=True):
            reply, given = completion.parsed, completion.parsed.weights.model_dump()
            total = sum(given.values())
            if all(abs(total - whole) > NEARLY * whole for whole in (1, 100)):
                raise unusable(name, completion, f"its weights sum to {total:g}, not to 1")
            weights = {side: weight / total for side, weight in given.items()}
            analyses.append(QueryAnalysis(reply.query_type, weights, reply.reasoning))
        return analyses


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


@dataclass(frozen=True)
class ChainAnalyser:
    """Analysers in order: a query that a language model's reply says nothing usable of is left to the next."""

    analysers: tuple[Analyser, ...]

    def analyse(self, queries: Sequence[Query]) -> list[QueryAnalysis]:
        """The whole batch by the first analyser; where that fails, query by query."""
        first, rest = self.analysers[0], self.analysers[1:]
        if not rest:
            return first.analyse(queries)
        try:
            return first.analyse(queries)
        except CompletionError as error:
            if len(queries) > 1:  # replies that the model gave are kept: none is paid twice
                return [self.analyse([query])[0] for query in queries]
            (found,) = ChainAnalyser(rest).analyse(queries)
            return [replace(found, warning=f"{type(first).__name__}: {error}")]


def _fixed(store: Store, vocabulary: TrigramIndex | None) -> Analyser:  # noqa: ARG001
    return FixedAnalyser()


def _learned(store: Store, vocabulary: TrigramIndex | None, file: Path) -> Analyser:  # noqa: ARG001
    return LearnedAnalyser.load(file, vocabulary)


def _llm(store: Store, vocabulary: TrigramIndex | None, model: str) -> Analyser:  # noqa: ARG001
    return LLMAnalyser(chat_model(model, store, "llm"))


def _rules(store: Store, vocabulary: TrigramIndex | None) -> Analyser:  # noqa: ARG001
    return RuleAnalyser(vocabulary)


ANALYSERS: Registry[Analyser] = Registry(
    "analyser",
    {"fixed": _fixed, "learned(FILE)": _learned, "llm(MODEL@BASE_URL)": _llm, "rules": _rules},
    group="kg2rag.analysers",
    context=2,
    joined=ChainAnalyser,
)


def named(name: str, kb: KnowledgeBase, *, with_vocabulary: bool = True) -> Analyser:
    """The analyser of a name.

    `with_vocabulary` : whether it reads the corpus's names and words; without, an analyser is made at no cost.

    Raises
    ------
    ParameterError : a name that is not known, or what it needs is missing.
    DataError : the file of a learned analyser is none.
    """
    return ANALYSERS.build(name, kb.store, kb.trigram if with_vocabulary else None)
