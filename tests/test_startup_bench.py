"""`eval/bench/startup.py` clocks functions by their names: a name that has moved ends it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def test_the_table_says_where_a_comparison_spent_its_time(tmp_path: Path) -> None:
    command = [sys.executable, "eval/bench/startup.py", "compare", "bundled", "--systems", "bm25,pattern"]
    done = subprocess.run(
        [*command, "--out", str(tmp_path / "out")], cwd=ROOT, capture_output=True, text=True, check=True
    )
    rows = {line.split("|")[2].strip() for line in done.stdout.splitlines() if line.startswith("| ")}
    assert {"draw figures", "imports together", "all"} <= rows
