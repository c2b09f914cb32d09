"""Typed graphs by a language model on loopback: schemas, what is read and cleaned."""

from __future__ import annotations

import json
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from llm_server import FAULTS, MODEL_FAULTS, at_random, last_message, serving

from kg2rag.compute import Store
from kg2rag.extraction import Entity, Extraction, Mention
from kg2rag.knowledge import KnowledgeGraph
from kg2rag.llm import ChatModel
from kg2rag.llm.extraction import STYLES, ExtractionError, GraphSchema, PromptedTriples
from kg2rag.types import Corpus, Passage, Triple

TYPED = STYLES["typed"]
SCHEMA = GraphSchema({"Person": "a human being", "film": ""}, ["directed by"])
CORPUS = Corpus.from_passages(
    [
        Passage("p0", "Ed Wood", "Ed Wood is a film by Tim Burton.", "p0", 0),
        Passage("p1", "Burbank", "Tim Burton was born in Burbank.", "p1", 0),
    ]
)


def relation(
    source: str, name: str, target: str, about: str = "", **weights: float
) -> dict[str, object]:
    return {
        "source": source,
        "relation": name,
        "target": target,
        "description": about,
        **weights,
    }


ANSWERS: dict[str, dict[str, object]] = {
    "Passage: Ed Wood": {
        "entities": [
            {"name": "Ed Wood", "type": "film", "description": "A film."},
            {"name": "Tim Burton", "type": "person", "description": "He made Ed Wood."},
        ],
        "relations": [
            relation(
                "Ed Wood",
                "directed by",
                "Tim Burton",
                "Burton made it.",
                strength=9,
                confidence=0.8,
            )
        ],
    },
    "Passage: Burbank": {
        "entities": [
            {"name": "TIM BURTON", "type": "person", "description": "Born in Burbank."},
            {"name": "Burbank", "type": "city", "description": ""},
        ],
        "relations": [
            relation(
                "Tim Burton",
                "born in",
                "Burbank",
                "He was born there.",
                strength=7,
                confidence=1,
            )
        ],
    },
}


Ask = Callable[..., tuple[Extraction, dict[str, Any]]]


