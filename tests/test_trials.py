"""`eval/trials` in short: a few of its trials on this checkout, and how it judges a trial."""

from __future__ import annotations

import importlib
import os
import subprocess
import sys
from pathlib import Path

import pytest

GUARD = 3600  # seconds, against a program that hangs; no measurement
PROGRAM = Path(__file__).resolve().parent.parent / "eval" / "trials"
FEW = (
    "a link to nowhere",
    "a name with a line feed",
    "prune still",
    "killed: a graph of co-occurrences",
)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
def test_a_few_trials_run_and_find_nothing() -> None:
    only = [word for name in FEW for word in ("--only", name)]
    run = subprocess.run(
        [sys.executable, str(PROGRAM), *only],
        capture_output=True,
        text=True,
        check=False,
        timeout=GUARD,
    )
    assert run.returncode == 0, run.stdout + run.stderr
    assert run.stdout.splitlines()[-1].split() == ["all", "4", *"000000"]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
def test_a_trial_tells_what_it_found_and_what_it_cost(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.syspath_prepend(PROGRAM)
    harness = importlib.import_module("harness")

    def touch() -> None:
        harness.expect("new", "old", harness.TOUCHED)

    def spin() -> None:
        while True:
            pass

    def fail() -> None:
        raise KeyError("nothing")

    monkeypatch.setattr(harness, "SECONDS", 1)
    found = [
        harness.judge(harness.Trial("", "", run))[0]
        for run in (touch, spin, fail, lambda: None)
    ]
    assert found == [harness.TOUCHED, harness.HEAVY, harness.CRASH, ""]
