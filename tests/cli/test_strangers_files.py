"""Commands that write, in a folder of somebody else: every file there is afterwards as it was before, byte for byte."""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest

from kg2rag.cli import main
from kg2rag.compute import RECORD

SWEEP = """
name = "tiny"
data = "bundled"
metrics = ["recall@5"]
k = 5

[split]
dev = 0.5

[[systems.bm25]]
k1 = [0.9, 1.2]
"""
LEDGER = """
cite = "Nobody, 2026"
metric = "recall"

[sets.musique]
name = "MuSiQue"

[[published]]
system = "BM25"
needs = "nothing"
values.musique = { "recall@2" = 32.3 }
"""
COMMANDS = {
    "compare": "compare bundled --systems bm25 --limit 10 --out OUT",
    "compare a folder without questions": "compare DOCUMENTS --systems bm25 --out OUT",
    "compare-graphs": "compare-graphs bundled --systems graph_augmented --placebo 0 --limit 10 --out OUT",
    "build": "build bundled --extractor cooccurrence --out OUT",
    "build --force": "build bundled --extractor cooccurrence --force --out OUT",
    "questions": "questions DOCUMENTS --known-item --limit 3 --out OUT/questions.jsonl",
    "sweep": "sweep SWEEP --run --out OUT",
    "sweep --init": "sweep --init bundled --out OUT/sweep.toml",
    "reproduce": "reproduce LEDGER --data OUT --out OUT/table.csv",
}
"""Command -> its words; OUT is the folder that it writes to."""
STRANGERS = {
    "runs/anserini.trec.gz": b"q1 Q0 d1 1 1.0 anserini\n",
    "thesis.tex": b"\\documentclass{book}",
    "extraction/notes.jsonl": b'{"mine": true}\n',
    ".partial-notes": b"a draft",
    "0123456789abcdef0123456789abcdef/customers.sqlite": b"SQLite format 3\x00",
    "places.sqlite": b"SQLite format 3\x00",
}
TEXT = b"theirs, and nobody has a copy"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The working folder, with some documents, a sweep and a ledger."""
    (tmp_path / "documents").mkdir()
    for name in ("Ada", "Charles", "Grace"):
        text = f"# {name}\n\n{name} wrote a program of great length, which was never run in that century.\n"
        (tmp_path / "documents" / f"{name}.md").write_text(text)
    (tmp_path / "sweep.toml").write_text(SWEEP)
    (tmp_path / "ledger.toml").write_text(LEDGER)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def run(folder: Path, monkeypatch: pytest.MonkeyPatch, session_store, capsys):  # type: ignore[no-untyped-def]
    """Runs a command; its exit code and what it said."""
    monkeypatch.setenv("KG2RAG_STORE", str(session_store.root))
    places = {
        "DOCUMENTS": folder / "documents",
        "SWEEP": folder / "sweep.toml",
        "LEDGER": folder / "ledger.toml",
    }

    def start(command: str, out: Path) -> tuple[int, str]:
        for name, place in {**places, "OUT": out}.items():
            command = command.replace(name, str(place))
        monkeypatch.setattr("sys.argv", ["kg2rag", *shlex.split(command)])
        with pytest.raises(SystemExit) as ended:
            main()
        shown = capsys.readouterr()
        return int(ended.value.code or 0), shown.out + shown.err

    return start


def files(folder: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file()
    }


def put(folder: Path, contents: dict[str, bytes]) -> None:
    for name, content in contents.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(content)


@pytest.mark.parametrize("command", list(COMMANDS))
def test_the_files_of_somebody_else_are_as_before(
    command: str, folder: Path, run
) -> None:  # type: ignore[no-untyped-def]
    out = folder / "out"
    put(out, STRANGERS)
    for _ in range(2):  # a second run replaces what the first one wrote
        code, said = run(COMMANDS[command], out)
        assert code == 0, said
        assert files(out).items() >= STRANGERS.items()
    names = sorted(files(out).keys() - STRANGERS.keys() - {RECORD})
    assert names
    for name in names:
        colliding = folder / f"colliding-{names.index(name)}"
        put(colliding, {name: TEXT})
        code, said = run(COMMANDS[command], colliding)
        assert code == 2, said
        assert Path(name).name in said
        assert files(colliding) == {name: TEXT}


@pytest.mark.parametrize("command", list(COMMANDS))
def test_a_result_that_was_edited_is_kept(command: str, folder: Path, run) -> None:  # type: ignore[no-untyped-def]
    out = folder / "out"
    assert run(COMMANDS[command], out)[0] == 0
    before = files(out)
    for name in sorted(before.keys() - {RECORD}):
        (out / name).write_bytes(TEXT)
        code, said = run(COMMANDS[command], out)
        assert code == 2, said
        assert Path(name).name in said
        assert files(out) == {**before, name: TEXT}
        (out / name).write_bytes(before[name])


def test_a_link_to_a_file_of_somebody_else_is_not_followed(folder: Path, run) -> None:  # type: ignore[no-untyped-def]
    (folder / "mine.jsonl").write_bytes(TEXT)
    (folder / "out").mkdir()
    (folder / "out" / "questions.jsonl").symlink_to(folder / "mine.jsonl")
    code, said = run(COMMANDS["questions"], folder / "out")
    assert code == 2, said
    assert (folder / "mine.jsonl").read_bytes() == TEXT
    assert (folder / "out" / "questions.jsonl").is_symlink()


def test_a_page_is_not_written_over_the_questions(folder: Path, run) -> None:  # type: ignore[no-untyped-def]
    code, said = run(
        "questions DOCUMENTS --known-item --out OUT/q.html", folder / "out"
    )
    assert code == 2
    assert "q.html" in said
    assert not (folder / "out").exists()
