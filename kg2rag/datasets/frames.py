"""DataFrames, tables or lists of records of the user -> QADataset."""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Iterable, Mapping, Sequence
from itertools import chain
from typing import Annotated, Any

from pydantic import Field, StrictInt

from kg2rag.datasets.answer_contexts import with_context, with_near_gold
from kg2rag.datasets.documents.records.json_texts import flat_questions
from kg2rag.datasets.gold import GoldIndex, GoldTarget
from kg2rag.datasets.question_columns import (
    RECORD_TEXTS,
    grade_in,
    question_records,
)
from kg2rag.datasets.reading import Record, Text, check
from kg2rag.text.printed_values import flattened, parsed_literal
from kg2rag.text.records import DataError, quote
from kg2rag.types import GoldUnit, QADataset, Query, Question, corpus_of
from kg2rag.types.coerce_corpus import PASSAGE, identifier, python_value

ANSWER_FIELDS = (
    *("text", "value", "answer", "aliases"),
    *("answer_spans", "answer_value"),  # of IIRC
)
"""The fields of an answer that is an object, without regard to case."""
ALL_OF_THEM = (
    "taken as all of these; a column doc_id in the corpus would name documents"
)
GOLD_SAMPLE = 20
"""Values of a mapping that are looked up to decide whether they are gold."""


class FrameQuestion(Record):
    """One row of the questions, with its fields in their final types."""

    id: Text
    text: Text
    gold: dict[str, Annotated[StrictInt, Field(ge=0)]] = Field(default_factory=dict)
    answers: list[Text] = Field(default_factory=list)
    type: str = ""
    hops: StrictInt | None = None
    triples: list[tuple[Text, Text, Text]] = Field(default_factory=list)
    judged: dict[str, Annotated[StrictInt, Field(ge=0)]] = Field(default_factory=dict)
    origin: Any = None
    bridges: Any = None


def from_frames(corpus: Any, questions: Any, *, name: str = "custom") -> QADataset:
    """A data set from your tables: frames of any library, tables of `datasets`, or lists of dicts.

    Parameters
    ----------
    corpus : column `text`, and if known `id`, `title`, `doc_id` (default: the id), `position` (from
        0); every other column is kept as metadata. `kg2rag.types.coerce_corpus.PASSAGE` lists other
        names of these. Ids are of any type, by default the index. A `Corpus`, such as that of
        `from_folder`, is taken as it is.
    questions : `text` or `question`, and if known `id`, `answers` (a string or a list), `type`,
        `hops`, `triples` (list of (head, relation, tail)), and `gold`: a passage, a list of them,
        or a mapping from passage to grade. Gold is an id, a path, a page (`a.pdf#page=3`), a title,
        a heading (`a.md#heading`), a text that stands in passages, or a record with one of these,
        as of MIRACL, DPR and MultiHop-RAG; ids of documents serve if all gold is such. {question:
        gold} serves, too, and the questions of ragas, AutoRAG, LlamaIndex, SQuAD and DeepEval; the
        gold of the last two is `context`. Questions without gold become `unjudged`; `judged`, a
        mapping from id to 0, says which hits were found irrelevant, and need not be judged again.
        Without gold, a column such as `context` whose texts all stand in passages is the gold, or
        else columns whose cells all name documents; a column of pages beside them says which page.
        Rows of judged pairs of question and document are joined. `source["notes"]` counts these,
        other columns, which are left out, and texts that no passage holds.
    name : how results call it.

    Raises ValueError: a column that is missing, a wrong type, a duplicate id, gold that the corpus
    lacks.

    Examples
    --------
    >>> corpus = [{"id": 1, "text": "Ada wrote notes."}, {"id": 2, "text": "Charles built engines."}]
    >>> from_frames(corpus, [{"question": "Who wrote notes?", "gold": 1}])
    QADataset('custom', 1 questions, Corpus(2 passages, 2 documents), pooled)
    """
    table = corpus_of(corpus, f"{name} corpus")
    where = f"{name} questions"
    index = GoldIndex(table)
    notes: Counter[str] = Counter()
    rows_by_field = question_records(
        _question_rows(questions, index, notes), where, index, notes
    )
    fields = with_near_gold(list(map(with_context, rows_by_field)), index)
    notes += _unused_columns(fields)
    completed = (
        _with_typed_fields(row, where, number, index)
        for number, row in enumerate(fields, start=1)
    )
    rows = [
        _with_gold_cells_split(row, index)
        for row in check(completed, FrameQuestion, where)
    ]
    unit, gold = _resolve(rows, index, where, notes)
    unjudged = tuple(Query(row.id, row.text) for row in rows if not gold[row.id])
    if unjudged:
        notes["questions without gold, not scored"] = len(unjudged)
    return QADataset(
        name,
        table,
        tuple(_question(row, gold[row.id]) for row in rows if gold[row.id]),
        unit=unit,
        # A frame has no file; the corpus's fingerprint says which data a result is about.
        source={
            "loader": "from_frames",
            "corpus": table.fingerprint,
            "notes": dict(notes),
        },
        unjudged=unjudged,
        rows={row.id: _labelling_row(row, gold[row.id]) for row in rows},
    )


