"""Files -> checked records: JSON, JSONL, TSV, Parquet, by `kg2rag.text.records`; what is wrong becomes a `DataError`.

A record's schema is a pydantic model; parsing and checking happen in one pass outside Python, so HotpotQA's 45 MB
take a second. `Files` remembers the checksum of everything one load has read.
"""

from __future__ import annotations

import gzip
import hashlib
import json
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from io import BytesIO
from pathlib import Path
from typing import Annotated, Any, TypeVar

from pydantic import (
    AliasChoices,
    BaseModel,
    ConfigDict,
    Field,
    StrictInt,
    StringConstraints,
    TypeAdapter,
    ValidationError,
)

from kg2rag.text.parquet import read_parquet
from kg2rag.text.records import DataError, decode, parse_json, quote, sha256

Text = Annotated[str, StringConstraints(pattern=r"\S")]
"""A string with something in it."""
Fact = tuple[str, str, str]
SentenceName = tuple[Text, StrictInt]
Identifier = Annotated[Text, Field(validation_alias=AliasChoices("_id", "id"))]

PACKED, LEAST = 100, 1 << 26
"""How many bytes a packed byte may come to, a text's come to ten or so; and what any packed file may, 64 MiB."""

_KINDS = {
    "list_type": "a list",
    "tuple_type": "a list",
    "dict_type": "an object",
    "model_type": "an object",
    "string_type": "a string",
    "int_type": "a whole number",
    "bool_type": "true or false",
    "float_type": "a number",
}


class Record(BaseModel):
    """The base of every record; fields a loader does not use are ignored."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    @property
    def key(self) -> object:
        """What must differ from record to record; None where anything may repeat."""
        return getattr(self, "id", None)


R = TypeVar("R", bound=Record)
T = TypeVar("T")


class Files:
    """The files that one load reads.

    Attributes
    ----------
    checksums : file name -> sha256. Names are short, so that equal files give equal results on any machine.
    """

    def __init__(self) -> None:
        self.checksums: dict[str, str] = {}

    def text(self, path: Path) -> str:
        """The text of a file, unpacked by the name's ending `.gz`; DataError where it is not UTF-8 or not whole."""
        data = path.read_bytes()
        self.checksums[path.name] = hashlib.sha256(data).hexdigest()
        return decode(_unpacked(data, path.name) if path.suffix == ".gz" else data, path.name)

    def records(self, path: Path, model: type[R]) -> list[R]:
        """Every record of a JSON list, of one object a line (by the ending `.jsonl`), or of a Parquet table."""
        if path.suffix == ".parquet":
            return self._table_records(path, model)
        text = self.text(path)
        if path.name.removesuffix(".gz").endswith(".jsonl"):
            one, lines = TypeAdapter(model).validate_json, enumerate(text.split("\n"), start=1)
            rows = [_checked(one, line, path.name, number) for number, line in lines if line.strip()]
        else:
            rows = _checked(TypeAdapter(list[model]).validate_json, text, path.name)  # type: ignore[valid-type]
        if not rows:
            raise DataError(f"{path.name}: no record in it.")
        return unique(rows, path.name)

    def _table_records(self, path: Path, model: type[R]) -> list[R]:
        self.checksums[path.name] = sha256(path)
        try:
            rows = read_parquet(path).to_pylist()
        except DataError as error:
            raise DataError(f"{path.name}: not a Parquet table: {error}. Is the file complete?") from error
        if not rows:
            raise DataError(f"{path.name}: no record in it.")
        return check(rows, model, path.name)

    def table(self, path: Path, columns: Sequence[str]) -> Iterator[tuple[int, list[str]]]:
        """The rows of a tab-separated file with that header: line number from 1, and the cells."""
        lines = self.text(path).splitlines()
        header = lines[0].split("\t") if lines else []
        if header != list(columns):
            raise DataError(f"{path.name}, line 1: the header must be {' <tab> '.join(columns)}, not {header}.")
        for number, line in enumerate(lines[1:], start=2):
            cells = line.split("\t")
            if line.strip() and len(cells) != len(columns):
                raise DataError(f"{path.name}, line {number}: {len(cells)} cells instead of {len(columns)}: {line!r}.")
            if line.strip():
                yield number, cells

    def lines(self, path: Path) -> list[str]:
        """The lines of a list of ids, stripped, empty ones left out."""
        return [line.strip() for line in self.text(path).splitlines() if line.strip()]


def check(rows: Sequence[object], model: type[R], where: str) -> list[R]:
    """Rows that are Python objects already (from the hub, from a DataFrame) as records."""
    return unique(_checked(TypeAdapter(list[model]).validate_python, list(rows), where), where)  # type: ignore[valid-type]


