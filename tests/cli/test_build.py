"""`kg2rag build`, as a user starts, stops and repeats it; the language model is a server on loopback."""

from __future__ import annotations

import json
import os
import random
import signal
import sqlite3
import subprocess
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import closing, redirect_stderr, redirect_stdout, suppress
from io import StringIO
from pathlib import Path
from unittest.mock import patch

import pytest
from extraction_world import corpus, reply, triples, write_beir
from llm_server import (
    FAULTS,
    MODEL_FAULTS,
    ChatServer,
    Fault,
    at_random,
    first,
    last_message,
    never,
    serving,
    wait_until,
)
from typer.testing import CliRunner

from kg2rag.cli import app, main
from kg2rag.compute import Store
from kg2rag.extraction.importers.saved import SavedGraph, read_about
from kg2rag.knowledge import KnowledgeBase, KnowledgeGraph
from kg2rag.llm.requests import request_key


def asked(body: str) -> dict[str, object]:
    """A request without what says in which form its answer is sent."""
    fields = json.loads(body)
    return {
        name: value
        for name, value in fields.items()
        if name not in ("stream", "stream_options")
    }


WAIT_SECONDS = 0.02
"""Before a request is sent again for the first time: a twenty-fifth of that in earnest."""
DRIVER = f"""
import openai._base_client
openai._base_client.INITIAL_RETRY_DELAY = {WAIT_SECONDS}
from kg2rag.cli import main
main()
"""


