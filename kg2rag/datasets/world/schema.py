"""`schema.toml` -> what can be true in the invented world, and how it is stated and asked."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Relation:
    """One relation.

    Attributes
    ----------
    name : as triples write it.
    tail : the kind of thing it leads to.
    sentences : ways to state it, with {x} and {y}.
    phrases : ways to name its end by its beginning, with {x}: "the author of {x}".
    questions : ways to ask for its end, with {x}.
    """

    name: str
    tail: str
    sentences: tuple[str, ...]
    phrases: tuple[str, ...]
    questions: tuple[str, ...]


_SCHEMA = tomllib.loads(Path(__file__).with_name("schema.toml").read_text(encoding="utf-8"))

RELATIONS: dict[str, tuple[Relation, ...]] = {
    kind: tuple(
        Relation(one["name"], one["tail"], *(tuple(one[said]) for said in ("sentences", "phrases", "questions")))
        for one in relations
    )
    for kind, relations in _SCHEMA["relations"].items()
}
ROLES: dict[str, tuple[str, ...]] = {kind: tuple(roles) for kind, roles in _SCHEMA["roles"].items()}
OPENINGS, AKAS, FILLERS, MONTHS, NOTICES = (
    tuple[str, ...](_SCHEMA[name]) for name in ("openings", "akas", "fillers", "months", "notices")
)
