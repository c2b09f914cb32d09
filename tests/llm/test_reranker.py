"""Texts that a language model puts in order: windows, repairs and refusals; over real sockets."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from by_hand import knowledge_base, passages
from hypothesis import given
from hypothesis import strategies as st
from llm_server import ChatServer, at_random, serving

from kg2rag.compute import Store
from kg2rag.extraction import Extraction
from kg2rag.llm import ChatModel, CompletionError
from kg2rag.llm.reranker import MAX_WORDS, LLMReranker, read_order
from kg2rag.retrievers.dense import Dense
from kg2rag.retrievers.rerankers import Rerank
from kg2rag.types import Query

Maker = Callable[..., LLMReranker]


@pytest.fixture(autouse=True)
def _environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    monkeypatch.setattr("openai._base_client.INITIAL_RETRY_DELAY", 0.02)


@pytest.fixture
def reranker_of(tmp_path: Path) -> Maker:
    def make(
        server: ChatServer, retries: int = 1, concurrency: int = 8, **given: Any
    ) -> LLMReranker:
        store = Store(tmp_path / "answers")
        model = ChatModel(
            server.url,
            "tiny",
            api_key_env=None,
            retries=retries,
            concurrency=concurrency,
            timeout=600.0,
            store=store,
        )
        return LLMReranker(model, **given)

    return make


def shown(prompt: str) -> list[str]:
    """The texts of a prompt, by their numbers."""
    return re.findall(r"^\[\d+\] ?(.*)$", prompt, re.MULTILINE)


def largest_first(prompt: str) -> str:
    """A model that orders texts by the number that they begin with."""
    values = [int(text.split()[0]) for text in shown(prompt)]
    return json.dumps(
        {"order": sorted(range(1, len(values) + 1), key=lambda at: -values[at - 1])}
    )


def saying(*order: int) -> Callable[[str], str]:
    return lambda _: json.dumps({"order": order})


def pairs(*values: int, query: str = "q") -> list[tuple[str, str]]:
    return [(query, str(value)) for value in values]


def test_windows_go_from_the_end_to_the_front(reranker_of: Maker) -> None:
    with serving(largest_first) as server:
        (scores,) = reranker_of(server, window=4).score_lists(
            [pairs(1, 2, 3, 4, 5, 9, 7)]
        )
    windows = [shown(body["messages"][0]["content"]) for body in server.bodies]
    # places 3 to 6; then 1 to 4, whose last two are the best of the first; then the front
    assert windows == [["4", "5", "9", "7"], ["2", "3", "9", "7"], ["1", "9", "7", "3"]]
    assert sorted(1 / scores) == [1, 2, 3, 4, 5, 6, 7]
    assert [[9, 7, 3, 1, 2, 5, 4][round(1 / score) - 1] for score in scores] == [
        1,
        2,
        3,
        4,
        5,
        9,
        7,
    ]


def test_a_list_has_the_same_scores_whatever_is_reranked_with_it(
    reranker_of: Maker,
) -> None:
    lists = [pairs(*range(n), query=f"query {n}") for n in (1, 7, 0, 4)]
    with serving(
        largest_first, at_random(0.3, seed=1, faults=("429", "500", "reset"))
    ) as server:
        reranker = reranker_of(server, retries=8, window=3)
        together = [scores.tolist() for scores in reranker.score_lists(lists)]
        assert together == [reranker.score_lists([one])[0].tolist() for one in lists]


def test_one_text_or_none_needs_no_model_and_a_query_without_a_word_keeps_its_order(
    reranker_of: Maker,
) -> None:
    with serving() as server:
        found = reranker_of(server).score_lists(
            [[], pairs(1), pairs(1, 2, 3, query=" ?")]
        )
    assert [scores.tolist() for scores in found] == [[], [1], [1, 1 / 2, 1 / 3]]
    assert not server.bodies


def test_texts_are_one_line_each_cut_and_put_in_as_they_are(reranker_of: Maker) -> None:
    with serving(saying(1, 2)) as server:
        texts = [
            ('who "is" {n}?\n', "{query}\n[2] one" + " two" * MAX_WORDS),
            ('who "is" {n}?\n', "b"),
        ]
        reranker_of(server).score_lists([texts])
    prompt = server.bodies[0]["messages"][0]["content"]
    assert shown(prompt) == ["{query} [2] one" + " two" * (MAX_WORDS - 3), "b"]
    assert 'Query: "who \\"is\\" {n}?\\n"\n' in prompt


@pytest.mark.parametrize("order", [[], [1], [1, 2, 1, 3], [1, 2, 4]])
def test_an_answer_of_several_readings_fails_and_names_the_query(
    reranker_of: Maker, order: list[int]
) -> None:
    says = f"1 to 3, each once, .* {', '.join(map(str, order))}"
    with (
        serving(saying(*order)) as server,
        pytest.raises(CompletionError, match=says) as error,
    ):
        reranker_of(server).score_lists([pairs(1, 2, 3, query="who built it")])
    assert str(error.value).startswith("output: query 'who built it': ")


@given(st.permutations(list(range(1, 8))), st.integers(0, 6))
def test_a_permutation_is_read_as_it_stands_repeated_numbers_once_and_one_left_out_last(
    order: list[int], gone: int
) -> None:
    assert read_order([number for number in order for _ in range(2)], 7) == [
        number - 1 for number in order
    ]
    left = order[:gone] + order[gone + 1 :]
    assert read_order(left, 7) == [number - 1 for number in [*left, order[gone]]]


def test_rerank_takes_it_as_any_other_reranker(
    reranker_of: Maker, tmp_path: Path
) -> None:
    cosines = {"q": (0.8, 0.5, 0.1), "r": (0.1, 0.5, 0.8)}
    kb = knowledge_base(
        passages("1 one", "3 three", "2 two"),
        Extraction(),
        cosines,
        Store(tmp_path / "kb"),
    )
    queries = [Query("x", "q"), Query("y", "r"), Query("z", "q", ("p0", "p2"))]
    with serving(largest_first) as server:
        system = Dense(kb) >> Rerank(kb, reranker=reranker_of(server))
        found = system.retrieve_batch(queries, 3)
        alone = [system.retrieve_batch([query], 3)[0] for query in queries]
    assert [ranking.passage_ids for ranking in found] == [
        ["p1", "p2", "p0"],
        ["p1", "p2", "p0"],
        ["p2", "p0"],
    ]
    assert [ranking.scores.tolist() for ranking in found] == [
        ranking.scores.tolist() for ranking in alone
    ]
    assert found[0].hit(1).score_parts["reranker"] == 1


def test_a_window_of_one_is_refused_when_it_is_made(reranker_of: Maker) -> None:
    with serving() as server, pytest.raises(ValueError, match="window"):
        reranker_of(server, window=1)
