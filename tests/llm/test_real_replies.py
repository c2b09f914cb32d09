"""Replies of a real model, SmolLM2-135M-Instruct: every path that asks a model reads them.

`real_replies.jsonl` holds some of the replies that `eval/models/small_model.py --replies FILE`
writes.
"""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Iterator
from itertools import cycle
from pathlib import Path
from typing import Any

import pytest
import small_model
from llm_server import ChatServer, serving

import kg2rag
from kg2rag.compute import Store

REPLIES = [
    json.loads(line)
    for line in Path(__file__).with_name("real_replies.jsonl").read_text().splitlines()
]
NUMBER = 4
"""Queries or passages that a path is asked about."""


def first_field(reply: str) -> str:
    """The first field of a JSON reply, "" for prose."""
    name = re.match(r'\s*\{\s*"(\w+)"', reply)
    return name[1] if name else ""


class Repertoire:
    """The replies of a path, those of each step in turn."""

    def __init__(self, path: str) -> None:
        replies = defaultdict(list)
        for reply in REPLIES:
            if reply["path"] == path:
                replies[first_field(reply["text"])].append(reply)
        self.replies = {field: cycle(of_step) for field, of_step in replies.items()}

    def serve(self, server: ChatServer) -> None:
        """Let a server send them."""
        server.fault, server.reply = self.choose, lambda _: str(self.chosen["text"])
        self.server = server

    def choose(self, prompt: str, before: int) -> str | None:
        """Choose the next reply to the last request; "length" if it was cut."""
        wanted = (
            self.server.bodies[-1]
            .get("response_format", {})
            .get("json_schema", {})
            .get("schema", {})
        )
        self.chosen = next(
            self.replies[next(iter(wanted.get("properties", {"": None})))]
        )
        return "length" if self.chosen["finish_reason"] == "length" else None


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[ChatServer]:
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    with serving() as running:
        yield running


@pytest.mark.filterwarnings("ignore::kg2rag.llm.linker.UnknownNameWarning")
@pytest.mark.parametrize("path", dict.fromkeys(reply["path"] for reply in REPLIES))
def test_real_replies_are_usable(
    path: str, server: ChatServer, session_store: Store, tmp_path: Path
) -> None:
    Repertoire(path).serve(server)
    data: Any = kg2rag.load("bundled")
    kb = kg2rag.KnowledgeBase.build(data.corpus, store=session_store)
    model = kg2rag.ChatModel(server.url, "tiny", concurrency=1, store=Store(tmp_path))
    outcome = small_model.PATHS[path].ask(model, data, kb, NUMBER)
    assert all(usable == n >= 1 for usable, n in outcome.replies.values()), (
        outcome.failures
    )
