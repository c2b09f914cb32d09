"""One request body -> one `Reply` of an endpoint, within limits of requests and money.

A request is changed where an endpoint refuses it for its form: a parameter is renamed or left out,
the schema is requested in another way, the system message goes into the first message of the user.
What an endpoint was seen to take is remembered in this process. Replies are streamed, so that the
time-out is the time between two bytes.
"""

from __future__ import annotations

import json
import re
import threading
import time
import warnings
from dataclasses import dataclass, field, replace
from typing import Annotated, Any, Literal

from pydantic import AliasPath, BaseModel, BeforeValidator, Field, NonNegativeInt

from kg2rag.compute.endpoint import MAX_REPLY_BYTES, Endpoint, EndpointError, Exchange
from kg2rag.llm.replies import CompletionError, Failure, Prices, Reply, cost_of
from kg2rag.types import Count, above, check

Structured = Literal["json_schema", "json_object", "prompt"]
Body = dict[str, Any]

FORMS = ("json_schema", "json_object with schema", "json_object", "prompt")
"""How a schema is requested, the strictest first; the second is that of llama-cpp-python and some hosted services."""
BASE_BYTES = 256 << 10
BYTES_PER_TOKEN = 4 << 10
"""Of a reply, at most: a streamed token has some 300 bytes around it."""
MAX_CHANGES = 8
_END_MARK = "[DONE]"
"""Of a stream of events."""
TOKEN_LIMITS = ("max_tokens", "max_completion_tokens")
"""Fields of a request that limit the tokens of its answer; an endpoint takes one of them."""
_OPTIONAL = ("temperature", "seed", "stream_options")
"""What is left out of a request where an endpoint refuses it by name."""
_FORMAT_WORDS = re.compile(
    r"response_format|json_schema|json_object|json mode|grammar|guided|schema", re.IGNORECASE
)
_SYSTEM_WORDS = re.compile(
    r"system role|system message|roles must alternate|only user and assistant", re.IGNORECASE
)


class SpendingLimitError(RuntimeError):
    """One more request could go beyond a limit."""


class AdaptedRequestWarning(UserWarning):
    """An endpoint refused a request for its form, and was sent another."""


@dataclass(eq=False)
class Spending:
    """What a process may spend on language models; shared by all models of it that are given it.

    Parameters
    ----------
    max_calls : requests sent, retries included; `calls` so far.
    max_cost : in the currency of the models' prices; `cost` so far. A request on its way, and one without an answer,
        such as one that timed out, counts at the most that it can cost. One that was refused (HTTP 4xx, 5xx) is free.
    """

    max_calls: Count | None = None
    max_cost: float | None = None
    calls: int = field(default=0, init=False)
    cost: float = field(default=0.0, init=False)

    def __post_init__(self) -> None:
        check(self, max_cost=above(0))
        self._lock = threading.Lock()

    def reserve(self, most: float) -> None:
        """Count a request at the most that it can cost; SpendingLimitError if that could go beyond a limit."""
        with self._lock:
            if self.max_calls is not None and self.calls >= self.max_calls:
                raise SpendingLimitError(f"the limit of {self.max_calls:,} calls is reached")
            if self.max_cost is not None and self.cost + most > self.max_cost:
                raise SpendingLimitError(
                    f"a call of up to {most:.6g} could go beyond the cost limit of {self.max_cost:g}: "
                    f"{self.cost:.6g} is spent or on its way"
                )
            self.calls += 1
            self.cost += most

    def settle(self, most: float, cost: float) -> None:
        """Replace the reservation of a request, `most`, by its cost."""
        with self._lock:
            self.cost += cost - most


def most_of(body: bytes, prices: Prices) -> float:
    """The most that a request can cost: a token has at least a byte, and the answer `max_tokens` at most.

    ValueError if nobody can know.
    """
    request = json.loads(body)
    limit = token_limit(request)
    if limit is None:
        raise ValueError(
            "A limit of cost needs max_tokens: without it, an answer may cost anything."
        )
    most = cost_of((len(body), limit * request.get("n", 1)), prices)
    if most is None:
        raise ValueError(
            "A limit of cost needs both prices of the model: prompt_price and completion_price."
        )
    return most


