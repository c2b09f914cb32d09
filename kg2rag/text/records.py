"""Users' files -> checked text and records; faults become a `DataError`.

The one gate for data: JSON that nests too deeply, integers that are too long, lone surrogates and
quotation marks in CSV that swallow rows are refused; Parquet is read with its checksums.
"""

from __future__ import annotations

import codecs
import csv
import hashlib
import json
import re
import reprlib
import tomllib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from io import BytesIO, StringIO
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NoReturn

from kg2rag.text.decoding import DataError as DataError
from kg2rag.text.decoding import decode

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa

Record = Mapping[str, object]

SPREADSHEETS = (".xlsx", ".xlsm", ".xlsb", ".xls", ".ods")
_BLOCK_BYTES = 1 << 20
_UNUSUAL = re.compile(rb"\0|\r(?!\n)")
"""Bytes of UTF-16 and UTF-32, and the line ends of old Macintoshes."""
_ENCLOSED = re.compile(r'"[^"]*(?:""[^"]*)*"')  # marks within the cell are doubled
_STRAY = "Is a quotation mark in a name? Write it twice, within a quoted cell, or save as TSV, which has no quoting."


@contextmanager
def reading(
    where: Path | str, advice: str, kinds: type[Exception] = Exception
) -> Iterator[None]:
    """A block that reads a file or folder; an error in it becomes a DataError that names `where`.

    The error of another library gets the advice. A MemoryError, this package's error about a
    missing file, and its errors that name the file already are raised unchanged.
    """
    try:
        yield
    except kinds as error:
        if _is_complete(error, where):
            raise
        if _is_ours(error):
            raise DataError(f"{where}: {error}") from error
        raise DataError(
            f"{where}: {type(error).__name__}: {quote(str(error))}. {advice}"
        ) from error


def _is_complete(error: Exception, where: Path | str) -> bool:
    """Whether an error is raised unchanged: its message names the file, or it is about memory."""
    if isinstance(error, MemoryError):
        return True
    if isinstance(error, FileNotFoundError):
        return error.errno is None  # errors of the system have a number
    name = Path(where).name if Path(where).is_file() else str(where)
    return _is_ours(error) and (str(where) in str(error) or name in str(error))


def _is_ours(error: Exception) -> bool:
    """Whether this package raised an error; libraries raise subclasses of ValueError."""
    return isinstance(error, DataError) or type(error) is ValueError


def existing(path: Path | str, what: str) -> Path:
    """The path of a file that exists; FileNotFoundError names the file to give."""
    file = Path(path).expanduser()
    if not file.is_file():
        state = "is a directory" if file.is_dir() else "does not exist"
        raise FileNotFoundError(f"{file} {state}. Give {what}.")
    return file


def sha256(file: Path) -> str:
    """The checksum of a file's bytes, as hex digits."""
    with file.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def file_fingerprint(
    kind: str, files: Mapping[str, Path], parameters: Mapping[str, object]
) -> str:
    """A hash of an importer's kind, its parameters and the contents of its files, not their paths."""
    sums = {name: sha256(file) for name, file in files.items()}
    return hashlib.sha256(
        json.dumps([kind, sums, dict(parameters)], sort_keys=True).encode()
    ).hexdigest()


def parse_json(
    text: str,
    where: object,
    *,
    pairs: Callable[[list[tuple[str, Any]]], Any] | None = None,
) -> Any:
    """The JSON value of a text; DataError states `where`, a file or file and line, and the fault.

    `pairs` converts the list of (key, value) pairs of each object; by default it becomes a dict.
    """
    try:
        value = json.loads(text, object_pairs_hook=pairs)
        if "\\u" in text:  # an escape may be half of a surrogate pair
            json.dumps(value, ensure_ascii=False).encode()
        return value
    except json.JSONDecodeError as error:
        line = f"line {error.lineno}, " if "\n" in text else ""
        fault = f"not valid JSON at {line}column {error.colno} ({error.msg}). Is the file complete?"
    except UnicodeEncodeError as error:
        fault = f"{error.object[error.start]!r} is half of a surrogate pair. Write the whole pair."
    except DataError as error:  # of `pairs`
        fault = str(error)
    except RecursionError:
        fault = "lists and objects nest too deeply. No format that is read here does."
    except ValueError:  # an integer of more than 4,300 digits
        fault = "a number has too many digits. Write it in quotes."
    raise DataError(f"{where}: {fault}")


def read_json(file: Path) -> Any:
    """The contents of a JSON file."""
    return parse_json(decode(file.read_bytes(), file), file)


