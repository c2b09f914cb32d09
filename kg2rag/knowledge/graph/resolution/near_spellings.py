"""Strings -> the pairs whose spellings are nearly the same, without comparing every string with every other.

Two strings of a small edit distance share a piece: cut the shorter one into one piece more than the edits it may bear,
and one of the pieces occurs unchanged, near its old place, in the longer one (Li et al., "Pass-Join", PVLDB 2011). So
candidates are looked up by piece and length, and rapidfuzz compares these alone. Ours: the insertion-deletion distance
in place of Levenshtein's, and the bound on a piece that too many strings share.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations, pairwise
from math import ceil, floor

import numpy as np

from kg2rag.types.arrays import FloatArray, IntArray
from kg2rag.types.parameters import between, require

SHORTEST = 8  # letters and spaces; of shorter names an edit more often makes another name than a mistake
FEW = 256  # so many strings, or fewer, are compared with one another directly
LARGEST = 256  # strings of one piece and length that a string is compared with
_EPSILON = 1e-9

Pieces = dict[tuple[int, int, str], list[int]]


@dataclass(frozen=True, eq=False)
class NearSpellings:
    """Pairs of strings, (n_pairs,) each, `left` < `right`, ascending; `scores` in (0, 1], the share that agrees.

    `cut` counts the look-ups that met more than `LARGEST` strings and compared those alone that were nearest to the
    string by length and alphabet: where it is not 0, pairs may be missing.
    """

    left: IntArray
    right: IntArray
    scores: FloatArray
    cut: int


def near_spellings(strings: Sequence[str], least: float) -> NearSpellings:
    """The pairs of strings that agree at `least` so much: 1 - (insertions + deletions) / (length + length).

    Parameters
    ----------
    strings : those shorter than `SHORTEST` are in no pair.
    least : in [0.8, 1]; below, the pieces become so short that every string is a candidate.

    Raises
    ------
    ValueError : `least` is out of range.

    Notes
    -----
    Exact where `cut` is 0. At most LARGEST comparisons for each piece, whatever the strings, so time and
    memory grow with their number, not with its square.
    """
    require("least", least, float, between(0.8, 1))
    long_ = [i for i, string in enumerate(strings) if len(string) >= SHORTEST]
    missed: list[int] = []
    few = len(long_) <= FEW
    proposed = combinations(long_, 2) if few else _by_pieces(strings, long_, least, missed)
    found = list(_compared(strings, proposed, least))
    columns = np.array(sorted(found), dtype=np.float64).reshape(-1, 3)
    return NearSpellings(columns[:, 0].astype(np.int64), columns[:, 1].astype(np.int64), columns[:, 2], sum(missed))


def _compared(
    strings: Sequence[str], proposed: Iterable[tuple[int, int]], least: float
) -> Iterator[tuple[int, int, float]]:
    from rapidfuzz.distance import Indel

    for one, other in proposed:
        score = Indel.normalized_similarity(strings[one], strings[other], score_cutoff=least)
        if score >= least:
            yield min(one, other), max(one, other), score


def _by_pieces(
    strings: Sequence[str], long_: Sequence[int], least: float, missed: list[int]
) -> Iterator[tuple[int, int]]:
    """Every pair that shares a piece; `missed` is given the look-ups that were cut short."""
    pieces: Pieces = defaultdict(list)
    for at in sorted(long_, key=lambda i: (len(strings[i]), strings[i], i)):
        string = strings[at]
        candidates, cut = _candidates(string, pieces, least)
        missed.append(cut)
        yield from ((other, at) for other in candidates)
        for number, (start, end) in enumerate(_bounds(len(string), least)):
            pieces[len(string), number, string[start:end]].append(at)


def _candidates(string: str, pieces: Pieces, least: float) -> tuple[list[int], int]:
    """The strings seen so far, none longer, that share a piece with this one; and how many look-ups were cut short."""
    candidates: set[int] = set()
    cut = 0
    for key in _keys(string, least):
        if same := pieces.get(key):
            cut += len(same) > LARGEST
            candidates.update(same[-LARGEST:])
    return sorted(candidates), cut


def _keys(string: str, least: float) -> Iterator[tuple[int, int, str]]:
    """The pieces that strings within reach would have left in this one."""
    length = len(string)
    for shorter in range(max(SHORTEST, ceil(length * least / (2 - least) - _EPSILON)), length + 1):
        longer = length - shorter
        edits = floor((1 - least) * (length + shorter) + _EPSILON)
        # A piece moves by what was inserted less what was deleted before it, and the rest must make up the lengths.
        back, on = (edits - longer) // 2, (edits + longer) // 2
        for number, (start, end) in enumerate(_bounds(shorter, least)):
            last = min(start + on, length - (end - start))
            for first in range(max(start - back, 0), last + 1):
                yield shorter, number, string[first : first + end - start]


def _bounds(length: int, least: float) -> list[tuple[int, int]]:
    """The pieces of a string, about equally long: one more than the edits between it and the longest within reach."""
    longest = floor(length * (2 - least) / least + _EPSILON)
    count = min(floor((1 - least) * (length + longest) + _EPSILON) + 1, length)
    cuts = [length * number // count for number in range(count + 1)]
    return list(pairwise(cuts))