def token_limit(body: Body) -> int | None:
    """The limit of an answer's tokens in a request body, None for none."""
    limits = [body[name] for name in TOKEN_LIMITS if body.get(name) is not None]
    return max(limits, default=None)


def _joined_parts(content: Any) -> Any:
    """The text of an answer that is a list of parts; what the model thought is none."""
    if not isinstance(content, list):
        return content
    return "".join(part.get("text") or "" for part in content if isinstance(part, dict))


Content = Annotated[str | None, BeforeValidator(_joined_parts)]


def _at(*path: str | int) -> Any:
    return Field(default=None, validation_alias=AliasPath(*path))  # type: ignore[arg-type]


class _Answer(BaseModel):
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
    """An event of a streamed chat completion; the last choice of a stream has the reason why it ends."""

    error: Any = None
    content: Content = _at("choices", 0, "delta", "content")
    refusal: str | None = _at("choices", 0, "delta", "refusal")
    finish_reason: str | None = _at("choices", 0, "finish_reason")
    usage: dict[str, Any] | None = None


class InterruptedStreamError(EndpointError):
    """A stream has its end mark before the answer ends.

    The server of llama-cpp-python breaks off the answer that it streams where another request
    comes.
    """

    def __init__(self) -> None:
        super().__init__("", "response", "the stream ends before the answer does")


def read_answer(content: bytes, events: bool) -> _Answer:
    """A chat completion, whole or as a stream of events; ValueError for anything else, and for a stream cut off."""
    if not events:
        return _Answer.model_validate_json(content)
    return _Answer.model_validate(joined_events(content.decode("utf-8", "replace")))


def joined_events(stream: str) -> dict[str, Any]:
    """The chat completion that a stream of server-sent events adds up to.

    ValueError for one that was cut off, InterruptedStreamError for one that the endpoint ended too
    early.
    """
    events, has_end_mark = _events_in(stream)
    finish_reason = _last(events, "finish_reason")
    if _last(events, "error") or not (finish_reason or has_end_mark):
        raise ValueError("the stream holds an error, or was cut off")
    if not finish_reason:
        raise InterruptedStreamError
    message = {"content": _joined(events, "content"), "refusal": _joined(events, "refusal") or None}
    usage = _last(events, "usage") or {}
    return {"choices": [{"message": message, "finish_reason": finish_reason}], "usage": usage}


def _events_in(stream: str) -> tuple[list[_Event], bool]:
    """The events of a stream, and whether it has its end mark."""
    lines = re.split(r"\r\n|\n|\r", stream)
    parts = [line.removeprefix("data:").strip() for line in lines if line.startswith("data:")]
    return [
        _Event.model_validate_json(part) for part in parts if part != _END_MARK
    ], _END_MARK in parts


def _joined(events: list[_Event], name: str) -> str:
    """The text of a field in all events."""
    return "".join(getattr(event, name) or "" for event in events)


def _last(events: list[_Event], name: str) -> Any:
    """The last value that a field has in an event; None if it has none."""
    return next((getattr(event, name) for event in reversed(events) if getattr(event, name)), None)


class _ChatExchange(Exchange[_Answer]):
    """A chat completion whose requests are counted against limits of spending."""

    def __init__(self, body: Body, spending: Spending | None, prices: Prices) -> None:
        limit = token_limit(body)
        max_bytes = MAX_REPLY_BYTES
        if limit is not None:
            max_bytes = min(max_bytes, BASE_BYTES + BYTES_PER_TOKEN * limit * body.get("n", 1))
        super().__init__(read_answer, max_bytes)
        self.spending, self.prices = spending or Spending(), prices
        self.most = 0.0

    def before(self, body: bytes) -> None:
        if self.spending.max_cost is not None:
            self.most = most_of(body, self.prices)
        self.spending.reserve(self.most)

    def after(self, reply: _Answer | None, *, refused: bool) -> None:
        if refused:
            self.spending.settle(self.most, 0.0)
        elif reply is not None:
            cost = cost_of((reply.prompt_tokens, reply.completion_tokens), self.prices)
            if cost is not None:
                self.spending.settle(self.most, cost)

    def is_whole(self, content: bytearray) -> bool:
        return content.rstrip().endswith(_END_MARK.encode())

    def is_final(self, message: str) -> bool:
        return bool(_FORMAT_WORDS.search(message) or _SYSTEM_WORDS.search(message))


