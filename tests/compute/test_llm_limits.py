"""Limits of spending, in requests and cost, and of pace."""

from __future__ import annotations

import json
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from llm_server import ChatServer, first, serving

from kg2rag.compute import ChatModel, Completion, Failure, Store
from kg2rag.compute.llm import Spending

PRICES = {"prompt_price": 1e6, "completion_price": 1e6}  # one a token
ANSWER = 10  # tokens, as the server counts them: 7 and 3
PROMPTS = [f"p{i}" for i in range(12)]
Maker = Callable[..., ChatModel]


@pytest.fixture
def model_of(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Maker:
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    monkeypatch.setattr("openai._base_client.INITIAL_RETRY_DELAY", 0.02)

    def make(server: ChatServer, **given: Any) -> ChatModel:
        return ChatModel(server.url, "tiny", None, **{"store": Store(tmp_path / "store"), "timeout": 600.0} | given)

    return make


def kinds(outcomes: list[Any]) -> list[str]:
    return [outcome.kind if isinstance(outcome, Failure) else "answered" for outcome in outcomes]


@pytest.mark.parametrize("concurrency", [1, 8])
def test_no_more_requests_are_sent_than_allowed_by_all_models_that_share_the_limit(model_of: Maker, concurrency: int):
    with serving() as server:
        spending = Spending(max_calls=5)
        outcomes = model_of(server, spending=spending, concurrency=concurrency).complete_many(PROMPTS)
        assert kinds(model_of(server, spending=spending, seed=1).complete_many(PROMPTS[:1])) == ["limit"]
        assert (server.requests.total(), spending.calls) == (5, 5)
    assert sorted(kinds(outcomes)) == ["answered"] * 5 + ["limit"] * 7
    with serving(fault=first("500", 9)) as server:  # retries count
        (failure,) = model_of(server, spending=Spending(max_calls=3), seed=2).complete_many(["p"])
        assert server.requests.total() == 3
    assert (failure.kind, failure.attempts) == ("limit", 3)


def test_a_later_run_goes_on_where_the_limit_was_reached_and_pays_for_nothing_twice(model_of: Maker) -> None:
    with serving() as server:
        model_of(server, spending=Spending(max_calls=5)).complete_many(PROMPTS)
        spending = Spending(max_calls=7)
        outcomes = model_of(server, spending=spending).complete_many(PROMPTS)
        assert kinds(outcomes) == ["answered"] * 12
        assert set(server.paid.values()) == {1}
    assert spending.calls == 7


@pytest.mark.parametrize("concurrency", [1, 8])
def test_no_more_is_spent_than_allowed(model_of: Maker, concurrency: int) -> None:
    with serving() as server:
        most = plain_most(model_of(server, max_tokens=5, structured="prompt", **PRICES))
        limit = most + 4 * ANSWER  # of one call after the other the fifth may cost `most`, then nothing more fits
        spending = Spending(max_cost=limit)
        model = model_of(server, max_tokens=5, concurrency=concurrency, spending=spending, **PRICES)
        outcomes = model.complete_many(PROMPTS)
        sent = server.requests.total()
    assert 1 <= sent <= 5
    assert sent == 5 or concurrency > 1
    assert sorted(kinds(outcomes)) == ["answered"] * sent + ["limit"] * (12 - sent)
    assert spending.cost == sent * ANSWER <= limit
    assert any(f"{limit:g}" in one.reason for one in outcomes if isinstance(one, Failure))


def plain_most(model: ChatModel) -> int:
    """The bytes of the longest request, as the client writes it, and the tokens of the answer."""
    bodies = [json.dumps(model.request(prompt), separators=(",", ":")) for prompt in PROMPTS]
    return max(map(len, bodies)) + 5


def test_what_may_have_been_paid_counts_as_paid_and_what_was_refused_does_not(model_of: Maker) -> None:
    costs = {}
    for fault in ("500", "reset", "cut", "uncounted"):
        with serving(fault=first(fault)) as server:
            spending = Spending(max_cost=1e6)
            completion = model_of(server, seed=len(costs), max_tokens=5, spending=spending, **PRICES).complete("p")
            assert isinstance(completion, Completion)
            costs[fault] = spending.cost
    assert costs["500"] == ANSWER
    assert costs["reset"] > ANSWER + 5
    assert costs["cut"] > ANSWER + 5
    assert costs["uncounted"] > ANSWER + 5


def test_a_limit_of_cost_that_cannot_be_kept_is_refused_before_anything_is_sent(model_of: Maker) -> None:
    with serving() as server:
        with pytest.raises(ValueError, match="needs both prices"):
            model_of(server, spending=Spending(max_cost=1.0))
        with pytest.raises(ValueError, match="needs max_tokens"):
            model_of(server, spending=Spending(max_cost=1.0), max_tokens=None, **PRICES)
    with pytest.raises(ValueError, match="max_calls"):
        Spending(max_calls=0)


def test_a_model_with_limits_stays_in_its_process(model_of: Maker) -> None:
    with serving() as server, pytest.raises(TypeError, match="hold within one process"):
        pickle.dumps(model_of(server, spending=Spending(max_calls=1)))
