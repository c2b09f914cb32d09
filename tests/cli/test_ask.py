"""`kg2rag ask FOLDER "question"`, as a user starts it: documents without gold."""

from __future__ import annotations

from pathlib import Path

import pytest
from typer.testing import CliRunner

from kg2rag.cli import app


def test_the_hits_of_a_folder_have_file_heading_and_text(tmp_path: Path) -> None:
    folder = tmp_path / "wiki"
    folder.mkdir()
    (folder / "travel.md").write_text("# Travel\n\nNotes.\n\n## Requests\n\nAnna Schmidt signs travel requests.\n")
    (folder / "leave.md").write_text("# Leave\n\nThirty days a year.\x1b[31m\n")
    asked = ["ask", str(folder), "Who signs travel requests?", "--system", "bm25", "--k", "2"]
    done = CliRunner().invoke(app, asked, env={"KG2RAG_STORE": str(tmp_path / "store")}, catch_exceptions=False)
    first = done.stdout.splitlines()[0]
    assert first.startswith("1. Travel")
    assert "travel.md > Requests" in first
    assert "Anna Schmidt signs travel requests." in done.stdout
    assert "\x1b[31m" not in done.stdout
    with pytest.raises(ValueError, match="nope"):
        CliRunner().invoke(app, [*asked[:3], "--system", "nope"], catch_exceptions=False)
