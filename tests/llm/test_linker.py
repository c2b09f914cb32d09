"""Entities that a language model names: limited to the graph's types, looked up, reported where unknown."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from llm_server import ChatServer, serving
from word_embedder import WordEmbedder

from kg2rag.compute import Store
from kg2rag.extraction import Entity, Extraction
from kg2rag.knowledge import KnowledgeBase, KnowledgeGraph
from kg2rag.llm import ChatModel, CompletionError
from kg2rag.llm.linker import LLMLinker, UnknownNameWarning
from kg2rag.retrievers.designs.vector_first import VectorFirst
from kg2rag.retrievers.linking.linkers import ChainLinker, Link, NGramLinker
from kg2rag.types import Corpus, Passage, Query, Triple

ENTITIES = (
    Entity("New York City", "Place", aliases=("NYC",)),
    Entity("Tim Burton", "Person"),
    Entity("Ed Wood", "Film"),
    Entity("Rebecca"),
)
FACTS = (Triple("Ed Wood", "directed by", "Tim Burton", "p1"),)
CORPUS = Corpus.from_passages(
    [Passage(f"p{i}", "", text, f"d{i}", 0) for i, text in enumerate(("one", "two"))]
)

Maker = Callable[..., LLMLinker]


@pytest.fixture(autouse=True)
def _environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    monkeypatch.setattr("openai._base_client.INITIAL_RETRY_DELAY", 0.02)


@pytest.fixture
def linker_of(tmp_path: Path) -> Maker:
    def make(
        server: ChatServer,
        *,
        entities: tuple[Entity, ...] = ENTITIES,
        retries: int = 1,
        **given: Any,
    ) -> LLMLinker:
        graph = KnowledgeGraph.build(
            Extraction(FACTS if entities else (), entities=entities), CORPUS
        )
        kb = KnowledgeBase.build(
            CORPUS, graph, embedder=WordEmbedder(), store=Store(tmp_path / "kb")
        )
        model = ChatModel(
            server.url,
            "tiny",
            api_key_env=None,
            retries=retries,
            store=Store(tmp_path / "answers"),
        )
        return LLMLinker(kb, model, **given)

    return make


def naming(*entities: tuple[str, str]) -> Callable[[str], str]:
    """A model that always names the same entities."""
    return lambda _: json.dumps(
        {"entities": [{"name": name, "type": kind} for name, kind in entities]}
    )


def test_what_the_model_names_is_looked_up_by_name_and_alias(linker_of: Maker) -> None:
    with serving(naming(("tim burton", "Person"), ("NYC", "place"))) as server:
        (links,) = linker_of(server).link_batch(
            [Query("q", "is Tim Burton from the big apple")]
        )
    # New York is not spelt in the query
    assert links == [Link(1, (3, 13), "llm", 0.8), Link(0, (0, 32), "llm", 0.8)]


def test_the_model_is_told_the_types_and_its_schema_has_no_others(
    linker_of: Maker,
) -> None:
    with serving(naming()) as server:
        linker_of(server).link_batch([Query("q", 'who made "it"')])
    assert "no others: Film, Person, Place." in (prompt := next(iter(server.requests)))
    assert 'Query: "who made \\"it\\""' in prompt
    schema = json.dumps(server.bodies[0]["response_format"]["json_schema"]["schema"])
    assert '"enum": ["Film", "Person", "Place"]' in schema


def test_names_that_the_graph_lacks_are_told_and_not_used(linker_of: Maker) -> None:
    with serving(naming(("Johnny Depp", "Person"), ("Tim Burton", "Person"))) as server:
        linker = linker_of(server)
        queries = [Query("q1", "first"), Query("q2", "second")]
        with pytest.warns(UnknownNameWarning, match="2 .*'Johnny Depp'.*'q1'"):
            assert [
                [link.entity for link in links] for links in linker.link_batch(queries)
            ] == [
                [1],
                [1],
            ]
    assert sum(server.requests.values()) == 2


def test_equal_queries_are_asked_about_once_and_queries_without_a_word_never(
    linker_of: Maker,
) -> None:
    with serving(naming(("Ed Wood", "Film"))) as server:
        queries = [Query("1", "x"), Query("2", ""), Query("3", "x"), Query("4", "?!")]
        assert list(map(len, linker_of(server).link_batch(queries))) == [1, 0, 1, 0]
    assert sum(server.requests.values()) == 1


@pytest.mark.parametrize(
    ("reply", "says"),
    [
        ('{"entities": [{"name": "Ed Wood"', "cut off|part of a list"),
        ('{"names": []}', "entities: Field required"),
        ("Ed Wood", "no JSON object"),
    ],
)
def test_an_answer_of_another_form_fails_and_names_the_query(
    linker_of: Maker, reply: str, says: str
) -> None:
    with (
        serving(lambda _: reply) as server,
        pytest.raises(CompletionError, match=says) as error,
    ):
        linker_of(server).link_batch([Query("q7", "who")])
    assert "query 'q7' ('who')" in str(error.value)


def test_a_schema_of_types_is_all_that_the_model_is_told_of(linker_of: Maker) -> None:
    with serving(naming(("Tim Burton", "Person"))) as server:
        linker = linker_of(server)
        system = VectorFirst(
            linker.kb,
            types=("person",),
            linker=ChainLinker((NGramLinker(linker.kb), linker)),
        )
        assert [one.name for one in system.retrieve("who made it").notes.linked] == [
            "Tim Burton"
        ]
    (sent,) = server.bodies
    assert (
        "entities of these types and no others: Person."
        in sent["messages"][0]["content"]
    )


def test_an_entity_of_another_type_is_left_out_and_the_others_stay(
    linker_of: Maker,
) -> None:
    reply = '{"entities": [{"name": "Tim Burton", "type": "Song"}, {"name": "Tim Burton", "type": "PERSON"}]}'
    with serving(lambda _: reply) as server:
        assert len(linker_of(server).link_batch([Query("q", "tim burton")])[0]) == 1
    with serving(lambda _: reply.replace("PERSON", "Song")) as server:
        assert linker_of(server).link_batch([Query("q", "who is tim burton")]) == [[]]
