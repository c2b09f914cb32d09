"""Files of JSON, JSON Lines, CSV, TSV, Parquet and saved `datasets` -> validated records.

The schema of a record is a pydantic model; a record that does not fit is a `DataError`. `Files`
collects the checksums of all files that one load reads.
"""

from __future__ import annotations

import gzip
import hashlib
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, TypeVar

import pyarrow as pa
from pydantic import (
    AliasChoices,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    StrictInt,
    StringConstraints,
    ValidationError,
    model_validator,
)

from kg2rag.datasets.hub_viewer import viewer_rows
from kg2rag.text.decoding import decode
from kg2rag.text.printed_values import parsed_column
from kg2rag.text.records import (
    DataError,
    delimiter_of,
    parse_json,
    quote,
    read_delimited,
    read_parquet,
    sha256,
)

Text = Annotated[str, StringConstraints(pattern=r"\S")]
"""A string that is not blank."""
Fact = tuple[str, str, str]
SentenceName = tuple[Text, StrictInt]


def _id_as_text(value: Any) -> Any:
    """The text of an id that is a whole number; any other value itself."""
    return str(value) if type(value) is int else value


IdText = Annotated[Text, BeforeValidator(_id_as_text)]
Identifier = Annotated[IdText, Field(validation_alias=AliasChoices("_id", "id"))]


def _as_rows_of_columns(value: Any) -> Any:
    """Columns of the hub's tables as a list of records; any other value itself.

    `{"title": ["a", "b"], "idx": [0, 1]}` becomes `[{"title": "a", "idx": 0}, …]`.
    """
    value = parsed_column(value)
    if not isinstance(value, dict) or not all(
        isinstance(column, list) for column in value.values()
    ):
        return value
    if len({len(column) for column in value.values()}) != 1:
        return value
    return [
        dict(zip(value, row, strict=True)) for row in zip(*value.values(), strict=True)
    ]


def tuples_of(*fields: str) -> BeforeValidator:
    """The validator of a field that is a list of tuples, such as `[[title, index], …]`.

    It also reads the forms of the hub, a list of records and columns.

    fields : the names of the members of a tuple; alternative names are separated by "|".
    """

    def as_tuples(value: Any) -> Any:
        rows = _as_rows_of_columns(value)
        if not isinstance(rows, list):
            return rows
        return [_members(row, fields) if isinstance(row, dict) else row for row in rows]

    return BeforeValidator(as_tuples)


def _members(row: Mapping[str, Any], fields: Sequence[str]) -> tuple[Any, ...]:
    """The values of a record's fields as a tuple; ValueError: it lacks a field."""
    members = list[Any]()
    for field in fields:
        names = [name for name in field.split("|") if name in row]
        if not names:
            raise ValueError(
                f"an object with {', '.join(row) or 'no field'}, which lacks {field.replace('|', ' or ')}"
            )
        members.append(row[names[0]])
    return tuple(members)


def _as_list(value: Any) -> Any:
    """A list that may be given as JSON; any other text becomes its only member."""
    value = parsed_column(value)
    return [value] if isinstance(value, str) else value


PARSED = BeforeValidator(parsed_column)
AS_LIST = BeforeValidator(_as_list)
"""Validator of a field that is a text in some sets and a list of texts in others."""
AS_RECORDS = BeforeValidator(_as_rows_of_columns)
"""Validator of a list of records, which the hub also has as columns or as a text of JSON."""

GRAPHS = {"openie": "openie_results*.json", "subkgs": "*subkgs.jsonl"}
GRAPHS |= {"triples": "triples*.jsonl", "entities": "entities.jsonl"}
"""Kind of graph file -> pattern of its name beside a set."""


