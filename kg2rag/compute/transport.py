"""Requests -> responses by the openai client, within limits of bytes and seconds: `endpoint`."""

from __future__ import annotations

import math
import ssl
import threading
import time
from collections.abc import Iterator
from typing import Any, TypeVar

import httpcore2
import httpx2
import openai

from kg2rag.compute.endpoint import (
    TOTAL_FACTOR,
    EndpointError,
    Exchange,
    FailureKind,
    has_openai_key,
    hidden,
    shown,
    versioned,
)

Parsed = TypeVar("Parsed")
_KINDS: dict[int, FailureKind] = {
    401: "access",
    403: "access",
    404: "access",
    405: "access",
    408: "timeout",
    429: "rate limit",
}
_NO_SUCH_PATH = (404, 405)
_BAD_GATEWAY = 502
"""The status assigned to a damaged reply, so that the openai client repeats the request."""
_HEADERS = frozenset(
    "accept accept-encoding authorization connection content-length content-type host user-agent".split()
)
"""The headers for every host; those that the openai client adds are for OpenAI only."""


class _NotRepeatedError(openai.OpenAIError):
    """An error after which the openai client does not repeat the request."""

    def __init__(self, kind: FailureKind, reason: str, status: int = 0) -> None:
        super().__init__(reason)
        self.kind, self.reason, self.status = kind, reason, status


class _BoundedStream(httpx2.SyncByteStream):
    """The body of a response, within a limit of bytes."""

    def __init__(self, stream: httpx2.SyncByteStream, max_bytes: int) -> None:
        self.stream, self.max_bytes = stream, max_bytes
        self.content = bytearray()

    def __iter__(self) -> Iterator[bytes]:
        for part in self.stream:
            self.content += part
            if len(self.content) > self.max_bytes:
                raise _NotRepeatedError(
                    "response", f"the reply is longer than {self.max_bytes:,} bytes"
                )
            yield part

    def close(self) -> None:
        self.stream.close()


class _Deadline(threading.local):
    """The deadline of this thread's request, on the monotonic clock."""

    time = math.inf

    @property
    def seconds_left(self) -> float:
        """The seconds until the deadline; negative after it."""
        return self.time - time.monotonic()


class _TimedBackend(httpcore2.SyncBackend):
    """Connections that end at the deadline, headers and handshakes included."""

    def __init__(self, deadline: _Deadline) -> None:
        self.deadline = deadline

    def connect_tcp(self, *address: Any, **options: Any) -> httpcore2.NetworkStream:
        return _TimedStream(super().connect_tcp(*address, **options), self.deadline)


class _TimedStream(httpcore2.NetworkStream):
    """A connection that ends at the deadline."""

    def __init__(self, stream: httpcore2.NetworkStream, deadline: _Deadline) -> None:
        self.stream, self.deadline = stream, deadline

    def _seconds(self, timeout: float | None) -> float:
        """The seconds that one operation may take; ReadTimeout after the deadline."""
        seconds_left = self.deadline.seconds_left
        if seconds_left <= 0:
            raise httpcore2.ReadTimeout
        return seconds_left if timeout is None else min(timeout, seconds_left)

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        return self.stream.read(max_bytes, self._seconds(timeout))

    def write(self, buffer: bytes, timeout: float | None = None) -> None:
        self.stream.write(buffer, self._seconds(timeout))

    def start_tls(
        self,
        ssl_context: ssl.SSLContext,
        server_hostname: str | None = None,
        timeout: float | None = None,
    ) -> httpcore2.NetworkStream:
        stream = self.stream.start_tls(
            ssl_context, server_hostname, self._seconds(timeout)
        )
        return _TimedStream(stream, self.deadline)

    def close(self) -> None:
        self.stream.close()

    def get_extra_info(self, info: str) -> Any:
        return self.stream.get_extra_info(info)


class _HttpClient(openai.DefaultHttpxClient):
    """Sends a request of the exchange of this thread, and reads the response whole."""

    def __init__(self, base_url: str, key: str, timeout: float) -> None:
        headers = {"Accept-Encoding": "identity"}
        super().__init__(timeout=timeout, follow_redirects=False, headers=headers)
        self.key, self.is_openai = key, has_openai_key(base_url)
        self.seconds = TOTAL_FACTOR * timeout
        self.current, self.deadline = threading.local(), _Deadline()
        for transport in (self._transport, *self._mounts.values()):
            # which offers no option for httpcore2's `network_backend`
            if isinstance(transport, httpx2.HTTPTransport):
                transport._pool._network_backend = _TimedBackend(self.deadline)

    def send(self, request: httpx2.Request, **options: Any) -> httpx2.Response:
        """The response to a request, read whole; its reply is stored in the exchange."""
        exchange: Exchange[Any] = self.current.exchange
        request.headers["authorization"] = f"Bearer {self.key}"
        for name in () if self.is_openai else set(request.headers) - _HEADERS:
            del request.headers[name]
        exchange.before(request.read())
        exchange.attempts += 1
        exchange.damage = ""
        self.deadline.time = time.monotonic() + self.seconds
        try:
            response = super().send(
                request, **{**options, "stream": True, "follow_redirects": False}
            )
            self._read(response, exchange)
        except (httpx2.ReadTimeout, httpx2.WriteTimeout):
            reason = f"no byte came within {self.timeout.read:g} seconds"
            if self.deadline.seconds_left <= 0:
                reason = f"the reply was not complete after {self.seconds:g} seconds"
            raise _NotRepeatedError("timeout", reason) from None
        return response

    def _read(self, response: httpx2.Response, exchange: Exchange[Any]) -> None:
        """Read a response, and store its reply or its damaged body in the exchange.

        An error of the server that would come again is raised.
        """
        body = self._body(response, exchange)
        if not response.is_success:
            exchange.after(None, refused=True)
            if response.status_code >= 500 and exchange.is_final(response.text):
                reason = f"HTTP {response.status_code}: {response.text}"
                raise _NotRepeatedError("server", reason, response.status_code)
            return
        content_type = response.headers.get("content-type", "")
        is_stream = content_type.startswith("text/event-stream")
        try:
            exchange.reply = exchange.read(bytes(body), is_stream)
        except (ValueError, LookupError, TypeError) as error:  # a body of another form
            exchange.damage = body.decode("utf-8", "replace")
            if type(error) is ValueError:  # of ours
                exchange.damage = f"{error}: {exchange.damage}"
            response.status_code = _BAD_GATEWAY
        exchange.after(exchange.reply, refused=False)

    def _body(self, response: httpx2.Response, exchange: Exchange[Any]) -> bytearray:
        """The body of a response; its end may be missing if the exchange accepts it as whole."""
        encoding = response.headers.get("content-encoding", "identity").strip().lower()
        if encoding not in ("", "identity"):
            response.close()
            reason = f"the reply is compressed ({encoding}), although that was not allowed, and is not read"
            raise _NotRepeatedError("response", reason, response.status_code)
        assert isinstance(response.stream, httpx2.SyncByteStream)
        body = response.stream = _BoundedStream(response.stream, exchange.max_bytes)
        try:
            response.read()
        except httpx2.RemoteProtocolError:  # the connection ended first
            if not (response.is_success and exchange.is_whole(body.content)):
                raise
        return body.content


