"""Your own DataFrames -> QADataset, for data without a loader."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import Field, StrictInt

from kg2rag.datasets.reading import Record, Text, check
from kg2rag.text.records import DataError, reading
from kg2rag.types import Corpus, Passage, QADataset, Question

if TYPE_CHECKING:
    import pandas as pd

Grade = Annotated[StrictInt, Field(ge=1)]


class FramePassage(Record):
    """One row of the corpus."""

    id: Text
    text: Text
    title: str = ""
    doc_id: str = ""
    position: Annotated[StrictInt, Field(ge=0)] = 0


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


def from_frames(
    corpus: pd.DataFrame, questions: pd.DataFrame, qrels: pd.DataFrame | None = None, name: str = "custom"
) -> QADataset:
    """A data set from your own tables.

    Parameters
    ----------
    corpus : columns `id` and `text`, and where known `title`, `doc_id` (default: the id), `position` (from 0).
    questions : columns `id` and `text`, and where known `answers` (a string or a list), `type`, `hops`, `triples` (list
        of (head, relation, tail)), and, without `qrels`, `gold`: a list of passage ids, or a mapping from id to grade.
    qrels : columns `query_id`, `passage_id`, and `grade` (1 or more; default 1); one row a judgement.
    name : how results call it.

    Raises
    ------
    ValueError : a column that is missing or unknown, a wrong type, a duplicate id, gold that the corpus lacks.

    Examples
    --------
    >>> import pandas as pd
    >>> corpus = pd.DataFrame({"id": ["p1", "p2"], "text": ["Ada wrote notes.", "Charles built engines."]})
    >>> questions = pd.DataFrame({"id": ["q1"], "text": ["Who wrote notes?"], "gold": [["p1"]]})
    >>> from_frames(corpus, questions)
    QADataset('custom', 1 questions, Corpus(2 passages, 2 documents), pooled)
    """
    passages = check(_rows(corpus, FramePassage, f"{name} corpus"), FramePassage, f"{name} corpus")
    rows = check(
        [_tidy(row) for row in _rows(questions, FrameQuestion, f"{name} questions")], FrameQuestion, f"{name} questions"
    )
    gold = {question.id: dict(question.gold) for question in rows}
    if qrels is not None:
        _add_judgements(gold, check(_rows(qrels, Judgement, f"{name} qrels"), Judgement, f"{name} qrels"), name)
    with reading(f"{name} corpus", "Give at least one passage.", ValueError):
        table = Corpus.from_passages(Passage(p.id, p.title, p.text, p.doc_id or p.id, p.position) for p in passages)
    made = tuple(
        Question(q.id, q.text, gold[q.id], tuple(q.answers), q.type, q.hops, triples=tuple(q.triples)) for q in rows
    )
    # A frame has no file; the corpus's fingerprint says which data a result is about.
    return QADataset(name, table, made, source={"loader": "from_frames", "corpus": table.fingerprint, "notes": {}})


def _add_judgements(gold: dict[str, dict[str, int]], judgements: Sequence[Judgement], name: str) -> None:
    for number, row in enumerate(judgements, start=1):
        where = f"{name} qrels, record {number}"
        if row.query_id not in gold:
            raise DataError(f"{where}: query_id {row.query_id!r} is not among the questions.")
        if row.passage_id in gold[row.query_id]:
            raise DataError(f"{where}: {row.query_id!r} and {row.passage_id!r} are judged twice.")
        gold[row.query_id][row.passage_id] = row.grade


def _rows(frame: pd.DataFrame, model: type[Record], where: str) -> list[dict[str, Any]]:
    """The rows with their missing values left out, so that the defaults hold."""
    unknown = [str(column) for column in frame.columns if column not in model.model_fields]
    if unknown:
        raise DataError(f"{where}: unknown column {unknown[0]!r}. Known: {', '.join(model.model_fields)}.")
    import pandas as pd

    # A round trip through Python objects: pandas keeps whole numbers as numpy's, and as floats beside a missing value.
    return [
        {
            str(key): _plain(value)
            for key, value in row.items()
            if not (pd.api.types.is_scalar(value) and pd.isna(value))
        }
        for row in frame.to_dict("records")
    ]


def _plain(value: Any) -> Any:
    if hasattr(value, "tolist"):
        value = value.tolist()
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _tidy(row: dict[str, Any]) -> dict[str, Any]:
    """A lone answer as a list of one, a list of gold ids as grades of 1."""
    answers, gold = row.get("answers"), row.get("gold")
    if isinstance(answers, str):
        row["answers"] = [answers]
    listed = gold if isinstance(gold, Collection) and not isinstance(gold, (str, Mapping)) else None
    if listed is not None and all(isinstance(id_, str | int | float) for id_ in listed):  # else the schema refuses it
        row["gold"] = dict.fromkeys(listed, 1)
    return row
