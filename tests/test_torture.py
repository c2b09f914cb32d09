"""`eval/torture.py` in short: a few kills, flips and builders; its mutations are those of tests/fuzz."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

PROGRAM = Path(__file__).resolve().parent.parent / "eval" / "torture.py"


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
@pytest.mark.parametrize(("attack", "cases", "rows"), [("kill", 8, 4), ("builders", 1, 1)])
def test_nothing_is_lost_or_wrong(attack: str, cases: int, rows: int) -> None:
    run = subprocess.run(
        [sys.executable, str(PROGRAM), attack, "--cases", str(cases), "--no-write"],
        capture_output=True,
        text=True,
        check=False,
        timeout=600,  # a guard
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
        timeout=600,
    )
    (store,) = (line for line in run.stdout.splitlines() if line.split()[1:2] == ["store"])
    assert store.split()[2:] == ["3", "3", "0", "0"]
