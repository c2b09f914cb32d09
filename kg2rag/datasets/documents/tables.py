"""Tables, JSON and YAML files, in any encoding and with any separator -> records."""

from __future__ import annotations

import csv
import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from io import StringIO
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

from kg2rag.datasets.documents.archives import open_archive
from kg2rag.datasets.documents.blocks import join_remarks
from kg2rag.datasets.documents.decoding import decode_text
from kg2rag.datasets.documents.header_rows import names_in_two_rows
from kg2rag.datasets.documents.json_texts import (
    QUESTION_COLUMNS,
    flat_questions,
    json_records,
    nested_questions,
    nested_records,
    numbered_records,
    with_title,
)
from kg2rag.datasets.documents.json_values import (
    fields_text,
    is_vector,
    load_value,
    unique_fields,
    value_lines,
    value_text,
)
from kg2rag.datasets.documents.slack import is_message, shown_text, with_shown_texts
from kg2rag.text.records import (
    SPREADSHEETS,
    DataError,
    delimited_rows,
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
DELIMITERS = ",;\t|"
_ACTIONS = frozenset(("index", "create"))  # of a bulk file of Elasticsearch
_TEXT_COLUMNS = frozenset((*PASSAGE["text"], *QUESTION_COLUMNS))
_QUESTIONS = (*QUESTION_COLUMNS, *QUESTION_AND_ANSWER["question"])
_IDS = frozenset((*PASSAGE["id"], *PASSAGE["doc_id"], *PASSAGE["position"]))
_EMPTY = ("", None, r"\N")
"""Values of empty cells; the last is how databases write them."""
HEADER_ROWS = 12
"""Rows by which a second row of names is recognised."""
MAX_LINES_ABOVE = 20
"""Lines among which the header of a table is looked for."""
_NO_VALUE = re.compile(r"\\N(?=[\t,;|\r\n]|\Z)")
_SEPARATOR = re.compile(r"(?i)\Asep=(.)")


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


def read_table(path: str | Path) -> list[Mapping[str, Any]]:
    """The records of a table, or of a .json or .yaml file with records.

    A cell that holds a JSON list or object as text is parsed.
    """
    kinds = f"a table: a file {', '.join(TABLES)} or .json"
    file = existing(path, kinds)
    if file.suffix.lower() not in (*TABLES, *VALUES):
        raise DataError(f"{file} cannot be read as records. Give {kinds}.")
    ending = file.suffix.lower()
    return list(parse_table(file.read_bytes(), str(file), ending).records)


def read_questions(path: str | Path) -> Any:
    """The questions of a file, in a shape that `from_frames` takes.

    They are the records of a table, the questions at any depth of JSON, such as SQuAD's, the object
    itself if it has LlamaIndex's `relevant_docs`, or the records in the sheets of a spreadsheet.
    """
    file = Path(path)
    ending = file.suffix.lower()
    if ending in (".json", ".jsonl", ".ndjson") and file.is_file():
        questions = _questions_of_json(file, ending)
        if questions:
            return questions
    if ending in SPREADSHEETS and file.is_file():
        return _sheets_of_questions(file)
    records = read_table(path)
    return flat_questions(records) or records


def _questions_of_json(file: Path, ending: str) -> Any:
    """The questions of a file of JSON, or of JSON Lines; an empty list if it has none."""
    value = read_json(file) if ending == ".json" else list(_json_lines_of(file))
    if isinstance(value, Mapping) and "relevant_docs" in value:
        return value
    return flat_questions(value) or list(nested_questions(value))


def _sheets_of_questions(path: Path) -> list[Mapping[str, Any]]:
    """The records of the sheets of a spreadsheet that have a column of questions."""
    workbook = open_archive(path.read_bytes(), path.suffix.lower())
    records = list[Mapping[str, Any]]()
    for name in workbook.names:
        sheet = workbook.read(name)
        if sheet.count(b"\n") > 1:  # not only `sep=`
            rows = parse_table(sheet, f"{path}, {name}", ".csv").records
            columns = {column.casefold() for row in rows for column in row}
            records += rows if not columns.isdisjoint(_QUESTIONS) else []
    if not records:
        raise DataError(
            f"{path}: no sheet has a column of questions. Call it question, or as one of {', '.join(_QUESTIONS)}."
        )
    return records


def _json_lines_of(file: Path) -> Iterator[Mapping[str, Any]]:
    """The objects of a file of JSON Lines in any encoding."""
    text, _ = decode_text(file.read_bytes())
    return _json_lines(text, str(file))


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
        records = json_records(value, name)
        if records is None:
            raise DataError(f"{name}: no records with a text or a question.")
        return Table(records, remark, value_text(value))
    table = _delimited_table(text, name)
    records = [
        {key: _cell_value(cell) for key, cell in row.items()} for row in table.records
    ]
    source = _NO_VALUE.sub("", _SEPARATOR.sub("", text))
    return Table(records, join_remarks(remark, table.remark), source)


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
    records = [
        {**_identifying_fields(record), "text": fields_text(record)}
        for record in table.records
    ]
    remark = "no column of text: each record is read with all its columns"
    vectors = _vector_columns(table.records)
    if vectors:
        remark += f" but those of vectors: {', '.join(vectors)}"
    return Table(records, join_remarks(table.remark, remark), table.source)


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
            if str(column).casefold() not in _IDS
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
    return not _TEXT_COLUMNS.isdisjoint(str(column).casefold() for column in record)


def _delimited_table(text: str, name: str) -> Table:
    """The rows of a table by the separator of its header, or of Excel's first line `sep=;`."""
    lines = text.strip("\n").split("\n")
    separator = _SEPARATOR.fullmatch(lines[0])
    if separator:
        delimiter, lines = separator[1], lines[1:] or [""]
    elif name.lower().endswith(".tsv"):
        delimiter = "\t"
    else:
        delimiter = find_delimiter(lines)
    lines, remarks = _with_header(lines, delimiter)
    rows = _quoted_rows(lines, name) if delimiter == "\t" else None
    if rows is None:
        rows = [row for _, row in delimited_rows(lines, name, delimiter)]
        if delimiter == "\t":
            remarks.append("quotation marks are read as text: they enclose no cells")
    return Table(rows, join_remarks(*remarks))


def _with_header(lines: Sequence[str], delimiter: str) -> tuple[list[str], list[str]]:
    """The lines of a table from its header on, and remarks on what was left out or added."""
    remarks = list[str]()
    n_above = _lines_above(lines, delimiter)
    if n_above:
        remarks.append(f"lines above the names of the columns, left out: {n_above}")
    table_lines = [f"{line}\n" for line in lines[n_above:]]
    two_rows = names_in_two_rows(_first_rows(table_lines, delimiter))
    if two_rows:
        remarks.append("names of columns in two rows, joined")
        table_lines[:2] = [_line_of(two_rows, delimiter)]
    cells = _cells_of(table_lines[0], delimiter)
    repeated = {cell.casefold() for cell, count in Counter(cells).items() if count > 1}
    if repeated and repeated.isdisjoint(_TEXT_COLUMNS | _IDS):
        table_lines[0] = _line_of(_numbered_apart(cells), delimiter)
        remarks.append("columns of one name, numbered")
    names = default_column_names(cells)
    if names:
        remarks.append("columns without names, named by their position")
        table_lines.insert(0, f"{delimiter.join(names)}\n")
    return table_lines, remarks


def _first_rows(lines: Sequence[str], delimiter: str) -> list[list[str]]:
    """The first rows of a table; [] if the csv module cannot read them."""
    try:
        return list(islice(csv.reader(iter(lines), delimiter=delimiter), HEADER_ROWS))
    except csv.Error:
        return []


def _numbered_apart(names: Sequence[str]) -> list[str]:
    """The names of columns, with a number behind each that was there before.

    >>> _numbered_apart(["Key", "Label", "Label"])
    ['Key', 'Label', 'Label 2']
    """
    distinct = list[str]()
    counts = Counter[str]()
    for name in names:
        counts[name] += 1
        while counts[name] > 1 and f"{name} {counts[name]}" in names:
            counts[name] += 1
        distinct.append(name if counts[name] == 1 else f"{name} {counts[name]}")
    return distinct


def _line_of(cells: Sequence[str], delimiter: str) -> str:
    """The line of some cells in a table."""
    line = StringIO()
    csv.writer(line, delimiter=delimiter, lineterminator="\n").writerow(cells)
    return line.getvalue()


def default_column_names(cells: Sequence[str]) -> list[str]:
    """Names for the columns of a table by its first row; [] if this row is a header.

    A row whose first cell is a number is a record. Its first column is the id, and of the others
    the one with the longest cell is the text.

    >>> default_column_names(["17", "Ada", "Ada wrote notes."])
    ['id', 'column_2', 'text']
    """
    if len(cells) < 2 or not cells[0].strip().isdecimal():
        return []
    names = ["id", *(f"column_{number}" for number in range(2, len(cells) + 1))]
    longest = max(range(1, len(cells)), key=lambda column: len(cells[column]))
    names[longest] = "text"
    return names


def _lines_above(lines: Sequence[str], delimiter: str) -> int:
    """The number of lines above the header, such as a report's title.

    The header is the first line that has a column of text and fills more cells than each line above
    it; without a column of text, the first line that fills two cells.
    """
    filled_cells = list[int]()
    for number, line in enumerate(lines[:MAX_LINES_ABOVE]):
        cells = [cell.strip().lower() for cell in _cells_of(line, delimiter)]
        n_filled = sum(map(bool, cells))
        is_widest = n_filled > max([1, *filled_cells])
        if is_widest and not _TEXT_COLUMNS.isdisjoint(cells):
            return number
        filled_cells.append(n_filled)
    return next((i for i, n_filled in enumerate(filled_cells) if n_filled > 1), 0)


def _cells_of(line: str, delimiter: str) -> list[str]:
    """The cells of a line; [] if the csv module cannot read it."""
    try:
        return next(csv.reader([line], delimiter=delimiter), [])
    except csv.Error:
        return []


def _quoted_rows(lines: Sequence[str], name: str) -> list[Mapping[str, Any]] | None:
    """The rows of a table of tabs whose cells may be quoted; None if quotation marks are text."""
    try:
        rows = [row for _, row in delimited_rows(lines, name, "\t", quoted_tabs=True)]
    except DataError:
        return None
    # A tab within a cell shows that two lone quotation marks enclose several cells.
    if any("\t" in str(cell) for row in rows for cell in row.values()):
        return None
    return list(rows)


def find_delimiter(lines: Sequence[str]) -> str:
    """The separator of a table by its header: one that separates a column of text.

    Among several such, or if there is none, it is the one with the most columns; by default a
    comma.
    """
    header = next((line for line in lines if line.strip()), "")

    def has_text_and_columns(delimiter: str) -> tuple[bool, int]:
        cells = _cells_of(header, delimiter)
        has_text = not _TEXT_COLUMNS.isdisjoint(cell.strip().lower() for cell in cells)
        return has_text, len(cells)

    return max(DELIMITERS, key=has_text_and_columns)


def _cell_value(cell: Any) -> Any:
    """The value of a cell in Python's types; a JSON list or object as text is parsed."""
    if not isinstance(cell, str) or cell[:1] not in ("[", "{"):
        return python_value(cell)
    with suppress(ValueError, RecursionError):
        return json.loads(cell)
    return cell
