"""The columns of a set of questions -> the fields of questions; rows of one question are joined.

The names of columns are those of tools and sets. Ours: without a column of gold, one of contexts whose
texts all stand in passages is the gold, else one whose cells all name passages or documents; with a
column of grades beside it, a row is the judgement of a pair, as in a spreadsheet of judges.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from itertools import chain
from typing import Any

from kg2rag.datasets.gold import GoldIndex
from kg2rag.datasets.gold_pages import with_pages
from kg2rag.datasets.unfolded_rows import unfolded
from kg2rag.text.printed_values import flattened, parsed_literal
from kg2rag.types.coerce_corpus import (
    PASSAGE,
    QUESTION_AND_ANSWER,
    distinct_columns,
    fields_of_columns,
    records,
)
from kg2rag.types.gold_columns import GOLD, is_answer_column, is_gold_column

IDS = ("docno", "docid", "corpus-id", "corpus_id", "chunk_id", "pid", "document_id")
"""Further names of columns with the ids of passages or documents."""
CONTEXTS = (
    *("context", "passage", "paragraph", "chunk", "evidence", "excerpt", "snippet"),
    *("source_text", "chunk_text", "document", "references"),
)
"""Names of a column with the text, or a list of texts, from which a question and its answer are."""
JUDGED_TEXTS = (*CONTEXTS, "reference")
"""Names of a column with the text that a row judges; Phoenix has such references."""
_OTHER_ANSWERS = frozenset(QUESTION_AND_ANSWER["answer"]) - frozenset(
    ("answer", "answers", "response", "reply")
)
RESPONSES = ("answer", "response", "actual_output")
"""Names of a column with the answer of a system; a column `contexts` beside it holds what it retrieved."""
QUESTION: Mapping[str, tuple[str, ...]] = {
    "id": ("id", "_id", "qid", "query_id", "question_id", "q_id", "query-id"),
    "text": (
        *QUESTION_AND_ANSWER["question"],
        "question_text",
        "query_text",
        "user_input",
        "input",
        "prompt",
        "text",
    ),
    "gold": (*GOLD, *IDS),
    "answers": (
        *("answers", "ground_truth", "ground_truths", "generation_gt", "answer"),
        "reference",
        *QUESTION_AND_ANSWER["answer"],
        *("参考答案", "标准答案", "正确答案", "模範解答", "musterantwort"),
    ),
    **{name: (name,) for name in ("type", "hops", "triples")},
}
"""Field of a question -> names of its column, the most preferred first."""
RECORD_TEXTS = ("fact", *PASSAGE["text"], "evidence_text")
"""The fields with the text of a piece of gold, the most preferred first."""
NO_EVIDENCE = ("no_evidence", "operation")
"""What StrategyQA has in place of the paragraphs of a step without any."""
GRADES: Mapping[str, int] = {
    **dict.fromkeys(
        ("yes", "y", "true", "relevant", "x", "ja", "j", "oui", "si", "sí", "sim"), 1
    ),
    **dict.fromkeys(("tak", "evet", "да", "是", "はい", "예", "네", "teilweise"), 1),
    **dict.fromkeys(("partly", "partially", "partial", "partially relevant"), 1),
    **dict.fromkeys(
        ("no", "n", "false", "irrelevant", "not relevant", "nein", "non", "não"), 0
    ),
    "unrelated": 0,
    **dict.fromkeys(("nie", "hayır", "нет", "否", "いいえ", "아니오", "아니요"), 0),
}
"""Words of judges -> grades."""
_GRADE_COLUMN = re.compile(
    r"relevan|pertinen|релевант|相关|関連|관련|judge?ment|(?:\b|_)(?:grade|rating|rel)s?\b",
    re.IGNORECASE,
)
"""The name of a column of grades."""
_SCORE_COLUMN = re.compile(r"(?:\b|_)(?:score|point|label)s?\b", re.IGNORECASE)
"""The name of a column of grades if these differ for one question, or are 0 and 1."""
MAX_GRADE = 10
"""Highest number that is a grade."""
_FIELD_OF_OBJECT = re.compile(
    r"(?:fields|inputs?|metadata|(?:expected_|reference_)?outputs?)[._/](\w+)|(\w+)\.responses"
)
"""A column such as `input_question` and `metadata_source` (Phoenix), or `answer.responses` (Argilla)."""
_DOCUMENT_COLUMN = re.compile(
    r"file|fichier|datei|archivo|document|dokument|quelle|source|fuente|文档|文件|来源",
    re.IGNORECASE,
)
"""The name of a column whose cells may name files without their endings, and headings."""
_OF_ANSWERS = re.compile(r"answer|evidence|support", re.IGNORECASE)
_NUMBER = re.compile(r"\W*\d+\W*$")
"""The number of a column, and the signs around it."""


def question_records(
    source: Any, where: str, index: GoldIndex, notes: Counter[str]
) -> list[dict[str, Any]]:
    """The records of questions with their columns renamed to fields, one for each question.

    `notes` counts the rows whose gold was recognised by its values, and the rows that were joined.
    """
    rows = [unfolded(row) for row in records(source, where, {"id": QUESTION["id"]})]
    rows = _renamed(rows, _names_within_objects(distinct_columns(rows)))
    rows = _without_unknown_ids(rows, index, notes)
    field_of = _fields_of(distinct_columns(rows))
    grades = _column_of_grades(rows, field_of)
    pairs = _fields_without(rows, grades)
    if "gold" not in pairs.values():
        taken = {*pairs, grades}
        if grades is not None:
            taken -= set(JUDGED_TEXTS)
        rows = _with_gold_by_values(rows, taken, index, notes)
        pairs = _fields_without(rows, grades)
    if grades is not None and "gold" in pairs.values():
        return _joined_rows(_graded_pairs(_renamed(rows, pairs), grades, notes), notes)
    field_of = _fields_of(distinct_columns(rows))
    are_numbered = all(row["id"] == number for number, row in enumerate(rows))
    rows = with_pages(_renamed(rows, field_of), index, notes)
    return _joined_rows(rows, notes, by_text=are_numbered)


def _without_unknown_ids(
    rows: list[dict[str, Any]], index: GoldIndex, notes: Counter[str]
) -> list[dict[str, Any]]:
    """The rows without a column of ids that are the gold by its name, if the corpus has none of them.

    Rows without contexts, which are the gold then, are returned as they are.
    """
    columns = distinct_columns(rows)
    fields = _fields_of(columns)
    gold = next((column for column in columns if fields.get(column) == "gold"), "")
    if gold not in (*IDS, "passage_id", "doc_id") or not any(
        _columns_of_contexts(rows)
    ):
        return rows
    names = [str(name) for row in rows for name in flattened(row.get(gold, []))]
    if any(map(index.is_identifier, names)):
        return rows
    notes[f"values of the questions' column {gold!r} that the corpus lacks"] = len(
        names
    )
    return [_without(row, gold) for row in rows]


def _without(row: Mapping[str, Any], column: str) -> dict[str, Any]:
    """The row without a column."""
    return {name: value for name, value in row.items() if name != column}


def _names_within_objects(columns: Sequence[str]) -> dict[str, str]:
    """Column -> the name of its field, for columns that tools made of the fields of objects.

    A name that is a column itself, or that of an id, is left out.
    """
    names = dict[str, str]()
    for column in columns:
        match = _FIELD_OF_OBJECT.fullmatch(column)
        name = match[1] or match[2] if match else ""
        if name and name not in (*columns, *names.values(), *QUESTION["id"]):
            names[column] = name
    return names


def _graded_pairs(
    rows: Sequence[dict[str, Any]], grades: str, notes: Counter[str]
) -> list[dict[str, Any]]:
    """The rows of judged pairs with the grades of a column as those of their gold."""
    notes[f"pairs that column {grades!r} judges"] = sum(grades in row for row in rows)
    n_open = sum("gold" in row and grades not in row for row in rows)
    if n_open:
        notes[f"pairs without a cell in column {grades!r}, no gold"] = n_open
    return [_with_grade(row, grades) for row in rows]


def _renamed(
    rows: Sequence[Mapping[str, Any]], field_of: Mapping[str, str]
) -> list[dict[str, Any]]:
    """The rows with the names of fields in place of those of columns.

    Another column with the name of a field, such as `text` beside `question`, is called "other text".
    """
    fields = set(field_of.values())
    names = {
        column: f"other {column}"
        for column in distinct_columns(rows)
        if column in fields and column not in field_of
    }
    names |= field_of
    return [
        {names.get(column, column): value for column, value in row.items()}
        for row in rows
    ]


def _with_gold_by_values(
    rows: Sequence[dict[str, Any]],
    taken: Collection[str | None],
    index: GoldIndex,
    notes: Counter[str],
) -> list[dict[str, Any]]:
    """The rows with the gold found by the values of columns that are not `taken`.

    Texts that all stand in passages precede names of documents, which are less exact.
    """
    family = _column_of_texts(rows, taken, index, least=1.0)
    reason = "texts that stand in passages"
    if not family:
        family = _columns_of_names(rows, taken, index)
        reason = "which names passages or documents"
    if not family:
        family = _column_of_texts(rows, taken, index, least=0.5)
        reason = "texts that stand in passages"
    if not family:
        return list(rows)
    named = [_with_gold(row, family) for row in rows]
    note = f"questions whose gold is in {', '.join(family)}, {reason}"
    notes[note] = sum("gold" in row for row in named)
    return named


def _column_of_texts(
    rows: Sequence[Mapping[str, Any]],
    taken: Collection[str | None],
    index: GoldIndex,
    least: float,
) -> list[str]:
    """The first column of `CONTEXTS` with texts only; [] unless passages hold at least a share of them."""
    for column in _columns_of_contexts(rows):
        filled = [row[column] for row in rows if row.get(column) not in (None, [])]
        cells = list(map(_texts_in, filled))
        if column not in taken and cells and all(cells):
            texts = list(chain.from_iterable(cells))
            n_found = sum(map(bool, index.find_all(texts).values()))
            if n_found >= least * len(set(texts)) and all(map(index.is_text, texts)):
                return [column]
    return []


def _columns_of_contexts(rows: Sequence[Mapping[str, Any]]) -> Iterable[str]:
    """The columns of `CONTEXTS`, and `contexts` if there is no answer of a system."""
    columns = distinct_columns(rows)
    names = list(JUDGED_TEXTS)
    if not fields_of_columns(columns, {name: (name,) for name in RESPONSES}):
        names.append("contexts")
    return fields_of_columns(columns, {name: (name,) for name in names})


def _texts_in(cell: object) -> list[str]:
    """The texts in a cell, which is one text or record, or a list of them; [] for any other cell."""
    texts = list[str]()
    for piece in flattened(parsed_literal(cell)):
        text = record_text(piece) if isinstance(piece, Mapping) else piece
        if not isinstance(text, str):
            return []
        texts.append(text)
    return texts


def _fields_of(columns: Sequence[str]) -> dict[str, str]:
    """Column -> field of a question."""
    return fields_of_columns(columns, _names(columns))


def _fields_without(
    rows: Sequence[Mapping[str, Any]], grades: str | None
) -> dict[str, str]:
    """Column -> field of a question, apart from the column of grades."""
    columns = distinct_columns(rows)
    return _fields_of([column for column in columns if column != grades])


def _names(columns: Iterable[str]) -> dict[str, tuple[str, ...]]:
    """The names in `QUESTION`, and those that say that a column holds gold or answers."""
    gold = [column for column in columns if is_gold_column(column)]
    answers = [column for column in columns if is_answer_column(column)]
    others = [column for column in columns if _has_word_for_answer(column)]
    return {
        **QUESTION,
        "gold": (*GOLD, *gold, *IDS),
        "answers": (*answers, *QUESTION["answers"], *map(str.casefold, others)),
    }


def _has_word_for_answer(column: str) -> bool:
    """Whether a name has a word for an answer in another language, such as "Réponse attendue"."""
    words = set(re.findall(r"\w+", column.casefold()))
    return not words.isdisjoint(_OTHER_ANSWERS)


def _column_of_grades(
    rows: Sequence[Mapping[str, Any]], field_of: Mapping[str, str]
) -> str | None:
    """The column that grades the pair in each row; None if there is none.

    Its name is one of grades, or its cells are words of judges that differ for one question.
    """
    texts = [column for column, field in field_of.items() if field == "text"]
    for column in distinct_columns(rows):
        if texts and field_of.get(column) in (None, "gold"):
            pairs = [(row.get(texts[0]), row[column]) for row in rows if column in row]
            if _are_graded(pairs, column):
                return column
    return None


def _are_graded(pairs: Sequence[tuple[Any, Any]], column: str) -> bool:
    """Whether the cells of a column, each in a pair with its question, are grades."""
    grades = [_grade(cell) for _, cell in pairs]
    if any(grade is None or grade > MAX_GRADE for grade in grades):
        return False
    if _GRADE_COLUMN.search(column):
        return True
    if _SCORE_COLUMN.search(column):
        return _differ_for_one_question(pairs) or set(grades) == {0, 1}
    are_words = not any(type(_number(cell)) is int for _, cell in pairs)
    return are_words and _differ_for_one_question(pairs)


def _differ_for_one_question(pairs: Sequence[tuple[Any, Any]]) -> bool:
    """Whether some question of the pairs of question and cell has different cells."""
    questions = {str(question) for question, _ in pairs}
    return len({(str(question), str(cell)) for question, cell in pairs}) > len(
        questions
    )


def record_text(record: Mapping[str, Any]) -> str | None:
    """The text in the record of a passage or of evidence; None without one."""
    for name in RECORD_TEXTS:
        if isinstance(record.get(name), str) and record[name].strip():
            return str(record[name])
    return None


def grade_in(record: Mapping[str, Any]) -> int:
    """The grade in a record of a passage, such as its `relevance`; 1 without one."""
    for column, cell in record.items():
        if _GRADE_COLUMN.search(column) or column.casefold() == "expected_score":
            is_whole = isinstance(cell, float) and cell.is_integer()
            grade = _grade(int(cell) if is_whole else cell)
            if grade is not None:
                return grade
    return 1


def _grade(cell: Any) -> int | None:
    """The grade that a number or a word of a judge is; None for other cells.

    A number below 0 is 0: so TREC marks junk. A list of judgements, as of Argilla, has the highest.
    """
    if isinstance(cell, list):
        grades = [grade for grade in map(_grade, cell) if grade is not None]
        return max(grades) if len(grades) == len(cell) > 0 else None
    number = _number(cell)
    if type(number) is int:
        return max(number, 0)
    return GRADES.get(str(cell).strip().casefold())


def _number(cell: Any) -> Any:
    """The whole number that a cell has as text; any other cell itself."""
    if isinstance(cell, str) and re.fullmatch(r"-?[0-9]{1,9}", cell.strip()):
        return int(cell)
    return cell


def _columns_of_names(
    rows: Sequence[Mapping[str, Any]], taken: Collection[str | None], index: GoldIndex
) -> list[str]:
    """The further columns whose cells all name passages or documents; numbers are no names.

    They are those of one name, apart from a number (source_1, source_2), that have the most names;
    columns of answers are preferred, such as `answer_session_ids` to `haystack_session_ids`.
    """
    counts: Counter[str] = Counter()
    families: defaultdict[str, list[str]] = defaultdict(list)
    further = [column for column in distinct_columns(rows) if column not in taken]
    for column in further:
        n_names = _number_of_names(rows, column, index)
        if n_names:
            family = _NUMBER.sub("", column)
            families[family].append(column)
            counts[family] += n_names
    if not counts:
        return []
    of_answers = [family for family in families if _OF_ANSWERS.search(family)]
    return families[max(of_answers or families, key=counts.__getitem__)]


def _number_of_names(
    rows: Sequence[Mapping[str, Any]], column: str, index: GoldIndex
) -> int:
    """The number of names of passages or documents in a column; 0 if a cell has another piece or none."""
    is_name = index.is_identifier
    if _DOCUMENT_COLUMN.search(column):
        is_name = index.has_name
    names = [_names_in(row[column], index, is_name) for row in rows if column in row]
    return sum(map(len, names)) if all(names) else 0


def _names_in(cell: Any, index: GoldIndex, is_name: Callable[[str], bool]) -> list[str]:
    """The names of passages or documents in a cell: one, a list, or several; [] if it has another piece."""
    names = [
        name
        for piece in flattened(parsed_literal(cell))
        for name in index.separated(str(piece)) or [str(piece)]
        if name not in NO_EVIDENCE
    ]
    are_names = all(not name.strip().isdecimal() and is_name(name) for name in names)
    return names if are_names else []


def _with_gold(row: dict[str, Any], family: Sequence[str]) -> dict[str, Any]:
    """The row with the pieces of some columns as gold, in place of these columns."""
    gold = [
        piece
        for column in family
        if column in row
        for piece in flattened(parsed_literal(row[column]))
        if str(piece) not in NO_EVIDENCE
    ]
    rest = {column: value for column, value in row.items() if column not in family}
    return {**rest, "gold": gold} if gold else rest


def _with_grade(row: Mapping[str, Any], column: str) -> dict[str, Any]:
    """The row of a pair with its gold as a mapping from the name to the grade; a pair without one has none."""
    rest = _without(row, column)
    if "gold" not in row:
        return rest
    if column not in row:
        return {**rest, "gold": {}}
    names = map(str, flattened(parsed_literal(row["gold"])))
    return {**rest, "gold": dict.fromkeys(names, _grade(row[column]))}


def _joined_rows(
    rows: Sequence[dict[str, Any]], notes: Counter[str], *, by_text: bool = True
) -> list[dict[str, Any]]:
    """The rows with one for each question; rows of one question differ in their gold only.

    by_text : whether rows with one text are one question, since they have no ids, or ids of pairs.
    """
    joined: dict[object, dict[str, Any]] = {}
    for number, row in enumerate(rows):
        text, gold = row.get("text"), row.get("gold")
        key = (text,) if by_text else (text, str(row.get("id")))
        if not isinstance(text, str) or gold is None:
            key = (number,)
        first = joined.setdefault(key, row)
        if first is not row:
            first["gold"] = _joined_gold(first["gold"], gold)
            notes["rows of questions that have several, joined"] += 1
    return list(joined.values())


def _joined_gold(first: Any, second: Any) -> Any:
    """The gold of two rows of one question: a mapping with the higher grades if both are, else a list."""
    if isinstance(first, Mapping) and isinstance(second, Mapping):
        grades = {
            name: max(first[name] or 0, second[name] or 0)
            for name in first.keys() & second.keys()
        }
        return {**first, **second, **grades}
    return [*flattened(parsed_literal(first)), *flattened(parsed_literal(second))]
