"""The vocabulary of invented worlds (`world.toml`): names of things, relations between them, texts that state them."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from math import gcd, isqrt
from pathlib import Path
from typing import NamedTuple

import numpy as np

Thing = tuple[str, int]


class Relation(NamedTuple):
    """A relation to a thing of kind `tail`; ways to state it, to name its end ("the author of {x}"), to ask for it."""

    name: str
    tail: str
    sentences: Sequence[str]
    phrases: Sequence[str]
    questions: Sequence[str]


SCHEMA = tomllib.loads(Path(__file__).with_name("world.toml").read_text(encoding="utf-8"))
RELATIONS = {kind: tuple(Relation(**one) for one in relations) for kind, relations in SCHEMA["relations"].items()}
KINDS, TEXTS = tuple(SCHEMA["shares"]), SCHEMA["texts"]
ONSETS, VOWELS, CODAS, ADJECTIVES, NOUNS = (
    SCHEMA["names"][part].split(" ") for part in ("onsets", "vowels", "codas", "adjectives", "nouns")
)


def root(number: int, syllables: int) -> str:
    """The root with that number, in lower case; numbers run from 0 to `roots(syllables) - 1`.

    It is read back in one way only (consonants, vowel, consonants, …): different numbers have different roots.
    """
    number, coda = divmod(number, len(CODAS))
    parts = [CODAS[coda]]
    for _ in range(syllables):
        number, syllable = divmod(number, len(ONSETS) * len(VOWELS))
        onset, vowel = divmod(syllable, len(VOWELS))
        parts.insert(0, ONSETS[onset] + VOWELS[vowel])
    return "".join(parts)


def roots(syllables: int) -> int:
    """How many roots there are of so many syllables."""
    return int((len(ONSETS) * len(VOWELS)) ** syllables * len(CODAS))


class _Shuffle:
    """A permutation of 0 … size - 1 that needs no table: multiply and add, the factor prime to the size."""

    def __init__(self, size: int, rng: np.random.Generator) -> None:
        self.size = size
        self.factor, self.shift = int(rng.integers(size // 2, size)), int(rng.integers(size))
        while gcd(self.factor, size) != 1:
            self.factor += 1

    def __getitem__(self, number: int) -> int:
        return (number * self.factor + self.shift) % self.size


class Names:
    """The names of a world with `counts` things of each kind: no two share one, and none is kept."""

    def __init__(self, seed: int, counts: Mapping[str, int]) -> None:
        rng = np.random.default_rng([seed, 1])
        self._long, self._short = _Shuffle(roots(3), rng), _Shuffle(roots(2), rng)
        # About twice as many pairs as persons: namesakes are common, as in life.
        self._family = isqrt(2 * counts["person"]) + 8
        self._persons = _Shuffle(self._family**2, rng)
        self._offsets = dict(zip(KINDS, np.cumsum([0, *counts.values()]).tolist(), strict=False))

    def __getitem__(self, thing: Thing) -> str:
        kind, number = thing
        if kind == "person":
            last, first = divmod(self._persons[number], self._family)
            return " ".join(root(self._short[one], 2).capitalize() for one in (first, self._family + last))
        invented = root(self._long[self._offsets[kind] + number], 3).capitalize()
        if kind == "work":
            return f"The {ADJECTIVES[number % 12]} {NOUNS[number // 12 % 12]} of {invented}"
        return f"{invented} {_of(SCHEMA['ends'][kind], number)}" if kind in SCHEMA["ends"] else invented


def page(kind: str, name: str, ends: Sequence[str], choices: Sequence[int]) -> str:
    """The text about a thing: an opening, its facts with their ends in some order, and something beside the point."""
    role = _of(SCHEMA["roles"][kind], choices[0])
    article = "an" if role[0] in "aeiou" else "a"
    sentences = [_of(TEXTS["openings"], choices[2]).format(name=name, role=f"{article} {role}")]
    facts, start = list(zip(RELATIONS[kind], ends, strict=True)), choices[3] % len(ends)
    for i, (relation, end) in enumerate([*facts[start:], *facts[:start]]):
        subject = name if choices[4 + i] % 3 == 0 else f"the {role.split()[-1]}"
        sentence = _of(relation.sentences, choices[7 + i]).format(x=subject, y=end)
        sentences.append(sentence[0].upper() + sentence[1:])
    filler = _of(TEXTS["fillers"], choices[10]).format(n=choices[11] + 2, m=_of(TEXTS["months"], choices[11]))
    sentences.insert(1 + choices[11] % len(sentences), filler)
    return " ".join(sentences)


def _of(options: Sequence[str], choice: int) -> str:
    return options[choice % len(options)]
