"""Threads and processor."""

from __future__ import annotations

import os
import platform

import pytest
import torch

from kg2rag.compute import hardware


def test_the_environment_or_the_processors_set_the_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    counted = hardware.threads.__wrapped__  # the count is kept for the process
    monkeypatch.setenv("KG2RAG_THREADS", "3")
    assert counted() == 3
    monkeypatch.delenv("KG2RAG_THREADS")
    monkeypatch.setattr(os, "sched_getaffinity", lambda _pid: {0, 5}, raising=False)
    assert counted() == 2
    for given in ("0", "-1", "two", "", "1.5"):
        monkeypatch.setenv("KG2RAG_THREADS", given)
        with pytest.raises(ValueError, match=f"KG2RAG_THREADS='{given}'"):
            counted()
    assert hardware.processor().split()[0] == platform.machine()


def test_a_device_is_named_or_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 0)
    assert (hardware.device_of("cpu"), hardware.device_of("auto")) == ("cpu", "cpu")
    for name in ("cuda", "cuda:1"):
        with pytest.raises(ValueError, match=name):
            hardware.device_of(name)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)
    found = [hardware.device_of(name) for name in ("cuda", "auto", "cuda:1")]
    assert found == ["cuda:0", "cuda:0", "cuda:1"]
