"""Threads and processor."""

from __future__ import annotations

import os
import platform
import subprocess
import sys
from collections.abc import Iterator

import pytest
import torch

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


def test_devices_are_named_one_by_one_or_all_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 0)
    assert (hardware.devices("cpu"), hardware.devices("auto")) == (["cpu"], ["cpu"])
    assert hardware.devices("cpu,cpu") == ["cpu", "cpu"]
    for name in ("cuda", "cuda:0,cuda:1"):
        with pytest.raises(ValueError, match=name):
            hardware.devices(name)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)
    assert hardware.devices("cuda") == hardware.devices("auto") == ["cuda:0", "cuda:1"]
    assert hardware.devices("cuda:1") == ["cuda:1"]


SCORED = """
import multiprocessing
from kg2rag.evaluation.metrics import score

def scored(_):
    try:
        return score([{0: 1}], [[0]], ["mrr@10"])["mrr@10"].tolist()
    except RuntimeError as error:
        return str(error)

here = scored(0)
with multiprocessing.get_context("fork").Pool(1) as pool:
    print(here, *pool.map(scored, [0]))
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
@pytest.mark.parametrize(("layer", "there"), [("workqueue", "[1.0]"), ("omp", "ranx cannot score in a forked process")])
def test_scoring_in_a_forked_process_is_right_or_refused(layer: str, there: str) -> None:
    setting = {**os.environ, "KG2RAG_THREADS": "2", "NUMBA_NUM_THREADS": "2", "NUMBA_THREADING_LAYER": layer}
    run = subprocess.run([sys.executable, "-c", SCORED], env=setting, capture_output=True, text=True, check=False)
    assert run.stdout.startswith(f"[1.0] {there}"), run.stderr
