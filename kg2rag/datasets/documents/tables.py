"""Tables and JSON -> records: .jsonl, .csv, .tsv, .parquet and .json, in any encoding and with any separator."""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

from kg2rag.datasets.documents.blocks import Block, FileDocument, one_line
from kg2rag.datasets.documents.decoding import decode_text
from kg2rag.datasets.hub_viewer import viewer_rows
from kg2rag.text.records import (
    DataError,
    delimited_rows,
    existing,
    parse_json,
    parse_parquet,
    quote,
)
from kg2rag.types.coerce_corpus import PASSAGE, python_value

TABLES = (".jsonl", ".ndjson", ".csv", ".tsv", ".parquet")
DELIMITERS = ",;\t|"
_QUESTION_COLUMNS = ("question", "query", "user_input")
_TEXT_COLUMNS = frozenset((*PASSAGE["text"], *_QUESTION_COLUMNS))
MAX_LINES_ABOVE = 20
_SEPARATOR = re.compile("(?i)sep=(.)")
_INTERFACE = re.compile(r"""(?m)^["']?(?:openapi|swagger|asyncapi)["']?:""")
LIST_NAMES = frozenset(
    "chunks corpus data docs documents items passages questions records rows".split()
)
"""Names of the field that holds the records in an object."""
SENTENCE_WORDS = 5
"""Words of a string from which a JSON file is read as text; settings have none."""

PHRASE_WORDS = 3
"""Words of a cell from which a table without a column of text is read; numbers and codes have fewer."""


class Table(NamedTuple):
    """The records of a table, and the remark of a report on their reading; "" for none."""

    records: Sequence[Mapping[str, Any]]
    remark: str = ""


def read_table(path: str | Path) -> list[Mapping[str, Any]]:
    """The records of a table, or of a .json file with a list of records; in a .csv, a cell with a JSON list is one."""
    kinds = f"a table: a file {', '.join(TABLES)} or .json"
    file = existing(path, kinds)
    if file.suffix.lower() not in (*TABLES, ".json"):
        raise DataError(f"{file} cannot be read as records. Give {kinds}.")
    return list(parse_table(file.read_bytes(), str(file)).records)


def parse_table(data: bytes, name: str) -> Table:
    """The records of a table given as bytes; DataError names the file and the record."""
    table = _parsed_table(data, name)
    records: list[Mapping[str, Any]] = [
        {key: _cell(value) for key, value in row.items() if value not in ("", None)}
        for row in table.records
    ]
    if not records:
        raise DataError(f"{name}: no record in it.")
    return Table(records, table.remark)


def _parsed_table(data: bytes, name: str) -> Table:
    ending = name[name.rfind(".") :].lower()
    if ending == ".parquet":
        return Table(parse_parquet(data, name).to_pylist())
    text, remark = decode_text(data)
    if ending in (".jsonl", ".ndjson"):
        return Table(list(_json_lines(text, name)), remark)
    if ending == ".json":
        records = json_records(parse_json(text, name, pairs=_unique_fields), name)
        if records is None:
            raise DataError(
                f"{name}: no list of records, and no object that maps ids to records."
            )
        return Table(records, remark)
    table = _delimited(text, name)
    return Table(table.records, "; ".join(filter(None, [remark, table.remark])))


def with_texts(table: Table) -> Table:
    """The records, each with all its fields as its text where no record has a column of text or a question.

    A table whose cells are numbers and single words is returned as it is.
    """
    columns = {str(column).casefold() for record in table.records for column in record}
    if not columns.isdisjoint((*PASSAGE["text"], *_QUESTION_COLUMNS)):
        return table
    strings = [
        text for record in table.records for _, text in _json_lines_of(record, ())
    ]
    if not any(len(text.split()) >= PHRASE_WORDS for text in strings):
        return table
    records = [
        {**_without_fields(record), "text": _fields_text(record)}
        for record in table.records
    ]
    remark = "no column of text: each record is read with all its columns"
    return Table(records, "; ".join(filter(None, [table.remark, remark])))


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


def _fields_text(record: Mapping[str, Any]) -> str:
    blocks = [_json_block(line) for line in _json_lines_of(record, ())]
    return "\n".join(block.text for block in blocks)


def _json_lines(text: str, name: str) -> Iterator[Mapping[str, Any]]:
    for number, line in enumerate(text.split("\n"), start=1):
        if line.strip():
            record = parse_json(line, f"{name}, line {number}", pairs=_unique_fields)
            if not isinstance(record, dict):
                raise DataError(
                    f"{name}, line {number}: a {type(record).__name__} where an object is needed."
                )
            yield record


