"""Outcomes of prompts -> their tokens and cost; prompts -> the plan of their tokens, time and cost."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TypeVar, cast

from kg2rag.llm.replies import Failure, Outcome
from kg2rag.text.cells import duration

Number = TypeVar("Number", int, float)
# Tokens of prompts and of completions; None for unknown ones.
Pair = tuple[int | None, int | None]
# Prices per million prompt and completion tokens; None for unknown ones.
Prices = tuple[float | None, float | None]


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
    """The tokens of the prompts and of the completions of some outcomes."""
    return (
        sum_known([outcome.prompt_tokens for outcome in outcomes]),
        sum_known([outcome.completion_tokens for outcome in outcomes]),
    )


def _in_words(tokens: Pair) -> str:
    """The tokens as "120 + ? tokens", with "?" for an unknown number."""
    return " + ".join("?" if n is None else f"{n:,}" for n in tokens) + " tokens"


def sum_known(values: Sequence[Number | None]) -> Number | None:
    """The sum of values; None if one of them is None."""
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
    """The estimated tokens, time and cost of some prompts.

    Attributes
    ----------
    calls : the number of requests to send.
    stored : the number of prompts whose answers are in the store.
    prompt_tokens, completion_tokens : the tokens of the requests to send; None if unknown.
    seconds : the time of all requests, from the times of stored answers; None without these.
    cost : the cost of all requests; None if a price is unknown.
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
        time = "time unknown until answers are stored"
        if self.seconds is not None:
            time = f"about {duration(self.seconds)}"
        calls = f"{self.calls:,} call{'' if self.calls == 1 else 's'}"
        return f"{calls}, about {tokens}, {time}, cost {cost}; {self.stored:,} answers are stored"
