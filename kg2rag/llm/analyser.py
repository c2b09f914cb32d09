"""Query -> how much each kind of retrieval should count for it, by asking a language model, as the design does.

Of its replies broken JSON and weights that sum to 100 or nearly to 1 are repaired.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from importlib.resources import files
from typing import Literal

from pydantic import BaseModel, ConfigDict

from kg2rag.compute import Store
from kg2rag.knowledge import TrigramIndex
from kg2rag.llm.chat_model import ChatModel, ask_each, chat_model, name_of, unusable
from kg2rag.llm.replies import quoted
from kg2rag.retrievers.designs.dynamic_hybrid.analysers import QueryAnalysis
from kg2rag.types import Query, Weight

NEARLY = 0.1
"""How far from 1 (or 100) the weights may sum and still be rescaled."""
_PROMPT = (files(__package__) / "analyser_prompt.txt").read_text(encoding="utf-8").rstrip("\n")


class _Weights(BaseModel):
    model_config = ConfigDict(extra="forbid", allow_inf_nan=False)
    dense: Weight
    sparse: Weight
    pattern: Weight
    graph: Weight


class Reply(BaseModel):
    """The reply that the model must give; its JSON schema is sent with the prompt."""

    query_type: Literal["conceptual", "identifier", "relationship", "fuzzy", "mixed"]
    weights: _Weights
    reasoning: str = ""


@dataclass(frozen=True)
class LLMAnalyser:
    """Prompts a language model for every query, a batch at once; equal texts are sent once."""

    model: ChatModel

    def analyse(self, queries: Sequence[Query]) -> list[QueryAnalysis]:
        """One analysis a query. CompletionError: a reply is missing, or not as required; the query is named."""
        names, analyses = list(map(name_of, queries)), []
        prompts = [_PROMPT.replace("{query}", quoted(query.text)) for query in queries]
        for name, completion in zip(names, ask_each(self.model, names, prompts, Reply, "weighing"), strict=True):
            reply, given = completion.parsed, completion.parsed.weights.model_dump()
            total = sum(given.values())
            if all(abs(total - whole) > NEARLY * whole for whole in (1, 100)):
                raise unusable(name, completion, f"its weights sum to {total:g}, not to 1")
            weights = {side: weight / total for side, weight in given.items()}
            analyses.append(QueryAnalysis(reply.query_type, weights, reply.reasoning))
        return analyses


def named(store: Store, vocabulary: TrigramIndex | None, model: str) -> LLMAnalyser:  # noqa: ARG001
    """The analyser of a model by name, "MODEL@BASE_URL", whose answers a store keeps."""
    return LLMAnalyser(chat_model(model, store))
