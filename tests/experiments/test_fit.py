"""`eval/fit.py`, from training questions to a file that `mention_chains` reads."""

from __future__ import annotations

import tomllib
from pathlib import Path

import fit
import pytest

from kg2rag.datasets import load
from kg2rag.knowledge import KnowledgeBase
from kg2rag.retrievers import systems
from kg2rag.types import Query

BUNDLED = Path(__file__).resolve().parents[2] / "data" / "bundled"
DATA = [f"bundled={BUNDLED}"]


@pytest.fixture(scope="module")
def fitted(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with all.toml, fitted on the bundled questions but two, and one file a signal in ablation/."""
    folder = tmp_path_factory.mktemp("fit")
    (folder / "ids.txt").write_text("q001\nq002\nanother\n")
    fit.main(DATA, folder / "all.toml", [str(folder / "ids.txt")], folder / "ablation")
    return folder


def test_the_file_says_what_it_was_fitted_on(fitted: Path) -> None:
    record = tomllib.loads((fitted / "all.toml").read_text())["fitted"]
    assert record["questions"] == {"bundled": 114}
    assert record["files"] == {f"bundled/{name}": digest for name, digest in load("bundled").source["files"].items()}
    assert "without" not in record


def test_there_is_one_file_without_each_signal(fitted: Path) -> None:
    assert sorted(file.stem for file in (fitted / "ablation").iterdir()) == sorted(f"without_{s}" for s in fit.SIGNALS)
    for signal in fit.SIGNALS:
        record = tomllib.loads((fitted / "ablation" / f"without_{signal}.toml").read_text())
        sections = [
            record[section][model] for section in ("with_tokens", "without_tokens") for model in ("start", "step")
        ]
        assert record["fitted"]["without"] == signal
        assert {model[signal] for model in sections if signal in model} == {0.0}
        assert all(value for name, value in record["with_tokens"]["step"].items() if name != signal)


def test_the_same_questions_give_the_same_bytes(fitted: Path, tmp_path: Path) -> None:
    fit.main(DATA, tmp_path / "again.toml", [str(fitted / "ids.txt")])
    assert (tmp_path / "again.toml").read_bytes() == (fitted / "all.toml").read_bytes()


def test_the_system_reads_the_files(fitted: Path, kb: KnowledgeBase) -> None:
    queries = [Query("q", kb.corpus[0].text)]
    files = [fitted / "all.toml", fitted / "ablation" / "without_walk_gap.toml"]
    full, less = (systems.build("mention_chains", kb, coefficients=str(file)) for file in files)
    assert full.retrieve_batch(queries, 10)[0].scores.tolist() != less.retrieve_batch(queries, 10)[0].scores.tolist()


def test_what_cannot_be_fitted_is_refused(tmp_path: Path) -> None:
    (tmp_path / "ids.txt").write_text("q1001\n")
    for data, left in ((["bundled"], []), (DATA * 2, []), (DATA, [str(tmp_path / "ids.txt")])):
        with pytest.raises(ValueError, match=r"NAME=PATH|bundled=|q1001"):
            fit.main(data, tmp_path / "x.toml", left)
    assert not (tmp_path / "x.toml").exists()
