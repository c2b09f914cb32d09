"""Tables and JSON -> records: .jsonl, .csv, .tsv, .parquet and .json, in any encoding and with any separator."""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

from kg2rag.datasets.documents.blocks import join_remarks
from kg2rag.datasets.documents.decoding import decode_text
from kg2rag.datasets.documents.json_texts import (
    QUESTION_COLUMNS,
    fields_text,
    has_phrase,
    json_records,
    load_value,
    nested_questions,
    nested_records,
    unique_fields,
    value_text,
)
from kg2rag.text.records import (
    DataError,
    delimited_rows,
    existing,
    parse_json,
    parse_parquet,
    read_json,
)
from kg2rag.types.coerce_corpus import PASSAGE, python_value

TABLES = (".jsonl", ".ndjson", ".csv", ".tsv", ".parquet")
VALUES = (".json", ".yaml", ".yml")
"""Endings of files that hold one value of lists and objects, which may have records in it."""
DELIMITERS = ",;\t|"
_ACTIONS = frozenset(("index", "create"))
_TEXT_COLUMNS = frozenset((*PASSAGE["text"], *QUESTION_COLUMNS))
MAX_LINES_ABOVE = 20
_SEPARATOR = re.compile(r"(?i)\Asep=(.)")


class Table(NamedTuple):
    """The records of a table, the remark of a report on their reading, and all text of the file."""

    records: Sequence[Mapping[str, Any]]
    remark: str = ""
    source: str = ""


def read_table(path: str | Path) -> list[Mapping[str, Any]]:
    """The records of a table, or of a .json file with a list of records; in a .csv, a cell with a JSON list is one."""
    kinds = f"a table: a file {', '.join(TABLES)} or .json"
    file = existing(path, kinds)
    if file.suffix.lower() not in (*TABLES, *VALUES):
        raise DataError(f"{file} cannot be read as records. Give {kinds}.")
    ending = file.suffix.lower()
    return list(parse_table(file.read_bytes(), str(file), ending).records)


def read_questions(path: str | Path) -> Any:
    """The questions of a table; of a JSON file, those at any depth (SQuAD), or LlamaIndex's `queries` by id."""
    if Path(path).suffix.lower() == ".json" and Path(path).is_file():
        value = read_json(Path(path))
        if isinstance(value, Mapping) and "relevant_docs" in value:
            return value
        questions = list(nested_questions(value))
        if isinstance(value, Mapping) and questions:
            return questions
    return read_table(path)


def parse_table(data: bytes, name: str, ending: str) -> Table:
    """The records of a table given as bytes, by its ending; DataError names the file and the record."""
    table = _parsed_table(data, name, ending)
    records: list[Mapping[str, Any]] = [
        {key: value for key, value in row.items() if value not in ("", None)}
        for row in table.records
    ]
    if not records:
        raise DataError(f"{name}: no record in it.")
    return table._replace(records=records)


def _parsed_table(data: bytes, name: str, ending: str) -> Table:
    if ending == ".parquet":
        rows = parse_parquet(data, name).to_pylist()
        return Table(rows, source=value_text(rows))
    text, remark = decode_text(data)
    if ending in (".jsonl", ".ndjson"):
        lines = list(_json_lines(text, name))
        return Table(list(_line_records(lines)), remark, value_text(lines))
    if ending in VALUES:
        value = load_value(text, name)
        records = json_records(value, name)
        if records is None:
            raise DataError(f"{name}: no records with a text or a question.")
        return Table(records, remark, value_text(value))
    table = _delimited(text, name)
    records = [
        {key: _cell(value) for key, value in row.items()} for row in table.records
    ]
    return Table(records, join_remarks(remark, table.remark), _SEPARATOR.sub("", text))


def with_texts(table: Table) -> Table:
    """The records, each with all its fields as its text where no record has a column of text or a question.

    A table whose cells are numbers and single words is returned as it is.
    """
    columns = {str(column).casefold() for record in table.records for column in record}
    if not columns.isdisjoint((*PASSAGE["text"], *QUESTION_COLUMNS)):
        return table
    if not any(map(has_phrase, table.records)):
        return table
    records = [
        {**_without_fields(record), "text": fields_text(record)}
        for record in table.records
    ]
    remark = "no column of text: each record is read with all its columns"
    return Table(records, join_remarks(table.remark, remark), table.source)


def _without_fields(record: Mapping[str, Any]) -> dict[str, Any]:
    """The fields of a record that are no text: its id, its title, and what else names it."""
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
    for number, line in enumerate(text.split("\n"), start=1):
        if line.strip():
            record = parse_json(line, f"{name}, line {number}", pairs=unique_fields)
            if not isinstance(record, dict):
                raise DataError(
                    f"{name}, line {number}: a {type(record).__name__} where an object is needed."
                )
            yield record


