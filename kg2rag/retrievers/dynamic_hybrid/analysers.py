"""Query -> how much each kind of retrieval should count for it: the analysers of the dynamic hybrid design.

- `RuleAnalyser`, the default: rules on the query's form (`signals`). The types and the weights of the design's own
  examples are theirs (`CONCEPTUAL` to `SPELLED`); the rules, `QUESTION_WITH_NAME` and `NAMES_IN_PROSE` are ours.
- `LLMAnalyser`: weights by a language model, prompted as in the design. Unambiguous errors of a small model are
  repaired: broken JSON, weights that sum to 100 or nearly to 1. Anything else raises an error that names the query,
  unless another analyser follows: `llm(MODEL@BASE_URL)+rules`.
- `learned.LearnedAnalyser`: weights fitted on questions with known gold.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from importlib.resources import files
from pathlib import Path
from typing import Literal, Protocol, cast

from pydantic import BaseModel, ConfigDict, Field

from kg2rag.compute import ChatModel, CompletionError, Store
from kg2rag.compute.llm import ask_each, chat_model, name_of, quoted, unusable
from kg2rag.knowledge import TrigramIndex
from kg2rag.retrievers.dynamic_hybrid.signals import Signals, read
from kg2rag.text.registry import Registry
from kg2rag.types import ParameterError, Query

SIDES = ("dense", "sparse", "pattern", "graph")
"""The four kinds of retrieval, in the order of every table and vector of weights."""
TYPES = ("conceptual", "identifier", "relationship", "fuzzy", "mixed")
NEARLY = 0.1
"""How far from 1 (or 100) the weights of a language model may sum and still be rescaled."""
_PROMPT = (files(__package__) / "prompt.txt").read_text(encoding="utf-8").rstrip("\n")


@dataclass(frozen=True)
class QueryAnalysis:
    """The type of a query, the weight of each side (at least 0, their sum 1), and the reason.

    `names_nothing` : only the meaning counts, unless the search shows a chain. `warning` : why another analyser than
    the first of a chain decided.
    """

    query_type: str
    weights: Mapping[str, float] = field(hash=False)
    reasoning: str
    names_nothing: bool = False
    warning: str = ""

    def __post_init__(self) -> None:
        if self.query_type not in TYPES:
            raise ValueError(f"Unknown query type {self.query_type!r}. Known: {', '.join(TYPES)}.")
        if set(self.weights) != set(SIDES):
            raise ValueError(f"Weights name {', '.join(self.weights)}; they must name {', '.join(SIDES)}, each once.")
        if not (min(self.weights.values()) >= 0 and abs(sum(self.weights.values()) - 1) <= 1e-6):
            raise ValueError(f"Weights {dict(self.weights)} must be at least 0 and sum to 1.")


class Analyser(Protocol):
    """Anything that weighs a batch of queries."""

    def analyse(self, queries: Sequence[Query]) -> list[QueryAnalysis]:
        """One analysis a query, in order; raises where a query cannot be analysed, and names it."""
        ...


Kind = tuple[str, tuple[float, float, float, float]]
"""A type of query and the weights of the sides."""
CONCEPTUAL: Kind = ("conceptual", (0.7, 0.2, 0.0, 0.1))
IDENTIFIER: Kind = ("identifier", (0.1, 0.5, 0.3, 0.1))
RELATIONSHIP: Kind = ("relationship", (0.1, 0.2, 0.1, 0.6))
FUZZY: Kind = ("fuzzy", (0.1, 0.2, 0.6, 0.1))
CODE_PATTERN: Kind = ("mixed", (0.0, 0.2, 0.7, 0.1))
SPELLED: Kind = ("identifier", (0.2, 0.5, 0.2, 0.1))
QUESTION_WITH_NAME: Kind = ("mixed", (0.4, 0.35, 0.15, 0.1))  # halfway between conceptual and identifier
NAMES_IN_PROSE: Kind = ("relationship", (0.03, 0.03, 0.0, 0.94))  # chosen on questions of MuSiQue's train split

# What a query must be, what it then is, and why; `{names}` and `{misspelt}` are the query's first few.
_RULES: tuple[tuple[Callable[[Signals], object], Kind, str], ...] = (
    (lambda of: not of.content_words, CONCEPTUAL, "no word to look up, so only meaning is left"),
    (lambda of: of.as_pattern, CODE_PATTERN, "written as a regular expression or with wildcards"),
    (lambda of: of.coded_format, CODE_PATTERN, "describes a format by an example"),
    (lambda of: of.misspelt, FUZZY, "the corpus lacks {misspelt} but has names like it: a likely typo"),
    (lambda of: of.names and of.roughly and not of.asks_how, FUZZY, "asks for a name that is only like {names}"),
    (lambda of: of.names and of.asks_relation, RELATIONSHIP, "asks what is related to {names}"),
    (lambda of: of.names and of.asks_how, QUESTION_WITH_NAME, "a how or why question that names {names}"),
    (lambda of: of.names and of.relation, RELATIONSHIP, "asks what is related to {names}"),
    (lambda of: of.names, IDENTIFIER, "names {names}"),
    (lambda of: of.words == 1, IDENTIFIER, "a single word, to be looked up"),
    (lambda of: of.spelled and not of.question, SPELLED, "its words together spell a name of the corpus"),
    (lambda of: of.code and of.words <= 3 and not of.question, IDENTIFIER, "a code, to be looked up"),
    (lambda of: of.code and of.explained, QUESTION_WITH_NAME, "asks what a code means"),
    (lambda of: of.asks_relation and not of.phrases, RELATIONSHIP, "asks what is related"),
    (lambda of: of.asks_relation, NAMES_IN_PROSE, "asks what is related to things named in prose"),
    (lambda of: of.how_to, CONCEPTUAL, "a how or why question: its meaning counts"),
    (lambda of: of.phrases, NAMES_IN_PROSE, "a question about things named in prose: who mentions whom"),
    (lambda _: True, CONCEPTUAL, "names nothing: its meaning counts"),
)


def analysis_of(kind: Kind, reasoning: str, *, names_nothing: bool = False) -> QueryAnalysis:
    """A query of some kind."""
    return QueryAnalysis(kind[0], dict(zip(SIDES, kind[1], strict=True)), reasoning, names_nothing)


@dataclass(frozen=True)
class RuleAnalyser:
    """The first rule that fits decides; its reasoning names the rule and the words it matched.

    `vocabulary`: the names and words of the corpus (`KnowledgeBase.trigram`); without it, a misspelt name counts as a
    name, and words that spell one together as a plain question.
    """

    vocabulary: TrigramIndex | None = field(default=None, repr=False)

    def analyse(self, queries: Sequence[Query]) -> list[QueryAnalysis]:
        """Each query by itself."""
        return [self._decide(read(query.text, self.vocabulary)) for query in queries]

    def _decide(self, found: Signals) -> QueryAnalysis:
        fits, kind, reason = next(rule for rule in _RULES if rule[0](found))
        shown = {"names": ", ".join(found.names[:3]), "misspelt": ", ".join(found.misspelt[:3])}
        return analysis_of(kind, reason.format(**shown), names_nothing=fits is _RULES[-1][0])


@dataclass(frozen=True)
class FixedAnalyser:
    """The same weights for every query, by side or in the order of `SIDES`; equal ones are the baseline of an analysis.

    ParameterError: a side is missing or not known, a weight is below 0, or their sum is not 1.
    """

    weights: Sequence[float] | Mapping[str, float] = (1 / len(SIDES),) * len(SIDES)

    def __post_init__(self) -> None:
        try:
            by_side = dict(self.weights if isinstance(self.weights, Mapping) else zip(SIDES, self.weights, strict=True))
            QueryAnalysis("mixed", {side: float(weight) for side, weight in by_side.items()}, "")
        except (TypeError, ValueError) as error:
            wanted = f"one number each for {', '.join(SIDES)}, in this order or by name"
            raise ParameterError(f"weights must be {wanted}, not {self.weights!r}: {error}") from None
        object.__setattr__(self, "weights", tuple(float(by_side[side]) for side in SIDES))

    def analyse(self, queries: Sequence[Query]) -> list[QueryAnalysis]:
        """The weights as given; the type is "mixed"."""
        weights = dict(zip(SIDES, cast(Sequence[float], self.weights), strict=True))
        return [QueryAnalysis("mixed", weights, "weights as given")] * len(queries)


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


@dataclass(frozen=True)
class ChainAnalyser:
    """Analysers in order: a query that a language model's reply says nothing usable of is left to the next."""

    analysers: tuple[Analyser, ...]

    def analyse(self, queries: Sequence[Query]) -> list[QueryAnalysis]:
        """The whole batch by the first analyser; where that fails, query by query."""
        first, rest = self.analysers[0], self.analysers[1:]
        try:
            return first.analyse(queries)
        except CompletionError as error:
            if not rest:
                raise
            if len(queries) > 1:  # replies that the model gave are kept: none is paid twice
                return [self.analyse([query])[0] for query in queries]
            (found,) = ChainAnalyser(rest).analyse(queries)
            return [replace(found, warning=f"{type(first).__name__}: {error}")]


def _learned(_: Store, vocabulary: TrigramIndex | None, file: Path) -> Analyser:
    from kg2rag.retrievers.dynamic_hybrid.learned import LearnedAnalyser

    return LearnedAnalyser.load(file, vocabulary)


def _llm(store: Store, _: TrigramIndex | None, model: str) -> Analyser:
    return LLMAnalyser(chat_model(model, store, "llm"))


ANALYSERS: Registry[Analyser] = Registry(
    "analyser",
    {
        "fixed": lambda _store, _vocabulary: FixedAnalyser(),
        "learned(FILE)": _learned,
        "llm(MODEL@BASE_URL)": _llm,
        "rules": lambda _store, vocabulary: RuleAnalyser(vocabulary),
    },
    group="kg2rag.analysers",
    context=2,
    joined=ChainAnalyser,
)
"""How each is made of a store and the corpus's vocabulary, None where it is made to be checked alone."""
