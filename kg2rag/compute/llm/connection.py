"""One request body -> one `Reply`, over the openai client; whatever goes wrong becomes a `CompletionError`.

Retries, exponential back-off, jitter and `Retry-After` are those of the client [1]: 0.5 s, doubled up to 8 s, minus up
to a quarter; a `Retry-After` above two minutes ends the retries. The client does not retry a successful answer that is
no chat completion (half a body, a proxy's page, no choices) or not complete in time: it is therefore given the status
of a bad gateway, or of its time-out.

[1] https://github.com/openai/openai-python#retries
"""

from __future__ import annotations

import os
import threading
import time
from functools import lru_cache, partial
from typing import TYPE_CHECKING, Any, TypeVar

from pydantic import BaseModel, Field, ValidationError

from kg2rag.compute.llm import bounded
from kg2rag.compute.llm.outcomes import CompletionError, Failure, Kind
from kg2rag.compute.llm.spending import SpendingLimitError, Tariff

if TYPE_CHECKING:
    import openai

Text = TypeVar("Text", str, str | None)

_DAMAGE = "kg2rag_damage"
_LONGEST = 300  # characters of an error text that are kept
_SECRET = 8  # shorter keys ("none", "EMPTY") are placeholders for servers without keys
_KINDS: dict[int, Kind] = {401: "access", 403: "access", 404: "access", 408: "timeout", 429: "rate limit"}


class Reply(BaseModel):
    """The stored part of an answer: what later runs read, and no header or key."""

    text: str
    finish_reason: str | None
    refusal: str | None
    prompt_tokens: int | None
    completion_tokens: int | None
    served_model: str | None
    attempts: int


class _Message(BaseModel):
    content: str | None = None
    refusal: str | None = None


class _Choice(BaseModel):
    message: _Message
    finish_reason: str | None = None


class _Tokens(BaseModel):
    prompt_tokens: int | None = Field(default=None, ge=0)
    completion_tokens: int | None = Field(default=None, ge=0)


class _Answer(BaseModel):
    choices: list[_Choice] = Field(min_length=1)
    usage: _Tokens | None = None
    model: str | None = None


class RateLimit:
    """A clock that lets `per_minute` callers through each minute, one every 60 / `per_minute` seconds."""

    def __init__(self, per_minute: float) -> None:
        self.interval = 60.0 / per_minute
        self._next = 0.0
        self._lock = threading.Lock()

    def wait(self, request: object = None) -> None:  # noqa: ARG002 - httpx hands its hooks the request
        """Block until the caller's turn; turns follow the order of the calls, retries included."""
        with self._lock:
            turn = max(self._next, time.monotonic())
            self._next = turn + self.interval
        time.sleep(max(0.0, turn - time.monotonic()))


@lru_cache(maxsize=64)
def limit_of(endpoint: str, per_minute: float) -> RateLimit:  # noqa: ARG001 - the endpoint is part of the key
    """The clock of this process for an endpoint and a limit, which all its models share."""
    return RateLimit(per_minute)


def connect(
    base_url: str,
    key: str,
    timeout: float,
    retries: int,
    *,
    deadline: float,
    rpm: float | None = None,
    tariff: Tariff | None = None,
) -> openai.OpenAI:
    """A client of an endpoint, with at most `rpm` requests a minute; ImportError says how to install the client.

    `timeout` and `deadline` as of `ChatModel`; `tariff` is asked before each request, retries included.
    """
    try:
        import openai
    except ImportError as error:
        raise ImportError("Language models need the openai client: pip install 'kg2rag[llm]'.") from error

    hooks: dict[str, list[Any]] = {"request": [], "response": [partial(_receive, deadline=deadline, tariff=tariff)]}
    if tariff is not None:
        hooks["request"].append(partial(_reserve, tariff=tariff))
    if rpm is not None:
        hooks["request"].append(limit_of(base_url, rpm).wait)
    return openai.OpenAI(
        base_url=base_url,
        api_key=key,
        timeout=timeout,
        max_retries=retries,
        default_headers={"Accept-Encoding": "identity"},
        http_client=openai.DefaultHttpxClient(event_hooks=hooks, timeout=timeout),
    )


def api_key(variable: str | None) -> str:
    """The key in an environment variable; a placeholder if the endpoint needs none."""
    if variable is None:
        return "none"
    key = os.environ.get(variable, "").strip()
    if not key:
        raise ValueError(
            f"The environment variable {variable} is not set. Put the API key there, name another variable in "
            "api_key_env, or pass api_key_env=None for an endpoint that needs no key."
        )
    if not all("!" <= character <= "~" for character in key):  # not quoted: it is a secret
        raise ValueError(
            f"The API key in the environment variable {variable} holds a blank, a line break or a character that is "
            "not ASCII, which an HTTP header cannot carry. Copy the key alone."
        )
    return key


