"""The commands of the Makefile, as `make --dry-run` prints them."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]


def commands(target: str, path: str) -> str:
    """The commands that would make a target anew."""
    run = subprocess.run(
        ["make", "--dry-run", "--always-make", target],
        cwd=ROOT,
        env={**os.environ, "PATH": path},
        capture_output=True,
        text=True,
        check=True,
    )
    return run.stdout


@pytest.mark.parametrize("target", ["compare", "test", "lab"])
def test_packages_come_by_uv_where_it_is_installed(target: str, tmp_path: Path) -> None:
    uv = tmp_path / "uv"
    uv.write_text("#!/bin/sh\n")
    uv.chmod(0o755)
    folders = os.environ["PATH"].split(os.pathsep)
    without = [folder for folder in folders if not Path(folder, "uv").exists()]
    by_pip = commands(target, os.pathsep.join(without))
    by_uv = commands(target, os.pathsep.join([str(tmp_path), *without]))
    assert "-m pip install" in by_pip
    assert f"{uv} pip install --python .venv/bin/python" in by_uv
    assert "-m pip install" not in by_uv
    for line in (*by_pip.splitlines(), *by_uv.splitlines()):
        if "pip install" in line:
            assert "--constraint constraints.txt" in line
