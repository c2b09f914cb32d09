"""One prompt a query -> one checked object a query, or an error that names the query.

For what a strategy asks a model on the way to a ranking: there a failed answer has no place, so it is raised.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, TypeVar

from pydantic import BaseModel

from kg2rag.compute.llm.model import ChatModel
from kg2rag.compute.llm.outcomes import Completion, CompletionError, Failure
from kg2rag.types.passages import Query

Schema = TypeVar("Schema", bound=BaseModel)


def ask_each(
    model: ChatModel, names: Sequence[str], prompts: Sequence[str], schema: type[Schema], progress: str
) -> list[Completion[Schema]]:
    """The completion of every prompt, all asked at once; equal prompts are asked once.

    Parameters
    ----------
    names : what an error calls the query that a prompt is about, such as `name_of(query)`.
    progress : the word before the progress bar.

    Raises
    ------
    CompletionError : the first query, in the order given, that has no completion is named. Those that have one are in
        the model's store all the same.
    """
    found: list[Completion[Schema]] = []
    for name, outcome in zip(names, model.complete_many(prompts, schema, progress=progress), strict=True):
        if isinstance(outcome, Failure):
            raise CompletionError(replace(outcome, reason=f"{name}: {outcome.reason}"))
        found.append(outcome)
    return found


def unusable(name: str, completion: Completion[Any], reason: str) -> CompletionError:
    """The error for an answer that fits its schema and is of no use all the same."""
    told = f"{name}: {reason}; the model wrote {completion.text[:200]!r}"
    counts = (completion.prompt_tokens, completion.completion_tokens)
    return CompletionError(Failure("output", told, completion.attempts, *counts, cached=completion.cached))


def name_of(query: Query) -> str:
    """A query as errors name it."""
    return f"query {query.id!r} ({query.text[:80]!r})"


def quoted(text: str) -> str:
    r"""A text as a JSON string, for prompts: its quotes and line breaks end nothing, and it can always be sent.

    >>> print(quoted("to be\nor not"))
    "to be\nor not"
    """
    sendable = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")  # a lone surrogate is not
    return json.dumps(sendable, ensure_ascii=False)
