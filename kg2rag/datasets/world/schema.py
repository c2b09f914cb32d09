"""`schema.toml` -> what can be true in the invented world, how it is stated and asked, and the text of a passage."""

from __future__ import annotations

import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np


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


def page(kind: str, name: str, alias: str, facts: Sequence[tuple[Relation, str]], choices: Sequence[int]) -> str:
    """The text about a thing: an opening, its facts with their ends in some order, and something beside the point."""
    role = _of(ROLES[kind], choices[0])
    aka = _of(AKAS, choices[1]).format(alias=alias) if alias else ""
    article = "an" if role[0] in "aeiou" else "a"
    sentences = [_of(OPENINGS, choices[2]).format(name=name, aka=aka, role=f"{article} {role}")]
    start = choices[3] % len(facts)
    for i, (relation, end) in enumerate([*facts[start:], *facts[:start]]):
        subject = name if choices[4 + i] % 3 == 0 else f"the {role.split()[-1]}"
        sentence = _of(relation.sentences, choices[7 + i]).format(x=subject, y=end)
        sentences.append(sentence[0].upper() + sentence[1:])
    filler = _of(FILLERS, choices[10]).format(n=choices[11] + 2, m=_of(MONTHS, choices[11]))
    sentences.insert(1 + choices[11] % len(sentences), filler)
    return " ".join(sentences)


def notice(names: Sequence[str], rng: np.random.Generator) -> str:
    """A text that names three things, in any order, and states nothing the questions ask for."""
    a, b, c = (names[i] for i in rng.permutation(3).tolist())
    number = int(rng.integers(2, 90))
    filler = _of(FILLERS, int(rng.integers(256))).format(n=number, m=_of(MONTHS, number))
    return f"{_of(NOTICES, int(rng.integers(256))).format(a=a, b=b, c=c)} {filler}"


def _of(options: Sequence[str], choice: int) -> str:
    return options[choice % len(options)]
