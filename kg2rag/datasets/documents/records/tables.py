"""Tables, JSON and YAML files, in any encoding and with any separator -> records."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

from kg2rag.datasets.documents.blocks import counted_remark, join_remarks
from kg2rag.datasets.documents.messages.chats import (
    is_message,
    shown_text,
    with_shown_texts,
)
from kg2rag.datasets.documents.messages.slack import with_whole_texts
from kg2rag.datasets.documents.office.workbooks import Workbook
from kg2rag.datasets.documents.records.delimited import (
    ID_COLUMNS,
    NO_CELL,
    TEXT_COLUMNS,
    delimited_records,
)
from kg2rag.datasets.documents.records.group_rows import with_groups
from kg2rag.datasets.documents.records.json_texts import (
    QUESTION_COLUMNS,
    flat_questions,
    json_records,
    nested_questions,
    nested_records,
    numbered_records,
    with_title,
)
from kg2rag.datasets.documents.records.json_values import (
    fields_text,
    is_vector,
    load_value,
    unique_fields,
    value_lines,
    value_text,
)
from kg2rag.text.decoding import decode, decode_text
from kg2rag.text.records import (
    SPREADSHEETS,
    DataError,
    existing,
    parse_json,
    parse_parquet,
    read_json,
)
from kg2rag.types.coerce_corpus import (
    PASSAGE,
    QUESTION_AND_ANSWER,
    faq_columns,
    fields_of_columns,
    python_value,
    with_answers_as_texts,
)

TABLES = (".jsonl", ".ndjson", ".csv", ".tsv", ".parquet")
VALUES = (".json", ".yaml", ".yml")
"""Endings of files with a single value, a list or an object, which may contain records."""
_ACTIONS = frozenset(("index", "create"))  # of a bulk file of Elasticsearch
_QUESTIONS = (*QUESTION_COLUMNS, *QUESTION_AND_ANSWER["question"])
_EMPTY = ("", None, r"\N")
"""Values of empty cells; the last is how databases write them."""


class Table(NamedTuple):
    """A table as it was read.

    Attributes
    ----------
    remark : what the report says of the reading, such as a guessed encoding; "" for nothing.
    source : all text of the file, against which lost words are counted.
    """

    records: Sequence[Mapping[str, Any]]
    remark: str = ""
    source: str = ""


def read_table(path: str | Path) -> Table:
    """A table, or the records of a .json or .yaml file.

    A cell that holds a JSON list or object as text is parsed.
    """
    kinds = f"a table: a file {', '.join(TABLES)} or .json"
    file = existing(path, kinds)
    if file.suffix.lower() not in (*TABLES, *VALUES):
        raise DataError(f"{file} cannot be read as records. Give {kinds}.")
    ending = file.suffix.lower()
    data = file.read_bytes()
    if ending != ".parquet":
        data = decode(data, file).encode()
    return parse_table(data, str(file), ending)


def read_questions(path: str | Path) -> Any:
    """The questions of a file, in a shape that `from_frames` takes.

    They are the records of a table, the questions at any depth of JSON, such as SQuAD's, the object
    itself if it has `relevant_docs` or `qrels` (LlamaIndex, MTEB), or the records in the sheets of a spreadsheet.
    """
    file = Path(path)
    ending = file.suffix.lower()
    if ending in (".json", ".jsonl", ".ndjson") and file.is_file():
        questions = _questions_of_json(file, ending)
        if questions:
            return questions
    if ending in SPREADSHEETS and file.is_file():
        return _sheets_of_questions(file)
    records = read_table(path).records
    return flat_questions(records) or records


def _questions_of_json(file: Path, ending: str) -> Any:
    """The questions of a file of JSON, or of JSON Lines; an empty list if it has none."""
    value: Any = None
    if ending == ".json":
        value = read_json(file)
    else:
        value = list(_json_lines_of(file))
    if isinstance(value, Mapping) and (
        "relevant_docs" in value or {"queries", "qrels"} <= value.keys()
    ):
        return value
    return flat_questions(value) or list(nested_questions(value))


def _sheets_of_questions(path: Path) -> list[Mapping[str, Any]]:
    """The records of the sheets of a spreadsheet that have a column of questions."""
    workbook = Workbook(path.read_bytes())
    records = list[Mapping[str, Any]]()
    for name in workbook.names:
        sheet = workbook.read(name)
        if sheet.count(b"\n") > 1:  # not only `sep=`
            rows = parse_table(sheet, f"{path}, {name}", ".csv").records
            columns = {column.casefold() for row in rows for column in row}
            if not columns.isdisjoint(_QUESTIONS):
                records += rows
    if not records:
        raise DataError(
            f"{path}: no sheet has a column of questions. Call it question, or as one of {', '.join(_QUESTIONS)}."
        )
    return records


def _json_lines_of(file: Path) -> Iterator[Mapping[str, Any]]:
    """The objects of a file of JSON Lines in any encoding."""
    return _json_lines(decode(file.read_bytes(), file), str(file))


def parse_table(
    data: bytes, name: str, ending: str, names: Mapping[str, str] | None = None
) -> Table:
    """The table of a file's bytes, without empty cells; `ending` tells the format.

    Messages of Slack have the texts that Slack shows; `names` are those of its users and channels.

    DataError names the file and the record.
    """
    table = _raw_table(data, name, ending)
    if any(map(is_message, table.records)):
        table = table._replace(
            records=with_shown_texts(table.records, names or {}),
            source=shown_text(table.source, names or {}),
        )
    records: list[Mapping[str, Any]] = [
        {key: value for key, value in row.items() if value not in _EMPTY}
        for row in table.records
    ]
    if not records:
        raise DataError(f"{name}: no record in it.")
    return table._replace(records=records)


def _raw_table(data: bytes, name: str, ending: str) -> Table:
    """The table of a file's bytes, with its cells as the file has them."""
    if ending == ".parquet":
        rows = parse_parquet(data, name).to_pylist()
        return Table(rows, source=value_text(rows))
    text, remark = decode_text(data)
    if ending in (".jsonl", ".ndjson"):
        lines = list(_json_lines(text, name))
        return Table(_line_records(lines), remark, value_text(lines))
    if ending in VALUES:
        value = load_value(text, name)
        records = json_records(with_whole_texts(value), name)
        if records is None:
            raise DataError(f"{name}: no records with a text or a question.")
        return Table(records, remark, value_text(value))
    rows, remark_on_rows = delimited_records(text, name)
    records = [{key: _cell_value(cell) for key, cell in row.items()} for row in rows]
    return Table(records, join_remarks(remark, remark_on_rows), NO_CELL.sub("", text))


