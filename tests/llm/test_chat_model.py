"""A model behind an endpoint: answers, the file that keeps them, faults, JSON, costs, interrupts, keys, limits."""

from __future__ import annotations

import json
import logging
import os
import pickle
import signal
import subprocess
import sys
import threading
import time
import warnings
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from llm_server import (
    FAULTS,
    MORE_FAULTS,
    ChatServer,
    first,
    kept_answers,
    last_message,
    serving,
    wait_until,
)
from pydantic import BaseModel

from kg2rag.compute import Store
from kg2rag.compute.keyed_file import DamagedEntryWarning
from kg2rag.llm import ChatModel, Completion, CompletionError, Failure, Spending, Usage
from kg2rag.llm.client import AdaptedRequestWarning
from kg2rag.llm.completions import read_answer
from kg2rag.llm.json_text import json_in, quoted, without_reasoning
from kg2rag.llm.query_prompts import ask_each, name_of, unusable
from kg2rag.types import Query

# Seconds: for an answer that will come, and for one that will not.
PATIENCE = (
    600.0,
    0.5,
)
KEY = "sk-test-0123456789abcdef"
PRICES = {"prompt_price": 1e6, "completion_price": 1e6}  # one a token
ANSWER = 10  # tokens, as the server counts them: 7 and 3
PROMPTS = [f"p{i}" for i in range(12)]


class Lists(BaseModel):
    names: list[str]
    pairs: list[list[str]]


class City(BaseModel):
    city: str
    sure: bool = True


@pytest.fixture(autouse=True)
def _environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KG2RAG_TEST_KEY", KEY)
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    # the same back-off, 25 times faster
    monkeypatch.setattr("openai._base_client.INITIAL_RETRY_DELAY", 0.02)


@pytest.fixture
def server() -> Iterator[ChatServer]:
    with serving() as running:
        yield running


Maker = Callable[..., ChatModel]


@pytest.fixture
def ask_model(tmp_path: Path) -> Maker:
    def make(server: ChatServer, **given: Any) -> ChatModel:
        given.setdefault("store", Store(tmp_path / "store"))
        return ChatModel(
            server.url,
            "tiny",
            **{"api_key_env": "KG2RAG_TEST_KEY", "timeout": PATIENCE[0]} | given,
        )

    return make


def test_a_completion_carries_text_and_tokens_and_is_then_kept(ask_model, monkeypatch):
    expected = Completion("answer to p", None, 7, 3, cached=False, attempts=1)
    with serving() as server:
        assert ask_model(server).complete("p") == expected
    monkeypatch.delenv("KG2RAG_TEST_KEY")
    again = ask_model(server).complete("p")  # needs neither key nor server
    assert (again.text, again.cached, server.requests["p"]) == ("answer to p", True, 1)


@pytest.mark.parametrize(
    ("change", "cached"),
    [
        *(
            ({name: value}, False)
            for name, value in (
                ("temperature", 0.5),
                ("temperature", None),
                ("seed", 1),
            )
        ),
        ({"max_tokens": 9}, True),  # the answer has three tokens
        ({"max_tokens": 2}, False),
        ({"extra": {"top_p": 0.5}}, False),
        ({"concurrency": 1, "retries": 0, "timeout": 9.0, "prompt_price": 1.0}, True),
    ],
    ids=str,
)
def test_what_changes_the_answer_and_nothing_else_changes_the_key(
    server, ask_model, change, cached
):
    ask_model(server).complete("p")
    assert ask_model(server, **change).complete("p").cached is cached


def test_parameters_reach_the_server_and_none_is_left_out(server, ask_model):
    ask_model(server, temperature=None, seed=3, extra={"top_k": 5}).complete(
        [{"role": "user", "content": "p"}]
    )
    messages = [{"role": "user", "content": "p"}]
    streamed = {"stream": True, "stream_options": {"include_usage": True}}
    wanted = {
        "model": "tiny",
        "messages": messages,
        "seed": 3,
        "max_tokens": 512,
        "top_k": 5,
        **streamed,
    }
    assert server.bodies == [wanted]


def test_outcomes_come_in_the_order_of_the_prompts_and_equal_ones_are_asked_once(
    server, ask_model
):
    outcomes = ask_model(server).complete_many(["p", "q", "p"])
    assert [outcome.text for outcome in outcomes] == [
        "answer to p",
        "answer to q",
        "answer to p",
    ]
    assert ([o.cached for o in outcomes], server.requests) == (
        [False, False, True],
        {"p": 1, "q": 1},
    )
    assert ask_model(server).complete_many([]) == []