def _line_records(lines: Sequence[Mapping[str, Any]]) -> Iterator[Mapping[str, Any]]:
    """The records of lines; one within a line is the line's, and an action of Elasticsearch names the next line."""
    action = dict[str, Any]()
    for line in lines:
        if line.keys() <= _ACTIONS and isinstance(
            next(iter(line.values()), None), dict
        ):
            action = next(iter(line.values()))
            continue
        record = {**action, **line}
        action = {}
        columns = {str(column).casefold() for column in record}
        if columns.isdisjoint(_TEXT_COLUMNS):
            yield from nested_records(record) or [record]
        else:
            yield record


def _delimited(text: str, name: str) -> Table:
    """The rows of a table by the separator of its header; Excel's first line `sep=;` names it."""
    lines = text.strip("\n").split("\n")
    separator = _SEPARATOR.fullmatch(lines[0])
    if separator:
        delimiter, lines = separator[1], lines[1:]
    elif name.lower().endswith(".tsv"):
        delimiter = "\t"
    else:
        delimiter = find_delimiter(lines)
    n_above = _lines_above(lines, delimiter)
    lines = [f"{line}\n" for line in lines[n_above:]]
    names = _names_by_place(_cells_of(lines[0], delimiter))
    if names:
        lines = [delimiter.join(names) + "\n", *lines]
    remark = "columns without names, named by their place" * bool(names)
    if n_above:
        remark = f"lines above the names of the columns, left out: {n_above}"
    if delimiter != "\t":
        return Table([row for _, row in delimited_rows(lines, name, delimiter)], remark)
    quoted = _quoted_rows(lines, name)
    if quoted is not None:
        return Table(quoted, remark)
    rows = [row for _, row in delimited_rows(lines, name, delimiter)]
    as_text = "quotation marks are read as text, since they enclose no cells"
    return Table(rows, join_remarks(remark, as_text))


def _names_by_place(cells: Sequence[str]) -> list[str]:
    """Names for the columns of a table whose first row is a record: its first cell is a number; [] for any other."""
    if len(cells) < 2 or not cells[0].strip().isdecimal():
        return []
    names = [f"column_{place}" for place in range(1, len(cells) + 1)]
    names[max(range(len(cells)), key=lambda place: len(cells[place]))] = "text"
    return ["id", *names[1:]]


def _lines_above(lines: Sequence[str], delimiter: str) -> int:
    """The number of lines above the names of the columns, such as a report's title; they fill fewer cells."""
    most_filled = 0
    for row, line in enumerate(lines[:MAX_LINES_ABOVE]):
        cells = [cell.strip().lower() for cell in _cells_of(line, delimiter)]
        n_filled = sum(map(bool, cells))
        if n_filled > max(most_filled, 1) and not _TEXT_COLUMNS.isdisjoint(cells):
            return row
        most_filled = max(most_filled, n_filled)
    filled = [
        sum(map(bool, _cells_of(line, delimiter))) for line in lines[:MAX_LINES_ABOVE]
    ]
    return next((row for row, n_filled in enumerate(filled) if n_filled > 1), 0)


def _cells_of(line: str, delimiter: str) -> list[str]:
    try:
        return next(csv.reader([line], delimiter=delimiter), [])
    except csv.Error:
        return []


def _quoted_rows(lines: Sequence[str], name: str) -> list[Mapping[str, Any]] | None:
    """The rows of cells between tabs that quotation marks may enclose; None where the marks are text."""
    try:
        rows = [row for _, row in delimited_rows(lines, name, "\t", quoted_tabs=True)]
    except DataError:
        return None
    # a tab within a cell: lone marks enclose rows
    if any("\t" in str(cell) for row in rows for cell in row.values()):
        return None
    return list(rows)


def find_delimiter(lines: Sequence[str]) -> str:
    """The separator that gives a header a column of text, else the most columns; a comma where none does."""
    header = next((line for line in lines if line.strip()), "")

    def columns(delimiter: str) -> tuple[bool, int]:
        cells = _cells_of(header, delimiter)
        has_text = not _TEXT_COLUMNS.isdisjoint(cell.strip().lower() for cell in cells)
        return has_text, len(cells)

    return max(DELIMITERS, key=columns)


def _cell(value: Any) -> Any:
    """A cell that is a JSON list or object as one; any other as it is."""
    with suppress(ValueError, RecursionError):
        return (
            json.loads(value)
            if isinstance(value, str) and value[:1] in ("[", "{")
            else python_value(value)
        )
    return value
