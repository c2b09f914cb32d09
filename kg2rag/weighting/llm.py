"""Query -> weights by a language model, asked as the dynamic hybrid design asks it; its answer is checked, not trusted.

The model is anything with `complete(prompt, schema)`; no network is known here. What a small model breaks without
leaving doubt about what it meant is repaired: text or a code fence around the object, a trailing comma, brackets left
open at the end, weights that sum to 100 or nearly to 1. Anything else raises and names the query.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from kg2rag.types import Query
from kg2rag.weighting import QueryAnalysis

NEARLY = 0.1
"""How far from 1 (or 100) the weights may sum and still be rescaled."""
_PROMPT = """You weigh search methods for one query of a search engine over documents and source code.
The methods:
- dense: embeddings; for meaning, concepts and how-to questions.
- sparse: BM25; for exact words and names.
- pattern: fuzzy and partial matching of names, wildcards and formats; for typos and codes.
- graph: relations between entities; for questions about what uses, extends or is connected with what.

Query: {query}

Reply with one JSON object and nothing else: "query_type", one of conceptual, identifier, relationship, fuzzy, mixed;
"weights", an object with the numbers dense, sparse, pattern and graph, each from 0 to 1, their sum 1; "reasoning", one
short sentence."""


class Completer(Protocol):
    """A language model behind any endpoint; it caches, retries and counts, or does not."""

    def complete(self, prompt: str, schema: Mapping[str, Any]) -> str:
        """The model's reply to a prompt; `schema` is the JSON schema that the reply should follow."""
        ...


class _Weights(BaseModel):
    model_config = ConfigDict(extra="forbid", allow_inf_nan=False)
    dense: float = Field(ge=0)
    sparse: float = Field(ge=0)
    pattern: float = Field(ge=0)
    graph: float = Field(ge=0)


class Reply(BaseModel):
    """What the model is asked for; its JSON schema goes with the prompt."""

    query_type: Literal["conceptual", "identifier", "relationship", "fuzzy", "mixed"]
    weights: _Weights
    reasoning: str = ""


@dataclass(frozen=True)
class LLMAnalyser:
    """Asks a language model about every query; equal texts of a batch are asked about once.

    Parameters
    ----------
    llm : the model.
    prompt : its place for the query is `{query}`; the query goes in as a JSON string, so that quotes cannot end it.
    """

    llm: Completer
    prompt: str = _PROMPT

    def __post_init__(self) -> None:
        if "{query}" not in self.prompt:
            raise ValueError("The prompt has no place for the query: write {query} where it belongs.")

    def analyse(self, queries: Sequence[Query]) -> list[QueryAnalysis]:
        """Raises ValueError, naming the query, where a reply is not what was asked for."""
        schema = Reply.model_json_schema()
        known: dict[str, QueryAnalysis] = {}
        for query in queries:
            if query.text not in known:
                asked = self.prompt.replace("{query}", json.dumps(query.text, ensure_ascii=False))
                known[query.text] = parse_reply(self.llm.complete(asked, schema), query)
        return [known[query.text] for query in queries]


def parse_reply(reply: str, query: Query) -> QueryAnalysis:
    """The analysis in a model's reply; ValueError names the query and what is wrong with the reply."""
    try:
        parsed = Reply.model_validate(_object(reply))
        weights = _rescaled(parsed.weights.model_dump())
    except (ValueError, ValidationError) as error:
        raise ValueError(
            f"query {query.id!r} ({query.text[:80]!r}): the model's reply {reply[:200]!r} is no analysis: {error}"
        ) from None
    return QueryAnalysis(parsed.query_type, weights, parsed.reasoning)


def _object(reply: str) -> Any:
    """The one JSON object of a reply."""
    start = reply.find("{")
    if start < 0:
        raise ValueError("it holds no JSON object")
    text, end = _closed(reply[start:])
    if "{" in reply[start + end :]:
        raise ValueError("it holds more than one JSON object")
    return json.loads(text)


def _closed(text: str) -> tuple[str, int]:
    """The object that a text begins with, trailing commas dropped and open brackets closed, and where it ended."""
    kept: list[str] = []
    open_: list[str] = []
    position = 0
    for token in re.finditer(r'"(?:[^"\\]|\\.)*"|[{}\[\]]|[^"{}\[\]]+|"', text, re.DOTALL):
        piece, position = token.group(), token.end()
        if piece == '"':
            raise ValueError("it breaks off within a string")
        if piece in "}]":
            if not open_ or open_.pop() != piece:
                raise ValueError(f"{piece!r} closes nothing")
            kept[-1] = re.sub(r",\s*$", "", kept[-1])
        elif piece in "{[":
            open_.append({"{": "}", "[": "]"}[piece])
        kept.append(piece)
        if not open_:
            break
    if open_:
        # The closing fence of a cut-off reply is no JSON.
        kept[-1] = re.sub(r"[,\s`]*$", "", kept[-1])
    return "".join(kept) + "".join(reversed(open_)), position


def _rescaled(weights: dict[str, float]) -> dict[str, float]:
    total = sum(weights.values())
    for whole in (1, 100):
        if abs(total - whole) <= NEARLY * whole:
            return {side: weight / total for side, weight in weights.items()}
    raise ValueError(f"its weights sum to {total:g}, not to 1")
