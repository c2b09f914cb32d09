"""(kind, number) -> a name of the invented world: syllables in a fixed order, so no two are alike and none is kept.

A root is read back in one way only (consonants, vowel, consonants, vowel, …), so different numbers have different
roots. A seed decides which number gets which.
"""

from __future__ import annotations

from math import gcd, isqrt

import numpy as np

ONSETS = "br dr fl gl gr kr kv mv n pl pr sk sn tr v vl vr z zh zl".split()
VOWELS = "a e i o u ae".split()
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