class Record(BaseModel):
    """The base of every record; unknown fields are ignored, and null means missing."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    @model_validator(mode="before")
    @classmethod
    def _without_nulls(cls, row: Any) -> Any:
        """The row without optional fields that are null, so that these have their defaults."""
        if not isinstance(row, dict) or None not in row.values():
            return row
        required = {
            name for name, field in cls.model_fields.items() if field.is_required()
        }
        return {
            name: value
            for name, value in row.items()
            if value is not None or name in required
        }

    @property
    def key(self) -> object:
        """The value that must be unique among the records of a file; None if none must be."""
        return getattr(self, "id", None)


R = TypeVar("R", bound=Record)


class Files:
    """Reads the files of one load.

    checksums : name of each file without its folder -> SHA-256; the same on any machine.
    """

    def __init__(self) -> None:
        self.checksums: dict[str, str] = {}

    def text(self, path: Path) -> str:
        """The text of a file, decompressed if it ends in `.gz`.

        DataError: it is no text, or incomplete.
        """
        data = path.read_bytes()
        self.checksums[path.name] = hashlib.sha256(data).hexdigest()
        try:
            if path.suffix == ".gz":
                data = gzip.decompress(data)
            return decode(data, path.name)
        except (OSError, EOFError, zlib.error) as error:
            raise DataError(
                f"{path.name}: cannot be unpacked: {error}. Is the file complete?"
            ) from None

    def rows(self, *paths: Path) -> Iterator[tuple[str, Any]]:
        """The location, for errors, and the unvalidated record of each row of some files.

        Files are JSON lists, JSON Lines, `.tsv`, `.csv`, Parquet, or saved by `datasets`.
        """
        for path in paths:
            kind = path.name.removesuffix(".gz").rpartition(".")[2]
            if kind in ("tsv", "csv"):
                self.add_checksum(path)
                lines = read_delimited(
                    path, delimiter_of(path) if kind == "csv" else "\t"
                )
                yield from (
                    (f"{path.name}, line {number}", row) for number, row in lines
                )
            elif kind == "parquet":
                self.add_checksum(path)
                yield from _numbered(path, read_parquet(path).to_pylist())
            elif path.is_dir() or kind == "arrow":
                self.add_checksum(path)
                yield from _numbered(path, _rows_saved_by_datasets(path))
            else:
                yield from _json_rows(path, self.text(path))

    def add_checksum(self, path: Path) -> None:
        """Add the checksum of a file, or of the files of a saved dataset."""
        for file in sorted(path.glob("*.arrow")) or [path]:
            self.checksums[file.name] = sha256(file)

    def records(self, model: type[R], *paths: Path) -> list[R]:
        """The rows of a file, or of its parts, as records of a model."""
        return checked(self.rows(*paths), model, ", ".join(path.name for path in paths))

    def lines(self, path: Path) -> list[str]:
        """The lines of a list of ids, without blanks at their ends and without empty lines."""
        return [line.strip() for line in self.text(path).splitlines() if line.strip()]


def check(rows: Iterable[object], model: type[R], where: str) -> list[R]:
    """The validated records of rows without a file, such as those of a DataFrame; see `checked`."""
    return checked(
        (
            (f"{where}, record {number}", row)
            for number, row in enumerate(rows, start=1)
        ),
        model,
        where,
    )


def checked(rows: Iterable[tuple[str, Any]], model: type[R], where: str) -> list[R]:
    """The validated records of rows, each given with its location for errors.

    DataError: there is no row, a row does not fit the model, or two have the same key.
    """
    records: dict[object, R] = {}
    for location, row in rows:
        try:
            record = model.model_validate(row)
        except ValidationError as error:
            raise DataError(
                f"{_location_with_id(location, row)}: {fault(error)}"
            ) from None
        key = len(records) if record.key is None else (record.key,)
        if key in records:
            raise DataError(
                f"{_location_with_id(location, row)}: an earlier record has this id. Ids must be unique."
            )
        records[key] = record
    if not records:
        raise DataError(f"{where}: no record in it.")
    return list(records.values())


def _location_with_id(location: str, row: Any) -> str:
    """The location of a row, with its id if it has one."""
    if isinstance(row, dict) and (row.get("_id") or row.get("id")):
        return f"{location} ({quote(row.get('_id') or row.get('id'))})"
    return location


def locate(path: Path, patterns: Iterable[str], contents: str) -> Path:
    """The file at a path, or the only file in the folder at the path that matches a pattern.

    A folder that `datasets` saved counts as a file.

    contents : what the files contain, for errors.

    FileNotFoundError: there is no such file. ValueError: there are several.
    """
    if path.is_file() or is_saved(path):
        return path
    names = list(dict.fromkeys(patterns))
    if not path.is_dir():
        raise FileNotFoundError(
            f"{path} does not exist. Give the file, or a folder with {' or '.join(names)}."
        )
    files = sorted(
        {file for pattern in names for file in path.glob(pattern) if file.is_file()}
    )
    if not files:
        raise FileNotFoundError(
            f"{path} holds no {contents}. Looked for: {', '.join(names)}."
        )
    if len(files) > 1:
        listed = ", ".join(file.name for file in files)
        raise ValueError(
            f"{path} holds {len(files)} files of {contents}: {listed}. Give one as the path, or name a split."
        )
    return files[0]


def find_graph_files(path: Path) -> dict[str, Path]:
    """Kind -> graph file beside or in `path`; keys are "kind:name" if several files have a kind."""
    folder = path if path.is_dir() else path.parent
    graph_files: dict[str, Path] = {}
    for kind, pattern in GRAPHS.items():
        files = sorted(folder.glob(pattern))
        for file in files:
            graph_files[kind if len(files) == 1 else f"{kind}:{file.name}"] = file
    return graph_files


def _numbered(path: Path, rows: Iterable[Any]) -> Iterator[tuple[str, Any]]:
    """The location, a file and a number from 1, and the record of each row."""
    return (
        (f"{path.name}, record {number}", row)
        for number, row in enumerate(rows, start=1)
    )


def _json_rows(path: Path, text: str) -> Iterator[tuple[str, Any]]:
    """The location and the record of each row of a JSON list, or of JSON Lines in a `.json`, too."""
    is_lines = text.lstrip().startswith("{") and "\n{" in text.strip()
    if is_lines or ".jsonl" in path.name:
        for number, line in enumerate(text.split("\n"), start=1):
            if line.strip():
                location = f"{path.name}, line {number}"
                yield location, parse_json(line, location)
        return
    rows = parse_json(text, path.name)
    rows = viewer_rows(rows, path.name) or rows
    if not isinstance(rows, list):
        raise DataError(
            f"{path.name}: must hold a list of records, not {type(rows).__name__}."
        )
    yield from _numbered(path, rows)


def is_saved(path: Path) -> bool:
    """Whether a folder is a `datasets.Dataset` that `save_to_disk` wrote."""
    return (path / "state.json").is_file()


def saved_split(path: Path, split: str | None, default: str) -> Path:
    """The folder of a split in a saved `datasets.DatasetDict`; any other path itself.

    ValueError: there is no such split, or the path is one saved dataset and a split was given.
    """
    if is_saved(path) and split:
        raise ValueError(
            f"{path} is one saved dataset: leave out split {split!r}, or give the folder of all splits."
        )
    listing = path / "dataset_dict.json"
    if not listing.is_file():
        return path
    splits = parse_json(listing.read_text(encoding="utf-8"), listing)["splits"]
    name = split or (splits[0] if len(splits) == 1 else default)
    if name not in splits:
        raise ValueError(
            f"{path} has no split {name!r}. It offers: {', '.join(splits)}."
        )
    return path / name


def _rows_saved_by_datasets(path: Path) -> list[dict[str, Any]]:
    """The rows of a folder of `save_to_disk`, or of an Arrow file of the cache of `datasets`."""
    import datasets

    try:
        read = datasets.load_from_disk if path.is_dir() else datasets.Dataset.from_file
        rows: list[dict[str, Any]] = read(str(path)).to_list()
    except (OSError, ValueError, KeyError, TypeError, pa.ArrowException) as error:
        raise DataError(
            f"{path.name}: `datasets` cannot read it: {quote(str(error))}. Is it complete?"
        ) from error
    return rows


def fault(error: ValidationError) -> str:
    """The text of the first fault in a validation error, with its field and value."""
    first = error.errors(include_url=False)[0]
    field = "".join(
        f"[{part}]" if isinstance(part, int) else f".{part}" for part in first["loc"]
    ).lstrip(".")
    subject = f"field {field!r}" if field else "the record"
    if first["type"] == "missing":
        return f"{subject} is missing."
    if first["type"] == "string_pattern_mismatch":
        return f"{subject} is empty."
    message = f"{subject}: {first['msg']}".replace(
        ": Input should be", " must be"
    ).replace("Value error, ", "")
    if first["type"] == "value_error":
        return f"{message}."
    return f"{message}, not {quote(first['input'])}."