def test_no_more_requests_are_in_flight_than_allowed(ask_model):
    with serving() as server:
        server.holds = lambda _: True
        asking = threading.Thread(
            target=ask_model(server, concurrency=3).complete_many,
            args=([f"p{i}" for i in range(15)],),
        )
        asking.start()
        wait_until(lambda: server.waiting == 3)
        server.gate.set()
        asking.join()
    assert (server.most_in_flight, server.requests.total()) == (3, 15)


# Faults


@pytest.mark.parametrize(
    "fault",
    [fault for fault in (*FAULTS, *MORE_FAULTS) if fault not in ("slow", "429 dated")],
)
def test_a_fault_that_passes_is_retried(fault, ask_model):
    with serving(fault=first(fault)) as server:
        completion = ask_model(server).complete("p")
    assert (completion.text, completion.attempts, server.requests["p"]) == (
        "answer to p",
        2,
        2,
    )


def test_an_answer_that_is_broken_off_for_another_request_is_asked_for_again_unstreamed(
    ask_model,
):
    with serving(fault=first("interrupted")) as server:
        with pytest.warns(AdaptedRequestWarning):
            completion = ask_model(server).complete("p")
        assert (completion.text, completion.attempts, server.paid.total()) == (
            "answer to p",
            2,
            1,
        )
        assert ask_model(server).complete("q").attempts == 1
    assert ["stream" in body for body in server.bodies] == [True, False, False]


def test_a_stream_with_its_end_mark_is_whole_whatever_becomes_of_its_connection(
    ask_model,
):
    with serving(fault=first("unended")) as server:
        completion = ask_model(server).complete("p")
    assert (completion.text, completion.attempts, server.requests["p"]) == (
        "answer to p",
        1,
        1,
    )


def test_answers_are_not_streamed_where_the_body_says_so(server, ask_model):
    ask_model(server, extra={"stream": False}).complete("p")
    assert [(body["stream"], "stream_options" in body) for body in server.bodies] == [
        (False, False)
    ]


@pytest.mark.parametrize("is_stream", [False, True])
def test_of_an_answer_in_parts_the_text_is_read_and_the_thinking_is_not(is_stream):
    parts = [
        {"type": "thinking", "thinking": [{"type": "text", "text": "hm"}]},
        {"type": "text", "text": "Halina"},
    ]
    choice = {
        "finish_reason": "stop",
        "delta" if is_stream else "message": {"role": "assistant", "content": parts},
    }
    content = json.dumps({"choices": [choice]})
    if is_stream:
        content = f"data: {content}\n\ndata: [DONE]\n\n"
    assert read_answer(content.encode(), events=is_stream).text == "Halina"


@pytest.mark.parametrize(
    ("fault", "kind", "says"),
    [
        ("429", "rate limit", "HTTP 429: refused with 429"),
        ("500", "server", "HTTP 500: refused with 500"),
        ("slow", "timeout", "0.5 seconds"),
        ("reset", "connection", ""),
        ("cut", "response", "another form"),
        ("half", "connection", "without sending complete message body"),
        ("foreign", "response", "some other service"),
        ("no choices", "response", "another form"),
        ("html", "response", "Please log in"),
    ],
)
def test_a_fault_that_stays_is_a_failure_that_says_so(fault, kind, says, ask_model):
    # What timed out is sent once more, and no oftener.
    sent = 2 if fault == "slow" else 3
    with serving(fault=first(fault, 99)) as server:
        (failure,) = ask_model(
            server, retries=2, timeout=PATIENCE[fault == "slow"]
        ).complete_many(["p"])
        # a busy server counts one that was given up when it reads it
        wait_until(lambda: server.requests["p"] == sent)
    assert isinstance(failure, Failure)
    assert (failure.kind, failure.attempts, server.requests["p"], failure.cached) == (
        kind,
        sent,
        sent,
        False,
    )
    assert says in failure.reason


@pytest.mark.parametrize(
    ("status", "kind", "sent"), [("400", "request", 1), ("202", "response", 2)]
)
def test_a_request_that_fails_leaves_the_others_alone(status, kind, sent, ask_model):
    with serving(fault=lambda prompt, _: status if prompt == "bad" else None) as server:
        bad, good = ask_model(server, retries=1).complete_many(["bad", "good"])
    assert (bad.kind, server.requests["bad"], good.text) == (
        kind,
        sent,
        "answer to good",
    )


