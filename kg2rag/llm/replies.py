"""The reply of a model -> a `Completion`, perhaps of a schema, or a `Failure`."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any, Generic, Literal, TypeVar

from pydantic import BaseModel, ValidationError

from kg2rag.llm.json_text import json_in, whole_items, without_reasoning
from kg2rag.types import UnansweredError

Parsed = TypeVar("Parsed", covariant=True)

Kind = Literal[
    "timeout",
    "connection",
    "rate limit",
    "server",
    "response",
    "request",
    "access",
    "limit",
    "output",
]


@dataclass(frozen=True, slots=True)
class Completion(Generic[Parsed]):
    """One answer of a model.

    Attributes
    ----------
    text : the answer without a leading `<think>` block.
    parsed : the object of the requested schema; None without a schema.
    prompt_tokens, completion_tokens : the counts of the endpoint; None if it did not report them.
    cached : whether it was in the store, or an equal prompt came earlier in the same call.
    attempts : the number of requests sent for it, at least 1.
    cut : whether it ends at its limit of tokens; `parsed` then has the whole items before the end.
    seconds : the time from the request to the last byte; None if unknown.
    """

    text: str
    parsed: Parsed
    prompt_tokens: int | None
    completion_tokens: int | None
    cached: bool
    attempts: int
    cut: bool = False
    seconds: float | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True)
class Failure:
    """The reason why a prompt has no completion.

    Attributes
    ----------
    kind : "timeout", "connection", "rate limit" (429), "server" (5xx) and "response" (no chat completion) outlasted all
        retries; "request" was refused (other 4xx); "access" is a wrong key, address or model name; "limit" means that
        it was not sent, since it could go beyond a limit of spending; "output", that the model answered something else
        than was requested. Only "output" is stored: the same prompt would get the same answer at the same price.
    reason : one sentence; never holds an API key. `cause` : its part that does not depend on the prompt.
    prompt_tokens, completion_tokens : of an answer that was paid for but is unusable; 0 if there was none. `seconds` :
        as `Completion` has them.
    """

    kind: Kind
    reason: str
    attempts: int = 1
    prompt_tokens: int | None = 0
    completion_tokens: int | None = 0
    cached: bool = False
    cause: str = ""
    seconds: float | None = field(default=None, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "cause", self.cause or self.reason.partition(";")[0])

    def __str__(self) -> str:
        unit = "attempt" if self.attempts == 1 else "attempts"
        return f"{self.kind}: {self.reason} ({self.attempts} {unit})"


class CompletionError(RuntimeError):
    """A prompt has no completion; `failure` gives the reason."""

    def __init__(self, failure: Failure) -> None:
        super().__init__(str(failure))
        self.failure = failure

    def __reduce__(self) -> tuple[type[CompletionError], tuple[Failure]]:
        return type(self), (self.failure,)


class UnansweredQueryError(CompletionError, UnansweredError):
    """A prompt about a query has no usable answer; `cause` is the reason without the query."""

    def __init__(self, failure: Failure) -> None:
        super().__init__(failure)
        self.cause = f"{failure.kind}: {failure.cause}"


Outcome = Completion[Any] | Failure


class Reply(BaseModel):
    """The stored part of an answer; `seconds` from the request to its last byte."""

    text: str
    finish_reason: str | None
    refusal: str | None
    prompt_tokens: int | None
    completion_tokens: int | None
    attempts: int
    max_tokens: int | None = None
    seconds: float | None = None

    @property
    def is_cut(self) -> bool:
        """Whether the answer ends at its limit of tokens."""
        return self.finish_reason == "length"

    def is_valid(self, max_tokens: int | None) -> bool:
        """Whether the answer is valid under a limit: complete within it, or cut at it."""
        if self.is_cut:
            return self.max_tokens == max_tokens
        return (
            max_tokens is None
            or self.completion_tokens is None
            or self.completion_tokens <= max_tokens
        )


def read_reply(
    reply: Reply, schema: type[BaseModel] | None, *, cached: bool
) -> Outcome:
    """The outcome of a reply: a completion, or a failure to give the requested form."""
    text = without_reasoning(reply.text)
    counts = (reply.prompt_tokens, reply.completion_tokens)
    parsed: BaseModel | None = None
    reason = _fault_of(reply, text)
    if not reason and schema is not None:
        try:
            parsed = parsed_reply(text, schema, cut=reply.is_cut)
        except ValueError as error:
            reason = cut_reason(reply.max_tokens) if reply.is_cut else str(error)
    elif not reason and reply.is_cut:
        reason = cut_reason(reply.max_tokens)
    if reason:
        return Failure(
            "output",
            reason,
            reply.attempts,
            *counts,
            cached=cached,
            seconds=reply.seconds,
        )
    return Completion(
        text,
        parsed,
        *counts,
        cached,
        reply.attempts,
        cut=reply.is_cut,
        seconds=reply.seconds,
    )


def _fault_of(reply: Reply, text: str) -> str:
    """The fault of a reply that does not depend on the requested form; "" for none."""
    if reply.finish_reason == "content_filter" or reply.refusal:
        return f"the model refused: {reply.refusal or 'content filter'}"
    if text.strip():
        return ""
    return cut_reason(reply.max_tokens) if reply.is_cut else "the model wrote no text"


def cut_reason(max_tokens: int | None) -> str:
    """The reason of a failure whose answer was cut at `max_tokens`, with the remedy."""
    limit = "its limit" if max_tokens is None else f"its limit of {max_tokens:,} tokens"
    return (
        f"the output was cut off at {limit}; raise max_tokens, which sends only such prompts again, or ask again with "
        "retry_failed (--retry-failed), which doubles it for them"
    )


def parsed_reply(text: str, schema: type[BaseModel], *, cut: bool) -> BaseModel:
    """The object of a schema in a text; with `cut`, from the whole items before its end.

    ValueError: the text has no such object.
    """
    try:
        value = whole_items(text, schema) if cut else json_in(text)
    except ValueError as error:
        raise ValueError(
            f"{schema.__name__} was asked for, but {error}; the output begins {text[:80]!r}"
        ) from None
    try:
        return schema.model_validate_json(json.dumps(value))
    except ValidationError as error:
        faults = error.errors(
            include_input=False, include_url=False, include_context=False
        )[:3]
        descriptions = "; ".join(
            f"{'.'.join(map(str, fault['loc'])) or 'all'}: {fault['msg']}"
            for fault in faults
        )
        raise ValueError(
            f"the output does not fit {schema.__name__} ({descriptions})"
        ) from None
