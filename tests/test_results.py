"""The README says what `eval/results` says."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def test_the_readme_shows_the_committed_results() -> None:
    done = subprocess.run(
        [sys.executable, ROOT / "eval" / "readme.py", "--check"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
