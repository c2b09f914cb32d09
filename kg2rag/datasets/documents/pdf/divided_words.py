"""Words that the end of a line divides -> whole words, with the hyphens that belong to them.

Ours: the document's other spellings of a word decide first; without one, the letters on both sides
of the hyphen do.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from functools import cached_property
from itertools import pairwise

LINE_END_HYPHEN = "\ufffe"
"""What pdfium has for a hyphen at the end of a line, together with that end."""

_LETTER = r"[^\W\d_]"
_DIVISION = re.compile(
    rf"(?<={_LETTER})(?:{LINE_END_HYPHEN}\s*|(\u2010)[ \t\r]*\n[ \t]*(?={_LETTER}))"
)
_SPELLING = re.compile(rf"{_LETTER}+(?:[-\u2010]{_LETTER}+)*")
_HYPHEN = re.compile("[-\u2010]")
_END = re.compile(rf"{_LETTER}*$")
_START = re.compile(r"^\w*")
# No program divides a word after its first letter.
_SINGLE_LETTER = re.compile(r"(?:^|[\s(\[-])[A-Za-z]$")
_CONJUNCTIONS = frozenset("und oder bzw sowie and or en of och og eller".split())
LONGEST_PART = 60
"""Most characters before and behind a hyphen that are read."""


class DividedWords:
    """The words of a document that stand in two lines.

    texts : texts of the document, whose spellings count.
    """

    def __init__(self, texts: Iterable[str]) -> None:
        self._texts = texts

    def joined(self, text: str) -> str:
        """A text of pdfium with its divided words in one piece."""
        return _DIVISION.sub(
            lambda division: self.hyphen(
                text[max(0, division.start() - LONGEST_PART) : division.start()],
                division[1] or "-",
                text[division.end() : division.end() + LONGEST_PART],
            ),
            text,
        )

    def hyphen(self, before: str, sign: str, after: str) -> str:
        """What stands between the parts of a word in two lines: nothing, or its hyphen.

        Before "and" or "or", a hyphen stands for the rest of a word, and a blank follows it. A part
        that starts with a digit or with a capital and small letters is part of a compound.

        before : the text up to the hyphen.
        after : the text behind it, from the second line.
        """
        first, second = _END.findall(before)[0], _START.findall(after)[0]
        n_compounds = self._counts[_key(f"{first}-{second}")]
        n_words = self._counts[_key(first + second)]
        if n_compounds != n_words:
            return sign if n_compounds > n_words else ""
        if second in _CONJUNCTIONS:
            return f"{sign} "
        is_compound = _is_new_word(first, second) or _SINGLE_LETTER.search(before)
        return sign if is_compound else ""

    @cached_property
    def _counts(self) -> Counter[str]:
        """`_key` of a word, or of two neighbouring parts of a compound -> how often it occurs."""
        counts = Counter[str]()
        for text in self._texts:
            for spelling in _SPELLING.findall(text):
                parts = _HYPHEN.split(spelling)
                counts.update(map(_key, parts[:1] if len(parts) == 1 else ()))
                counts.update(_key(f"{one}-{two}") for one, two in pairwise(parts))
        return counts


def _is_new_word(first: str, second: str) -> bool:
    """Whether the second part of a word starts with a digit, or with a capital after or before small letters."""
    has_small_letter = first[-1:].islower() or second[1:2].islower()
    return second[:1].isdigit() or (second[:1].isupper() and has_small_letter)


def _key(spelling: str) -> str:
    """A spelling with a small first letter, as a word has it that starts no sentence."""
    return spelling[:1].lower() + spelling[1:]
