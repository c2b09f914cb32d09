"""One prompt per query -> one validated object per query, or an error that names the query.

For strategies that call a model while they retrieve: a failed answer is no result, so it is raised.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, TypeVar

from pydantic import BaseModel

from kg2rag.compute.llm.model import ChatModel
from kg2rag.compute.llm.outcomes import Completion, CompletionError, Failure
from kg2rag.types import Query

Schema = TypeVar("Schema", bound=BaseModel)


def ask_each(
    model: ChatModel, names: Sequence[str], prompts: Sequence[str], schema: type[Schema], progress: str
) -> list[Completion[Schema]]:
    """The completion of every prompt, sent concurrently; equal prompts are sent once.

    CompletionError names (by `names`: `name_of` of each prompt's query) the first without a completion. The other
    completions are in the model's store.
    """
    found: list[Completion[Schema]] = []
    for name, outcome in zip(names, model.complete_many(prompts, schema, progress=progress), strict=True):
        if isinstance(outcome, Failure):
            raise CompletionError(replace(outcome, reason=f"{name}: {outcome.reason}"))
        found.append(outcome)
    return found


def unusable(name: str, completion: Completion[Any], reason: str) -> CompletionError:
    """The error for an answer that fits its schema but cannot be used."""
    reason = f"{name}: {reason}; the model wrote {completion.text[:200]!r}"
    counts = (completion.prompt_tokens, completion.completion_tokens)
    return CompletionError(Failure("output", reason, completion.attempts, *counts, cached=completion.cached))


def name_of(query: Query) -> str:
    """A query as errors name it."""
    return f"query {query.id!r} ({query.text[:80]!r})"


def quoted(text: str) -> str:
    r"""A text as a JSON string for a prompt, so that its quotes and line breaks are escaped and it can be sent.

    >>> print(quoted("to be\nor not"))
    "to be\nor not"
    """
    sendable = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")  # a lone surrogate is not
    return json.dumps(sendable, ensure_ascii=False)
