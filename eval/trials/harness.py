"""A function that misuses kg2rag -> its finding, from a separate process with limits; and functions that trials share.

A trial returns if kg2rag did as it should, and raises a `Finding` if not. It uses only the command
line and public names of kg2rag, so that it also runs on an older commit.
"""

from __future__ import annotations

import json
import os
import resource
import signal
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

SILENT, TOUCHED, KEY, LOST, HEAVY, CRASH = (
    "wrong in silence", "files touched", "keys out", "runs lost", "too slow or big", "unclear error",
)  # fmt: skip
KINDS = (SILENT, TOUCHED, KEY, LOST, HEAVY, CRASH)
SECONDS = 60  # of processor time
WALL_SECONDS = 900  # on a busy machine
BYTES = 2 << 30
SECRET = "sk-SECRET-0123456789abcdef"


class Finding(Exception):  # noqa: N818 (a result of a trial, not its failure)
    """A fault of kg2rag: one of `KINDS`, and the evidence."""

    def __init__(self, kind: str, evidence: object) -> None:
        self.kind = kind
        self.evidence = str(evidence)[:400]
        super().__init__(kind, self.evidence)


@dataclass(frozen=True)
class Trial:
    """A trial and its row of the table; `run` works in the current folder, which is empty."""

    point: str
    name: str
    run: Callable[[], object]

    def has_part(self, parts: Sequence[str]) -> bool:
        """Whether point and name contain one of some texts, or there are none."""
        return not parts or any(part in f"{self.point} {self.name}" for part in parts)


TRIALS: list[Trial] = []


def trial(
    point: str, *cases: Any
) -> Callable[[Callable[..., object]], Callable[..., object]]:
    """Add a function to the trials, once for each case, its argument."""

    def add(function: Callable[..., object]) -> Callable[..., object]:
        name = function.__name__.replace("_", " ")
        if not cases:
            TRIALS.append(Trial(point, name, function))
        for case in cases:
            TRIALS.append(Trial(point, f"{name}: {case}", partial(function, case)))
        return function

    return add


def judge(trial: Trial) -> tuple[str, str]:
    """Run a trial; the kind of its finding, "" for none, and the evidence."""
    with (
        tempfile.TemporaryDirectory() as folder,
        tempfile.TemporaryFile("w+") as report,
    ):
        child = os.fork()
        if not child:
            _run(trial, Path(folder), report)
        status, usage = _wait(child)
        report.seek(0)
        text = report.read()
    if not text:
        name = signal.Signals(os.WTERMSIG(status)).name
        if name in ("SIGXCPU", "SIGKILL"):
            return (
                HEAVY,
                f"the process was ended by {name} after its limit of time or memory",
            )
        return CRASH, f"the process was ended by {name}"
    kind, evidence = json.loads(text)
    seconds, peak = usage.ru_utime + usage.ru_stime, usage.ru_maxrss * 1024
    if not kind and (seconds > SECONDS or peak > BYTES):
        return HEAVY, f"{seconds:.0f} seconds, {peak / 1e9:.1f} GB"
    return kind, evidence


def _wait(child: int) -> tuple[int, resource.struct_rusage]:
    """Status and resources of a process at its end or after `WALL_SECONDS`; its whole group is then killed."""
    deadline = time.monotonic() + WALL_SECONDS
    ended = 0
    while not ended and time.monotonic() < deadline:
        ended, status, usage = os.wait4(child, os.WNOHANG)
        time.sleep(0.02)
    with suppress(ProcessLookupError):
        os.killpg(child, signal.SIGKILL)
    if not ended:
        _, status, usage = os.wait4(child, 0)
    return status, usage


def _run(trial: Trial, folder: Path, report: Any) -> None:
    os.setsid()
    os.chdir(folder)
    os.environ.update(
        HOME=str(folder),
        KG2RAG_STORE=str(folder / ".store"),
        OPENAI_API_KEY=SECRET,
        NO_PROXY="127.0.0.1",
    )
    resource.setrlimit(resource.RLIMIT_CPU, (2 * SECONDS, 2 * SECONDS + 5))
    resource.setrlimit(resource.RLIMIT_DATA, (3 * BYTES, 3 * BYTES))
    sys.path.insert(0, str(folder))
    finding = ("", "")
    with (folder / ".output").open("w") as output:
        for stream in (1, 2):
            os.dup2(output.fileno(), stream)
        try:
            trial.run()
        except Finding as error:
            finding = (error.kind, error.evidence)
        except BaseException as error:  # noqa: BLE001 (any error is a finding)
            finding = (CRASH, f"{type(error).__name__}: {str(error)[:300]}")
    json.dump(finding, report)
    report.flush()
    os._exit(0)


def step(function: Callable[[], Any], **environment: str) -> Any:
    """The JSON value of a function that runs in a separate process, as after another start of Python."""
    with tempfile.TemporaryFile("w+") as report:
        child = os.fork()
        if not child:
            os.environ.update(environment)
            try:
                result = {"value": function()}
            except Finding as finding:
                result = {"finding": [finding.kind, finding.evidence]}
            except BaseException as error:  # noqa: BLE001
                result = {"error": f"{type(error).__name__}: {error}"}
            json.dump(result, report)
            report.flush()
            os._exit(0)
        os.waitpid(child, 0)
        report.seek(0)
        result = json.loads(report.read() or '{"error": "the process was killed"}')
    if "finding" in result:
        raise Finding(*result["finding"])
    if "error" in result:
        raise RuntimeError(result["error"])
    return result["value"]


@dataclass(frozen=True)
class Done:
    """The exit code of a command, and its output."""

    code: int
    output: str


