"""Texts that attack the pages that show them, a server that records its requests, and a real Chromium."""

from __future__ import annotations

import shutil
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

CHROMIUM = next(
    filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))),
    None,
)
browser = pytest.mark.skipif(
    CHROMIUM is None, reason="no Chromium is installed (apt-get install chromium)"
)
RUN = "document.documentElement.setAttribute('data-attacked','yes')"
ATTACKS = (
    "<script>{run};fetch('{url}/script')</script>",
    "</script></style></title></svg><script>{run};fetch('{url}/closed')</script>",
    "<img src='{url}/image' onerror=\"{run};fetch('{url}/error')\">",
    '"><svg onload="{run};fetch(\'{url}/svg\')">',
    "<a href=\"javascript:{run}\">x</a><iframe src='{url}/frame'></iframe>",
    "<link rel=stylesheet href='{url}/css'><style>@import url({url}/import);</style>",
    "<meta http-equiv=refresh content='0;url={url}/refresh'>",
    "]]><script>{run}</script><!--",
    "{{{{ 7 * 7 }}}}{{% raw %}}&lt;script&gt;",
    "$\\frac{{1}}{{0}}$ and $",
    "[/INST] [bold]",
)
_FLAGS = (
    *(
        "--headless",
        "--no-sandbox",
        "--disable-gpu",
        "--disable-quic",
        "--no-first-run",
        "--disable-sync",
    ),
    *("--disable-background-networking", "--disable-component-update"),
)


class Visited(ThreadingHTTPServer):
    """A server that records its requests."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Noting)
        self.paths: list[str] = []
        self.url = f"http://127.0.0.1:{self.server_address[1]}"

    def attacks(self) -> list[str]:
        """The texts, which would each make a browser ask this server for something."""
        return [attack.format(run=RUN, url=self.url) for attack in ATTACKS]


class _Noting(BaseHTTPRequestHandler):
    server: Visited

    def do_GET(self) -> None:
        self.server.paths.append(self.path)
        self.send_response(204)
        self.end_headers()

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002
        """Keep quiet."""


@contextmanager
def visited() -> Iterator[Visited]:
    """Such a server, running."""
    with Visited() as running:
        thread = threading.Thread(
            target=running.serve_forever, kwargs={"poll_interval": 0.02}
        )
        thread.start()
        yield running
        running.shutdown()
        thread.join()


def dom(address: str, folder: Path) -> str:
    """The document after Chromium has loaded an address and let its scripts run."""
    options = [
        *_FLAGS,
        f"--user-data-dir={folder / 'profile'}",
        "--virtual-time-budget=2000",
        "--dump-dom",
    ]
    # a guard
    done = subprocess.run(
        [str(CHROMIUM), *options, address],
        capture_output=True,
        check=True,
        timeout=1800,
    )
    return done.stdout.decode("utf-8", "replace")