def ask(client: openai.OpenAI, body: dict[str, Any], tariff: Tariff | None = None) -> Reply:
    """Send one request, with the client's retries; CompletionError where there is no usable answer.

    `tariff` is that of the client.

    The openai exception, which quotes the server, is not chained to it.
    """
    import openai

    rest = {name: value for name, value in body.items() if name not in ("model", "messages")}
    try:
        raw = client.chat.completions.with_raw_response.create(
            model=body["model"], messages=body["messages"], extra_body=rest
        )
    except openai.APIError as error:
        failure = _failure(error, client)
    except openai.OpenAIError as error:
        if not isinstance(limit := error.__cause__, SpendingLimitError):
            raise
        failure = Failure("limit", str(limit), limit.sent)
    else:
        return _reply(raw.http_response.content, raw.retries_taken + 1, client.api_key)
    finally:
        if tariff is not None:
            tariff.spending.settle(None)
    raise CompletionError(failure)


def _reserve(request: Any, tariff: Tariff) -> None:
    """Request hook: send nothing beyond the limits of spending. The client retries no error of its own class."""
    import openai

    try:
        tariff.spending.reserve(tariff.most(request.read()))
    except SpendingLimitError as error:
        error.sent = _sent(request)
        raise openai.OpenAIError(str(error)) from error


def _receive(response: Any, deadline: float, tariff: Tariff | None) -> None:
    """Response hook: read an answer within its limits; give a damaged one the status that makes the client retry."""
    damage = bounded.read(response, deadline)
    paid = None if response.is_success else 0.0
    if response.is_success and damage is None:
        try:
            tokens = _Answer.model_validate_json(response.content).usage or _Tokens()
        except ValidationError as error:
            damage = ("response", f"the answer is no chat completion ({complaints(error)})")
        else:
            paid = None if tariff is None else tariff.paid(tokens.prompt_tokens, tokens.completion_tokens)
    if damage is not None:
        response.extensions[_DAMAGE] = damage
        response.status_code = 504 if damage[0] == "timeout" else 502
    if tariff is not None:
        tariff.spending.settle(paid)


def _reply(content: bytes, attempts: int, key: str) -> Reply:
    answer = _Answer.model_validate_json(content)
    choice, usage = answer.choices[0], answer.usage or _Tokens()
    return Reply(
        text=_hidden(choice.message.content or "", key),
        finish_reason=_hidden(choice.finish_reason, key),
        refusal=_hidden(choice.message.refusal, key),
        prompt_tokens=usage.prompt_tokens,
        completion_tokens=usage.completion_tokens,
        served_model=_hidden(answer.model, key),
        attempts=attempts,
    )


def _failure(error: openai.APIError, client: openai.OpenAI) -> Failure:
    import openai

    kind: Kind = "server"
    if isinstance(error, openai.APITimeoutError):
        kind, reason = "timeout", f"no answer within {client.timeout} seconds"
    elif isinstance(error, openai.APIStatusError):
        damage = error.response.extensions.get(_DAMAGE)
        if damage is not None:
            kind, reason = damage
        else:
            kind = _KINDS.get(error.status_code, "server" if error.status_code >= 500 else "request")
            reason = f"HTTP {error.status_code}: {_said(error)}"
    else:
        kind, reason = "connection", f"{error.__cause__ or error}"
    sent = _sent(error.request) + 1
    reason = _hidden(reason, client.api_key)  # before cutting: half a key is a secret too
    return Failure(kind, reason if len(reason) <= _LONGEST else f"{reason[:_LONGEST]}…", sent)


def _sent(request: Any) -> int:
    """How many requests for the same prompt were sent before."""
    return int(request.headers.get("x-stainless-retry-count", 0))


def _said(error: openai.APIStatusError) -> str:
    """The message of the server, in one line."""
    detail = error.body.get("message") if isinstance(error.body, dict) else None
    return " ".join(str(detail or error.response.text or "no explanation").split())


def _hidden(text: Text, key: str) -> Text:
    """A text of the server's without the key, which some servers repeat."""
    return text.replace(key, "***") if text is not None and len(key) >= _SECRET else text


def complaints(error: ValidationError) -> str:
    """The errors found by pydantic, in one line, without the input."""
    found = error.errors(include_input=False, include_url=False, include_context=False)
    texts = [f"{'.'.join(map(str, item['loc'])) or 'all'}: {item['msg']}" for item in found[:3]]
    return "; ".join(texts) + (f"; and {len(found) - 3} more" if len(found) > 3 else "")
