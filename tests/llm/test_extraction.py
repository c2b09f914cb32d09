"""Triples by a language model: what is asked, what is read, what fails; the model is a server on loopback."""

from __future__ import annotations

import pickle
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from extraction_world import corpus, reply, triples
from hypothesis import given
from hypothesis import strategies as st
from llm_server import ChatServer, Fault, last_message, never, serving
from pydantic import ValidationError

from kg2rag.compute import Store
from kg2rag.extraction import Extractor, Mention
from kg2rag.llm import ChatModel
from kg2rag.llm.extraction import (
    STYLES,
    ExtractionError,
    PromptedTriples,
    PromptStep,
    PromptStyle,
)
from kg2rag.llm.extraction.answers import RelationAnswer, clean_triples, names_in
from kg2rag.llm.extraction.schema import Entities, Facts, GraphSchema, Stated
from kg2rag.types import Corpus, Passage, Triple


class Words:
    """A token counter of words."""

    def count(self, texts: Any) -> list[int]:
        return [len(text.split()) for text in texts]


@pytest.fixture(autouse=True)
def _environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    monkeypatch.setattr("openai._base_client.INITIAL_RETRY_DELAY", 0.02)


@pytest.fixture
def server() -> Iterator[ChatServer]:
    with serving(reply, prompt_of=last_message) as running:
        yield running


@pytest.fixture
def extractor(tmp_path: Path) -> Callable[..., PromptedTriples]:
    def make(
        server: ChatServer,
        style: str = "openie",
        limit: int | None = None,
        **model: Any,
    ) -> PromptedTriples:
        asked = ChatModel(
            server.url,
            "tiny",
            api_key_env=None,
            store=Store(tmp_path / "store"),
            **model,
        )
        return PromptedTriples(asked, style, limit)

    return make


def serve(fault: Fault = never, answer: Callable[[str], str] = reply):
    return serving(answer, fault, prompt_of=last_message)


# Extraction


@pytest.mark.parametrize("style", STYLES)
def test_every_stated_triple_is_found_once_in_the_order_of_the_passages(
    server, extractor, style
):
    assert extractor(server, style).extract(corpus(6)).triples == triples(6)


def test_openie_asks_for_triples_about_the_entities_it_was_told(server, extractor):
    found = extractor(server).extract(corpus(1))
    assert [last_message(body) for body in server.bodies] == [
        "Note 0\nAnn0 knows Bob0. Bob0 lives in Cairo1.",
        'Note 0\nAnn0 knows Bob0. Bob0 lives in Cairo1.\n\nEntities: ["Ann0", "Bob0", "Cairo1"]',
    ]
    assert found.mentions == tuple(
        Mention(name, "p0") for name in ("Ann0", "Bob0", "Cairo1")
    )


def test_kg2rag_asks_about_each_sentence_with_its_title_whose_braces_are_text(
    server, extractor
):
    given_ = Corpus.from_passages(
        [Passage("a", "{title}", "{x} knows Bob0. Bob0 lives in Cairo1.", "a", 0)]
    )
    extractor(server, "kg2rag", concurrency=1).extract(given_)
    assert [last_message(body) for body in server.bodies] == [
        "Title: {title}\nSentence: {x} knows Bob0.",
        "Title: {title}\nSentence: Bob0 lives in Cairo1.",
    ]
    sent = server.bodies[0]["response_format"]["json_schema"]["schema"]["properties"][
        "triples"
    ]
    assert (sent["maxItems"], sent["items"]["maxItems"], sent["items"]["minItems"]) == (
        8,
        3,
        3,
    )


def test_a_longer_text_may_hold_more_and_equal_lengths_have_the_same_schema(
    server, extractor
):
    texts = ["Ann0 knows Bob0."] * 2 + ["Ann0 knows Bob0. " * 30]
    passages = [
        Passage(str(i), f"t{i}", text, str(i), 0) for i, text in enumerate(texts)
    ]
    extractor(server, concurrency=1).extract(Corpus.from_passages(passages))
    schemas = [
        body["response_format"]["json_schema"]["schema"]["properties"]
        for body in server.bodies[:3]
    ]
    # 90 words / 4 and 8 more, in eights
    assert [schema["entities"]["maxItems"] for schema in schemas] == [8, 8, 32]


CUT = '{"triples": [["Ann0", "knows", "Bob0"], ["Bob0", "lives in", "Cai'


@pytest.fixture
def cutting() -> Iterator[ChatServer]:
    """A server that cuts triples at 512 tokens and less."""

    def fault(prompt: str, _: int) -> str | None:
        return (
            "length"
            if "Entities: " in prompt and server.bodies[-1]["max_tokens"] <= 512
            else None
        )

    def answer(prompt: str) -> str:
        return CUT if fault(prompt, 0) else reply(prompt)

    with serving(answer, fault, prompt_of=last_message) as server:
        yield server


