"""`Row`: one record of a file, its fields read by type; an error names file, record, field and value."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from kg2rag.text.records import Record, wrong


@dataclass(frozen=True)
class Row:
    """A record and its place. Of several names for one field, the first that the record has counts."""

    file: Path | str
    number: int
    record: Record

    def value(self, *names: str) -> object:
        """A field as it is; None where it is null or missing."""
        return next((self.record[name] for name in names if name in self.record), None)

    def string(self, *names: str) -> str:
        """A field as it is; "" where it is null or missing."""
        value = self.value(*names)
        if value is not None and not isinstance(value, str):
            wrong(self.file, self.number, names[0], value, "a string")
        return value or ""

    def strings(self, name: str, what: str) -> tuple[str, ...]:
        """A list of strings, each once; none where it is null or missing."""
        value = self.value(name)
        if value is None:
            return ()
        if not isinstance(value, list) or not all(isinstance(one, str) for one in value):
            wrong(self.file, self.number, name, value, f"a list of {what}")
        return tuple(dict.fromkeys(value))

    def weight(self, name: str) -> float | None:
        """A field as a number; None where it is null or missing."""
        value = self.value(name)
        if value is not None and not isinstance(value, int | float):
            wrong(self.file, self.number, name, value, "a number")
        return None if value is None else float(value)


def unquoted(value: str) -> str:
    """A stripped value without the quotation marks that early releases of GraphRAG and LightRAG keep around it."""
    value = value.strip()
    return value[1:-1].strip() if len(value) > 1 and value[0] == value[-1] == '"' else value