def start(*words: object, **environment: str) -> tuple[int, Path]:
    """Start a command of kg2rag; the number of its process, and the file of its output."""
    output = Path(tempfile.mkstemp(dir=tempfile.gettempdir())[1])
    child = os.fork()
    if not child:
        os.environ.update(environment)
        with output.open("w") as stream:
            for number in (1, 2):
                os.dup2(stream.fileno(), number)
        sys.argv = ["kg2rag", *map(str, words)]
        from kg2rag.cli import main

        code = 0
        try:
            main()
        except SystemExit as ended:
            code = ended.code if isinstance(ended.code, int) else 1
        except BaseException:  # noqa: BLE001 (as Python ends)
            sys.excepthook(*sys.exc_info())
            code = 1
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)
    return child, output


def end(started: tuple[int, Path]) -> Done:
    """Wait for a command."""
    _, status = os.waitpid(started[0], 0)
    output = started[1].read_text(encoding="utf-8", errors="surrogateescape")
    started[1].unlink()
    return Done(os.waitstatus_to_exitcode(status), output)


def command(*words: object, **environment: str) -> Done:
    """Run a command of kg2rag to its end."""
    return end(start(*words, **environment))


def succeed(*words: object, kind: str = LOST, **environment: str) -> str:
    """Run a command that must succeed; its output."""
    done = command(*words, **environment)
    if done.code:
        raise Finding(kind, f"exit code {done.code}: {done.output[-300:]}")
    return done.output


def expect(
    value: object, expected: object, kind: str = SILENT, about: str = ""
) -> None:
    """A finding if two values differ."""
    if value != expected:
        raise Finding(kind, f"{about} {value!r:.150} in place of {expected!r:.150}")


def write(files: dict[str, str | bytes], folder: str | Path = ".") -> Path:
    """Write files into a folder."""
    for name, content in files.items():
        path = Path(folder, name)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return Path(folder)


def contents(folder: str | Path) -> dict[str, bytes]:
    """The files below a folder."""
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in Path(folder).rglob("*")
        if path.is_file()
    }


PEOPLE = (
    "Ada Lovelace",
    "Charles Babbage",
    "Grace Hopper",
    "Alan Turing",
    "Kurt Goedel",
    "Emmy Noether",
)


def documents(folder: str | Path = "documents", **more: str | bytes) -> Path:
    """A folder of small documents, and further ones by name."""
    texts = {f"{name.split()[0]}.md": f"# {name}\n\n{name} knew {PEOPLE[i - 1]} and wrote a letter about engines.\n"
             for i, name in enumerate(PEOPLE)}  # fmt: skip
    return write({**texts, **more}, folder)


def passages(folder: str | Path) -> list[str]:
    """The texts of the passages of a folder, read in a separate process."""

    def read() -> list[str]:
        import kg2rag

        return [
            f"{passage.title}\n{passage.text}"
            for passage in kg2rag.load(str(folder)).corpus
        ]

    return list(step(read))


class Server(ThreadingHTTPServer):
    """A server that answers by a function of the request and records each request with its headers."""

    daemon_threads = True

    def __init__(self, answer: Callable[[Any], None]) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.answer, self.lock = answer, threading.Lock()
        self.requests: list[tuple[str, str, str]] = []
        self.url = f"http://127.0.0.1:{self.server_address[1]}/v1"

    @property
    def authorized(self) -> bool:
        """Whether a request had the key."""
        return any(SECRET in headers for _, headers, _ in self.requests)

    def handle_error(self, *_: object) -> None:
        """Print nothing about clients that went away."""


class _Handler(BaseHTTPRequestHandler):
    server: Server
    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers.get("content-length") or 0)).decode()
        with self.server.lock:
            self.server.requests.append((self.path, str(self.headers), body))
        self.body = json.loads(body or "{}")
        self.server.answer(self)

    def do_GET(self) -> None:
        self.do_POST()

    def reply(self, value: object, status: int = 200, **headers: str) -> None:
        """Send a value as JSON, or bytes."""
        data = value if isinstance(value, bytes) else json.dumps(value).encode()
        self.send_response(status)
        for name, text in {
            "content-type": "application/json",
            "content-length": str(len(data)),
            **headers,
        }.items():
            self.send_header(name.replace("_", "-"), text)
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002
        """Print nothing."""


@contextmanager
def serving(answer: Callable[[Any], None]) -> Iterator[Server]:
    """A server, running in a thread."""
    with Server(answer) as server:
        thread = threading.Thread(
            target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True
        )
        thread.start()
        yield server
        server.shutdown()


def chat(text: str) -> dict[str, object]:
    """A reply of a language model."""
    message = {"role": "assistant", "content": text}
    usage = {"prompt_tokens": 5, "completion_tokens": 5, "total_tokens": 10}
    choice = {"index": 0, "message": message, "finish_reason": "stop"}
    return {
        "id": "1",
        "object": "chat.completion",
        "created": 1,
        "model": "m",
        "choices": [choice],
        "usage": usage,
    }


def embeddings(texts: Sequence[str]) -> dict[str, object]:
    """A reply of an embedding endpoint: letters counted."""
    rows = [{"object": "embedding", "index": i, "embedding": [1.0 + text.lower().count(sign) for sign in "etaoinsh"]}
            for i, text in enumerate(texts)]  # fmt: skip
    return {
        "object": "list",
        "data": rows,
        "model": "m",
        "usage": {"prompt_tokens": 5, "total_tokens": 5},
    }


def answer_all(handler: Any) -> None:
    """Answer chats with an empty object and embeddings with counts."""
    if "input" in handler.body:
        texts = (
            handler.body["input"]
            if isinstance(handler.body["input"], list)
            else [handler.body["input"]]
        )
        handler.reply(embeddings(texts))
    else:
        handler.reply(chat("{}"))
