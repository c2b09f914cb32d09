"""A little corpus, questions, and systems that return given rankings."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import pytest

from kg2rag.types import Corpus, Passage, QADataset, Query, Question, Ranking


@dataclass(frozen=True)
class Fixed:
    """Returns the passage ids it was given for a query, scored by rank; `equal` gives all the same score."""

    answers: Mapping[str, Sequence[str]] = field(repr=False)
    ids: Sequence[str] = field(repr=False)
    equal: bool = False

    def retrieve_batch(self, queries: Sequence[Query], k: int) -> list[Ranking]:
        rankings = []
        for query in queries:
            names = list(self.answers.get(query.id, ()))[:k]
            rows = np.array(
                [list(self.ids).index(name) for name in names], dtype=np.int64
            )
            scores = (
                np.ones(len(rows)) if self.equal else 1.0 / np.arange(1, len(rows) + 1)
            )
            rankings.append(Ranking(query.id, rows, scores, self.ids))
        return rankings


@pytest.fixture
def data() -> QADataset:
    """Forty passages p0 … p39, two a document, and three questions with gold p0 + p1, p2, and p4 + p6 + p8."""
    passages = [
        Passage(f"p{i}", f"Title {i // 2}", f"Text {i}.", f"d{i // 2}", i % 2)
        for i in range(40)
    ]
    questions = (
        Question("q1", "First?", {"p0": 1, "p1": 1}, type="bridge", hops=2),
        Question("q2", "Second?", {"p2": 1}, type="bridge", hops=1),
        Question(
            "q3", "Third?", {"p4": 1, "p6": 1, "p8": 1}, type="comparison", hops=None
        ),
    )
    return QADataset(
        "little",
        Corpus.from_passages(passages),
        questions,
        source={"loader": "by hand"},
    )


@pytest.fixture
def fixed(data: QADataset) -> Callable[..., Fixed]:
    def make(equal: bool = False, **answers: str) -> Fixed:
        return Fixed(
            {name: text.split() for name, text in answers.items()},
            data.corpus.ids,
            equal,
        )

    return make