@pytest.mark.parametrize("status", ["401", "404"])
def test_a_wrong_key_or_model_stops_the_run_at_once(status, ask_model):
    with serving(fault=first(status, 99)) as server:
        with pytest.raises(CompletionError, match=f"HTTP {status}"):
            ask_model(server, concurrency=1).complete_many(
                [f"p{i}" for i in range(1_000)]
            )
        # how many are sent before the first is judged depends on the threads
        assert server.requests.total() < 1_000


# Structured output


def test_a_schema_gives_an_object(ask_model):
    with serving(lambda _: '```json\n{"city": "Rome", "sure": false,}\n```') as server:
        completion = ask_model(server).complete("p", City)
    assert completion.parsed == City(city="Rome", sure=False)
    assert (
        server.bodies[0]["response_format"]["json_schema"]["schema"]
        == City.model_json_schema()
    )


@pytest.mark.parametrize(
    ("structured", "format_"),
    [("json_object", {"type": "json_object"}), ("prompt", None)],
)
def test_an_endpoint_without_schemas_is_told_the_schema_in_a_message(
    structured, format_, ask_model
):
    with serving(lambda _: '{"city": "Rome"}') as server:
        ask_model(server, structured=structured).complete("p", City)
    assert server.bodies[0].get("response_format") == format_
    assert (
        json.dumps(City.model_json_schema())
        in server.bodies[0]["messages"][-1]["content"]
    )


@pytest.mark.parametrize(
    ("fault", "schema", "says"),
    [
        ("wrong schema", City, "City (city: Field required)"),
        ("prose", City, "no JSON object"),
        ("length", None, "max_tokens"),
        ("content_filter", None, "refused"),
        ("empty", None, "no text"),
    ],
)
def test_output_that_is_not_what_was_asked_for_fails_and_is_not_bought_twice(
    fault, schema, says, ask_model
):
    with serving(fault=first(fault, 99)) as server:
        (failure,), (again,) = (
            ask_model(server).complete_many(["p"], schema) for _ in range(2)
        )
    assert (failure.kind, failure.prompt_tokens, failure.completion_tokens) == (
        "output",
        7,
        3,
    )
    assert says in failure.reason
    assert (again.reason, again.cached, server.requests["p"]) == (
        failure.reason,
        True,
        1,
    )


@pytest.mark.parametrize(
    "text",
    [
        '{"a": "x", "b": [1, 2]}',
        '```json\n{"a": "x", "b": [1, 2]}\n```',
        'Sure! {"a": "x", "b": [1, 2]} I hope that\'s fine.',
        '{"a": "x", "b": [1, 2,],}',
        "{'a': \"x\", 'b': [1, 2,]}",
        '{"a": "x", "b": [1, 2]',
    ],
)
def test_json_of_small_models_is_repaired(text):
    assert json_in(text) == {"a": "x", "b": [1, 2]}


@pytest.mark.parametrize(
    "text",
    [
        *(
            "",
            "Paris",
            '{"a": {"b": 1',
            '{"a": "never ends',
            '[{"a": 1}',
            '{"a": [["b"], ["d"',
            '{"a": 1',
        ),
        "[" * 100_000,
    ],
)
def test_no_json_or_half_of_it_is_refused(text):
    with pytest.raises(ValueError):  # noqa: PT011 - whatever is said
        json_in(text)


@pytest.mark.parametrize(
    "text", ["<think>{}</think>\nRome", "hm, {}\n</think>Rome", "Rome"]
)
def test_a_block_of_reasoning_is_no_part_of_the_text(text):
    assert without_reasoning(text) == "Rome"


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        (
            '{"names": ["a", "b"], "pairs": [["c", "d"], ["e"',
            {"names": ["a", "b"], "pairs": [["c", "d"]]},
        ),
        ('{"names": ["a", "b\\"[", "c', {"names": ["a", 'b"['], "pairs": []}),
        (
            '```json\n{"names": ["a"], "pairs": [["c", "d"]',
            {"names": ["a"], "pairs": [["c", "d"]]},
        ),
        ('{"names": ["a"', {"names": ["a"], "pairs": []}),
    ],
)
def test_of_an_answer_that_was_cut_the_whole_items_are_read(ask_model, text, kept):
    with serving(lambda _: text, lambda *_: "length") as server:
        completion = ask_model(server).complete("p", Lists)
    assert (completion.parsed.model_dump(), completion.cut) == (kept, True)


