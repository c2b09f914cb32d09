"""Address and request body -> the reply of an OpenAI-compatible endpoint, or the reason for none.

Every request to a language model or an embedding service goes through `Endpoint`. Its rules:

- A key goes to the host that it belongs to. `OPENAI_API_KEY` belongs to https://api.openai.com and to the address in
  `OPENAI_BASE_URL`; the key in a variable that the caller names belongs to the address given with it.
- A host that a file names (a sweep file, a ledger) is refused, unless the user allows it: `allowed_hosts`.
- Redirects are not followed, compressed replies are not read, a reply has a limit of bytes and of seconds.
- Messages of a server are shown without keys and without control characters.

Retries, back-off and `Retry-After` are those of the openai client.
"""

from __future__ import annotations

import base64
import os
import re
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cached_property
from ipaddress import ip_address
from typing import TYPE_CHECKING, Any, Generic, Literal, TypeVar
from urllib.parse import SplitResult, quote, urlsplit

from kg2rag.text.cells import visible
from kg2rag.types import ParameterError

if TYPE_CHECKING:
    from kg2rag.compute.transport import GuardedClient

Parsed = TypeVar("Parsed")
FailureKind = Literal[
    "timeout", "connection", "rate limit", "server", "response", "request", "access"
]

OPENAI_KEY = "OPENAI_API_KEY"
OPENAI_URL = "OPENAI_BASE_URL"
OPENAI_ADDRESS = "https://api.openai.com/v1"
NO_KEY = "none"
"""What is sent as the key to an address that needs none."""
MAX_MESSAGE_CHARACTERS = 300
"""Characters of a server's message that are shown."""
MIN_SECRET_CHARACTERS = 8
"""Shorter keys are placeholders ("none", "EMPTY"), which are not removed from texts."""
MAX_REPLY_BYTES = 64 << 20
TIMEOUT_SECONDS = 60.0
TOTAL_FACTOR = 10
"""The maximum duration of a request, in time-outs between two bytes."""
_REQUEST_PATH = re.compile(
    r"(/api)?(/(embed|embeddings|chat|completions|generate|rerank))+$|/api$|/deployments/.*"
)
_VERSION = re.compile(r"/v\d\w*(/|$)")
_ALLOWED_HOSTS: ContextVar[frozenset[str] | None] = ContextVar(
    "allowed_hosts", default=None
)


class EndpointError(RuntimeError):
    """An endpoint gave no usable reply.

    Attributes
    ----------
    kind : "timeout", "connection", "rate limit" (HTTP 429), "server" (5xx), "response" (a reply of another form),
        "request" (other 4xx) or "access" (a key, address or model name that is refused, or a redirect).
    reason : one line, without keys and control characters.
    attempts : requests that were sent.
    status : the HTTP status; 0 without a response.
    """

    def __init__(
        self,
        address: str,
        kind: FailureKind,
        reason: str,
        attempts: int = 1,
        status: int = 0,
    ) -> None:
        super().__init__(f"{address}: {reason}")
        self.kind, self.reason = kind, reason
        self.attempts, self.status = attempts, status


class Exchange(Generic[Parsed]):
    """One request with its retries, and the handling of each response.

    Parameters
    ----------
    read : bytes of a body and whether they are a stream of events -> the reply; ValueError for a body of another form,
        which is requested again.
    max_bytes : of a body.
    """

    def __init__(
        self, read: Callable[[bytes, bool], Parsed], max_bytes: int = MAX_REPLY_BYTES
    ) -> None:
        self.read, self.max_bytes = read, max_bytes
        self.reply: Parsed | None = None
        self.attempts = 0
        self.damage = ""

    def before(self, body: bytes) -> None:
        """Called before each request is sent; an error that it raises ends the exchange."""

    def after(self, reply: Parsed | None, *, refused: bool) -> None:
        """Called after each response with its reply, None if it was an error (HTTP 4xx, 5xx) or damaged."""

    def is_whole(self, content: bytearray) -> bool:
        """Whether a body is complete although the connection ended early."""
        return False

    def is_final(self, message: str) -> bool:
        """Whether the server would answer the same request with the same error (HTTP 5xx) again."""
        return False