def _question(row: FrameQuestion, gold: Mapping[str, int]) -> Question:
    """The question of a row with its resolved gold."""
    return Question(
        row.id,
        row.text,
        gold,
        tuple(dict.fromkeys(row.answers)),
        row.type,
        row.hops,
        triples=tuple(row.triples),
    )


def _unused_columns(rows: Iterable[Mapping[str, Any]]) -> Counter[str]:
    """A note for each column that is not used -> the number of its values."""
    columns = Counter(
        column
        for row in rows
        for column in row
        if column not in FrameQuestion.model_fields
    )
    return Counter(
        {
            f"values of the questions' column {column!r} left out": n
            for column, n in columns.items()
        }
    )


def _question_rows(questions: Any, index: GoldIndex, notes: Counter[str]) -> Any:
    """The questions as rows, if they are {question: gold}, or queries with judgements and their own corpus.

    All other questions are returned as they are, also a mapping of ids to texts.
    """
    queries, relevant, corpus = (
        _part(questions, *names)
        for names in (("queries",), ("relevant_docs", "qrels"), ("corpus",))
    )
    if isinstance(queries, Mapping) and isinstance(relevant, Mapping):
        text_of = _texts_of_ids(relevant, corpus, index)
        notes["gold found by its text in the questions' own corpus"] += len(text_of)
        return [
            {"id": id_, "text": text, "gold": _named(relevant.get(id_), text_of)}
            for id_, text in queries.items()
        ]
    if (
        isinstance(questions, Mapping)
        and questions
        and _are_gold(list(questions.values()), index)
    ):
        return [{"text": text, "gold": gold} for text, gold in questions.items()]
    return flat_questions(questions) or questions


def _texts_of_ids(
    relevant: Mapping[Any, Any], entries: object, index: GoldIndex
) -> dict[Any, Any]:
    """Id that the corpus lacks -> its text in `entries`, the corpus that the questions bring."""
    if not isinstance(entries, Mapping):
        return {}
    ids = dict.fromkeys(chain.from_iterable(map(_ids_of, relevant.values())))
    return {
        id_: _name_of_gold(entries[id_], index)
        for id_ in ids
        if id_ in entries and not index.has_name(str(id_))
    }


def _part(questions: Any, *names: str) -> Any:
    """The first of some parts that a mapping or an object of another library has; None without one."""
    for name in names:
        if isinstance(questions, Mapping) and name in questions:
            return questions[name]
        if not isinstance(questions, Mapping) and hasattr(questions, name):
            return getattr(questions, name)
    return None


def _ids_of(gold: object) -> list[Any]:
    """The ids in the gold of one question: an id, a list, or a mapping from id to grade."""
    ids = list(gold) if isinstance(gold, Mapping) else flattened(gold)
    return [id_ for id_ in ids if isinstance(id_, str | int)]


def _named(gold: Any, text_of: Mapping[Any, Any]) -> Any:
    """The gold of one question with texts in place of some ids."""
    if isinstance(gold, Mapping):
        return {text_of.get(id_, id_): grade for id_, grade in gold.items()}
    if gold is None or not text_of:
        return gold
    return [
        text_of.get(piece, piece) if isinstance(piece, str | int) else piece
        for piece in flattened(gold)
    ]


