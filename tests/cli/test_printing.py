"""What the command line prints: names of files, texts and messages of servers steer no terminal."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from kg2rag.cli import main
from kg2rag.cli.printing import print_json, print_line, print_table
from kg2rag.compute import Store

ESCAPE = "\x1b]0;owned\x07\x1b[2J\x9b31m\u202e"
CONTROLS = {*map(chr, range(32)), *map(chr, range(127, 160)), "\u202e"} - {"\n", "\t"}


def printed(shown: pytest.CaptureFixture[str]) -> str:
    captured = shown.readouterr()
    assert not CONTROLS & set(captured.out + captured.err)
    return captured.out + captured.err


def test_a_line_a_table_and_json_hold_no_control_character(
    capsys: pytest.CaptureFixture[str],
) -> None:
    print_line(f"file {ESCAPE}.md")
    print_line(f"server: {ESCAPE}", err=True)
    print_table([f"name{ESCAPE}"], [[f"cell{ESCAPE} [bold]x[/bold] [/]"]])
    assert "[bold]x[/bold] [/]" in printed(capsys)
    print_json({"text": f"é{ESCAPE}\x7f"})
    assert json.loads(printed(capsys)) == {"text": f"é{ESCAPE}\x7f"}


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (("ask", "DOCUMENTS", "who wrote it?", "--k", "9"), 0),
        (("context", "DOCUMENTS", "who wrote it?", "--system", "bm25"), 0),
        (("datasets", "info", "DOCUMENTS"), 0),
        (("compare", f"nowhere{ESCAPE}"), 2),
        # none is long enough
        (
            (
                "questions",
                "DOCUMENTS",
                "--known-item",
                "--out",
                f"DOCUMENTS/{ESCAPE}.jsonl",
            ),
            3,
        ),
        (("build", "DOCUMENTS", "--out", "DOCUMENTS/bad.md" + ESCAPE), 2),
    ],
)
def test_a_folder_of_hostile_names_and_texts_steers_no_terminal(
    tmp_path: Path,
    arguments: tuple[str, ...],
    code: int,
    session_store: Store,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    folder = tmp_path / "documents"
    folder.mkdir()
    (folder / f"good{ESCAPE}.md").write_text(
        f"# Ada {ESCAPE}\n\nAda wrote it. {ESCAPE}\n"
    )
    (folder / "other.txt").write_text(f"Charles built an engine of brass.{ESCAPE}")
    (folder / f"bad.md{ESCAPE}").write_bytes(b"\xff\xfe\x00")
    (folder / f"worse{ESCAPE}.pdf").write_bytes(b"no PDF")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("KG2RAG_STORE", str(session_store.root))
    # A bar goes back to the beginning of its line.
    monkeypatch.setenv("TQDM_DISABLE", "1")
    monkeypatch.setattr(
        sys,
        "argv",
        ["kg2rag", *(word.replace("DOCUMENTS", str(folder)) for word in arguments)],
    )
    with pytest.raises(SystemExit) as stopped:
        main()
    assert (stopped.value.code or 0) == code
    assert printed(capsys)
