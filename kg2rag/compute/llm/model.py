"""Prompts -> completions by any OpenAI-compatible endpoint (vLLM, Ollama, a hosted service).

Each answer is stored as it arrives, under all that it depends on, so that a run that is interrupted, killed or repeated
never buys it again. `connection.py` handles faults of the connection, `json_text.py` defects of JSON.
"""

from __future__ import annotations

import json
import weakref
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, overload
from urllib.parse import urlsplit

from pydantic import BaseModel

from kg2rag.compute.llm.connection import Reply, api_key, ask, connect
from kg2rag.compute.llm.exchange import Prompt, Structured, demand, messages_of, read
from kg2rag.compute.llm.outcomes import Completion, CompletionError, Failure, Outcome, Usage
from kg2rag.compute.llm.spending import Spending, Tariff
from kg2rag.compute.progress import bar as progress_bar
from kg2rag.compute.store import Store
from kg2rag.types import Count, Natural, above, check

if TYPE_CHECKING:
    import openai

Schema = TypeVar("Schema", bound=BaseModel)

RETRY_TEMPERATURE = 0.5
"""The lowest temperature of a repeated prompt; see `ChatModel.again`."""
_STAGE = "completions"
_REPLY = "reply.json"


@dataclass(frozen=True)
class ChatModel:
    """A model behind an OpenAI-compatible endpoint.

    Parameters
    ----------
    base_url : up to and including the version ("http://localhost:11434/v1"); holds no password or key.
    model : its name there.
    api_key_env : the environment variable that holds the key, which is read for the first request and stored nowhere
        else; None for an endpoint without keys.
    temperature, seed, max_tokens : sent as they are; None omits one, for endpoints that refuse it.
    structured : how a schema is requested. "json_schema": constrained decoding by the endpoint; "json_object": its JSON
        mode, with the schema in a message; "prompt": that message only. The answer is validated in any case.
    extra : further fields of the request body, such as `{"top_p": 0.9}`; part of the cache key, so never a secret.
    concurrency : the maximum of simultaneous requests.
    rpm : the maximum of requests a minute, retries included, evenly spaced; None for no limit. Models of one address
        and limit share it.
    retries : further attempts after the first, per prompt.
    timeout : seconds without a byte after which an attempt fails.
    deadline : seconds after which an attempt fails whose answer is not complete, counted from its headers on. Answers
        of more than 4 MiB fail as well.
    spending : limits of requests and cost for this model and all others that are given the same object; a prompt beyond
        them is a failure of kind "limit". Stored answers are free.
    prompt_price, completion_price : per million tokens; costs are None if one is None.
    cache_as : the endpoint's name in the cache key, for a server whose address changes; `base_url` if None.
    again : how often the same prompts were sent before and answered unusably; part of the cache key. From 1 on, the
        possible causes are changed: the seed is raised by `again`, the temperature to at least `RETRY_TEMPERATURE` (at
        0, servers give the same answer for any seed) and `max_tokens` doubled. None stays None.
    store : keeps the answers.
    """

    base_url: str
    model: str
    api_key_env: str | None = "OPENAI_API_KEY"
    temperature: float | None = 0.0
    seed: int | None = 0
    max_tokens: Count | None = 512
    structured: Structured = "json_schema"
    extra: Mapping[str, Any] = field(default_factory=dict, hash=False)
    concurrency: Count = field(default=8, repr=False)
    rpm: float | None = field(default=None, repr=False)
    retries: Natural = field(default=5, repr=False)
    timeout: float = field(default=60.0, repr=False)
    deadline: float = field(default=600.0, repr=False)
    spending: Spending | None = field(default=None, repr=False, compare=False)
    prompt_price: float | None = field(default=None, repr=False)
    completion_price: float | None = field(default=None, repr=False)
    cache_as: str | None = None
    again: Natural = 0
    store: Store = field(default_factory=Store, repr=False, compare=False)

    def __post_init__(self) -> None:
        url = urlsplit(self.base_url)
        if url.username or url.password or url.query or url.fragment:  # not quoted: it may be a secret
            raise ValueError(
                "base_url holds a user, password, query or fragment. Keys go into an environment variable."
            )
        if url.scheme not in ("http", "https") or not url.hostname:
            raise ValueError(f"base_url {self.base_url!r} is no address. Give one such as http://localhost:8000/v1.")
        check(self, timeout=above(0), deadline=above(0), rpm=above(0))
        if self._tariff is not None:
            self._tariff.most(json.dumps(self.request("")).encode())  # ValueError where a limit of cost cannot be kept

    @overload
    def complete(self, prompt: Prompt) -> Completion[None]: ...
    @overload
    def complete(self, prompt: Prompt, schema: type[Schema]) -> Completion[Schema]: ...
    def complete(self, prompt: Prompt, schema: type[Schema] | None = None) -> Completion[Any]:
        """The completion of a text (a user message) or of messages with `role` and `content`; else CompletionError."""
        outcome = self._outcome(self.request(prompt, schema), schema)
        if isinstance(outcome, Failure):
            raise CompletionError(outcome)
        return outcome

    @overload
    def complete_many(self, prompts: Sequence[Prompt], *, progress: str = ...) -> list[Completion[None] | Failure]: ...
    @overload
    def complete_many(
        self, prompts: Sequence[Prompt], schema: type[Schema], *, progress: str = ...
    ) -> list[Completion[Schema] | Failure]: ...
    def complete_many(
        self, prompts: Sequence[Prompt], schema: type[Schema] | None = None, *, progress: str = "asking"
    ) -> Sequence[Outcome]:
        """One outcome per prompt, in the given order; equal prompts are sent once.

        An interrupt cancels queued prompts, waits for those in flight, so that they are stored, and is raised; a second
        one does not wait. CompletionError is raised for a failure of kind "access", which all prompts would share.
        `progress` labels the progress bar, which is shown in a terminal only.
        """
        bodies = [self.request(prompt, schema) for prompt in prompts]
        names = [json.dumps(body, sort_keys=True) for body in bodies]
        outcomes = self._in_parallel(dict(zip(names, bodies, strict=True)), schema, progress)
        fresh = dict(outcomes)  # an answer counts once, for the first of equal prompts
        return [fresh.pop(name) if name in fresh else replace(outcomes[name], cached=True) for name in names]

    def stored(self, prompt: Prompt, schema: type[BaseModel] | None = None) -> Outcome | None:
        """The stored outcome of a prompt, which may be a `Failure`; None if it was never answered."""
        body = self.request(prompt, schema)
        entry = self.store.find(_STAGE, self._key(body))
        return None if entry is None else read(_reply_in(entry), schema, cached=True)

    def usage(self, outcomes: Sequence[Outcome]) -> Usage:
        """Calls, tokens and cost of some outcomes, at the prices of this model."""
        return Usage.of(outcomes, self.prompt_price, self.completion_price)

    def _in_parallel(
        self, bodies: Mapping[str, dict[str, Any]], schema: type[BaseModel] | None, progress: str
    ) -> dict[str, Outcome]:
        outcomes: dict[str, Outcome] = {}
        failed = 0
        with (
            ThreadPoolExecutor(self.concurrency, thread_name_prefix="kg2rag-llm") as pool,
            progress_bar(len(bodies), progress, "prompt") as bar,
        ):
            futures = {pool.submit(self._outcome, body, schema): name for name, body in bodies.items()}
            try:
                for future in as_completed(futures):
                    outcome = outcomes[futures[future]] = future.result()
                    if isinstance(outcome, Failure) and outcome.kind == "access":
                        raise CompletionError(outcome)
                    failed += isinstance(outcome, Failure)
                    bar.set_postfix({"failed": failed} if failed else {}, refresh=False)
                    bar.update()
            except BaseException:  # an interrupt too: without this, leaving the pool would first empty its queue
                pool.shutdown(wait=False, cancel_futures=True)
                raise
        return outcomes

    def _outcome(self, body: dict[str, Any], schema: type[BaseModel] | None) -> Outcome:
        bought = False

        def buy(folder: Path) -> None:
            nonlocal bought
            reply = ask(self._client, body, self._tariff)
            (folder / _REPLY).write_text(reply.model_dump_json(), encoding="utf-8")
            bought = True

        try:
            entry = self.store.entry(_STAGE, self._key(body), buy)
        except CompletionError as error:
            return error.failure
        return read(_reply_in(entry), schema, cached=not bought)

    def _key(self, body: dict[str, Any]) -> dict[str, Any]:
        key = {"endpoint": self.cache_as or self.base_url.rstrip("/"), "body": body}
        return key | {"again": self.again} if self.again else key

    def request(self, prompt: Prompt, schema: type[BaseModel] | None = None) -> dict[str, Any]:
        """The request body: everything that the answer depends on, except the endpoint."""
        body: dict[str, Any] = {"model": self.model, "messages": messages_of(prompt)}
        body |= {name: value for name, value in self._sampling().items() if value is not None}
        if schema is not None:
            demand(body, schema, self.structured)
        return {**body, **self.extra}

    def _sampling(self) -> dict[str, float | int | None]:
        temperature, seed, most = self.temperature, self.seed, self.max_tokens
        if self.again:
            temperature = None if temperature is None else max(temperature, RETRY_TEMPERATURE)
            seed = None if seed is None else seed + self.again
            most = None if most is None else 2 * most
        return {"temperature": temperature, "seed": seed, "max_tokens": most}

    @property
    def _tariff(self) -> Tariff | None:
        if self.spending is None:
            return None
        return Tariff(self.spending, self.prompt_price, self.completion_price)

    @cached_property
    def _client(self) -> openai.OpenAI:
        key, tariff = api_key(self.api_key_env), self._tariff
        client = connect(
            self.base_url, key, self.timeout, self.retries, deadline=self.deadline, rpm=self.rpm, tariff=tariff
        )
        weakref.finalize(self, client.close)  # connections that are kept alive end with the model
        return client

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name != "_client"}


def _reply_in(entry: Path) -> Reply:
    return Reply.model_validate_json((entry / _REPLY).read_text(encoding="utf-8"))