def _are_gold(values: Sequence[object], index: GoldIndex) -> bool:
    """Whether the values of a mapping are gold: lists, grades, or names of the corpus."""
    if all(isinstance(value, str) for value in values):
        return all(index.find(str(value)) for value in values[:GOLD_SAMPLE])
    return all(
        isinstance(value, list | tuple | set) or _is_grades(value, index)
        for value in values
    )


def _is_grades(value: object, index: GoldIndex) -> bool:
    """Whether a value is a mapping from names of the corpus."""
    return (
        isinstance(value, Mapping)
        and bool(value)
        and all(index.find(str(name)) for name in value)
    )


def _with_typed_fields(
    row: Mapping[str, Any], where: str, number: int, index: GoldIndex
) -> dict[str, Any]:
    """The row of a question with id, answers and gold in the types of `FrameQuestion`.

    number : the row's number from 1, which errors name, and which is the id of a row without one.
    """
    fields = dict(row)
    fields["id"] = identifier(row.get("id"), where, number)
    for field in {"answers", "triples", "gold"} & fields.keys():
        fields[field] = parsed_literal(fields[field])
    if "answers" in fields:
        fields["answers"] = _answer_texts(fields["answers"])
    if "gold" in fields:
        grades = fields["gold"]
        if _are_pairs(grades):
            grades = dict(grades)
        if not isinstance(grades, Mapping):
            grades = _grades_of(flattened(grades), index)
        # A column of mappings in an Arrow table has every name in every row, most of them null.
        fields["gold"] = {
            identifier(name, where, number): python_value(grade)
            for name, grade in grades.items()
            if grade is not None
        }
    return fields


def _grades_of(pieces: Sequence[object], index: GoldIndex) -> dict[object, int]:
    """The name of each piece of gold -> the grade in its record, by default 1."""
    grades = dict[object, int]()
    for piece in pieces:
        name = _name_of_gold(piece, index)
        grade = grade_in(piece) if isinstance(piece, Mapping) else 1
        grades[name] = max(grade, grades.get(name, 0))
    return grades


def _are_pairs(gold: object) -> bool:
    """Whether gold is a list of (name, grade), the form of maps in an Arrow table."""
    if not isinstance(gold, list) or not gold:
        return False
    return all(
        isinstance(pair, tuple) and len(pair) == 2 and isinstance(pair[1], int)
        for pair in gold
    )


def _answer_texts(answers: object) -> list[Any]:
    """The texts of answers: a text, a list, or an object with them, as in SQuAD, TriviaQA or LangSmith."""
    if isinstance(answers, list):
        return list(chain.from_iterable(map(_answer_texts, answers)))
    if isinstance(answers, Mapping):
        return _texts_of_object(answers)
    return [_answer_text(answers)]


def _texts_of_object(answer: Mapping[Any, Any]) -> list[Any]:
    """The texts in the object of an answer; [] if its type is "none", itself if it has no texts."""
    fields = {str(name).casefold(): value for name, value in answer.items()}
    if fields.get("type") == "none":
        return []
    values = [fields[name] for name in ANSWER_FIELDS if name in fields]
    return _answer_texts(values) or [answer]


def _answer_text(answer: object) -> object:
    """The text of an answer that is a truth value or a number; any other answer itself."""
    value = python_value(answer)
    if isinstance(value, bool):
        return "yes" if value else "no"  # of StrategyQA and BoolQ
    if isinstance(value, int | float):
        return str(value)  # of a spreadsheet
    return answer


def _name_of_gold(piece: object, index: GoldIndex) -> object:
    """The name of a piece of gold; any piece that is no record is its own name.

    The name of a record is an id that the corpus has, else its text or fact, else its title or URL,
    else an unknown id.
    """
    if not isinstance(piece, Mapping):
        return piece
    filled = {
        name: str(value) for name, value in piece.items() if value not in (None, "")
    }
    id_columns = (*PASSAGE["id"], *PASSAGE["doc_id"], "wikipedia_id")
    ids = [filled[name] for name in id_columns if name in filled]
    texts = [filled[name] for name in RECORD_TEXTS if name in filled]
    titles = [filled[name] for name in (*PASSAGE["title"], "url") if name in filled]
    candidates = [
        *filter(index.has_name, ids),
        *filter(index.is_text, texts),
        *titles,
        *ids,
        str(piece),
    ]
    return candidates[0]


