"""The name of an analyser -> the analyser: "rules", "fixed", "learned(FILE)", "llm(MODEL@BASE_URL)"."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from kg2rag.compute import Store
from kg2rag.knowledge import KnowledgeBase, TrigramIndex
from kg2rag.retrievers.dynamic_hybrid.analysis import SIDES, Analyser, QueryAnalysis, RuleAnalyser
from kg2rag.text.registry import Registry
from kg2rag.types import ParameterError, Query

Weights = Sequence[float] | Mapping[str, float]
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


def _fixed(store: Store, vocabulary: TrigramIndex | None) -> Analyser:  # noqa: ARG001
    return FixedAnalyser()


def _learned(store: Store, vocabulary: TrigramIndex | None, file: Path) -> Analyser:  # noqa: ARG001
    from kg2rag.retrievers.dynamic_hybrid.learned import LearnedAnalyser

    return LearnedAnalyser.load(file, vocabulary)


def _llm(store: Store, vocabulary: TrigramIndex | None, model: str) -> Analyser:  # noqa: ARG001
    from kg2rag.compute.llm import chat_model
    from kg2rag.retrievers.dynamic_hybrid.llm import LLMAnalyser

    return LLMAnalyser(chat_model(model, store, "llm"))


def _rules(store: Store, vocabulary: TrigramIndex | None) -> Analyser:  # noqa: ARG001
    return RuleAnalyser(vocabulary)


ANALYSERS: Registry[Analyser] = Registry(
    "analyser",
    {"fixed": _fixed, "learned(FILE)": _learned, "llm(MODEL@BASE_URL)": _llm, "rules": _rules},
    group="kg2rag.analysers",
    context=2,
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
