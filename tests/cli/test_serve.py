"""`kg2rag serve` as a process: it says where it is, answers, and names what is wrong."""

from __future__ import annotations

import re
import signal
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import keep
import pytest

import kg2rag
from kg2rag.types import Corpus, Passage, QADataset, Question


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> Path:
    corpus = Corpus.from_passages([Passage("p", "", "text", "d", 0)])
    data = QADataset("one", corpus, (Question("q", "Which?", {"p": 1}),))
    systems = {"told": kg2rag.Recorded(corpus, {"q": [("p", 1.0)]})}
    folder = tmp_path_factory.mktemp("saved")
    kg2rag.compare(systems, data, metrics=["recall@1"], progress=False).save(folder / "one")
    return folder


@contextmanager
def serving(*arguments: str) -> Iterator[tuple[str, subprocess.Popen[str]]]:
    """The address that the command prints once it listens, and its process."""
    command = [sys.executable, "-m", "kg2rag", "serve", *arguments, "--port", "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            line = process.stdout.readline()
            found = re.search(r"http://\S+", line)
            assert found, line
            yield found[0], process
        finally:
            process.terminate()  # an interrupt may be ignored by what a shell runs in the background
            process.communicate(timeout=60)  # a guard


def test_it_answers_where_it_says_and_ends_when_interrupted(saved: Path) -> None:
    with serving(str(saved)) as (address, process):
        assert address.startswith("http://127.0.0.1:")
        with urllib.request.urlopen(address, timeout=60) as answer:
            assert "one" in answer.read().decode()
            assert "default-src 'none'" in answer.headers["content-security-policy"]
        process.send_signal(signal.SIGINT)  # it listens to signals by now
        process.wait(timeout=60)  # a guard
    assert process.returncode in (0, 130, -signal.SIGINT)


def test_another_host_is_warned_about(saved: Path) -> None:
    with serving(str(saved), "--host", "0.0.0.0") as (_, process):
        assert process.stderr is not None
        assert "Whoever reaches it can read what is saved" in process.stderr.readline()


def run(*arguments: str, code: str = "") -> str:
    command = [sys.executable, *(["-c", code] if code else ["-m", "kg2rag"]), "serve", *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    return done.stderr


def test_a_folder_that_is_none_is_named(tmp_path: Path) -> None:
    assert "is no folder. Name one that holds saved comparisons" in run(str(tmp_path / "nowhere"))


def test_a_missing_extra_is_named_with_its_remedy(saved: Path) -> None:
    code = "import sys; sys.modules['uvicorn'] = None; from kg2rag.cli import main; main()"
    assert "kg2rag serve needs uvicorn: pip install 'kg2rag[serve]'" in run(str(saved), code=code)


def test_a_port_that_is_taken_is_named(saved: Path) -> None:
    with serving(str(saved)) as (address, _):
        port = address.rstrip("/").rsplit(":", 1)[1]
        assert "Name another with --port" in run(str(saved), "--port", port)


def test_data_sets_are_joined_or_it_is_said_why_not(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    data = kg2rag.load("bundled").sample(1)
    systems = {"told": kg2rag.Recorded(data.corpus, {data.questions[0].id: [(data.corpus.ids[0], 1.0)]})}
    monkeypatch.setattr(keep, "RESULTS", tmp_path / "results")
    kg2rag.compare(systems, data, metrics=["recall@1"], command="made", progress=False).save(tmp_path / "one")
    keep.main(tmp_path / "one", "one", tmp_path)
    ours = str(Path(kg2rag.__file__).parents[1] / "data" / "bundled")
    with serving(str(tmp_path / "results"), "--data", ours) as (address, _), urllib.request.urlopen(address) as answer:
        assert "one" in answer.read().decode()
    (tmp_path / "empty").mkdir()
    said = run(str(tmp_path / "results"), "--data", str(tmp_path / "empty"))
    assert "is of no comparison in" in said
    assert "one: no folder has corpus.jsonl, questions.jsonl (bundled)" in said
    assert "is no folder" in run(str(tmp_path / "results"), "--data", str(tmp_path / "nowhere"))
