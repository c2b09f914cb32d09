"""The limit of requests a minute, with a clock of our own."""

from __future__ import annotations

from pathlib import Path

import pytest
from llm_server import first, serving

from kg2rag.compute import ChatModel, Store
from kg2rag.compute.llm.connection import RateLimit, limit_of


class Clock:
    """Time that passes only by sleeping."""

    def __init__(self) -> None:
        self.now = 100.0
        self.slept: list[float] = []

    def monotonic(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.slept.append(round(seconds, 6))


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    made = Clock()
    monkeypatch.setattr("kg2rag.compute.llm.connection.time", made)
    limit_of.cache_clear()
    return made


def test_requests_that_come_at_once_go_out_evenly_spaced(clock: Clock) -> None:
    limit = RateLimit(20)  # one every three seconds
    for _ in range(4):
        limit.wait()
    assert clock.slept == [0, 3, 6, 9]


def test_a_turn_that_nobody_took_is_not_saved_up(clock: Clock) -> None:
    limit = RateLimit(20)
    limit.wait()
    clock.now += 60
    for _ in range(2):
        limit.wait()
    assert clock.slept == [0, 0, 3]


def test_retries_wait_for_their_turn_too(clock: Clock, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("openai._base_client.INITIAL_RETRY_DELAY", 0.01)
    with serving(fault=first("500", 2)) as server:
        model = ChatModel(server.url, "tiny", None, rpm=60, store=Store(tmp_path))
        model.complete("p")
    assert clock.slept == [0, 1, 2]


def test_models_of_one_endpoint_share_its_limit(clock: Clock, tmp_path: Path) -> None:
    with serving() as server:
        for name in ("small", "large"):
            ChatModel(server.url, name, None, rpm=30, store=Store(tmp_path)).complete("p")
    assert clock.slept == [0, 2]


def test_a_limit_of_nothing_is_refused() -> None:
    with pytest.raises(ValueError, match="rpm must be above 0, not 0"):
        ChatModel("http://host/v1", "tiny", rpm=0)
