"""Query -> the weight of each kind of retrieval: the analysers of the dynamic hybrid design.

The types and the weights of the design's examples are theirs (`CONCEPTUAL` to `SPELLED`). The
rules, the later kinds and the prompt of the language model are ours. Broken JSON in its replies, and
weights that sum to 100 or nearly to 1, are repaired.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Protocol

import numpy as np

from kg2rag.knowledge import TrigramIndex
from kg2rag.retrievers.designs.dynamic_hybrid.signals import FEATURES, Signals, read
from kg2rag.text.records import DataError, quote, read_json, reading
from kg2rag.text.registry import Registry
from kg2rag.types import FloatArray, ParameterError, Query, UnansweredError

# The order of every table and vector of weights.
SIDES = (
    "dense",
    "sparse",
    "pattern",
    "graph",
)
TYPES = ("conceptual", "identifier", "relationship", "fuzzy", "mixed")
MADE_FOR = {"format": 1, "features": list(FEATURES), "sides": list(SIDES)}
ARRAYS = {"grid": (len(SIDES),), "coefficients": (len(FEATURES),), "intercept": ()}


@dataclass(frozen=True)
class QueryAnalysis:
    """The analysis of a query: type, weights of the sides (at least 0, sum 1), and reason.

    `warning` : the reason why a chain's first analyser failed.
    """

    query_type: str
    weights: Mapping[str, float] = field(hash=False)
    reasoning: str
    warning: str = ""

    def __post_init__(self) -> None:
        if self.query_type not in TYPES:
            raise ValueError(
                f"Unknown query type {self.query_type!r}. Known: {', '.join(TYPES)}."
            )
        if set(self.weights) != set(SIDES):
            raise ValueError(
                f"Weights name {', '.join(self.weights)}; they must name {', '.join(SIDES)}, each once."
            )
        if not (
            min(self.weights.values()) >= 0
            and abs(sum(self.weights.values()) - 1) <= 1e-6
        ):
            raise ValueError(
                f"Weights {dict(self.weights)} must be at least 0 and sum to 1."
            )


class Analyser(Protocol):
    """Anything that chooses the weights for a batch of queries."""

    def analyse(self, queries: Sequence[Query]) -> list[QueryAnalysis]:
        """One analysis per query, in order; an error names the query that cannot be analysed."""
        ...


# A type of query and the weights of the sides.
Kind = tuple[str, tuple[float, float, float, float]]
CONCEPTUAL: Kind = ("conceptual", (0.7, 0.2, 0.0, 0.1))
IDENTIFIER: Kind = ("identifier", (0.1, 0.5, 0.3, 0.1))
RELATIONSHIP: Kind = ("relationship", (0.1, 0.2, 0.1, 0.6))
FUZZY: Kind = ("fuzzy", (0.1, 0.2, 0.6, 0.1))
CODE_PATTERN: Kind = ("mixed", (0.0, 0.2, 0.7, 0.1))
SPELLED: Kind = ("identifier", (0.2, 0.5, 0.2, 0.1))
# Halfway between conceptual and identifier.
QUESTION_WITH_NAME: Kind = ("mixed", (0.4, 0.35, 0.15, 0.1))
# The weights of fuzzy queries, since only the pattern side reads capitals.
CAPITALS: Kind = ("identifier", (0.1, 0.2, 0.6, 0.1))
# Chosen on questions of MuSiQue's train split.
NAMES_IN_PROSE: Kind = ("relationship", (0.03, 0.03, 0.0, 0.94))

# (condition, kind of query, reason); `{names}` and `{misspelt}` are the first few of the query.
_RULES: tuple[tuple[Callable[[Signals], object], Kind, str], ...] = (
    (
        lambda query: not query.content_words,
        CONCEPTUAL,
        "no word to look up, so only meaning is left",
    ),
    (
        lambda query: query.as_pattern,
        CODE_PATTERN,
        "written as a regular expression or with wildcards",
    ),
    (
        lambda query: query.coded_format,
        CODE_PATTERN,
        "describes a format by an example",
    ),
    (
        lambda query: query.misspelt,
        FUZZY,
        "the corpus lacks {misspelt} but has names like it: a likely typo",
    ),
    (
        lambda query: query.names and query.roughly and not query.asks_how,
        FUZZY,
        "asks for a name that is only like {names}",
    ),
    (
        lambda query: query.names and query.asks_relation,
        RELATIONSHIP,
        "asks what is related to {names}",
    ),
    (
        lambda query: query.names and query.asks_how,
        QUESTION_WITH_NAME,
        "a how or why question that names {names}",
    ),
    (
        lambda query: query.names and query.relation,
        RELATIONSHIP,
        "asks what is related to {names}",
    ),
    (
        lambda query: query.other_capitals and not query.question,
        CAPITALS,
        "names {names}: its capitals matter",
    ),
    (lambda query: query.names, IDENTIFIER, "names {names}"),
    (lambda query: query.words == 1, IDENTIFIER, "a single word, to be looked up"),
    (
        lambda query: query.spelled and not query.question,
        SPELLED,
        "its words together spell a name of the corpus",
    ),
    (
        lambda query: query.code and query.words <= 3 and not query.question,
        IDENTIFIER,
        "a code, to be looked up",
    ),
    (
        lambda query: query.code and query.explained,
        QUESTION_WITH_NAME,
        "asks what a code means",
    ),
    (
        lambda query: query.asks_relation and not query.phrases,
        RELATIONSHIP,
        "asks what is related",
    ),
    (
        lambda query: query.asks_relation,
        NAMES_IN_PROSE,
        "asks what is related to things named in prose",
    ),
    (
        lambda query: query.how_to,
        CONCEPTUAL,
        "a how or why question: its meaning counts",
    ),
    (
        lambda query: query.phrases,
        NAMES_IN_PROSE,
        "a question about things named in prose: who mentions whom",
    ),
    (lambda _: True, CONCEPTUAL, "names nothing: its meaning counts"),
)


def analysis_of(kind: Kind, reasoning: str) -> QueryAnalysis:
    """The analysis of a query of some kind."""
    return QueryAnalysis(kind[0], dict(zip(SIDES, kind[1], strict=True)), reasoning)


@dataclass(frozen=True)
class RuleAnalyser:
    """An analyser by the first rule that fits.

    Without the corpus's `vocabulary` (`kb.trigram`), a misspelt name counts as a name.
    """

    vocabulary: TrigramIndex | None = field(default=None, repr=False)

    def analyse(self, queries: Sequence[Query]) -> list[QueryAnalysis]:
        """The analysis of each query by itself."""
        analyses = []
        for query in queries:
            signals = read(query.text, self.vocabulary)
            kind, reason = next(
                (kind, reason) for fits, kind, reason in _RULES if fits(signals)
            )
            names = ", ".join(signals.names[:3])
            misspelt = ", ".join(signals.misspelt[:3])
            analyses.append(
                analysis_of(kind, reason.format(names=names, misspelt=misspelt))
            )
        return analyses


@dataclass(frozen=True)
class FixedAnalyser:
    """The same weights for every query, by side or in the order of `SIDES`.

    Equal weights are the baseline of an analysis.

    ParameterError: a side is missing or not known, a weight is below 0, or their sum is not 1.
    """

    weights: Sequence[float] | Mapping[str, float] = (1 / len(SIDES),) * len(SIDES)

    def __post_init__(self) -> None:
        try:
            if isinstance(self.weights, Mapping):
                by_side = dict(self.weights)
            else:
                by_side = dict(zip(SIDES, self.weights, strict=True))
            numbers = {side: float(weight) for side, weight in by_side.items()}
            checked = QueryAnalysis("mixed", numbers, "")
        except (TypeError, ValueError) as error:
            sides = ", ".join(SIDES)
            raise ParameterError(
                f"weights must be one number each for {sides}, in this order or by name, not {self.weights!r}: {error}"
            ) from None
        object.__setattr__(
            self, "weights", tuple(map(checked.weights.__getitem__, SIDES))
        )

    def analyse(self, queries: Sequence[Query]) -> list[QueryAnalysis]:
        """The fixed weights, with the type "mixed"."""
        return [analysis_of(("mixed", self.weights), "weights as given")] * len(queries)  # type: ignore[arg-type]


@dataclass(frozen=True, eq=False)
class LearnedAnalyser:
    """The weights with the highest score that a ridge regression predicts, out of a grid.

    The regression reads `signals.FEATURES`.

    `eval/weights.py --save FILE` fits one on questions with known gold and writes it; `load` reads it.
    `grid` : (n_grid, 4) weights to choose from. `coefficients`, `intercept` : (n_grid, n_features) and
    (n_grid,), those of the predicted score. `alpha` : the strength of the regularisation. `fitted_on` :
    the hashes of the training texts, which it refuses to analyse.
    """

    grid: FloatArray = field(repr=False)
    coefficients: FloatArray = field(repr=False)
    intercept: FloatArray = field(repr=False)
    alpha: float
    fitted_on: frozenset[str] = field(repr=False)
    vocabulary: TrigramIndex | None = field(default=None, repr=False)

    def analyse(self, queries: Sequence[Query]) -> list[QueryAnalysis]:
        """The weights with the highest predicted score, and the rules' type.

        ValueError: the analyser was fitted on one of the queries.
        """
        fitted = [query for query in queries if fingerprint(query) in self.fitted_on]
        if fitted:
            first = f"{len(fitted)} of {len(queries)} queries (first: {fitted[0].id!r}, {fitted[0].text[:60]!r})"
            raise ValueError(
                f"{first} are among those this analyser was fitted on. Evaluate it on other questions."
            )
        features = features_of(queries, self.vocabulary)
        # einsum: BLAS may round a batch and a single query differently.
        predicted = np.einsum("gf,qf->qg", self.coefficients, features) + self.intercept
        best_scores = predicted.max(axis=1, initial=0)
        best_weights = self.grid[predicted.round(9).argmax(axis=1)].tolist()
        rules = RuleAnalyser(self.vocabulary).analyse(queries)
        analyses = []
        for rule, weights, score in zip(rules, best_weights, best_scores, strict=True):
            reason = f"predicted score {score:.3f}, the highest of the grid"
            analyses.append(analysis_of((rule.query_type, tuple(weights)), reason))
        return analyses

    def save(self, path: Path | str) -> None:
        """Write the model as JSON, without the vocabulary."""
        arrays = {name: getattr(self, name).tolist() for name in ARRAYS}
        record = {
            **MADE_FOR,
            "alpha": self.alpha,
            **arrays,
            "fitted_on": sorted(self.fitted_on),
        }
        Path(path).write_text(json.dumps(record), encoding="utf-8")

    @classmethod
    def load(
        cls, path: Path | str, vocabulary: TrigramIndex | None = None
    ) -> LearnedAnalyser:
        """Read a file of `save`; DataError: it has other features or shapes than this version."""
        with reading(path, "Fit the analyser anew."):
            record = read_json(Path(path))
            for name, value in MADE_FOR.items():
                if record.get(name) != value:
                    raise DataError(
                        f"{path}: {name} is {quote(record.get(name))}, not {value!r}. Fit the analyser anew."
                    )
            arrays = {name: np.array(record[name], dtype=np.float64) for name in ARRAYS}
            n = len(arrays["grid"])
            for name, shape in ARRAYS.items():
                if (
                    arrays[name].shape != (n, *shape)
                    or not np.isfinite(arrays[name]).all()
                ):
                    raise DataError(
                        f"{path}: {name} is not of shape {(n, *shape)}, or not finite."
                    )
            fitted_on = frozenset(record["fitted_on"])
            return cls(
                **arrays,
                alpha=float(record["alpha"]),
                fitted_on=fitted_on,
                vocabulary=vocabulary,
            )


def features_of(
    queries: Sequence[Query], vocabulary: TrigramIndex | None
) -> FloatArray:
    """(n_queries, n_features) the `FEATURES` of each query."""
    rows = [read(query.text, vocabulary).numbers() for query in queries]
    return np.array(rows, dtype=np.float64).reshape(len(queries), len(FEATURES))


def fingerprint(query: Query) -> str:
    """The hash of a query's text, with case and spacing folded."""
    text = " ".join(query.text.casefold().split())
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:32]


