"""`kg2rag diagnose`: tables on the terminal, pages and figures in a folder."""

from __future__ import annotations

from pathlib import Path

import pytest
from typer.testing import CliRunner

from kg2rag.cli import app
from kg2rag.compute import Store

DIAGNOSE = "diagnose bundled --limit 20 --systems bm25 --k 1"


def test_diagnose_prints_the_losses_and_writes_pages_and_figures(
    session_store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KG2RAG_STORE", str(session_store.root))
    done = CliRunner().invoke(app, [*DIAGNOSE.split(), "--ladder", "--out", str(tmp_path)], env={"COLUMNS": "140"})
    assert done.exit_code == 0, done.output
    assert "bm25: gold passages by where they were lost, k = 1" in done.output
    assert "bm25: with perfect stages" in done.output
    written = {f"{stem}.{kind}" for stem in ("waterfall-bm25", "ladder-bm25") for kind in ("html", "png")}
    assert {file.name for file in tmp_path.iterdir()} == written
    assert (tmp_path / "waterfall-bm25.html").read_text(encoding="utf-8").startswith("<!doctype html>")


def test_diagnose_refuses_an_unknown_system_by_name(tmp_path: Path) -> None:
    done = CliRunner().invoke(app, ["diagnose", "bundled", "--systems", "bm26", "--out", str(tmp_path)])
    assert isinstance(done.exception, ValueError)
    assert "Unknown system 'bm26'" in str(done.exception)
