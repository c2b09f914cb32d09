"""A prompt -> the request that is sent: messages, keys of its stored answer, length in tokens."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection, Mapping, Sequence
from typing import Any, NamedTuple

from pydantic import BaseModel

from kg2rag.compute import EncoderTokens
from kg2rag.llm.dialect import TOKEN_LIMITS, Body
from kg2rag.llm.replies import Outcome
from kg2rag.llm.usage import Usage

Prompt = str | Sequence[Mapping[str, str]]
TEMPLATE_TOKENS = 4
"""The approximate number of template tokens per message, and before the answer."""


class Request(NamedTuple):
    """A request: body, schema of the answer, and keys of a complete and of a cut answer."""

    body: Body
    schema: type[BaseModel] | None
    key: str
    cut_key: str


def request_key(body: Body, again: int = 0, *, cut_at: int | None = None) -> str:
    """The key of the stored answer to a request.

    Only the key of a cut answer includes the token limit: a complete answer is valid under others.
    """
    content: dict[str, Any] = {
        "body": {
            name: value for name, value in body.items() if name not in TOKEN_LIMITS
        }
    }
    if again:
        content["again"] = again
    if cut_at is not None:
        content["cut at"] = cut_at
    text = json.dumps(content, sort_keys=True, ensure_ascii=False)
    return hashlib.sha256(text.encode()).hexdigest()


def prompt_tokens(bodies: Sequence[Body]) -> int:
    """The approximate number of tokens in the prompts of some requests."""
    texts = [message["content"] for body in bodies for message in body["messages"]]
    return sum(EncoderTokens().count(texts)) + TEMPLATE_TOKENS * (
        len(texts) + len(bodies)
    )


def corrected(
    tokens: tuple[int, int], stored_tokens: tuple[int, int], stored: Collection[Outcome]
) -> tuple[int, int]:
    """The estimates of prompt and completion tokens, corrected by the counts of stored outcomes.

    An estimate without counts is unchanged.
    """
    usage = Usage.of(stored)
    counts = usage.prompt_tokens, usage.completion_tokens
    ratios = [
        counted / estimate if counted and estimate else 1
        for counted, estimate in zip(counts, stored_tokens, strict=True)
    ]
    return round(tokens[0] * ratios[0]), round(tokens[1] * ratios[1])


def messages_of(prompt: Prompt) -> list[dict[str, str]]:
    """The messages of a prompt; a text is one user message.

    ValueError: a message lacks its role or content, or has a lone surrogate.
    """
    if isinstance(prompt, str):
        messages = [{"role": "user", "content": prompt}]
    else:
        messages = [dict(message) for message in prompt]
    if not messages or any(
        not {"role", "content"} <= message.keys() for message in messages
    ):
        raise ValueError(
            "A prompt is a text, or at least one message with 'role' and 'content'."
        )
    for message in messages:
        text = message["content"]
        try:
            text.encode()
        except UnicodeEncodeError as error:
            around = text[max(0, error.start - 40) : error.start]
            raise ValueError(
                f"A prompt holds a lone surrogate, which cannot be sent, after {around!r}."
            ) from None
    return messages
