"""The columns of a set of questions -> the fields of questions; rows of one question are joined.

The names of columns are those of tools and sets. Ours: without a column of gold, one whose cells all
name passages or documents is the gold; with a column of grades beside it, a row is the judgement of
a pair, as in a spreadsheet of judges.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

from kg2rag.datasets.gold import GoldIndex
from kg2rag.text.registry import read_value
from kg2rag.types.coerce_corpus import (
    QUESTION_AND_ANSWER,
    distinct_columns,
    fields_of_columns,
    records,
)
from kg2rag.types.gold_columns import GOLD, is_answer_column, is_gold_column

QUESTION: Mapping[str, tuple[str, ...]] = {
    "id": ("id", "_id", "qid", "query_id", "question_id"),
    "text": (*QUESTION_AND_ANSWER["question"], "user_input", "input", "prompt", "text"),
    "gold": GOLD,
    "answers": (
        *("answers", "answer", "generation_gt", "reference", "ground_truth"),
        *QUESTION_AND_ANSWER["answer"],
    ),
    **{name: (name,) for name in ("type", "hops", "triples")},
}
"""Field of a question -> names of its column, the most preferred first."""
GRADES: Mapping[str, int] = {
    **dict.fromkeys(
        ("yes", "y", "true", "relevant", "x", "ja", "j", "oui", "si", "sí", "sim"), 1
    ),
    **dict.fromkeys(("tak", "evet", "да", "是", "はい", "예", "네", "teilweise"), 1),
    **dict.fromkeys(("partly", "partially", "partial", "partially relevant"), 1),
    **dict.fromkeys(
        ("no", "n", "false", "irrelevant", "not relevant", "nein", "non", "não"), 0
    ),
    **dict.fromkeys(("nie", "hayır", "нет", "否", "いいえ", "아니오", "아니요"), 0),
}
"""Words of judges -> grades."""
_GRADE_COLUMN = re.compile(
    r"relevan|pertinen|релевант|相关|関連|관련|\bgrades?\b|judge?ment", re.IGNORECASE
)
"""The name of a column of grades."""
_NUMBER = re.compile(r"\W*\d+\W*$")
"""The number of a column, and the signs around it."""
_NUMPY_GAP = re.compile(r"(?<=[^\s\[,])(['\"])\s+(['\"])(?=[^\s\],])")
"""The gap between two texts of a list that numpy printed: ['a' 'b']."""


def question_records(
    source: Any, where: str, index: GoldIndex, notes: Counter[str]
) -> list[dict[str, Any]]:
    """The records of questions with their columns renamed to fields, one for each question.

    `notes` counts the rows whose gold was recognised by its values, and the rows that were joined.
    """
    rows = records(source, where, {"id": QUESTION["id"]})
    columns = distinct_columns(rows)
    field_of = fields_of_columns(columns, _names(columns))
    text = next((name for name, field in field_of.items() if field == "text"), "")
    grades = _column_of_grades(rows, text, field_of)
    without_grades = [column for column in columns if column != grades]
    pairs = fields_of_columns(without_grades, _names(without_grades))
    if "gold" not in pairs.values():
        family = _columns_of_names(rows, [*pairs, grades], index)
        if family:
            rows = [_with_gold(row, family) for row in rows]
            pairs["gold"] = "gold"
            note = f"questions whose gold is in {', '.join(family)}, which names passages or documents"
            notes[note] = sum("gold" in row for row in rows)
    if "gold" in pairs.values():
        field_of = pairs
    else:
        grades = None
    renamed = [
        {field_of.get(column, column): value for column, value in row.items()}
        for row in rows
    ]
    if grades is not None:
        renamed = [_with_grade(row, grades) for row in renamed]
    are_numbered = all(row["id"] == number for number, row in enumerate(rows))
    by_text = are_numbered or grades is not None
    return _joined_rows(renamed, notes, by_text=by_text)


def _names(columns: Iterable[str]) -> dict[str, tuple[str, ...]]:
    """The names in `QUESTION`, and those that say that a column holds gold or answers."""
    gold = [column for column in columns if is_gold_column(column)]
    answers = [column for column in columns if is_answer_column(column)]
    return {
        **QUESTION,
        "gold": (*GOLD, *gold),
        "answers": (*answers, *QUESTION["answers"]),
    }


def _column_of_grades(
    rows: Sequence[Mapping[str, Any]], text: str, field_of: Mapping[str, str]
) -> str | None:
    """The column that grades the pair in each row; None if there is none.

    Its cells are words of judges that differ for one question (its column is `text`), or its name says
    so, and they may be numbers.
    """
    for column in distinct_columns(rows):
        cells = [row[column] for row in rows if column in row]
        if field_of.get(column) not in (None, "gold") or None in map(_grade, cells):
            continue
        texts = {str(row.get(text)) for row in rows}
        pairs = {(str(row.get(text)), _grade(row.get(column))) for row in rows}
        are_words = not any(type(cell) is int for cell in cells)
        if _GRADE_COLUMN.search(column) or (are_words and len(pairs) > len(texts)):
            return column
    return None


def _grade(cell: Any) -> int | None:
    """The grade that a number or a word of a judge is; None for other cells."""
    if type(cell) is int and cell >= 0:
        return cell
    return GRADES.get(str(cell).strip().casefold())


def _columns_of_names(
    rows: Sequence[Mapping[str, Any]], taken: Collection[str | None], index: GoldIndex
) -> list[str]:
    """The further columns whose cells all name passages or documents; numbers are no names.

    They are those of one name, apart from a number (source_1, source_2), that have the most names.
    """
    counts: Counter[str] = Counter()
    families: defaultdict[str, list[str]] = defaultdict(list)
    for column in distinct_columns(rows):
        names = [_names_in(row[column], index) for row in rows if column in row]
        if column not in taken and all(names):
            family = _NUMBER.sub("", column)
            families[family].append(column)
            counts[family] += sum(map(len, names))
    return families[counts.most_common(1)[0][0]] if counts else []


def _names_in(cell: Any, index: GoldIndex) -> list[str]:
    """The names of passages or documents in a cell: one, a list, or several; [] if it has another piece."""
    names = [
        name
        for piece in flattened(parsed_literal(cell))
        for name in index.separated(str(piece)) or [str(piece)]
    ]
    are_names = all(
        not name.strip().isdecimal() and index.is_identifier(name) for name in names
    )
    return names if are_names else []


def _with_gold(row: dict[str, Any], family: Sequence[str]) -> dict[str, Any]:
    """The row with the pieces of some columns as gold, in place of these columns."""
    gold = [
        piece
        for column in family
        if column in row
        for piece in flattened(parsed_literal(row[column]))
    ]
    rest = {column: value for column, value in row.items() if column not in family}
    return {**rest, "gold": gold} if gold else rest


def _with_grade(row: Mapping[str, Any], column: str) -> dict[str, Any]:
    """The row of a pair with its gold as a mapping from the name to the grade."""
    rest = {name: value for name, value in row.items() if name != column}
    if "gold" not in row or column not in row:
        return rest
    names = map(str, flattened(parsed_literal(row["gold"])))
    return {**rest, "gold": dict.fromkeys(names, _grade(row[column]))}


def _joined_rows(
    rows: Sequence[dict[str, Any]], notes: Counter[str], *, by_text: bool
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
    """The gold of two rows of one question: a mapping if both are, else a list."""
    if isinstance(first, Mapping) and isinstance(second, Mapping):
        return {**first, **second}
    return [*flattened(parsed_literal(first)), *flattened(parsed_literal(second))]


def parsed_literal(value: object) -> object:
    """The list or mapping in a text that JSON, Python or numpy printed; any other value itself."""
    if not isinstance(value, str) or not re.fullmatch(
        r"\s*(\[.*\]|\{.*\})\s*", value, re.DOTALL
    ):
        return value
    return read_value(_NUMPY_GAP.sub(r"\1,\2", value.strip()))


def flattened(gold: object) -> list[Any]:
    """The pieces of gold, which may be one piece, a list, or nested lists (AutoRAG)."""
    if not isinstance(gold, Collection) or isinstance(gold, str):
        return [gold]
    pieces = list[Any]()
    for piece in gold:
        if isinstance(piece, list | tuple | set):
            pieces += flattened(piece)
        else:
            pieces.append(piece)
    return pieces
