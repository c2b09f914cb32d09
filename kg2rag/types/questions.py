"""Questions, their gold, and the corpus to search: the output of a dataset loader."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from kg2rag.text.records import DataError
from kg2rag.types.corpus import Corpus
from kg2rag.types.parameters import Count, called, check, require
from kg2rag.types.passages import Query

if TYPE_CHECKING:
    import pandas as pd


GoldUnit = Literal["passage", "document"]  # the unit of gold and of judgements


@dataclass(frozen=True, slots=True)
class Question:
    """A query and its annotations; unknown values are empty, None or "".

    `gold` maps the ids of the relevant passages (or documents, see `QADataset.unit`) to grades of 1
    or more. `supporting` lists the sentences that hold the facts, as (doc_id, sentence index from
    0). `candidates` are the passages of this question in the official distractor setting. `chain`
    is the gold in the order of the reasoning, one id a hop; the last holds the answer.
    """

    id: str
    text: str
    gold: Mapping[str, int]
    answers: tuple[str, ...] = ()
    type: str = ""
    hops: int | None = None
    supporting: tuple[tuple[str, int], ...] = ()
    triples: tuple[tuple[str, str, str], ...] = ()
    candidates: tuple[str, ...] | None = None
    # Not in the checksum of a set.
    chain: tuple[str, ...] = field(default=(), repr=False)


NOTES = 5
"""Notes in the `repr` of a data set."""


@dataclass(frozen=True, eq=False)
class QADataset:
    """Questions, their gold, and the corpus to search.

    ParameterError: a field has another type. DataError names the first question without text or
    gold, or with gold or candidates that the corpus lacks.

    Attributes
    ----------
    setting : "pooled", every question searches the whole corpus; "distractor", each searches only its candidates.
    unit : whether `gold` holds "passage" ids or "document" ids.
    source : its origin (loader, file hashes or hub revision, options), recorded with every result; its
        "notes" count what was left out or taken for something by its values, and stand in `repr`.
    graph_files : files found with the questions that can serve as a graph, by kind (`openie`, `subkgs`, `triples`).
    unjudged : questions without gold, which no score counts.
    rows : question id -> its record in the source table; a labelling page copies it.
    """

    name: str
    corpus: Corpus
    questions: tuple[Question, ...]
    setting: Literal["pooled", "distractor"] = "pooled"
    unit: GoldUnit = "passage"
    source: Mapping[str, object] = field(default_factory=dict)
    graph_files: Mapping[str, Path] = field(default_factory=dict)
    unjudged: tuple[Query, ...] = ()
    rows: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        check(self)
        passage_ids = frozenset(self.corpus.ids)
        gold_ids = frozenset(self._gold_ids)
        question_ids: set[str] = set()
        for question in self.questions:
            if question.id in question_ids:
                raise self._fault(question, "another question has this id")
            question_ids.add(question.id)
            self._check_gold(question, gold_ids)
            self._check_candidates(question, passage_ids)
        # A folder of documents, a subclass, has no questions.
        if not self.questions and not self.unjudged and type(self) is QADataset:
            raise DataError(f"{self.name}: no question.")

    def _fault(self, question: Question, message: str) -> DataError:
        """A DataError whose message begins with the dataset and the question id."""
        return DataError(f"{self.name}, question {question.id!r}: {message}")

    def _check_gold(self, question: Question, gold_ids: frozenset[str]) -> None:
        """Raise DataError for a question without text or valid gold, or with a grade below 1."""
        if not question.text.strip():
            raise self._fault(question, "the question is empty")
        if not question.gold:
            raise self._fault(
                question,
                f"no gold {self.unit}. Leave out questions that cannot be judged",
            )
        missing = [id_ for id_ in question.gold if id_ not in gold_ids]
        if missing:
            raise self._fault(
                question,
                f"gold {self.unit} {missing[0]!r} is not in the corpus ({len(missing)} of "
                f"{len(question.gold)} missing), whose ids are such as {self._gold_ids[0]!r}. "
                "Are both from the same split?",
            )
        for id_, grade in question.gold.items():
            if grade < 1:
                raise self._fault(
                    question,
                    f"gold {self.unit} {id_!r} has grade {grade}. Leave out what is not relevant",
                )

    def _check_candidates(
        self, question: Question, passage_ids: frozenset[str]
    ) -> None:
        """Raise DataError for candidates that are missing or not in the corpus."""
        for id_ in question.candidates or ():
            if id_ not in passage_ids:
                raise self._fault(question, f"candidate {id_!r} is not in the corpus")
        if self.setting == "distractor" and not question.candidates:
            raise self._fault(
                question, "setting 'distractor' needs candidates for every question"
            )

    def __len__(self) -> int:
        return len(self.questions)

    def __repr__(self) -> str:
        questions = f"{len(self)} questions"
        if self.unjudged:
            questions += f", {len(self.unjudged)} without gold"
        lines = [
            f"QADataset({self.name!r}, {questions}, {self.corpus!r}, {self.setting})"
        ]
        notes = self.source.get("notes")
        if isinstance(notes, Mapping):
            lines += [
                f"{count} × {note}" for note, count in list(notes.items())[:NOTES]
            ]
            if len(notes) > NOTES:
                lines.append(f"{len(notes) - NOTES:,} more in source['notes']")
        return "\n  ".join(lines)

    @cached_property
    def queries(self) -> list[Query]:
        """The queries for a retriever; in the distractor setting with candidates."""
        if self.setting == "pooled":
            return [Query(question.id, question.text) for question in self.questions]
        return [
            Query(question.id, question.text, question.candidates)
            for question in self.questions
        ]

    @property
    def irrelevant(self) -> int:
        """The number of questions without gold whose judged hits are all irrelevant."""
        return sum(
            bool(self.rows.get(query.id, {}).get("judged")) for query in self.unjudged
        )

    @property
    def unmatched(self) -> int:
        """The number of questions without gold because their gold texts are in no passage."""
        return sum(
            bool(self.rows.get(query.id, {}).get("gold")) for query in self.unjudged
        )

    @property
    def qrels(self) -> dict[str, dict[str, int]]:
        """Question id -> gold id -> grade."""
        return {question.id: dict(question.gold) for question in self.questions}

    def gold_rows(self, question: Question) -> dict[str, list[int]]:
        """Gold id -> the rows of its passages: one row, or all rows of a document."""
        return {id_: self._rows_of_gold_id[id_] for id_ in question.gold}

    @cached_property
    def _rows_of_gold_id(self) -> Mapping[str, list[int]]:
        """Passage id or document id (see `unit`) -> the corpus rows of its passages."""
        rows: dict[str, list[int]] = {}
        for row, id_ in enumerate(self._gold_ids):
            rows.setdefault(id_, []).append(row)
        return rows

    @property
    def _gold_ids(self) -> list[str]:
        """The id that gold names a passage by, for each corpus row: its own or its document's."""
        return self.corpus.ids if self.unit == "passage" else self.corpus.doc_ids

    def question(self, id_: str) -> Question:
        """The question with this id; KeyError if there is none."""
        for question in self.questions:
            if question.id == id_:
                return question
        raise KeyError(
            f"{self.name} has no question {id_!r}; the first is {self.questions[0].id!r}."
        )

    def sample(self, limit: int, seed: int = 0) -> QADataset:
        """The dataset with `limit` random questions, in their original order, and the same corpus."""
        require("limit", limit, Count)
        if limit >= len(self):
            return self
        indices = np.sort(
            np.random.default_rng(seed).choice(len(self), size=limit, replace=False)
        )
        source = {**self.source, "limit": limit, "seed": seed}
        return replace(
            self,
            questions=tuple(self.questions[index] for index in indices.tolist()),
            source=source,
        )

    def to_frame(self) -> pd.DataFrame:
        """A frame with one row per question: id, text, type, hops, gold, answers."""
        import pandas as pd

        rows = [
            (q.id, q.text, q.type, q.hops, list(q.gold), list(q.answers))
            for q in self.questions
        ]
        return pd.DataFrame(
            rows, columns=["id", "text", "type", "hops", "gold", "answers"]
        )


def require_dataset(data: object) -> QADataset:
    """Return the data if it is a `QADataset` with questions that have gold.

    TypeError: it is no `QADataset`, or has no question. ValueError: no question has gold.
    """
    if not isinstance(data, QADataset):
        raise TypeError(
            f"data must be a QADataset, questions with their gold and corpus, not {called(data)}: "
            "kg2rag.load and kg2rag.from_frames make one."
        )
    if data.questions:
        return data
    if data.unjudged:
        raise ValueError(
            f"{data.name}: none of {len(data.unjudged)} questions has gold. "
            "kg2rag.evaluation.agreement(systems, data, kb=kb).label() takes judgements."
        )
    raise TypeError(
        f"{data.name} has documents, and no questions with gold: {data.name}.with_questions(FILE), "
        "kg2rag.datasets.known_items and `kg2rag questions` give some."
    )
