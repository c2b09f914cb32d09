"""Prompts -> completions by any OpenAI-compatible endpoint (vLLM, Ollama, a hosted service).

`ChatModel` asks; `Completion` and `Failure` are what comes back. `Usage` counts tokens and cost, `Spending` limits
them. Each answer is stored as it arrives, under the model and the request, not the address, and never bought again.
"""

from __future__ import annotations

import hashlib
import json
import os
import weakref
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import field, replace
from functools import cached_property
from typing import Annotated, Any, Literal, TypeVar
from urllib.parse import urlsplit

from pydantic import BaseModel

from kg2rag.compute.keyed_file import KeyedFile
from kg2rag.compute.llm.answers import Completion, CompletionError, Failure, Outcome, Reply, Usage, quoted, read_reply
from kg2rag.compute.llm.client import Connection, Spending, api_key, most_of
from kg2rag.compute.parallel import progress_bar
from kg2rag.compute.store import Store
from kg2rag.types import Count, Natural, ParameterError, Query, above, component

Schema = TypeVar("Schema", bound=BaseModel)
Prompt = str | Sequence[Mapping[str, str]]
Structured = Literal["json_schema", "json_object", "prompt"]

RETRY_TEMPERATURE = 0.5
KEY = "OPENAI_API_KEY"
__all__ = ["ChatModel", "Completion", "CompletionError", "Failure", "Outcome", "Spending", "Usage", "quoted"]


