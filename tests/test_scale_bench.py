"""`eval/bench/scale.py` measures each thing once."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

BENCH = Path(__file__).resolve().parent.parent / "eval" / "bench" / "scale.py"


def measure(folder: Path, *options: str) -> list[dict]:
    command = [
        sys.executable,
        BENCH,
        "--out",
        folder / "out",
        "--work",
        folder / "work",
        *options,
    ]
    subprocess.run(command, check=True, capture_output=True)
    return [
        json.loads(line)
        for line in (folder / "out" / "measurements.jsonl").read_text().splitlines()
    ]


@pytest.mark.full
def test_each_measurement_is_a_line_and_is_not_repeated(tmp_path: Path) -> None:
    options = (
        "--passages",
        "120",
        "--parts",
        "bm25",
        "--systems",
        "bm25",
        "--triples",
        "5",
    )
    lines = measure(tmp_path, *options)
    assert [(line["kind"], line["name"], line["step"]) for line in lines] == [
        ("part", "bm25", "build"),
        ("part", "bm25", "open"),
        ("system", "bm25", "query"),
    ]
    build, again, system = lines
    assert build["disk_bytes"] > 1000
    assert again["disk_bytes"] == 0
    assert build["peak_gb"] >= build["input_gb"] > 0.05
    assert system["queries"] == 100
    assert 0 < system["batch_ms"] < 1000 * system["first_answer_s"]
    assert measure(tmp_path, *options) == lines
    triples = (
        (tmp_path / "work" / "world-120-5" / "triples-5.jsonl").read_text().splitlines()
    )
    assert len(triples) == 5 * 120
    assert len({json.loads(line)["head"] for line in triples}) == 120


@pytest.mark.slow
def test_a_measurement_that_holds_too_much_ends_and_says_so(tmp_path: Path) -> None:
    options = (
        "--passages",
        "120",
        "--parts",
        "bm25",
        "--systems",
        "none",
        "--memory",
        "0.01",
    )
    assert all(
        line["failed"].startswith("more than 0.01 GB after")
        for line in measure(tmp_path, *options)
    )
