"""Typed graphs by a language model on loopback: schemas, what is read and cleaned, merged descriptions."""

from __future__ import annotations

import json
import pickle
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from llm_server import FAULTS, MODEL_FAULTS, ChatServer, Fault, at_random, last_message, never, serving

from kg2rag.compute import ChatModel, Store
from kg2rag.extraction import Entity, Mention
from kg2rag.extraction.prompted import STYLES, ExtractionError, GraphSchema, PromptedTriples, PromptStyle
from kg2rag.knowledge import KnowledgeGraph
from kg2rag.types import Corpus, Passage, Triple

TYPED = STYLES["typed"]
SCHEMA = GraphSchema({"Person": "a human being", "film": ""}, ["directed by"])
CORPUS = Corpus.from_passages(
    [
        Passage("p0", "Ed Wood", "Ed Wood is a film by Tim Burton.", "p0", 0),
        Passage("p1", "Burbank", "Tim Burton was born in Burbank.", "p1", 0),
    ]
)


def relation(source: str, name: str, target: str, about: str = "", **weights: float) -> dict[str, object]:
    return {"source": source, "relation": name, "target": target, "description": about, **weights}


ANSWERS: dict[str, dict[str, object]] = {
    "Passage: Ed Wood": {
        "entities": [
            {"name": "Ed Wood", "type": "film", "description": "A film."},
            {"name": "Tim Burton", "type": "person", "description": "He made Ed Wood."},
        ],
        "relations": [relation("Ed Wood", "directed by", "Tim Burton", "Burton made it.", strength=9, confidence=0.8)],
    },
    "Passage: Burbank": {
        "entities": [
            {"name": "TIM BURTON", "type": "person", "description": "Born in Burbank."},
            {"name": "Burbank", "type": "city", "description": ""},
        ],
        "relations": [relation("Tim Burton", "born in", "Burbank", "He was born there.", strength=7, confidence=1)],
    },
}


def reply(question: str) -> str:
    return json.dumps(next(answer for start, answer in ANSWERS.items() if question.startswith(start)))


@pytest.fixture(autouse=True)
def _environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    monkeypatch.setattr("openai._base_client.INITIAL_RETRY_DELAY", 0.02)


@pytest.fixture
def server() -> Iterator[ChatServer]:
    with serving(reply, prompt_of=last_message) as running:
        yield running


ModelOf = Callable[..., ChatModel]


@pytest.fixture
def model_of(tmp_path: Path) -> ModelOf:
    def make(server: ChatServer, **options: Any) -> ChatModel:
        return ChatModel(server.url, "tiny", api_key_env=None, store=Store(tmp_path / "store"), **options)

    return make


def serve(fault: Fault = never):
    return serving(reply, fault, prompt_of=last_message)


# Extraction


def test_entities_and_relations_come_with_types_descriptions_and_weights(server, model_of):
    found = PromptedTriples(model_of(server), "typed").extract(CORPUS)
    assert found.triples == (
        Triple("Ed Wood", "directed by", "Tim Burton", "p0", 9.0, 0.8, "Burton made it."),
        Triple("Tim Burton", "born in", "Burbank", "p1", 7.0, 1.0, "He was born there."),
    )
    assert found.entities == (
        Entity("Ed Wood", "film", "A film."),
        Entity("Tim Burton", "person", "He made Ed Wood. Born in Burbank."),
        Entity("Burbank", "city"),
    )
    assert found.mentions == (
        Mention("Ed Wood", "p0"),
        Mention("Tim Burton", "p0"),
        Mention("TIM BURTON", "p1"),
        Mention("Burbank", "p1"),
    )
    graph = KnowledgeGraph.build(found, CORPUS)
    assert graph.entity_types == ("city", "film", "person")
    assert [triple.strength for triple in map(graph.triple, range(2))] == [9.0, 7.0]


def test_the_types_of_a_schema_are_an_enumeration_of_the_request_and_named_in_its_instruction(server, model_of):
    PromptedTriples(model_of(server, concurrency=1), TYPED.typed(SCHEMA)).run(CORPUS)
    body = server.bodies[0]
    defined = body["response_format"]["json_schema"]["schema"]["$defs"]
    assert defined["NamedEntity"]["properties"]["type"]["enum"] == ["Person", "film"]
    assert defined["StatedRelation"]["properties"]["relation"]["enum"] == ["directed by"]
    assert defined["StatedRelation"]["required"] == [*defined["StatedRelation"]["properties"]]
    assert (
        "one of these, and what fits none is left out: Person (a human being); film." in body["messages"][0]["content"]
    )
    assert len(body["messages"]) == 2  # an example of other types would teach those


def test_what_is_outside_the_schema_is_dropped_or_left_without_a_type_and_counted(server, model_of):
    found = PromptedTriples(model_of(server), TYPED.typed(SCHEMA)).extract(CORPUS)
    assert [triple.relation for triple in found.triples] == ["directed by"]
    assert [entity.type for entity in found.entities] == ["film", "Person", ""]
    assert found.notes == {
        "dropped: triples of a relation outside the schema": 1,
        "entities of a type outside the schema, kept without one": 1,
        "passages without a triple": 1,
    }


