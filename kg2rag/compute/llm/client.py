"""One request body -> one `Reply`, over the openai client, and the file that keeps it.

Retries, back-off and `Retry-After` are those of the client. It does not retry a successful answer that is no chat
completion (a proxy's page, no choices): such an answer is given the status of a bad gateway.
"""

from __future__ import annotations

import os
import sqlite3
import threading
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from pydantic import BaseModel, Field, ValidationError

from kg2rag.compute.llm.answers import CompletionError, Failure, Kind, Reply
from kg2rag.compute.llm.spending import RateLimit, SpendingLimitError, Tariff

if TYPE_CHECKING:
    import openai

_DAMAGE = "kg2rag_damage"
_LONGEST = 300  # characters of an error text that are kept
_SECRET = 8  # shorter keys ("none", "EMPTY") are placeholders for servers without keys
_KINDS: dict[int, Kind] = {401: "access", 403: "access", 404: "access", 408: "timeout", 429: "rate limit"}
_LOCAL = ("localhost", "127.0.0.1", "::1", "0.0.0.0")  # noqa: S104 - nothing is bound


class AnswerFile:
    """The answers of models in one SQLite file: sha256 of a request -> its reply; safe in threads and processes."""

    def __init__(self, root: Path) -> None:
        self.path = root / "answers.sqlite"
        self._lock = threading.Lock()

    def find(self, key: str) -> Reply | None:
        """The reply that is kept; None if there is none."""
        if not self.path.is_file():
            return None
        with self._lock, closing(self._open()) as opened:
            row = opened.execute("SELECT reply FROM answers WHERE request = ?", (key,)).fetchone()
        return None if row is None else Reply.model_validate_json(row[0])

    def keep(self, key: str, reply: Reply) -> None:
        """Keep a reply; the first one of a request stays."""
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with self._lock, closing(self._open()) as opened, opened:
            opened.execute("INSERT OR IGNORE INTO answers VALUES (?, ?)", (key, reply.model_dump_json()))

    def _open(self) -> sqlite3.Connection:
        try:
            opened = sqlite3.connect(self.path, timeout=60)
            opened.execute("CREATE TABLE IF NOT EXISTS answers (request TEXT PRIMARY KEY, reply TEXT NOT NULL)")
        except sqlite3.DatabaseError as error:
            raise OSError(f"The answers of language models in {self.path} cannot be read: {error}.") from error
        return opened


class _Message(BaseModel):
    content: str | None = None
    refusal: str | None = None


class _Choice(BaseModel):
    message: _Message
    finish_reason: str | None = None


class _Tokens(BaseModel):
    prompt_tokens: int | None = Field(default=None, ge=0)
    completion_tokens: int | None = Field(default=None, ge=0)


class _Answer(BaseModel):
    choices: list[_Choice] = Field(min_length=1)
    usage: _Tokens | None = None
    model: str | None = None