def _unique_fields(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    fields = dict(pairs)
    if len(fields) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise DataError(
            f"field {twice!r} is there twice in a record. Names must be unique."
        )
    return fields


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
    remark = (
        f"lines above the names of the columns, left out: {n_above}" if n_above else ""
    )
    if delimiter != "\t":
        return Table([row for _, row in delimited_rows(lines, name, delimiter)], remark)
    quoted = _quoted_rows(lines, name)
    if quoted is not None:
        return Table(quoted, remark)
    rows = [row for _, row in delimited_rows(lines, name, delimiter)]
    as_text = "quotation marks are read as text, since they enclose no cells"
    return Table(rows, "; ".join(filter(None, [remark, as_text])))


def _lines_above(lines: Sequence[str], delimiter: str) -> int:
    """The number of lines above the names of the columns, such as a report's title; they fill fewer cells."""
    most_filled = 0
    for row, line in enumerate(lines[:MAX_LINES_ABOVE]):
        cells = [cell.strip().lower() for cell in _cells_of(line, delimiter)]
        n_filled = sum(map(bool, cells))
        if n_filled > max(most_filled, 1) and not _TEXT_COLUMNS.isdisjoint(cells):
            return row
        most_filled = max(most_filled, n_filled)
    return 0


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


def json_records(value: Any, name: str | None = None) -> list[Mapping[str, Any]] | None:
    """The records of a JSON value: a list of them, {id: record or text}, or {"data": list}; None for any other.

    `name` is that of the file, for the DataError about an answer of the hub's viewer that is cut;
    None looks for no cuts.
    """
    value = viewer_rows(value, name) or value
    if isinstance(value, list):
        return _list_records(value)
    if not isinstance(value, Mapping) or not value:
        return None
    lists = [
        item
        for name, item in value.items()
        if str(name).lower() in LIST_NAMES and isinstance(item, list)
    ]
    return _list_records(lists[0]) if len(lists) == 1 else _mapping_records(value)


def _list_records(items: list[Any]) -> list[Mapping[str, Any]] | None:
    if items and all(isinstance(item, str) for item in items):
        return [{"id": str(number), "text": item} for number, item in enumerate(items)]
    return items if items and all(map(_has_text, items)) else None


def _mapping_records(value: Mapping[str, Any]) -> list[Mapping[str, Any]] | None:
    if all(map(_has_text, value.values())):
        return [{"id": key, **item} for key, item in value.items()]
    if all(
        isinstance(item, str) and len(item.split()) >= SENTENCE_WORDS
        for item in value.values()
    ):
        return [{"id": key, "text": item} for key, item in value.items()]
    return None


def _has_text(record: Any) -> bool:
    """Whether a record has a field of text, or a question."""
    names = (*PASSAGE["text"], *_QUESTION_COLUMNS)
    return isinstance(record, Mapping) and any(
        isinstance(record.get(name), str) for name in names
    )


def read_json(data: bytes, name: str = "") -> list[FileDocument]:
    """The document of JSON that holds no records: a line for every value, under the names that lead to it.

    DataError: it has no sentence, as settings have none.
    """
    value = parse_json(decode_text(data).text, name or "the file")
    lines = list(_json_lines_of(value, ()))
    if not any(len(text.split()) >= SENTENCE_WORDS for _, text in lines):
        raise DataError("no records with a text and no sentence in it: settings?")
    return [_lines_document(lines)]


def read_yaml(data: bytes, name: str = "") -> list[FileDocument]:  # noqa: ARG001
    """The document of a description of an interface (OpenAPI, Swagger, AsyncAPI) in YAML, as that of JSON.

    DataError: it is no valid YAML or has aliases, or any other file, which are settings.
    """
    import yaml

    text = decode_text(data).text
    if not _INTERFACE.search(text):
        raise DataError(
            "it describes no interface (openapi, swagger, asyncapi): settings?"
        )
    try:
        if any(isinstance(event, yaml.AliasEvent) for event in yaml.parse(text)):
            raise DataError("it has aliases, which are not followed. Write them out.")
        value = yaml.safe_load(text)
    except yaml.YAMLError as error:
        raise DataError(f"it is no valid YAML: {quote(str(error))}.") from None
    return [_lines_document(list(_json_lines_of(value, ())))]


def _lines_document(lines: Sequence[tuple[tuple[str, ...], str]]) -> FileDocument:
    title = next(
        (one_line(text) for path, text in lines if path == ("info", "title")), ""
    )
    source = "\n".join(text for _, text in lines)
    return FileDocument(list(map(_json_block, lines)), title, source=source)


def _json_block(line: tuple[tuple[str, ...], str]) -> Block:
    """The value of a field with the field's names before it; the field `title` of the whole is a heading."""
    path, text = line
    if path == ("title",):
        return Block(one_line(text), 1)
    return Block(": ".join(filter(None, [" ".join(path), one_line(text)])))


def _json_lines_of(
    value: Any, path: tuple[str, ...]
) -> Iterator[tuple[tuple[str, ...], str]]:
    """Every value that is no list or object, with the names of the fields that lead to it."""
    if isinstance(value, Mapping):
        for name, item in value.items():
            yield from _json_lines_of(item, (*path, str(name)))
    elif isinstance(value, list):
        for item in value:
            yield from _json_lines_of(item, path)
    elif value is not None and str(value).strip():
        yield path, str(value)
