"""`kg2rag answer`, as a user starts them, on the bundled set; the reader is on loopback."""

from __future__ import annotations

import json
from pathlib import Path

import pandas as pd
import pytest
from click.testing import Result
from llm_server import serving
from typer.testing import CliRunner

from kg2rag.cli import app
from kg2rag.compute import EncoderTokens, Store


@pytest.fixture(scope="module")
def store(session_store: Store) -> Path:
    return session_store.root


def run(store: Path, *arguments: str) -> Result:
    environment = {"KG2RAG_STORE": str(store), "COLUMNS": "160", "NO_PROXY": "127.0.0.1"}
    return CliRunner().invoke(app, list(arguments), env=environment)


def test_a_context_has_the_block_and_the_passages_within_its_tokens(store: Path) -> None:
    asked = ("context", "bundled", "What does FastAPI take from Starlette?", "--system", "bm25")
    done = run(store, *asked, "--tokens", "600", "--graph-tokens", "300")
    assert done.exit_code == 0
    assert done.stdout.startswith("## Knowledge Graph Context\nQuery entities: [Starlette, FastAPI]")
    assert "\n\n[1] [Score: " in done.stdout
    tokens = EncoderTokens().count([done.stdout.strip()])[0]
    assert tokens <= 600
    assert f"{tokens} of 600 tokens" in done.stderr
    assert "left out (budget): " in done.stderr
    data = json.loads(run(store, *asked, "--tokens", "600", "--graph-tokens", "300", "--hops", "2", "--json").stdout)
    assert data["graph_context"]["chains"]
    assert data["text"].startswith("## Knowledge Graph Context")
    alone = run(store, *asked, "--tokens", "600", "--graph-tokens", "0")
    assert alone.stdout.startswith("[1] [Score: ")


def test_ask_gives_the_hits_and_what_the_graph_says_as_json(store: Path) -> None:
    done = run(
        store, "ask", "bundled", "What does FastAPI take from Starlette?", "--system", "bm25", "--k", "2", "--json"
    )
    data = json.loads(done.stdout)
    assert len(data["citations"]) == 2
    assert {"FastAPI", "Starlette"} <= {one["name"] for one in data["graph_context"]["entities"] if not one["hops"]}


def test_a_context_is_of_one_system(store: Path) -> None:
    done = run(store, "context", "bundled", "q001", "--system", "bm25,dense")
    assert isinstance(done.exception, ValueError)
    assert "A context is of one system, not of bm25, dense. Name one with --system." in str(done.exception)


def test_answers_are_scored_by_system_and_written(store: Path, tmp_path: Path) -> None:
    def fault(prompt: str, before: int) -> str | None:
        return "empty" if "identity" in prompt.lower() else None

    with serving(lambda _: "BackgroundTasks", fault) as server:
        model = ("--base-url", server.url, "--model", "tiny", "--api-key-env", "none")
        options = ("--systems", "bm25,pattern", "--limit", "4", "--tokens", "300", "--graph-tokens", "0")
        options += ("--out", str(tmp_path / "out"))
        done = run(store, "answer", "bundled", *options, *model)
        before = server.requests.total()
        run(store, "answer", "bundled", *options, *model)
        assert server.requests.total() == before  # kept, unusable ones included
    table = pd.read_csv(tmp_path / "out" / "answers.csv", index_col="system")
    assert table.index.tolist() == ["bm25", "pattern"]
    assert done.exit_code == (3 if table["failed"].any() else 0)
    assert f"Answers and contexts: {tmp_path / 'out'}" in done.stdout
    assert len(pd.read_parquet(tmp_path / "out" / "answers.parquet")) == 8


def test_a_reader_needs_an_endpoint(store: Path) -> None:
    done = run(store, "answer", "bundled")
    assert "A reader asks a language model: give --base-url and --model." in str(done.exception)