@dataclass(frozen=True)
class ChainAnalyser:
    """Analysers in order: the next one analyses the queries that the previous one cannot.

    An analyser fails if a language model gives no usable reply.
    """

    analysers: tuple[Analyser, ...]

    def analyse(self, queries: Sequence[Query]) -> list[QueryAnalysis]:
        """The whole batch by the first analyser; query by query if that fails."""
        first, *following = self.analysers
        try:
            return first.analyse(queries)
        except UnansweredError as error:
            if not following:
                raise
            # The store keeps the model's replies, so none is paid twice.
            if len(queries) > 1:
                return [self.analyse([query])[0] for query in queries]
            (analysis,) = ChainAnalyser(tuple(following)).analyse(queries)
            return [replace(analysis, warning=f"{type(first).__name__}: {error.cause}")]


def _learned(
    _store: object, vocabulary: TrigramIndex | None, file: str
) -> LearnedAnalyser:
    return LearnedAnalyser.load(str(file), vocabulary)


ANALYSERS: Registry[Analyser] = Registry(
    "analyser",
    {
        "fixed": lambda _store, _vocabulary: FixedAnalyser(),
        "learned(FILE)": _learned,
        "llm(MODEL@BASE_URL)": "kg2rag.llm.analyser:named",
        "rules": lambda _store, vocabulary: RuleAnalyser(vocabulary),
    },
    group="kg2rag.analysers",
    context=2,
    joined=ChainAnalyser,
)
"""Name -> builder from a store and the corpus's vocabulary, which is None for a check of the parameters."""
