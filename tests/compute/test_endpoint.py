"""What leaves for an endpoint and what comes back: keys, hosts, redirects, sizes, seconds, control characters."""

from __future__ import annotations

import gzip
import json
import re
import threading
import time
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from kg2rag.compute import EndpointEncoder, Store, embedder_named
from kg2rag.compute.endpoint import (
    Endpoint,
    EndpointError,
    Exchange,
    allowed_hosts,
    api_key,
    checked_address,
    endpoint_of,
    has_openai_key,
    is_local,
)
from kg2rag.llm import ChatModel, CompletionError
from kg2rag.types import ParameterError

KEY = "sk-canary/0123456789+abcdef"
Answer = Callable[["Server", BaseHTTPRequestHandler], None]


class Server(ThreadingHTTPServer):
    """Answers each request by a function, and keeps the headers of all."""

    daemon_threads = True

    def __init__(self, answer: Answer) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.answer = answer
        self.seen: list[dict[str, str]] = []

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}/v1"

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that has given up is no error here."""


class _Handler(BaseHTTPRequestHandler):
    server: Server

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["Content-Length"]))
        self.server.seen.append(
            {name.lower(): value for name, value in self.headers.items()}
        )
        self.server.answer(self.server, self)

    do_GET = do_POST  # noqa: N815 - of a redirect that is followed by another method

    def log_message(self, *_: object) -> None:
        """Say nothing."""


@contextmanager
def serving(answer: Answer) -> Iterator[Server]:
    server = Server(answer)
    threading.Thread(
        target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True
    ).start()
    try:
        yield server
    finally:
        server.shutdown()
        server.server_close()


def sending(data: bytes, status: int = 200, **headers: str) -> Answer:
    def answer(_: Server, to: BaseHTTPRequestHandler) -> None:
        to.send_response(status)
        for name, value in {
            "content_type": "application/json",
            "content_length": str(len(data)),
            **headers,
        }.items():
            to.send_header(name.replace("_", "-"), value)
        to.end_headers()
        to.wfile.write(data)

    return answer


def vectors(count: int = 1) -> bytes:
    return json.dumps(
        {"data": [{"index": row, "embedding": [3.0, 4.0]} for row in range(count)]}
    ).encode()


def read_json(content: bytes, events: bool) -> Any:
    return json.loads(content)


def failure_of(
    server: Server, max_bytes: int = 1 << 20, **options: Any
) -> EndpointError:
    endpoint = Endpoint(server.url, **{"retries": 0, **options})
    with pytest.raises(EndpointError) as raised:
        endpoint.send("embeddings", {"model": "m"}, Exchange(read_json, max_bytes))
    return raised.value


# Keys


@pytest.mark.parametrize(
    ("base_url", "own", "belongs"),
    [
        ("https://api.openai.com/v1", "", True),
        ("http://api.openai.com/v1", "", False),  # not encrypted
        ("https://api.openai.com.other.example/v1", "", False),
        ("https://other.example/v1", "", False),
        ("https://other.example/api", "https://other.example/v1", True),
        ("https://other.example:8443/v1", "https://other.example/v1", False),
        ("http://localhost:8000/v1", "", False),
        ("http://localhost:8000/v1", "http://localhost:8000/v1", True),
    ],
)
def test_the_openai_key_belongs_to_openai_and_to_the_address_of_its_variable(
    monkeypatch, base_url, own, belongs
):
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    monkeypatch.setenv("OPENAI_BASE_URL", own)
    assert has_openai_key(base_url) is belongs
    assert api_key(base_url) == (KEY if belongs else "none")


def test_a_host_of_somebody_elses_is_sent_no_key_and_no_header_of_the_environment(
    monkeypatch, tmp_path
):
    secrets = {
        name: f"{name}-0123456789"
        for name in ("OPENAI_API_KEY", "OPENAI_ADMIN_KEY", "OPENAI_ORG_ID")
    }
    secrets["OPENAI_PROJECT_ID"] = "project-0123456789"
    for name, value in secrets.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("OPENAI_CUSTOM_HEADERS", "X-Secret: secret-0123456789")
    with serving(sending(vectors())) as server:
        embedder_named(f"endpoint:m@{server.url}").encode(["a"], Store(tmp_path))
    assert server.seen
    sent = json.dumps(server.seen)
    assert [
        value for value in (*secrets.values(), "secret-0123456789") if value in sent
    ] == []


def test_a_key_that_is_named_for_an_address_is_sent_there(monkeypatch, tmp_path):
    monkeypatch.setenv("OTHER_KEY", KEY)
    with serving(sending(vectors())) as server:
        EndpointEncoder(server.url, "m", "OTHER_KEY").encode(["a"], Store(tmp_path))
    assert {headers["authorization"] for headers in server.seen} == {f"Bearer {KEY}"}


@pytest.mark.parametrize("status", [401, 403])
@pytest.mark.parametrize(
    ("variable", "value", "sent", "variables"),
    [
        ("OTHER_KEY", KEY, KEY, {"OTHER_KEY"}),
        ("OTHER_KEY", "", "none", {"OTHER_KEY"}),
        (None, "", "none", {"OPENAI_API_KEY", "OPENAI_BASE_URL"}),
    ],
    ids=["refused", "empty", "none named"],
)
def test_a_refused_key_is_told_with_its_variable_and_the_field_that_names_it(
    monkeypatch, status, variable, value, sent, variables
):
    monkeypatch.setenv("OTHER_KEY", value)
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)
    long = b'{"error": {"message": "%s"}}' % (b"forbidden " * 50)
    with serving(sending(long, status)) as server:
        failure = failure_of(server, api_key_env=variable)
    assert (failure.kind, failure.status) == ("access", status)
    assert [headers["authorization"] for headers in server.seen] == [f"Bearer {sent}"]
    assert set(re.findall(r"[A-Z]+_[A-Z_]+", failure.reason)) == variables
    assert "api_key_env" in failure.reason
    assert KEY not in failure.reason


@pytest.mark.parametrize("status", [401, 403, 400, 500, 200])
@pytest.mark.parametrize(
    "echo",
    [
        KEY,
        KEY.replace("/", "\\/"),
        "sk-canary%2F0123456789%2Babcdef",
        f"Authorization: Bearer {KEY}",
    ],
)
def test_a_key_that_the_server_repeats_is_not_shown(
    monkeypatch, tmp_path, status, echo
):
    monkeypatch.setenv("OTHER_KEY", KEY)
    monkeypatch.setattr("openai._base_client.INITIAL_RETRY_DELAY", 0.0)
    monkeypatch.setattr("openai._base_client.MAX_RETRY_DELAY", 0.0)
    with serving(
        sending(b'{"error": {"message": "wrong key %s"}}' % echo.encode(), status)
    ) as server:
        with pytest.raises(EndpointError) as of_encoder:
            EndpointEncoder(server.url, "m", "OTHER_KEY").encode(["a"], Store(tmp_path))
        with pytest.raises(CompletionError) as of_chat:
            ChatModel(
                server.url, "m", "OTHER_KEY", retries=0, store=Store(tmp_path)
            ).complete("p")
    for raised in (of_encoder, of_chat):
        shown = "".join(traceback.format_exception(raised.value))
        assert "wrong key" in str(raised.value)
        assert [
            spelling for spelling in (KEY, echo, KEY[10:]) if spelling in shown
        ] == []


@pytest.mark.parametrize(
    "base_url",
    [
        "http://me:secret@host/v1",
        "http://host/v1?key=secret",
        "http://a.example\\@api.openai.com/v1",
        "ftp://h",
        "host",
    ],
)
def test_an_address_that_is_none_or_holds_a_secret_is_refused(base_url):
    with pytest.raises(ParameterError, match="base_url") as raised:
        checked_address(base_url)
    assert "secret" not in str(raised.value)


@pytest.mark.parametrize(
    ("base_url", "local"),
    [
        *(
            (f"http://{host}/v1", True)
            for host in ("localhost", "127.0.0.2:80", "[::1]:8", "0.0.0.0")
        ),
        *((f"http://{host}/v1", False) for host in ("localhost.example", "10.0.0.1")),
    ],
)
def test_an_address_of_this_machine_is_known(base_url, local):
    assert is_local(base_url) is local


@pytest.mark.parametrize(
    ("path", "advice"),
    [
        ("", "/v1"),
        ("/api", "/v1"),
        ("/api/embed", "/v1"),
        ("/v1/embeddings", "/v1"),
        ("/api/v1/chat/completions/", "/api/v1"),
        ("/openai/deployments/small", "/openai/v1"),
        ("/v1beta/openai/embeddings", "/v1beta/openai"),
    ],
)
@pytest.mark.parametrize(
    ("status", "body"),
    [(404, b"404 page not found"), (405, b"{}"), (200, b"<html>a page</html>")],
)
def test_an_address_that_does_not_end_with_its_version_is_told(
    path, advice, status, body
):
    with serving(sending(body, status)) as server:
        host = server.url.removesuffix("/v1")
        with pytest.raises(EndpointError) as raised:
            Endpoint(host + path, retries=0).send(
                "embeddings", {"model": "m"}, Exchange(read_json, 1 << 20)
            )
    assert str(raised.value).endswith(f" {host}{advice}")


@pytest.mark.parametrize("path", ["/v1", "/v1/", "/openai/v1", "/v1beta/openai"])
def test_an_address_that_ends_with_its_version_is_not_blamed(path):
    with serving(sending(b"no such model", 404)) as server:
        address = server.url.removesuffix("/v1") + path
        with pytest.raises(EndpointError, match=r"no such model$"):
            Endpoint(address).send(
                "embeddings", {"model": "m"}, Exchange(read_json, 1 << 20)
            )


def test_https_to_a_server_of_http_is_told():
    with serving(sending(vectors())) as server:
        address = server.url.replace("http:", "https:")
        with pytest.raises(EndpointError, match="http://"):
            Endpoint(address, retries=0).send(
                "embeddings", {"model": "m"}, Exchange(read_json, 1 << 20)
            )


def test_a_host_that_is_not_allowed_cannot_be_named():
    with allowed_hosts(["api.openai.com"]):
        assert endpoint_of("m@https://api.openai.com/v1", "") == (
            "m",
            "https://api.openai.com/v1",
        )
        for name in ("m@http://other.example/v1", "m@HTTPS://OTHER.example/v1"):
            with pytest.raises(ParameterError, match=r"other\.example"):
                endpoint_of(name, "")
        with pytest.raises(ParameterError, match=r"other\.example"):
            embedder_named("endpoint:m@http://other.example/v1")
    assert endpoint_of("m@http://other.example/v1", "") == (
        "m",
        "http://other.example/v1",
    )


# Redirects, sizes, seconds


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_a_redirect_is_not_followed(status):
    with serving(sending(vectors())) as other:
        with serving(
            sending(b"", status, location=f"{other.url}/embeddings")
        ) as server:
            failure = failure_of(server)
        assert other.seen == []
    assert (failure.kind, failure.attempts) == ("access", 1)
    assert "127.0.0.1" in failure.reason


def test_a_compressed_reply_is_not_asked_for_and_not_unpacked():
    bomb = gzip.compress(b"[" + b" " * (200 << 20) + b"]")
    started = time.process_time()
    with serving(sending(bomb, content_encoding="gzip")) as server:
        failure = failure_of(server)
    assert server.seen[0]["accept-encoding"] == "identity"
    assert (failure.kind, failure.attempts) == ("response", 1)
    assert "gzip" in failure.reason
    assert time.process_time() - started < 5


def test_a_reply_is_read_no_further_than_its_limit():
    written = 0

    def without_end(_: Server, to: BaseHTTPRequestHandler) -> None:
        nonlocal written
        to.send_response(200)
        to.end_headers()
        while True:
            to.wfile.write(b" " * 65536)
            written += 65536

    with serving(without_end) as server:
        failure = failure_of(server, max_bytes=1 << 20)
    assert (failure.kind, failure.attempts) == ("response", 1)
    assert written < 64 << 20  # what the buffers of the sockets take


def test_an_answer_is_no_longer_than_was_asked_for(tmp_path):
    def without_end(_: Server, to: BaseHTTPRequestHandler) -> None:
        to.send_response(200)
        to.send_header("Content-Type", "text/event-stream")
        to.end_headers()
        while True:
            to.wfile.write(
                b'data: {"choices": [{"delta": {"content": "more "}}]}\n\n' * 1000
            )

    with serving(without_end) as server, pytest.raises(CompletionError) as raised:
        ChatModel(
            server.url, "m", max_tokens=10, retries=3, store=Store(tmp_path)
        ).complete("p")
    assert (raised.value.failure.kind, raised.value.failure.attempts) == ("response", 1)


@pytest.mark.parametrize("part", ["status line", "headers", "body", "body in chunks"])
def test_bytes_that_come_one_by_one_end_with_the_time_of_the_whole_request(part):
    def dripping(_: Server, to: BaseHTTPRequestHandler) -> None:
        beginning = {
            "status line": b"",
            "headers": b"HTTP/1.1 200 OK\r\nContent-Type: ",
            "body": b"HTTP/1.1 200 OK\r\n\r\n",
            "body in chunks": b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nff\r\n",
        }
        to.wfile.write(beginning[part])
        while True:
            to.wfile.write(b"a")
            time.sleep(0.02)

    started = time.monotonic()
    with serving(dripping) as server:
        failure = failure_of(server, timeout=0.1, retries=3)
    assert (failure.kind, failure.attempts) == ("timeout", 1)
    assert "1 seconds" in str(failure)
    assert time.monotonic() - started < 30  # 1 second, on a busy machine


def test_control_characters_of_a_server_reach_no_terminal():
    message = "\x1b]0;title\x07\x1b[2J\u202egnp.exe\r\nsecond line"
    with serving(
        sending(json.dumps({"error": {"message": message}}).encode(), 400)
    ) as server:
        failure = failure_of(server)
    assert "second line" in str(failure)
    assert [sign for sign in "\x1b\x07\u202e\r\n" if sign in str(failure)] == []


def test_an_error_names_the_address_and_the_cause_in_one_line():
    with serving(sending(b"out of memory", 500)) as server:
        failure = failure_of(server)
    assert f"{server.url}/embeddings" in str(failure)
    assert "out of memory" in str(failure)
    assert failure.__context__ is None