def unique(rows: list[R], where: str) -> list[R]:
    """The rows as they are; DataError where two have the same id."""
    seen: dict[object, int] = {}
    for number, row in enumerate(rows, start=1):
        if row.key is not None and seen.setdefault(row.key, number) != number:
            id_ = getattr(row, "id", None)
            raise DataError(f"{where}, record {number} ({id_!r}): the id already stands at record {seen[row.key]}.")
    return rows


def locate(path: Path, patterns: Iterable[str], what: str) -> Path:
    """The one file meant by a path: itself, or the one in the folder that fits a pattern."""
    wanted = list(dict.fromkeys(patterns))
    if path.is_file():
        return path
    if not path.is_dir():
        raise FileNotFoundError(
            f"{path} does not exist. Give a folder that holds {' or '.join(wanted)}, or the file itself."
        )
    found = sorted({file for pattern in wanted for file in path.glob(pattern) if file.is_file()})
    if not found:
        raise FileNotFoundError(f"{path} holds no {what}. Looked for: {', '.join(wanted)}.")
    if len(found) > 1:
        names = ", ".join(file.name for file in found)
        raise ValueError(
            f"{path} holds {len(found)} files of {what}: {names}. Give one of them as the path, or name a split."
        )
    return found[0]


def first_keys(text: str) -> list[str]:
    """The field names of the first object in a text of JSON or JSONL; empty where there is none."""
    start = text.find("{")
    try:
        first, _ = json.JSONDecoder().raw_decode(text, start) if start >= 0 else ({}, 0)
    except (ValueError, RecursionError):  # the full reading of the file will say what is wrong, and where
        return []
    return list(first)


def _checked(validate: Callable[[Any], T], raw: Any, where: str, line_number: int | None = None) -> T:
    try:
        return validate(raw)
    except ValidationError as error:
        raise _complaint(error, where, raw, line_number) from None


def _complaint(error: ValidationError, where: str, raw: Any, line_number: int | None) -> DataError:
    """The first thing wrong, in our words."""
    first = error.errors(include_url=False)[0]
    line = f", line {line_number}" if line_number else ""
    if first["type"] == "json_invalid":
        reason = first["ctx"]["error"]
        if line_number is not None:
            reason = reason.replace(" at line 1 column", " at column")
        return DataError(f"{where}{line}: not valid JSON: {reason}. Is the file complete?")
    rows = parse_json(raw, where) if isinstance(raw, str) else raw
    path = list(first["loc"])
    if line_number is None and not path:
        return DataError(f"{where}: must hold a list of records, not {_kind(rows)}.")
    row = rows
    if line_number is None:
        number = int(path.pop(0))
        row, line = rows[number], f", record {number + 1}"
    id_ = (row.get("_id") or row.get("id")) if isinstance(row, dict) else None
    name = f" ({quote(id_)})" if id_ else ""
    return DataError(f"{where}{line}{name}: {_fault(first, path)}")


def _fault(first: Any, path: list[int | str]) -> str:
    field = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in path).lstrip(".")
    subject = f"field {field!r}" if field else "the record"
    if first["type"] == "missing":
        return f"{subject} is missing."
    if first["type"] == "string_pattern_mismatch":
        return f"{subject} is empty."
    if first["type"] in _KINDS:
        return f"{subject} must be {_KINDS[first['type']]}, not {_kind(first['input'])}: {quote(first['input'])}."
    return f"{subject}: {first['msg']}; it is {quote(first['input'])}."


def _unpacked(data: bytes, name: str) -> bytes:
    """The bytes of a packed file; DataError where it is not whole, or unpacks to more than any text would."""
    most = max(PACKED * len(data), LEAST)
    try:
        with gzip.GzipFile(fileobj=BytesIO(data)) as stream:
            found = stream.read(most + 1)
    except (OSError, EOFError, zlib.error) as error:
        raise DataError(f"{name}: cannot be unpacked: {error}. Is the file complete?") from None
    if len(found) > most:
        raise DataError(f"{name}: unpacks to more than {most:,} bytes, from {len(data):,}. Unpack it if you trust it.")
    return found


def _kind(value: object) -> str:
    return "null" if value is None else type(value).__name__


PATTERNS = {
    "openie": "openie_results*.json",
    "subkgs": "*subkgs.jsonl",
    "triples": "triples*.jsonl",
    "entities": "entities.jsonl",
}


def find_graph_files(path: Path) -> dict[str, Path]:
    """The graph files in the folder of `path`; where one kind has several, the key includes the file's name."""
    folder = path if path.is_dir() else path.parent
    found: dict[str, Path] = {}
    for kind, pattern in PATTERNS.items():
        files = sorted(folder.glob(pattern))
        for file in files:
            found[kind if len(files) == 1 else f"{kind}:{file.name}"] = file
    return found
