"""`kg2rag fit mention_chains`, from questions to a file that the system reads."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest
from typer.testing import CliRunner

from kg2rag.cli import app
from kg2rag.datasets import load
from kg2rag.experiments.fitting import SIGNALS
from kg2rag.knowledge import KnowledgeBase
from kg2rag.retrievers import systems
from kg2rag.types import Query

BUNDLED = Path(__file__).resolve().parents[2] / "data" / "bundled"


def run(*arguments: object) -> str:
    result = CliRunner().invoke(app, ["fit", "mention_chains", *map(str, arguments)], catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result.output


@pytest.fixture(scope="module")
def fitted(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with all.toml, fitted on the bundled questions but two, and one file a signal in ablation/."""
    folder = tmp_path_factory.mktemp("fit")
    (folder / "ids.txt").write_text("q001\nq002\nanother\n")
    output = run("--data", f"bundled={BUNDLED}", "--leave-out", folder / "ids.txt", "--out", folder / "all.toml",
                 "--ablation", folder / "ablation")  # fmt: skip
    assert "fitted on 114 questions of bundled, 2 left out" in output
    return folder


def test_the_file_says_what_it_was_fitted_on(fitted: Path) -> None:
    record = tomllib.loads((fitted / "all.toml").read_text())["fitted"]
    assert record["questions"] == {"bundled": 114}
    assert record["files"] == {f"bundled/{name}": digest for name, digest in load("bundled").source["files"].items()}
    assert "without" not in record


def test_there_is_one_file_without_each_signal(fitted: Path) -> None:
    assert sorted(file.stem for file in (fitted / "ablation").iterdir()) == sorted(f"without_{one}" for one in SIGNALS)
    for signal in SIGNALS:
        record = tomllib.loads((fitted / "ablation" / f"without_{signal}.toml").read_text())
        assert record["fitted"]["without"] == signal
        models = [
            record[section][model] for section in ("with_tokens", "without_tokens") for model in ("start", "step")
        ]
        assert {model[signal] for model in models if signal in model} == {0.0}
        assert all(value for name, value in record["with_tokens"]["step"].items() if name != signal)


def test_the_same_questions_give_the_same_bytes(fitted: Path, tmp_path: Path) -> None:
    run("--data", f"bundled={BUNDLED}", "--leave-out", fitted / "ids.txt", "--out", tmp_path / "again.toml")
    assert (tmp_path / "again.toml").read_bytes() == (fitted / "all.toml").read_bytes()


def test_the_system_reads_the_files(fitted: Path, kb: KnowledgeBase) -> None:
    queries = [Query("q", kb.corpus[0].text)]
    files = [fitted / "all.toml", fitted / "ablation" / "without_walk_gap.toml"]
    full, less = (systems.build("mention_chains", kb, coefficients=str(file)) for file in files)
    assert full.retrieve_batch(queries, 10)[0].scores.tolist() != less.retrieve_batch(queries, 10)[0].scores.tolist()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--data", "bundled"], "write NAME=PATH"),
        (["--data", f"bundled={BUNDLED}", "--data", f"bundled={BUNDLED}"], "names a set twice: bundled="),
    ],
)
def test_what_cannot_be_fitted_is_refused(arguments: list[str], message: str, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=message):
        run(*arguments, "--out", tmp_path / "x.toml")
    assert not (tmp_path / "x.toml").exists()


def test_ids_that_are_none_of_the_questions_are_refused(tmp_path: Path) -> None:
    (tmp_path / "ids.txt").write_text("q1001\n")
    with pytest.raises(ValueError, match="none of its 1 ids, such as 'q1001', is a question of --data"):
        run("--data", f"bundled={BUNDLED}", "--leave-out", tmp_path / "ids.txt", "--out", tmp_path / "x.toml")


def test_another_system_is_refused_by_name(tmp_path: Path) -> None:
    given = ["fit", "mention_chain", "--data", f"bundled={BUNDLED}", "--out", str(tmp_path / "x.toml")]
    with pytest.raises(ValueError, match=r"Unknown system to fit 'mention_chain'\. .*Did you mean 'mention_chains'\?"):
        CliRunner().invoke(app, given, catch_exceptions=False)


@pytest.mark.parametrize(
    ("system", "option"), [("mention_chains+cross", "--ablation"), ("mention_chains", "--coefficients")]
)
def test_an_option_of_the_other_system_is_refused(system: str, option: str, tmp_path: Path) -> None:
    given = ["fit", system, "--data", f"bundled={BUNDLED}", "--out", str(tmp_path / "x.toml"), option, str(tmp_path)]
    with pytest.raises(ValueError, match=f"{option} is for .* alone"):
        CliRunner().invoke(app, given, catch_exceptions=False)
