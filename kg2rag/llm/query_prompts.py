"""Prompts about queries -> their completions, for linker, reranker and analyser."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeVar

from pydantic import BaseModel

from kg2rag.compute import Store
from kg2rag.compute.endpoint import endpoint_of
from kg2rag.llm.chat_model import ChatModel
from kg2rag.llm.dialect import Structured
from kg2rag.llm.replies import Completion, Failure, UnansweredQueryError
from kg2rag.types import Query

Schema = TypeVar("Schema", bound=BaseModel)


def chat_model(
    name: str,
    store: Store,
    max_tokens: int | None,
    concurrency: int | None,
    timeout: float,
    structured: Structured,
    body: Mapping[str, Any] | None,
) -> ChatModel:
    """The model named by `llm(MODEL@BASE_URL, max_tokens=…, …)`; `body` is `ChatModel.extra`."""
    model, base_url = endpoint_of(name, "llm(MODEL@BASE_URL)")
    return ChatModel(
        base_url,
        model,
        max_tokens=max_tokens,
        concurrency=concurrency,
        timeout=timeout,
        structured=structured,
        extra=body or {},
        store=store,
    )


def ask_each(
    model: ChatModel,
    names: Sequence[str],
    prompts: Sequence[str],
    schema: type[Schema] | Sequence[type[Schema]],
    progress: str,
) -> list[Completion[Schema]]:
    """The completion of each prompt about a query; the prompts are sent concurrently.

    UnansweredQueryError names the first query without a completion. `names` : the name of the query of
    each prompt, see `name_of`.
    """
    completions: list[Completion[Schema]] = []
    outcomes = model.complete_many(prompts, schema, progress=progress)
    for name, outcome in zip(names, outcomes, strict=True):
        if isinstance(outcome, Failure):
            raise UnansweredQueryError(
                replace(outcome, reason=f"{name}: {outcome.reason}")
            )
        completions.append(outcome)
    return completions


def unusable(
    name: str, completion: Completion[Any], cause: str
) -> UnansweredQueryError:
    """The error for an answer that fits its schema but cannot be used."""
    reason = f"{name}: {cause}; the model wrote {completion.text[:200]!r}"
    counts = (completion.prompt_tokens, completion.completion_tokens)
    failure = Failure(
        "output",
        reason,
        completion.attempts,
        *counts,
        cached=completion.cached,
        cause=cause,
    )
    return UnansweredQueryError(failure)


def name_of(query: Query) -> str:
    """The name of a query in errors."""
    return f"query {query.id!r} ({query.text[:80]!r})"
