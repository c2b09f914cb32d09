"""Trials of endpoints: large, slow and broken replies, and prompts that are paid twice."""

from __future__ import annotations

import gzip
import inspect
import time
from collections import Counter
from pathlib import Path
from threading import Thread
from typing import Any

from harness import (
    CRASH,
    HEAVY,
    LOST,
    SILENT,
    Finding,
    answer_all,
    chat,
    documents,
    embeddings,
    end,
    expect,
    serving,
    start,
    step,
    trial,
)

SIZE, PAID = "10 sizes", "11 paid twice"


def asked(url: str, kind: str, prompts: int = 1, timeout: float = 30) -> str:
    """Ask an endpoint; the outcome as text."""
    import kg2rag

    if kind == "chat":
        model = kg2rag.ChatModel(url, "m", api_key_env=None, retries=0, timeout=timeout)
        return repr(model.complete_many([f"Say {i}." for i in range(prompts)]))[:500]
    options = inspect.signature(kg2rag.EndpointEncoder).parameters
    limits = {"timeout": timeout} if "timeout" in options else {}  # older code has none
    try:
        encoder = kg2rag.EndpointEncoder(url, "m", **limits)
        return repr(
            encoder.encode([f"text {i}" for i in range(prompts)], kg2rag.Store()).shape
        )
    except (OSError, ValueError, RuntimeError) as error:
        return f"{type(error).__name__}: {error}"[:500]


def bomb(handler: Any) -> None:
    """A megabyte that unpacks to a gigabyte."""
    handler.reply(gzip.compress(b" " * (1 << 30), 1), content_encoding="gzip")


def endless(handler: Any) -> None:
    """A reply that does not end."""
    handler.send_response(200)
    handler.send_header("content-type", "application/json")
    handler.end_headers()
    while True:
        handler.wfile.write(b" " * (1 << 20))


def long_answer(handler: Any) -> None:
    """A completion of 100 MB where 2,048 tokens were asked for."""
    handler.reply(chat("word " * 20_000_000))


def drip(handler: Any, start: bytes) -> None:
    """Two bytes a second after a start, for 100 seconds."""
    handler.wfile.write(start)
    for _ in range(200):
        handler.wfile.write(b" ")
        handler.wfile.flush()
        time.sleep(0.5)


DRIPS = {"body": b"HTTP/1.1 200 OK\r\n\r\n", "headers": b"HTTP/1.1 200 OK\r\nServer:"}


REPLIES = {"bomb": bomb, "endless": endless, "long answer": long_answer}


@trial(SIZE, *((kind, reply) for kind in ("chat", "embeddings") for reply in REPLIES))
def a_large_reply(case: tuple[str, str]) -> None:
    """It is refused, in little memory."""
    with serving(REPLIES[case[1]]) as server:
        done = step(lambda: asked(server.url, case[0]))
    if "PanicException" in done:
        raise Finding(CRASH, done)


@trial(SIZE, *((kind, part) for kind in ("chat", "embeddings") for part in DRIPS))
def a_drip_of_bytes(case: tuple[str, str]) -> None:
    """A request has a total time."""
    with serving(lambda handler: drip(handler, DRIPS[case[1]])) as server:
        begin = time.monotonic()
        step(lambda: asked(server.url, case[0], timeout=2))
        if time.monotonic() - begin > 60:
            raise Finding(
                HEAVY,
                f"held for {time.monotonic() - begin:.0f} seconds with a timeout of 2",
            )


@trial(PAID)
def two_builds_at_once() -> None:
    """Each prompt is asked once."""
    documents()
    prompts: Counter[str] = Counter()

    def answer(handler: Any) -> None:
        prompts[str(handler.body["messages"])] += 1
        time.sleep(0.3)
        handler.reply(chat('{"triples": [], "named_entities": [], "entities": []}'))

    with serving(answer) as server:
        more = ("--base-url", server.url, "--model", "m", "--api-key-env", "none")
        started = [
            start(
                "build", "documents", "--extractor", "openie", "--out", f"g{i}", *more
            )
            for i in range(2)
        ]
        codes = [end(process).code for process in started]
    expect(codes, [0, 0], LOST, "exit codes")
    if prompts and max(prompts.values()) > 1:
        raise Finding(SILENT, f"{prompts.total()} requests for {len(prompts)} prompts")


@trial(PAID)
def six_threads_and_one_prompt() -> None:
    """It is paid once."""

    def answer(handler: Any) -> None:
        time.sleep(0.5)
        handler.reply(chat("{}"))

    def ask() -> None:
        import kg2rag

        model = kg2rag.ChatModel(server.url, "m", api_key_env=None)
        threads = [
            Thread(target=model.complete_many, args=(["Say it."],)) for _ in range(6)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    with serving(answer) as server:
        step(ask)
        expect(len(server.requests), 1, SILENT, "requests")


@trial(PAID)
def embeddings_that_were_paid_are_kept() -> None:
    """A fault at the third request loses none of the first two."""
    texts: Counter[str] = Counter()
    broken = [True]

    def answer(handler: Any) -> None:
        if broken[0] and len(texts) >= 128:
            handler.reply({"error": {"message": "over"}}, 400)
        else:
            texts.update(handler.body["input"])
            handler.reply(embeddings(handler.body["input"]))

    def encode() -> str:
        return asked(server.url, "embeddings", 600)

    with serving(answer) as server:
        step(encode)
        paid = len(texts)
        broken[0] = False
        step(encode)
    twice = sum(count > 1 for text, count in texts.items() if text.startswith("text "))
    if twice > 8:  # a few serve to know an encoder again
        raise Finding(SILENT, f"{twice} of {paid} texts were paid twice")


@trial(PAID, "cut", "zeros", "text", "empty", "another database")
def a_damaged_file_of_answers(how: str) -> None:
    """The answers are bought again, or an error names the file."""
    import sqlite3

    with serving(answer_all) as server:
        step(lambda: asked(server.url, "chat", 9))
        for path in Path(".store").rglob("answers*.sqlite"):
            data = path.read_bytes()
            damaged = {
                "cut": data[: len(data) // 2],
                "zeros": bytes(len(data)),
                "text": b"no database" * 999,
                "empty": b"",
            }
            path.write_bytes(damaged.get(how, b""))
            if how == "another database":
                path.unlink()
                with sqlite3.connect(path) as other:
                    other.execute("CREATE TABLE answers (theirs)")
        try:
            outcome = step(lambda: asked(server.url, "chat", 9))
        except RuntimeError as error:
            if "answers.sqlite" not in str(error):
                raise Finding(CRASH, error) from error
            raise Finding(LOST, error) from error
    if "Failure" in outcome or "Error" in outcome:
        raise Finding(LOST, outcome)
