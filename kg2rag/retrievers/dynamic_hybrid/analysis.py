"""Query -> how much each kind of retrieval should count for it: the analysers of the dynamic hybrid design.

Three behind one protocol: rules on the query's form (here, the default), a language model, and a model fitted on
questions with known gold (both in `analysers`). The types and the weights of the design's own examples are theirs
(`CONCEPTUAL` to `SPELLED`); the rules that separate the types, `QUESTION_WITH_NAME` and `NAMES_IN_PROSE` are ours.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, Protocol

from kg2rag.knowledge import TrigramIndex
from kg2rag.retrievers.dynamic_hybrid.signals import Signals, read
from kg2rag.retrievers.fusion import fuse_rankings
from kg2rag.retrievers.mention_chains.searched import ChainsNotes
from kg2rag.types import ParameterError, Query, Ranking

SIDES = ("dense", "sparse", "pattern", "graph")
"""The four kinds of retrieval, in the order of every table and vector of weights."""
TYPES = ("conceptual", "identifier", "relationship", "fuzzy", "mixed")

Weights = Sequence[float] | Mapping[str, float]


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


def blend(sides: Mapping[str, Ranking], weights: Mapping[str, float], k: int, constant: float) -> Ranking:
    """Weighted reciprocal rank fusion of one query's sides; one of weight 0 adds nothing, not even its hits."""
    counted = [side for side in SIDES if weights[side] > 0]
    if not counted:
        raise ValueError(f"Weights {dict(weights)}: one of them must be above 0.")
    return fuse_rankings([sides[side] for side in counted], [weights[side] for side in counted], k, constant=constant)


# (dense, sparse, pattern, graph)
SideWeights = tuple[float, float, float, float]
CONCEPTUAL: SideWeights = (0.7, 0.2, 0.0, 0.1)
IDENTIFIER: SideWeights = (0.1, 0.5, 0.3, 0.1)
RELATIONSHIP: SideWeights = (0.1, 0.2, 0.1, 0.6)
FUZZY: SideWeights = (0.1, 0.2, 0.6, 0.1)
CODE_PATTERN: SideWeights = (0.0, 0.2, 0.7, 0.1)
SPELLED: SideWeights = (0.2, 0.5, 0.2, 0.1)
QUESTION_WITH_NAME: SideWeights = (0.4, 0.35, 0.15, 0.1)  # halfway between conceptual and identifier
NAMES_IN_PROSE: SideWeights = (0.03, 0.03, 0.0, 0.94)  # chosen on questions of MuSiQue's train split


@dataclass(frozen=True)
class RuleAnalyser:
    """The first rule that fits decides; its reasoning names the rule and the words it matched.

    `vocabulary`: the names and words of the corpus (`KnowledgeBase.trigram`); without it, a misspelt name counts as a
    name, and words that spell one together as a plain question.
    """

    vocabulary: TrigramIndex | None = field(default=None, repr=False)

    def analyse(self, queries: Sequence[Query]) -> list[QueryAnalysis]:
        """Each query by itself."""
        return [_decide(read(query.text, self.vocabulary)) for query in queries]


class _Rule(NamedTuple):
    """What a query must be, and what it then is; `{names}` and `{misspelt}` in the reason are its first few."""

    fits: Callable[[Signals], object]
    query_type: str
    weights: SideWeights
    reason: str
    names_nothing: bool = False