@dataclass(frozen=True)
class Dialect:
    """How a request must be changed for an endpoint.

    `left_out` : fields that it refuses. `streams` : whether answers are streamed. `form` : how a schema is requested,
    as an index of `FORMS`; an earlier form is never taken. `renames_limit` : `max_tokens` is called
    `max_completion_tokens`. `merges_system` : the system message is put before the first message of the user.
    `is_proved` : the form has led to an answer. `has_guessed` : another form was tried for an error that does not name
    the form.
    """

    left_out: frozenset[str] = frozenset()
    streams: bool = True
    form: int = 0
    renames_limit: bool = False
    merges_system: bool = False
    is_proved: bool = False
    has_guessed: bool = False

    def applied(self, body: Body) -> Body:
        """A request in this dialect, streamed unless `stream` is false in it."""
        sent = dict(body)
        if self.streams and body.get("stream", True):
            sent |= {"stream": True, "stream_options": {"include_usage": True}}
        if self.form:
            sent = in_form(sent, FORMS[self.form])
        if self.renames_limit and "max_tokens" in sent:
            sent["max_completion_tokens"] = sent.pop("max_tokens")
        if self.merges_system:
            sent["messages"] = without_system(sent["messages"])
        return {name: value for name, value in sent.items() if name not in self.left_out}

    def changed(self, error: EndpointError, sent: Body) -> Dialect | None:
        """The dialect to try after a refusal; None if there is no other."""
        if isinstance(error, InterruptedStreamError):
            return replace(self, streams=False)
        if error.kind not in ("request", "server"):
            return None
        message = error.reason
        if "max_tokens" in sent and "max_completion_tokens" in message:
            return replace(self, renames_limit=True)
        for name in _OPTIONAL:
            if name in sent and name in message:
                return replace(self, left_out=self.left_out | {name})
        if _SYSTEM_WORDS.search(message) and not self.merges_system:
            return replace(self, merges_system=True)
        return self._next_form(message, sent)

    def _next_form(self, message: str, sent: Body) -> Dialect | None:
        if "response_format" not in sent:
            return None
        wanted = sent["response_format"]
        current = FORMS.index(wanted["type"])
        if wanted["type"] == "json_object" and "schema" in wanted:
            current = FORMS.index("json_object with schema")
        if _FORMAT_WORDS.search(message):
            return replace(self, form=current + 1)
        if self.is_proved or self.has_guessed:
            return None
        return replace(self, form=current + 1, has_guessed=True)

    def described(self) -> str:
        """What the endpoint refused, in words."""
        changes = [f"{name} is left out" for name in sorted(self.left_out)]
        if not self.streams:
            changes.append(
                "answers are not streamed, since it breaks one off where another request comes"
            )
        if self.renames_limit:
            changes.append("max_tokens is sent as max_completion_tokens")
        if self.merges_system:
            changes.append("the system message is put before the user's")
        if self.form:
            changes.append(f"JSON is requested by {FORMS[self.form]}")
        return ", ".join(changes)


_DIALECTS: dict[tuple[str, str], Dialect] = {}
"""Address and model -> what was seen to work in this process."""


