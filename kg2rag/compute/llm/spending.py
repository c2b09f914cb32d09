"""Limits of requests, money and pace -> whether and when one more request may be sent.

A request is reserved at the most that it can cost before it is sent, and settled at what its answer says. So the
limits hold whatever happens in between, and however many requests are on their way.
"""

from __future__ import annotations

import json
import threading
import time
from dataclasses import dataclass, field
from typing import NoReturn

from kg2rag.types import Count, above, check


class SpendingLimitError(RuntimeError):
    """One more request could go beyond a limit; `sent` were sent for the same prompt before."""

    sent = 0


class RateLimit:
    """A clock that lets `per_minute` callers through each minute, one every 60 / `per_minute` seconds."""

    def __init__(self, per_minute: float) -> None:
        self.interval = 60.0 / per_minute
        self._next = 0.0
        self._lock = threading.Lock()

    def wait(self) -> None:
        """Block until the caller's turn; turns follow the order of the calls, retries included."""
        with self._lock:
            turn = max(self._next, time.monotonic())
            self._next = turn + self.interval
        time.sleep(max(0.0, turn - time.monotonic()))


@dataclass(eq=False)
class Spending:
    """What a process may spend on language models; shared by all models that are given it.

    Parameters
    ----------
    max_calls : requests sent, retries included.
    max_cost : in the currency of the models' prices. A request without an answer, such as one that timed out, counts at
        the most that it can have cost: an endpoint may charge for it. One that was refused (HTTP 4xx and 5xx) is free.

    Attributes
    ----------
    calls, cost : so far, requests on their way not included in the cost.
    """

    max_calls: Count | None = None
    max_cost: float | None = None
    calls: int = field(default=0, init=False)
    cost: float = field(default=0.0, init=False)

    def __post_init__(self) -> None:
        check(self, max_cost=above(0))
        self._reserved: dict[int, float] = {}  # thread -> the most that its request can cost
        self._settled = threading.Condition()

    def reserve(self, most: float) -> None:
        """Take part of what is left for a request of this thread; waits while requests on their way may leave enough.

        Raises
        ------
        SpendingLimitError : it could go beyond a limit; nothing is taken.
        """
        self.settle(None)  # an attempt before this one that had no answer
        with self._settled:
            while True:
                if self.max_calls is not None and self.calls >= self.max_calls:
                    raise SpendingLimitError(f"the limit of {self.max_calls:,} calls is reached")
                if self.max_cost is None or self.cost + sum(self._reserved.values()) + most <= self.max_cost:
                    break
                if not self._reserved:
                    raise SpendingLimitError(
                        f"a call of up to {most:.6g} could go beyond the cost limit of {self.max_cost:g}: "
                        f"{self.cost:.6g} is spent"
                    )
                self._settled.wait()
            self.calls += 1
            self._reserved[threading.get_ident()] = most

    def settle(self, cost: float | None) -> None:
        """What the request of this thread has cost; None where nobody knows: the most that it can have been."""
        with self._settled:
            most = self._reserved.pop(threading.get_ident(), 0.0)
            self.cost += most if cost is None else cost
            self._settled.notify_all()

    def __getstate__(self) -> NoReturn:
        raise TypeError("Spending limits hold within one process: models that have them cannot be sent to another.")


@dataclass(frozen=True)
class Tariff:
    """Spending at the prices of one model, per million tokens; None for unknown prices, without a limit of cost."""

    spending: Spending
    prompt_price: float | None
    completion_price: float | None

    def __post_init__(self) -> None:
        if self.spending.max_cost is not None and None in (self.prompt_price, self.completion_price):
            raise ValueError("A limit of cost needs both prices of the model: prompt_price and completion_price.")

    def most(self, body: bytes) -> float:
        """The most that a request can cost: a token has at least a byte, and the answer `max_tokens` at most."""
        if self.spending.max_cost is None:
            return 0.0
        asked = json.loads(body)
        limits = [asked[name] for name in ("max_tokens", "max_completion_tokens") if name in asked]
        if not limits:
            raise ValueError("A limit of cost needs max_tokens: without it, an answer may cost anything.")
        return self._cost(len(body), max(limits) * asked.get("n", 1))

    def paid(self, prompt_tokens: int | None, completion_tokens: int | None) -> float | None:
        """What an answer has cost; None where its tokens are not reported."""
        if prompt_tokens is None or completion_tokens is None:
            return None
        return self._cost(prompt_tokens, completion_tokens)

    def _cost(self, prompt: int, completion: int) -> float:
        return (prompt * (self.prompt_price or 0.0) + completion * (self.completion_price or 0.0)) / 1e6
