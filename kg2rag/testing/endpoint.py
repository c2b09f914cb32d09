"""A local chat-completions endpoint that answers by a function, for notebooks and tests."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread

_FIRST = re.compile(r"^\[1\] .*\n(?:Path: .*\n)?(.*)$", re.MULTILINE)


class ChatEndpoint(ThreadingHTTPServer):
    """A server on a free loopback port with the protocol of hosted services, vLLM and Ollama.

    Parameters
    ----------
    answer : function of the last message of a request that returns the reply; it is called from
        several threads at once.

    >>> with ChatEndpoint(str.upper) as endpoint:
    ...     endpoint.url.startswith("http://127.0.0.1:")
    True
    """

    def __init__(self, answer: Callable[[str], str]) -> None:
        self.answer = answer
        super().__init__(("127.0.0.1", 0), _Handler)
        Thread(target=self.serve_forever, daemon=True).start()

    @property
    def url(self) -> str:
        """The base address, for `ChatModel`."""
        return f"http://127.0.0.1:{self.server_port}/v1"

    def close(self) -> None:
        """Stop the server after the open requests."""
        self.shutdown()
        self.server_close()

    def __exit__(self, *_: object) -> None:
        self.close()


class _Handler(BaseHTTPRequestHandler):
    """Handles one request."""

    server: ChatEndpoint

    def do_POST(self) -> None:
        """Answer a request for a chat completion."""
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        answer = self.server.answer(body["messages"][-1]["content"])
        message = {"role": "assistant", "content": answer}
        reply = {
            "id": "1",
            "object": "chat.completion",
            "model": body["model"],
            "choices": [{"index": 0, "message": message, "finish_reason": "stop"}],
            "usage": {"prompt_tokens": 0, "completion_tokens": 0, "total_tokens": 0},
        }
        data = json.dumps(reply).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *_: object) -> None:
        """Print no log."""


def first_title(prompt: str) -> str:
    r"""The title of the first passage in a prompt, as the answer of a poor reader.

    >>> first_title("[1] [Score: 0.82] [Source: hybrid]\nFastAPI\nA web framework.")
    'FastAPI'
    """
    match = _FIRST.search(prompt)
    return match[1] if match else "nothing was found"
