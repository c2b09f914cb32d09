"""Names -> what spellings of one name have in common, what distinguishes similar names, and which names are similar.

The rules are ours, made for English names of encyclopaedic prose and read against an LLM's triples of MuSiQue.
Two strings of a small edit distance share a piece: cut the shorter one into one piece more than the edits it may bear,
and one of the pieces occurs unchanged, near its old place, in the longer one (Li et al., "Pass-Join", PVLDB 2011). So
candidates are looked up by piece and length, and rapidfuzz compares these alone. Ours: the insertion-deletion distance
in place of Levenshtein's, and the bound on a piece that too many strings share.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from itertools import combinations, pairwise
from math import ceil, floor
from pathlib import Path

from kg2rag.text.normalisation import entity_key
from kg2rag.types import between, require

_ARTICLES = frozenset(("the", "a", "an"))
_LINK_WORDS = frozenset("a an and at by de di du for in la of on the to und with y".split())
_ABBREVIATED = {"st": "saint", "mt": "mount", "ft": "fort"}  # at the front of a name alone: "5th St" is a street
_ACRONYM = re.compile(r"(?:[A-Z]\.?){2,6}")
_ROMAN = re.compile(r"[ivx]+")
_DIGITS = re.compile(r"\d+")
_SHORTEST_WORD = 5  # with fewer letters one edit makes another name: Jean and Joan
_SHORTEST_COMPOUND = 8  # "a part" is not "apart"
# Words that distinguish two names, however similar the rest is.
_TELLING = frozenset(Path(__file__).with_name("telling_words.txt").read_text(encoding="utf-8").split())


def plain_key(name: str) -> str:
    """The key of a name without what spellings of one name differ in.

    Beyond `entity_key`: a leading article and every "the" are dropped, and so is an acronym that follows its long form;
    "&" is "and", letters with full stops are one word, and "St." at the front is "Saint".

    >>> plain_key("The U.S. Navy"), plain_key("St. Anne & Sons"), plain_key("Bank of the Nation (BON)")
    ('us navy', 'saint anne and sons', 'bank of nation')
    """
    words = _joined_letters(entity_key(name.replace("&", " and ")).split())
    if words[0] in _ARTICLES:
        words = words[1:] or words
    words = [word for word in words if word != "the"] or words
    if words[-1] in initials(" ".join(words[:-1])):
        words = words[:-1]
    if len(words) > 1:
        words[0] = _ABBREVIATED.get(words[0], words[0])
    return " ".join(words)


def compound_key(key: str) -> str:
    """A plain key without its spaces, so that "book keeping" is "bookkeeping"; the key itself where that is risky.

    >>> compound_key("spider man"), compound_key("1 5 million"), compound_key("a part")
    ('spiderman', '1 5 million', 'a part')
    """
    together = key.replace(" ", "")
    return together if together.isalpha() and len(together) >= _SHORTEST_COMPOUND else key


def acronym(name: str) -> str | None:
    """The letters of a name that is written as an acronym, of two to six; None for any other.

    >>> acronym("U.S."), acronym("Us")
    ('us', None)
    """
    return name.replace(".", "").lower() if _ACRONYM.fullmatch(name.strip()) else None


def initials(name: str) -> tuple[str, ...]:
    """The acronyms that a name of several words may have: with and without its link words.

    >>> initials("Bank of England")
    ('boe', 'be')
    """
    words = entity_key(name).split()
    if len(words) < 2:
        return ()
    full = "".join(word[0] for word in words)
    return tuple(dict.fromkeys((full, "".join(word[0] for word in words if word not in _LINK_WORDS))))


def differ_tellingly(one: str, other: str) -> bool:
    """Whether two plain keys differ in a number, a single letter or a word that distinguishes things.

    >>> differ_tellingly("henry vii", "henry viii"), differ_tellingly("austin", "austen")
    (True, False)
    """
    return _telling(one) != _telling(other)


def frame(key: str) -> str:
    """What misspelt versions of one plain key have in common: its words, of the long ones the first and last letter.

    A word of five letters or more may differ inside. That separates names that differ in a beginning or an ending
    (Umbria and Cumbria, Austria and an Austrian, a soldier and soldiers), numbers, and words that distinguish things.

    >>> frame("nanjing massacre") == frame("nanking massacre"), frame("south korea") == frame("south korean")
    (True, False)
    """
    return " ".join(word if _fixed(word) else f"{word[0]}~{word[-1]}" for word in key.split())


def _fixed(word: str) -> bool:
    return len(word) < _SHORTEST_WORD or not word.isalpha() or _tells(word)


def _tells(word: str) -> bool:
    return len(word) == 1 or word in _TELLING or bool(_ROMAN.fullmatch(word))


def _telling(key: str) -> list[str]:
    return [*_DIGITS.findall(key), *filter(_tells, key.split())]


def _joined_letters(words: list[str]) -> list[str]:
    """Words in which every run of single letters, digits apart, is one word."""
    joined: list[str] = []
    running = False
    for word in words:
        single = len(word) == 1 and word.isalpha()
        if single and running:
            joined[-1] += word
        else:
            joined.append(word)
        running = single
    return joined


SHORTEST = 8  # letters and spaces; of shorter names an edit more often makes another name than a mistake
FEW = 256  # so many strings, or fewer, are compared with one another directly
LARGEST = 256  # strings of one piece and length that a string is compared with
_EPSILON = 1e-9

Pieces = dict[tuple[int, int, str], list[int]]


def near_spellings(strings: Sequence[str], least: float) -> tuple[list[tuple[int, int, float]], int]:
    """The pairs of strings that agree at `least` so much: 1 - (insertions + deletions) / (length + length).

    A pair is (left, right, score), `left` < `right`, the score in (0, 1]; pairs ascend. Then follows how many look-ups
    met more than `LARGEST` strings and compared those alone that were nearest to the string by length and alphabet:
    where it is not 0, pairs may be missing. Time and memory grow with the number of strings, not with its square.

    Parameters
    ----------
    strings : those shorter than `SHORTEST` are in no pair.
    least : in [0.8, 1]; below, the pieces become so short that every string is a candidate.
    """
    from rapidfuzz.distance import Indel

    require("least", least, float, between(0.8, 1))
    long_ = [i for i, string in enumerate(strings) if len(string) >= SHORTEST]
    missed = [0]
    few = len(long_) <= FEW
    proposed = combinations(long_, 2) if few else _by_pieces(strings, long_, least, missed)
    found = []
    for one, other in proposed:
        score = Indel.normalized_similarity(strings[one], strings[other], score_cutoff=least)
        if score >= least:
            found.append((min(one, other), max(one, other), score))
    return sorted(found), missed[0]


def _by_pieces(
    strings: Sequence[str], long_: Sequence[int], least: float, missed: list[int]
) -> Iterator[tuple[int, int]]:
    """Every pair that shares a piece; `missed` counts the look-ups that were cut short."""
    pieces: Pieces = defaultdict(list)
    for at in sorted(long_, key=lambda i: (len(strings[i]), strings[i], i)):
        string = strings[at]
        candidates: set[int] = set()  # none is longer than this one
        for key in _keys(string, least):
            if same := pieces.get(key):
                missed[0] += len(same) > LARGEST
                candidates.update(same[-LARGEST:])
        yield from ((other, at) for other in sorted(candidates))
        for number, (start, end) in enumerate(_bounds(len(string), least)):
            pieces[len(string), number, string[start:end]].append(at)


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
