"""The data set of docs/extending.md is run as on the page, registered by line and by entry point."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterator
from importlib import import_module
from pathlib import Path
from types import ModuleType

import pytest
from doc_page import blocks
from typer.testing import CliRunner

import kg2rag
import kg2rag.evaluation
from kg2rag.cli import app
from kg2rag.datasets import info, lint, names, registry
from kg2rag.report import Labelling

MODULE, LINE = blocks("A data set")
(OWN,) = blocks("Documents", page="documents.md")
(LABELLED,) = blocks("Questions", page="documents.md")
[(GROUP, ENTRY_POINT)] = re.findall(
    r'entry-points\."(.*?)"\]\n(.*?)\n', blocks("A data set", "toml")[0]
)
WRITTEN = ENTRY_POINT.replace('"', "")  # as an installed package has it
ARTICLES = [
    {
        "id": "ada",
        "title": "Ada Lovelace",
        "text": "Ada Lovelace wrote notes on the Analytical Engine.",
    },
    {
        "id": "engine",
        "title": "Analytical Engine",
        "text": "Charles Babbage designed the Analytical Engine.",
    },
]
QUIZ = [
    {
        "id": "1",
        "question": "Who designed the engine?",
        "answer": "Babbage",
        "articles": ["ada", "engine"],
    },
    {"id": "2", "question": "Who painted it?", "answer": "nobody"},
]

Write = Callable[[str, object], Path]


@pytest.fixture
def folder(write: Write) -> Path:
    write("data/articles.jsonl", ARTICLES)
    write("data/triples.jsonl", "")
    return write("data/quiz.jsonl", QUIZ).parent


@pytest.fixture
def module(
    write: Write, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[ModuleType]:
    """The page's module, as a module of a package."""
    write("my_package/__init__.py", "")
    write("my_package/quiz.py", MODULE)
    monkeypatch.syspath_prepend(tmp_path)
    yield import_module("my_package.quiz")
    for name in ("my_package", "my_package.quiz"):
        sys.modules.pop(name, None)


@pytest.fixture
def registered(module: ModuleType, monkeypatch: pytest.MonkeyPatch) -> str:
    """The page's line, entered in the table."""
    entry = eval(f"{{{LINE}}}", {"quiz": module})
    monkeypatch.setattr(registry, "DATASETS", {**registry.DATASETS, **entry})
    (name,) = entry
    return str(name)


@pytest.fixture
def install(
    write: Write, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Callable[[str], None]:
    """Register an entry point as an installed package does."""
    others = {name: spec for name, spec in registry.DATASETS.items() if name != "quiz"}
    # Where a reader added the page's line.
    monkeypatch.setattr(registry, "DATASETS", others)

    def put(line: str) -> None:
        write(
            "my_package-1.0.dist-info/METADATA",
            "Metadata-Version: 2.1\nName: my-package\nVersion: 1.0\n",
        )
        write("my_package-1.0.dist-info/entry_points.txt", f"[{GROUP}]\n{line}\n")
        monkeypatch.syspath_prepend(tmp_path)

    return put


def test_the_example_loads_after_its_line(
    registered: str, folder: Path, write: Write
) -> None:
    data = kg2rag.load(registered, path=folder)
    assert data.corpus.ids == ["ada", "engine"]
    assert [
        (question.id, dict(question.gold), question.hops) for question in data.questions
    ] == [("1", {"ada": 1, "engine": 1}, 2)]
    assert data.graph_files == {"triples": folder / "triples.jsonl"}
    assert data.source["licence"] == "CC BY 4.0"
    assert (
        "loading: questions without an article left out" in lint(data)["check"].tolist()
    )
    assert set(data.source["files"]) == {"articles.jsonl", "quiz.jsonl"}  # type: ignore[call-overload]
    write("data/quiz.jsonl", [{**QUIZ[0], "articles": ["eve"]}])
    with pytest.raises(
        ValueError, match=r"quiz\.jsonl, line 1: .*'eve'.*articles\.jsonl"
    ):
        kg2rag.load(registered, path=folder)


def test_a_package_registers_it_without_a_line_of_ours(
    module: ModuleType, install: Callable[[str], None], folder: Path
) -> None:
    install(WRITTEN)
    assert "quiz" in names()
    data = kg2rag.load("quiz", path=folder)
    assert (len(data), info(data)["citation"]) == (1, "The authors of the quiz, 2026")
    shown = CliRunner().invoke(app, ["datasets", "list"], env={"COLUMNS": "160"}).stdout
    assert "questions over short articles" in shown


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("quiz = not_there:DATASET", "'quiz'.*my-package.*not_there:DATASET"),
        ("quiz = json:loads", "'quiz' of 'kg2rag.datasets'"),
        ("other = my_package.quiz:DATASET", "'other' of 'kg2rag.datasets'"),
    ],
)
def test_a_broken_package_is_named_and_leaves_the_other_sets_alone(
    module: ModuleType, install: Callable[[str], None], line: str, message: str
) -> None:
    install(line)
    with pytest.raises(RuntimeError, match=message):
        kg2rag.load(line.split()[0], path="anywhere")
    assert len(kg2rag.load("bundled")) > 0
    shown = " ".join(
        CliRunner()
        .invoke(app, ["datasets", "list"], env={"COLUMNS": "300"})
        .stdout.split()
    )
    assert "musique" in shown
    assert re.search(message, shown)


def test_the_lines_about_your_own_documents_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("KG2RAG_STORE", str(tmp_path / "store"))
    (tmp_path / "wiki").mkdir()
    (tmp_path / "wiki" / "travel.md").write_text(
        "# Travel\n\nAnna Schmidt signs travel requests."
    )
    (tmp_path / "wiki" / "lunch.txt").write_text("Lunch is at noon, with Anna Schmidt.")
    (tmp_path / "questions.csv").write_text(
        "question,gold\nWho signs?,travel.md\nWhen is lunch?,lunch.txt\n"
    )
    names: dict[str, object] = {"kg2rag": kg2rag, "KnowledgeBase": kg2rag.KnowledgeBase}
    exec(OWN, names)
    (tmp_path / "asked.csv").write_text("question\nWho signs?\nWhen is lunch?\n")
    monkeypatch.setattr(Labelling, "saved", lambda _: tmp_path / "questions.csv")
    exec(LABELLED, names)
    assert [one.text for one in names["asked"].unjudged] == [
        "Who signs?",
        "When is lunch?",
    ]  # type: ignore[attr-defined]
    assert len(names["result"].more_questions(0.05)) == 2  # type: ignore[attr-defined]
