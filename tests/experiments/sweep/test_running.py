"""A sweep that is interrupted, extended, shared out or shuffled ends in the same file, and runs nothing twice."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from kg2rag import systems
from kg2rag.cli import main
from kg2rag.compute import Store
from kg2rag.evaluation import evaluate
from kg2rag.evaluation.runs import Run
from kg2rag.experiments.sweep import Sweep, SweepResult, read_sweep, scoring
from kg2rag.knowledge import KnowledgeBase
from kg2rag.retrievers.bm25 import BM25
from kg2rag.types import QADataset, Ranking

Make = Callable[..., Sweep]
SOME = {"bm25": {"k1": [0.5, 0.9]}}


def bytes_of(folder: Path) -> bytes:
    return (folder / "results.parquet").read_bytes()


def test_scores_are_those_of_the_system_run_by_hand(
    sweep: Make, data: QADataset, root: Path, tmp_path: Path
) -> None:
    result = sweep().run(tmp_path)
    assert result.numbers == list(range(1, 13))
    assert len(result.per_question) == 12 * 40
    system = BM25(KnowledgeBase.build(data.corpus, store=Store(root)), k1=1.5, b=0.75)
    expected = evaluate(
        system.retrieve_batch(data.queries, 10), data, ["recall@5", "mrr@10"]
    )
    table = SweepResult.load(tmp_path).per_question
    own = table[table["parameters"] == '{"b": 0.75, "k1": 1.5}'].set_index("query_id")
    pd.testing.assert_frame_equal(
        own[["recall@5", "mrr@10"]], expected, check_index_type=False, check_names=False
    )


def test_what_scores_depend_on_is_recorded(
    sweep: Make, data: QADataset, tmp_path: Path
) -> None:
    wanted = {"bm25": {"k1": [0.5, 0.9]}, "mention_ppr": {"damping": [0.5]}}
    sweep(systems=wanted, graphs={"names": "mentions", "all": "cooccurrence"}).run(
        tmp_path
    )
    about = json.loads((tmp_path / "sweep.json").read_text())
    (passages,) = about["data"][data.setting]
    assert passages["corpus_fingerprint"] == data.corpus.fingerprint
    graphs = {label: graph["fingerprint"] for label, graph in about["graphs"].items()}
    assert list(graphs) == ["names", "all"]
    assert graphs["names"] != graphs["all"]
    assert list(about["tuning"]) == ["mention_ppr"]


def test_what_was_run_is_read_and_a_longer_grid_runs_what_is_new_alone(
    sweep: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store, ran, run = Store(tmp_path / "store"), [], scoring.run

    def counted(system: BM25, *given: Any, **named: Any) -> Run:
        found = run(system, *given, **named)
        ran.extend([system.k1] * (found.n_stored == 0))
        return found

    monkeypatch.setattr(scoring, "run", counted)
    sweep(systems=SOME, store=store).run(tmp_path / "first")
    assert ran == [0.5, 0.9]
    ran.clear()
    sweep(systems=SOME, store=store).run(tmp_path / "again")
    assert ran == []
    assert bytes_of(tmp_path / "again") == bytes_of(tmp_path / "first")
    sweep(systems={"bm25": {"k1": [0.2, 0.5, 0.9]}}, store=store).run(
        tmp_path / "longer"
    )
    assert ran == [0.2]


def test_two_workers_write_the_same_bytes(sweep: Make, tmp_path: Path) -> None:
    options = {
        "systems": {"bm25": {"k1": [0.5, 0.9]}, "pattern": {}},
        "store": Store(tmp_path / "store"),
    }
    spread, serial = (
        sweep(**options).run(tmp_path / "spread", jobs=2),
        sweep(**options).run(tmp_path / "serial"),
    )
    assert len(spread.failed) == len(serial.failed) == 0
    assert bytes_of(tmp_path / "spread") == bytes_of(tmp_path / "serial")


class Broken(BM25):
    """Fails for one value of k1."""

    def retrieve_batch(self, queries, k):  # type: ignore[no-untyped-def]
        if self.k1 == 0.9:
            raise RuntimeError("the disk is full")
        return super().retrieve_batch(queries, k)


def test_a_configuration_that_fails_is_listed_loses_no_other_and_is_tried_again(
    sweep: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patched:
        patched.setitem(systems.SYSTEMS.entries, "bm25", Broken)
        result = sweep(systems=SOME).run(tmp_path)
        assert list(result.failed["error"]) == ["RuntimeError: the disk is full"]
        assert result.numbers == [1]
    for name in ("report.md", "report.html"):
        assert "the disk is full" in (tmp_path / name).read_text()
    assert len(SweepResult.load(tmp_path).failed) == 1
    assert len(sweep(systems=SOME).run(tmp_path).failed) == 0


def test_a_sweep_in_which_everything_fails_says_why_and_leaves_former_results(
    sweep: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sweep(systems=SOME).run(tmp_path)
    before = bytes_of(tmp_path)
    monkeypatch.setitem(systems.SYSTEMS.entries, "bm25", Broken)
    with pytest.raises(RuntimeError, match="the disk is full"):
        sweep(systems={"bm25": {"k1": 0.9, "b": [0.4, 0.8]}}).run(tmp_path)
    assert bytes_of(tmp_path) == before


def test_the_defaults_are_run_where_the_grid_lacks_them(
    sweep: Make, tmp_path: Path
) -> None:
    result = sweep(systems={"bm25": {"k1": [0.5, 1.5]}}).run(tmp_path)
    assert result.settings == {1: {"k1": 0.5}, 2: {"k1": 1.5}, 3: {}}
    assert result.best()["default_dev"].notna().all()


def test_files_of_others_stay_and_are_in_the_way_before_any_work(
    sweep: Make, tmp_path: Path
) -> None:
    (tmp_path / "results.csv").write_text("theirs")
    sweep(systems=SOME).run(tmp_path)
    assert (tmp_path / "results.csv").read_text() == "theirs"
    other = tmp_path / "other"
    other.mkdir()
    (other / "report.md").write_text("theirs")
    with pytest.raises(FileExistsError, match=r"report\.md"):
        sweep(systems=SOME, store=Store(tmp_path / "store")).run(other)
    assert not (tmp_path / "store").exists()
    assert [file.name for file in other.iterdir()] == ["report.md"]


def test_a_function_of_ones_own_is_a_metric_and_an_objective(
    sweep: Make, tmp_path: Path
) -> None:
    def first(ranking: Ranking, gold: Mapping[str, int]) -> float:
        return float(ranking.passage_ids[0] in gold)

    result = sweep(systems=SOME, metrics=["hit_rate@1", first], objective="first").run(
        tmp_path
    )
    assert (
        result.per_question["first"].tolist()
        == result.per_question["hit_rate@1"].tolist()
    )
    assert result.objective == "first"


FILE = 'data = "bundled"\nmetrics = ["recall@5"]\nk = 5\n[systems.bm25]\nk1 = [0.3, 0.6, 0.9, 1.2]\nb = [0.2, 0.4]\n'
KILLED = """
import os, signal, sys
from kg2rag.compute import Store
from kg2rag.experiments.sweep import read_sweep, scoring
run, ran = scoring.run, []
def killed_in_the_sixth(*given, **named):
    ran.append(1)
    if len(ran) == 6:
        os.kill(os.getpid(), signal.SIGKILL)
    return run(*given, **named)