def test_a_style_without_types_takes_no_schema():
    with pytest.raises(ValueError, match="Style 'kg2rag' asks for no types, so it takes no schema"):
        STYLES["kg2rag"].typed(SCHEMA)


@pytest.mark.parametrize("style", [TYPED, TYPED.typed(SCHEMA)], ids=["open", "closed"])
def test_a_typed_style_is_picklable(style: PromptStyle):
    again = pickle.loads(pickle.dumps(style))
    assert (again, again.fingerprint) == (style, style.fingerprint)


@pytest.mark.parametrize("seed", range(3))
def test_faults_of_the_connection_and_the_model_end_in_the_same_graph(model_of, seed):
    faults = tuple(fault for fault in (*FAULTS, *MODEL_FAULTS) if fault != "slow")
    with serve(at_random(0.4, seed, faults)) as server:
        extractor = PromptedTriples(model_of(server), TYPED.typed(SCHEMA))
        run = extractor.run(CORPUS)
        for _ in range(20):
            run = extractor.run(CORPUS, retry_failed=True) if run.failures else run
    with serve() as server:
        right = PromptedTriples(model_of(server), TYPED.typed(SCHEMA))
        expected = right.extract(CORPUS)
    assert run.failures == ()
    assert (run.extraction.triples, run.extraction.entities) == (expected.triples, expected.entities)


# What is read


@pytest.fixture
def read(model_of) -> Callable[..., tuple[tuple[Entity, ...], tuple[Triple, ...], dict[str, int]]]:
    """What is kept of one answer."""

    def ask(answer: object, schema: GraphSchema = SCHEMA) -> Any:
        with serving(lambda _: json.dumps(answer), prompt_of=last_message) as server:
            extractor = PromptedTriples(model_of(server), TYPED.typed(schema))
            found = extractor.extract(Corpus.from_passages([Passage("p", "", "Text.", "p", 0)]))
        return found.entities, found.triples, found.notes

    return ask


def test_names_alone_and_lists_of_three_are_read_and_other_keys_for_the_parts(read):
    entities, triples, notes = read(
        {
            "entities": ["Ed Wood", {"name": "Tim Burton", "type": "PERSON", "born": 1958}],
            "relations": [
                ["Ed Wood", "Directed_By", "Tim Burton"],
                {"head": "A", "predicate": "directed by", "tail": "B", "strength": "8", "confidence": None},
            ],
        }
    )
    assert entities == (Entity("Ed Wood"), Entity("Tim Burton", "Person"))
    assert triples == (
        Triple("Ed Wood", "directed by", "Tim Burton", "p", 5.0, 1.0),
        Triple("A", "directed by", "B", "p", 8.0, 1.0),
    )
    assert notes == {}


def test_what_a_graph_cannot_have_is_dropped_by_cause_and_weights_are_brought_into_range(read):
    entities, triples, notes = read(
        {
            "entities": [{"name": " "}, {"name": "x" * 101}, {"name": "a", "type": "t"}, {"name": "A", "type": "u"}],
            "relations": [
                relation("a", "r", "A"),
                relation("a", "r", ""),
                relation("a", "r", "b", strength=0, confidence=1.5),
                relation("a", "r", "b", "Later.", strength=12),
                relation("a", "s", "b", confidence=0),
                ["a", "b"],
            ],
        },
        GraphSchema(),
    )
    assert entities == (Entity("a", "t"),)
    assert triples == (Triple("a", "r", "b", "p", 10.0, 1.0, "Later."),)
    assert notes == {
        "dropped: entities that are blank": 1,
        "dropped: entities longer than 100 characters": 1,
        "dropped: triples from an entity to itself": 1,
        "dropped: triples with a blank part": 2,
        "dropped: triples of confidence 0": 1,
        "dropped: triples that a passage has already": 1,
        "strengths and confidences out of range, brought into it": 2,
    }


@pytest.mark.parametrize(
    "answer",
    [
        {"entities": []},
        {"entities": [], "relations": "none"},
        {"entities": [{"name": ["a"]}], "relations": []},
        {"entities": [], "relations": [relation("a", "r", "b", strength="high")]},  # type: ignore[arg-type]
    ],
)
def test_an_answer_of_another_shape_is_no_answer(read, answer: object):
    with pytest.raises(ExtractionError, match="output"):
        read(answer)


# Schemas


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "no type at all"),
        ('types = ["a"]', "unknown field 'types'. Known: entity_types, relation_types"),
        ('entity_types = "a"', "entity_types is 'a'; needed: a list of types"),
        ('entity_types = ["a", 3]', "entity_types has 3"),
        ('relation_types = [" "]', "no blank type"),
        ('entity_types = ["film", "Film"]', "entity_types has 'Film' twice"),
        ("entity_types = [", "not a TOML file"),
    ],
)
def test_a_schema_file_that_is_none_is_named(tmp_path: Path, text: str, message: str):
    (tmp_path / "schema.toml").write_text(text)
    with pytest.raises(ValueError, match=rf"schema.toml: .*{message}"):
        GraphSchema.read(tmp_path / "schema.toml")
