"""Graphs that other tools wrote -> extractions, a module a format; here is what they share: a file and its records."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, ClassVar

from kg2rag.extraction.importers.strengths import number_of
from kg2rag.text.records import DataError, Record, existing, file_fingerprint, wrong


@dataclass(frozen=True)
class FileSource:
    """A graph source that reads a file, `path`; a subclass is an extractor once it has `extract`.

    Every other field is an option, and part of the fingerprint, as is `kind`: a name of the format with a version that
    a change of `extract` raises. `wanted` says what the file is, for the error where it is missing.
    """

    kind: ClassVar[str]
    wanted: ClassVar[str]

    path: Path

    def __post_init__(self) -> None:
        object.__setattr__(self, "path", existing(self.path, self.wanted))

    def files(self) -> Mapping[str, Path]:
        """The files that are read, by the names under which the fingerprint has their checksums."""
        return {"path": self.path}

    @property
    def fingerprint(self) -> str:
        """The kind, the options and the files' checksums, not their places."""
        options = {field.name: getattr(self, field.name) for field in fields(self) if field.name != "path"}
        return file_fingerprint(self.kind, self.files(), options)


def nearest_file(folder: Path, *names: str) -> Path | None:
    """The file of one of these names in a folder, else in a folder up to three below it; None where there is none.

    DataError where several folders, equally near, have one.
    """
    for depth in ("", "*/", "*/*/", "*/*/*/"):
        files = {file.parent: file for name in reversed(names) for file in sorted(folder.glob(depth + name))}
        if len(files) > 1:
            raise DataError(
                f"{folder} holds several graphs, in {', '.join(map(str, sorted(files)))}. Give one of them."
            )
        if files:
            return next(iter(files.values()))
    return None


@dataclass(frozen=True)
class Row:
    """A record and its place, from 1. Of several names for one field, the first that the record has counts."""

    file: Path | str
    place: int
    record: Record

    def value(self, names: tuple[str, ...], kinds: type | tuple[type, ...], needed: str) -> Any:
        """A field of one of these types; None where it is null or missing."""
        value = next((self.record[name] for name in names if name in self.record), None)
        if value is not None and not isinstance(value, kinds):
            wrong(self.file, self.place, names[0], value, needed)
        return value

    def string(self, *names: str) -> str:
        """A field as it is; "" where it is null or missing."""
        return self.value(names, str, "a string") or ""

    def unquoted(self, *names: str) -> str:
        """A field without quotation marks around it, see `unquoted`."""
        return unquoted(self.string(*names))

    def number(self, name: str) -> float | None:
        """A field as a number, also where it is written as text; None where it is null or missing."""
        value = self.record.get(name)
        if value is None:
            return None
        number = number_of(value)
        if number is None:
            wrong(self.file, self.place, name, value, "a number")
        return number

    def strings(self, name: str) -> tuple[str, ...]:
        """A list of strings, each once; none where it is null or missing."""
        value = self.value((name,), list, "a list of strings") or []
        if not all(isinstance(member, str) for member in value):
            wrong(self.file, self.place, name, value, "a list of strings")
        return tuple(dict.fromkeys(value))


def unquoted(value: str) -> str:
    """A stripped value without the quotation marks that early releases of GraphRAG and LightRAG keep around it."""
    value = value.strip()
    return value[1:-1].strip() if len(value) > 1 and value[0] == value[-1] == '"' else value
