"""Trials of processes: commands that are killed at any file operation, and several commands that share a store."""

from __future__ import annotations

import os
import shutil
import signal
import sqlite3
import sys
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from random import Random
from sqlite3 import dbapi2
from typing import Any

import pandas as pd
from harness import (
    LOST,
    SILENT,
    Finding,
    chat,
    contents,
    documents,
    end,
    expect,
    serving,
    start,
    step,
    trial,
    write,
)

KILLED, SHARED = "13 kills", "14 one store"
KILLS = 6
PROCESSES = 6
COMPARE = "compare documents --questions questions.jsonl --metrics recall@1,mrr@10 --out out --systems"
COMMANDS = {
    "a comparison": f"{COMPARE} bm25,pattern",
    "a graph of co-occurrences": "build documents --extractor cooccurrence --out out",
    "a graph by a language model": "build documents --extractor openie --model m --api-key-env none --concurrency 1 "
    "--out out",
    "a sweep": "sweep sweep.toml --run --out out",
}
FILES = {
    "a comparison": "scores.csv",
    "a graph of co-occurrences": "triples.parquet",
    "a graph by a language model": "triples.parquet",
    "a sweep": "results.parquet",
}
"""Command -> a file that it writes."""
SWEEP = 'name = "s"\ndata = "bundled"\nmetrics = ["recall@5"]\nk = 5\n[systems.bm25]\nk1 = [0.9, 1.2]\n'
ENTITIES = '{"entities": ["Ada", "Charles"]}'
TRIPLES = '{"triples": [["Ada", "knew", "Charles"]]}'
OPERATIONS = ("open", "os.rename", "os.remove", "os.mkdir", "os.rmdir")
DATED = (
    "report.html",
    "config.json",
    "build.json",
    "sweep.json",
    "report.md",
    "results.parquet",
    ".kg2rag.json",
)
"""Files with times, counts of stored answers, or checksums of such files."""


def operations(words: Sequence[str], stop: int = 0) -> int:
    """Run a command in this process, which is killed at file operation number `stop`; the number of operations.

    A file operation opens, renames or removes a file of `out` or the store, or is a statement of
    SQLite.
    """
    from kg2rag.cli import app

    folders = tuple(str(Path(name).absolute()) for name in ("out", ".store"))
    count = 0

    def operate(*_: object) -> None:
        nonlocal count
        count += 1
        if count == stop:
            os.kill(os.getpid(), signal.SIGKILL)

    def watch(event: str, arguments: tuple[Any, ...]) -> None:
        if event in OPERATIONS and str(Path(str(arguments[0])).absolute()).startswith(
            folders
        ):
            operate()

    def connect(*arguments: Any, **options: Any) -> sqlite3.Connection:
        connection = dbapi2.connect(*arguments, **options)
        connection.set_trace_callback(operate)
        return connection

    sys.addaudithook(watch)
    sqlite3.connect = connect
    app(words, standalone_mode=False)
    return count


def results() -> dict[str, object]:
    """The files of `out` that are the same in every run, and the scores of a sweep without its times."""
    tables: dict[str, object] = {
        name: data
        for name, data in contents("out").items()
        if Path(name).name not in DATED
    }
    for path in Path("out").glob("results.parquet"):
        tables[path.name] = pd.read_parquet(path).drop(columns="ms_per_query").to_csv()
    return tables


def extract(handler: Any) -> None:
    """Answer the two prompts of the style "openie"."""
    is_second = "Entities: " in handler.body["messages"][-1]["content"]
    handler.reply(chat(TRIPLES if is_second else ENTITIES))


@trial(KILLED, *COMMANDS)
def a_command_that_is_killed(name: str) -> None:
    """The same command again gives the files of a whole run, and asks a language model at most one prompt twice."""
    documents()
    write(
        {
            "questions.jsonl": '{"question": "Who wrote?", "gold": "Ada.md"}\n',
            "sweep.toml": SWEEP,
        }
    )
    with serving(extract) as server:
        words = COMMANDS[name].split()
        if name == "a comparison":  # over an older comparison
            step(lambda: operations([*COMPARE.split(), "pattern"]))
        if name == "a graph by a language model":
            words += ["--base-url", server.url]
        for folder in ("out", ".store"):
            Path(folder).mkdir(exist_ok=True)
            shutil.copytree(folder, Path("before", folder))
        n_operations = step(lambda: operations(words))
        whole, n_requests = results(), len(server.requests)
        expect(FILES[name] in whole, True, LOST, "files of a whole run")
        random = Random(name)
        for stop in random.sample(range(1, n_operations + 1), KILLS):
            for folder in ("out", ".store"):
                shutil.rmtree(folder)
                shutil.copytree(Path("before", folder), folder)
            server.requests.clear()
            with suppress(RuntimeError):
                step(lambda stop=stop: operations(words, stop))  # type: ignore[misc]
            step(lambda: operations(words))
            expect(results(), whole, SILENT, f"killed at {stop} of {n_operations}:")
            if len(server.requests) > n_requests + 1:
                raise Finding(
                    LOST, f"{len(server.requests)} requests for {n_requests} prompts"
                )


@trial(SHARED)
def commands_that_fill_one_store_at_once() -> None:
    """Each writes the same tables."""
    documents()
    command = "compare bundled --systems bm25,pattern --metrics recall@5 --limit 9 --out".split()
    started = [start(*command, f"out{i}") for i in range(PROCESSES)]
    expect(
        [end(process).code for process in started], [0] * PROCESSES, LOST, "exit codes"
    )
    expect(
        len({Path(f"out{i}", "scores.csv").read_bytes() for i in range(PROCESSES)}), 1
    )