@pytest.mark.parametrize(
    "text", ["", '{"names": [', '{"names": ["a', "Well,", "<think>First [1] I"]
)
def test_an_answer_that_was_cut_before_its_first_item_is_a_failure_that_names_both_remedies(
    ask_model, text
):
    with serving(lambda _: text, lambda *_: "length") as server:
        (failure,) = ask_model(server, max_tokens=9).complete_many(["p"], Lists)
    assert (failure.kind, server.requests["p"]) == ("output", 1)
    assert [
        word
        for word in ("9 tokens", "max_tokens", "--retry-failed")
        if word not in failure.reason
    ] == []


def test_a_finished_answer_is_valid_under_a_larger_limit_and_a_cut_one_is_bought_anew(
    ask_model,
):
    with serving(
        fault=lambda prompt, before: (
            "length" if prompt == "long" and not before else None
        )
    ) as server:
        ask_model(server, max_tokens=5).complete_many(["short", "long"])
        outcomes = ask_model(server, max_tokens=6).complete_many(["short", "long"])
        assert [(outcome.text, outcome.cached) for outcome in outcomes] == [
            ("answer to short", True),
            ("answer to long", False),
        ]
        # three tokens: it fits into five
        (again,) = ask_model(server, max_tokens=5).complete_many(["long"])
    assert (again.text, again.cached, server.requests) == (
        "answer to long",
        True,
        {"short": 1, "long": 2},
    )


# What an endpoint refuses


@contextmanager
def refusing(
    message: str, refused: Callable[[dict[str, Any]], bool], status: int = 400
) -> Iterator[ChatServer]:
    """A server that refuses some requests, sent one after the other, with a message."""
    with serving(lambda _: '{"city": "Rome"}', prompt_of=last_message) as server:
        server.fault = lambda *_: (
            f"{status} says {message}" if refused(server.bodies[-1]) else None
        )
        yield server


CHAT = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "p"}]


@pytest.mark.parametrize("status", [400, 422, 500])
@pytest.mark.parametrize(
    ("message", "refused", "sent"),
    [
        (
            "Unsupported parameter: 'max_tokens'. Use 'max_completion_tokens' instead.",
            lambda body: "max_tokens" in body,
            {"max_completion_tokens": 512, "max_tokens": None},
        ),
        (
            "'temperature' does not support 0.0 with this model",
            lambda body: "temperature" in body,
            {"temperature": None, "seed": 0},
        ),
        (
            "Extra inputs are not permitted: stream_options",
            lambda body: "stream_options" in body,
            {"stream_options": None, "stream": True},
        ),
        (
            "response_format.type must be text or json_object",
            lambda body: body.get("response_format", {}).get("type") == "json_schema",
            {
                "response_format": {
                    "type": "json_object",
                    "schema": City.model_json_schema(),
                }
            },
        ),
        (
            "Unknown parameter: 'response_format.schema'",
            lambda body: len(body.get("response_format", {})) == 2,
            {"response_format": {"type": "json_object"}},
        ),
        (
            "This model has no JSON mode",
            lambda body: "response_format" in body,
            {"response_format": None},
        ),
        (
            "System role not supported",
            lambda body: body["messages"][0]["role"] == "system",
            {"temperature": 0.0},
        ),
    ],
)
def test_a_request_that_is_refused_for_its_form_is_sent_in_another_which_is_remembered(
    ask_model, message, refused, sent, status
):
    with refusing(message, refused, status) as server:
        model = ask_model(server, concurrency=1, retries=0)
        with pytest.warns(AdaptedRequestWarning):
            assert model.complete(CHAT, City).parsed == City(city="Rome")
        first_requests = server.requests.total()
        assert model.complete(
            [*CHAT, {"role": "user", "content": "q"}], City
        ).parsed == City(city="Rome")
        assert server.requests.total() == first_requests + 1
    assert {name: server.bodies[-1].get(name) for name in sent} == sent
    assert not refused(server.bodies[-1])


def test_messages_alternate_whatever_the_form(ask_model):
    for structured in ("json_schema", "json_object", "prompt"):
        with serving(lambda _: '{"city": "Rome"}') as server:
            ask_model(server, structured=structured).complete(CHAT, City)
        assert [message["role"] for message in server.bodies[0]["messages"]] == [
            "system",
            "user",
        ]


