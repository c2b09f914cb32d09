"""Names -> keys of equal names, frames of similar names, and pairs of similar names.

The rules are ours, for English names in encyclopaedic prose; they were checked on an LLM's triples
of MuSiQue. rapidfuzz compares the names of one frame.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from kg2rag.text.normalisation import entity_key

_ARTICLES = frozenset(("the", "a", "an"))
_LINK_WORDS = frozenset(
    "a an and at by de di du for in la of on the to und with y".split()
)
# Expanded at the beginning of a name only: "5th St" is a street.
_ABBREVIATED = {"st": "saint", "mt": "mount", "ft": "fort"}
_ACRONYM = re.compile(r"(?:[A-Z]\.?){2,6}")
_ROMAN = re.compile(r"[ivx]+")
# A run of single letters, which counts as one word.
_LETTERS = re.compile(r"(?<!\S)[^\W\d_](?: [^\W\d_])+(?!\S)")
# Letters. In a shorter word, one edit makes another name: Jean and Joan.
_SHORTEST_WORD = 5
_SHORTEST_COMPOUND = 8  # "a part" is not "apart"
# Words that distinguish two names, however similar the rest is.
_TELLING = frozenset(
    Path(__file__).with_name("telling_words.txt").read_text(encoding="utf-8").split()
)


def plain_key(name: str) -> str:
    """The key that the usual spellings of a name share.

    Beyond `entity_key`: a leading article and every "the" are dropped, and so is an acronym that
    follows its long form; "&" is "and", letters with full stops are one word, and "St." at the
    front is "Saint".

    >>> plain_key("The U.S. Navy"), plain_key("St. Anne & Sons"), plain_key("Bank of the Nation (BON)")
    ('us navy', 'saint anne and sons', 'bank of nation')
    """
    key = entity_key(name.replace("&", " and "))
    words = _LETTERS.sub(lambda run: run.group().replace(" ", ""), key).split()
    if words[0] in _ARTICLES:
        words = words[1:] or words
    words = [word for word in words if word != "the"] or words
    if words[-1] in initials(" ".join(words[:-1])):
        words = words[:-1]
    if len(words) > 1:
        words[0] = _ABBREVIATED.get(words[0], words[0])
    return " ".join(words)


def compound_key(key: str) -> str:
    """A plain key without its spaces, if that is safe: "book keeping" is "bookkeeping".

    >>> compound_key("spider man"), compound_key("1 5 million"), compound_key("a part")
    ('spiderman', '1 5 million', 'a part')
    """
    together = key.replace(" ", "")
    return (
        together if together.isalpha() and len(together) >= _SHORTEST_COMPOUND else key
    )


def acronym(name: str) -> str | None:
    """The letters of an acronym of two to six letters; None for other names.

    >>> acronym("U.S."), acronym("Us")
    ('us', None)
    """
    return name.replace(".", "").lower() if _ACRONYM.fullmatch(name.strip()) else None


def initials(name: str) -> tuple[str, ...]:
    """The possible acronyms of a name of several words: with and without its link words.

    >>> initials("Bank of England")
    ('boe', 'be')
    """
    words = entity_key(name).split()
    if len(words) < 2:
        return ()
    full = "".join(word[0] for word in words)
    short = "".join(word[0] for word in words if word not in _LINK_WORDS)
    return tuple(dict.fromkeys((full, short)))


def frame(key: str) -> str:
    """The part of a plain key that misspellings share: short words, and the ends of long words.

    A word of five letters or more may differ inside; beginnings, endings, numbers and telling words
    must agree.

    >>> frame("nanjing massacre") == frame("nanking massacre"), frame("south korea") == frame("south korean")
    (True, False)
    """
    return " ".join(_word_frame(word) for word in key.split())


def _word_frame(word: str) -> str:
    """The first and last letter of a word that may be misspelt; other words unchanged."""
    is_fixed = (
        len(word) < _SHORTEST_WORD
        or not word.isalpha()
        or word in _TELLING
        or _ROMAN.fullmatch(word)
    )
    return word if is_fixed else f"{word[0]}~{word[-1]}"


# Characters; in shorter names, an edit more often makes another name than a misspelling.
SHORTEST = 8


def near_spellings(
    strings: Sequence[str], min_similarity: float
) -> list[tuple[int, int, float]]:
    """The pairs of similar strings, as ascending (left, right, score) with score >= min_similarity.

    `left` < `right` are indices. The score, their similarity, is 1 - (insertions + deletions) /
    (sum of lengths). Strings shorter than `SHORTEST` are left out.
    """
    from rapidfuzz import process
    from rapidfuzz.distance import Indel

    unpaired = {
        i: string for i, string in enumerate(strings) if len(string) >= SHORTEST
    }
    pairs: list[tuple[int, int, float]] = []
    for left in list(unpaired):
        string = unpaired.pop(left)
        near = process.extract(
            string,
            unpaired,
            scorer=Indel.normalized_similarity,
            score_cutoff=min_similarity,
            limit=None,
        )
        pairs += [(left, right, score) for _, score, right in near]
    return sorted(pairs)
