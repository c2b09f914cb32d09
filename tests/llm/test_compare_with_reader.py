"""`compare` with a model behind a server on loopback: what is sent, what is kept, and what a limit leaves."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pandas as pd
import pytest
from llm_server import ChatServer, kept_answers, never, serving, wait_until
from typer.testing import CliRunner, Result

from kg2rag import (
    ChatModel,
    CompareOptions,
    Comparison,
    Reader,
    Recorded,
    compare,
    from_frames,
)
from kg2rag.cli import app
from kg2rag.compute import Store
from kg2rag.llm import Spending
from kg2rag.types import QADataset

QUESTIONS = [f"q{i}" for i in range(4)]
REQUESTS = 3 * len(QUESTIONS)
"""Of one system that finds half of the gold, without any passage and with the gold; equal prompts are sent once."""


def reply(prompt: str) -> str:
    """The colour of the first passage, or that it knows nothing."""
    found = re.search(r"is (\w+)\.", prompt)
    return found.group(1) if found else "nothing"


@pytest.fixture
def data() -> QADataset:
    passages = pd.DataFrame(
        {"id": QUESTIONS, "text": [f"House {id_} is colour{id_}." for id_ in QUESTIONS]}
    )
    questions = pd.DataFrame(
        {
            "id": QUESTIONS,
            "text": [f"Which colour has house {id_}?" for id_ in QUESTIONS],
            "gold": [[id_] for id_ in QUESTIONS],
            "answers": [[f"colour{id_}"] for id_ in QUESTIONS],
        }
    )
    return from_frames(passages, questions, name="houses")


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[ChatServer]:
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    with serving(reply, never) as running:
        yield running


def compared(
    data: QADataset, server: ChatServer, folder: Path, **settings: object
) -> Comparison:
    """The other house is found first, so that no context is the gold's."""
    model = ChatModel(
        server.url, "tiny", api_key_env=None, store=Store(folder), **settings
    )  # type: ignore[arg-type]
    wrong = Recorded(
        data.corpus, {id_: [(QUESTIONS[i - 1], 1.0)] for i, id_ in enumerate(QUESTIONS)}
    )
    options = CompareOptions(progress=False)
    return compare(
        {"wrong": wrong},
        data,
        metrics=["recall@1"],
        k=1,
        reader=Reader(model),
        options=options,
    )


def test_a_limit_holds_to_the_request_and_the_same_call_goes_on(
    data, server, tmp_path: Path
) -> None:
    limited = compared(
        data, server, tmp_path, spending=Spending(max_calls=5), concurrency=1
    )
    assert sum(server.requests.values()) == 5
    assert limited.missing_answers == REQUESTS - 5
    whole = compared(data, server, tmp_path)
    assert sum(server.requests.values()) == REQUESTS
    assert set(server.paid.values()) == {1}
    assert whole["answer_em"].to_dict() == {"wrong": 0.0}
    again = compared(data, server, tmp_path)
    assert sum(server.requests.values()) == REQUESTS
    assert f"{REQUESTS} cached" in again.usage


def test_raising_the_limit_of_tokens_asks_only_what_was_cut(
    data, monkeypatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")

    def cut_first(prompt: str, before: int) -> str | None:
        return (
            "length"
            if "house q2?" in prompt and "House" in prompt and not before
            else None
        )

    with serving(reply, cut_first) as server:
        assert compared(data, server, tmp_path, max_tokens=8).missing_answers == 2
        assert compared(data, server, tmp_path, max_tokens=16).missing_answers == 0
        assert sum(server.requests.values()) == REQUESTS + 2


def command(server: ChatServer, out: Path, *options: str, answer: str = "") -> Result:
    """`kg2rag compare bundled` with two questions and one system."""
    return CliRunner().invoke(app, [*arguments_of(server, out), *options], input=answer)


def arguments_of(server: ChatServer, out: Path) -> list[str]:
    arguments = [
        "compare",
        "bundled",
        "--limit",
        "2",
        "--systems",
        "bm25",
        "--metrics",
        "recall@5",
        "--out",
        str(out),
    ]
    return [*arguments, "--reader", f"tiny@{server.url}"]


def test_the_command_plans_asks_and_reports_what_is_missing(
    server, monkeypatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("KG2RAG_STORE", str(tmp_path / "store"))
    declined = command(server, tmp_path / "out", answer="n\n")
    assert "6 calls" in declined.output
    assert declined.exit_code == 1
    assert not server.requests
    limited = command(server, tmp_path / "out", "--yes", "--max-calls", "4")
    assert limited.exit_code == 3
    assert "2 answers are missing" in limited.output
    whole = command(server, tmp_path / "out", answer="y\n")
    assert (whole.exit_code, "2 calls" in whole.output) == (0, True)
    assert sum(server.requests.values()) == 6
    again = command(server, tmp_path / "out")  # nothing is sent, so nothing is asked
    assert again.exit_code == 0
    assert "closed book" in again.output
    assert sum(server.requests.values()) == 6


def test_a_killed_command_goes_on_and_asks_nothing_twice(
    server, monkeypatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("KG2RAG_STORE", str(tmp_path / "store"))
    held: set[str] = set()

    def hold_two(prompt: str) -> bool:
        with server.lock:
            held.update({prompt} if len(held) < 2 else ())
        return prompt in held

    server.holds = hold_two
    arguments = [
        sys.executable,
        "-m",
        "kg2rag",
        *arguments_of(server, tmp_path / "out"),
        "--yes",
        "--concurrency",
        "6",
    ]
    process = subprocess.Popen(
        arguments, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )
    wait_until(
        lambda: server.waiting == 2 and len(kept_answers(tmp_path / "store")) == 4,
        process,
    )
    process.kill()
    process.communicate()
    server.gate.set()
    again = command(server, tmp_path / "out", "--yes")
    assert "2 calls" in again.output
    assert {
        prompt: n for prompt, n in server.requests.items() if n > 1
    } == dict.fromkeys(held, 2)


def test_a_reader_without_an_address_is_refused_before_any_work() -> None:
    result = CliRunner().invoke(app, ["compare", "no_such_set", "--reader", "qwen3"])
    assert "--reader MODEL@BASE_URL" in str(result.exception)