@component
class ChatModel:
    """A model behind an OpenAI-compatible endpoint.

    Parameters
    ----------
    base_url : up to and including the version ("http://localhost:11434/v1"); holds no password or key.
    model : its name there.
    api_key_env : the environment variable that holds the key, which is read for the first request and stored nowhere
        else. An endpoint of this machine, or None, needs no key.
    temperature, seed, max_tokens : sent as they are; None omits one, for endpoints that refuse it.
    structured : how a schema is requested. "json_schema": constrained decoding by the endpoint; "json_object": its JSON
        mode, with the schema in a message; "prompt": that message only. The answer is validated in any case.
    extra : further fields of the request body, such as `{"top_p": 0.9}`; part of the cache key, so never a secret.
    concurrency : the maximum of simultaneous requests.
    retries : further attempts after the first, per prompt.
    timeout : seconds without a byte after which an attempt fails.
    spending : limits of requests and cost for this model and all others that are given the same object; a prompt beyond
        them is a failure of kind "limit". Stored answers are free.
    prompt_price, completion_price : per million tokens; costs are None if one is None.
    again : how often the same prompts were sent before and answered unusably; part of the cache key. From 1 on the
        seed is raised by it, the temperature to at least `RETRY_TEMPERATURE` (at 0, servers give the same answer for
        any seed), and `max_tokens` is doubled. None stays None.
    store : keeps the answers.
    """

    base_url: str
    model: str
    api_key_env: str | None = KEY
    temperature: float | None = 0.0
    seed: int | None = 0
    max_tokens: Count | None = 512
    structured: Structured = "json_schema"
    extra: Mapping[str, Any] = field(default_factory=dict, hash=False)
    concurrency: Count = field(default=8, repr=False)
    retries: Natural = field(default=5, repr=False)
    timeout: Annotated[float, above(0)] = field(default=60.0, repr=False)
    spending: Spending | None = field(default=None, repr=False, compare=False)
    prompt_price: float | None = field(default=None, repr=False)
    completion_price: float | None = field(default=None, repr=False)
    again: Natural = 0
    store: Store = field(default_factory=Store, repr=False, compare=False)

    def __post_init__(self) -> None:
        url = urlsplit(self.base_url)
        if url.username or url.password or url.query or url.fragment:  # not quoted: it may be a secret
            raise ValueError("base_url holds a user, password, query or fragment; keys belong in environment variables")
        if url.scheme not in ("http", "https") or not url.hostname:
            raise ValueError(f"base_url {self.base_url!r} is no address. Give one such as http://localhost:8000/v1.")
        if self.spending is not None and self.spending.max_cost is not None:
            # ValueError where the limit cannot be kept.
            most_of(json.dumps(self.request("")).encode(), (self.prompt_price, self.completion_price))

    def complete(self, prompt: Prompt, schema: type[BaseModel] | None = None) -> Completion[Any]:
        """The completion of a text (a user message) or of messages with `role` and `content`; else CompletionError."""
        outcome = self._outcome(self.request(prompt, schema), schema)
        if isinstance(outcome, Failure):
            raise CompletionError(outcome)
        return outcome

    def complete_many(
        self, prompts: Sequence[Prompt], schema: type[BaseModel] | None = None, *, progress: str = "asking"
    ) -> list[Outcome]:
        """One outcome per prompt, in the given order; equal prompts are sent once.

        An interrupt cancels queued prompts, waits for those in flight, so that they are stored, and is raised; a second
        one does not wait. CompletionError for a failure of kind "access", which all prompts would share.
        """
        bodies = [self.request(prompt, schema) for prompt in prompts]
        names = [json.dumps(body, sort_keys=True) for body in bodies]
        distinct, outcomes = dict(zip(names, bodies, strict=True)), dict[str, Outcome]()
        with (
            ThreadPoolExecutor(self.concurrency, thread_name_prefix="kg2rag-llm") as pool,
            progress_bar(len(distinct), progress, "prompt") as bar,
        ):
            futures = {pool.submit(self._outcome, body, schema): name for name, body in distinct.items()}
            try:
                for future in as_completed(futures):
                    outcome = outcomes[futures[future]] = future.result()
                    if isinstance(outcome, Failure) and outcome.kind == "access":
                        raise CompletionError(outcome)
                    bar.update()
            except BaseException:  # an interrupt too: without this, leaving the pool would first empty its queue
                pool.shutdown(wait=False, cancel_futures=True)
                raise
        fresh = dict(outcomes)  # an answer counts once, for the first of equal prompts
        return [fresh.pop(name) if name in fresh else replace(outcomes[name], cached=True) for name in names]

    def stored(self, prompt: Prompt, schema: type[BaseModel] | None = None) -> Outcome | None:
        """The stored outcome of a prompt, which may be a `Failure`; None if it was never answered."""
        reply = self._kept(self.request(prompt, schema))
        return None if reply is None else read_reply(reply, schema, cached=True)

    def usage(self, outcomes: Sequence[Outcome]) -> Usage:
        """Calls, tokens and cost of some outcomes, at the prices of this model."""
        return Usage.of(outcomes, (self.prompt_price, self.completion_price))

    def _outcome(self, body: dict[str, Any], schema: type[BaseModel] | None) -> Outcome:
        if (kept := self._kept(body)) is not None:
            return read_reply(kept, schema, cached=True)
        try:
            reply = self._connection.ask(body)
        except CompletionError as error:
            return error.failure
        self._answers.keep([(request_key(body, self.again), reply.model_dump_json().encode())])
        return read_reply(reply, schema, cached=False)

    def request(self, prompt: Prompt, schema: type[BaseModel] | None = None) -> dict[str, Any]:
        """The request body: everything that the answer depends on, except the endpoint."""
        body: dict[str, Any] = {"model": self.model, "messages": messages_of(prompt)}
        sampling = {"temperature": self.temperature, "seed": self.seed, "max_tokens": self.max_tokens}
        given: dict[str, Any] = {name: value for name, value in sampling.items() if value is not None}
        if self.again:
            again = {"temperature": RETRY_TEMPERATURE, "seed": given.get("seed", 0) + self.again}
            again |= {"max_tokens": 2 * given.get("max_tokens", 0)}
            given = {name: max(value, again[name]) for name, value in given.items()}
        body |= given
        if schema is not None:
            described = schema.model_json_schema()
            if self.structured == "json_schema":
                wanted = {"name": schema.__name__, "schema": described}
                body["response_format"] = {"type": "json_schema", "json_schema": wanted}
                return {**body, **self.extra}
            fit = f"Answer with one JSON object and nothing else. It must fit this JSON schema: {json.dumps(described)}"
            body["messages"] = [*body["messages"], {"role": "user", "content": fit}]
            if self.structured == "json_object":
                body["response_format"] = {"type": "json_object"}
        return {**body, **self.extra}

    def _kept(self, body: dict[str, Any]) -> Reply | None:
        kept = self._answers.find([key := request_key(body, self.again)])
        return Reply.model_validate_json(kept[key]) if kept else None

    @property
    def _answers(self) -> KeyedFile:
        return self.store.keyed_file("answers")

    @cached_property
    def _connection(self) -> Connection:
        key, prices = api_key(self.api_key_env, self.base_url), (self.prompt_price, self.completion_price)
        made = Connection(self.base_url, key, self.timeout, self.retries, self.spending, prices)
        weakref.finalize(self, made.client.close)  # connections that are kept alive end with the model
        return made

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name != "_connection"}


