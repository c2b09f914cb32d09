"""Threads and processor."""

from __future__ import annotations

import os
import platform
from collections.abc import Iterator

import pytest

from kg2rag.compute import hardware


@pytest.fixture(autouse=True)
def _forget() -> Iterator[None]:
    hardware.threads.cache_clear()
    yield
    hardware.threads.cache_clear()


def test_the_environment_sets_the_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KG2RAG_THREADS", "3")
    assert hardware.threads() == 3


@pytest.mark.skipif(not hasattr(os, "sched_getaffinity"), reason="this system has no processor affinity")
def test_without_it_the_threads_are_the_processors_we_may_use(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("KG2RAG_THREADS", raising=False)
    monkeypatch.setattr(os, "sched_getaffinity", lambda _pid: {0, 5})
    assert hardware.threads() == 2


@pytest.mark.parametrize("given", ["0", "-1", "two", "", "1.5"])
def test_a_thread_count_that_is_none_is_refused(monkeypatch: pytest.MonkeyPatch, given: str) -> None:
    monkeypatch.setenv("KG2RAG_THREADS", given)
    with pytest.raises(ValueError, match=f"KG2RAG_THREADS='{given}': a positive whole number"):
        hardware.threads()


def test_the_processor_begins_with_the_machine_type() -> None:
    assert hardware.processor().split()[0] == platform.machine()
