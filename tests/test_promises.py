"""Each item of SECURITY.md and docs/trust.md is held by a test of `make test`, or says that it promises nothing."""

from __future__ import annotations

import ast
import os
import re
import tomllib
from functools import cache
from pathlib import Path

import pytest

import kg2rag
from kg2rag.compute import write_output
from kg2rag.text.records import DataError

ROOT = Path(__file__).parents[1]
PAGES: dict[str, dict[str, list[str] | str]] = tomllib.loads(
    (ROOT / "tests" / "promises.toml").read_text()
)["pages"]
DEPARTURES = tomllib.loads(
    (ROOT / "eval" / "differences.toml").read_text(encoding="utf-8")
)
OF_NUMBERS = "## Numbers\n"  # prose, whose numbers have tests of their own
PICKLING = {"kg2rag/testing/promises.py", "kg2rag/testing/trial.py"}


@cache
def known_tests() -> frozenset[str]:
    """The tests of `make test`: those without the mark `full`."""
    trees = [
        ast.parse(path.read_bytes()) for path in (ROOT / "tests").rglob("test_*.py")
    ]
    functions = (
        node
        for tree in trees
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef)
    )
    return frozenset(
        function.name
        for function in functions
        if function.name.startswith("test_")
        and "pytest.mark.full" not in map(ast.unparse, function.decorator_list)
    )


@pytest.mark.parametrize("page", PAGES)
def test_every_item_is_held_by_tests_that_exist(page: str) -> None:
    text = (ROOT / page).read_text(encoding="utf-8")
    if OF_NUMBERS in text:
        start = text.index(OF_NUMBERS)
        text = text[:start] + text[text.index("\n## ", start + 1) :]
    items = re.findall(r"^- (.*)$", text, re.MULTILINE)
    for item in items:
        assert sum(item.startswith(promise) for promise in PAGES[page]) == 1, item
    for promise, tests in PAGES[page].items():
        assert any(item.startswith(promise) for item in items), promise
        for name in tests if isinstance(tests, list) else ():
            assert name in known_tests(), name


@pytest.mark.parametrize("strategy", [name for name in DEPARTURES if name != "about"])
def test_every_departure_from_a_design_is_held_by_a_test_that_exists(
    strategy: str,
) -> None:
    assert [
        test for *_, test in DEPARTURES[strategy] if test not in known_tests()
    ] == []


def test_pickle_is_used_only_between_our_processes() -> None:
    files = {
        str(path.relative_to(ROOT)): path.read_text(encoding="utf-8")
        for path in (ROOT / "kg2rag").rglob("*.py")
    }
    assert {
        name
        for name, text in files.items()
        if re.search(r"\bpickle\b\.load|import pickle", text)
    } <= PICKLING
    assert [
        name
        for name, text in files.items()
        if "allow_pickle=True" in text or "joblib.load" in text
    ] == []


def test_a_sweep_file_names_no_module(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text("raise SystemExit('its code was run')")
    for system in ("mine:Mine", "./mine.py:Mine"):
        (tmp_path / "s.toml").write_text(
            f'name = "s"\ndata = "bundled"\n[systems."{system}"]\nk = [1]\n'
        )
        with pytest.raises(DataError, match="mine"):
            kg2rag.read_sweep(tmp_path / "s.toml")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("KG2RAG_STORE", str(tmp_path / "store"))
    (tmp_path / "documents").mkdir()
    (tmp_path / "documents" / "ada.md").write_text(
        "# Ada\n\nAda Lovelace wrote the first program.\n"
    )
    return tmp_path / "documents"


def texts(folder: Path) -> list[str]:
    return [passage.text for passage in kg2rag.from_folder(folder).corpus]


def test_unreadable_files_do_not_end_a_folder_and_are_listed(folder: Path) -> None:
    (folder / "word.docx").write_bytes(b"PK\x03\x04 no Word document")
    (folder / "paper.pdf").write_bytes(b"%PDF-1.4 no PDF")
    (folder / "gone.md").symlink_to("nowhere")
    (folder / "table.csv").write_text('id,text\n1,"never closed\n')
    Path(os.fsdecode(bytes(folder) + b"/na\xffme.md")).write_text(
        "Grace Hopper wrote a compiler."
    )
    os.mkfifo(folder / "pipe.md")
    documents = kg2rag.from_folder(folder)
    assert "Ada Lovelace wrote the first program." in " ".join(
        passage.text for passage in documents.corpus
    )
    reasons = documents.report.set_index("document")["reason"]
    assert all(reasons[name] for name in ("word.docx", "paper.pdf", "table.csv"))


def test_links_out_of_a_folder_are_not_followed(folder: Path) -> None:
    (folder.parent / "secret.md").write_text("The engine is hidden in the cellar.")
    (folder.parent / "elsewhere").mkdir()
    (folder.parent / "elsewhere" / "deep.md").write_text(
        "The engine is hidden in the cellar."
    )
    (folder / "link.md").symlink_to(folder.parent / "secret.md")
    (folder / "environment.txt").symlink_to("/proc/self/environ")
    (folder / "inner").symlink_to(folder.parent / "elsewhere")
    assert texts(folder) == ["Ada Lovelace wrote the first program."]


def test_files_that_kg2rag_wrote_are_no_documents(folder: Path) -> None:
    write_output(
        folder / "questions.jsonl", "questions", b'{"question": "Who wrote?"}\n'
    )
    write_output(
        folder / "reports" / "report.html",
        "comparison",
        b'<html><body class="kg2rag">a report</body></html>',
    )
    (folder / "questions-0123abcd.jsonl").write_text(
        '{"question": "Who wrote?", "text": "judged"}\n'
    )
    assert texts(folder) == ["Ada Lovelace wrote the first program."]
