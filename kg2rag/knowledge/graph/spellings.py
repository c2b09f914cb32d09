"""Names -> keys that spellings of one name share, frames that similar names share, and pairs of similar names.

The rules are ours, made for English names of encyclopaedic prose and read against an LLM's triples
of MuSiQue. Names of one frame are compared, by rapidfuzz.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from kg2rag.text.normalisation import entity_key

_ARTICLES = frozenset(("the", "a", "an"))
_LINK_WORDS = frozenset("a an and at by de di du for in la of on the to und with y".split())
# only at the front of a name: "5th St" is a street
_ABBREVIATED = {"st": "saint", "mt": "mount", "ft": "fort"}
_ACRONYM = re.compile(r"(?:[A-Z]\.?){2,6}")
_ROMAN = re.compile(r"[ivx]+")
# a run of single letters, which is one word
_LETTERS = re.compile(r"(?<!\S)[^\W\d_](?: [^\W\d_])+(?!\S)")
_SHORTEST_WORD = 5  # with fewer letters one edit makes another name: Jean and Joan
_SHORTEST_COMPOUND = 8  # "a part" is not "apart"
# Words that distinguish two names, however similar the rest is.
_TELLING = frozenset(
    Path(__file__).with_name("telling_words.txt").read_text(encoding="utf-8").split()
)


def plain_key(name: str) -> str:
    """The key of a name without what spellings of one name differ in.

    Beyond `entity_key`: a leading article and every "the" are dropped, and so is an acronym that
    follows its long form; "&" is "and", letters with full stops are one word, and "St." at the
    front is "Saint".

    >>> plain_key("The U.S. Navy"), plain_key("St. Anne & Sons"), plain_key("Bank of the Nation (BON)")
    ('us navy', 'saint anne and sons', 'bank of nation')
    """
    words = _LETTERS.sub(
        lambda run: run.group().replace(" ", ""), entity_key(name.replace("&", " and "))
    ).split()
    if words[0] in _ARTICLES:
        words = words[1:] or words
    words = [word for word in words if word != "the"] or words
    if words[-1] in initials(" ".join(words[:-1])):
        words = words[:-1]
    if len(words) > 1:
        words[0] = _ABBREVIATED.get(words[0], words[0])
    return " ".join(words)


def compound_key(key: str) -> str:
    """A plain key without its spaces, so that "book keeping" is "bookkeeping"; the key itself if that is risky.

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
    return tuple(
        dict.fromkeys((full, "".join(word[0] for word in words if word not in _LINK_WORDS)))
    )


def frame(key: str) -> str:
    """The part of a plain key that its misspelt versions share: short words, and the ends of long ones.

    A word of five letters or more may differ inside; beginnings, endings, numbers and telling words
    must agree.

    >>> frame("nanjing massacre") == frame("nanking massacre"), frame("south korea") == frame("south korean")
    (True, False)
    """
    return " ".join(_word_frame(word) for word in key.split())


def _word_frame(word: str) -> str:
    """The first and last letter of a word that may be misspelt; any other word as it is."""
    is_fixed = (
        len(word) < _SHORTEST_WORD
        or not word.isalpha()
        or word in _TELLING
        or _ROMAN.fullmatch(word)
    )
    return word if is_fixed else f"{word[0]}~{word[-1]}"


# letters and spaces; of shorter names an edit more often makes another name than a mistake
SHORTEST = 8


def near_spellings(strings: Sequence[str], least: float) -> list[tuple[int, int, float]]:
    """The pairs of strings that agree at `least` so much: 1 - (insertions + deletions) / (length + length).

    A pair is (left, right, score), `left` < `right`; pairs ascend. Strings shorter than `SHORTEST`
    are in none.
    """
    from rapidfuzz import process
    from rapidfuzz.distance import Indel

    unpaired = {i: string for i, string in enumerate(strings) if len(string) >= SHORTEST}
    pairs: list[tuple[int, int, float]] = []
    for left in list(unpaired):
        string = unpaired.pop(left)
        near = process.extract(
            string, unpaired, scorer=Indel.normalized_similarity, score_cutoff=least, limit=None
        )
        pairs += [(left, right, score) for _, score, right in near]
    return sorted(pairs)
