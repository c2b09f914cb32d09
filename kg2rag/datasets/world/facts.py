"""A seed and a few controls -> what is true in an invented world: its things, their names and their facts.

A name is syllables in a fixed order, so no two are alike and none is kept. Its root is read back in one way only
(consonants, vowel, consonants, vowel, …), so different numbers have different roots; the seed decides which gets which.
"""

from __future__ import annotations

import tomllib
from collections.abc import Sequence
from dataclasses import dataclass, fields
from functools import cached_property
from math import gcd, isqrt
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

ONSETS = "br dr fl gl gr kr kv mv n pl pr sk sn tr v vl vr z zh zl".split()
VOWELS = "a e i o u ae".split()
CODAS = ["", *"l m n r sk th x rn ld".split()]
SYLLABLES = len(ONSETS) * len(VOWELS)

KINDS = ("person", "work", "town", "organisation", "region")
REGIONS = ("Reach", "Marches", "Vale", "Coast", "Uplands", "Fens")
HOUSES = ("Guild", "Institute", "Company", "College", "Press", "Observatory", "Society", "Archive")
ADJECTIVES = "Silent Copper Hollow Winter Ninth Drowned Patient Paper Salt Borrowed Burning Lesser".split()
NOUNS = "Lantern Orchard Ledger Bridge Harvest Mirror Gate Letters Voyage Garden Clock Feast".split()

SHARES = {"person": 0.45, "work": 0.25, "town": 0.15, "organisation": 0.1, "region": 0.05}
FEWEST = 60
"""Entities below which a world is too small for questions."""
LARGEST = 2_000_000
Codes = NDArray[np.int64]


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
        invented = self._root(self._offsets[kind] + number)
        if kind == "work":
            return f"The {ADJECTIVES[number % 12]} {NOUNS[number // 12 % 12]} of {invented}"
        if kind == "organisation":
            return f"{invented} {HOUSES[number % len(HOUSES)]}"
        return f"{invented} {REGIONS[number % len(REGIONS)]}" if kind == "region" else invented

    def alias(self, kind: str, number: int) -> str:
        """The other name, one word that nothing else is called."""
        return self._root(self._total + self._offsets[kind] + number)

    def _root(self, number: int) -> str:
        return root(self._long.at(number), 3).capitalize()

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
        if not 0 <= number < self.size:
            raise ValueError(f"The world has names for {self.size} of these, not for number {number}.")
        return (number * self.factor + self.shift) % self.size


@dataclass(frozen=True)
class WorldFacts:
    """The controls of a world and all that follows from them but its texts and questions.

    Parameters
    ----------
    passages : in all; one for each entity, and the distractors.
    questions : in all, spread evenly over `hops`.
    hops : how many facts a question joins, each from another passage: 1 to 4.
    distractors : passages a question that name one of its entities and state none of its facts.
    aliases : share of facts and questions that call their entity by its other name.
    typos : share of questions in whose name one letter is left out, doubled, replaced or swapped.
    dropped, wrong : shares of the triples that the extraction lacks, and that end in another thing of the same kind.

    Raises
    ------
    ValueError : a control out of range, or too few passages for the questions.
    """

    passages: int = 1000
    questions: int = 100
    hops: tuple[int, ...] = (1, 2, 3, 4)
    distractors: int = 0
    aliases: float = 0.0
    typos: float = 0.0
    dropped: float = 0.0
    wrong: float = 0.0
    seed: int = 0

    def __post_init__(self) -> None:
        for name in ("aliases", "typos", "dropped", "wrong"):
            if not 0 <= getattr(self, name) <= 1:
                raise ValueError(f"{name} is a share from 0 to 1, not {getattr(self, name)}.")
        if self.dropped + self.wrong > 1:
            raise ValueError(f"dropped ({self.dropped}) and wrong ({self.wrong}) are more than all triples.")
        if not self.hops or not set(self.hops) <= {1, 2, 3, 4} or len(set(self.hops)) < len(self.hops):
            raise ValueError(f"hops are different numbers from 1 to 4, not {self.hops}.")
        if self.questions < len(self.hops) or self.distractors < 0 or self.seed < 0:
            raise ValueError("A world needs a question for each number of hops, and no negative number.")
        if not FEWEST <= self.entities <= LARGEST:
            raise ValueError(
                f"{self.passages} passages leave {self.entities} for entities beside {self.questions} x "
                f"{self.distractors} distractors; a world needs {FEWEST} to {LARGEST}."
            )

    @property
    def entities(self) -> int:
        """How many things there are, a passage each."""
        return self.passages - self.questions * self.distractors

    @property
    def controls(self) -> dict[str, object]:
        """All parameters, as JSON values."""
        values = {field.name: getattr(self, field.name) for field in fields(self)}
        return {**values, "hops": list(self.hops)}

    @cached_property
    def counts(self) -> dict[str, int]:
        """Kind -> how many; the rounding falls to the persons."""
        counts = {kind: max(int(share * self.entities), 2) for kind, share in SHARES.items()}
        counts["person"] += self.entities - sum(counts.values())
        return counts

    @cached_property
    def names(self) -> Names:
        """What everything is called."""
        return Names(self.seed, self.counts)

    @cached_property
    def facts(self) -> dict[tuple[str, str], Codes]:
        """(kind, relation) -> the number of the thing that each of that kind is led to; never itself."""
        rng = np.random.default_rng([self.seed, 2])
        made = {}
        for kind in KINDS:
            for relation in RELATIONS[kind]:
                heads, tails = self.counts[kind], self.counts[relation.tail]
                if kind == relation.tail:
                    made[kind, relation.name] = (np.arange(heads) + rng.integers(1, tails, heads)) % tails
                else:
                    made[kind, relation.name] = rng.integers(0, tails, heads)
        return made

    def passage_id(self, kind: str, number: int) -> str:
        """The passage about a thing."""
        return f"{kind}-{number}"

    def called(self, kind: str, number: int, chance: float) -> str:
        """A thing's name, or its alias where `chance` (0 to 1) falls below the share of aliases."""
        return self.names.alias(kind, number) if chance < self.aliases else self.names.name(kind, number)


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
