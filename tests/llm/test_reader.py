from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from llm_server import ChatServer, serving

from kg2rag.compute import Store
from kg2rag.llm import ChatModel, Usage
from kg2rag.llm.reader import REASONED, SHORT, Reader, ReaderPrompt
from kg2rag.types import Query

ROME = Query("q1", "What is the capital of Italy?")
PARIS = Query("q2", "What is the capital of France?")

Maker = Callable[..., Reader]


@pytest.fixture
def reader(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Maker:
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    monkeypatch.setattr("openai._base_client.INITIAL_RETRY_DELAY", 0.02)

    def make(server: ChatServer, prompt: ReaderPrompt = SHORT, **given: Any) -> Reader:
        model = ChatModel(
            server.url, "tiny", api_key_env=None, store=Store(tmp_path), **given
        )
        return Reader(model, prompt)

    return make


def about(prompt: str) -> str:
    return "Rome" if "Italy" in prompt else "Paris"


def test_each_question_is_answered_from_its_own_context(reader):
    with serving(
        lambda prompt: "yes" if "Italy" in prompt and "Rome is" in prompt else "no"
    ) as server:
        answers = reader(server).read(
            [ROME, PARIS], ["Rome is {a} city.", "Rome is a city."]
        )
    assert answers.texts == {"q1": "yes", "q2": "no"}
    sent = [body["messages"][0]["content"] for body in server.bodies]
    assert any(
        one.endswith(f"\n\nRome is {{a}} city.\n\nQuestion: {ROME.text}")
        for one in sent
    )


def test_a_failed_question_is_listed_as_failed_and_is_no_empty_answer(reader):
    with serving(
        about, fault=lambda prompt, _: "500" if "France" in prompt else None
    ) as server:
        answers = reader(server, retries=0).read([ROME, PARIS], ["", ""])
    assert answers.texts == {"q1": "Rome"}
    assert list(answers.failed) == ["q2"]
    assert answers.failed["q2"].kind == "server"


def test_tokens_and_cost_are_those_of_all_questions(reader):
    with serving(about) as server:
        answers = reader(server, prompt_price=1.0, completion_price=1.0).read(
            [ROME, PARIS], ["", ""]
        )
    cost = pytest.approx(20e-6)  # 2 × (7 + 3) tokens at 1 per million
    assert answers.usage == Usage(2, 0, 0, 14, 6, cost=cost, new_cost=cost)


@pytest.mark.parametrize("output", ["Rome", " Rome\n", "Answer: Rome", "answer:Rome"])
def test_the_short_prompt_takes_the_output_less_a_label(output, reader):
    with serving(lambda _: output) as server:
        assert reader(server).read([ROME], [""]).texts == {"q1": "Rome"}


@pytest.mark.parametrize(
    "output",
    [
        "Italy … so\nAnswer: Rome",
        "**Answer:** Rome",
        "Answer: no, wait\nAnswer: Rome",
        "<think>?</think>Answer: Rome",
    ],
)
def test_the_reasoned_prompt_takes_the_last_labelled_line(output, reader):
    with serving(lambda _: output) as server:
        assert reader(server, REASONED).read([ROME], [""]).texts == {"q1": "Rome"}


@pytest.mark.parametrize("output", ["It is Rome.", "Answer:"])
def test_reasoning_without_an_answer_is_a_failure_that_was_paid_for(output, reader):
    with serving(lambda _: output) as server:
        answers = reader(server, REASONED).read([ROME], [""])
    assert output in answers.failed["q1"].reason
    assert (answers.usage.failed, answers.usage.prompt_tokens) == (1, 7)


@pytest.mark.parametrize(
    ("questions", "contexts"), [([ROME, PARIS], [""]), ([ROME, ROME], ["", ""])]
)
def test_every_question_stands_once_and_has_a_context(questions, contexts):
    with pytest.raises(ValueError, match=f"2 questions, .* {len(contexts)} contexts"):
        Reader(ChatModel("http://host/v1", "tiny")).read(questions, contexts)


@pytest.mark.parametrize(
    "template",
    ["{question}", "{question} {context} {x}", "{question} {context} {", "{}"],
)
def test_a_prompt_with_other_fields_is_refused(template):
    with pytest.raises(ValueError, match=r"fields|\{|[Pp]ositional|neither"):
        ReaderPrompt(template)
