"""A prompt, and the schema wanted -> the messages and the response format of a request body."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, Literal

from pydantic import BaseModel

Prompt = str | Sequence[Mapping[str, str]]
Structured = Literal["json_schema", "json_object", "prompt"]


def messages_of(prompt: Prompt) -> list[dict[str, str]]:
    """The messages of a prompt, a text being one user message; ValueError for messages that cannot be sent."""
    messages = [{"role": "user", "content": prompt}] if isinstance(prompt, str) else [dict(m) for m in prompt]
    if not messages or any(not {"role", "content"} <= message.keys() for message in messages):
        raise ValueError("A prompt is a text, or at least one message with 'role' and 'content'.")
    for message in messages:
        _check_unicode(message["content"])
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


def _check_unicode(text: str) -> None:
    try:
        text.encode()
    except UnicodeEncodeError as error:
        around = text[max(0, error.start - 40) : error.start]
        raise ValueError(f"A prompt holds a lone surrogate, which cannot be sent, after {around!r}.") from None
