"""Requests and answers of a server on this machine: which are let in, and what a browser may do with an answer.

A page of another site can make a browser ask 127.0.0.1, and by a name that its owner points there (DNS rebinding) read
the answer: so only the names of this machine are answered. Texts of data are escaped; the policy is the second lock.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Collection
from dataclasses import dataclass
from urllib.parse import urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

POLICY = (
    "default-src 'none'; style-src 'self'; img-src data:; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
"""No script at all; styles of our own file; forms that ask us."""
REPORT_POLICY = (
    "sandbox; default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'; "
    "frame-ancestors 'none'"
)
"""Of a saved report, which has its styles inside: a page of no origin."""
LOOPBACK = ("127.0.0.1", "localhost", "::1")
_HEADERS = {
    "content-security-policy": POLICY,
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "no-referrer",
    "cross-origin-resource-policy": "same-origin",
    "cross-origin-opener-policy": "same-origin",
    "cache-control": "no-store",
}


@dataclass(frozen=True)
class Guard:
    """An application behind its guard.

    Parameters
    ----------
    names : by which it may be asked for.
    addresses : whether any address in numbers will do as well, as where it listens beyond this machine: rebinding needs
        a name.
    """

    app: ASGIApp
    names: Collection[str] = LOOPBACK
    addresses: bool = False

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer, or refuse, with the headers of every answer."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return

        async def with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in _HEADERS.items():
                    headers.setdefault(name, value)
            await send(message)

        hosts = Headers(scope=scope).getlist("host")
        known = len(hosts) == 1 and self._knows(hosts[0])
        refused = PlainTextResponse(f"This server answers to {', '.join(self.names)} alone.\n", status_code=421)
        await (self.app if known else refused)(scope, receive, with_headers)

    def _knows(self, host: str) -> bool:
        """Whether a Host header names this server, with any port."""
        try:
            name = urlsplit(f"//{host}").hostname
        except ValueError:
            return False
        if name is None or any(sign in host for sign in "/@?#\\"):
            return False
        return name.rstrip(".") in self.names or (self.addresses and _is_address(name))


def _is_address(name: str) -> bool:
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True
