"""Requests -> requests evenly spaced in time, so that an endpoint's limit per minute is never passed.

The limit is of the endpoint, not of the object that asks: models with one address and one limit share one clock. Each
HTTP request waits for its turn, retries included.
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
        """Return when it is the caller's turn; turns are given in the order of the calls."""
        with self._lock:
            turn = max(self._next, time.monotonic())
            self._next = turn + self.interval
        time.sleep(max(0.0, turn - time.monotonic()))


@lru_cache(maxsize=64)
def limit_of(endpoint: str, per_minute: float) -> RateLimit:  # noqa: ARG001 - the endpoint is part of the key
    """The one clock that this process has for an endpoint and a limit."""
    return RateLimit(per_minute)