def test_a_field_is_left_out_of_the_body_by_none(server, ask_model):
    ask_model(
        server,
        extra={"temperature": None, "max_tokens": None, "max_completion_tokens": 7},
    ).complete("p")
    sent = server.bodies[0]
    assert (
        "temperature" in sent,
        "max_tokens" in sent,
        sent["max_completion_tokens"],
    ) == (
        False,
        False,
        7,
    )


# Slow endpoints, and endpoints that fail


@pytest.mark.parametrize("concurrency", [8, 2, 1])
def test_an_endpoint_that_answers_one_at_a_time_loses_no_prompt(ask_model, concurrency):
    turn = threading.Lock()

    def slow(prompt: str) -> str:
        with turn:
            time.sleep(0.06)
        return f"answer to {prompt}"

    with serving(slow) as server:
        outcomes = ask_model(
            server, concurrency=concurrency, timeout=0.3
        ).complete_many([f"p{i}" for i in range(16)])
        sent = server.requests.total()
    assert kinds(outcomes) == ["answered"] * 16
    assert sent <= 32  # none is sent more than twice


def test_equal_failures_in_a_row_end_the_call_and_say_so(ask_model):
    with serving(fault=lambda *_: "500") as server:
        with pytest.raises(CompletionError) as raised:
            ask_model(server, retries=0, concurrency=1).complete_many(
                [f"p{i}" for i in range(1_000)]
            )
        assert server.requests.total() < 30
    assert raised.value.failure.kind == "server"


@pytest.mark.parametrize(("unusable_replies", "warned"), [(2, False), (3, True)])
def test_a_high_share_of_unusable_replies_is_said_after_ten(
    ask_model, unusable_replies, warned
):
    def answer(prompt: str) -> str:
        return "no" if int(prompt[1:]) < unusable_replies else '{"city": "Rome"}'

    with serving(answer) as server, warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        seen = []
        warnings.showwarning = lambda *_: seen.append(server.requests.total())
        ask_model(server, concurrency=4).complete_many(
            [f"p{i}" for i in range(40)], City
        )
    assert len(caught or seen) == warned
    assert server.requests.total() == 40
    assert seen == [10] * warned


def test_what_the_requests_after_the_first_ten_will_take_is_said_before_they_are_sent(
    ask_model, capsys, monkeypatch
):
    monkeypatch.delenv("TQDM_DISABLE", raising=False)
    with serving() as server:
        ask_model(server, **PRICES).complete_many(
            [f"p{i}" for i in range(40)], progress="linking"
        )
        assert "linking: 30 calls, about 210 + 90 tokens" in capsys.readouterr().err
        ask_model(server).complete_many(
            [f"p{i}" for i in range(60)], progress="linking"
        )
        assert "linking: 10 calls" not in capsys.readouterr().err  # forty are stored


# Cost


def test_usage_adds_tokens_and_prices_per_million(server, ask_model):
    model = ask_model(server, prompt_price=1.0, completion_price=10.0)
    model.complete("p")
    # 2 × 7 tokens in, 2 × 3 out: 14 × 1 + 6 × 10 = 74 per million; one of the two was paid before.
    expected = Usage(
        2, 1, 0, 14, 6, cost=pytest.approx(74e-6), new_cost=pytest.approx(37e-6)
    )
    assert model.usage(model.complete_many(["p", "q"])) == expected


def test_a_cost_of_unknown_prices_or_tokens_is_unknown_not_zero(ask_model):
    with serving(fault=first("uncounted")) as server:
        model = ask_model(server, prompt_price=1.0, completion_price=1.0)
        usage = model.usage(model.complete_many(["p"]))
        assert (usage.prompt_tokens, usage.cost) == (None, None)
        model = ask_model(server, prompt_price=1.0)
        assert model.usage(model.complete_many(["q"])).cost is None


# Interruption


SCRIPT = """
import signal, sys
from pathlib import Path
from kg2rag.llm.chat_model import ChatModel
from kg2rag.compute.store import Store
url, store = sys.argv[1:]

def stop(*_):
    Path(store, "interrupted").touch()
    raise KeyboardInterrupt

signal.signal(signal.SIGINT, stop)
model = ChatModel(url, "tiny", "KG2RAG_TEST_KEY", concurrency=4, store=Store(store))
for outcome in model.complete_many([f"p{i}" for i in range(30)]):
    print(outcome.text)
"""


