"""A chat-completions endpoint on loopback, with real sockets, that also misbehaves when told to.

What it does to a request is decided by its prompt and by how often that prompt has come, so that a
run is the same whatever the order in which threads send.
"""

from __future__ import annotations

import json
import random
import select
import socket
import sqlite3
import struct
import subprocess
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager, suppress
from email.utils import formatdate
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

FAULTS = ("429", "500", "slow", "reset", "cut", "foreign", "no choices", "html")
MORE_FAULTS = ("429 plain", "429 dated", "503", "half")
"""What the client retries, too; the first two without Retry-After and with a date in it."""
STREAM_FAULTS = ("interrupted", "unended")
"""Of streams whose connection is broken off after their end mark: before the answer is over, and when it is."""
MODEL_FAULTS = ("wrong schema", "prose", "half an answer", "length", "empty")
"""What the model does wrong, and the client does not retry."""
Fault = Callable[[str, int], str | None]
"""(prompt, how many requests with this prompt came before) -> what goes wrong, or None."""
PromptOf = Callable[[dict[str, Any]], str]


def first_message(body: dict[str, Any]) -> str:
    return str(body["messages"][0]["content"])


def last_message(body: dict[str, Any]) -> str:
    """For conversations, whose first messages are all the same."""
    return str(body["messages"][-1]["content"])


def never(prompt: str, before: int) -> str | None:
    return None


def first(fault: str, times: int = 1) -> Fault:
    """The fault on the first `times` requests of each prompt."""
    return lambda _, before: fault if before < times else None


def at_random(share: float, seed: int, faults: tuple[str, ...] = FAULTS) -> Fault:
    """One of the faults on about that share of the requests; the same ones in every run."""

    def choose(prompt: str, before: int) -> str | None:
        dice = random.Random(f"{seed} {prompt} {before}")
        return dice.choice(faults) if dice.random() < share else None

    return choose