def request_key(body: Mapping[str, Any], again: int = 0) -> str:
    """The name under which the answer to a request is kept."""
    asked = {"body": body} | ({"again": again} if again else {})
    return hashlib.sha256(json.dumps(asked, sort_keys=True, ensure_ascii=False).encode()).hexdigest()


def messages_of(prompt: Prompt) -> list[dict[str, str]]:
    """The messages of a prompt, a text being one user message; ValueError for messages that cannot be sent."""
    messages = [{"role": "user", "content": prompt}] if isinstance(prompt, str) else [dict(m) for m in prompt]
    if not messages or any(not {"role", "content"} <= message.keys() for message in messages):
        raise ValueError("A prompt is a text, or at least one message with 'role' and 'content'.")
    for message in messages:
        text = message["content"]
        try:
            text.encode()
        except UnicodeEncodeError as error:
            around = text[max(0, error.start - 40) : error.start]
            raise ValueError(f"A prompt holds a lone surrogate, which cannot be sent, after {around!r}.") from None
    return messages


def chat_model(name: str, store: Store) -> ChatModel:
    """The model of "MODEL@BASE_URL", whose answers a store keeps; see `endpoint_of`."""
    model, base_url, key = endpoint_of(name, "llm(MODEL@BASE_URL)")
    return ChatModel(base_url, model, api_key_env=key, store=store)


def endpoint_of(name: str, usage: str) -> tuple[str, str, str | None]:
    """Model, address and key variable of "qwen3:8b@http://localhost:11434/v1": `KEY` where that is set, else None.

    ParameterError says how to write it, `usage`, where the model or the address is missing.
    """
    model, _, base_url = name.rpartition("@")
    if not (model and base_url):
        raise ParameterError(
            f"{name!r} needs a model and its OpenAI-compatible endpoint: {usage}, such as "
            f"qwen3:8b@http://localhost:11434/v1. A key is read from {KEY}."
        )
    return model, base_url, KEY if os.environ.get(KEY) else None


def ask_each(
    model: ChatModel, names: Sequence[str], prompts: Sequence[str], schema: type[Schema], progress: str
) -> list[Completion[Schema]]:
    """The completion of every prompt, sent concurrently, for strategies that call a model while they retrieve.

    CompletionError names (by `names`: `name_of` of each prompt's query) the first without a completion.
    """
    found: list[Completion[Schema]] = []
    for name, outcome in zip(names, model.complete_many(prompts, schema, progress=progress), strict=True):
        if isinstance(outcome, Failure):
            raise CompletionError(replace(outcome, reason=f"{name}: {outcome.reason}"))
        found.append(outcome)
    return found


def unusable(name: str, completion: Completion[Any], reason: str) -> CompletionError:
    """The error for an answer that fits its schema but cannot be used."""
    reason = f"{name}: {reason}; the model wrote {completion.text[:200]!r}"
    counts = (completion.prompt_tokens, completion.completion_tokens)
    return CompletionError(Failure("output", reason, completion.attempts, *counts, cached=completion.cached))


def name_of(query: Query) -> str:
    """A query as errors name it."""
    return f"query {query.id!r} ({query.text[:80]!r})"