def read_toml(file: Path) -> dict[str, Any]:
    """The contents of a TOML file."""
    try:
        return tomllib.loads(file.read_bytes().decode("utf-8-sig"))
    # Other bytes than UTF-8, invalid syntax, a number with too many digits, or a date that does not exist.
    except (RecursionError, ValueError) as error:
        raise DataError(f"{file}: not a TOML file ({error}).") from None


def read_jsonl(file: Path) -> Iterator[tuple[int, Record]]:
    """The objects of a JSON Lines file with their line numbers, from 1; blank lines are skipped."""
    for number, line in enumerate(_lines(file), start=1):
        if not line.strip():
            continue
        record = parse_json(line.rstrip("\r\n"), f"{file}, line {number}")
        if not isinstance(record, dict):
            raise DataError(
                f"{file}, line {number}: a {type(record).__name__} where an object is needed."
            )
        yield number, record


def delimiter_of(file: Path) -> str:
    """The delimiter of a table: a tab if its header has one, else the commonest of comma, semicolon and bar.

    A name of a column holds no tab, but a cell of a table without a header may hold commas.
    """
    header = re.sub(r'"[^"]*"', "", first_line(file))
    return "\t" if "\t" in header else max(",;|", key=header.count)


def first_line(file: Path) -> str:
    """The first line of a file; "" for an empty one."""
    return first_lines(file, 1)


def first_lines(file: Path, count: int) -> str:
    """The first lines of a file, at most `count`."""
    return "".join(islice(_lines(file), count))


def read_delimited(
    file: Path, delimiter: str, is_one_line: Callable[[str], bool] = lambda _: False
) -> Iterator[tuple[int, Record]]:
    """The rows of a CSV or TSV file with a header, see `delimited_rows`.

    Excel's first line `sep=;` is skipped. In TSV, a quotation mark is a character of the name,
    unless all marks of the file enclose cells.
    """
    lines = (
        line
        for number, line in enumerate(_lines(file))
        if number > 0 or not line.lower().startswith("sep=")
    )
    quoted_tabs = delimiter == "\t" and _encloses_cells(_lines(file))
    return delimited_rows(lines, file, delimiter, is_one_line, quoted_tabs=quoted_tabs)


def _encloses_cells(lines: Iterable[str]) -> bool:
    """Whether the quotation marks of a TSV file enclose cells, as pandas, pandoc and Excel write them.

    Then every cell with a mark is enclosed in marks, and marks within it are doubled. Since a name
    may begin and end with marks, too, a doubled mark or an enclosed column name must prove it.
    """
    has_proof = False
    for number, line in enumerate(lines):
        for cell in line.rstrip("\r\n").split("\t"):
            if '"' in cell and not _ENCLOSED.fullmatch(cell):
                return False
            has_proof = has_proof or '""' in cell or (number == 0 and '"' in cell)
    return has_proof


def delimited_rows(
    lines: Iterable[str],
    where: object,
    delimiter: str,
    is_one_line: Callable[[str], bool] = lambda _: False,
    *,
    quoted_tabs: bool = False,
) -> Iterator[tuple[int, Record]]:
    """The rows of a table with a header, each with the number of its last line.

    `quoted_tabs` : quotation marks enclose cells between tabs, too, as Excel and pandas write them.

    DataError: a column twice; a cell of several lines in a column that `is_one_line`, since a stray
    quotation mark takes in rows; a row of another length than the header, a quotation mark within
    or after a cell, a cell that is too long.
    """
    # TSV has no quoting: a quotation mark in it is a character of the name.
    quoting: Literal[0, 3] = (
        csv.QUOTE_NONE if delimiter == "\t" and not quoted_tabs else csv.QUOTE_MINIMAL
    )
    rows = csv.reader(iter(lines), delimiter=delimiter, quoting=quoting, strict=True)
    try:
        header = _header(rows, where)
        one_line = [name for name in header if is_one_line(name)]
        first_line = rows.line_num + 1
        for row in rows:
            if row:
                record = _record(header, row, where, rows.line_num)
                _require_one_line(
                    record, one_line, f"{where}, lines {first_line} to {rows.line_num}"
                )
                yield rows.line_num, record
            first_line = rows.line_num + 1
    except csv.Error as error:
        raise DataError(
            f"{where}, line {rows.line_num}: no row of a CSV file ({error}). {_STRAY}"
        ) from None


def _header(rows: Iterator[list[str]], where: object) -> list[str]:
    """The column names in the first row of a table; DataError: no row, or a name twice."""
    header = next(rows, None)
    if header is None:
        raise DataError(f"{where} is empty. Its first line must name the columns.")
    names = [name.strip() for name in header]
    require_distinct([name for name in names if name], where)
    return names


