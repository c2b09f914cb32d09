"""What asking a language model ends in, a `Completion` or a `Failure`, and what it cost."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Generic, Literal, TypeVar

Parsed = TypeVar("Parsed", covariant=True)

Kind = Literal["timeout", "connection", "rate limit", "server", "response", "request", "access", "output"]


@dataclass(frozen=True, slots=True)
class Completion(Generic[Parsed]):
    """One answer of a model.

    Attributes
    ----------
    text : what the model wrote, without a leading `<think>` block.
    parsed : the object of the schema asked for; None where none was.
    prompt_tokens, completion_tokens : as the endpoint counted them; None where it did not say.
    cached : True where the store had it, or where an equal prompt stands earlier in the same call.
    attempts : requests sent for it when it was bought, at least 1.
    served_model : the model the endpoint says it used, often more exact than the name asked for.
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
        retries; "request" was refused (other 4xx); "access" is a wrong key, address or model name; "output" means that
        the model answered, but not with what was asked for. Only "output" is kept in the store: asked again, the model
        would say the same and charge again.
    reason : one sentence; never holds an API key.
    prompt_tokens, completion_tokens : of an answer that was paid for and could not be used; 0 where none came.
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
    """A prompt has no completion; `failure` says why."""

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
    calls, cached, failed : outcomes; those the store had; those that are failures.
    prompt_tokens, completion_tokens : cached ones included; None where the endpoint left one uncounted.
    cost : what all of them cost when they were bought, in the currency of the prices; None where a price or a count
        is not known.
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
        """Add up outcomes; prices are per million tokens."""
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