def test_the_whole_items_of_a_cut_answer_are_kept_and_counted(cutting, extractor):
    found = extractor(cutting, concurrency=1).extract(corpus(1))
    assert [str(triple) for triple in found.triples] == [str(triples(1)[0])]
    assert (
        found.notes["answers cut at the limit of tokens, whose whole items are kept"]
        == 1
    )


def test_what_was_cut_is_asked_again_with_twice_the_tokens_and_nothing_else_is(
    cutting, extractor
):
    source = extractor(cutting, concurrency=1)
    source.run(corpus(1))
    assert cutting.requests.total() == 2
    assert source.run(corpus(1), retry_failed=True).extraction.triples == triples(1)
    assert (cutting.requests.total(), cutting.bodies[-1]["max_tokens"]) == (3, 1024)
    assert source.run(corpus(1)).extraction.triples == triples(1)
    assert cutting.requests.total() == 3


def test_a_larger_limit_asks_anew_only_what_was_cut(cutting, extractor):
    extractor(cutting, concurrency=1).run(corpus(1))
    assert extractor(cutting, concurrency=1, max_tokens=600).run(
        corpus(1)
    ).extraction.triples == triples(1)
    assert [
        ("Entities: " in last_message(body), body["max_tokens"])
        for body in cutting.bodies
    ] == [
        (False, 512),
        (True, 512),
        (True, 600),
    ]


@pytest.mark.parametrize("style", STYLES.values(), ids=list(STYLES))
def test_the_worked_examples_are_right_answers_in_the_form_asked_for(style):
    for step in style.steps:
        for question, answer in step.examples:
            parsed = step.form.model_validate_json(answer)
            if isinstance(parsed, Stated):
                ends = {
                    end for one in parsed.relations for end in (one.source, one.target)
                }
                assert ends <= {one.name for one in parsed.entities}
            elif isinstance(parsed, Facts):
                ends = {end for head, _, tail in parsed.triples for end in (head, tail)}
            else:
                ends = set(parsed.entities)
            assert {end for end in ends if end not in question} == set()


def test_equal_texts_are_asked_about_once_and_each_passage_gets_the_triples(
    server, extractor
):
    twins = Corpus.from_passages(
        [Passage(id_, "", "Ann1 knows Bob1.", id_, 0) for id_ in ("a", "b")]
    )
    found = extractor(server, "kg2rag").extract(twins)
    assert server.requests.total() == 1
    assert [triple.passage_id for triple in found.triples] == ["a", "b"]


def test_a_passage_that_states_nothing_is_no_failure_and_is_counted(server, extractor):
    found = extractor(server, "kg2rag").extract(
        Corpus.from_passages([Passage("a", "", "What then?", "a", 0)])
    )
    assert (found.triples, found.notes) == ((), {"passages without a triple": 1})


def test_a_limit_asks_about_the_first_passages_and_counts_the_others(server, extractor):
    found = extractor(server, limit=2).extract(corpus(5))
    assert (found.triples, found.notes) == (
        triples(2),
        {"passages beyond the limit, not asked about": 3},
    )


# Failures


def test_a_failure_is_raised_with_its_passage_and_cause_and_the_rest_is_kept(extractor):
    failing = serve(lambda prompt, _: "prose" if "Ann1 " in prompt else None)
    with (
        failing as server,
        pytest.raises(ExtractionError, match="'p1', entities") as raised,
    ):
        extractor(server).extract(corpus(3))
    assert raised.value.run.extraction.triples == triples(1) + triples(3)[4:]


def test_a_failed_sentence_is_named_and_the_others_of_its_passage_stay(extractor):
    with serve(
        lambda prompt, _: "wrong schema" if "Sentence: Bob1 " in prompt else None
    ) as server:
        run = extractor(server, "kg2rag").run(corpus(2))
    frame = pd.DataFrame(run.failures)
    assert [*frame.columns] == [
        "passage_id",
        "call",
        "kind",
        "reason",
        "attempts",
        "tries",
    ]
    assert frame[["passage_id", "call", "kind"]].to_numpy().tolist() == [
        ["p1", "triples, sentence 1", "output"]
    ]
    assert run.extraction.triples == triples(2)[:3]
    assert run.extraction.notes == {
        "failed passages, whose triples are missing or incomplete": 1
    }


def test_a_fault_of_the_connection_that_outlasts_its_retries_is_asked_again_by_the_next_run(
    extractor,
):
    with serve(lambda _, before: "500" if before < 2 else None) as server:
        for _ in range(2):
            assert [
                one.kind for one in extractor(server, retries=0).run(corpus(1)).failures
            ] == ["server"]
        assert extractor(server, retries=2).run(
            corpus(1)
        ).extraction.triples == triples(1)


