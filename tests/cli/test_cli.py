"""The command line, as a user starts it."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from importlib.metadata import version
from itertools import product
from pathlib import Path

import pandas as pd
import pytest
from typer.testing import CliRunner

from kg2rag.cli import app, main
from kg2rag.cli.option_groups import parse_settings
from kg2rag.compute import Store

COMPARE = (
    "compare bundled --systems bm25,dense,graph_augmented,mention_ppr --limit 30 --metrics recall@5,mrr@10 "
    "--set bm25.k1=1.2 --set graph_augmented.hops=2"
)


@pytest.fixture(scope="module")
def store(session_store: Store) -> Path:
    return session_store.root


@pytest.fixture(scope="module")
def compared(
    store: Path, tmp_path_factory: pytest.TempPathFactory
) -> tuple[subprocess.CompletedProcess[str], Path]:
    """One comparison on the bundled set, in a separate process: the process and the folder it wrote."""
    out = tmp_path_factory.mktemp("results") / "first"
    done = subprocess.run(
        [sys.executable, "-m", "kg2rag", *COMPARE.split(), "--out", str(out)],
        env={**os.environ, "KG2RAG_STORE": str(store), "COLUMNS": "100"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done, out


@pytest.fixture
def run(
    store: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> Callable[[str], tuple[int, str]]:
    """Run a command in this process: its exit code, and its lines on standard error."""
    monkeypatch.chdir(tmp_path)  # where no earlier report is to be replaced
    monkeypatch.setenv("KG2RAG_STORE", str(store))
    # Where a notebook ran in this process, bars are shown.
    monkeypatch.setenv("TQDM_DISABLE", "1")
    monkeypatch.delenv("KG2RAG_DEBUG", raising=False)

    def start(arguments: str) -> tuple[int, str]:
        monkeypatch.setattr(sys, "argv", ["kg2rag", *arguments.split()])
        with pytest.raises(SystemExit) as stopped:
            main()
        return int(stopped.value.code or 0), capsys.readouterr().err

    return start


def test_the_score_table_has_the_mean_of_each_system_and_metric(
    compared: tuple[object, Path],
) -> None:
    scores = pd.read_csv(compared[1] / "scores.csv")
    per_query = pd.read_parquet(compared[1] / "per_query.parquet")
    assert ",".join(scores.columns) == (
        "system,metric,mean,ci_low,ci_high,p_holm,wins,ties,losses,p_t_holm,effect_size,detectable,p_best,seed_sd"
    )
    systems, metrics = (
        ("bm25", "dense", "graph_augmented", "mention_ppr"),
        ("recall@5", "mrr@10"),
    )
    assert [*zip(scores["system"], scores["metric"], strict=True)] == list(
        product(systems, metrics)
    )
    for row in scores.itertuples():
        own = per_query[per_query["system"] == row.system]
        assert row.mean == pytest.approx(own[row.metric].mean(), abs=1e-6)


def test_the_results_are_written_and_the_configuration_says_what_was_run(
    compared: tuple[object, Path],
) -> None:
    written = {
        str(file.relative_to(compared[1]))
        for file in compared[1].rglob("*")
        if file.is_file()
    }
    runs = {
        f"runs/{name}.trec.gz"
        for name in ("bm25", "dense", "graph_augmented", "mention_ppr")
    }
    assert {
        "scores.csv",
        "per_query.parquet",
        "report.html",
        "config.json",
        *runs,
    } <= written
    config = json.loads((compared[1] / "config.json").read_text())
    assert (
        config["command"].startswith("kg2rag compare bundled --systems ")
        or "compare bundled" in config["command"]
    )
    assert "k1=1.2" in config["systems"]["bm25"]
    assert "hops=2" in config["systems"]["graph_augmented"]
    assert config["data"]["questions"] == 30


def test_the_terminal_shows_every_system_where_the_report_is_and_what_graph_there_would_be(
    compared: tuple[subprocess.CompletedProcess[str], Path],
) -> None:
    done, out = compared
    for name in (
        "bm25",
        "dense",
        "graph_augmented",
        "mention_ppr",
        f"Report: {out / 'report.html'}",
    ):
        assert name in done.stdout
    assert "…" not in done.stdout
    # a graph that can be read is offered, a list of entities is not
    assert "triples(" in done.stdout
    assert "entities(" not in done.stdout


MISTAKES = [
    ("compare nothing", "Unknown dataset 'nothing'. Known: "),
    ("compare irds:vaswanni", "Did you mean 'irds:vaswani'?"),
    ("compare beir/sci-fact", "Did you mean 'beir/scifact'?"),
    ("compare bundled --systems bm26", "Unknown system 'bm26'. Known: "),
    (
        "compare bundled --systems bm25 --set bm25.k2=1",
        "Unknown parameter 'k2'. Known: b, k1",
    ),
    (
        "compare bundled --systems bm25 --set bm25.stop_word=1",
        "Did you mean 'stop_words'?",
    ),
    ("systems bm26", "Did you mean 'bm25'?"),
    ("compare bundled --systems bm25 --set bm25.k1=high", "k1 must be"),
    ("compare bundled --systems bm25 --set bm25.k1=NaN", "k1 must be"),
    (
        "compare bundled --systems bm25 --set bm25.k1",
        "--set 'bm25.k1': write system.parameter=value",
    ),
    (
        "compare bundled --systems bm25 --set dense.k=1",
        "set for 'dense', which is not compared",
    ),
    (
        "compare bundled --systems bm25 --graph openai(x)",
        "Unknown graph source 'openai'. Known: code, ",
    ),
    ("compare bundled --systems ,", "No system to compare."),
    ("compare bundled --systems bm25 --metrics recal@5", "recal@5"),
    (
        "compare bundled --systems bm25 --metrics recall@5 --out /dev/null/x",
        "/dev/null/x",
    ),
    ("datasets info hotpotqa --path nowhere", "nowhere does not exist"),
]


@pytest.mark.parametrize(("arguments", "message"), MISTAKES)
def test_a_mistake_is_answered_in_one_line_with_exit_code_2(
    run: Callable[[str], tuple[int, str]], arguments: str, message: str
) -> None:
    code, error = run(arguments)
    assert code == 2
    assert error.startswith("Error: ")
    assert message in error
    assert len(error.splitlines()) == 1


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (
            "--systems bm25,proprag --graph dependency(en_no_such)",
            "'en_no_such' is not installed",
        ),
        (
            "--systems bm25,dense --embedder all-MiniLM-L6-v3",
            "Did you mean 'all-MiniLM-L6-v2'?",
        ),
    ],
)
def test_what_is_missing_for_a_system_is_said_without_blaming_a_question(
    run: Callable[[str], tuple[int, str]], arguments: str, said: str
) -> None:
    code, error = run(f"compare bundled {arguments} --out out")
    assert code == 2
    first, *notes = error.splitlines()
    assert said in first
    assert all(note.startswith("System ") for note in notes)
    assert "q001" not in error


def test_a_comparison_that_is_replaced_is_named_before(
    compared: tuple[object, Path], run: Callable[[str], tuple[int, str]], tmp_path: Path
) -> None:
    copy = tmp_path / "copy"
    shutil.copytree(compared[1], copy)
    code, error = run(
        f"compare bundled --systems bm25 --limit 3 --metrics recall@5 --out {copy}"
    )
    assert code == 0
    assert (
        f"{copy} holds the comparison of bm25, dense, graph_augmented, mention_ppr on bundled from "
        in error
    )


def test_with_debug_a_mistake_is_a_traceback(
    run: Callable[[str], tuple[int, str]],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setenv("KG2RAG_DEBUG", "1")
    with pytest.raises(ValueError, match="'nothing'") as raised:
        run("compare nothing")
    # As Python does where nothing catches it.
    sys.excepthook(raised.type, raised.value, raised.tb)
    error = capsys.readouterr().err
    assert error.startswith("Traceback")
    assert "ValueError: Unknown dataset 'nothing'" in error


@pytest.mark.parametrize(
    ("given", "parsed"),
    [
        ("bm25.k1=1.2", {"bm25": {"k1": 1.2}}),
        ("bm25.stop_words=false", {"bm25": {"stop_words": False}}),
        ("hybrid.depth=10", {"hybrid": {"depth": 10}}),
        ("bm25.variant=lucene", {"bm25": {"variant": "lucene"}}),
        ('bm25.variant="lucene"', {"bm25": {"variant": "lucene"}}),
        ("x.y=a=b", {"x": {"y": "a=b"}}),
    ],
)
def test_settings_are_json_where_they_can_be_and_text_otherwise(
    given: str, parsed: dict[str, object]
) -> None:
    assert parse_settings([given]) == parsed
    assert parse_settings([given, "one.a=1", "one.b=2"]) == {
        **parsed,
        "one": {"a": 1, "b": 2},
    }


@pytest.mark.parametrize("given", ["", "bm25", "bm25=1", ".k1=1", "bm25.=1", "=1"])
def test_settings_of_another_form_are_refused(given: str) -> None:
    with pytest.raises(ValueError, match=r"system\.parameter=value"):
        parse_settings([given])


@pytest.fixture(params=["80", "120"])
def invoke(
    request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> Iterator[object]:
    """Run a command in this process, in a terminal of that width, with an empty store."""
    monkeypatch.setenv("COLUMNS", request.param)
    monkeypatch.setenv("KG2RAG_STORE", str(tmp_path))

    def run(arguments: str) -> str:
        result = CliRunner().invoke(app, arguments.split())
        assert result.exception is None or isinstance(result.exception, SystemExit), (
            result.exception
        )
        tables = [
            line
            for line in result.stdout.splitlines()
            if not line.startswith(str(tmp_path))
        ]
        assert max(map(len, tables), default=0) <= int(request.param)
        assert "…" not in result.stdout
        return f"{result.stdout}[{result.exit_code}]"

    return run


def test_systems_says_what_every_system_does_and_has_every_parameter(invoke) -> None:  # type: ignore[no-untyped-def]
    from kg2rag.retrievers.systems import SYSTEMS, names, parameters

    assert invoke("--version") == f"{version('kg2rag')}\n[0]"
    shown = invoke("systems")
    assert all(f" {name} " in shown for name in names())
    summary = str(SYSTEMS["hippo2"].__doc__).split("\n\n")[0]
    assert " ".join(summary.split()) in " ".join(invoke("systems hippo2").split())
    for name in names():
        lines = [line.split() for line in invoke(f"systems {name}").splitlines()]
        assert all(
            [parameter, *repr(value).split()] in lines
            for parameter, value in parameters(name).items()
        ), name


def test_datasets_are_listed_counted_and_checked(invoke) -> None:  # type: ignore[no-untyped-def]
    from kg2rag.datasets import names

    lines = invoke("datasets list").splitlines()
    shown = {line.split()[0] for line in lines if line[1:2].strip() and line.split()}
    assert shown >= set(names())
    counts = invoke("datasets info bundled").splitlines()
    assert any(line.split() == ["questions", "116"] for line in counts)
    assert any("1: 58, 2: 37, 3: 21" in line for line in counts)
    found = invoke("datasets lint bundled")
    assert "questions that contain their answer" in found
    assert "fastapi-2" in found


def test_the_store_is_pruned(invoke, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    store = Store(tmp_path)
    for n in (1, 2):
        store.entry(
            "letters",
            {"n": n},
            lambda folder: (folder / "a").write_bytes(b"a" * 1000) and None,
        )
    # Nothing is a month old.
    assert invoke("store prune").startswith("Entries deleted: 0 ")
    assert invoke("store prune --older-than-days 0").startswith(
        "Entries deleted: 2 (0.0 MB)."
    )
