"""`kg2rag sweep`, as a user starts it."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from kg2rag.cli import main

FILE = """
data = "bundled"
metrics = ["recall@5"]
k = 5
[systems.bm25]
k1 = [0.5, 0.9]
b = [0.3, 0.4]
"""


@pytest.fixture
def command(tmp_path: Path, root: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> object:
    (tmp_path / "small.toml").write_text(FILE)
    monkeypatch.setenv("KG2RAG_STORE", str(root))
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.delenv("KG2RAG_DEBUG", raising=False)

    def run(arguments: str) -> tuple[int, str, str]:
        options = f"sweep {tmp_path / 'small.toml'} --out {tmp_path / 'out'} --jobs 1 {arguments}"
        monkeypatch.setattr(sys, "argv", ["kg2rag", *options.split()])
        with pytest.raises(SystemExit) as stopped:
            main()
        said = capsys.readouterr()
        return int(stopped.value.code or 0), said.out, said.err

    return run


def test_a_sweep_is_planned_run_resumed_and_reported(command, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    code, out, _ = command("--plan")
    assert code == 0
    assert "4 configurations, 0 finished, 0 failed, to run: 4 bm25" in out
    assert not (tmp_path / "out").exists()
    code, out, _ = command("--run")
    assert code == 0
    assert "chosen" in out
    written = {file.name for file in (tmp_path / "out").iterdir()}
    assert written == {"results.parquet", "timings.csv", "sweep.json", "report.md", "report.html"}
    before = (tmp_path / "out" / "results.parquet").read_bytes()
    assert command("--resume")[0] == command("--report")[0] == 0
    assert (tmp_path / "out" / "results.parquet").read_bytes() == before


def test_what_to_do_must_be_said_once(command) -> None:  # type: ignore[no-untyped-def]
    for arguments in ("", "--run --resume"):
        code, _, error = command(arguments)
        assert code == 2
        assert "one of --plan, --run, --resume or --report" in error


def test_a_second_run_is_refused(command) -> None:  # type: ignore[no-untyped-def]
    command("--run")
    code, _, error = command("--run")
    assert code == 2
    assert "Go on with --resume" in error


def test_a_report_of_nothing_says_so(command) -> None:  # type: ignore[no-untyped-def]
    code, _, error = command("--report")
    assert code == 2
    assert "holds no results" in error