@pytest.fixture
def ask(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Ask:
    """What is found where the answers are these, by the beginnings of the questions; and the first request."""
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")

    def found(
        schema: GraphSchema = SCHEMA,
        corpus: Corpus = CORPUS,
        answers: dict[str, Any] = ANSWERS,
    ) -> tuple[Extraction, dict[str, Any]]:
        def reply(question: str) -> str:
            return json.dumps(
                next(
                    answer
                    for start, answer in answers.items()
                    if question.startswith(start)
                )
            )

        with serving(reply, prompt_of=last_message) as server:
            model = ChatModel(
                server.url,
                "tiny",
                api_key_env=None,
                store=Store(tmp_path),
                concurrency=1,
            )
            return PromptedTriples(model, TYPED.typed(schema)).extract(
                corpus
            ), server.bodies[0]

    return found


@pytest.fixture
def read(
    ask: Ask,
) -> Callable[..., tuple[tuple[Entity, ...], tuple[Triple, ...], dict[str, int]]]:
    """What is kept of one answer."""

    def kept(answer: object, schema: GraphSchema = SCHEMA) -> Any:
        found, _ = ask(
            schema,
            Corpus.from_passages([Passage("p", "", "Text.", "p", 0)]),
            {"Passage": answer},
        )
        return found.entities, found.triples, found.notes

    return kept


# Extraction


def test_entities_and_relations_come_with_types_descriptions_and_weights(ask):
    found, _ = ask(GraphSchema())
    assert found.triples == (
        Triple(
            "Ed Wood", "directed by", "Tim Burton", "p0", 9.0, 0.8, "Burton made it."
        ),
        Triple(
            "Tim Burton", "born in", "Burbank", "p1", 7.0, 1.0, "He was born there."
        ),
    )
    assert found.entities == (
        Entity("Ed Wood", "film", "A film."),
        Entity("Tim Burton", "person", "He made Ed Wood. Born in Burbank."),
        Entity("Burbank", "city"),
    )
    named = [
        ("Ed Wood", "p0"),
        ("Tim Burton", "p0"),
        ("TIM BURTON", "p1"),
        ("Burbank", "p1"),
    ]
    assert found.mentions == tuple(Mention(*pair) for pair in named)
    graph = KnowledgeGraph.build(found, CORPUS)
    assert graph.entity_types == ("city", "film", "person")
    assert [triple.strength for triple in map(graph.triple, range(2))] == [9.0, 7.0]


def test_types_are_an_enumeration_of_the_request_and_what_is_outside_them_is_left_out_and_counted(
    ask,
):
    found, body = ask(SCHEMA)
    defined = body["response_format"]["json_schema"]["schema"]["$defs"]
    assert defined["NamedEntity"]["properties"]["type"]["enum"] == ["Person", "film"]
    assert defined["StatedRelation"]["properties"]["relation"]["enum"] == [
        "directed by"
    ]
    assert defined["StatedRelation"]["required"] == [
        *defined["StatedRelation"]["properties"]
    ]
    instruction, _ = body["messages"]  # an example of other types would teach those
    assert (
        "one of these, and what fits none is left out: Person (a human being); film."
        in instruction["content"]
    )
    assert [triple.relation for triple in found.triples] == ["directed by"]
    assert [entity.type for entity in found.entities] == ["film", "Person", ""]
    assert found.notes == {
        "dropped: triples of a relation outside the schema": 1,
        "entities of a type outside the schema, kept without one": 1,
        "passages without a triple": 1,
    }


def test_a_style_without_types_takes_no_schema_and_a_typed_one_is_picklable():
    with pytest.raises(ValueError, match=r"'kg2rag'.*schema"):
        STYLES["kg2rag"].typed(SCHEMA)
    again = pickle.loads(pickle.dumps(TYPED.typed(SCHEMA)))
    assert (again, again.fingerprint) == (
        TYPED.typed(SCHEMA),
        TYPED.typed(SCHEMA).fingerprint,
    )


# What is read


def test_names_alone_and_lists_of_three_are_read_and_other_keys_for_the_parts(read):
    entities, triples, notes = read(
        {
            "entities": [
                "Ed Wood",
                {"name": "Tim Burton", "type": "PERSON", "born": 1958},
            ],
            "relations": [
                ["Ed Wood", "Directed_By", "Tim Burton"],
                {
                    "head": "A",
                    "predicate": "directed by",
                    "tail": "B",
                    "strength": "8",
                    "confidence": None,
                },
            ],
        }
    )
    assert entities == (Entity("Ed Wood"), Entity("Tim Burton", "Person"))
    assert triples == (
        Triple("Ed Wood", "directed by", "Tim Burton", "p", 5.0, 1.0),
        Triple("A", "directed by", "B", "p", 8.0, 1.0),
    )
    assert notes == {}


def test_what_a_graph_cannot_have_is_dropped_by_cause_and_weights_are_brought_into_range(
    read,
):
    entities, triples, notes = read(
        {
            "entities": [
                {"name": " "},
                {"name": "x" * 101},
                {"name": "a", "type": "t"},
                {"name": "A", "type": "u"},
            ],
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


@pytest.mark.parametrize("seed", range(3))
def test_faults_of_the_connection_and_the_model_end_in_the_same_graph(
    ask: Ask, tmp_path: Path, seed: int
) -> None:
    def reply(question: str) -> str:
        return json.dumps(
            next(
                answer
                for start, answer in ANSWERS.items()
                if question.startswith(start)
            )
        )

    faults = tuple(fault for fault in (*FAULTS, *MODEL_FAULTS) if fault != "slow")
    with serving(reply, at_random(0.4, seed, faults), prompt_of=last_message) as server:
        model = ChatModel(
            server.url, "tiny", api_key_env=None, store=Store(tmp_path / "faulty")
        )
        extractor = PromptedTriples(model, TYPED.typed(SCHEMA))
        run = extractor.run(CORPUS)
        for _ in range(20):
            run = extractor.run(CORPUS, retry_failed=True) if run.failures else run
    expected, _ = ask()
    assert run.failures == ()
    assert (run.extraction.triples, run.extraction.entities) == (
        expected.triples,
        expected.entities,
    )