class Endpoint:
    """An OpenAI-compatible endpoint.

    Parameters
    ----------
    base_url : up to and including the version ("http://localhost:11434/v1").
    api_key_env : the variable with the key for this address; None for the rule in the module's docstring.
    timeout : seconds between two bytes. A whole request may take `TOTAL_FACTOR` times as long.
    retries : further requests after one that was lost or refused for the moment. A request that timed out is not
        repeated here: behind a queue, that makes the queue longer.

    ParameterError: the address is invalid or holds a password.
    """

    def __init__(
        self,
        base_url: str,
        api_key_env: str | None = None,
        *,
        timeout: float = TIMEOUT_SECONDS,
        retries: int = 5,
    ) -> None:
        checked_address(base_url)
        self.base_url, self.api_key_env = base_url, api_key_env
        self.timeout, self.retries = timeout, retries

    def send(
        self, path: str, body: dict[str, Any], exchange: Exchange[Parsed]
    ) -> Parsed:
        """The reply to a request; EndpointError if there is none."""
        return self.client.exchange(path, body, exchange)

    def close(self) -> None:
        """Close the connections."""
        if "client" in self.__dict__:
            self.client.close()

    @cached_property
    def client(self) -> GuardedClient:
        """The client, created for the first request; its creation reads the key."""
        try:
            from kg2rag.compute.transport import GuardedClient
        except ModuleNotFoundError as error:
            if error.name not in ("openai", "httpx2"):
                raise
            raise ImportError(
                "A model behind an endpoint needs the openai client: pip install 'kg2rag[llm]'."
            ) from error
        key = api_key(self.base_url, self.api_key_env)
        advice = key_advice(self.base_url, self.api_key_env, key)
        return GuardedClient(self.base_url, key, self.timeout, self.retries, advice)


def checked_address(base_url: str) -> SplitResult:
    """The parts of an address; ParameterError if it is invalid or contains a password or a key."""
    url = urlsplit(base_url)
    if url.query or url.fragment or "@" in url.netloc:  # not quoted: perhaps a secret
        raise ParameterError(
            "base_url holds a user, password, query or fragment; keys belong in environment variables."
            " An address ends with its version and needs no api-version: https://RESOURCE.openai.azure.com/openai/v1"
            " of Azure OpenAI."
        )
    is_address = (
        url.scheme in ("http", "https") and url.hostname and base_url.isprintable()
    )
    if not is_address or set("\\%") & set(base_url):
        raise ParameterError(
            f"base_url {base_url!r} is no address. Give one such as http://localhost:8000/v1."
        )
    return url


def versioned(base_url: str) -> str:
    """An address without the path of a request, up to and including a version.

    >>> versioned("http://localhost:11434/api/embed"), versioned("https://host/v1/embeddings/")
    ('http://localhost:11434/v1', 'https://host/v1')
    """
    address = _REQUEST_PATH.sub("", base_url.rstrip("/"))
    return address if _VERSION.search(address) else f"{address}/v1"


def is_local(base_url: str) -> bool:
    """Whether an address is one of this machine."""
    host = urlsplit(base_url).hostname or ""
    if host == "localhost":
        return True
    try:
        address = ip_address(host)
    except ValueError:
        return False
    return address.is_loopback or address.is_unspecified


def api_key(base_url: str, variable: str | None = None) -> str:
    """The API key for an address; `NO_KEY` if it needs no key.

    `variable` : the environment variable with the key for this address. None means OpenAI's key,
    which is sent only to the addresses that it belongs to. ValueError: the key is missing, or a
    header cannot contain it.
    """
    if variable is None and not has_openai_key(base_url):
        return NO_KEY
    variable = variable or OPENAI_KEY
    key = os.environ.get(variable, "").strip()
    if not key and is_local(base_url):
        return NO_KEY
    if not key:
        raise ValueError(
            f"The environment variable {variable} is not set. Put the API key for {base_url} there."
        )
    # Not quoted: it is a secret.
    if not all("!" <= character <= "~" for character in key):
        raise ValueError(
            f"The API key in the environment variable {variable} holds a blank, a line break or a character that is "
            "not ASCII, which an HTTP header cannot carry. Copy only the key."
        )
    return key


