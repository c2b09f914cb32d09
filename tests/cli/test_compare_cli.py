"""`kg2rag compare` and `kg2rag compare-graphs`, as a user types them."""

from __future__ import annotations

import json
import re
import shutil
import webbrowser
from pathlib import Path

import pandas as pd
import pytest
import tiny_model
from typer.testing import CliRunner

import kg2rag
from kg2rag.cli import app
from kg2rag.datasets import bundled
from kg2rag.text.records import DataError

COMMON = ["bundled", "--limit", "20", "--metrics", "recall@5"]


def run(*arguments: str) -> str:
    result = CliRunner().invoke(app, list(arguments), catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result.output


@pytest.mark.parametrize("content", ['{"mine": 1}', "{broken", "[]"])
def test_a_folder_with_something_else_is_refused_before_any_work(
    tmp_path: Path, content: str
) -> None:
    (tmp_path / "config.json").write_text(content)
    with pytest.raises(FileExistsError, match=r"config\.json"):
        run("compare", "no_such_set", "--out", str(tmp_path))
    assert (tmp_path / "config.json").read_text() == content
    (tmp_path / "file").write_text("")
    with pytest.raises(FileExistsError, match=r"is a file\. Name a folder"):
        run("compare-graphs", "no_such_set", "--out", str(tmp_path / "file"))


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a comparison."""
    folder = tmp_path_factory.mktemp("saved")
    run("compare", *COMMON, "--systems", "bm25,pattern", "--out", str(folder))
    assert kg2rag.Comparison.load(folder).systems == ["bm25", "pattern"]
    return folder


@pytest.mark.parametrize(
    "name",
    [
        "config.json",
        "scores.csv",
        "runs/bm25.trec.gz",
        "per_query.parquet",
        "curve.csv",
    ],
)
def test_a_damaged_or_strange_file_of_a_comparison_is_named(
    saved: Path, tmp_path: Path, name: str
) -> None:
    shutil.copytree(saved, tmp_path, dirs_exist_ok=True)
    file = tmp_path / name
    content = bytearray(file.read_bytes())
    digit = max(at for at, byte in enumerate(content) if byte in b"0123456789")
    content[digit] = ord("1") if content[digit] != ord("1") else ord("2")
    file.write_bytes(content)
    with pytest.raises(DataError, match=f"{name} is not as it was saved"):
        kg2rag.Comparison.load(tmp_path)
    file.unlink()
    with pytest.raises((DataError, FileNotFoundError), match=f"{name} is missing"):
        kg2rag.Comparison.load(tmp_path)


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        ("compare {} --systems bm25 --backend spark", "spark.*Known: dask, loky"),
        ("compare {} --systems bm25,bm25", "'bm25' is named twice.*a=bm25,b=bm25"),
        (
            "compare-graphs {} --systems bm25,bm25",
            "'bm25' is named twice.*a=bm25,b=bm25",
        ),
        ("compare-graphs {} --graph mentions", "NAME=SOURCE"),
        ("compare bundled bundled", "'bundled' is named twice"),
    ],
)
def test_what_cannot_be_compared_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: str, named: str
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ValueError, match=named):
        run(*arguments.format(" ".join(COMMON)).split(), "--out", "out")


def test_one_more_system_runs_alone_and_the_folder_is_that_of_all(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KG2RAG_STORE", str(tmp_path / "store"))
    out = ("--out", str(tmp_path / "out"))
    assert "Read from the store" not in run(
        "compare", *COMMON, "--systems", "bm25", *out
    )
    shown = run("compare", *COMMON, "--systems", "bm25,pattern", *out)
    assert re.search(r"Read from the store: bm25\b(?!.*pattern)", shown)
    assert "holds" not in shown  # nothing is lost
    before = {
        file: file.read_bytes()
        for file in (tmp_path / "out").rglob("*")
        if file.is_file()
    }
    assert "holds" not in run("compare", *COMMON, "--systems", "bm25,pattern", *out)
    assert {
        file: file.read_bytes()
        for file in (tmp_path / "out").rglob("*")
        if file.is_file()
    } == before
    assert "the comparison of bm25, pattern on bundled" in run(
        "compare", *COMMON, "--systems", "pattern", *out
    )
    assert "Read from the store" not in run(
        "compare", *COMMON, "--systems", "bm25", *out, "--fresh"
    )


def test_graphs_and_their_placebos_stand_side_by_side(tmp_path: Path) -> None:
    out = tmp_path / "out"
    shown = run(
        "compare-graphs",
        *COMMON,
        "--systems",
        "expansion_queries,dense",
        "--placebo",
        "2",
        "--out",
        str(out),
    )
    assert list(pd.read_csv(out / "scores.csv")["system"]) == [
        "dense",
        "expansion_queries.mentions",
        "expansion_queries.cooccurrence",
        "expansion_queries.mentions-shuffled",
        "expansion_queries.cooccurrence-shuffled",
    ]
    assert "Graphs against their placebos in recall@5" in shown
    assert "Graphs against their placebos" in (out / "report.html").read_text()


def test_two_graphs_of_one_name_are_refused() -> None:
    graphs = ("--graph", "mine=mentions", "--graph", "mine=cooccurrence")
    with pytest.raises(ValueError, match="'mine'"):
        run("compare-graphs", *COMMON, *graphs)


def test_workers_run_further_seeds_intervals_and_tests_to_the_same_bytes(
    tmp_path: Path,
) -> None:
    asked = (
        "--graph",
        "mentions=mentions",
        "--systems",
        "expansion_queries",
        "--placebo",
        "3",
    )
    for name, by in (("here", ()), ("spread", ("--jobs", "2"))):
        run("compare-graphs", *COMMON, *asked, *by, "--out", str(tmp_path / name))
    for file in (
        "scores.csv",
        "per_seed.csv",
        "per_query.parquet",
        "curve.csv",
        "token_curve.csv",
    ):
        assert (tmp_path / "spread" / file).read_bytes() == (
            tmp_path / "here" / file
        ).read_bytes()


def test_variants_of_one_system_stand_side_by_side(tmp_path: Path) -> None:
    run(
        "compare",
        *COMMON,
        "--systems",
        "a=bm25,b=bm25",
        "--set",
        "b.k1=0.1",
        "--out",
        str(tmp_path),
    )
    config = json.loads((tmp_path / "config.json").read_text())
    assert {name: config["parameters"][name]["k1"] for name in ("a", "b")} == {
        "a": 0.9,
        "b": 0.1,
    }
    assert {file.name for file in (tmp_path / "runs").iterdir()} == {
        "a.trec.gz",
        "b.trec.gz",
    }


def test_variants_run_over_every_graph_on_the_encoder_that_is_named(
    tmp_path: Path,
) -> None:
    asked = (
        "--graph",
        "m=mentions",
        "--systems",
        "a=expansion_queries,b=expansion_queries",
        "--placebo",
        "0",
    )
    run(
        "compare-graphs",
        *COMMON,
        *asked,
        "--set",
        "b.hits=1",
        "--dtype",
        "float32",
        "--out",
        str(tmp_path),
    )
    config = json.loads((tmp_path / "config.json").read_text())
    assert [config["parameters"][f"{name}.m"]["hits"] for name in ("a", "b")] == [3, 1]
    assert [kb["encoder"]["dtype"] for kb in config["knowledge"]] == ["float32"]


def test_a_graph_that_a_system_does_not_read_is_said_in_its_row(tmp_path: Path) -> None:
    systems = (
        "--systems",
        "bm25,expansion_queries,again=expansion_queries,hippo2",
        "--set",
        "again.hits=1",
    )
    systems += ("--embedder", str(tiny_model.save(tmp_path / "encoder")))
    # The second time what hippo2 makes of the triples is in the store.
    for _ in range(2):
        shown = run(
            "compare",
            *COMMON,
            *systems,
            "--graph",
            "cooccurrence",
            "--out",
            str(tmp_path / "given"),
        )
        unread = "bm25: did not read the triples of the graph cooccurrence"
        assert unread in " ".join(shown.split())
    assert "did not read" not in run(
        "compare", *COMMON, *systems, "--out", str(tmp_path / "default")
    )


MINE = """
from dataclasses import dataclass, field
from kg2rag import BM25, KnowledgeBase, Retriever

@dataclass(frozen=True)
class Mine(Retriever):
    kb: KnowledgeBase = field(repr=False)
    depth: int = 5

    def retrieve_batch(self, queries, k):
        return BM25(self.kb).retrieve_batch(queries, min(k, self.depth))
"""


def test_a_class_in_a_module_of_ones_own_is_compared_without_installing_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "my_retrievers_of_this_test.py").write_text(MINE)
    monkeypatch.chdir(tmp_path)
    run(
        "compare",
        *COMMON,
        "--systems",
        "bm25,my_retrievers_of_this_test:Mine",
        "--set",
        "Mine.depth=1",
        "--out",
        "out",
    )
    assert kg2rag.Comparison.load("out").systems == ["bm25", "Mine"]
    config = json.loads(Path("out/config.json").read_text())
    assert config["systems"]["Mine"] == "Mine(depth=1)"
    with pytest.raises(ValueError, match="my_retrievers_of_this_test:Other"):
        run(
            "compare",
            *COMMON,
            "--systems",
            "my_retrievers_of_this_test:Other",
            "--out",
            "out",
        )


def test_the_report_is_opened_in_a_browser_where_that_is_asked_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened: list[str] = []
    monkeypatch.setattr(
        webbrowser, "open", lambda address: opened.append(address) or len(opened) == 1
    )
    out = tmp_path / "with a blank"
    said = run("compare", *COMMON, "--systems", "bm25", "--out", str(out), "--open")
    assert opened == [(out / "report.html").as_uri()]
    assert "No browser" not in said
    assert "No browser can be opened here." in run(
        "compare", *COMMON, "--systems", "bm25", "--out", str(out), "--open"
    )


def test_several_sets_stand_in_one_table(tmp_path: Path) -> None:
    # Two sets as files: forty questions of the package, and half of them.
    parts = {"bundled-40": 40, "bundled-20": 20}
    for name, number in parts.items():
        (tmp_path / name).mkdir()
        (tmp_path / name / "corpus.jsonl").write_bytes(
            (bundled.folder() / "corpus.jsonl").read_bytes()
        )
        questions = (
            (bundled.folder() / "questions.jsonl").read_text().splitlines(keepends=True)
        )
        (tmp_path / name / "questions.jsonl").write_text("".join(questions[:number]))
    arguments = (
        "--path",
        str(tmp_path),
        "--systems",
        "bm25,pattern",
        "--metrics",
        "recall@5,mrr@10",
    )
    out = tmp_path / "out"
    shown = run("compare", *parts, *arguments, "--out", str(out))
    assert "macro-average" in shown
    assert f"bundled-20: {out / 'bundled-20' / 'report.html'}" in shown
    result = kg2rag.Comparisons(
        {name: kg2rag.Comparison.load(out / name) for name in parts}
    )
    assert [len(one.per_query) for one in result.sets.values()] == [2 * 40, 2 * 20]
    scores = [
        pd.read_csv(out / name / "scores.csv").set_index(["system", "metric"])["mean"]
        for name in parts
    ]
    mean = sum(one["bm25", "recall@5"] for one in scores) / 2
    assert result.to_frame().loc["bm25", "macro-average"] == pytest.approx(
        mean, abs=1e-6
    )
    # no folder by name
    alone = (
        "--path",
        str(tmp_path / "bundled-20"),
        "--systems",
        "bm25",
        "--metrics",
        "recall@5",
    )
    run("compare", "bundled", *alone, "--out", str(tmp_path / "one"))
    assert (
        kg2rag.Comparison.load(tmp_path / "one").per_query["query_id"].nunique() == 20
    )
    before = [(out / name / "config.json").read_bytes() for name in parts]
    run("compare", *parts, *arguments, "--out", str(out))
    assert [(out / name / "config.json").read_bytes() for name in parts] == before


def test_a_folder_of_documents_is_compared_on_a_file_of_questions(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "wiki").mkdir()
    (tmp_path / "wiki" / "travel.md").write_text("Anna Schmidt signs travel requests.")
    (tmp_path / "wiki" / "lunch.txt").write_text("Lunch is at noon.")
    (tmp_path / "wiki" / "film.mp4").write_bytes(b"")
    (tmp_path / "q.jsonl").write_text(
        '{"question": "Who signs?", "gold": "travel.md"}\n'
    )
    printed = run(
        "compare",
        "wiki",
        "--questions",
        "q.jsonl",
        "--systems",
        "bm25",
        "--metrics",
        "recall@1",
    )
    assert ".mp4" in printed
    assert pd.read_csv("reports/wiki/scores.csv")["mean"].tolist() == [1.0]


def test_a_sweep_on_a_folder_of_documents_names_what_was_skipped(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "wiki").mkdir()
    (tmp_path / "wiki" / "travel.md").write_text("Anna Schmidt signs travel requests.")
    (tmp_path / "wiki" / "film.mp4").write_bytes(b"")
    questions = [
        f'{{"question": "Who signs {kind}?", "gold": "travel.md"}}\n'
        for kind in ("travel requests", "this")
    ]
    (tmp_path / "q.jsonl").write_text("".join(questions))
    (tmp_path / "s.toml").write_text(
        'data = "wiki"\nmetrics = ["recall@1"]\n[systems.bm25]\nk1 = [0.9, 1.2]\n'
    )
    assert ".mp4" in run("sweep", "s.toml", "--questions", "q.jsonl", "--plan")


@pytest.mark.parametrize("asked", [(), ("--questions", "q.jsonl")])
def test_documents_without_gold_are_compared_by_agreement_and_their_hits_can_be_judged(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, asked: tuple[str, ...]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "wiki").mkdir()
    (tmp_path / "wiki" / "travel.md").write_text(
        "# Travel\n\nAnna Schmidt signs every request of those who travel."
    )
    (tmp_path / "wiki" / "lunch.md").write_text(
        "# Lunch\n\nAt noon there is soup for all of us."
    )
    (tmp_path / "q.jsonl").write_text('{"question": "Who signs?"}\n')
    said = " ".join(run("compare", "wiki", *asked, "--systems", "bm25,dense").split())
    assert "rbo" in said
    assert ("Who signs?" in said) == bool(asked)
    assert ("There are no questions" in said) != bool(asked)
    assert "--questions FILE" in said
    assert "Anna Schmidt" in (tmp_path / "reports" / "wiki" / "report.html").read_text()
