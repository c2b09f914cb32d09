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


def test_the_first_setting_changes_nothing_and_others_do() -> None:
    first, *others = offered().values()
    assert first == {}
    assert len(others) >= 4
    assert all(others)


def test_what_moved_is_measured(monkeypatch: pytest.MonkeyPatch) -> None:
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
        monkeypatch.setattr("kg2rag.experiments.reproduction.across", lambda _arguments, shown=shown: shown)
        done = CliRunner().invoke(app, ["verify", "--across", "--tolerance", str(tolerance), "bundled"])
        assert done.exit_code == code, done.output
        assert f"{shown.largest:.3f} points" in done.output


def test_one_setting_has_nothing_to_be_compared_with(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="1 settings: two or more are needed"):
        across(["bundled", "--out", str(tmp_path)], {AS_IT_IS: {}})
