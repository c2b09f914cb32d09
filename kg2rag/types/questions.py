"""Questions, their gold, and the corpus to search: what a dataset loader returns."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, get_args

import numpy as np

from kg2rag.text.records import DataError
from kg2rag.types.corpus import Corpus
from kg2rag.types.parameters import Count, called, require
from kg2rag.types.passages import Query

if TYPE_CHECKING:
    import pandas as pd


GoldUnit = Literal["passage", "document"]  # what gold names, and what is judged


@dataclass(frozen=True, slots=True)
class Question:
    """A query and its annotations; what is unknown is empty, None or "", never guessed.

    `gold` maps the ids of the relevant passages (or documents, see `QADataset.unit`) to grades of 1 or more.
    `supporting` lists the sentences that hold the facts, as (doc_id, sentence index from 0).
    `candidates` are the passages of this question in the official distractor setting.
    `chain` is the gold in the order of the reasoning, one id a hop; the last holds the answer.
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
    chain: tuple[str, ...] = field(default=(), repr=False)  # no part of the checksum of a set


@dataclass(frozen=True, eq=False)
class QADataset:
    """Questions, their gold, and the corpus to search.

    Attributes
    ----------
    setting : "pooled", every question searches the whole corpus; "distractor", each searches its own candidates.
    unit : whether `gold` holds "passage" ids or "document" ids.
    source : its origin (loader, file hashes or hub revision, options), recorded with every result.
    graph_files : files found with the questions that can serve as a graph, by kind (`openie`, `subkgs`, `triples`).
    unjudged : questions without gold, which no score counts.
    rows : question id -> its record in the table that gave it, as a labelling page hands it on.
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
        if not isinstance(self.corpus, Corpus):
            raise TypeError(f"{self.name}: corpus is {called(self.corpus)}, no Corpus. Corpus.from_passages makes one.")
        for name, allowed in {"setting": ("pooled", "distractor"), "unit": get_args(GoldUnit)}.items():
            if (value := getattr(self, name)) not in allowed:
                raise ValueError(f"{self.name}: unknown {name} {value!r}. Known: {', '.join(allowed)}.")
        passages = frozenset(self.corpus.ids)
        known = passages if self.unit == "passage" else frozenset(self.corpus.doc_ids)
        seen: set[str] = set()
        for question in self.questions:
            if not isinstance(question, Question):
                raise TypeError(f"{self.name}: questions are Question objects, not {question!r:.60}.")
            wrong = "another question has this id" if question.id in seen else self._wrong(question, known, passages)
            if wrong:
                raise DataError(f"{self.name}, question {question.id!r}: {wrong}")
            seen.add(question.id)
        if not self.questions and not self.unjudged and type(self) is QADataset:  # a folder of documents has none
            raise DataError(f"{self.name}: no question.")

    def _wrong(self, question: Question, known: frozenset[str], passages: frozenset[str]) -> str | None:
        if not question.text.strip():
            return "the question is empty"
        if not question.gold:
            return f"no gold {self.unit}. Leave out questions that cannot be judged"
        if missing := [id_ for id_ in question.gold if id_ not in known]:
            share = f"{len(missing)} of {len(question.gold)} missing"
            such = (self.corpus.ids if self.unit == "passage" else self.corpus.doc_ids)[0]
            same = f"whose ids are such as {such!r}. Are both from the same split?"
            return f"gold {self.unit} {missing[0]!r} is not in the corpus ({share}), {same}"
        if low := [one for one in question.gold.items() if one[1] < 1]:
            return f"gold {self.unit} {low[0][0]!r} has grade {low[0][1]}. Leave out what is not relevant"
        if unknown := [id_ for id_ in question.candidates or () if id_ not in passages]:
            return f"candidate {unknown[0]!r} is not in the corpus"
        if self.setting == "distractor" and not question.candidates:
            return "setting 'distractor' needs candidates for every question"
        return None

    def __len__(self) -> int:
        return len(self.questions)

    def __repr__(self) -> str:
        more = f", {len(self.unjudged)} without gold" * bool(self.unjudged)
        return f"QADataset({self.name!r}, {len(self)} questions{more}, {self.corpus!r}, {self.setting})"

    @cached_property
    def queries(self) -> list[Query]:
        """The input of a retriever: ids, texts, and in the distractor setting the candidates."""
        return [Query(q.id, q.text, q.candidates if self.setting == "distractor" else None) for q in self.questions]

    @property
    def irrelevant(self) -> int:
        """How many questions have no gold because hits were judged, and none is relevant."""
        return sum(bool(self.rows.get(query.id, {}).get("judged")) for query in self.unjudged)

    @property
    def qrels(self) -> dict[str, dict[str, int]]:
        """Question id -> gold id -> grade."""
        return {question.id: dict(question.gold) for question in self.questions}

    def gold_rows(self, question: Question) -> dict[str, list[int]]:
        """Gold id of a question -> the rows of the passages that count as it: one, or those of the document."""
        return {id_: self._rows_of[id_] for id_ in question.gold}

    @cached_property
    def _rows_of(self) -> Mapping[str, list[int]]:
        rows: dict[str, list[int]] = {}
        for row, id_ in enumerate(self.corpus.ids if self.unit == "passage" else self.corpus.doc_ids):
            rows.setdefault(id_, []).append(row)
        return rows

    def question(self, id_: str) -> Question:
        """The question of that id; KeyError where there is none."""
        if found := [question for question in self.questions if question.id == id_]:
            return found[0]
        raise KeyError(f"{self.name} has no question {id_!r}; the first is {self.questions[0].id!r}.")

    def sample(self, limit: int, seed: int = 0) -> QADataset:
        """`limit` questions drawn without replacement, in their original order, over the same corpus."""
        require("limit", limit, Count)
        if limit >= len(self):
            return self
        kept = np.sort(np.random.default_rng(seed).choice(len(self), size=limit, replace=False))
        source = {**self.source, "limit": limit, "seed": seed}
        return replace(self, questions=tuple(self.questions[i] for i in kept.tolist()), source=source)

    def to_frame(self) -> pd.DataFrame:
        """One row per question: id, text, type, hops, gold, answers."""
        import pandas as pd

        rows = [(q.id, q.text, q.type, q.hops, list(q.gold), list(q.answers)) for q in self.questions]
        return pd.DataFrame(rows, columns=["id", "text", "type", "hops", "gold", "answers"])


def require_dataset(data: object) -> QADataset:
    """The data; TypeError where it is no `QADataset` or has no question, ValueError where none has gold."""
    if not isinstance(data, QADataset):
        make = "kg2rag.load and kg2rag.from_frames make one"
        raise TypeError(f"data must be a QADataset, questions with their gold and corpus, not {called(data)}: {make}.")
    if data.unjudged and not data.questions:
        judge = "kg2rag.evaluation.agreement(systems, data, kb=kb).label() takes judgements"
        raise ValueError(f"{data.name}: none of {len(data.unjudged)} questions has gold. {judge}.")
    if not data.questions:
        make = f"{data.name}.with_questions(FILE), kg2rag.datasets.known_items and `kg2rag questions` give some"
        raise TypeError(f"{data.name} has documents, and no questions with gold: {make}.")
    return data
