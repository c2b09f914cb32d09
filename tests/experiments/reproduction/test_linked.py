"""Published rows that ran, each with links to the ledger, the command and the kept run."""

from __future__ import annotations

import re
from pathlib import Path

import pandas as pd
import pytest

from kg2rag.experiments.reproduction import Reproduction, linked

ROOT = Path(__file__).parents[3]
LEDGERS, KEPT = ROOT / "eval" / "ledger", ROOT / "eval" / "results" / "ledger.csv"


def test_every_number_that_ran_stands_in_one_row_with_its_command() -> None:
    rows, frame = linked(LEDGERS, KEPT), Reproduction.load(KEPT).frame
    ran = frame[frame["ours"].notna()]
    assert rows.frame["metric"].str.split("\n").str.len().sum() == len(ran)
    assert set(rows.frame["command"]) == set(ran["command"])
    assert rows.frame["command"].str.startswith("kg2rag reproduce eval/ledger/").all()


def test_each_link_leads_to_the_line_that_it_names() -> None:
    rows = linked(LEDGERS, KEPT)
    for (_, row), to_ledger, to_run in zip(rows.frame.iterrows(), *rows.links.values(), strict=True):
        ledger, published = re.fullmatch(r"(\w+)(?:, [^:]*)?: (.*)", row["row"]).groups()
        assert line_of(to_ledger) == f'system = "{published}"'
        assert f"{ledger}.toml#" in to_ledger
        assert line_of(to_run).startswith(f"{ledger},")
        assert published in line_of(to_run)
        assert row["set"] in line_of(to_run)
        assert row["our run"] in line_of(to_run)


def line_of(link: str) -> str:
    path, _, number = link.partition("#L")
    return Path(path).read_text(encoding="utf-8").splitlines()[int(number) - 1]


def test_names_are_escaped_and_metrics_stand_below_each_other(tmp_path: Path) -> None:
    (tmp_path / "paper.toml").write_text('[[published]]\nsystem = "A<b>"\n\n[[published]]\nsystem = "other"\n')
    about = {"ledger": "paper", "published": "A<b>", "source": "Table 1", "set": "S", "system": "bm25", "theirs": 50}
    rest = {
        "verdict": "off",
        "baseline": "A<b>",
        "why": "no reason",
        "command": "kg2rag reproduce x & y",
        "difference": 1.25,
    }
    rows = [about | rest | {"metric": f"recall@{k}", "ours": 51.25, "questions": 3} for k in (2, 5)]
    pd.DataFrame([about | rest | {"metric": "f1"}, *rows]).to_csv(tmp_path / "kept.csv", index=False)
    found = linked(tmp_path, tmp_path / "kept.csv")
    page = found._repr_html_()
    assert f'<a href="{tmp_path}/paper.toml#L2">paper, Table 1: A&lt;b&gt;</a>' in page
    assert f'<a href="{tmp_path}/kept.csv#L3">lines 3, 4</a>' in page
    assert "<code>kg2rag reproduce x &amp; y</code>" in page
    assert "recall@2<br>recall@5" in page
    (tmp_path / "paper.toml").write_text('[[published]]\nsystem = "other"\n')
    with pytest.raises(ValueError, match="has no published row 'A<b>'"):
        linked(tmp_path, tmp_path / "kept.csv")