_EXPLANATION = "a how or why question that names {names}"
_RELATED = "asks what is related to {names}"
_RULES = (
    _Rule(lambda of: not of.content_words, "conceptual", CONCEPTUAL, "no word to look up, so only meaning is left"),
    _Rule(lambda of: of.as_pattern, "mixed", CODE_PATTERN, "written as a regular expression or with wildcards"),
    _Rule(lambda of: of.coded_format, "mixed", CODE_PATTERN, "describes a format by an example"),
    _Rule(
        lambda of: of.misspelt,
        *("fuzzy", FUZZY, "the corpus lacks {misspelt} but has names like it: a likely typo"),
    ),
    _Rule(
        lambda of: of.names and of.roughly and not (of.how_to or of.explained),
        *("fuzzy", FUZZY, "asks for a name that is only like {names}"),
    ),
    _Rule(lambda of: of.names and of.asks_relation, "relationship", RELATIONSHIP, _RELATED),
    _Rule(lambda of: of.names and (of.how_to or of.explained), "mixed", QUESTION_WITH_NAME, _EXPLANATION),
    _Rule(lambda of: of.names and of.relation, "relationship", RELATIONSHIP, _RELATED),
    _Rule(lambda of: of.names, "identifier", IDENTIFIER, "names {names}"),
    _Rule(lambda of: of.words == 1, "identifier", IDENTIFIER, "a single word, to be looked up"),
    _Rule(
        lambda of: of.spelled and not of.question,
        *("identifier", SPELLED, "its words together spell a name of the corpus"),
    ),
    _Rule(
        lambda of: of.code and of.words <= 3 and not of.question,
        *("identifier", IDENTIFIER, "a code, to be looked up"),
    ),
    _Rule(lambda of: of.code and of.explained, "mixed", QUESTION_WITH_NAME, "asks what a code means"),
    _Rule(lambda of: of.asks_relation and not of.phrases, "relationship", RELATIONSHIP, "asks what is related"),
    _Rule(lambda of: of.asks_relation, "relationship", NAMES_IN_PROSE, "asks what is related to things named in prose"),
    _Rule(lambda of: of.how_to, "conceptual", CONCEPTUAL, "a how or why question: its meaning counts"),
    _Rule(
        lambda of: of.phrases,
        *("relationship", NAMES_IN_PROSE, "a question about things named in prose: who mentions whom"),
    ),
    _Rule(lambda _: True, "conceptual", CONCEPTUAL, "names nothing: its meaning counts", names_nothing=True),
)


def _decide(found: Signals) -> QueryAnalysis:
    rule = next(rule for rule in _RULES if rule.fits(found))
    shown = {"names": ", ".join(found.names[:3]), "misspelt": ", ".join(found.misspelt[:3])}
    return _analysis(rule.query_type, rule.weights, rule.reason.format(**shown), names_nothing=rule.names_nothing)


def reconsidered(analysis: QueryAnalysis, graph: Ranking | None) -> QueryAnalysis:
    """The analysis once `mention_chains` has searched: a question that names nothing may still ask for a chain.

    Another side's ranking changes nothing.
    """
    notes = graph.notes.find(ChainsNotes) if graph is not None else None
    kind = notes.question if notes is not None else None
    if not analysis.names_nothing or kind not in ("one_chain", "two_chains"):
        return analysis
    return _analysis("relationship", NAMES_IN_PROSE, "names nothing, but the passages found name one another")


def _analysis(query_type: str, weights: SideWeights, reasoning: str, *, names_nothing: bool = False) -> QueryAnalysis:
    return QueryAnalysis(query_type, dict(zip(SIDES, weights, strict=True)), reasoning, names_nothing)


EQUAL = (1 / len(SIDES),) * len(SIDES)


@dataclass(frozen=True)
class FixedAnalyser:
    """The same weights for every query: the baseline of an analysis, and what a caller asks for.

    `weights`: one for each side, in the order of `SIDES`; at least 0, their sum 1.
    """

    weights: tuple[float, ...] = EQUAL

    def analyse(self, queries: Sequence[Query]) -> list[QueryAnalysis]:
        """The weights as given; the type is "mixed"."""
        weights = dict(zip(SIDES, self.weights, strict=True))
        return [QueryAnalysis("mixed", weights, "weights as given") for _ in queries]


def fixed(weights: Weights) -> FixedAnalyser:
    """The analyser of some weights, by side or in the order of `SIDES`.

    ParameterError: a side is missing or not known, a weight is below 0, or their sum is not 1.
    """
    if isinstance(weights, Mapping):
        given = dict(weights)
    elif isinstance(weights, Sequence) and not isinstance(weights, str) and len(weights) == len(SIDES):
        given = dict(zip(SIDES, weights, strict=True))
    else:
        raise ParameterError(f"weights must be one number each for {', '.join(SIDES)}, or named ones, not {weights!r}.")
    try:
        analysis = QueryAnalysis("mixed", {side: float(weight) for side, weight in given.items()}, "")
    except (TypeError, ValueError) as error:
        raise ParameterError(f"weights: {error}") from None
    return FixedAnalyser(tuple(analysis.weights[side] for side in SIDES))
