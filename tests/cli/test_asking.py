"""`kg2rag ask`, `explain` and `context`, as a user starts them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import Result
from typer.testing import CliRunner

from kg2rag.cli import app
from kg2rag.compute import EncoderTokens, Store


@pytest.fixture(scope="module")
def store(session_store: Store) -> Path:
    return session_store.root


def run(store: Path, *arguments: str) -> Result:
    environment = {
        "KG2RAG_STORE": str(store),
        "COLUMNS": "160",
        "NO_PROXY": "127.0.0.1",
    }
    return CliRunner().invoke(app, list(arguments), env=environment)


def test_a_context_has_the_block_and_the_passages_within_its_tokens(
    store: Path,
) -> None:
    asked = (
        "context",
        "bundled",
        "What does FastAPI take from Starlette?",
        "--system",
        "bm25",
    )
    done = run(store, *asked, "--tokens", "600", "--graph-tokens", "300")
    assert done.exit_code == 0
    assert done.stdout.startswith(
        "## Knowledge Graph Context\nQuery entities: [Starlette, FastAPI]"
    )
    assert "\n\n[1] [Score: " in done.stdout
    tokens = EncoderTokens().count([done.stdout.strip()])[0]
    assert tokens <= 600
    assert f"{tokens} of 600 tokens" in done.stderr
    assert "left out (budget): " in done.stderr
    data = json.loads(
        run(
            store,
            *asked,
            "--tokens",
            "600",
            "--graph-tokens",
            "300",
            "--hops",
            "2",
            "--json",
        ).stdout
    )
    assert data["graph_context"]["chains"]
    assert data["text"].startswith("## Knowledge Graph Context")
    alone = run(store, *asked, "--tokens", "600", "--graph-tokens", "0")
    assert alone.stdout.startswith("[1] [Score: ")


def test_ask_gives_the_hits_and_what_the_graph_says_as_json(store: Path) -> None:
    done = run(
        store,
        "ask",
        "bundled",
        "What does FastAPI take from Starlette?",
        "--system",
        "bm25",
        "--k",
        "2",
        "--json",
    )
    data = json.loads(done.stdout)
    assert len(data["citations"]) == 2
    assert {"FastAPI", "Starlette"} <= {
        one["name"] for one in data["graph_context"]["entities"] if not one["hops"]
    }


def test_a_context_is_of_one_system(store: Path) -> None:
    done = run(store, "context", "bundled", "q001", "--system", "bm25,dense")
    assert isinstance(done.exception, ValueError)
    assert "bm25, dense" in str(done.exception)
    assert "--system" in str(done.exception)


def test_the_hits_of_a_folder_have_file_heading_and_text(tmp_path: Path) -> None:
    folder = tmp_path / "wiki"
    folder.mkdir()
    (folder / "travel.md").write_text(
        "# Travel\n\nNotes.\n\n## Requests\n\nAnna Schmidt signs travel requests.\n"
    )
    (folder / "leave.md").write_text("# Leave\n\nThirty days a year.\x1b[31m\n")
    asked = [
        "ask",
        str(folder),
        "Who signs travel requests?",
        "--system",
        "bm25",
        "--k",
        "2",
    ]
    done = CliRunner().invoke(
        app,
        asked,
        env={"KG2RAG_STORE": str(tmp_path / "store")},
        catch_exceptions=False,
    )
    first = done.stdout.splitlines()[0]
    assert first.startswith("1. Travel")
    assert "travel.md > Requests" in first
    assert "Anna Schmidt signs travel requests." in done.stdout
    assert "\x1b[31m" not in done.stdout
    with pytest.raises(ValueError, match="nope"):
        CliRunner().invoke(
            app, [*asked[:3], "--system", "nope"], catch_exceptions=False
        )


def explain(store: Path, *arguments: str) -> str:
    done = run(store, "explain", "bundled", *arguments)
    if done.exception is not None:
        raise done.exception
    return done.stdout


def test_two_systems_are_shown_with_gold_stages_and_sums(store: Path) -> None:
    shown = explain(store, "q004", "--systems", "bm25,hybrid", "--k", "2")
    assert "gold: sqlalchemy-session-1" in shown
    assert "── bm25 ──" in shown
    assert "── hybrid ──" in shown
    assert "(bm25)" in shown
    assert "/ (60 + " in shown
    assert "◆ gold sqlalchemy-session-1: at rank 4" in shown


def test_a_new_question_goes_to_one_system_with_its_parameters(store: Path) -> None:
    shown = explain(
        store, "What is Redis?", "--systems", "bm25", "--set", "bm25.k1=0.0", "--k", "1"
    )
    assert "unknown: the question is new to the set" in shown
    assert "redis" in shown.lower()


def test_an_unknown_id_or_system_is_refused(store: Path) -> None:
    with pytest.raises(ValueError, match=r"bundled.*'q9999'"):
        explain(store, "q9999", "--systems", "bm25")
    with pytest.raises(ValueError, match="'nope'"):
        explain(store, "q001", "--systems", "nope")