class Connection:
    """A client of an endpoint; `limit` and `tariff` are asked before each request, retries included."""

    def __init__(
        self, base_url: str, key: str, timeout: float, retries: int, limit: RateLimit | None, tariff: Tariff | None
    ) -> None:
        try:
            import openai
        except ImportError as error:
            raise ImportError("Language models need the openai client: pip install 'kg2rag[llm]'.") from error
        self.limit, self.tariff, self.key = limit, tariff, key
        hooks: dict[str, list[Any]] = {"request": [self._sending], "response": [self._received]}
        self.client: openai.OpenAI = openai.OpenAI(
            base_url=base_url,
            api_key=key,
            timeout=timeout,
            max_retries=retries,
            http_client=openai.DefaultHttpxClient(event_hooks=hooks, timeout=timeout),
        )

    def ask(self, body: dict[str, Any]) -> Reply:
        """Send one request, with the client's retries; CompletionError where there is no usable answer.

        The openai exception, which quotes the server, is not chained to it.
        """
        import openai

        rest = {name: value for name, value in body.items() if name not in ("model", "messages")}
        try:
            raw = self.client.chat.completions.with_raw_response.create(
                model=body["model"], messages=body["messages"], extra_body=rest
            )
        except openai.APIError as error:
            failure = self._failure(error)
        except openai.OpenAIError as error:
            if not isinstance(limit := error.__cause__, SpendingLimitError):
                raise
            failure = Failure("limit", str(limit), limit.sent)
        else:
            return self._reply(raw.http_response.content, raw.retries_taken + 1)
        finally:
            if self.tariff is not None:
                self.tariff.spending.settle(None)
        raise CompletionError(failure)

    def _sending(self, request: Any) -> None:
        """Send nothing beyond the limits. The client retries no error of its own class."""
        import openai

        if self.tariff is not None:
            try:
                self.tariff.spending.reserve(self.tariff.most(request.read()))
            except SpendingLimitError as error:
                error.sent = _sent(request)
                raise openai.OpenAIError(str(error)) from error
        if self.limit is not None:
            self.limit.wait()

    def _received(self, response: Any) -> None:
        """Give a damaged answer the status that makes the client retry, and settle what one has cost."""
        response.read()
        paid: float | None = 0.0
        if response.is_success:
            try:
                tokens = _Answer.model_validate_json(response.content).usage or _Tokens()
            except ValidationError:
                response.extensions[_DAMAGE] = True
                response.status_code, paid = 502, None
            else:
                tariff = self.tariff
                paid = None if tariff is None else tariff.paid(tokens.prompt_tokens, tokens.completion_tokens)
        if self.tariff is not None:
            self.tariff.spending.settle(paid)

    def _reply(self, content: bytes, attempts: int) -> Reply:
        answer = _Answer.model_validate_json(content)
        choice, usage = answer.choices[0], answer.usage or _Tokens()
        return Reply(
            text=self._hidden(choice.message.content or ""),
            finish_reason=choice.finish_reason,
            refusal=choice.message.refusal and self._hidden(choice.message.refusal),
            prompt_tokens=usage.prompt_tokens,
            completion_tokens=usage.completion_tokens,
            served_model=answer.model,
            attempts=attempts,
        )

    def _failure(self, error: openai.APIError) -> Failure:
        import openai

        kind: Kind = "server"
        if isinstance(error, openai.APITimeoutError):
            kind, reason = "timeout", f"no answer within {self.client.timeout} seconds"
        elif isinstance(error, openai.APIStatusError):
            detail = error.body.get("message") if isinstance(error.body, dict) else None
            said = " ".join(str(detail or error.response.text or "no explanation").split())
            if _DAMAGE in error.response.extensions:
                kind, reason = "response", f"the answer is no chat completion: {said}"
            else:
                kind = _KINDS.get(error.status_code, "server" if error.status_code >= 500 else "request")
                reason = f"HTTP {error.status_code}: {said}"
        else:
            kind, reason = "connection", f"{error.__cause__ or error}"
        reason = self._hidden(reason)  # before cutting: half a key is a secret too
        return Failure(kind, reason if len(reason) <= _LONGEST else f"{reason[:_LONGEST]}…", _sent(error.request) + 1)

    def _hidden(self, text: str) -> str:
        """A text of the server's without the key, which some servers repeat."""
        return text.replace(self.key, "***") if len(self.key) >= _SECRET else text


def _sent(request: Any) -> int:
    """How many requests for the same prompt were sent before."""
    return int(request.headers.get("x-stainless-retry-count", 0))


def api_key(variable: str | None, base_url: str) -> str:
    """The key in an environment variable; a placeholder if the endpoint needs none: one of this machine, or None."""
    key = os.environ.get(variable, "").strip() if variable else ""
    if not key and (variable is None or urlsplit(base_url).hostname in _LOCAL):
        return "none"
    if not key:
        raise ValueError(
            f"The environment variable {variable} is not set. Put the API key there, name another variable in "
            "api_key_env, or pass api_key_env=None for an endpoint that needs no key."
        )
    if not all("!" <= character <= "~" for character in key):  # not quoted: it is a secret
        raise ValueError(
            f"The API key in the environment variable {variable} holds a blank, a line break or a character that is "
            "not ASCII, which an HTTP header cannot carry. Copy the key alone."
        )
    return key
