"""The reply of a model -> a `Completion`, perhaps of a schema, or a `Failure`; their cost.

Small models wrap JSON in fences and prose, and write trailing commas: json-repair reads it, pydantic
validates it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, Literal, TypeVar, cast

from pydantic import BaseModel, ValidationError

from kg2rag.types import UnansweredError

Parsed = TypeVar("Parsed", covariant=True)
Number = TypeVar("Number", int, float)

# Tokens of prompts and of completions; None for unknown ones.
Pair = tuple[int | None, int | None]
# Prices per million prompt and completion tokens; None for unknown ones.
Prices = tuple[float | None, float | None]
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
    text : the answer without a leading `<think>` block. parsed : the object of the requested schema, if one was.
    prompt_tokens, completion_tokens : as counted by the endpoint; None if it did not report them.
    cached : True if it was in the store, or an equal prompt came earlier in the same call.
    attempts : requests sent when it was bought, at least 1.
    cut : True if it ends at its limit of tokens; `parsed` then has the whole items before the end.
    seconds : from the request to the last byte; None if unknown.
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
        return f"{self.kind}: {self.reason} ({self.attempts} attempt{'s' * (self.attempts != 1)})"


class CompletionError(RuntimeError):
    """A prompt has no completion; `failure` gives the reason."""

    def __init__(self, failure: Failure) -> None:
        super().__init__(str(failure))
        self.failure = failure

    def __reduce__(self) -> tuple[type[CompletionError], tuple[Failure]]:
        return CompletionError, (self.failure,)


class UnansweredQueryError(CompletionError, UnansweredError):
    """A prompt about a query has no usable answer; `cause` is the reason without the query."""

    def __init__(self, failure: Failure) -> None:
        super().__init__(failure)
        self.cause = f"{failure.kind}: {failure.cause}"

    def __reduce__(self) -> tuple[type[UnansweredQueryError], tuple[Failure]]:
        return UnansweredQueryError, (self.failure,)


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
    """The fault of a reply apart from its text's form; "" for none."""
    if reply.finish_reason == "content_filter" or reply.refusal:
        return f"the model refused: {reply.refusal or 'content filter'}"
    if text.strip():
        return ""
    return cut_reason(reply.max_tokens) if reply.is_cut else "the model wrote no text"


def cut_reason(max_tokens: int | None) -> str:
    """The fault of a cut answer, and the remedy."""
    limit = "its limit" if max_tokens is None else f"its limit of {max_tokens:,} tokens"
    return (
        f"the output was cut off at {limit}; raise max_tokens, which sends only such prompts again, or ask again with "
        "retry_failed (--retry-failed), which doubles it for them"
    )


def parsed_reply(text: str, schema: type[BaseModel], *, cut: bool) -> BaseModel:
    """The object of a schema in a text, or the complete items of a cut one; ValueError."""
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
        told = "; ".join(
            f"{'.'.join(map(str, fault['loc'])) or 'all'}: {fault['msg']}"
            for fault in faults
        )
        raise ValueError(
            f"the output does not fit {schema.__name__} ({told})"
        ) from None


def whole_items(text: str, schema: type[BaseModel]) -> Any:
    """The JSON of a cut answer up to its last complete item; missing lists are empty.

    ValueError if it has no whole item.
    """
    begun, closing = _whole_part(text)
    value = json_in(begun + closing) if begun else None
    if isinstance(value, dict):
        properties = schema.model_json_schema()["properties"]
        lists = {
            name: value.get(name, [])
            for name, part in properties.items()
            if part.get("type") == "array"
        }
        value = value | lists if any(lists.values()) else None
    if not value:
        raise ValueError(
            "it was cut off at its limit of tokens before its first whole item"
        )
    return value


_STRING_OR_BRACKET = re.compile(r'"(?:[^"\\]|\\.)*(?:"|$)|[][{}]', re.DOTALL)
_CLOSING = {"{": "}", "[": "]"}
_ITEM_LEVELS = ("]", "]}")
"""The closing brackets after an item of a list, or of a list that is a field of an object."""


def _whole_part(text: str) -> tuple[str, str]:
    """A text from its first bracket to its last complete item, and the closing brackets.

    An item is a string, a list or an object.
    """
    start = end = min(
        (text.index(bracket) for bracket in _CLOSING if bracket in text),
        default=len(text),
    )
    closing = closing_at_end = ""
    for part in _STRING_OR_BRACKET.finditer(text, start):
        symbol = part[0]
        if symbol in _CLOSING:
            if not closing:
                start = part.start()
            closing = _CLOSING[symbol] + closing
            continue
        if symbol == closing[:1]:
            closing = closing[1:]
        if closing in _ITEM_LEVELS and symbol[-1] in '"]}':
            end, closing_at_end = part.end(), closing
    return text[start:end], closing_at_end


def without_reasoning(text: str) -> str:
    """A text without a leading `<think>` block, whose opening tag may be missing."""
    thought, end, answer = text.partition("</think>")
    if not end or "<think>" in thought.lstrip().removeprefix("<think>"):
        return text
    return answer.lstrip()


