"""`eval/bench/run.py` measures each of its works on a little set."""

from __future__ import annotations

import json
import runpy
import sys
from pathlib import Path

import pytest

BENCH = Path(__file__).resolve().parent.parent / "eval" / "bench"
PAGES = {
    "Ed Wood": "Ed Wood is a film by Tim Burton.",
    "Tim Burton": "Tim Burton was born in Burbank.",
    "Burbank": "Burbank is a city in California.",
}


def test_each_work_is_a_row_with_two_times_and_what_they_agree_in(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    paragraphs = [
        {
            "idx": number,
            "title": title,
            "paragraph_text": text,
            "is_supporting": number < 2,
        }
        for number, (title, text) in enumerate(PAGES.items())
    ]
    record = {
        "id": "2hop__1",
        "question": "Where was the director of Ed Wood born?",
        "answer": "Burbank",
        "paragraphs": paragraphs,
    }
    (tmp_path / "musique.jsonl").write_text(json.dumps(record), encoding="utf-8")
    data = ("musique", "--path", str(tmp_path / "musique.jsonl"))
    monkeypatch.setattr(
        sys, "argv", ["run.py", *data, *"--passages 100 --files 3 --limit 10".split()]
    )
    monkeypatch.setenv("COLUMNS", "200")
    monkeypatch.syspath_prepend(BENCH)
    with pytest.raises(SystemExit) as end:
        runpy.run_path(str(BENCH / "run.py"), run_name="__main__")
    assert end.value.code == 0
    lines = [line.split("│") for line in capsys.readouterr().out.splitlines()]
    rows = [[cell.strip() for cell in line[1:-1]] for line in lines if len(line) > 1]
    agreement = {work: agreed for work, *_, agreed in rows}
    pagerank = agreement.pop("PageRank, 1 questions, 3 nodes")
    assert float(pagerank.removeprefix("within ")) < 1e-6
    assert agreement == {
        "encode 3 passages": "cosine ≥ 1.00000",
        "dense, 1 questions": "100.0 % of the first 10",
        "bm25, 1 questions": "100.0 % of the first 10",
        "mention_chains, 1 questions, 3 passages": "not compared",
        "mention_chains, 1 one by one, 3 passages": "not compared",
        "mention_chains, 10 questions, 100 passages": "not compared",
        "mention_chains, 1 one by one, 100 passages": "not compared",
        "from_folder, 3 files": "3 and 3 texts",
    }
    for _, package, library, ratio, _ in rows:
        assert float(package.removesuffix(" ms")) >= 0
        assert float(library.removesuffix(" ms")) >= 0
        assert float(ratio) > 0
