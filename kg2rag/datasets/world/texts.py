"""Facts and a few random choices -> the text of a passage."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from kg2rag.datasets.world.schema import AKAS, FILLERS, MONTHS, NOTICES, OPENINGS, ROLES, Relation


@dataclass(frozen=True)
class Page:
    """What a passage is about: a thing, its other name ("" where none is given), and its facts with their ends."""

    kind: str
    name: str
    alias: str
    facts: Sequence[tuple[Relation, str]]


def page(about: Page, choices: Sequence[int]) -> str:
    """An opening, the facts in some order, and something beside the point."""
    roles = ROLES[about.kind]
    role = roles[choices[0] % len(roles)]
    aka = _of(AKAS, choices[1]).format(alias=about.alias) if about.alias else ""
    sentences = [_of(OPENINGS, choices[2]).format(name=about.name, aka=aka, role=f"{_article(role)} {role}")]
    start = choices[3] % len(about.facts)
    for i, (relation, end) in enumerate([*about.facts[start:], *about.facts[:start]]):
        subject = about.name if choices[4 + i] % 3 == 0 else f"the {role.split()[-1]}"
        sentences.append(_capital(_of(relation.sentences, choices[7 + i]).format(x=subject, y=end)))
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


def _article(noun: str) -> str:
    return "an" if noun[0] in "aeiou" else "a"


def _capital(sentence: str) -> str:
    return sentence[0].upper() + sentence[1:]
