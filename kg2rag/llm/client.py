"""One request body -> one `Reply` of an endpoint, within limits of requests and cost.

A request that an endpoint refuses for its form is changed, see `dialect`; the dialect of an endpoint
is remembered in this process. Replies are streamed, so that the time-out is the time between two
bytes.
"""

from __future__ import annotations

import json
import threading
import time
import warnings
from dataclasses import dataclass, field, replace

from kg2rag.compute.endpoint import MAX_REPLY_BYTES, Endpoint, EndpointError, Exchange
from kg2rag.llm.completions import END_MARK, Answer, read_answer
from kg2rag.llm.dialect import Body, Dialect, is_about_form, token_limit
from kg2rag.llm.replies import CompletionError, Failure, Reply
from kg2rag.llm.usage import Prices, cost_of
from kg2rag.types import Count, above, check

BASE_BYTES = 256 << 10
BYTES_PER_TOKEN = 4 << 10
"""Of a reply, at most: a streamed token has some 300 bytes around it."""
MAX_CHANGES = 8


class SpendingLimitError(RuntimeError):
    """One more request could go beyond a limit."""


class AdaptedRequestWarning(UserWarning):
    """An endpoint refused a request for its form, and was sent another."""


@dataclass(eq=False)
class Spending:
    """Limits of requests and cost, shared by all models that have the same object.

    `calls` and `cost` are the totals so far. A request in flight, and one without an answer, such as a
    timeout, counts with its maximum cost. A refused one (HTTP 4xx, 5xx) is free.

    Parameters
    ----------
    max_calls : the maximum of requests sent, retries included.
    max_cost : the maximum cost, in the currency of the models' prices.
    """

    max_calls: Count | None = None
    max_cost: float | None = None
    calls: int = field(default=0, init=False)
    cost: float = field(default=0.0, init=False)

    def __post_init__(self) -> None:
        check(self, max_cost=above(0))
        self._lock = threading.Lock()

    def reserve(self, most: float) -> None:
        """Count a request with its maximum cost, `most`; SpendingLimitError: it could exceed a limit."""
        with self._lock:
            if self.max_calls is not None and self.calls >= self.max_calls:
                raise SpendingLimitError(
                    f"the limit of {self.max_calls:,} calls is reached"
                )
            if self.max_cost is not None and self.cost + most > self.max_cost:
                raise SpendingLimitError(
                    f"a call of up to {most:.6g} could go beyond the cost limit of {self.max_cost:g}: "
                    f"{self.cost:.6g} is spent or on its way"
                )
            self.calls += 1
            self.cost += most

    def settle(self, most: float, cost: float) -> None:
        """Replace the maximum cost of a request, `most`, by its cost."""
        with self._lock:
            self.cost += cost - most


def most_of(body: bytes, prices: Prices) -> float:
    """The maximum cost of a request: a prompt token for each byte, and `max_tokens` answer tokens.

    ValueError: the request has no limit of tokens, or a price is unknown.
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


class _ChatExchange(Exchange[Answer]):
    """A chat completion whose requests are counted against limits of spending."""

    def __init__(self, body: Body, spending: Spending | None, prices: Prices) -> None:
        limit = token_limit(body)
        max_bytes = MAX_REPLY_BYTES
        if limit is not None:
            max_bytes = min(
                max_bytes, BASE_BYTES + BYTES_PER_TOKEN * limit * body.get("n", 1)
            )
        super().__init__(read_answer, max_bytes)
        self.spending, self.prices = spending or Spending(), prices
        self.most = 0.0

    def before(self, body: bytes) -> None:
        if self.spending.max_cost is not None:
            self.most = most_of(body, self.prices)
        self.spending.reserve(self.most)

    def after(self, reply: Answer | None, *, refused: bool) -> None:
        if refused:
            self.spending.settle(self.most, 0.0)
        elif reply is not None:
            cost = cost_of((reply.prompt_tokens, reply.completion_tokens), self.prices)
            if cost is not None:
                self.spending.settle(self.most, cost)

    def is_whole(self, content: bytearray) -> bool:
        return content.rstrip().endswith(END_MARK.encode())

    def is_final(self, message: str) -> bool:
        return is_about_form(message)


_DIALECTS: dict[tuple[str, str], Dialect] = {}
"""(address, model) -> the dialect that worked in this process."""


@dataclass(eq=False)
class Connection:
    """A client of one model; each request, retries included, is counted in `spending`."""

    endpoint: Endpoint
    spending: Spending | None
    prices: Prices

    def ask(self, body: Body) -> Reply:
        """The reply to a request, in the first dialect that the endpoint accepts.

        CompletionError: no reply after all retries.
        """
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
                return reply.model_copy(
                    update={"attempts": attempts + exchange.attempts}
                )
        if dialect.has_guessed:
            _DIALECTS[name] = replace(former, has_guessed=True)
        assert failure is not None
        raise CompletionError(replace(failure, attempts=attempts)) from None

    def _reply(self, sent: Body, exchange: _ChatExchange) -> Reply:
        """The reply of the endpoint to one request body, without keys that it repeats."""
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
            f"{model} at {address}: {dialect.described()}.",
            AdaptedRequestWarning,
            stacklevel=2,
        )
    _DIALECTS[name] = proved


def _failure(error: EndpointError) -> Failure:
    """The failure of an endpoint's error; its text names the address unless the prompt is at fault."""
    if error.kind in ("connection", "timeout", "access"):
        return Failure(error.kind, str(error))
    return Failure(error.kind, error.reason)
