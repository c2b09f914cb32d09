"""One question, systems side by side: gold marked, missed gold placed, mistakes named."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal

import numpy as np
import pytest

from kg2rag.report.question_explanation import explain
from kg2rag.retrievers.contract import Retriever
from kg2rag.types import Corpus, Passage, QADataset, Query, Question, Ranking

IDS = ["p0", "p1", "p2", "p3"]


@dataclass(frozen=True)
class Fixed(Retriever):
    """Returns some rows in their order; records its queries."""

    order: tuple[int, ...]
    asked: list[Query] = field(default_factory=list, repr=False)

    def retrieve_batch(self, queries: Sequence[Query], k: int) -> list[Ranking]:
        self.asked.extend(queries)
        scores = -np.arange(len(self.order), dtype=np.float64)
        return [
            Ranking.from_scores(
                query.id, np.array(self.order), scores, IDS, stages=("fixed",)
            ).top(k)
            for query in queries
        ]


def data(
    unit: Literal["passage", "document"] = "passage", text: str = "Who wrote it?"
) -> QADataset:
    """Four passages, two of each of two documents."""
    corpus = Corpus.from_passages(
        [
            Passage(id_, "T", f"Text {i}.", f"d{i // 2}", i % 2)
            for i, id_ in enumerate(IDS)
        ]
    )
    gold = {"p1": 1, "p3": 1} if unit == "passage" else {"d1": 1}
    question = Question(
        "q1", text, gold, answers=("Ada",), candidates=("p0", "p1", "p3")
    )
    return QADataset(
        "tiny",
        corpus,
        (question, Question("q2", "Another one?", dict(gold))),
        unit=unit,
    )


def test_gold_is_marked_and_gold_further_down_is_named_with_its_rank() -> None:
    found = explain(
        {"one": Fixed((1, 0, 3)), "two": Fixed((0, 2))}, data(), "q1", k=2
    ).explanations
    assert [found["one"].is_gold(hit) for hit in found["one"].hits()] == [True, False]
    assert found["one"].missed() == {"p3": "at rank 3"}
    assert found["two"].missed() == dict.fromkeys(
        ("p1", "p3"), "not among the 2 passages of the ranking"
    )


def test_a_document_is_found_where_its_best_passage_is() -> None:
    explanation = explain(
        {"one": Fixed((0, 1, 2, 3))}, data("document"), "q1", k=2
    ).explanations["one"]
    assert explanation.missed() == {"d1": "at rank 3"}
    assert (
        explain({"one": Fixed((3, 0))}, data("document"), "q1", k=1)
        .explanations["one"]
        .missed()
        == {}
    )


def test_a_question_is_named_by_id_or_by_text_and_asked_with_its_candidates() -> None:
    system, tiny = Fixed((0,)), data()
    assert {
        explain({"one": Fixed((0,))}, tiny, name).id
        for name in ("q2", " Another one? ")
    } == {"q2"}
    explain(
        {"one": system},
        QADataset("d", tiny.corpus, tiny.questions[:1], setting="distractor"),
        "q1",
    )
    assert system.asked == [Query("q1", "Who wrote it?", ("p0", "p1", "p3"))]


def test_a_new_question_is_asked_and_no_gold_is_claimed() -> None:
    system = Fixed((0,))
    found = explain({"one": system}, data(), "Who painted it?")
    assert system.asked == [Query("new", "Who painted it?")]
    assert found.facts() == {"gold": "unknown: the question is new to the set"}
    assert found.explanations["one"].missed() == {}


def test_an_unknown_id_names_the_nearest_known_ones() -> None:
    with pytest.raises(ValueError, match=r"tiny.*'q3'.*q2, q1"):
        explain({"one": Fixed((0,))}, data(), "q3")


def test_all_systems_are_shown_with_what_is_known() -> None:
    shown = repr(
        explain({name: Fixed((0, 1)) for name in ("one", "two", "three")}, data(), "q1")
    )
    assert all(
        part in shown for part in ("one", "two", "three", "answer: Ada", "gold: p1, p3")
    )
    assert shown.count("p1  -1  fixed  ◆ gold") == 3