def start(server: ChatServer, store: Path) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", SCRIPT, server.url, str(store)]
    return subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=dict(os.environ),
    )


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGINT])
def test_a_run_that_was_stopped_goes_on_without_repeating_a_call(how, tmp_path):
    with serving() as server:
        # Four of thirty prompts get no answer, so the run cannot end; the other 26 are answered and
        # kept.
        server.holds = lambda prompt: prompt in ("p26", "p27", "p28", "p29")
        process = start(server, tmp_path)
        wait_until(
            lambda: len(kept_answers(tmp_path)) == 26 and server.waiting == 4, process
        )
        process.send_signal(how)
        if how == signal.SIGINT:
            wait_until((tmp_path / "interrupted").exists, process)
            server.gate.set()  # an interrupt waits for what is in flight
        process.communicate()
        assert process.returncode != 0
        once = len(kept_answers(tmp_path))
        server.gate.set()
        answered = dict(server.answered)
        again = start(server, tmp_path)
        out, err = again.communicate()
    assert out.splitlines() == [f"answer to p{i}" for i in range(30)], err
    assert once == (26 if how == signal.SIGKILL else 30)
    assert {server.requests[f"p{i}"] for i in range(26)} == {1}
    assert how == signal.SIGKILL or dict(server.answered) == answered


def test_threads_that_ask_the_same_prompt_pay_one_answer(ask_model):
    with serving() as server:
        server.holds = lambda _: True
        models = [ask_model(server) for _ in range(6)]
        outcomes: list[Completion[Any]] = []
        threads = [
            threading.Thread(target=lambda one=one: outcomes.append(one.complete("p")))
            for one in models
        ]
        for thread in threads:
            thread.start()
        wait_until(lambda: server.waiting == 1)
        server.gate.set()
        for thread in threads:
            thread.join()
    assert [outcome.text for outcome in outcomes] == ["answer to p"] * 6
    assert (sum(not outcome.cached for outcome in outcomes), server.requests["p"]) == (
        1,
        1,
    )


def test_processes_that_ask_the_same_prompts_pay_each_answer_once(tmp_path):
    with serving(delay=0.05) as server:
        server.gate.clear()
        both = [start(server, tmp_path) for _ in range(2)]
        outputs = [process.communicate() for process in both]
    for out, err in outputs:
        assert out.splitlines() == [f"answer to p{i}" for i in range(30)], err
    assert set(server.paid.values()) == {1}


# Keys


def test_the_key_is_sent_and_appears_nowhere_else(ask_model, tmp_path, caplog):
    caplog.set_level(logging.DEBUG)
    with serving(
        lambda _: f"you sent {KEY}",
        lambda prompt, _: "401" if prompt == "refused" else None,
    ) as server:
        model = ask_model(server)
        outcome = model.complete("p")
        assert outcome.text == "you sent ***"
        with pytest.raises(CompletionError) as raised:
            model.complete("refused")
    assert server.keys == [f"Bearer {KEY}"] * 2
    assert raised.value.__context__ is None
    files = b"".join(
        path.read_bytes() for path in (tmp_path / "store").rglob("*") if path.is_file()
    )
    shown = [
        repr(model),
        repr(outcome),
        str(raised.value),
        caplog.text,
        repr(pickle.dumps(model)),
        repr(files),
    ]
    assert [KEY in text for text in shown] == [False] * len(shown)
    assert "key Bearer ***" in str(raised.value)


def test_a_missing_key_names_the_variable_and_this_machine_needs_none(
    server, ask_model, monkeypatch, tmp_path
):
    monkeypatch.delenv("KG2RAG_TEST_KEY")
    assert ask_model(server).complete("p").text == "answer to p"
    with pytest.raises(ValueError, match="KG2RAG_TEST_KEY"):
        ChatModel(
            "https://api.example/v1", "tiny", "KG2RAG_TEST_KEY", store=Store(tmp_path)
        ).complete("p")


@pytest.mark.parametrize(
    "key", ["sk-0123456789\nabcdef", "sk-0123456789 abcdef", "sk-0123456789ébcdef"]
)
def test_a_key_that_no_header_can_carry_is_refused_and_not_shown(
    server, ask_model, monkeypatch, key
):
    monkeypatch.setenv("KG2RAG_TEST_KEY", key)
    with pytest.raises(ValueError, match="KG2RAG_TEST_KEY") as raised:
        ask_model(server).complete("p")
    assert key[:8] not in str(raised.value)
    assert raised.value.__cause__ is None


