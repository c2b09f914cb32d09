"""Reproducing a ledger: verdicts worked out by hand, blanks for what cannot be run, commands that remake a row."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from kg2rag.datasets.bundled import folder as bundled_folder
from kg2rag.experiments.reproduction import Ledger, reproduce
from kg2rag.experiments.reproduction.ledger import Ours
from kg2rag.experiments.reproduction.runs import verdict

LEDGER = """
cite = "Somebody, Table 1"
metric = "recall, per cent"

[sets.a]
name = "A"
[sets.b]
name = "B"

[[published]]
system = "BM25"
needs = "the question set"
values.a = { "recall@5" = 61.9, hits = 10 }
values.b = { "recall@5" = 50 }

[[published.ours]]
set = "a"
data = "bundled"
folder = "a"
system = "dense"
tolerance = 100
metrics = { hits = "passages" }

[[published.ours]]
set = "b"
data = "bundled"
folder = "missing"
system = "bm25"
tolerance = 1

[[published]]
system = "Oracle"
needs = "a crystal ball"
values.a = { "recall@5" = 100 }
"""


@pytest.fixture
def ledger(tmp_path: Path) -> Ledger:
    (tmp_path / "paper.toml").write_text(LEDGER)
    shutil.copytree(bundled_folder(), tmp_path / "a")
    return Ledger.read(tmp_path / "paper.toml")


@pytest.mark.parametrize(
    ("difference", "judged"), [(3.4, "ok"), (-3.4, "ok"), (3.5, "close"), (-6.8, "close"), (6.9, "off"), (0.0, "ok")]
)
def test_verdicts(difference: float, judged: str) -> None:
    ours = Ours(set="a", data="bundled", folder="a", system="bm25", tolerance=3.4)
    assert verdict(difference, ours) == judged


def test_what_is_not_comparable_has_no_other_verdict() -> None:
    ours = Ours(set="a", data="x", folder="a", system="bm25", tolerance=1, comparable=False, note="another corpus")
    assert verdict(0.0, ours) == "not comparable"


def test_ours_theirs_and_the_difference(ledger: Ledger, tmp_path: Path) -> None:
    frame = reproduce([ledger], tmp_path, progress=False).frame
    recall = frame.iloc[0]
    assert recall["verdict"] == "ok"
    assert recall["ours"] - recall["theirs"] == pytest.approx(recall["difference"])
    assert 0 < recall["ours"] <= 100
    hits = frame[frame["metric"] == "hits"].iloc[0]
    assert (hits["ours"], hits["difference"]) == (10, 0)


def test_what_cannot_be_run_is_blank_and_says_what_it_needs(ledger: Ledger, tmp_path: Path) -> None:
    frame = reproduce([ledger], tmp_path, progress=False).frame
    blank = frame[frame["verdict"] == "not run"]
    assert blank["ours"].isna().all()
    assert list(blank["why"]) == ["needs the folder missing", "needs a crystal ball"]


def test_a_row_is_remade_by_its_command(ledger: Ledger, tmp_path: Path) -> None:
    frame = reproduce([ledger], tmp_path, progress=False).frame
    only = frame["command"].iloc[0].split('"')[1]
    again = reproduce([ledger], tmp_path, only=only, progress=False).frame
    assert list(again["ours"]) == list(frame["ours"][:2])


def test_texts_alone_are_another_corpus(ledger: Ledger, tmp_path: Path) -> None:
    text = LEDGER.replace('system = "dense"\ntolerance = 100', 'system = "dense"\ntitles = false\ntolerance = 100')
    (tmp_path / "untitled.toml").write_text(text)
    with_titles, without = (
        reproduce([one], tmp_path, only="BM25/a", progress=False).frame["ours"].iloc[0]
        for one in (ledger, Ledger.read(tmp_path / "untitled.toml"))
    )
    assert with_titles != without


def test_an_unknown_row_lists_the_known_ones(ledger: Ledger, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"contains 'nothing such'. There are: paper/BM25, paper/Oracle"):
        reproduce([ledger], tmp_path, only="nothing such")


def test_a_missing_number_is_blank_in_every_table(ledger: Ledger, tmp_path: Path) -> None:
    result = reproduce([ledger], tmp_path, only="Oracle", progress=False)
    assert "| 100.0 |  |  |  | not run |" in result.to_markdown()
    assert "NaN" not in result._repr_html_()
    assert result.__rich__().row_count == 1
