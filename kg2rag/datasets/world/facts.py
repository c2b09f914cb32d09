"""The vocabulary of invented worlds: names of things, relations between them, and the texts that state them.

A name is syllables in a fixed order, so no two are alike and none is kept. Its root is read back in one way only
(consonants, vowel, consonants, vowel, …), so different numbers have different roots; the seed decides which gets which.
"""

from __future__ import annotations

import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from math import gcd, isqrt
from pathlib import Path

import numpy as np

from kg2rag.text.normalisation import key

ONSETS = "br dr fl gl gr kr kv mv n pl pr sk sn tr v vl vr z zh zl".split()
VOWELS = "a e i o u ae".split()
LETTERS = "abcdefghijklmnopqrstuvwxyz"
CODAS = ["", *"l m n r sk th x rn ld".split()]
SYLLABLES = len(ONSETS) * len(VOWELS)

KINDS = ("person", "work", "town", "organisation", "region")
REGIONS = ("Reach", "Marches", "Vale", "Coast", "Uplands", "Fens")
HOUSES = ("Guild", "Institute", "Company", "College", "Press", "Observatory", "Society", "Archive")
ADJECTIVES = "Silent Copper Hollow Winter Ninth Drowned Patient Paper Salt Borrowed Burning Lesser".split()
NOUNS = "Lantern Orchard Ledger Bridge Harvest Mirror Gate Letters Voyage Garden Clock Feast".split()


def root(number: int, syllables: int) -> str:
    """The root with that number, in lower case; numbers run from 0 to `roots(syllables) - 1`."""
    number, coda = divmod(number, len(CODAS))
    parts = [CODAS[coda]]
    for _ in range(syllables):
        number, syllable = divmod(number, SYLLABLES)
        onset, vowel = divmod(syllable, len(VOWELS))
        parts.insert(0, ONSETS[onset] + VOWELS[vowel])
    return "".join(parts)


def roots(syllables: int) -> int:
    """How many roots there are of so many syllables."""
    return int(SYLLABLES**syllables * len(CODAS))


class Names:
    """The names of a world with `counts` things of each kind."""

    def __init__(self, seed: int, counts: dict[str, int]) -> None:
        rng = np.random.default_rng([seed, 1])
        self._long = _Shuffle(roots(3), rng)
        self._short = _Shuffle(roots(2), rng)
        # About twice as many pairs as persons: namesakes are common, as in life.
        self._family = isqrt(2 * counts["person"]) + 8
        self._persons = _Shuffle(self._family**2, rng)
        self._offsets = dict(zip(KINDS, np.cumsum([0, *counts.values()]).tolist(), strict=False))
        self._total = sum(counts.values())

    def name(self, kind: str, number: int) -> str:
        """The full name; no two things of a world share one."""
        if kind == "person":
            last, first = divmod(self._persons.at(number), self._family)
            return f"{self._given(first)} {self._given(self._family + last)}"
        invented = root(self._long.at(self._offsets[kind] + number), 3).capitalize()
        if kind == "work":
            return f"The {ADJECTIVES[number % 12]} {NOUNS[number // 12 % 12]} of {invented}"
        ends = {"organisation": HOUSES, "region": REGIONS}.get(kind)
        return f"{invented} {_of(ends, number)}" if ends else invented

    def alias(self, kind: str, number: int) -> str:
        """The other name, one word that nothing else is called."""
        return root(self._long.at(self._total + self._offsets[kind] + number), 3).capitalize()

    def _given(self, number: int) -> str:
        return root(self._short.at(number), 2).capitalize()


class _Shuffle:
    """A permutation of 0 … size - 1 that needs no table: multiply and add, the factor prime to the size."""

    def __init__(self, size: int, rng: np.random.Generator) -> None:
        self.size = size
        self.factor, self.shift = int(rng.integers(size // 2, size)), int(rng.integers(size))
        while gcd(self.factor, size) != 1:
            self.factor += 1

    def at(self, number: int) -> int:
        """Where a number goes."""
        return (number * self.factor + self.shift) % self.size


@dataclass(frozen=True)
class Relation:
    """A relation to a thing of kind `tail`; ways to state it, to name its end ("the author of {x}"), to ask for it."""

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


def one_typo(name: str, rng: np.random.Generator) -> str:
    """A letter left out, doubled, replaced, or swapped with the next; never leaving the name as it was."""
    while True:
        at, kind = int(rng.integers(len(name) - 1)), int(rng.integers(4))
        letter = LETTERS[int(rng.integers(len(LETTERS)))]
        middle = ("", name[at] * 2, letter, name[at + 1] + name[at])[kind]
        edited = name[:at] + middle + name[at + (2 if kind == 3 else 1) :]
        if key(edited) != key(name):
            return edited


def notice(names: Sequence[str], rng: np.random.Generator) -> str:
    """A text that names three things, in any order, and states nothing the questions ask for."""
    a, b, c = (names[i] for i in rng.permutation(3).tolist())
    number = int(rng.integers(2, 90))
    filler = _of(FILLERS, int(rng.integers(256))).format(n=number, m=_of(MONTHS, number))
    return f"{_of(NOTICES, int(rng.integers(256))).format(a=a, b=b, c=c)} {filler}"


def _of(options: Sequence[str], choice: int) -> str:
    return options[choice % len(options)]