class GuardedClient:
    """A client of one address with its key; safe in threads.

    `key_advice` : what to do if the key is refused (HTTP 401, 403), the end of that error's reason.
    """

    def __init__(
        self, base_url: str, key: str, timeout: float, retries: int, key_advice: str
    ) -> None:
        self.base_url, self.key, self.key_advice = base_url, key, key_advice
        self.http = _HttpClient(base_url, key, timeout)
        options: dict[str, Any] = {
            "base_url": base_url,
            "api_key": key,
            "timeout": timeout,
        }
        self.openai = openai.OpenAI(
            **options, max_retries=retries, http_client=self.http
        )

    def close(self) -> None:
        """Close the connections."""
        self.openai.close()

    def exchange(
        self, path: str, body: dict[str, Any], exchange: Exchange[Parsed]
    ) -> Parsed:
        """The reply to a request; EndpointError if there is none.

        The errors of the openai client, which quote the server and hold its headers, are not
        chained.
        """
        self.http.current.exchange = exchange
        try:
            self.openai.post(f"/{path}", cast_to=httpx2.Response, body=body)
        except _NotRepeatedError as error:
            failure = self._error(
                path, error.kind, error.reason, exchange, error.status
            )
        except openai.APIStatusError as error:
            failure = self._refusal(path, error, exchange)
        except openai.APITimeoutError:
            reason = f"no connection within {self.http.timeout.connect:g} seconds"
            failure = self._error(path, "timeout", reason, exchange)
        except openai.APIConnectionError as error:
            reason = f"{error.__cause__ or error}"
            is_plain = "SSL" in reason and "CERTIFICATE" not in reason
            advice = "Does the server's address begin with http://?" if is_plain else ""
            failure = self._error(path, "connection", reason, exchange, advice=advice)
        else:
            assert exchange.reply is not None
            return exchange.reply
        finally:
            del self.http.current.exchange
        raise failure

    def hidden(self, text: str) -> str:
        """A text without the key."""
        return hidden(text, self.key)

    def _refusal(
        self, path: str, error: openai.APIStatusError, exchange: Exchange[Any]
    ) -> EndpointError:
        """The error about a response with an HTTP status other than success."""
        status = error.response.status_code
        if exchange.damage and status == _BAD_GATEWAY:
            return self._error(
                path,
                "response",
                f"the reply has another form: {exchange.damage}",
                exchange,
                status,
                self._address_advice,
            )
        if 300 <= status < 400:
            host = (
                httpx2.URL(error.response.headers.get("location", "")).host
                or "another path"
            )
            reason = f"HTTP {status}: it redirects to {host}, which is not followed. Give the final address as base_url"
            return self._error(path, "access", reason, exchange, status)
        kind: FailureKind = "server" if status >= 500 else "request"
        reason = f"HTTP {status}: {_message_of(error)}"
        kind = _KINDS.get(status, kind)
        advice = self._advice(status)
        return self._error(path, kind, reason, exchange, status, advice)

    def _advice(self, status: int) -> str:
        """What to do about an HTTP status; empty if the server's message has to suffice."""
        if status in (401, 403):
            return self.key_advice
        return self._address_advice if status in _NO_SUCH_PATH else ""

    @property
    def _address_advice(self) -> str:
        """The address to give instead of one that does not end with its version; empty for another."""
        address = versioned(self.base_url)
        if address == self.base_url.rstrip("/"):
            return ""
        return f"Give base_url up to and including its version, such as {address}"

    def _error(
        self,
        path: str,
        kind: FailureKind,
        reason: str,
        exchange: Exchange[Any],
        status: int = 0,
        advice: str = "",
    ) -> EndpointError:
        """The error about an exchange, without the key in its reason."""
        address = f"{self.base_url.rstrip('/')}/{path}"
        reason = ". ".join(filter(None, (shown(reason, self.key), advice)))
        return EndpointError(address, kind, reason, exchange.attempts, status)


def _message_of(error: openai.APIStatusError) -> str:
    """The server's message about an error, or the body of its response."""
    detail = error.body.get("message") if isinstance(error.body, dict) else None
    return str(detail or error.response.text or "no explanation")
