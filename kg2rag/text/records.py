"""Users' files -> checked text and records; whatever is wrong with them becomes a `DataError`.

The one gate for data: loaders of data sets and importers of graphs read through these functions. They decode UTF-8
strictly, refuse JSON that nests deeper than `DEPTH` (parsers overflow the stack on it), integers that are too long to
convert, lone surrogates, and quotation marks in CSV that would swallow the rows after them.
"""

from __future__ import annotations

import csv
import hashlib
import json
import re
import reprlib
import tomllib
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal, NoReturn

Record = Mapping[str, object]

_STRAY = "Is a quotation mark in a name? Write it twice, within a quoted cell, or save as TSV, which has no quoting."

DEPTH = 100
"""Levels of lists and objects in a JSON value, at most; no format that is read here has more than ten."""
_DEEP = f"lists and objects nest deeper than {DEPTH} levels. No format that is read here does."
# Possessive, and the closing quote optional: linear in any text, one that is cut off within a string included.
_NO_BRACKET = re.compile(r'"(?:[^"\\]++|\\.)*+"?|[^\[\]{}"]++', re.DOTALL)
_PAIR = re.compile(r"\[\]|\{\}")


class DataError(ValueError):
    """Data that cannot be used; the message names file, record and field, quotes the value and says what is needed."""


@contextmanager
def reading(where: Path | str, advice: str, kinds: type[Exception] = Exception) -> Iterator[None]:
    """Whatever goes wrong while a file or folder is read, as a DataError that names it; advice for errors not of ours.

    For what other code parses, or our own programs wrote: there a KeyError means a damaged file. A ValueError of ours
    that names the file already is left as it is, and so is one of ours for a file that is missing. `kinds` are the
    exceptions that are meant.
    """
    try:
        yield
    except kinds as error:
        missing = isinstance(error, FileNotFoundError) and error.errno is None  # worded by us
        if missing or isinstance(error, MemoryError):
            raise
        ours = isinstance(error, DataError) or type(error) is ValueError
        if ours and (str(where) in str(error) or (Path(where).is_file() and Path(where).name in str(error))):
            raise
        raise DataError(
            f"{where}: {error if ours else f'{type(error).__name__}: {quote(str(error))}. {advice}'}"
        ) from error


def existing(path: Path | str, what: str) -> Path:
    """The path of a file that exists; FileNotFoundError says what is to be given."""
    file = Path(path).expanduser()
    if not file.is_file():
        state = "is a directory" if file.is_dir() else "does not exist"
        raise FileNotFoundError(f"{file} {state}. Give {what}.")
    return file


def sha256(file: Path) -> str:
    """The checksum of a file's bytes, as hex digits."""
    with file.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def file_fingerprint(kind: str, files: Mapping[str, Path], parameters: Mapping[str, object]) -> str:
    """What an importer's output depends on: its kind, its parameters and the bytes of its files, not their places."""
    sums = {name: sha256(file) for name, file in files.items()}
    return hashlib.sha256(json.dumps([kind, sums, dict(parameters)], sort_keys=True).encode()).hexdigest()


def decode(data: bytes, where: object) -> str:
    """Bytes as text, without a byte order mark; DataError gives the offset of the first byte that is not UTF-8."""
    try:
        return data.decode("utf-8").removeprefix("\ufeff")
    except UnicodeDecodeError as error:
        at = error.start
        raise DataError(
            f"{where}: byte 0x{data[at]:02x} at offset {at} is not UTF-8 ({error.reason}). Convert the file to UTF-8."
        ) from None


def parse_json(text: str, where: object, *, pairs: Callable[[list[tuple[str, Any]]], Any] | None = None) -> Any:
    """The JSON value of a text; DataError names `where` (file, or file and line) and why it has none that can be used.

    `pairs` is called with the (key, value) pairs of every object, instead of making a dict of them.
    """
    if too_deep(text):
        raise DataError(f"{where}: {_DEEP}")
    try:
        value = json.loads(text, object_pairs_hook=pairs)
        if "\\u" in text:
            json.dumps(value, ensure_ascii=False).encode()
        return value
    except json.JSONDecodeError as error:
        line = f"line {error.lineno}, " if "\n" in text else ""
        what = f"not valid JSON at {line}column {error.colno} ({error.msg}). Is the file complete?"
    except UnicodeEncodeError as error:
        what = f"{error.object[error.start]!r} is half of a surrogate pair. Write the whole pair."
    except ValueError:  # an integer of more than 4,300 digits
        what = "a number has too many digits. Write it in quotes."
    raise DataError(f"{where}: {what}")