scoring.run = killed_in_the_sixth
read_sweep(sys.argv[1], store=Store(sys.argv[3])).run(sys.argv[2])
"""


def test_a_killed_run_goes_on_to_the_same_bytes(tmp_path: Path) -> None:
    (tmp_path / "sweep.toml").write_text(FILE)
    given = [str(tmp_path / name) for name in ("sweep.toml", "killed", "store")]
    done = subprocess.run(
        [sys.executable, "-c", KILLED, *given], capture_output=True, check=False
    )
    assert done.returncode == -signal.SIGKILL, done.stderr
    wanted = read_sweep(tmp_path / "sweep.toml", store=Store(tmp_path / "store"))
    wanted.run(tmp_path / "killed")
    wanted.run(tmp_path / "whole")
    assert bytes_of(tmp_path / "killed") == bytes_of(tmp_path / "whole")


def test_the_command_plans_runs_and_reports(
    tmp_path: Path,
    root: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    (tmp_path / "small.toml").write_text(FILE)
    monkeypatch.setenv("KG2RAG_STORE", str(root))

    def command(arguments: str) -> tuple[int, str]:
        given = f"kg2rag sweep {tmp_path / 'small.toml'} --out {tmp_path / 'out'} {arguments}"
        monkeypatch.setattr(sys, "argv", given.split())
        with pytest.raises(SystemExit) as stopped:
            main()
        said = capsys.readouterr()
        return int(stopped.value.code or 0), said.out + said.err

    assert command("--report")[0] == command("--plan --run")[0] == command("")[0] == 2
    code, out = command("--plan")
    assert code == 0
    assert "8 bm25" in out
    assert not (tmp_path / "out").exists()
    assert command("--run")[0] == 0
    assert {file.name for file in (tmp_path / "out").iterdir()} == {
        ".kg2rag.json",
        "results.parquet",
        "sweep.json",
        "report.md",
        "report.html",
    }
    before = bytes_of(tmp_path / "out")
    assert command("--report")[0] == 0
    assert bytes_of(tmp_path / "out") == before


def test_a_sweep_runs_on_the_documents_and_questions_of_the_user(
    tmp_path: Path,
) -> None:
    (tmp_path / "wiki").mkdir()
    for name in ("apple", "pear", "plum", "quince"):
        (tmp_path / "wiki" / f"{name}.md").write_text(
            f"# {name.title()}\n\nThe {name} is a fruit of a tree.\n"
        )
    asked = tmp_path / "asked.csv"
    asked.write_text(
        "question,gold\n"
        + "".join(
            f"Which tree has the {name}?,{name}.md\n" for name in ("apple", "pear")
        )
    )
    file = tmp_path / "sweep.toml"
    file.write_text(
        f'data = "{tmp_path / "wiki"}"\nmetrics = ["recall@5"]\n[systems.bm25]\nk1 = [0.5]\n'
    )
    sweep = read_sweep(file, questions=asked, store=Store(tmp_path / "store"))
    assert [question.text for question in sweep.dataset.questions] == [
        "Which tree has the apple?",
        "Which tree has the pear?",
    ]
    with pytest.raises(ValueError, match="--questions"):
        _ = read_sweep(file).dataset
