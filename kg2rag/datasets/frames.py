"""Your own DataFrames or lists -> QADataset, in whatever shape you have them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from typing import Annotated, Any

from pydantic import Field, StrictInt

from kg2rag.datasets.reading import Record, Text, check
from kg2rag.text.records import DataError
from kg2rag.types import Corpus, GoldUnit, QADataset, Query, Question, corpus_of
from kg2rag.types.shapes import identifier, records

JUDGED = ("query_id", "passage_id")
Grade = Annotated[StrictInt, Field(ge=1)]


QUESTION: Mapping[str, tuple[str, ...]] = {
    "id": ("id", "_id", "qid", "query_id", "question_id"),
    "text": ("text", "question", "query"),
    "gold": ("gold", "gold_ids", "relevant", "passage_id", "doc_id"),
    "answers": ("answers", "answer"),
    **{name: (name,) for name in ("type", "hops", "triples")},
}
JUDGEMENT: Mapping[str, tuple[str, ...]] = {
    "id": (),
    "query_id": QUESTION["id"],
    "passage_id": ("passage_id", "doc_id", "docid", "document"),
    "grade": ("grade", "relevance", "rel", "score"),
}
"""Field -> what a column of it may be called; of several, the first counts."""
ABOUT = ("judged", "origin", "bridges")
"""Columns of the files that a labelling page and `kg2rag questions` write, which tell a reader of the file."""


class FrameQuestion(Record):
    """One row of the questions; `gold` is empty where `qrels` has it."""

    id: Text
    text: Text
    gold: dict[str, Grade] = Field(default_factory=dict)
    answers: list[Text] = Field(default_factory=list)
    type: str = ""
    hops: StrictInt | None = None
    triples: list[tuple[Text, Text, Text]] = Field(default_factory=list)


class Judgement(Record):
    """One row of the qrels."""

    query_id: Text
    passage_id: Text
    grade: Grade = 1


def from_frames(corpus: Any, questions: Any, qrels: Any | None = None, name: str = "custom") -> QADataset:
    """A data set from your own tables: DataFrames, or lists of dicts.

    Parameters
    ----------
    corpus : column `text`, and where known `id`, `title`, `doc_id` (default: the id), `position` (from 0); every other
        column is kept as metadata. What a column may be called instead: `kg2rag.types.shapes.PASSAGE`. Ids are of any
        type, and where there is none the index. A `Corpus`, such as that of `from_folder`, is taken as it is.
    questions : `text` or `question`, and where known `id`, `answers` (a string or a list), `type`, `hops`, `triples`
        (list of (head, relation, tail)), and, without `qrels`, `gold`: the id of a passage, a list of them, or a
        mapping from id to grade. Ids of documents serve where all gold is such. Questions without gold become
        `unjudged`. Other columns are left out, and counted in `source["notes"]`.
    qrels : columns `query_id`, `passage_id`, and `grade` (1 or more; default 1); one row a judgement.
    name : how results call it.

    Raises
    ------
    ValueError : a column that is missing, a wrong type, a duplicate id, gold that the corpus lacks.

    Examples
    --------
    >>> corpus = [{"id": 1, "text": "Ada wrote notes."}, {"id": 2, "text": "Charles built engines."}]
    >>> from_frames(corpus, [{"question": "Who wrote notes?", "gold": 1}])
    QADataset('custom', 1 questions, Corpus(2 passages, 2 documents), pooled)
    """
    table = corpus_of(corpus, f"{name} corpus")
    asked = records(questions, f"{name} questions", QUESTION)
    rows = check(
        [_tidy(row, f"{name} questions", number) for number, row in enumerate(asked, start=1)],
        FrameQuestion,
        f"{name} questions",
    )
    gold = {question.id: dict(question.gold) for question in rows}
    if qrels is not None:
        judged = [
            {**row, **{field: identifier(row[field], f"{name} qrels", at) for field in JUDGED if field in row}}
            for at, row in enumerate(records(qrels, f"{name} qrels", JUDGEMENT), start=1)
        ]
        _add_judgements(gold, check(judged, Judgement, f"{name} qrels"), name)
    made = tuple(
        Question(q.id, q.text, gold[q.id], tuple(q.answers), q.type, q.hops, triples=tuple(q.triples))
        for q in rows
        if gold[q.id]
    )
    unjudged = tuple(Query(q.id, q.text) for q in rows if not gold[q.id])
    unread = Counter(field for row in asked for field in row if field not in {*QUESTION, *ABOUT})
    notes = {f"values of the questions' column {field!r} left out": count for field, count in unread.items()}
    notes |= {"questions without gold, not scored": len(unjudged)} if unjudged else {}
    # A frame has no file; the corpus's fingerprint says which data a result is about.
    source = {"loader": "from_frames", "corpus": table.fingerprint, "notes": notes}
    return QADataset(name, table, made, unit=_unit(gold, table), source=source, unjudged=unjudged)


def _unit(gold: Mapping[str, Mapping[str, int]], corpus: Corpus) -> GoldUnit:
    """What gold names: passages, unless all of it names documents and some no passage."""
    named, documents = {id_ for grades in gold.values() for id_ in grades}, set(corpus.doc_ids)
    return "document" if not named <= set(corpus.ids) and named <= documents else "passage"


def _add_judgements(gold: dict[str, dict[str, int]], judgements: Sequence[Judgement], name: str) -> None:
    for number, row in enumerate(judgements, start=1):
        where = f"{name} qrels, record {number}"
        if row.query_id not in gold:
            raise DataError(f"{where}: query_id {row.query_id!r} is not among the questions.")
        if row.passage_id in gold[row.query_id]:
            raise DataError(f"{where}: {row.query_id!r} and {row.passage_id!r} are judged twice.")
        gold[row.query_id][row.passage_id] = row.grade


def _tidy(row: dict[str, Any], where: str, number: int) -> dict[str, Any]:
    """A lone answer as a list of one, gold as grades by id, ids as texts."""
    answers, gold = row.get("answers"), row.get("gold")
    if isinstance(answers, str):
        row["answers"] = [answers]
    if gold is not None:
        graded = gold if isinstance(gold, Mapping) else dict.fromkeys(_listed(gold), 1)
        row["gold"] = {identifier(id_, where, number): grade for id_, grade in graded.items()}
    return {**row, "id": identifier(row.get("id"), where, number)}


def _listed(gold: object) -> list[Any]:
    many = isinstance(gold, Collection) and not isinstance(gold, str)
    return [str(one) if isinstance(one, dict | list) else one for one in gold] if many else [gold]  # type: ignore[attr-defined]
