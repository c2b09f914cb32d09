"""Text -> the known names in it: longest match of word sequences, case, accents and punctuation folded."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Sequence

from kg2rag.text import normalise

_WORD = re.compile(r"\w+", re.UNICODE)
# Words that a sentence may begin with and a name does not; a capitalised phrase loses them at its front.
FUNCTION_WORDS = frozenset(
    """a about after all also although among an and another any are as at based because before being between both but by
    can could did do does during each either every few following for formerly from had has have he her here his how
    however i if in into is it its later many may more most much my neither no nor not of on once one only or originally
    other our over several she since so some such than that the their them then there these they this those though
    through thus to two under until up was we were what when where whether which while who whom whose why will with
    within would you your""".split()
)


class Lexicon:
    """Longest match of known word sequences in a text.

    Parameters
    ----------
    keys : normalised surfaces; a key's place is its code.
    """

    def __init__(self, keys: Sequence[str]) -> None:
        self._code = {key: code for code, key in enumerate(keys) if key}
        self._longest: dict[str, int] = defaultdict(int)
        for key in self._code:
            words = key.split(" ")
            self._longest[words[0]] = max(self._longest[words[0]], len(words))

    def find(self, text: str, *, capitals: bool = True) -> Iterator[tuple[int, tuple[int, int]]]:
        """(code, (start, end)) of every key in the text, left to right, the longest at each place, without overlap.

        With `capitals`, a match must hold a capital letter or a digit: "the birds" is no film.
        """
        spans = [match.span() for match in _WORD.finditer(text)]
        words = [normalise(text[start:end]) for start, end in spans]
        at = 0
        while at < len(words):
            length, code = self._longest_at(words, at)
            if code is None:
                at += 1
                continue
            start, end = spans[at][0], spans[at + length - 1][1]
            surface = text[start:end]
            if not capitals or any(char.isupper() or char.isdigit() for char in surface):
                yield code, (start, end)
                at += length
            else:
                at += 1

    def _longest_at(self, words: list[str], at: int) -> tuple[int, int | None]:
        for length in range(min(self._longest.get(words[at], 0), len(words) - at), 0, -1):
            code = self._code.get(" ".join(words[at : at + length]))
            if code is not None:
                return length, code
        return 0, None
