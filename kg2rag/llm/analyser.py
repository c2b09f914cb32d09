"""Query -> the weight of each kind of retrieval, by a language model, as in the design.

Weights are shares: they are divided by their sum.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, WithJsonSchema

from kg2rag.compute import Store
from kg2rag.compute.endpoint import TIMEOUT_SECONDS
from kg2rag.knowledge import TrigramIndex
from kg2rag.llm.chat_model import ChatModel
from kg2rag.llm.dialect import Structured
from kg2rag.llm.json_text import quoted
from kg2rag.llm.query_prompts import ask_each, chat_model, name_of, unusable
from kg2rag.llm.replies import Completion
from kg2rag.retrievers.designs.dynamic_hybrid.analysers import QueryAnalysis
from kg2rag.types import Query

MAX_REASONING_CHARACTERS = 200
SUM_TOLERANCE = 1e-6
"""The deviation of the sum of the weights from 1 that is not reported."""
WEIGHT_DIGITS = 9
_PROMPT = (
    (files(__package__) / "analyser_prompt.txt")
    .read_text(encoding="utf-8")
    .rstrip("\n")
)


Share = Annotated[
    float, Field(ge=0), WithJsonSchema({"type": "number", "minimum": 0, "maximum": 1})
]
"""At least 0; the schema in the request asks for at most 1, and all weights are divided by their sum."""


class _Weights(BaseModel):
    model_config = ConfigDict(extra="forbid", allow_inf_nan=False)
    dense: Share
    sparse: Share
    pattern: Share
    graph: Share


class Weighing(BaseModel):
    """How much each search method should count for the query."""

    query_type: Literal["conceptual", "identifier", "relationship", "fuzzy", "mixed"]
    weights: _Weights
    reasoning: str = Field(
        "", json_schema_extra={"maxLength": MAX_REASONING_CHARACTERS}
    )


@dataclass(frozen=True)
class LLMAnalyser:
    """A language model that analyses every query of a batch; equal texts are sent once."""

    model: ChatModel

    def analyse(self, queries: Sequence[Query]) -> list[QueryAnalysis]:
        """One analysis per query; CompletionError names a query without a valid reply."""
        names = [name_of(query) for query in queries]
        prompts = [_PROMPT.replace("{query}", quoted(query.text)) for query in queries]
        answers = ask_each(self.model, names, prompts, Weighing, "weighing")
        return [
            _analysis(name, answer) for name, answer in zip(names, answers, strict=True)
        ]


def _analysis(name: str, answer: Completion[Weighing]) -> QueryAnalysis:
    """The analysis in an answer, with weights that sum to 1; UnansweredQueryError if all are 0."""
    shares = answer.parsed.weights.model_dump()
    total = sum(shares.values())
    if total <= 0:
        raise unusable(name, answer, "its weights are all 0")
    reasoning = answer.parsed.reasoning
    if abs(total - 1) > SUM_TOLERANCE:
        reasoning = f"{reasoning} (its weights summed to {total:g} and were divided by that)".strip()
    weights = {
        side: round(share / total, WEIGHT_DIGITS) for side, share in shares.items()
    }
    return QueryAnalysis(answer.parsed.query_type, weights, reasoning)


def named(
    store: Store,
    vocabulary: TrigramIndex | None,  # noqa: ARG001 - every analyser is given it
    model: str,
    *,
    max_tokens: int | None = 512,
    concurrency: int | None = None,
    timeout: float = TIMEOUT_SECONDS,
    structured: Structured = "json_schema",
    body: Mapping[str, Any] | None = None,
) -> LLMAnalyser:
    """The analyser of "MODEL@BASE_URL", whose answers the store keeps."""
    options = (max_tokens, concurrency, timeout, structured, body)
    return LLMAnalyser(chat_model(model, store, *options))
