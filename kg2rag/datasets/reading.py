"""Files -> checked records: JSON, JSONL, TSV, Parquet, by `kg2rag.text.records`; what is wrong becomes a `DataError`.

A record's schema is a pydantic model. `Files` remembers the checksum of everything one load has read.
"""

from __future__ import annotations

import gzip
import hashlib
import zlib
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Annotated, Any, TypeVar

from pydantic import (
    AliasChoices,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    StrictInt,
    StringConstraints,
    ValidationError,
)

from kg2rag.text.records import DataError, decode, parse_json, quote, read_delimited, read_parquet, sha256

Text = Annotated[str, StringConstraints(pattern=r"\S")]
"""A string with something in it."""
Fact = tuple[str, str, str]
SentenceName = tuple[Text, StrictInt]
Identifier = Annotated[Text, Field(validation_alias=AliasChoices("_id", "id"))]


def _from_json(value: Any) -> Any:
    """A column that holds JSON as text, as its value."""
    if isinstance(value, str) and value[:1] in ("[", "{"):
        return parse_json(value, "a column of JSON")
    return value


def _as_tuples(value: Any) -> Any:
    """`{"title": [a, b], "sent_id": [0, 1]}`, or a list of such records, as the official `[[a, 0], [b, 1]]`."""
    value = _from_json(value)
    if isinstance(value, dict) and all(isinstance(column, list) for column in value.values()):
        return list(zip(*value.values(), strict=True)) if len(set(map(len, value.values()))) == 1 else value
    if isinstance(value, list) and all(isinstance(item, dict) for item in value):
        return [tuple(item.values()) for item in value]
    return value


def _as_records(value: Any) -> Any:
    """`{"title": [a, b], "idx": [0, 1]}` as a list of records."""
    value = _from_json(value)
    if isinstance(value, dict) and all(isinstance(column, list) for column in value.values()):
        rows = zip(*value.values(), strict=True) if len(set(map(len, value.values()))) == 1 else None
        return value if rows is None else [dict(zip(value, row, strict=True)) for row in rows]
    return value


FROM_JSON, AS_TUPLES, AS_RECORDS = map(BeforeValidator, (_from_json, _as_tuples, _as_records))
"""How a field is read in every shape of the hub: Parquet, the same as JSON, and JSON as text in a column."""

GRAPHS = {"openie": "openie_results*.json", "subkgs": "*subkgs.jsonl"}
GRAPHS |= {"triples": "triples*.jsonl", "entities": "entities.jsonl"}
"""Kind of graph file -> how it is named beside a set."""


class Record(BaseModel):
    """The base of every record; fields a loader does not use are ignored."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    @property
    def key(self) -> object:
        """What must differ from record to record; None where anything may repeat."""
        return getattr(self, "id", None)


R = TypeVar("R", bound=Record)


class Files:
    """The files that one load reads.

    `checksums` : file name -> sha256. Names are short, so that equal files give equal results on any machine.
    """

    def __init__(self) -> None:
        self.checksums: dict[str, str] = {}

    def text(self, path: Path) -> str:
        """The text of a file, unpacked by the name's ending `.gz`; DataError where it is not UTF-8 or not whole."""
        data = path.read_bytes()
        self.checksums[path.name] = hashlib.sha256(data).hexdigest()
        try:
            return decode(gzip.decompress(data) if path.suffix == ".gz" else data, path.name)
        except (OSError, EOFError, zlib.error) as error:
            raise DataError(f"{path.name}: cannot be unpacked: {error}. Is the file complete?") from None

    def rows(self, *paths: Path) -> Iterator[tuple[str, Any]]:
        """The records of JSON lists, of an object a line (`.jsonl`), of `.tsv` or Parquet tables, as they are.

        Each comes with what errors call it.
        """
        for path in paths:
            kind = path.name.removesuffix(".gz").rpartition(".")[2]
            if kind in ("parquet", "tsv"):
                self.checksums[path.name] = sha256(path)
            if kind == "tsv":
                yield from ((f"{path.name}, line {number}", row) for number, row in read_delimited(path, "\t"))
                continue
            if kind == "jsonl":
                for number, line in enumerate(self.text(path).split("\n"), start=1):
                    if line.strip():
                        yield (where := f"{path.name}, line {number}"), parse_json(line, where)
                continue
            rows: Any = _table_rows(path) if kind == "parquet" else parse_json(self.text(path), path.name)
            if not isinstance(rows, list):
                raise DataError(f"{path.name}: must hold a list of records, not {type(rows).__name__}.")
            yield from ((f"{path.name}, record {number}", row) for number, row in enumerate(rows, start=1))

    def records(self, path: Path | Sequence[Path], model: type[R]) -> list[R]:
        """The rows of a file, or of its parts, as records of a model."""
        paths = [path] if isinstance(path, Path) else path
        return checked(self.rows(*paths), model, ", ".join(each.name for each in paths))

    def lines(self, path: Path) -> list[str]:
        """The lines of a list of ids, stripped, empty ones left out."""
        return [line.strip() for line in self.text(path).splitlines() if line.strip()]


