"""Ledgers: what a file must hold, and the project's own, number by number against their source."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

from kg2rag.experiments.reproduction import Ledger

LEDGERS = Path(__file__).parents[3] / "eval" / "ledger"
SOUND = """
cite = "Somebody, Table 1"
metric = "recall, per cent"

[sets.a]
name = "A"

[[published]]
system = "BM25"
needs = "nothing"
values.a = { "recall@5" = 61.9 }

[[published.ours]]
set = "a"
data = "bundled"
folder = "a"
system = "bm25"
tolerance = 3.4
"""


def read(tmp_path: Path, text: str) -> Ledger:
    (tmp_path / "paper.toml").write_text(text)
    return Ledger.read(tmp_path / "paper.toml")


def test_a_sound_file_is_read(tmp_path: Path) -> None:
    ledger = read(tmp_path, SOUND)
    assert ledger.name == "paper"
    assert ledger.published[0].values == {"a": {"recall@5": 61.9}}
    assert ledger.published[0].ours[0].tolerance == 3.4


@pytest.mark.parametrize(
    ("before", "after", "message"),
    [
        ('set = "a"', 'set = "b"', r"'BM25' names the set 'b'; known: a"),
        ("tolerance = 3.4", "", r"published\.0\.ours\.0\.tolerance: Field required"),
        ("tolerance = 3.4", "tolerance = 0", r"tolerance: Input should be greater than 0"),
        ("tolerance = 3.4", "tolerance = 1\ncomparable = false", "note must say what forbids a verdict"),
        ("tolerance = 3.4", 'tolerance = 1\nmetrics = { "recall@9" = "x" }', "'BM25' prints no 'recall@9' on 'a'"),
        ("tolerance = 3.4", "tolerance = 1\ncolour = 2", r"ours\.0\.colour: Extra inputs are not permitted"),
        ("[sets.a]", "[sets.a", r"paper\.toml: not a TOML file: Expected ']'"),
    ],
)
def test_what_is_wrong_is_named(tmp_path: Path, before: str, after: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        read(tmp_path, SOUND.replace(before, after))


def test_every_ledger_of_the_project_is_sound() -> None:
    files = sorted(LEDGERS.glob("*.toml"))
    assert len(files) >= 6
    for file in files:
        assert Ledger.read(file).published


@pytest.mark.realdata
def test_every_published_number_stands_in_a_ledger(shared_data: Path) -> None:
    published = tomllib.loads((shared_data.parent / "reference" / "published.toml").read_text())
    for name, source in published["source"].items():
        ledger = Ledger.read(LEDGERS / f"{name}.toml")
        ours = {row.system: row for row in ledger.published}
        for row in source.get("row", []):
            numbers = sorted(round(number, 6) for number in _numbers(row))
            scale = 100 if name == "kg2rag" else 1
            kept = [
                value if metric == "passages" else value / scale
                for values in ours[row["system"]].values.values()
                for metric, value in values.items()
            ]
            assert sorted(round(number, 6) for number in kept) == numbers, row["system"]


def _numbers(row: object) -> list[float]:
    if isinstance(row, dict):
        return [number for value in row.values() for number in _numbers(value)]
    if isinstance(row, list):
        return [number for value in row for number in _numbers(value)]
    return [row] if isinstance(row, float) else []
