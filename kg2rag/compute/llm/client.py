"""One request body -> one `Reply`, over the openai client, within limits of requests and money.

Retries, back-off and `Retry-After` are those of the client. A successful answer that is no chat completion (a proxy's
page, no choices) is given the status of a bad gateway, so that it is retried too.
"""

from __future__ import annotations

import json
import os
import threading
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from pydantic import AliasPath, BaseModel, Field, NonNegativeInt, ValidationError

from kg2rag.compute.llm.answers import CompletionError, Failure, Kind, Prices, Reply, cost_of
from kg2rag.types import Count, above, check

if TYPE_CHECKING:
    import openai

_DAMAGE, _MOST = "kg2rag_damage", "kg2rag_most"
_LONGEST = 300  # characters of an error text that are kept
_SECRET = 8  # shorter keys ("none", "EMPTY") are placeholders for servers without keys
_KINDS: dict[int, Kind] = {401: "access", 403: "access", 404: "access", 408: "timeout", 429: "rate limit"}
_LOCAL = ("localhost", "127.0.0.1", "::1", "0.0.0.0")  # noqa: S104 - nothing is bound


class SpendingLimitError(RuntimeError):
    """One more request could go beyond a limit; `sent` were sent for the same prompt before."""

    sent = 0


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
        """Count a request at the most that it can cost; SpendingLimitError where that could go beyond a limit."""
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
        """Count a request that was reserved at `most` at what it has cost."""
        with self._lock:
            self.cost += cost - most


def most_of(body: bytes, prices: Prices) -> float:
    """The most that a request can cost: a token has at least a byte, and the answer `max_tokens` at most.

    ValueError where nobody can know.
    """
    asked = json.loads(body)
    limits = [asked[name] for name in ("max_tokens", "max_completion_tokens") if name in asked]
    if not limits:
        raise ValueError("A limit of cost needs max_tokens: without it, an answer may cost anything.")
    most = cost_of((len(body), max(limits) * asked.get("n", 1)), prices)
    if most is None:
        raise ValueError("A limit of cost needs both prices of the model: prompt_price and completion_price.")
    return most


def _at(*path: str | int) -> Any:
    return Field(default=None, validation_alias=AliasPath(*path))  # type: ignore[arg-type]


class _Answer(BaseModel):
    """What a chat completion says, of its first choice."""

    message: dict[str, Any] = Field(validation_alias=AliasPath("choices", 0, "message"), exclude=True)
    text: str | None = _at("choices", 0, "message", "content")
    refusal: str | None = _at("choices", 0, "message", "refusal")
    finish_reason: str | None = _at("choices", 0, "finish_reason")
    prompt_tokens: NonNegativeInt | None = _at("usage", "prompt_tokens")
    completion_tokens: NonNegativeInt | None = _at("usage", "completion_tokens")


class Connection:
    """A client of an endpoint; `spending` is asked before each request, retries included."""

    def __init__(
        self, base_url: str, key: str, timeout: float, retries: int, spending: Spending | None, prices: Prices
    ) -> None:
        openai = openai_library()
        self.key, self.spending, self.prices = key, spending, prices
        hooks: dict[str, list[Any]] = {"request": [self._sending], "response": [self._received]}
        http = openai.DefaultHttpxClient(event_hooks=hooks, timeout=timeout)
        self.client = openai.OpenAI(
            base_url=base_url, api_key=key, timeout=timeout, max_retries=retries, http_client=http
        )

    def ask(self, body: dict[str, Any]) -> Reply:
        """Send one request, with the client's retries; CompletionError where there is no usable answer.

        The openai exception, which quotes the server, is not chained to it.
        """
        import openai

        rest = {name: value for name, value in body.items() if name not in ("model", "messages")}
        completions = self.client.chat.completions.with_raw_response
        try:
            raw = completions.create(model=body["model"], messages=body["messages"], extra_body=rest)
        except openai.APIError as error:
            failure = self._failure(error)
        except openai.OpenAIError as error:
            if not isinstance(limit := error.__cause__, SpendingLimitError):
                raise
            failure = Failure("limit", str(limit), limit.sent)
        else:
            found = _Answer.model_validate_json(raw.http_response.content).model_dump()
            said = {name: found[name] and self._hidden(found[name]) for name in ("text", "refusal")}
            return Reply(**found | said | {"text": said["text"] or ""}, attempts=raw.retries_taken + 1)
        raise CompletionError(failure)

    def _sending(self, request: Any) -> None:
        """Send nothing beyond the limits. The client retries no error of its own class."""
        import openai

        if self.spending is not None:
            most = 0.0 if self.spending.max_cost is None else most_of(request.read(), self.prices)
            request.extensions[_MOST] = most
            try:
                self.spending.reserve(most)
            except SpendingLimitError as error:
                error.sent = _sent(request)
                raise openai.OpenAIError(str(error)) from error

    def _received(self, response: Any) -> None:
        """Give a damaged answer the status that makes the client retry, and settle what another has cost."""
        response.read()
        paid: float | None = 0.0
        if response.is_success:
            try:
                used = _Answer.model_validate_json(response.content)
                paid = cost_of((used.prompt_tokens, used.completion_tokens), self.prices)
            except ValidationError:
                response.extensions[_DAMAGE] = True
                response.status_code, paid = 502, None
        if self.spending is not None and paid is not None:
            self.spending.settle(response.request.extensions[_MOST], paid)

    def _failure(self, error: openai.APIError) -> Failure:
        import openai

        kind: Kind = "connection"
        reason = f"{error.__cause__ or error}"
        if isinstance(error, openai.APITimeoutError):
            kind, reason = "timeout", f"no answer within {self.client.timeout} seconds"
        elif isinstance(error, openai.APIStatusError):
            detail = error.body.get("message") if isinstance(error.body, dict) else None
            said = " ".join(str(detail or error.response.text or "no explanation").split())
            kind = _KINDS.get(error.status_code, "server" if error.status_code >= 500 else "request")
            reason = f"HTTP {error.status_code}: {said}"
            if _DAMAGE in error.response.extensions:
                kind, reason = "response", f"the answer is no chat completion: {said}"
        reason = self._hidden(reason)  # before cutting: half a key is a secret too
        return Failure(kind, reason if len(reason) <= _LONGEST else f"{reason[:_LONGEST]}…", _sent(error.request) + 1)

    def _hidden(self, text: str) -> str:
        """A text of the server's without the key, which some servers repeat."""
        return text.replace(self.key, "***") if len(self.key) >= _SECRET else text


def _sent(request: Any) -> int:
    """How many requests for the same prompt were sent before."""
    return int(request.headers.get("x-stainless-retry-count", 0))


def openai_library() -> Any:
    """The openai package; ImportError names the extra that brings it."""
    try:
        import openai
    except ImportError as error:
        raise ImportError("A model behind an endpoint needs the openai client: pip install 'kg2rag[llm]'.") from error
    return openai


def api_key(variable: str | None, base_url: str) -> str:
    """The key in an environment variable; a placeholder if the endpoint needs none: one of this machine, or None."""
    key = os.environ.get(variable, "").strip() if variable else ""
    if not key and (variable is None or urlsplit(base_url).hostname in _LOCAL):
        return "none"
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
