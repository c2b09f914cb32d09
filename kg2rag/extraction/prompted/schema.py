"""The types that a typed graph may have: given in a TOML file, inferred from some passages, or none, which allows any.

```toml
entity_types = ["person", "film"]        # or a table, which says what each means:

[relation_types]
"directed by" = "from a film to the person who directed it"
```
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Self

from kg2rag.compute import new_file
from kg2rag.text.normalisation import entity_key
from kg2rag.text.records import DataError, existing, quote, read_toml

FIELDS = ("entity_types", "relation_types")


@dataclass(frozen=True)
class GraphSchema:
    """Entity types and relation types, each with what it means ("" where that is plain).

    A kind without any type is open: the model names types as it sees fit.
    """

    entity_types: Mapping[str, str] = field(default_factory=dict, hash=False)
    relation_types: Mapping[str, str] = field(default_factory=dict, hash=False)

    def __post_init__(self) -> None:
        for name in FIELDS:
            object.__setattr__(self, name, _types(name, getattr(self, name)))

    def __bool__(self) -> bool:
        return bool(self.entity_types or self.relation_types)

    @classmethod
    def read(cls, path: Path | str) -> Self:
        """The schema in a TOML file; DataError for a field it does not know, a blank type or one given twice."""
        file = existing(path, "a schema: TOML with entity_types, relation_types or both")
        given = read_toml(file)
        if strange := [name for name in given if name not in FIELDS]:
            raise DataError(f"{file}: unknown field {strange[0]!r}. Known: {', '.join(FIELDS)}.")
        try:
            schema = cls(**given)
        except ValueError as error:
            raise DataError(f"{file}: {error}") from None
        if not schema:
            raise DataError(f"{file}: no type at all. Give entity_types, relation_types or both, or no schema.")
        return schema

    def write(self, path: Path) -> None:
        """Write the TOML file that `read` reads."""
        lines = []
        for name in FIELDS:
            types = getattr(self, name)
            lines += [f"[{name}]", *(f"{_quoted(each)} = {_quoted(about)}" for each, about in types.items()), ""]
        with new_file(path) as partial:
            partial.write_text("\n".join(lines), encoding="utf-8")


def _types(name: str, given: object) -> dict[str, str]:
    pairs: Iterable[tuple[object, object]]
    if isinstance(given, Mapping):
        pairs = given.items()
    elif isinstance(given, list | tuple):
        pairs = ((each, "") for each in given)
    else:
        raise ValueError(f"{name} is {quote(given)}; needed: a list of types, or a table of types and their meanings.")
    kept: dict[str, str] = {}
    for each, about in pairs:
        if not isinstance(each, str) or not isinstance(about, str) or not each.strip():
            raise ValueError(f"{name} has {quote(each)} = {quote(about)}; needed: strings, and no blank type.")
        if entity_key(each) in map(entity_key, kept):
            raise ValueError(f"{name} has {each!r} twice.")
        kept[each.strip()] = " ".join(about.split())
    return kept


def _quoted(text: str) -> str:
    """A basic string of TOML, which is written as one of JSON, save for DEL."""
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")
