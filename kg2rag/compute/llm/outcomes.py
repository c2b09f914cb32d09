"""The outcome of a prompt, a `Completion` or a `Failure`, and the cost of several."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Generic, Literal, TypeVar

Parsed = TypeVar("Parsed", covariant=True)

Kind = Literal["timeout", "connection", "rate limit", "server", "response", "request", "access", "limit", "output"]


@dataclass(frozen=True, slots=True)
class Completion(Generic[Parsed]):
    """One answer of a model.

    Attributes
    ----------
    text : the answer without a leading `<think>` block.
    parsed : the object of the requested schema; None if none was requested.
    prompt_tokens, completion_tokens : as counted by the endpoint; None if it did not report them.
    cached : True if it was in the store, or an equal prompt came earlier in the same call.
    attempts : requests sent when it was bought, at least 1.
    served_model : the model as reported by the endpoint, often more exact than the requested name.
    """

    text: str
    parsed: Parsed
    prompt_tokens: int | None
    completion_tokens: int | None
    cached: bool
    attempts: int
    served_model: str | None = None


@dataclass(frozen=True, slots=True)
class Failure:
    """Why a prompt has no completion.

    Attributes
    ----------
    kind : "timeout", "connection", "rate limit" (429), "server" (5xx) and "response" (a damaged answer) outlasted all
        retries; "request" was refused (other 4xx); "access" is a wrong key, address or model name; "limit" means that
        it was not sent, since it could go beyond a limit of spending; "output", that the model answered something else
        than was requested. Only "output" is stored: if sent again, the prompt would
        get the same answer at the same price.
    reason : one sentence; never holds an API key.
    prompt_tokens, completion_tokens : of an answer that was paid for but is unusable; 0 if there was none.
    """

    kind: Kind
    reason: str
    attempts: int = 1
    prompt_tokens: int | None = 0
    completion_tokens: int | None = 0
    cached: bool = False

    def __str__(self) -> str:
        return f"{self.kind}: {self.reason} ({self.attempts} attempt{'s' * (self.attempts != 1)})"


class CompletionError(RuntimeError):
    """A prompt has no completion; `failure` gives the reason."""

    def __init__(self, failure: Failure) -> None:
        super().__init__(str(failure))
        self.failure = failure

    def __reduce__(self) -> tuple[type[CompletionError], tuple[Failure]]:
        return CompletionError, (self.failure,)


Outcome = Completion[Any] | Failure


@dataclass(frozen=True, slots=True)
class Usage:
    """The sum over some outcomes.

    Attributes
    ----------
    calls, cached, failed : the numbers of outcomes; of cached ones; of failures.
    prompt_tokens, completion_tokens : including cached ones; None if the endpoint did not report one.
    cost : of all when they were bought, in the currency of the prices; None if a price or a count is unknown.
    new_cost : the part of `cost` that was not cached: what this call added to the bill.
    """

    calls: int
    cached: int
    failed: int
    prompt_tokens: int | None
    completion_tokens: int | None
    cost: float | None
    new_cost: float | None

    @classmethod
    def of(
        cls, outcomes: Iterable[Outcome], prompt_price: float | None = None, completion_price: float | None = None
    ) -> Usage:
        """The sum over outcomes; prices are per million tokens."""
        every = list(outcomes)
        fresh = [outcome for outcome in every if not outcome.cached]
        return cls(
            calls=len(every),
            cached=len(every) - len(fresh),
            failed=sum(isinstance(outcome, Failure) for outcome in every),
            prompt_tokens=_total([outcome.prompt_tokens for outcome in every]),
            completion_tokens=_total([outcome.completion_tokens for outcome in every]),
            cost=_cost(every, prompt_price, completion_price),
            new_cost=_cost(fresh, prompt_price, completion_price),
        )

    def __str__(self) -> str:
        tokens = " + ".join("?" if n is None else f"{n:,}" for n in (self.prompt_tokens, self.completion_tokens))
        cost = "" if self.cost is None else f", cost {self.cost:.4f} ({self.new_cost:.4f} new)"
        return f"{self.calls} calls ({self.cached} cached, {self.failed} failed), {tokens} tokens{cost}"


def _total(counts: list[int | None]) -> int | None:
    known = [count for count in counts if count is not None]
    return sum(known) if len(known) == len(counts) else None


def _cost(outcomes: list[Outcome], prompt_price: float | None, completion_price: float | None) -> float | None:
    prompt = _total([outcome.prompt_tokens for outcome in outcomes])
    completion = _total([outcome.completion_tokens for outcome in outcomes])
    if prompt is None or completion is None or prompt_price is None or completion_price is None:
        return None
    return (prompt * prompt_price + completion * completion_price) / 1e6