class Builder:
    """Starts `kg2rag build` over the same passages and the same store again and again."""

    def __init__(self, folder: Path, server: ChatServer, count: int) -> None:
        self.out, self.store, self.server = (
            folder / "graph",
            Store(folder / "store"),
            server,
        )
        self.data = write_beir(folder / "data", count)

    def words(self, options: Sequence[object], extractor: str) -> list[str]:
        given = [
            "build",
            "beir",
            "--path",
            self.data,
            "--extractor",
            extractor,
            "--out",
            self.out,
            *options,
        ]
        model = [
            "--base-url",
            self.server.url,
            "--model",
            "tiny",
            "--api-key-env",
            "none",
            "--timeout",
            "600",
        ]
        return list(
            map(
                str,
                given + (model if extractor in ("openie", "kg2rag", "typed") else []),
            )
        )

    @property
    def environment(self) -> dict[str, str]:
        return {
            "KG2RAG_STORE": str(self.store.root),
            "COLUMNS": "200",
            "NO_PROXY": "127.0.0.1",
        }

    def start(self, *options: str) -> subprocess.Popen[str]:
        """In a process of its own, which a test can stop."""
        return subprocess.Popen(
            [sys.executable, "-c", DRIVER, *self.words(options, "openie")],
            env=os.environ | self.environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def build(
        self, *options: object, extractor: str = "openie"
    ) -> tuple[int, str, str]:
        """In this process: the exit code, and what was printed on standard output and standard error."""
        out, err = StringIO(), StringIO()
        argv = patch.object(sys, "argv", ["kg2rag", *self.words(options, extractor)])
        with (
            patch.dict(os.environ, self.environment),
            argv,
            redirect_stdout(out),
            redirect_stderr(err),
        ):
            try:
                main()
                code = 0
            except SystemExit as ended:
                code = int(ended.code or 0)
        return code, out.getvalue(), err.getvalue()

    def failed(self) -> list[dict[str, object]]:
        return [
            json.loads(line)
            for line in (self.out / "failed.jsonl").read_text().splitlines()
        ]

    def count_kept(self) -> int:
        return len(self._kept())

    def kept(self, server: ChatServer) -> set[str]:
        """The bodies, of those that the server was paid for, whose answers are in the store."""
        stored = self._kept()
        return {body for body in server.paid if request_key(asked(body)) in stored}

    def _kept(self) -> set[str]:
        file = self.store.root / "answers.sqlite"
        if not file.exists():
            return set()
        with (
            closing(sqlite3.connect(file, timeout=60)) as opened,
            suppress(sqlite3.OperationalError),
        ):
            return {
                key.decode() for (key,) in opened.execute("SELECT key FROM entries")
            }
        return set()  # the table is not there yet


def faulty(share: float) -> Fault:
    """All but "slow", which only a time-out ends; tests/compute/test_llm.py has it."""
    return at_random(
        share,
        seed=4,
        faults=tuple(fault for fault in (*FAULTS, *MODEL_FAULTS) if fault != "slow"),
    )


@pytest.fixture(autouse=True)
def short_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("openai._base_client.INITIAL_RETRY_DELAY", WAIT_SECONDS)


@pytest.fixture
def server() -> Iterator[ChatServer]:
    with serving(reply, prompt_of=last_message) as running:
        yield running


def serve(fault: Fault, delay: float = 0.0):
    return serving(reply, fault, delay, last_message)


def drain(
    server: ChatServer,
    builder: Builder,
    frozen: threading.Event,
    process: subprocess.Popen[str],
) -> None:
    """Let no answer out, and wait until those that are out are in the store: an outage of the endpoint."""
    frozen.set()
    wait_until(
        lambda: server.waiting > 0 and server.waiting == server.in_flight, process
    )
    wait_until(lambda: builder.count_kept() == len(server.paid), process)


def clear(server: ChatServer) -> None:
    """Let the requests of a dead client go."""
    server.gate.set()
    wait_until(lambda: server.in_flight == 0)
    server.gate.clear()


@pytest.mark.slow
@pytest.mark.parametrize(
    "moment",
    ["in an outage", pytest.param("with answers on their way", marks=pytest.mark.full)],
)
def test_faults_and_kills_lose_double_and_repeat_nothing(
    tmp_path: Path, moment: str
) -> None:
    count, kills = (200, 5) if os.environ.get("KG2RAG_FULL") == "1" else (100, 3)
    frozen = threading.Event()
    stops = sorted(
        random.Random(7).sample(range(count // 10, 2 * count - count // 5), kills)
    )
    on_the_way: set[str] = set()
    with serve(faulty(0.2), delay=0.05) as server:
        server.holds = lambda _: frozen.is_set()
        builder = Builder(tmp_path, server, count)
        for stop in stops:
            process = builder.start("--concurrency", "16")
            wait_until(lambda stop=stop: server.paid.total() >= stop, process)
            if moment == "in an outage":
                drain(server, builder, frozen, process)
            process.send_signal(signal.SIGKILL)
            process.communicate()
            clear(server)
            frozen.clear()
            on_the_way |= set(server.paid) - builder.kept(server)
        codes = [builder.build("--concurrency", "16")[0]]
        while codes[-1] == 3 and len(codes) < 8:
            codes.append(builder.build("--concurrency", "16", "--retry-failed")[0])
        asked_twice = {body for body, times in server.paid.items() if times > 1}
        faults = server.requests.total() - server.paid.total()
    assert (codes[0], codes[-1]) == (3, 0)
    assert faults > count / 10
    # What the endpoint answered and a killed process had not yet put down is paid for in vain;
    # nothing else ever is.
    assert asked_twice <= on_the_way
    assert len(on_the_way) <= 16 * len(stops)
    assert moment != "in an outage" or not asked_twice
    assert SavedGraph(builder.out).extract(corpus(count)).triples == triples(count)


def test_a_polite_end_waits_for_the_answers_on_their_way(tmp_path: Path) -> None:
    with serve(never) as server:
        server.holds = lambda _: server.paid.total() >= 6
        builder = Builder(tmp_path, server, 60)
        process = builder.start("--concurrency", "4")
        wait_until(lambda: server.waiting == 4, process)
        process.send_signal(signal.SIGTERM)
        server.gate.set()
        _, err = process.communicate()
        assert (process.returncode, builder.kept(server)) == (130, set(server.paid))
        assert "the same command continues" in err
        assert builder.build()[0] == 0
        assert set(server.paid.values()) == {1}


def test_a_build_with_failures_names_them_and_writes_a_graph_only_where_that_is_allowed(
    tmp_path: Path,
) -> None:
    with serve(lambda prompt, _: "prose" if "Ann2 " in prompt else None) as server:
        builder = Builder(tmp_path, server, 4)
        code, _, err = builder.build()
        assert code == 3
        assert "1 of 4 passages failed, the first: 'p2', entities: output:" in err
        (failed,) = builder.failed()
        assert [failed[name] for name in ("passage_id", "call", "kind", "tries")] == [
            "p2",
            "entities",
            "output",
            1,
        ]
        with pytest.raises(FileNotFoundError, match=r"failed\.jsonl.*--retry-failed"):
            SavedGraph(builder.out)
        assert builder.build("--allow-failed")[0] == 3
    graph = KnowledgeGraph.load(builder.out, corpus(4))
    assert graph.n_triples == 6
    assert graph.notes["failed passages, whose triples are missing or incomplete"] == 1
    assert read_about(builder.out).failed_passages == 1
    assert len(builder.failed()) == 1


def test_only_what_failed_is_asked_again(tmp_path: Path) -> None:
    with serve(
        lambda prompt, before: (
            "prose"
            if "Ann2 " in prompt and "Entities: " not in prompt and not before
            else None
        )
    ) as server:
        builder = Builder(tmp_path, server, 4)
        builder.build()
        before = server.requests.total()
        assert builder.build()[0] == 3
        # an unusable answer is not asked for again unasked
        assert server.requests.total() == before
        assert builder.build("--retry-failed")[0] == 0
        again = server.bodies[before:]
        graph = SavedGraph(builder.out).extract(corpus(4))
    # its entities, then its triples
    assert ["Note 2" in last_message(body) for body in again] == [True, True]
    assert (again[0]["seed"], again[0]["temperature"]) == (1, 0.5)
    assert graph.triples[4:6] == triples(4)[4:6]


def test_a_typed_graph_is_built_by_its_schema(
    tmp_path: Path, server: ChatServer
) -> None:
    builder, schema = Builder(tmp_path, server, 3), tmp_path / "schema.toml"
    for extractor, said in (
        ("typed", "schema.toml does not exist"),
        ("openie", "--schema is for --extractor typed"),
    ):
        assert said in builder.build("--schema", schema, extractor=extractor)[2]
    assert not server.requests
    schema.write_text('relation_types = ["lives in"]')
    assert builder.build("--schema", schema, extractor="typed")[0] == 0
    assert SavedGraph(builder.out).extract(corpus(3)).triples == triples(3)[1::2]
    assert (
        read_about(builder.out).notes[
            "dropped: triples of a relation outside the schema"
        ]
        == 3
    )


def test_a_plan_sends_nothing_and_counts_what_is_stored(
    tmp_path: Path, server: ChatServer
) -> None:
    builder = Builder(tmp_path, server, 6)
    builder.build("--limit", "2")
    sent = server.requests.total()
    _, plan, _ = builder.build(
        "--plan", "--prompt-price", "1", "--completion-price", "2"
    )
    assert server.requests.total() == sent == 4
    assert "6 passages, style openie, model tiny: 8 calls, about" in plan
    assert "cost about 0.00;" in plan


def test_a_wrong_address_ends_the_build_at_once(tmp_path: Path) -> None:
    with serve(first("404", 99)) as server:
        code, _, err = Builder(tmp_path, server, 30).build("--concurrency", "1")
        assert (code, server.requests.total() < 5) == (2, True)
    assert "HTTP 404" in err


def test_a_built_graph_is_the_graph_that_a_knowledge_base_would_build(
    tmp_path: Path, server: ChatServer
) -> None:
    builder = Builder(tmp_path, server, 5)
    assert builder.build(extractor="mentions")[0] == 0
    read, made = (
        KnowledgeBase.build(corpus(5), source, store=builder.store).graph
        for source in (f"graph({builder.out})", "mentions")
    )
    assert read.fingerprint == made.fingerprint


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--extractor", "openie"], "give --base-url and --model"),
        (["--extractor", "mentions", "--limit", "3"], "--limit is for"),
        (["--extractor", "nonsense"], "Unknown graph source 'nonsense'"),
        ([], "Give --out"),
    ],
)
def test_what_does_not_go_together_is_said(
    options: list[str], message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(ValueError, match=message):
        CliRunner().invoke(app, ["build", "bundled", *options], catch_exceptions=False)
