"""Tables of numbers, texts and tables -> a TOML file; Python's standard library only reads them."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence


def toml_text(head: Sequence[str], tables: Mapping[str, Mapping[str, object]]) -> str:
    """The lines of `head`, then each table under its dotted name; a table in a table follows it under both names."""
    lines = list(head)
    for name, values in tables.items():
        lines += _table(name, values)
    return "\n".join([*lines, ""])


def _table(name: str, values: Mapping[str, object]) -> Iterator[str]:
    plain = {key: value for key, value in values.items() if not isinstance(value, Mapping)}
    yield from ("", f"[{name}]", *(f"{_key(key)} = {_value(value)}" for key, value in plain.items()))
    for key, value in values.items():
        if isinstance(value, Mapping):
            yield from _table(f"{name}.{_key(key)}", value)


def _key(key: str) -> str:
    return (
        key
        if key.isascii() and key.replace("_", "").replace("-", "").isalnum()
        else json.dumps(key, ensure_ascii=False)
    )


def _value(value: object) -> str:
    return json.dumps(value, ensure_ascii=False) if isinstance(value, str | bool) else repr(value)