@pytest.mark.parametrize(
    "url", ["http://me:secret@host/v1", "http://host/v1?key=secret"]
)
def test_a_key_in_the_address_is_refused_without_quoting_it(url):
    with pytest.raises(ValueError, match="environment variable") as raised:
        ChatModel(url, "tiny")
    assert "secret" not in str(raised.value)


@pytest.mark.parametrize(
    "wrong",
    [
        {"concurrency": 0},
        {"retries": -1},
        {"max_tokens": 0},
        {"structured": "yaml"},
        {"base_url": "host"},
    ],
    ids=str,
)
def test_a_wrong_parameter_is_named(wrong):
    with pytest.raises(ValueError, match=next(iter(wrong))):
        ChatModel(**{"base_url": "http://host/v1", "model": "tiny", **wrong})


@pytest.mark.parametrize("prompt", [[], [{"role": "user"}], "\ud800"], ids=repr)
def test_a_prompt_that_cannot_be_sent_is_refused_before_anything_is_paid(
    server, ask_model, prompt
):
    with pytest.raises(ValueError, match=r"^A prompt"):
        ask_model(server).complete_many(["p", prompt])
    assert not server.requests


# Strategies that ask while they retrieve


def test_the_first_query_without_an_answer_is_named_with_what_it_cost(ask_model):
    with serving(lambda prompt: "no" if prompt == "y" else '{"city": "x"}') as server:
        model = ask_model(server)
        with pytest.raises(CompletionError, match=r"query '2' \('y'\)") as error:
            ask_each(
                model,
                ["query '1'", name_of(Query("2", "y"))],
                ["x", "y"],
                City,
                "asking",
            )
        answer = model.complete("x", City)
    assert (
        error.value.failure.prompt_tokens,
        error.value.failure.completion_tokens,
    ) == (7, 3)
    assert "no city" in str(unusable("query '1'", answer, "it is no city"))


@given(st.text(st.characters(codec=None)))
def test_any_text_is_quoted_so_that_it_can_be_sent(text):
    received = json.loads(quoted(text).encode())
    assert "\n" not in quoted(text)
    assert not any(0xD800 <= ord(char) < 0xE000 for char in received)
    with suppress(UnicodeEncodeError):  # a text that can be sent is sent as it is
        text.encode()
        assert received == text


# Limits of spending


def kinds(outcomes: list[Any]) -> list[str]:
    return [
        outcome.kind if isinstance(outcome, Failure) else "answered"
        for outcome in outcomes
    ]


@pytest.mark.parametrize("concurrency", [1, 8])
def test_no_more_requests_are_sent_than_allowed_by_all_models_that_share_the_limit(
    ask_model, concurrency
):
    with serving() as server:
        spending = Spending(max_calls=5)
        outcomes = ask_model(
            server, spending=spending, concurrency=concurrency
        ).complete_many(PROMPTS)
        assert kinds(
            ask_model(server, spending=spending, seed=1).complete_many(PROMPTS[:1])
        ) == ["limit"]
        assert (server.requests.total(), spending.calls) == (5, 5)
        again = ask_model(server, spending=Spending(max_calls=7)).complete_many(PROMPTS)
        # Goes on from there, and pays for nothing twice.
        assert kinds(again) == ["answered"] * 12
        assert set(server.paid.values()) == {1}
    assert sorted(kinds(outcomes)) == ["answered"] * 5 + ["limit"] * 7
    with serving(fault=first("500", 9)) as server:  # retries count
        (failure,) = ask_model(
            server, spending=Spending(max_calls=3), seed=2
        ).complete_many(["p"])
        assert server.requests.total() == 3
    assert (failure.kind, failure.attempts) == ("limit", 3)


@pytest.mark.parametrize("concurrency", [1, 8])
def test_no_more_is_spent_than_allowed(ask_model, concurrency):
    with serving() as server:
        most = plain_most(
            ask_model(server, max_tokens=5, structured="prompt", **PRICES)
        )
        # of one call after the other the fifth may cost `most`, then nothing more fits
        limit = most + 4 * ANSWER
        spending = Spending(max_cost=limit)
        model = ask_model(
            server, max_tokens=5, concurrency=concurrency, spending=spending, **PRICES
        )
        outcomes = model.complete_many(PROMPTS)
        sent = server.requests.total()
    assert 1 <= sent <= 5
    assert sent == 5 or concurrency > 1
    assert sorted(kinds(outcomes)) == ["answered"] * sent + ["limit"] * (12 - sent)
    assert spending.cost == sent * ANSWER <= limit
    assert any(
        f"{limit:g}" in one.reason for one in outcomes if isinstance(one, Failure)
    )


