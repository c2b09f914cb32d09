"""A prompt, and the schema wanted -> messages and format of a request; its reply -> a completion, or the failure."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, Literal

from pydantic import BaseModel, ValidationError

from kg2rag.compute.llm.connection import Reply, complaints
from kg2rag.compute.llm.json_text import json_in, without_reasoning
from kg2rag.compute.llm.outcomes import Completion, Failure, Outcome

Prompt = str | Sequence[Mapping[str, str]]
Structured = Literal["json_schema", "json_object", "prompt"]


def messages_of(prompt: Prompt) -> list[dict[str, str]]:
    """The messages of a prompt, a text being one user message; ValueError for messages that cannot be sent."""
    messages = [{"role": "user", "content": prompt}] if isinstance(prompt, str) else [dict(m) for m in prompt]
    if not messages or any(not {"role", "content"} <= message.keys() for message in messages):
        raise ValueError("A prompt is a text, or at least one message with 'role' and 'content'.")
    for message in messages:
        text = message["content"]
        try:
            text.encode()
        except UnicodeEncodeError as error:
            around = text[max(0, error.start - 40) : error.start]
            raise ValueError(f"A prompt holds a lone surrogate, which cannot be sent, after {around!r}.") from None
    return messages


def demand(body: dict[str, Any], schema: type[BaseModel], structured: Structured) -> None:
    """Request a schema, in the way that the endpoint supports."""
    described = schema.model_json_schema()
    if structured == "json_schema":
        wanted = {"name": schema.__name__, "schema": described}
        body["response_format"] = {"type": "json_schema", "json_schema": wanted}
        return
    text = f"Answer with one JSON object and nothing else. It must fit this JSON schema: {json.dumps(described)}"
    body["messages"] = [*body["messages"], {"role": "user", "content": text}]
    if structured == "json_object":
        body["response_format"] = {"type": "json_object"}


def read(reply: Reply, schema: type[BaseModel] | None, *, cached: bool) -> Outcome:
    """A reply as a completion, or as the failure to give what was requested."""
    counts = (reply.prompt_tokens, reply.completion_tokens)

    def failed(reason: str) -> Failure:
        return Failure("output", reason, reply.attempts, *counts, cached=cached)

    text = without_reasoning(reply.text)
    if reply.finish_reason == "length":
        return failed("the output was cut off at its token limit; raise max_tokens")
    if reply.finish_reason == "content_filter" or reply.refusal:
        return failed(f"the model refused: {reply.refusal or 'content filter'}")
    if not text.strip():
        return failed("the model wrote no text")
    parsed: BaseModel | None = None
    if schema is not None:
        try:
            value = json_in(text, keys=schema.model_json_schema().get("properties", {}))
            parsed = schema.model_validate_json(json.dumps(value))
        except ValidationError as error:
            return failed(f"the output does not fit {schema.__name__} ({complaints(error)})")
        except ValueError as error:
            return failed(f"{schema.__name__} was asked for, but {error}; the output begins {text[:80]!r}")
    return Completion(text, parsed, *counts, cached, reply.attempts, reply.served_model)