def too_deep(text: str) -> bool:
    """Whether JSON brackets nest deeper than `DEPTH`; those in strings do not count. Linear in the text."""
    if text.count("[") + text.count("{") <= DEPTH:
        return False
    brackets = _NO_BRACKET.sub("", text)
    for _ in range(DEPTH):  # each round removes the innermost level
        brackets, removed = _PAIR.subn("", brackets)
        if not removed:
            break
    return bool(_PAIR.search(brackets)) or brackets.count("[") + brackets.count("{") > DEPTH


def check_depth(file: Path) -> None:
    """DataError where a line of a JSON Lines file nests too deeply or is no object: Arrow's parser crashes on both."""
    with file.open("rb") as stream:
        for number, line in enumerate(stream, start=1):
            if not line.lstrip().startswith((b"{", b"\xef\xbb\xbf{")) and line.strip():  # `null` crashes it
                raise DataError(f"{file}, line {number}: no JSON object where one is needed.")
            if line.count(b"[") + line.count(b"{") > DEPTH and too_deep(line.decode("utf-8", "replace")):
                raise DataError(f"{file}, line {number}: {_DEEP}")


def read_json(file: Path) -> Any:
    """The contents of a JSON file."""
    return parse_json(decode(file.read_bytes(), file), file)


def read_toml(file: Path) -> dict[str, Any]:
    """The contents of a TOML file."""
    text = decode(file.read_bytes(), file)
    try:
        return tomllib.loads(text)
    except (RecursionError, ValueError) as error:  # of syntax, a number of too many digits, a date that there is not
        raise DataError(f"{file}: not a TOML file ({error}).") from None


def read_jsonl(file: Path) -> Iterator[tuple[int, Record]]:
    """The objects of a JSON Lines file with their line numbers, from 1; blank lines are skipped."""
    for number, line in enumerate(_lines(file), start=1):
        if not line.strip():
            continue
        record = parse_json(line.rstrip("\r\n"), f"{file}, line {number}")
        if not isinstance(record, dict):
            raise DataError(f"{file}, line {number}: a {type(record).__name__} where an object is needed.")
        yield number, record


def read_delimited(file: Path, delimiter: str, one_line: Collection[str] = ()) -> Iterator[tuple[int, Record]]:
    """The rows of a CSV or TSV file with a header, with the line each ends on.

    A stray quotation mark opens a cell that takes in the rows up to the next one, which shows as a cell of several
    lines in one of the columns `one_line`. That is a DataError, as are a row of another length than the header, a
    quotation mark within or after a cell, and a cell that is too long.
    """
    # TSV has no quoting: a quotation mark in it is a character of the name.
    quoting: Literal[0, 3] = csv.QUOTE_NONE if delimiter == "\t" else csv.QUOTE_MINIMAL
    rows = csv.reader(_lines(file), delimiter=delimiter, quoting=quoting, strict=True)
    try:
        header = next(rows, None)
        if header is None:
            raise DataError(f"{file} is empty. Its first line must name the columns.")
        before = rows.line_num
        for row in rows:
            lines, before = f"lines {before + 1} to {rows.line_num}", rows.line_num
            if not row:
                continue
            if len(row) != len(header):
                wrong(file, rows.line_num, "row", row, f"{len(header)} cells, as the header has")
            record = dict(zip(header, row, strict=True))
            for name in one_line:
                if "\n" in record.get(name, ""):
                    raise DataError(f"{file}, {lines}: {name} is {quote(record[name])}, of several lines. {_STRAY}")
            yield rows.line_num, record
    except csv.Error as error:
        raise DataError(f"{file}, line {rows.line_num}: no row of a CSV file ({error}). {_STRAY}") from None


def text(record: Record, field: str, file: Path | str, number: int) -> str:
    """A field that must be there and be a string."""
    if field not in record:
        raise DataError(f"{file}, record {number}: field {field!r} is missing. It has {', '.join(record) or 'none'}.")
    value = record[field]
    if not isinstance(value, str):
        wrong(file, number, field, value, "a string")
    return value


def wrong(file: Path | str, number: int, field: str, value: object, needed: str) -> NoReturn:
    """Raise the error of a field whose value is not what is needed."""
    raise DataError(f"{file}, record {number}: {field} is {quote(value)}; needed: {needed}.")


def quote(value: object) -> str:
    """A value for an error message, shortened."""
    short = reprlib.Repr()
    short.maxstring = short.maxother = 60
    return short.repr(value)


def _lines(file: Path) -> Iterator[str]:
    with file.open("rb") as stream:
        for number, line in enumerate(stream, start=1):
            yield decode(line, file if number == 1 else f"{file}, line {number}")