def json_in(text: str) -> Any:
    """The last JSON object or list in a text, repaired; ValueError: it is cut off.

    >>> json_in("Sure! {'answer': 'Paris', 'sure': True,} Anything else?")
    {'answer': 'Paris', 'sure': True}
    """
    try:
        try:
            return json.loads(text)
        except ValueError:
            unclosed = text.count("{") - text.count("}")
            within = unclosed == 1 and text.rstrip("` \n,")[-1:] not in (
                '"',
                "'",
                "]",
                "}",
            )
            if text.count("[") > text.count("]") or unclosed > 1 or within:
                raise ValueError("its JSON is cut off") from None
            import json_repair

            value = json_repair.loads(text)
    except RecursionError:
        raise ValueError("its JSON is nested too deeply") from None
    if not isinstance(value, dict | list):
        raise ValueError("it holds no JSON object")
    return value


def quoted(text: str) -> str:
    """A text as a JSON string for a prompt, with escaped quotes and line breaks."""
    # Lone surrogates cannot be sent.
    sendable = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return json.dumps(sendable, ensure_ascii=False)


@dataclass(frozen=True, slots=True)
class Usage:
    """The totals of some outcomes, cached ones included; None if a count or price is unknown.

    `new_cost` is the part of `cost` for answers that were not cached: the cost of this call.
    """

    calls: int
    cached: int
    failed: int
    prompt_tokens: int | None
    completion_tokens: int | None
    cost: float | None
    new_cost: float | None

    @classmethod
    def of(cls, outcomes: Iterable[Outcome], prices: Prices = (None, None)) -> Usage:
        """The sum over outcomes at prices per million tokens."""
        calls = list(outcomes)
        new = [outcome for outcome in calls if not outcome.cached]
        failed = sum(isinstance(outcome, Failure) for outcome in calls)
        tokens = _tokens(calls)
        costs = cost_of(tokens, prices), cost_of(_tokens(new), prices)
        return cls(len(calls), len(calls) - len(new), failed, *tokens, *costs)

    def __str__(self) -> str:
        tokens = _in_words((self.prompt_tokens, self.completion_tokens))
        cost = (
            ""
            if self.cost is None
            else f", cost {self.cost:.4f} ({self.new_cost:.4f} new)"
        )
        return f"{self.calls} calls ({self.cached} cached, {self.failed} failed), {tokens}{cost}"


def _tokens(outcomes: Sequence[Outcome]) -> Pair:
    return (
        sum_known([outcome.prompt_tokens for outcome in outcomes]),
        sum_known([outcome.completion_tokens for outcome in outcomes]),
    )


def _in_words(tokens: Pair) -> str:
    return " + ".join("?" if n is None else f"{n:,}" for n in tokens) + " tokens"


def sum_known(values: Sequence[Number | None]) -> Number | None:
    """The sum of values; None if one is unknown."""
    if None in values:
        return None
    return cast("Number", sum(values))


def cost_of(tokens: Pair, prices: Prices) -> float | None:
    """The cost of tokens at prices per million; None if a number or a price is unknown."""
    known = [
        n * price
        for n, price in zip(tokens, prices, strict=True)
        if n is not None and price is not None
    ]
    if len(known) < len(prices):
        return None
    return sum(known) / 1e6


@dataclass(frozen=True, slots=True)
class CallPlan:
    """The estimated cost of some prompts.

    Attributes
    ----------
    calls : requests to send. stored : prompts whose answers are in the store.
    prompt_tokens, completion_tokens : of the requests to send; None if the endpoint counts none.
    seconds : of all of them, from the times of stored answers; None if there are none.
    cost : None if a price is unknown.
    """

    calls: int
    stored: int
    prompt_tokens: int | None
    completion_tokens: int | None
    seconds: float | None
    cost: float | None

    def __add__(self, other: CallPlan) -> CallPlan:
        """The sum of two plans."""
        return CallPlan(
            self.calls + other.calls,
            self.stored + other.stored,
            sum_known([self.prompt_tokens, other.prompt_tokens]),
            sum_known([self.completion_tokens, other.completion_tokens]),
            sum_known([self.seconds, other.seconds]),
            sum_known([self.cost, other.cost]),
        )

    def __str__(self) -> str:
        tokens = _in_words((self.prompt_tokens, self.completion_tokens))
        cost = (
            "unknown (no prices given)"
            if self.cost is None
            else f"about {self.cost:.2f}"
        )
        calls = f"{self.calls:,} call{'' if self.calls == 1 else 's'}"
        return f"{calls}, about {tokens}, {duration(self.seconds)}, cost {cost}; {self.stored:,} answers are stored"


def duration(seconds: float | None) -> str:
    """A duration in words, to a minute or an hour."""
    if seconds is None:
        return "time unknown until answers are stored"
    if seconds < 90:
        return f"about {seconds:.0f} seconds"
    if seconds < 5400:
        return f"about {seconds / 60:.0f} minutes"
    return f"about {seconds / 3600:.1f} hours"