def check(rows: Iterable[object], model: type[R], where: str) -> list[R]:
    """Rows that are Python objects already, such as those of a DataFrame, as records."""
    return checked(((f"{where}, record {number}", row) for number, row in enumerate(rows, start=1)), model, where)


def checked(rows: Iterable[tuple[str, Any]], model: type[R], where: str) -> list[R]:
    """Rows, each with what errors call it, as records.

    DataError: no row at all, one that does not fit the model, or a second one of the same key.
    """
    made: dict[object, R] = {}
    for place, row in rows:
        id_ = (row.get("_id") or row.get("id")) if isinstance(row, dict) else None
        called = f"{place} ({quote(id_)})" if id_ else place
        try:
            record = model.model_validate(row)
        except ValidationError as error:
            raise DataError(f"{called}: {fault(error)}") from None
        key = len(made) if record.key is None else (record.key,)
        if made.setdefault(key, record) is not record:
            raise DataError(f"{called}: an earlier record has this id. Ids must be unique.")
    if not made:
        raise DataError(f"{where}: no record in it.")
    return list(made.values())


def locate(path: Path, patterns: Iterable[str], what: str) -> Path:
    """The one file meant by a path: itself, or the one in the folder that fits a pattern."""
    if path.is_file():
        return path
    wanted = list(dict.fromkeys(patterns))
    if not path.is_dir():
        raise FileNotFoundError(f"{path} does not exist. Give the file, or a folder with {' or '.join(wanted)}.")
    found = sorted({file for pattern in wanted for file in path.glob(pattern) if file.is_file()})
    if not found:
        raise FileNotFoundError(f"{path} holds no {what}. Looked for: {', '.join(wanted)}.")
    if len(found) > 1:
        names = ", ".join(file.name for file in found)
        raise ValueError(f"{path} holds {len(found)} files of {what}: {names}. Give one as the path, or name a split.")
    return found[0]


def find_graph_files(path: Path) -> dict[str, Path]:
    """The graph files in the folder of `path`; where one kind has several, the key includes the file's name."""
    folder = path if path.is_dir() else path.parent
    found: dict[str, Path] = {}
    for kind, pattern in GRAPHS.items():
        files = sorted(folder.glob(pattern))
        found |= {kind if len(files) == 1 else f"{kind}:{file.name}": file for file in files}
    return found


def _table_rows(path: Path) -> list[dict[str, Any]]:
    try:
        rows: list[dict[str, Any]] = read_parquet(path).to_pylist()
    except DataError as error:
        raise DataError(f"{path.name}: not a Parquet table: {error}. Is the file complete?") from error
    return rows


def fault(error: ValidationError) -> str:
    """The first thing wrong, by its field and value."""
    first = error.errors(include_url=False)[0]
    field = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in first["loc"]).lstrip(".")
    subject = f"field {field!r}" if field else "the record"
    if first["type"] == "missing":
        return f"{subject} is missing."
    if first["type"] == "string_pattern_mismatch":
        return f"{subject} is empty."
    said = f"{subject}: {first['msg']}".replace(": Input should be", " must be").replace("Value error, ", "")
    return f"{said}." if first["type"] == "value_error" else f"{said}, not {quote(first['input'])}."