def key_advice(base_url: str, variable: str | None, key: str) -> str:
    """What to do if an address refuses the key that `api_key` returned for it and for this variable."""
    if variable is None and not has_openai_key(base_url):
        return (
            "No key was sent. Give the name of the environment variable with the key for this address as api_key_env, "
            f"or put address and key into {OPENAI_URL} and {OPENAI_KEY}"
        )
    variable = variable or OPENAI_KEY
    if key == NO_KEY:
        return f"No key was sent, since the environment variable {variable} is not set (api_key_env names another)"
    return f"The key is that of the environment variable {variable} (api_key_env names another)"


def has_openai_key(base_url: str) -> bool:
    """Whether the key in `OPENAI_API_KEY` belongs to an address: scheme, host and port must agree."""
    address = os.environ.get(OPENAI_URL, "").strip() or OPENAI_ADDRESS
    return origin(base_url) in (origin(OPENAI_ADDRESS), origin(address))


def origin(base_url: str) -> tuple[str, str, int]:
    """Scheme, host and port of an address."""
    url = urlsplit(base_url)
    default_port = 443 if url.scheme == "https" else 80
    return url.scheme, url.hostname or "", url.port or default_port


@contextmanager
def allowed_hosts(hosts: Collection[str]) -> Iterator[None]:
    """A block in which `MODEL@BASE_URL` may name only these hosts, for names from a file."""
    token = _ALLOWED_HOSTS.set(frozenset(host.strip().casefold() for host in hosts))
    try:
        yield
    finally:
        _ALLOWED_HOSTS.reset(token)


def endpoint_of(
    name: str, usage: str, example_model: str = "qwen3:8b"
) -> tuple[str, str]:
    """The model and the address in a name such as "qwen3:8b@http://localhost:11434/v1".

    ParameterError: the model or the address is missing, and the message gives `usage` with
    `example_model` in it; or `allowed_hosts` does not allow the host.
    """
    example = usage.replace(
        "MODEL@BASE_URL", f"{example_model}@http://localhost:11434/v1"
    )
    model, _, base_url = name.rpartition("@")
    if not (model and base_url):
        raise ParameterError(
            f"{name!r} needs a model and its OpenAI-compatible endpoint: {usage}, such as "
            f"{example}. {OPENAI_KEY} is sent to {OPENAI_ADDRESS} and to the address in "
            f"{OPENAI_URL} only."
        )
    host = checked_address(base_url).hostname or ""
    allowed = _ALLOWED_HOSTS.get()
    if allowed is not None and host not in allowed:
        raise ParameterError(
            f"The file names the host {host!r} ({name!r}), to which questions and passages would be sent. Allow it by "
            f"--allow-host {host} on the command line, or hosts=[{host!r}] in Python, if you trust it."
        )
    return model, base_url


def shown(text: str, key: str) -> str:
    """A server's text as one line of a message, without the key and control characters.

    It has at most `MAX_MESSAGE_CHARACTERS`.
    """
    # The key is removed before the text is cut, since half a key is a secret, too.
    line = " ".join(visible(hidden(text, key)).split())
    return (
        line
        if len(line) <= MAX_MESSAGE_CHARACTERS
        else f"{line[:MAX_MESSAGE_CHARACTERS]}…"
    )


def hidden(text: str, key: str) -> str:
    """A text with asterisks for each spelling of a key: plain, or as in URLs, JSON or base64."""
    if len(key) < MIN_SECRET_CHARACTERS:
        return text
    encoded = base64.b64encode(key.encode()).decode().rstrip("=")
    for spelling in (key, quote(key, safe=""), key.replace("/", "\\/"), encoded):
        text = text.replace(spelling, "***")
    return text