def test_an_unusable_answer_is_asked_again_only_when_told_and_another_way_each_time(
    extractor,
):
    with serve(lambda _, before: "prose" if before < 2 else None) as server:
        asked = extractor(server, "kg2rag", max_tokens=50)
        one = Corpus.from_passages([Passage("a", "", "Ann1 knows Bob1.", "a", 0)])
        tries = [
            asked.run(one, retry_failed=again).failures
            for again in (False, False, True, False)
        ]
        assert [failures[0].tries for failures in tries] == [1, 1, 2, 2]
        run = asked.run(one, retry_failed=True)
        sent = [
            (body["seed"], body["temperature"], body["max_tokens"])
            for body in server.bodies
        ]
    assert sent == [(0, 0.0, 50), (1, 0.5, 100), (2, 0.5, 100)]
    assert run.extraction.notes == {"answers from a second or later try": 1}
    assert (run.usage.calls, run.usage.cached) == (3, 2)


@pytest.mark.parametrize(
    "sampling", [{}, {"seed": None, "temperature": None, "max_tokens": None}]
)
def test_a_later_run_finds_the_answer_of_a_second_try_without_being_told_to_retry(
    extractor, sampling
):
    with serve(lambda _, before: "prose" if not before else None) as server:
        asked = extractor(server, "kg2rag", **sampling)
        asked.run(corpus(2))
        asked.run(corpus(2), retry_failed=True)
        sent = server.requests.total()
        assert asked.extract(corpus(2)).triples == triples(2)
        assert server.requests.total() == sent


# Plan


def test_a_plan_before_the_first_run_counts_every_call(server, extractor):
    plan = extractor(server, prompt_price=1.0, completion_price=10.0).plan(
        corpus(3), counter=Words()
    )
    first, second = (step.plan for step in plan.steps)
    assert [step.step for step in plan.steps] == ["entities", "triples"]
    assert [(step.calls, step.stored) for step in (first, second)] == [(3, 0)] * 2
    assert server.requests.total() == 0
    # Each text has 7 words; entities come to 0.58 and triples to 1.87 times that.
    assert (first.completion_tokens, second.completion_tokens) == (
        round(0.58 * 21),
        round(1.87 * 21),
    )
    assert plan.whole.cost == pytest.approx(
        (
            first.prompt_tokens
            + second.prompt_tokens
            + 10 * (first.completion_tokens + second.completion_tokens)
        )
        / 1e6
    )
    unpriced = extractor(server).plan(corpus(1), counter=Words())
    assert unpriced.whole.cost is None
    assert "cost unknown (no prices given)" in repr(unpriced)


def test_planned_prompt_tokens_are_those_of_the_messages_sent(server, extractor):
    asked = extractor(server, "kg2rag", structured="prompt")
    plan = asked.plan(corpus(2), counter=Words())
    asked.run(corpus(2))
    sent = [
        message["content"] for body in server.bodies for message in body["messages"]
    ]
    assert plan.whole.prompt_tokens == sum(Words().count(sent)) + 4 * len(sent)


def test_a_plan_knows_what_is_stored_what_was_unusable_and_what_waits_for_it(extractor):
    with serve(
        lambda prompt, _: "prose" if prompt.startswith("Note 0\nAnn0") else None
    ) as server:
        extractor(server, limit=2).run(corpus(4))
        for retry, calls in ((False, (1, 1, 2)), (True, (1, 0, 3))):
            plan = extractor(server).plan(
                corpus(4), retry_failed=retry, counter=Words()
            )
            assert [
                (step.plan.stored, step.unusable, step.plan.calls)
                for step in plan.steps
            ] == [calls] * 2
            # The endpoint counts 7 and 3 tokens of every stored answer.
            entities = plan.steps[0].plan
            assert (entities.prompt_tokens, entities.completion_tokens) == (
                7 * calls[2],
                3 * calls[2],
            )


# Answers


@pytest.mark.parametrize(
    ("written", "read"),
    [
        ('{"triples": [["a", "b", "c"]]}', [("a", "b", "c")]),
        ('[["a", "b", "c"]]', [("a", "b", "c")]),
        (
            '{"triples": [{"head": "a", "relation": "b", "tail": "c"}]}',
            [("a", "b", "c")],
        ),
        (
            '{"triples": [{"object": "c", "subject": "a", "predicate": "b"}]}',
            [("a", "b", "c")],
        ),
        ('{"triples": [["a", "born in", 1954]]}', [("a", "born in", "1954")]),
        ('{"triples": [["a", "b", null]]}', [("a", "b", "")]),
        (
            '{"triples": [["a", "b"], ["a", "b", "c", "d"], {"head": "a"}]}',
            [(), (), ()],
        ),
    ],
)
def test_forms_with_one_reading_are_read(written, read):
    assert Facts.model_validate_json(written).triples == read