def _record(
    header: list[str], row: list[str], where: object, line: int
) -> dict[str, str]:
    """The cells of a row by column; DataError: it has another length than the header."""
    if len(row) != len(header):
        wrong(where, line, "row", row, f"{len(header)} cells, as the header has")
    return dict(zip(header, row, strict=True))


def _require_one_line(
    record: Mapping[str, str], names: Iterable[str], where: str
) -> None:
    """Raise DataError if a cell of one of these columns has several lines."""
    for name in names:
        if "\n" in record[name]:
            raise DataError(
                f"{where}: {name} is {quote(record[name])}, of several lines. {_STRAY}"
            )


def require_distinct(columns: list[str], where: object) -> None:
    """Raise DataError if a table has a column twice."""
    for name, count in Counter(columns).items():
        if count > 1:
            raise DataError(
                f"{where}: column {name!r} is there twice. Give each another name."
            )


def read_parquet(file: Path) -> pa.Table:
    """The table of a Parquet file; its page checksums are verified."""
    return parse_parquet(file.read_bytes(), file)


def parse_parquet(data: bytes, where: object) -> pa.Table:
    """The table in the bytes of a Parquet file."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        table = pq.ParquetFile(BytesIO(data), page_checksum_verification=True).read()
        # A damaged page may hold lengths beyond its end, or invalid UTF-8.
        table.validate(full=True)
        names = table.column_names
    except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
        raise DataError(
            f"{where}: no Parquet file that pyarrow reads ({str(error).splitlines()[0]}). Is it complete? "
            "If so, export the table as CSV."
        ) from None
    require_distinct(names, where)
    return table


def sheets_of(data: bytes) -> dict[str, pd.DataFrame]:
    """The cells of each sheet of a spreadsheet, by its name; "" for an empty cell, no header.

    DataError: the package `python-calamine` is not installed. Other faults are raised as calamine does.
    """
    import pandas as pd

    try:
        return pd.read_excel(
            BytesIO(data),
            sheet_name=None,
            header=None,
            dtype=object,
            keep_default_na=False,
            engine="calamine",
        )
    except ImportError:
        raise DataError(
            "spreadsheets need the package python-calamine: pip install python-calamine."
        ) from None


def as_csv(sheet: pd.DataFrame) -> bytes:
    """The cells of a sheet as comma-separated values, without empty rows and columns; see `sheets_of`."""
    cells = sheet[sheet.map(str) != ""].dropna(how="all").dropna(how="all", axis=1)
    return cells.to_csv(index=False, header=False).encode()


def as_parquet(table: pa.Table, *, compression: str = "zstd") -> bytes:
    """A table as a Parquet file with page checksums; equal tables give equal bytes."""
    import pyarrow.parquet as pq

    sink = BytesIO()
    pq.write_table(table, sink, compression=compression, write_page_checksum=True)
    return sink.getvalue()


def text(record: Record, field: str, file: Path | str, number: int) -> str:
    """The text of a required field; DataError if it is missing or no string."""
    if field not in record:
        raise DataError(
            f"{file}, record {number}: field {field!r} is missing. It has {', '.join(record) or 'none'}."
        )
    value = record[field]
    if not isinstance(value, str):
        wrong(file, number, field, value, "a string")
    return value


def wrong(
    file: object, number: int, field: str, value: object, needed: str
) -> NoReturn:
    """Raise the error about the value of a field; `needed` describes an allowed one."""
    raise DataError(
        f"{file}, record {number}: {field} is {quote(value)}; needed: {needed}."
    )


def quote(value: object) -> str:
    """A value for an error message, shortened."""
    short = reprlib.Repr()
    short.maxstring = short.maxother = 60
    return short.repr(value)


def _lines(file: Path) -> Iterator[str]:
    """The decoded lines of a file, line breaks included; only UTF-8 is not read whole."""
    if not _is_utf8(file):
        yield from StringIO(decode(file.read_bytes(), file), newline=None)
        return
    with file.open(encoding="utf-8-sig", newline="\n") as stream:
        yield from stream


def _is_utf8(file: Path) -> bool:
    """Whether a file is valid UTF-8 with usual line ends."""
    decoder = codecs.getincrementaldecoder("utf-8")()
    with file.open("rb") as stream:
        for block in iter(partial(stream.read, _BLOCK_BYTES), b""):
            try:
                decoder.decode(block)
            except UnicodeDecodeError:
                return False
            if _UNUSUAL.search(block):
                return False
    return decoder.getstate()[0] == b""
