"""What a strategy asks of a model: failures that name their query, texts that can be sent, objects left unclosed."""

from __future__ import annotations

import json
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from llm_server import serving
from pydantic import BaseModel

from kg2rag.compute import ChatModel, CompletionError, Store
from kg2rag.compute.llm.json_text import json_in
from kg2rag.compute.llm.queries import ask_each, name_of, quoted, unusable
from kg2rag.types import Query


class City(BaseModel):
    city: str


@pytest.fixture(autouse=True)
def _environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    monkeypatch.setattr("openai._base_client.INITIAL_RETRY_DELAY", 0.02)


def test_answers_come_in_the_order_of_the_prompts(tmp_path: Path) -> None:
    with serving(lambda prompt: json.dumps({"city": prompt})) as server:
        model = ChatModel(server.url, "tiny", api_key_env=None, store=Store(tmp_path))
        found = ask_each(model, ["a", "b", "c"], ["x", "y", "x"], City, "asking")
    assert [answer.parsed.city for answer in found] == ["x", "y", "x"]


def test_the_first_query_without_an_answer_is_named_with_what_it_cost(tmp_path: Path) -> None:
    with serving(lambda prompt: "no" if prompt == "y" else '{"city": "x"}') as server:
        model = ChatModel(server.url, "tiny", api_key_env=None, store=Store(tmp_path))
        with pytest.raises(CompletionError, match=r"output: query '2' \('y'\): City was asked for") as error:
            ask_each(model, ["query '1'", name_of(Query("2", "y"))], ["x", "y"], City, "asking")
    assert (error.value.failure.prompt_tokens, error.value.failure.completion_tokens) == (7, 3)


def test_an_unusable_answer_is_quoted(tmp_path: Path) -> None:
    with serving(lambda _: '{"city": "x"}') as server:
        answer = ChatModel(server.url, "tiny", api_key_env=None, store=Store(tmp_path)).complete("p", City)
    error = unusable("query '1'", answer, "it is no city")
    assert str(error) == "output: query '1': it is no city; the model wrote '{\"city\": \"x\"}' (1 attempt)"


@given(st.text(st.characters(codec=None)))
def test_any_text_is_quoted_so_that_it_can_be_sent(text: str) -> None:
    received = json.loads(quoted(text).encode())
    assert "\n" not in quoted(text)
    assert not any(0xD800 <= ord(char) < 0xE000 for char in received)
    with suppress(UnicodeEncodeError):  # a text that can be sent is sent as it is
        text.encode()
        assert received == text


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text("ab\"'\\{}[],", max_size=4),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text("ab", max_size=2), inner, max_size=3),
    max_leaves=6,
)


@given(st.dictionaries(st.sampled_from("pqrs"), VALUES, min_size=1), st.integers(0, 60))
def test_an_object_cut_anywhere_is_read_as_it_was_or_refused(value: dict[str, object], end: int) -> None:
    with suppress(ValueError):
        assert json_in(json.dumps(value)[:end], keys=value) == value


@given(st.dictionaries(st.sampled_from("pqrs"), st.text() | st.lists(st.integers()), min_size=1))
def test_an_object_that_lacks_its_closing_brace_alone_is_closed(value: dict[str, object]) -> None:
    text = json.dumps(value)[:-1]
    assert json_in(text, keys=value) == json_in(f"```json\n{text},\n```", keys=value) == value


@pytest.mark.parametrize(
    "text", ['{"a": "x"', '{"a": "x", "b": 1', '{"a": {"b": "x"', '{"a": "x", "b": [1', '{"a": "x", "b']
)
def test_an_object_that_may_lack_more_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="cut off"):
        json_in(text, keys=("a", "b"))
