"""Prompts -> completions by any OpenAI-compatible endpoint (vLLM, Ollama, a hosted service).

`ChatModel` asks; `Completion` and `Failure` are its outcomes. `Usage` counts tokens and cost,
`Spending` limits them. Each answer is stored as it arrives, under the model and the request, not
the address, and never bought again.
"""

from __future__ import annotations

import json
import sys
import weakref
from collections.abc import Collection, Mapping, Sequence
from dataclasses import field, replace
from functools import cached_property
from typing import Annotated, Any

from pydantic import BaseModel

from kg2rag.compute.endpoint import TIMEOUT_SECONDS, Endpoint, checked_address, is_local
from kg2rag.compute.keyed_file import KeyedFile, claimed
from kg2rag.compute.parallel import progress_bar
from kg2rag.compute.store import Store
from kg2rag.llm.batch import Batch
from kg2rag.llm.client import Connection, Spending, most_of
from kg2rag.llm.dialect import Body, Structured, in_form, token_limit
from kg2rag.llm.replies import (
    Completion,
    CompletionError,
    Failure,
    Outcome,
    Reply,
    read_reply,
)
from kg2rag.llm.requests import (
    Prompt,
    Request,
    corrected,
    messages_of,
    prompt_tokens,
    request_key,
)
from kg2rag.llm.usage import CallPlan, Pair, Usage, cost_of
from kg2rag.types import Count, Natural, above, component

RETRY_TEMPERATURE = 0.5
CONCURRENCY, LOCAL_CONCURRENCY = 8, 2
"""Simultaneous requests for a hosted endpoint, and for a local one, which usually answers one by one."""


