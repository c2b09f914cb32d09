"""Notes of rankings on their queries: a column by question."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np

from kg2rag.evaluation import compare
from kg2rag.evaluation.per_query import notes_json
from kg2rag.retrievers.contract import Retriever
from kg2rag.types import Corpus, Notes, Passage, QADataset, Query, Question, Ranking

NOTES = (
    {
        "expansion_skipped": "confidence below 0.3",
        "confidence": 0.2,
        "entities": (),
        "weights": {"dense": 0.5},
    },
    {
        "expansion_skipped": "",
        "confidence": 0.6,
        "entities": ("Ed", "Tim"),
        "weights": {"dense": 0.7},
    },
    {"expansion_skipped": "", "confidence": 0.7, "entities": ("Ed",)},
)
CORPUS = Corpus.from_passages(
    [Passage("p0", "", "One.", "p0", 0), Passage("p1", "", "Two.", "p1", 0)]
)
DATA = QADataset(
    "few",
    CORPUS,
    tuple(Question(f"q{at}", f"Which {at}?", {"p0": 1}) for at in range(3)),
)


class Talker(Retriever):
    """Says what `NOTES` holds, question by question."""

    def retrieve_batch(self, queries: list[Query], k: int) -> list[Ranking]:
        notes = [
            Notes("score", "text", other=NOTES[int(query.id[1])]) for query in queries
        ]
        return [
            Ranking.from_scores(
                query.id,
                np.arange(2),
                np.array([1.0, 0.5]),
                CORPUS.ids,
                stages=("text",),
                notes=note,
            ).top(k)
            for query, note in zip(queries, notes, strict=True)
        ]


def test_each_question_s_own_is_a_column_beside_its_text() -> None:
    compared = compare({"talker": Talker()}, DATA, metrics=["recall@1"], k=2)
    told = [json.loads(text) for text in compared.per_query["notes"]]
    assert told[0] == {**NOTES[0], "entities": []}
    assert told[2]["entities"] == ["Ed"]
    assert compared.metrics == ["recall@1"]


def test_long_lists_are_counted_and_numbers_of_arrays_are_numbers() -> None:
    metadata = {
        "triples": tuple(range(50)),
        "tokens": np.int64(7),
        "depth": np.float32(0.5),
        "path": Path("x"),
    }
    one = Ranking.from_scores(
        "q",
        np.arange(1),
        np.array([1.0]),
        ["p"],
        stages=("text",),
        notes=Notes(other=metadata),
    )
    triples = {"count": 50, "first": [*range(20)]}
    assert json.loads(notes_json(one)) == {
        "triples": triples,
        "tokens": 7,
        "depth": 0.5,
        "path": "x",
    }
