"""Requests -> requests evenly spaced in time, within an endpoint's limit per minute.

The limit belongs to the endpoint: models with the same address and limit share one clock. Every HTTP request waits for
its turn, retries included.
"""

from __future__ import annotations

import threading
import time
from functools import lru_cache


class RateLimit:
    """A clock that lets `per_minute` callers through each minute, one every 60 / `per_minute` seconds."""

    def __init__(self, per_minute: float) -> None:
        self.interval = 60.0 / per_minute
        self._next = 0.0
        self._lock = threading.Lock()

    def wait(self, request: object = None) -> None:  # noqa: ARG002 - httpx hands its hooks the request
        """Block until the caller's turn; turns follow the order of the calls."""
        with self._lock:
            turn = max(self._next, time.monotonic())
            self._next = turn + self.interval
        time.sleep(max(0.0, turn - time.monotonic()))


@lru_cache(maxsize=64)
def limit_of(endpoint: str, per_minute: float) -> RateLimit:  # noqa: ARG001 - the endpoint is part of the key
    """The clock of this process for an endpoint and a limit."""
    return RateLimit(per_minute)