class ChatServer(ThreadingHTTPServer):
    """Answers with `reply(prompt)`, unless `fault` says otherwise, after `delay` seconds.

    Attributes
    ----------
    prompt_of : what of a request's body is its prompt.
    requests, answered, paid : how often each prompt came, and it and each body was answered (faults of the model too).
    in_flight, most_in_flight, waiting : requests handled now, the largest number of them, and those before the gate.
    streams : whether an answer comes in parts where a request wants that; not every endpoint does it.
    gate : requests whose prompt `holds` says yes to wait for it, and so does the fault "slow".
    """

    daemon_threads = False  # so that closing the server waits for its handlers
    # beyond the default of 5, connections that come at once wait for a second
    request_queue_size = 64

    def __init__(
        self,
        reply: Callable[[str], str],
        fault: Fault,
        delay: float,
        prompt_of: PromptOf,
    ) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.reply, self.fault, self.delay, self.prompt_of = (
            reply,
            fault,
            delay,
            prompt_of,
        )
        self.lock = threading.Lock()
        self.requests: Counter[str] = Counter()
        self.answered: Counter[str] = Counter()
        self.paid: Counter[str] = Counter()
        self.in_flight = self.most_in_flight = self.waiting = 0
        self.connections: set[socket.socket] = set()
        self.bodies: list[dict[str, Any]] = []
        self.keys: list[str] = []
        self.gate = threading.Event()
        self.holds: Callable[[str], bool] = lambda _: False
        self.headers: list[dict[str, str]] = []
        self.streams = True

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}/v1"

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that was killed or has given up is no error here."""

    def process_request(self, request: Any, client_address: Any) -> None:
        with self.lock:
            self.connections.add(request)
        super().process_request(request, client_address)

    def shutdown_request(self, request: Any) -> None:
        with self.lock:
            self.connections.discard(request)
        super().shutdown_request(request)

    def wait_for_gate(self) -> None:
        with self.lock:
            self.waiting += 1
        self.gate.wait()
        with self.lock:
            self.waiting -= 1

    def hang_up(self) -> None:
        """End the connections that clients keep open, and with them the threads that read from them."""
        with self.lock:
            for connection in self.connections:
                with suppress(OSError):
                    connection.shutdown(socket.SHUT_RDWR)


class _Handler(BaseHTTPRequestHandler):
    server: ChatServer
    protocol_version = "HTTP/1.1"
    # headers and body are two writes; else the second waits 40 ms for an ACK
    disable_nagle_algorithm = True

    def do_POST(self) -> None:
        server = self.server
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        prompt = server.prompt_of(body)
        with server.lock:
            before = server.requests[prompt]
            server.requests[prompt] += 1
            server.bodies.append(body)
            server.headers.append(dict(self.headers))
            server.keys.append(self.headers["Authorization"])
            server.in_flight += 1
            server.most_in_flight = max(server.most_in_flight, server.in_flight)
        try:
            server.gate.wait(server.delay)
            if server.holds(prompt):
                server.wait_for_gate()
            if not self._alone():
                self.as_events = server.streams and body.get("stream", False)
                self._answer(
                    prompt,
                    server.fault(prompt, before),
                    json.dumps(body, sort_keys=True),
                )
        finally:
            with server.lock:
                server.in_flight -= 1

    def _alone(self) -> bool:
        """Whether the client is gone: killed, or tired of waiting."""
        if not select.select([self.connection], [], [], 0)[0]:
            return False
        try:
            self.close_connection = self.connection.recv(1, socket.MSG_PEEK) == b""
        except OSError:
            self.close_connection = True
        return self.close_connection

    def _answer(self, prompt: str, fault: str | None, body: str) -> None:
        status, _, rest = str(fault).partition(" ")
        message = f"refused with {fault}, key {self.headers['Authorization']}"
        if rest.startswith("says "):
            message, rest = rest.removeprefix("says "), ""
        unread = {
            "cut": self._completion("never seen")[:60],
            "foreign": '{"result": "a JSON of some other service"}',
            "no choices": '{"id": "1", "object": "chat.completion", "choices": []}',
            "html": "<html><body>Please log in</body></html>",
        }
        if status in ("429", "500", "503", "400", "401", "404", "422"):
            # The key comes back in the error text, as some hosted services do it.
            error = {"error": {"message": message}}
            later = {
                "": {"retry-after-ms": "20"},
                "dated": {"retry-after": formatdate(time.time() + 1, usegmt=True)},
            }
            self._send(
                json.dumps(error), status=int(status), headers=later.get(rest, {})
            )
        elif fault in ("slow", "reset", "half"):
            self._break_off(fault)
        elif fault in STREAM_FAULTS and self.as_events:
            self._end_stream(prompt, body, is_over=fault == "unended")
        elif fault == "202":
            self._send('{"status": "queued"}', status=202)
        elif fault in unread:
            self._send(unread[fault], kind="text/html" if fault == "html" else "")
        else:
            reply = self.server.reply(prompt)
            faulty = {
                "wrong schema": '{"colour": "red"}',
                "prose": "I would rather not say.",
                "half an answer": reply[: len(reply) // 2],
                "empty": "",
                "refusal": None,
            }
            self._count(prompt, body)
            finish = fault if fault in ("length", "content_filter") else "stop"
            refusal = "I cannot help with that." if fault == "refusal" else None
            answer = self._completion(
                faulty.get(str(fault), reply), finish, fault != "uncounted", refusal
            )
            if self.as_events and fault != "plain":
                self._send(as_events(answer), kind="text/event-stream")
            else:
                self._send(answer, kind="text/plain" if fault == "plain" else "")

    def _break_off(self, fault: str) -> None:
        if fault == "slow":
            self.server.wait_for_gate()
        elif fault == "reset":
            self.connection.setsockopt(
                socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0)
            )
            self.connection.close()
        else:
            self._send(self._completion("never seen"), promised=10_000)
        self.close_connection = True

    def _count(self, prompt: str, body: str) -> None:
        with self.server.lock:
            self.server.answered[prompt] += 1
            self.server.paid[body] += 1

    def _end_stream(self, prompt: str, body: str, *, is_over: bool) -> None:
        events = as_events(self._completion(self.server.reply(prompt)))
        if is_over:
            self._count(prompt, body)
        else:
            events = "".join(events.splitlines(keepends=True)[:4]) + "data: [DONE]\n\n"
        self._send(events, kind="text/event-stream", promised=10_000)
        self.close_connection = True

    def _completion(
        self,
        text: str | None,
        finish: str = "stop",
        counted: bool = True,
        refusal: str | None = None,
    ) -> str:
        message = {
            "role": "assistant",
            "content": text,
            **({"refusal": refusal} if refusal else {}),
        }
        choice = {"index": 0, "message": message, "finish_reason": finish}
        usage = (
            {"usage": {"prompt_tokens": 7, "completion_tokens": 3, "total_tokens": 10}}
            if counted
            else {}
        )
        return json.dumps(
            {
                "id": "1",
                "object": "chat.completion",
                "model": "tiny-1",
                "choices": [choice],
                **usage,
            }
        )

    def _send(
        self,
        content: str,
        *,
        status: int = 200,
        kind: str = "",
        promised: int = 0,
        headers: Mapping[str, str] = {},
    ) -> None:
        data = content.encode()
        told = {
            "Content-Type": kind or "application/json",
            "Content-Length": str(promised or len(data)),
            **headers,
        }
        self.send_response(status)
        for name, value in told.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002
        """Keep quiet."""


def as_events(completion: str) -> str:
    """A chat completion as the stream of events that hosted services and vLLM send."""
    about = json.loads(completion)
    (choice,) = about.pop("choices")
    usage = about.pop("usage", None)
    text, refusal = choice["message"]["content"] or "", choice["message"].get("refusal")
    deltas: list[dict[str, Any]] = [{"role": "assistant", "content": ""}]
    deltas += [{"content": text[start : start + 5]} for start in range(0, len(text), 5)]
    deltas += [{"refusal": refusal}] if refusal else []
    events = [
        {**about, "choices": [{"index": 0, "delta": delta, "finish_reason": None}]}
        for delta in deltas
    ]
    events.append(
        {
            **about,
            "choices": [
                {"index": 0, "delta": {}, "finish_reason": choice["finish_reason"]}
            ],
        }
    )
    events.append({**about, "choices": [], "usage": usage})
    return (
        "".join(f"data: {json.dumps(event)}\n\n" for event in events)
        + "data: [DONE]\n\n"
    )


def kept_answers(store: Path) -> list[dict[str, Any]]:
    """The answers in a folder of a store, in the order in which they came."""
    file = store / "answers.sqlite"
    if not file.exists():
        return []
    with (
        closing(sqlite3.connect(file, timeout=60)) as opened,
        suppress(sqlite3.OperationalError),
    ):
        rows = opened.execute("SELECT value FROM entries ORDER BY rowid").fetchall()
        return [json.loads(value) for (value,) in rows]
    return []


def wait_until(
    condition: Callable[[], bool], process: subprocess.Popen[str] | None = None
) -> None:
    """Return once the condition holds, however long it takes; fail where the process that should bring it has ended."""
    while not condition():
        ended = process is not None and process.poll() is not None
        assert not ended or condition(), (
            f"the process ended first: {process and process.communicate()}"
        )
        time.sleep(0.02)


@contextmanager
def serving(
    reply: Callable[[str], str] = lambda prompt: f"answer to {prompt}",
    fault: Fault = never,
    delay: float = 0.0,
    prompt_of: PromptOf = first_message,
) -> Iterator[ChatServer]:
    """A server for the length of a block."""
    server = ChatServer(reply, fault, delay, prompt_of)
    thread = threading.Thread(
        target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True
    )
    thread.start()
    try:
        yield server
    finally:
        server.gate.set()
        server.shutdown()
        thread.join()
        server.hang_up()
        server.server_close()
