"""A file of records -> (record number, dictionary) pairs, with errors that name file, record and field."""

from __future__ import annotations

import csv
import hashlib
import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Literal, NoReturn

Record = Mapping[str, object]


def existing(path: Path | str, what: str) -> Path:
    """The path of a file that is there; FileNotFoundError says what was looked for."""
    file = Path(path).expanduser()
    if not file.is_file():
        state = "is a directory" if file.is_dir() else "does not exist"
        raise FileNotFoundError(f"{file} {state}. Give {what}.")
    return file


def file_fingerprint(kind: str, files: Mapping[str, Path], parameters: Mapping[str, object]) -> str:
    """What an importer's output depends on: its kind, its parameters and the bytes of its files, not their places."""
    sums = {name: sha256(file) for name, file in files.items()}
    return hashlib.sha256(json.dumps([kind, sums, dict(parameters)], sort_keys=True).encode()).hexdigest()


def read_json(file: Path) -> object:
    """The contents of a JSON file; ValueError says where it stops being JSON."""
    try:
        return json.loads(file.read_text(encoding="utf-8"))
    except json.JSONDecodeError as error:
        raise ValueError(f"{file}: no valid JSON at line {error.lineno}, column {error.colno} ({error.msg}).") from None
    except UnicodeDecodeError as error:
        raise ValueError(f"{file}: not UTF-8 at byte {error.start}. Save it as UTF-8.") from None


def read_jsonl(file: Path) -> Iterator[tuple[int, Record]]:
    """The objects of a JSON Lines file with their line numbers, from 1; empty lines are passed over."""
    for number, line in enumerate(_text_lines(file), start=1):
        if not line.strip():
            continue
        try:
            record = json.loads(line)
        except json.JSONDecodeError as error:
            raise ValueError(f"{file}, line {number}: no valid JSON at column {error.colno} ({error.msg}).") from None
        if not isinstance(record, dict):
            raise ValueError(f"{file}, line {number}: a {type(record).__name__} where an object is needed.")
        yield number, record


def read_delimited(file: Path, delimiter: str) -> Iterator[tuple[int, Record]]:
    """The rows of a CSV or TSV file with a header, with the line each ends on; a row of another length is an error."""
    # TSV has no quoting: a quotation mark in it is a character of the name.
    quoting: Literal[0, 3] = csv.QUOTE_NONE if delimiter == "\t" else csv.QUOTE_MINIMAL
    rows = csv.reader(_text_lines(file), delimiter=delimiter, quoting=quoting)
    header = next(rows, None)
    if header is None:
        raise ValueError(f"{file} is empty. Its first line must name the columns.")
    for row in rows:
        if not row:
            continue
        if len(row) != len(header):
            wrong(file, rows.line_num, "row", row, f"{len(header)} cells, as the header has")
        yield rows.line_num, dict(zip(header, row, strict=True))


def text(record: Record, field: str, file: Path | str, number: int) -> str:
    """A field that must be there and be a string."""
    if field not in record:
        raise ValueError(f"{file}, record {number}: field {field!r} is missing. It has {', '.join(record) or 'none'}.")
    value = record[field]
    if not isinstance(value, str):
        wrong(file, number, field, value, "a string")
    return value


def wrong(file: Path | str, number: int, field: str, value: object, needed: str) -> NoReturn:
    """Raise the error of a field whose value is not what is needed."""
    shown = repr(value)
    shown = shown if len(shown) <= 80 else f"{shown[:77]}..."
    raise ValueError(f"{file}, record {number}: {field} is {shown}; needed: {needed}.")


def _text_lines(file: Path) -> Iterator[str]:
    with file.open(encoding="utf-8-sig", newline="") as stream:
        try:
            yield from stream
        except UnicodeDecodeError as error:
            raise ValueError(f"{file}: not UTF-8 near byte {error.start}. Save it as UTF-8.") from None


def sha256(file: Path) -> str:
    """The checksum of a file's bytes, as hex digits."""
    with file.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()
