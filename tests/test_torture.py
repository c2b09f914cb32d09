"""`eval/torture.py` in short: a few kills, flips and builders; its mutations are those of tests/fuzz."""

from __future__ import annotations

import importlib
import os
import subprocess
import sys
from pathlib import Path
from random import Random

import pytest
import torture_llm

from kg2rag.llm.client import Connection
from kg2rag.llm.replies import Reply

GUARD = 3600  # seconds, against a program that hangs; no measurement
PROGRAM = Path(__file__).resolve().parent.parent / "eval" / "torture.py"


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
@pytest.mark.parametrize(("attack", "cases", "rows"), [("kill", 12, 6), ("builders", 1, 1)])
def test_nothing_is_lost_or_wrong(attack: str, cases: int, rows: int) -> None:
    run = subprocess.run(
        [sys.executable, str(PROGRAM), attack, "--cases", str(cases), "--no-write"],
        capture_output=True,
        text=True,
        check=False,
        timeout=GUARD,
    )
    assert run.returncode == 0, run.stdout + run.stderr
    lines = run.stdout.splitlines()
    assert len(lines) == 1 + rows
    assert all(line.split()[-2:] == ["0", "0"] for line in lines[1:])  # no clear error, nothing wrong


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
def test_a_flipped_bit_of_the_store_is_mended() -> None:
    run = subprocess.run(
        [sys.executable, str(PROGRAM), "flip", "--cases", "18", "--no-write"],
        capture_output=True,
        text=True,
        check=False,
        timeout=GUARD,
    )
    (store,) = (line for line in run.stdout.splitlines() if line.split()[1:2] == ["store"])
    assert store.split()[2:] == ["5", "5", "0", "0"]


@pytest.mark.parametrize(
    ("kind", "came"),
    [("429", [1, 1]), ("refusal", [0, 2]), ("injected prompt", [0, 2]), ("limit of calls", [0, 2])],
)
def test_a_fault_of_a_language_model_costs_no_triple_and_no_second_call(kind: str, came: list[int]) -> None:
    with torture_llm.logged():
        tally = torture_llm.faults(kind, 2, Random(0))
    assert [tally[torture_llm.RIGHT], tally[torture_llm.CLEAR], tally[torture_llm.WRONG]] == [*came, 0]


def test_a_key_that_leaks_is_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kg2rag.compute.endpoint.hidden", lambda text, _: text)
    with torture_llm.logged():
        assert torture_llm.faults("429", 2, Random(0)) == {torture_llm.WRONG: 2}


def test_a_failure_that_is_stored_as_an_empty_answer_is_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    empty = dict.fromkeys(("refusal", "prompt_tokens", "completion_tokens"), None)
    reply = Reply(text='{"triples": [], "entities": []}', finish_reason="stop", attempts=1, **empty)
    monkeypatch.setattr(Connection, "ask", lambda *_: reply)
    with torture_llm.logged():
        assert torture_llm.faults("500", 2, Random(0)) == {torture_llm.WRONG: 2}


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
def test_the_trials_of_misuse_run_and_find_nothing_in_a_few() -> None:
    only = [
        word for name in ("a link to nowhere", "a name with a line feed", "prune still") for word in ("--only", name)
    ]
    run = subprocess.run(
        [sys.executable, str(PROGRAM), "trials", *only], capture_output=True, text=True, check=False, timeout=GUARD
    )
    assert run.returncode == 0, run.stdout + run.stderr
    assert run.stdout.splitlines()[-1].split() == ["all", "3", *"000000"]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
def test_a_trial_tells_what_it_found_and_what_it_cost(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(PROGRAM.parent / "trials")
    harness = importlib.import_module("harness")

    def touch() -> None:
        harness.expect("new", "old", harness.TOUCHED)

    def spin() -> None:
        while True:
            pass

    def fail() -> None:
        raise KeyError("nothing")

    monkeypatch.setattr(harness, "SECONDS", 1)
    found = [harness.judge(harness.Trial("", "", run))[0] for run in (touch, spin, fail, lambda: None)]
    assert found == [harness.TOUCHED, harness.HEAVY, harness.CRASH, ""]
