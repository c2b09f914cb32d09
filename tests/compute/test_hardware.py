"""Threads and processor."""

from __future__ import annotations

import os
import platform
import subprocess
import sys

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
