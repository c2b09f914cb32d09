"""The README and docs/results.md say what `eval/results` says."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def test_the_pages_show_the_committed_results() -> None:
    done = subprocess.run(
        [sys.executable, ROOT / "eval" / "pages.py", "--check"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
