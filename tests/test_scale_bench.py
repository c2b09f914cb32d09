"""`eval/bench/scale.py` measures each thing once, and `eval/scaling.py` says how it grows."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pandas as pd
import pytest
import scaling

BENCH = Path(__file__).resolve().parent.parent / "eval" / "bench" / "scale.py"


def measure(folder: Path, *options: str) -> list[dict]:
    command = [sys.executable, BENCH, "--out", folder / "out", "--work", folder / "work", *options]
    subprocess.run(command, check=True, capture_output=True)
    return [json.loads(line) for line in (folder / "out" / "measurements.jsonl").read_text().splitlines()]


@pytest.mark.slow
def test_each_measurement_is_a_line_and_is_not_repeated(tmp_path: Path) -> None:
    options = ("--passages", "120", "--parts", "bm25", "--systems", "bm25", "--triples", "5")
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
    triples = (tmp_path / "work" / "world-120" / "triples-5.jsonl").read_text().splitlines()
    assert len(triples) == 5 * 120
    second, third = map(json.loads, triples[1:3])
    assert (third["head"], third["relation"], third["tail"]) == (
        second["tail"],
        f"{second['relation']} of",
        second["head"],
    )


@pytest.mark.slow
def test_a_measurement_that_holds_too_much_ends_and_says_so(tmp_path: Path) -> None:
    options = ("--passages", "120", "--parts", "bm25", "--systems", "none", "--memory", "0.01")
    assert all(line["failed"].startswith("more than 0.01 GB after") for line in measure(tmp_path, *options))


def test_a_command_is_run_with_its_seconds_memory_and_exit_status() -> None:
    held = "import sys; held = b'1' * 300_000_000; sys.exit(3)"
    command = [sys.executable, BENCH.with_name("peak.py"), sys.executable, "-c", held]
    ended = subprocess.run(command, check=False, capture_output=True, text=True)
    assert ended.returncode == 3
    assert re.fullmatch(r"[\d.]+ s, [\d.]+ s of processors, [\d.]+ GB at the peak; load [\d., ]+\n", ended.stderr)


def rows(label: str, costs: dict[int, float]) -> list[dict]:
    part = {"label": label, "triples": 3, "encoder": "hashing", "kind": "part", "name": "bm25"}
    memory = {"peak_gb": 0.5, "disk_bytes": 2_000_000}
    built = [{**part, "step": "build", "passages": n, "seconds_cpu": cost, **memory} for n, cost in costs.items()]
    return [*built, {**part, "step": "open", "passages": max(costs), "seconds_cpu": 0.25}]


def test_a_part_s_row_has_its_costs_their_exponent_and_the_costs_before() -> None:
    # Ten times the passages at a hundred times the cost: the exponent is 2.
    frame = pd.DataFrame([*rows("now", {100: 0.5, 1000: 50.0}), *rows("before", {100: 8.0})])
    assert scaling.parts(frame).splitlines()[2] == "| `bm25` | 0.500 | 50.0 | 2.00 | 8.00 | 0.250 | 0.500 | 2.00 |"


def test_a_measurement_that_failed_is_a_dash_and_a_later_one_counts(tmp_path: Path) -> None:
    lines = [*rows("now", {100: 0.5, 1000: 50.0}), *rows("now", {100: 0.75})]
    lines[1] = {key: value for key, value in lines[1].items() if key not in ("seconds_cpu", "peak_gb")} | {
        "failed": "late"
    }
    (tmp_path / "measurements.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    table = scaling.parts(scaling.read(tmp_path / "measurements.jsonl"))
    assert table.splitlines()[2] == "| `bm25` | 0.750 | – | – | 0.250 | 0.500 | 2.00 |"


def test_the_figure_is_the_same_picture_each_time(tmp_path: Path) -> None:
    system = {"kind": "system", "name": "dense", "step": "query", "alone_ms_cpu": 3.0, "passages": 100, "label": "now"}
    frame = pd.DataFrame([*rows("now", {100: 0.5, 1000: 50.0}), system])
    for name in ("a.svg", "b.svg"):
        scaling.figure(frame, tmp_path / name)
    assert (tmp_path / "a.svg").read_bytes() == (tmp_path / "b.svg").read_bytes()