class Connection:
    """A client of one model; `spending` is asked before each request, retries included."""

    def __init__(self, endpoint: Endpoint, spending: Spending | None, prices: Prices) -> None:
        self.endpoint, self.spending, self.prices = endpoint, spending, prices

    def ask(self, body: Body) -> Reply:
        """The reply to a request, with the client's retries; CompletionError if there is no usable one."""
        name = (self.endpoint.base_url, body["model"])
        former = dialect = _DIALECTS.get(name, Dialect())
        failure: Failure | None = None
        attempts = 0
        for _ in range(MAX_CHANGES):
            sent = dialect.applied(body)
            exchange = _ChatExchange(sent, self.spending, self.prices)
            try:
                reply = self._reply(sent, exchange)
            except SpendingLimitError as error:
                failure = Failure("limit", str(error))
                attempts += exchange.attempts
                break
            except EndpointError as error:
                attempts += exchange.attempts
                if failure is None or not dialect.has_guessed:
                    failure = _failure(error)
                changed = dialect.changed(error, sent)
                if changed is None:
                    break
                dialect = changed
            else:
                _remember(name, former, dialect)
                return reply.model_copy(update={"attempts": attempts + exchange.attempts})
        if dialect.has_guessed:
            _DIALECTS[name] = replace(former, has_guessed=True)
        assert failure is not None
        raise CompletionError(replace(failure, attempts=attempts)) from None

    def _reply(self, sent: Body, exchange: _ChatExchange) -> Reply:
        started = time.monotonic()
        answer = self.endpoint.send("chat/completions", sent, exchange)
        hidden = self.endpoint.client.hidden
        return Reply(
            text=hidden(answer.text or ""),
            finish_reason=answer.finish_reason,
            refusal=answer.refusal and hidden(answer.refusal),
            prompt_tokens=answer.prompt_tokens,
            completion_tokens=answer.completion_tokens,
            attempts=exchange.attempts,
            max_tokens=token_limit(sent),
            seconds=time.monotonic() - started,
        )


def _remember(name: tuple[str, str], former: Dialect, dialect: Dialect) -> None:
    """Keep the dialect that led to an answer, and warn of the changes that it needs."""
    proved = replace(dialect, is_proved=True)
    if replace(former, is_proved=True, has_guessed=proved.has_guessed) != proved:
        address, model = name
        warnings.warn(
            f"{model} at {address}: {dialect.described()}.", AdaptedRequestWarning, stacklevel=2
        )
    _DIALECTS[name] = proved


def _failure(error: EndpointError) -> Failure:
    if error.kind in ("connection", "timeout", "access"):
        return Failure(error.kind, str(error))
    return Failure(error.kind, error.reason)


def in_form(body: Body, form: str) -> Body:
    """A request for a schema by one of `FORMS`; one without a schema, or in a plainer form already, as it is."""
    wanted = body.get("response_format")
    if not isinstance(wanted, dict) or form == "json_schema":
        return body
    if wanted["type"] == "json_schema":
        schema = wanted["json_schema"]["schema"]
        body = {**body, "messages": with_schema(body["messages"], schema)}
        body["response_format"] = {"type": "json_object"}
        if form == "json_object with schema":
            body["response_format"]["schema"] = schema
    if form == "prompt":
        return {name: value for name, value in body.items() if name != "response_format"}
    return body


def with_schema(messages: list[dict[str, str]], schema: dict[str, Any]) -> list[dict[str, str]]:
    """The messages with a schema at the end of the last one; two messages of the user in a row are often refused."""
    fit = f"Answer with one JSON object and nothing else. It must fit this JSON schema: {json.dumps(schema)}"
    *earlier, last = messages
    return [*earlier, {**last, "content": f"{last['content']}\n\n{fit}"}]


def without_system(messages: list[dict[str, str]]) -> list[dict[str, str]]:
    """The messages with the system's text at the head of the first message of the user."""
    system = [message["content"] for message in messages if message["role"] == "system"]
    others = [message for message in messages if message["role"] != "system"]
    if not others or others[0]["role"] != "user":
        others.insert(0, {"role": "user", "content": ""})
    first, *rest = others
    return [{**first, "content": "\n\n".join(filter(None, [*system, first["content"]]))}, *rest]