def _with_gold_cells_split(row: FrameQuestion, index: GoldIndex) -> FrameQuestion:
    """The row of a question, with gold such as "a.md; b.md" split into its names."""
    gold = dict[str, int]()
    for name, grade in row.gold.items():
        pieces = index.separated(name) or [name]
        gold.update(dict.fromkeys(pieces, grade))
    return row.model_copy(update={"gold": gold})


def _resolve(
    rows: list[FrameQuestion], index: GoldIndex, where: str, notes: Counter[str]
) -> tuple[GoldUnit, dict[str, dict[str, int]]]:
    """The unit of all gold, and the grades: question id -> id of a passage or document -> grade."""
    targets = _targets(rows, index, where, notes)
    unit = _gold_unit(list(targets.values()))
    gold = {row.id: dict[str, int]() for row in rows}
    for row in rows:
        grades = gold[row.id]
        for name, grade in row.gold.items():
            if grade == 0:
                notes["gold of grade 0, not relevant, left out"] += 1
            elif name in targets:
                for id_ in _ids(targets[name], unit, index, notes):
                    grades[id_] = max(grade, grades.get(id_, 0))
    return unit, gold


def _targets(
    rows: list[FrameQuestion], index: GoldIndex, where: str, notes: Counter[str]
) -> dict[str, GoldTarget]:
    """Gold as the questions have it -> its target.

    A text that no passage contains is noted; DataError: any other unknown name, or all are unknown.
    """
    every_target = index.find_all(name for row in rows for name in row.gold)
    targets = {
        name: target for name, target in every_target.items() if target is not None
    }
    n_beginnings = sum(map(index.is_beginning, targets))
    if n_beginnings:
        notes[f"gold that begins ids of passages, {ALL_OF_THEM}"] = n_beginnings
    for row in rows:
        _note_unknown_gold(row, targets, index, where, notes)
    if every_target and not targets:
        example = quote(next(iter(every_target)))
        raise DataError(
            f"{where}: none of the {len(every_target)} pieces of gold is in the corpus, such as {example}."
        )
    return targets


def _gold_unit(targets: Sequence[GoldTarget]) -> GoldUnit:
    """The document if all gold names documents and not all of them are single passages."""
    if all(target.document for target in targets) and not all(
        target.passages for target in targets
    ):
        return "document"
    return "passage"


def _note_unknown_gold(
    row: FrameQuestion,
    targets: Container[str],
    index: GoldIndex,
    where: str,
    notes: Counter[str],
) -> None:
    """Note the gold texts of a question that no passage contains; DataError for other unknown gold."""
    for name in row.gold:
        if name in targets:
            continue
        if not index.is_text(name):
            raise DataError(
                f"{where}, question {row.id!r}: gold {quote(name)} is no passage, document, title or heading of the "
                f"corpus.{index.suggestion(name)} Ids are such as {index.corpus.ids[0]!r}."
            )
        notes[
            f"gold texts of question {row.id!r} that no passage holds: {quote(name)}"
        ] += 1


def _ids(
    target: GoldTarget, unit: GoldUnit, index: GoldIndex, notes: Counter[str]
) -> Sequence[str]:
    """The ids of a target in the unit; a document among passages counts as all its passages."""
    if unit == "document":
        return [target.document]
    if target.passages:
        return target.passages
    notes["gold documents taken as all their passages"] += 1
    return index.passages_of(target.document)


def _labelling_row(row: FrameQuestion, gold: Mapping[str, int]) -> dict[str, Any]:
    """The row of a question in the file that a page of judgements saves."""
    fields = row.model_dump(exclude={"id", "text"}, exclude_defaults=True)
    if gold:
        fields["gold"] = dict(gold)
    return {"id": row.id, "question": row.text, **fields}