@pytest.mark.parametrize(
    "written",
    [
        '{"triples": "a b c"}',
        '{"triples": ["a", "b", "c"]}',
        '{"triples": [["a", "b", ["c"]]]}',
        "{}",
    ],
)
def test_forms_without_one_reading_fail(written):
    with pytest.raises(ValidationError):
        Facts.model_validate_json(written)


def test_entities_with_types_are_read_by_their_names():
    read = Entities.model_validate_json(
        '{"entities": [{"name": "Ann", "type": "person"}, 1954]}'
    )
    assert read.entities == ["Ann", "1954"]


def test_the_schema_that_is_sent_asks_for_lists_of_three_strings():
    name = {"type": "string", "minLength": 1, "maxLength": 100}
    three = {"type": "array", "items": name, "minItems": 3, "maxItems": 3}
    assert Facts.model_json_schema()["properties"]["triples"]["items"] == three


# Cleaning


def cleaned(raw: list[tuple[str, ...]]) -> tuple[list[Triple], dict[str, int]]:
    notes: Counter[str] = Counter()
    return clean_triples(map(RelationAnswer, raw), GraphSchema(), "p", notes), +notes


def test_what_is_dropped_is_counted_by_cause():
    faulty = [("A.", "r", "a"), ("", "r", "b"), (), ("x" * 101, "r", "b")]
    kept, notes = cleaned([*[("a", "r", "b")] * 2, *faulty, (' "q" ', "r", "b\nc")])
    assert kept == [Triple("a", "r", "b", "p"), Triple("q", "r", "b c", "p")]
    assert notes == {
        "dropped: triples that a passage has already": 1,
        "dropped: triples from an entity to itself": 1,
        "dropped: triples with a blank part": 1,
        "dropped: triples without exactly three parts": 1,
        "dropped: triples with a part longer than 100 characters": 1,
    }


def test_two_entities_of_signs_alone_are_not_one():
    assert len(cleaned([("C", "r", "++"), ("++", "r", "--")])[0]) == 2


@given(st.lists(st.lists(st.text(max_size=6), max_size=4).map(tuple)))
def test_every_triple_is_kept_or_counted_and_what_is_kept_has_no_space_around(raw):
    kept, notes = cleaned(raw)
    assert len(kept) + sum(notes.values()) == len(raw)
    assert all(
        part == part.strip()
        for one in kept
        for part in (one.head, one.relation, one.tail)
    )


def test_names_are_kept_once_without_their_quotes():
    notes: Counter[str] = Counter()
    answer = Entities(entities=["“Ann”", "Ann", " ", "x" * 101])
    assert names_in(answer, notes) == ["Ann"]
    assert notes == {
        "dropped: entities that are blank": 1,
        "dropped: entities longer than 100 characters": 1,
    }


# Configuration


def test_the_fingerprint_names_what_changes_the_triples(server, extractor):
    own = PromptStyle("own", "sentence", STYLES["openie"].steps[1:])
    base = extractor(server)
    variants = [
        base,
        extractor(server, "kg2rag"),
        extractor(server, limit=3),
        extractor(server, temperature=0.5),
        extractor(server, structured="prompt"),
        PromptedTriples(base.model, own),
    ]
    assert len({variant.fingerprint for variant in variants}) == len(variants)
    assert extractor(server, concurrency=1).fingerprint == base.fingerprint
    assert isinstance(base, Extractor)
    assert pickle.loads(pickle.dumps(base)).fingerprint == base.fingerprint


def test_a_style_of_ones_own_is_asked_as_it_says(server, extractor):
    step = PromptStep("facts", "Find facts.", "Text: {text} ({title})", (), Facts, 1.0)
    PromptedTriples(
        extractor(server).model, PromptStyle("own", "passage", (step,))
    ).run(corpus(1))
    assert [message["content"] for message in server.bodies[0]["messages"]] == [
        "Find facts.",
        "Text: Ann0 knows Bob0. Bob0 lives in Cairo1. (Note 0)",
    ]


def test_a_style_that_names_no_triples_or_is_unknown_is_refused(server, extractor):
    with pytest.raises(ValueError, match=r"Entities.* Facts, .*GraphSchema"):
        PromptStyle("own", "passage", STYLES["openie"].steps[:1])
    with pytest.raises(ValueError, match=r"'ner'.*kg2rag, openie"):
        extractor(server, "ner")
