"""A response -> its body, read up to a time and a size; what goes beyond ends it.

The time-out of HTTP clients is one between two bytes: a server that sends a byte now and then is never done. Compressed
bodies, which are not asked for, are not read: a few kilobytes can become gigabytes.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from functools import cache
from importlib import import_module
from typing import Any

LARGEST = 4 << 20  # bytes: a million tokens


def read(response: Any, deadline: float) -> tuple[str, str] | None:
    """Read the body; where it goes beyond a limit, what kind of failure that is, and the reason.

    `deadline` in seconds from now, when the headers have come.
    """
    body = response.stream = _stream_class()(response.stream, deadline, response.headers.get("content-encoding"))
    response.read()
    problem: tuple[str, str] | None = body.problem
    return problem


@cache
def _stream_class() -> Any:
    """A stream of the HTTP library that the openai client uses, which accepts no other: httpx, or its successor."""
    import openai

    library = import_module(openai.DefaultHttpxClient.__bases__[0].__module__.partition(".")[0])

    class Bounded(library.SyncByteStream):  # type: ignore[name-defined, misc]
        """A stream that ends early at a limit; closing it then closes the connection, too."""

        def __init__(self, stream: Any, deadline: float, encoding: str | None) -> None:
            self.stream, self.deadline, self.problem = stream, deadline, None
            if encoding not in (None, "identity"):
                self.problem = ("response", f"the answer is compressed ({encoding[:20]}), which was not asked for")

        def __iter__(self) -> Iterator[bytes]:
            if self.problem:
                return
            size, end = 0, time.monotonic() + self.deadline
            for chunk in self.stream:
                size += len(chunk)
                if size > LARGEST:
                    self.problem = ("response", f"the answer has more than {LARGEST:,} bytes")
                elif time.monotonic() > end:
                    self.problem = ("timeout", f"the answer was not complete after {self.deadline:g} seconds")
                if self.problem:
                    return
                yield chunk

        def close(self) -> None:
            self.stream.close()

    return Bounded
