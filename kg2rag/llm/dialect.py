"""A request body and the refusals of an endpoint -> a body that this endpoint accepts.

A parameter is renamed or left out, the schema is requested in another form, or the system message
becomes part of the first message of the user.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, replace
from typing import Any, Literal

from kg2rag.compute.endpoint import EndpointError
from kg2rag.llm.completions import InterruptedStreamError

Structured = Literal["json_schema", "json_object", "prompt"]
Body = dict[str, Any]

FORMS = ("json_schema", "json_object with schema", "json_object", "prompt")
"""How a schema is requested, the strictest first; the second is that of llama-cpp-python and some hosted services."""
TOKEN_LIMITS = ("max_tokens", "max_completion_tokens")
"""Fields of a request that limit the tokens of its answer; an endpoint takes one of them."""
_OPTIONAL = ("temperature", "seed", "stream_options")
"""Fields that are left out of a request if the endpoint refuses them by name."""
_FORMAT_WORDS = re.compile(
    r"response_format|json_schema|json_object|json mode|grammar|guided|schema",
    re.IGNORECASE,
)
_SYSTEM_WORDS = re.compile(
    r"system role|system message|roles must alternate|only user and assistant",
    re.IGNORECASE,
)


@dataclass(frozen=True)
class Dialect:
    """The changes of a request that an endpoint needs.

    Attributes
    ----------
    left_out : the fields that it refuses.
    streams : whether answers are streamed.
    form : the form in which a schema is requested, as an index of `FORMS`; a plainer form of a request remains.
    renames_limit : whether `max_tokens` is called `max_completion_tokens`.
    merges_system : whether the system message is put before the first message of the user.
    is_proved : whether the dialect has led to an answer.
    has_guessed : whether another form was tried after an error that does not name the form.
    """

    left_out: frozenset[str] = frozenset()
    streams: bool = True
    form: int = 0
    renames_limit: bool = False
    merges_system: bool = False
    is_proved: bool = False
    has_guessed: bool = False

    def applied(self, body: Body) -> Body:
        """A request in this dialect, streamed unless `stream` is false in it."""
        sent = dict(body)
        if self.streams and body.get("stream", True):
            sent |= {"stream": True, "stream_options": {"include_usage": True}}
        if self.form:
            sent = in_form(sent, FORMS[self.form])
        if self.renames_limit and "max_tokens" in sent:
            sent["max_completion_tokens"] = sent.pop("max_tokens")
        if self.merges_system:
            sent["messages"] = without_system(sent["messages"])
        return {
            name: value for name, value in sent.items() if name not in self.left_out
        }

    def changed(self, error: EndpointError, sent: Body) -> Dialect | None:
        """The dialect to try after a refusal; None if there is no other."""
        if isinstance(error, InterruptedStreamError):
            return replace(self, streams=False)
        if error.kind not in ("request", "server"):
            return None
        message = error.reason
        if "max_tokens" in sent and "max_completion_tokens" in message:
            return replace(self, renames_limit=True)
        for name in _OPTIONAL:
            if name in sent and name in message:
                return replace(self, left_out=self.left_out | {name})
        if _SYSTEM_WORDS.search(message) and not self.merges_system:
            return replace(self, merges_system=True)
        return self._next_form(message, sent)

    def _next_form(self, message: str, sent: Body) -> Dialect | None:
        """The dialect with the next of `FORMS`; None if another form cannot help.

        An error that does not name the form leads to one guess, before the dialect is proved.
        """
        if "response_format" not in sent:
            return None
        wanted = sent["response_format"]
        current = FORMS.index(wanted["type"])
        if wanted["type"] == "json_object" and "schema" in wanted:
            current = FORMS.index("json_object with schema")
        if _FORMAT_WORDS.search(message):
            return replace(self, form=current + 1)
        if self.is_proved or self.has_guessed:
            return None
        return replace(self, form=current + 1, has_guessed=True)

    def described(self) -> str:
        """The changes in words, joined by commas."""
        changes = [f"{name} is left out" for name in sorted(self.left_out)]
        if not self.streams:
            changes.append(
                "answers are not streamed, since it breaks one off where another request comes"
            )
        if self.renames_limit:
            changes.append("max_tokens is sent as max_completion_tokens")
        if self.merges_system:
            changes.append("the system message is put before the user's")
        if self.form:
            changes.append(f"JSON is requested by {FORMS[self.form]}")
        return ", ".join(changes)


def token_limit(body: Body) -> int | None:
    """The limit of an answer's tokens in a request body, None for none."""
    limits = [body[name] for name in TOKEN_LIMITS if body.get(name) is not None]
    return max(limits, default=None)


def is_about_form(message: str) -> bool:
    """Whether an error names the format of the answer or the system message, which a dialect can change."""
    return bool(_FORMAT_WORDS.search(message) or _SYSTEM_WORDS.search(message))


def in_form(body: Body, form: str) -> Body:
    """The request with its schema in one of `FORMS`.

    A request without a schema, or with one in a plainer form, is returned unchanged.
    """
    wanted = body.get("response_format")
    if not isinstance(wanted, dict) or form == "json_schema":
        return body
    if wanted["type"] == "json_schema":
        schema = wanted["json_schema"]["schema"]
        body = {**body, "messages": with_schema(body["messages"], schema)}
        body["response_format"] = {"type": "json_object"}
        if form == "json_object with schema":
            body["response_format"]["schema"] = schema
    if form == "prompt":
        return {
            name: value for name, value in body.items() if name != "response_format"
        }
    return body


def with_schema(
    messages: list[dict[str, str]], schema: dict[str, Any]
) -> list[dict[str, str]]:
    """The messages with a schema at the end of the last one.

    It is no further message, since many endpoints refuse two messages of the user in a row.
    """
    fit = f"Answer with one JSON object and nothing else. It must fit this JSON schema: {json.dumps(schema)}"
    *earlier, last = messages
    return [*earlier, {**last, "content": f"{last['content']}\n\n{fit}"}]


def without_system(messages: list[dict[str, str]]) -> list[dict[str, str]]:
    """The messages without system messages; their texts begin the first message of the user."""
    system = [message["content"] for message in messages if message["role"] == "system"]
    others = [message for message in messages if message["role"] != "system"]
    if not others or others[0]["role"] != "user":
        others.insert(0, {"role": "user", "content": ""})
    first, *rest = others
    return [
        {**first, "content": "\n\n".join(filter(None, [*system, first["content"]]))},
        *rest,
    ]
