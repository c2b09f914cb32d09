"""Query -> weights by a language model, prompted as in the dynamic hybrid design; its reply is validated.

Unambiguous errors of a small model are repaired: broken JSON by `json-repair`, weights that sum to 100 or
nearly to 1 here. Anything else raises an error that names the query.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from importlib.resources import files
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from kg2rag.compute import ChatModel
from kg2rag.compute.llm import ask_each, name_of, quoted, unusable
from kg2rag.retrievers.dynamic_hybrid.analysis import QueryAnalysis
from kg2rag.types import Query

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
