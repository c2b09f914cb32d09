"""`verify --across`: other instruction sets move vectors in their last bits, and a table by what is said."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest
from typer.testing import CliRunner

from kg2rag.cli import app
from kg2rag.experiments.reproduction import Across, across
from kg2rag.experiments.reproduction.instruction_sets import AS_IT_IS, offered

LITTLE = ["bundled", "--systems", "dense,bm25", "--limit", "20"]


def test_the_oldest_instructions_move_a_table_by_next_to_nothing() -> None:
    oldest = "all of these, and FAISS"
    result = across(LITTLE, {name: offered()[name] for name in (AS_IT_IS, oldest)})
    assert list(result.frame["setting"]) == [oldest]
    assert result.largest <= 5  # one question of twenty
    assert result.stars == 0


def test_what_was_interrupted_goes_on_with_the_runs_that_are_kept(tmp_path: Path) -> None:
    lexical = ["bundled", "--systems", "bm25", "--baseline", "bm25", "--limit", "5", "--metrics", "recall@5"]
    settings = {AS_IT_IS: {}, "none": {"KG2RAG_NO_SUCH": "1"}}
    first = across(lexical, settings, keep=tmp_path)
    written = {file: file.stat().st_mtime_ns for file in tmp_path.rglob("*") if file.is_file()}
    again = across(lexical, settings, keep=tmp_path)
    assert {file: file.stat().st_mtime_ns for file in tmp_path.rglob("*") if file.is_file()} == written
    assert again.frame.equals(first.frame)
    with pytest.raises(ValueError, match=r"was made by .* not by .*--limit 6"):
        across([*lexical[:-3], "6", *lexical[-2:]], settings, keep=tmp_path)


def test_the_first_setting_changes_nothing_and_others_do() -> None:
    first, *others = offered().values()
    assert first == {}
    assert len(others) >= 4
    assert all(others)


def test_what_moved_is_measured(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    rows = [
        {"setting": "a", "largest": 0.2, "system": "dense", "metric": "recall@5", "questions": 1.0, "rankings": 2.0,
         "stars": 0},
        {"setting": "b", "largest": 0.7, "system": "dense", "metric": "recall@2", "questions": 3.0, "rankings": 4.0,
         "stars": 1},
    ]  # fmt: skip
    result = Across(pd.DataFrame(rows))
    assert (result.largest, result.stars) == (0.7, 1)
    for kept, tolerance, code in ((rows, 1.0, 1), (rows[:1], 0.5, 0), (rows[:1], 0.1, 1)):
        shown = Across(pd.DataFrame(kept))
        monkeypatch.setattr("kg2rag.experiments.reproduction.across", lambda *_, shown=shown, **__: shown)
        done = CliRunner().invoke(app, ["verify", "--across", "--tolerance", str(tolerance), "bundled"])
        assert done.exit_code == code, done.output
        assert f"{shown.largest:.3f} points" in done.output
    file = tmp_path / "across.csv"
    CliRunner().invoke(app, ["verify", "--across", "--table", str(file), "bundled"])
    assert pd.read_csv(file)[["setting", "largest", "stars"]].to_numpy().tolist() == [["a", 0.2, 0]]


def test_one_setting_has_nothing_to_be_compared_with(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="1 settings: two or more are needed"):
        across(["bundled", "--out", str(tmp_path)], {AS_IT_IS: {}})
