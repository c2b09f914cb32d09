"""A function behind a real endpoint."""

from __future__ import annotations

from pathlib import Path

import pytest

from kg2rag import ChatModel, Store
from kg2rag.llm.chat_model import Failure
from kg2rag.testing import ChatEndpoint, first_title


def test_a_model_is_answered_by_the_function_and_after_closing_by_nobody(
    tmp_path: Path,
) -> None:
    with ChatEndpoint(str.upper) as endpoint:
        model = ChatModel(
            endpoint.url, "any", api_key_env=None, store=Store(tmp_path), retries=0
        )
        answers = [
            model.complete(prompt).text for prompt in ("who wrote it", "and when?")
        ]
    assert answers == ["WHO WROTE IT", "AND WHEN?"]
    (failed,) = model.complete_many(["once more"])
    assert isinstance(failed, Failure)


@pytest.mark.parametrize(
    ("prompt", "title"),
    [
        (
            "Query\n[1] [Score: 1.0] [Source: dense]\nEd Wood\nA film.\n[2] [Score: .5]\nTim Burton",
            "Ed Wood",
        ),
        (
            "[1] [Score: 1.0] [Source: graph]\nPath: a -[b]-> c\nEd Wood\nA film.",
            "Ed Wood",
        ),
        ("no passage", "nothing was found"),
    ],
)
def test_the_title_below_the_first_key_is_found_with_and_without_a_path(
    prompt: str, title: str
) -> None:
    assert first_title(prompt) == title
