"""Your own DataFrames or lists -> QADataset, in whatever shape you have them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping
from typing import Annotated, Any

from pydantic import Field, StrictInt

from kg2rag.datasets.reading import Record, Text, check
from kg2rag.types import GoldUnit, QADataset, Query, Question, corpus_of
from kg2rag.types.coerce_corpus import identifier, records

QUESTION: Mapping[str, tuple[str, ...]] = {
    "id": ("id", "_id", "qid", "query_id", "question_id"),
    "text": ("text", "question", "query"),
    "gold": ("gold", "gold_ids", "relevant", "passage_id", "doc_id"),
    "answers": ("answers", "answer"),
    **{name: (name,) for name in ("type", "hops", "triples")},
}
"""Field -> what a column of it may be called; of several, the first counts."""


class FrameQuestion(Record):
    """One row of the questions."""

    id: Text
    text: Text
    gold: dict[str, Annotated[StrictInt, Field(ge=1)]] = Field(default_factory=dict)
    answers: list[Text] = Field(default_factory=list)
    type: str = ""
    hops: StrictInt | None = None
    triples: list[tuple[Text, Text, Text]] = Field(default_factory=list)
    judged: dict[str, Annotated[StrictInt, Field(ge=0)]] = Field(default_factory=dict)
    origin: Any = None
    bridges: Any = None


def from_frames(corpus: Any, questions: Any, *, name: str = "custom") -> QADataset:
    """A data set from your own tables: DataFrames, or lists of dicts.

    Parameters
    ----------
    corpus : column `text`, and where known `id`, `title`, `doc_id` (default: the id), `position` (from 0); every other
        column is kept as metadata. `kg2rag.types.coerce_corpus.PASSAGE` lists other names of these. Ids are of any
        type, and where there is none the index. A `Corpus`, such as that of `from_folder`, is taken as it is.
    questions : `text` or `question`, and where known `id`, `answers` (a string or a list), `type`, `hops`, `triples`
        (list of (head, relation, tail)), and `gold`: the id of a passage, a list of them, or a
        mapping from id to grade. Ids of documents serve where all gold is such. Questions without gold become
        `unjudged`; `judged`, a mapping from id to 0, says which hits were found irrelevant, and need not be judged
        again. Other columns are left out, and counted in `source["notes"]`.
    name : how results call it.

    Raises ValueError: a column that is missing, a wrong type, a duplicate id, gold that the corpus lacks.

    Examples
    --------
    >>> corpus = [{"id": 1, "text": "Ada wrote notes."}, {"id": 2, "text": "Charles built engines."}]
    >>> from_frames(corpus, [{"question": "Who wrote notes?", "gold": 1}])
    QADataset('custom', 1 questions, Corpus(2 passages, 2 documents), pooled)
    """
    table = corpus_of(corpus, f"{name} corpus")
    asked, where = records(questions, f"{name} questions", QUESTION), f"{name} questions"
    unread = Counter(field for row in asked for field in row if field not in FrameQuestion.model_fields)
    for at, row in enumerate(asked, start=1):
        row["id"] = identifier(row.get("id"), where, at)
        if isinstance(row.get("answers"), str):
            row["answers"] = [row["answers"]]
        if (gold := row.get("gold")) is not None:
            graded = gold if isinstance(gold, Mapping) else dict.fromkeys(_listed(gold), 1)
            row["gold"] = {identifier(id_, where, at): grade for id_, grade in graded.items()}
    rows = check(asked, FrameQuestion, where)
    said = ((q, tuple(q.answers), tuple(q.triples)) for q in rows if q.gold)
    made = tuple(Question(q.id, q.text, q.gold, given, q.type, q.hops, triples=facts) for q, given, facts in said)
    unjudged = tuple(Query(q.id, q.text) for q in rows if not q.gold)
    notes = {f"values of the questions' column {field!r} left out": count for field, count in unread.items()}
    notes |= {"questions without gold, not scored": len(unjudged)} if unjudged else {}
    # A frame has no file; the corpus's fingerprint says which data a result is about.
    source = {"loader": "from_frames", "corpus": table.fingerprint, "notes": notes}
    named = {id_ for question in rows for id_ in question.gold}
    unit: GoldUnit = "document" if not named <= set(table.ids) and named <= set(table.doc_ids) else "passage"
    dumped = ((q, q.model_dump(exclude={"id", "text"}, exclude_defaults=True)) for q in rows)
    given = {q.id: {"id": q.id, "question": q.text, **more} for q, more in dumped}
    return QADataset(name, table, made, unit=unit, source=source, unjudged=unjudged, rows=given)


def _listed(gold: object) -> list[Any]:
    many = isinstance(gold, Collection) and not isinstance(gold, str)
    return [str(one) if isinstance(one, dict | list) else one for one in gold] if many else [gold]  # type: ignore[attr-defined]