@component
class ChatModel:
    """A model behind an OpenAI-compatible endpoint.

    Parameters
    ----------
    base_url : up to and including the version ("http://localhost:11434/v1"); holds no password or key.
    model : its name there.
    api_key_env : the environment variable with the key for this address, which is read for the first request and stored
        nowhere else. None: `OPENAI_API_KEY`, which is sent to https://api.openai.com and to the address in
        `OPENAI_BASE_URL` only, and no key to any other address.
    temperature, seed, max_tokens : sent as they are; None omits one. A finished answer is valid under any larger
        `max_tokens`, so that raising it buys anew only what was cut.
    structured : how a schema is requested. "json_schema": constrained decoding by the endpoint; "json_object": its JSON
        mode, with the schema in a message; "prompt": that message only. If the endpoint refuses one, the next is tried
        and then used. The answer is validated in any case.
    extra : further fields of the request body, such as `{"top_p": 0.9}`, or None to leave a field out; part of the
        cache key, so never a secret.
    concurrency : the maximum of simultaneous requests; None: 2 for an endpoint of this machine, else 8.
    retries : further attempts after the first, per prompt. A prompt that timed out is sent once more after all others.
    timeout : seconds without a byte after which an attempt fails; a whole answer may take ten times as long.
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
    api_key_env: str | None = None
    temperature: float | None = 0.0
    seed: int | None = 0
    max_tokens: Count | None = 512
    structured: Structured = "json_schema"
    extra: Mapping[str, Any] = field(default_factory=dict, hash=False)
    concurrency: Count | None = field(default=None, repr=False)
    retries: Natural = field(default=5, repr=False)
    timeout: Annotated[float, above(0)] = field(default=TIMEOUT_SECONDS, repr=False)
    spending: Spending | None = field(default=None, repr=False, compare=False)
    prompt_price: float | None = field(default=None, repr=False)
    completion_price: float | None = field(default=None, repr=False)
    again: Natural = 0
    store: Store = field(default_factory=Store, repr=False, compare=False)

    def __post_init__(self) -> None:
        checked_address(self.base_url)
        if self.spending is not None and self.spending.max_cost is not None:
            # ValueError if the limit cannot be kept.
            most_of(
                json.dumps(self.request("")).encode(),
                (self.prompt_price, self.completion_price),
            )

    @property
    def requests_at_a_time(self) -> int:
        """The concurrency, or its default for this endpoint."""
        default = LOCAL_CONCURRENCY if is_local(self.base_url) else CONCURRENCY
        return self.concurrency or default

    def complete(
        self, prompt: Prompt, schema: type[BaseModel] | None = None
    ) -> Completion[Any]:
        """The completion of a text (a user message) or of messages; else CompletionError.

        Messages have `role` and `content`.
        """
        (outcome,) = self.complete_many([prompt], schema)
        if isinstance(outcome, Failure):
            raise CompletionError(outcome)
        return outcome

    def complete_many(
        self,
        prompts: Sequence[Prompt],
        schema: type[BaseModel] | Sequence[type[BaseModel]] | None = None,
        *,
        progress: str = "asking",
    ) -> list[Outcome]:
        """One outcome per prompt, in the given order; equal prompts are sent once.

        `schema` : what the answers must fit, for all prompts or one for each.

        An interrupt cancels queued prompts, waits for those in flight, so that they are stored, and
        is raised; a second one does not wait. CompletionError for a failure of kind "access", which
        all prompts would share, and for many equal failures in a row. If more than a fifth of the
        first ten replies are unusable, `UnusableRepliesWarning` shows three of them before the
        others are sent.
        """
        forms = schema if isinstance(schema, Sequence) else [schema] * len(prompts)
        requests = [
            self._request(prompt, form)
            for prompt, form in zip(prompts, forms, strict=True)
        ]
        distinct = {request.key: request for request in requests}
        outcomes = self._stored(list(distinct.values()))
        with progress_bar(len(distinct), progress, "prompt") as bar:
            bar.update(len(outcomes))

            def announce(first: Collection[Outcome], n_left: int) -> None:
                if not bar.disable:
                    plan = self._plan_of_rest(first, n_left)
                    bar.write(f"{progress}: {plan}", sys.stderr)

            batch = Batch(
                lambda key: self._outcome(distinct[key]),
                [key for key in distinct if key not in outcomes],
                self.requests_at_a_time,
                repeats_slow=self.retries > 0,
                done=bar.update,
                announce=announce,
            )
            outcomes |= batch.run()
        fresh = dict(outcomes)  # an answer counts once, for the first of equal prompts
        keys = [request.key for request in requests]
        return [
            fresh.pop(key) if key in fresh else replace(outcomes[key], cached=True)
            for key in keys
        ]

    def stored(
        self, prompt: Prompt, schema: type[BaseModel] | None = None
    ) -> Outcome | None:
        """The stored outcome of a prompt, perhaps a `Failure`; None if it was never answered."""
        request = self._request(prompt, schema)
        return self._stored([request]).get(request.key)

    def plan(
        self,
        prompts: Sequence[Prompt],
        schema: type[BaseModel] | None = None,
        *,
        answer_tokens: int,
    ) -> CallPlan:
        """The plan of `complete_many`, which sends nothing.

        Tokens are estimated with the encoder's tokenizer; `answer_tokens` is the usual length of an
        answer. Stored answers correct both estimates.
        """
        requests = {
            request.key: request
            for request in (self._request(prompt, schema) for prompt in prompts)
        }
        stored = self._stored(list(requests.values()))
        unsent = [
            request.body for key, request in requests.items() if key not in stored
        ]
        answers = list(stored.values())
        planned = prompt_tokens(unsent), answer_tokens * len(unsent)
        planned_before = (
            prompt_tokens([requests[key].body for key in stored]),
            answer_tokens * len(stored),
        )
        return self.call_plan(
            len(unsent), answers, corrected(planned, planned_before, answers)
        )

    def call_plan(
        self, calls: int, stored: Collection[Outcome], tokens: Pair
    ) -> CallPlan:
        """The plan of `calls` requests: cost, and duration by the seconds of stored outcomes."""
        times = [outcome.seconds for outcome in stored if outcome.seconds is not None]
        seconds = None
        if not calls:
            seconds = 0.0
        elif times:
            seconds = calls * sum(times) / len(times) / self.requests_at_a_time
        cost = cost_of(tokens, (self.prompt_price, self.completion_price))
        return CallPlan(calls, len(stored), *tokens, seconds, cost)

    def _plan_of_rest(self, outcomes: Collection[Outcome], calls: int) -> CallPlan:
        """The plan of `calls` further requests, with the mean tokens and seconds of some outcomes."""
        counts = self.usage(outcomes)
        ratio = calls / len(outcomes)
        prompt_tokens, completion_tokens = (
            n if n is None else round(ratio * n)
            for n in (counts.prompt_tokens, counts.completion_tokens)
        )
        return self.call_plan(calls, outcomes, (prompt_tokens, completion_tokens))

    def usage(self, outcomes: Collection[Outcome]) -> Usage:
        """Calls, tokens and cost of some outcomes, at the prices of this model."""
        return Usage.of(outcomes, (self.prompt_price, self.completion_price))

    def _outcome(self, request: Request) -> Outcome:
        """The outcome of a request, stored or sent; an equal request in flight is waited for."""
        with claimed(self.store.root, f"answer {request.key}"):
            stored = self._stored([request])
            if stored:
                return stored[request.key]
            try:
                reply = self._connection.ask(request.body)
            except CompletionError as error:
                return self._advised(error.failure)
            key = request.key
            if reply.is_cut:
                key = request_key(request.body, self.again, cut_at=reply.max_tokens)
            self._answers.keep([(key, reply.model_dump_json().encode())])
        return read_reply(reply, request.schema, cached=False)

    def _advised(self, failure: Failure) -> Failure:
        """A failure whose reason names the options that help against a time-out."""
        if failure.kind != "timeout":
            return failure
        advice = f"Raise timeout, or lower concurrency ({self.requests_at_a_time} now) if the endpoint queues requests"
        return replace(failure, reason=f"{failure.reason}. {advice}")

    def request(self, prompt: Prompt, schema: type[BaseModel] | None = None) -> Body:
        """The request body: everything that the answer depends on, except the endpoint."""
        body: Body = {
            "model": self.model,
            "messages": messages_of(prompt),
            **self._sampling(),
        }
        if schema is not None:
            wanted = {"name": schema.__name__, "schema": schema.model_json_schema()}
            body["response_format"] = {"type": "json_schema", "json_schema": wanted}
            body = in_form(body, self.structured)
        body |= self.extra
        return {name: value for name, value in body.items() if value is not None}

    def _sampling(self) -> dict[str, Any]:
        """The fields of the request body for sampling, changed for further tries, see `again`."""
        settings = {
            "temperature": self.temperature,
            "seed": self.seed,
            "max_tokens": self.max_tokens,
        }
        sampling: dict[str, Any] = {
            name: value for name, value in settings.items() if value is not None
        }
        if not self.again:
            return sampling
        again = {
            "temperature": RETRY_TEMPERATURE,
            "seed": sampling.get("seed", 0) + self.again,
        }
        again["max_tokens"] = 2 * sampling.get("max_tokens", 0)
        return {name: max(value, again[name]) for name, value in sampling.items()}

    def _request(self, prompt: Prompt, schema: type[BaseModel] | None) -> Request:
        """The request of a prompt, with the keys of its stored answer."""
        body = self.request(prompt, schema)
        cut_key = request_key(body, self.again, cut_at=token_limit(body))
        return Request(body, schema, request_key(body, self.again), cut_key)

    def _stored(self, requests: Sequence[Request]) -> dict[str, Outcome]:
        """Key of a request -> its stored outcome, complete or cut at the same limit.

        A complete answer counts before a cut one.
        """
        keys = [key for request in requests for key in (request.key, request.cut_key)]
        values = self._answers.find(keys)
        outcomes: dict[str, Outcome] = {}
        for request in requests:
            for key in (request.cut_key, request.key):
                reply = (
                    Reply.model_validate_json(values[key]) if key in values else None
                )
                if reply is not None and reply.is_valid(token_limit(request.body)):
                    outcomes[request.key] = read_reply(
                        reply, request.schema, cached=True
                    )
        return outcomes

    @property
    def _answers(self) -> KeyedFile:
        return self.store.keyed_file("answers")

    @cached_property
    def _connection(self) -> Connection:
        endpoint = Endpoint(
            self.base_url, self.api_key_env, timeout=self.timeout, retries=self.retries
        )
        # Kept-alive connections end with the model.
        weakref.finalize(self, endpoint.close)
        return Connection(
            endpoint, self.spending, (self.prompt_price, self.completion_price)
        )

    def __getstate__(self) -> dict[str, Any]:
        return {
            name: value
            for name, value in self.__dict__.items()
            if name != "_connection"
        }
