"""The body of a reply -> a chat completion: one JSON object, or a stream of server-sent events."""

from __future__ import annotations

import re
from typing import Annotated, Any

from pydantic import AliasPath, BaseModel, BeforeValidator, Field, NonNegativeInt

from kg2rag.compute.endpoint import EndpointError

END_MARK = "[DONE]"
"""The last event of a stream."""


def _joined_parts(content: Any) -> Any:
    """The joined texts of a content that is a list of parts; parts of reasoning have none."""
    if not isinstance(content, list):
        return content
    return "".join(part.get("text") or "" for part in content if isinstance(part, dict))


Content = Annotated[str | None, BeforeValidator(_joined_parts)]


def _at(*path: str | int) -> Any:
    """A field with the value at a path of the record; None without one."""
    return Field(default=None, validation_alias=AliasPath(*path))  # type: ignore[arg-type]


class Answer(BaseModel):
    """The first choice of a chat completion."""

    message: dict[str, Any] = Field(
        validation_alias=AliasPath("choices", 0, "message"), exclude=True
    )
    text: Content = _at("choices", 0, "message", "content")
    refusal: str | None = _at("choices", 0, "message", "refusal")
    finish_reason: str | None = _at("choices", 0, "finish_reason")
    prompt_tokens: NonNegativeInt | None = _at("usage", "prompt_tokens")
    completion_tokens: NonNegativeInt | None = _at("usage", "completion_tokens")


class _Event(BaseModel):
    """An event of a streamed chat completion; the last one with a choice has the `finish_reason`."""

    error: Any = None
    content: Content = _at("choices", 0, "delta", "content")
    refusal: str | None = _at("choices", 0, "delta", "refusal")
    finish_reason: str | None = _at("choices", 0, "finish_reason")
    usage: dict[str, Any] | None = None


class InterruptedStreamError(EndpointError):
    """A stream has its end mark before the answer ends.

    The server of llama-cpp-python interrupts a streamed answer when another request arrives.
    """

    def __init__(self) -> None:
        super().__init__("", "response", "the stream ends before the answer does")


def read_answer(content: bytes, events: bool) -> Answer:
    """The answer in a response body; `events` means that it is a stream of events.

    ValueError: it is no chat completion, or a stream that was cut off.
    """
    if not events:
        return Answer.model_validate_json(content)
    return Answer.model_validate(joined_events(content.decode("utf-8", "replace")))


def joined_events(stream: str) -> dict[str, Any]:
    """The chat completion of a stream of server-sent events, as the record of an unstreamed one.

    ValueError: the stream was cut off. InterruptedStreamError: the endpoint ended it too early.
    """
    events, has_end_mark = _events_in(stream)
    finish_reason = _last(events, "finish_reason")
    if _last(events, "error") or not (finish_reason or has_end_mark):
        raise ValueError("the stream holds an error, or was cut off")
    if not finish_reason:
        raise InterruptedStreamError
    message = {
        "content": _joined(events, "content"),
        "refusal": _joined(events, "refusal") or None,
    }
    usage = _last(events, "usage") or {}
    return {
        "choices": [{"message": message, "finish_reason": finish_reason}],
        "usage": usage,
    }


def _events_in(stream: str) -> tuple[list[_Event], bool]:
    """The events of a stream, and whether it has its end mark."""
    lines = re.split(r"\r\n|\n|\r", stream)
    parts = [
        line.removeprefix("data:").strip() for line in lines if line.startswith("data:")
    ]
    return [
        _Event.model_validate_json(part) for part in parts if part != END_MARK
    ], END_MARK in parts


def _joined(events: list[_Event], name: str) -> str:
    """The text of a field in all events."""
    return "".join(getattr(event, name) or "" for event in events)


def _last(events: list[_Event], name: str) -> Any:
    """The last value of a field among the events; None if no event has one."""
    return next(
        (getattr(event, name) for event in reversed(events) if getattr(event, name)),
        None,
    )