def plain_most(model: ChatModel) -> int:
    """The bytes of the longest request, as the client writes it, and the tokens of the answer."""
    streamed = {"stream": True, "stream_options": {"include_usage": True}}
    bodies = [
        json.dumps(model.request(prompt) | streamed, separators=(",", ":"))
        for prompt in PROMPTS
    ]
    return max(map(len, bodies)) + 5


def test_what_may_have_been_paid_counts_as_paid_and_what_was_refused_does_not(
    ask_model,
):
    costs = {}
    for fault in ("500", "reset", "cut", "uncounted"):
        with serving(fault=first(fault)) as server:
            spending = Spending(max_cost=1e6)
            completion = ask_model(
                server, seed=len(costs), max_tokens=5, spending=spending, **PRICES
            ).complete("p")
            assert isinstance(completion, Completion)
            costs[fault] = spending.cost
    assert costs["500"] == ANSWER
    assert costs["reset"] > ANSWER + 5
    assert costs["cut"] > ANSWER + 5
    assert costs["uncounted"] > ANSWER + 5


def test_a_limit_of_cost_that_cannot_be_kept_is_refused_before_anything_is_sent(
    ask_model,
):
    with serving() as server:
        with pytest.raises(ValueError, match="prompt_price and completion_price"):
            ask_model(server, spending=Spending(max_cost=1.0))
        with pytest.raises(ValueError, match="max_tokens"):
            ask_model(
                server, spending=Spending(max_cost=1.0), max_tokens=None, **PRICES
            )
    with pytest.raises(ValueError, match="max_calls"):
        Spending(max_calls=0)


def test_a_damaged_file_of_answers_is_named(server, ask_model, tmp_path):
    ask_model(server).complete("p")
    (tmp_path / "store" / "answers.sqlite").write_bytes(b"no database" * 100)
    with pytest.warns(DamagedEntryWarning, match=r"answers\.sqlite"):
        assert not ask_model(server).complete("p").cached


@settings(deadline=None)
@given(st.text(alphabet="{}[]'\",: aTrue\\\n"))
def test_whatever_the_text_reading_json_gives_a_value_or_a_value_error(text):
    with suppress(ValueError):
        json.dumps(json_in(text))


def test_an_interrupt_leaves_the_queue_unasked(ask_model, monkeypatch):
    def release(futures: list[Future[object]]) -> None:
        wait_until(lambda: sum(future.cancelled() for future in futures) == 8)
        server.gate.set()

    def interrupted(futures: dict[Future[object], str]) -> None:
        wait_until(lambda: server.waiting == 2)
        threading.Thread(target=release, args=(list(futures),)).start()
        raise KeyboardInterrupt

    with serving() as server:
        server.holds = lambda _: True
        monkeypatch.setattr("kg2rag.llm.batch.as_completed", interrupted)
        with pytest.raises(KeyboardInterrupt):
            ask_model(server, concurrency=2).complete_many([f"p{i}" for i in range(50)])
        assert server.requests.total() == 2


def test_a_plan_counts_what_is_not_stored_and_takes_time_and_tokens_from_what_is(
    ask_model,
):
    with serving(delay=0.2) as server:
        model = ask_model(server, concurrency=2, prompt_price=1e6, completion_price=1e6)
        before = model.plan(["a", "b", "b"], answer_tokens=10)
        assert (
            before.calls,
            before.stored,
            before.completion_tokens,
            before.seconds,
        ) == (
            2,
            0,
            20,
            None,
        )
        assert before.cost == before.prompt_tokens + 20
        model.complete("a")
        after = model.plan(["a", "b"], answer_tokens=10)
        assert (after.calls, after.stored) == (1, 1)
        # as the endpoint counted those of "a"
        assert (after.prompt_tokens, after.completion_tokens) == (7, 3)
        assert after.seconds >= 0.1  # one call of at least .2 seconds, two at a time
        assert model.plan(["a"], answer_tokens=10).seconds == 0
        both = before + after
        assert (both.calls, both.seconds) == (3, None)