def with_texts(table: Table) -> Table:
    """The table, whose records without a text get all their fields as their text.

    The text of a FAQ is its answers. A table of test questions or of numbers is returned as it is.
    """
    columns = [str(column) for record in table.records for column in record]
    text_columns = fields_of_columns(columns, {"text": PASSAGE["text"]})
    if text_columns:
        return _with_texts_filled(table, next(iter(text_columns)))
    faq = faq_columns(table.records)
    if faq:
        remark = f"a FAQ: {faq[0]!r} is the title, and {faq[1]!r} the text"
        records = with_answers_as_texts(table.records)
        return Table(records, join_remarks(table.remark, remark), table.source)
    has_questions = any(column.casefold() in QUESTION_COLUMNS for column in columns)
    if has_questions or not re.search(r"[^\W\d_]", value_text(list(table.records))):
        return table
    rows, n_groups = with_groups(table.records)
    records = [
        {**_identifying_fields(record), "text": fields_text(record)} for record in rows
    ]
    remark = "no column of text: each record is read with all its columns"
    vectors = _vector_columns(table.records)
    if vectors:
        remark += f" but those of vectors: {', '.join(vectors)}"
    groups = counted_remark("rows that name groups of the rows below them", n_groups)
    return Table(records, join_remarks(table.remark, remark, groups), table.source)


def _vector_columns(records: Sequence[Mapping[str, Any]]) -> list[str]:
    """The names of the columns that have a vector in the first record."""
    fields = next(iter(records), {})
    return [str(column) for column, value in fields.items() if is_vector(value)]


def _with_texts_filled(table: Table, text_column: str) -> Table:
    """The table, whose records with an empty column of text get their other fields as their text.

    A record with no more than an id, document and position is left as it is.
    """
    records = list[Mapping[str, Any]]()
    filled = list[int]()
    for number, record in enumerate(table.records, start=1):
        fields = {
            column: value
            for column, value in record.items()
            if str(column).casefold() not in ID_COLUMNS
        }
        if text_column not in record and list(value_lines(fields)):
            filled.append(number)
            record = {**_identifying_fields(record), text_column: fields_text(fields)}
        records.append(record)
    if not filled:
        return table
    remark = (
        f"record {filled[0]}: its column {text_column!r} is empty, so it is read with all its "
        f"columns; such records: {len(filled)}"
    )
    return Table(records, join_remarks(table.remark, remark), table.source)


def _identifying_fields(record: Mapping[str, Any]) -> dict[str, Any]:
    """The id, title, document and position of a record, as far as it has them."""
    names = {
        name
        for field in ("id", "title", "doc_id", "position")
        for name in PASSAGE[field]
    }
    return {
        column: value
        for column, value in record.items()
        if str(column).casefold() in names
    }


def _json_lines(text: str, name: str) -> Iterator[Mapping[str, Any]]:
    """The objects of JSON Lines; DataError: a line is no object."""
    for number, line in enumerate(text.split("\n"), start=1):
        if line.strip():
            record = parse_json(line, f"{name}, line {number}", pairs=unique_fields)
            if not isinstance(record, dict):
                raise DataError(
                    f"{name}, line {number}: a {type(record).__name__} where an object is needed."
                )
            yield record


def _line_records(lines: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """The records in the objects of JSON Lines.

    Objects without a text may contain records. In a bulk file of Elasticsearch, a line with an
    action has the id of the next line's record.
    """
    action = dict[str, Any]()
    objects = list[Mapping[str, Any]]()
    for line in lines:
        value = next(iter(line.values()), None)
        if line.keys() <= _ACTIONS and isinstance(value, dict):
            action = value
            continue
        objects.append({**action, **line})
        action = {}
    records_of = [[] if _has_text(item) else nested_records(item) for item in objects]
    if not any(records_of):
        return list(map(with_title, objects))
    return numbered_records(
        [
            record
            for item, records in zip(objects, records_of, strict=True)
            for record in records or [with_title(item)]
        ]
    )


def _has_text(record: Mapping[str, Any]) -> bool:
    """Whether a record has a column of text or of questions."""
    return not TEXT_COLUMNS.isdisjoint(str(column).casefold() for column in record)


def _cell_value(cell: Any) -> Any:
    """The value of a cell in Python's types; a JSON list or object as text is parsed."""
    if not isinstance(cell, str) or cell[:1] not in ("[", "{"):
        return python_value(cell)
    with suppress(ValueError, RecursionError):
        return json.loads(cell)
    return cell
