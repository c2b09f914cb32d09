"""Text -> the names in it: known ones, by longest match of words, and capitalised phrases, dates and numbers apart."""

from __future__ import annotations

import re
import unicodedata
from collections import defaultdict
from collections.abc import Iterator, Sequence
from importlib.resources import files

from kg2rag.text.normalisation import WORD, normalise, plain

# Words that begin sentences but not names; they are removed from the front of a capitalised phrase.
FUNCTION_WORDS = frozenset(files("kg2rag.text").joinpath("function_words.txt").read_text("utf-8").split())
_LINK_WORDS = "of|the|de|da|di|del|der|des|du|van|von|la|le|al|el|bin|ibn|y"
_REST = r"[\w'’\-]*(?:[+#]++(?!\w))?"  # of a word; see `normalisation.WORD`
_CAPITAL = "[" + "".join(chr(code) for code in range(0x250) if chr(code).isupper()) + "]"  # Latin, accents included
NAME = re.compile(rf"\b{_CAPITAL}{_REST}(?:\s+(?:(?:{_LINK_WORDS})\s+){{0,2}}{_CAPITAL}{_REST})*")
CALENDAR = frozenset(
    """january february march april may june july august september october november december monday tuesday wednesday
    thursday friday saturday sunday""".split()
)
_NUMBER = re.compile(r"\d+(?:st|nd|rd|th|s)?")


class Lexicon:
    """Longest match of known word sequences, `keys` as normalised; the index of a key is its code.

    `names`, the spelling of each key, are needed where `find` requires capitals.
    """

    def __init__(self, keys: Sequence[str], names: Sequence[str] = ()) -> None:
        self._lower_case = {code for code, name in enumerate(names) if not _stands_out(name)}
        self._code = {key: code for code, key in enumerate(keys) if key}
        self._longest: dict[str, int] = defaultdict(int)
        for key in self._code:
            words = key.split(" ")
            self._longest[words[0]] = max(self._longest[words[0]], len(words))

    def find(self, text: str, *, capitals: bool = True) -> Iterator[tuple[int, tuple[int, int]]]:
        """(code, (start, end)) of every key in the text, left to right, the longest at each position, without overlap.

        With `capitals`, a match must have a capital letter or a digit, unless its name has neither: "the birds" is no
        film, "uvicorn" is a server.
        """
        words, spans = words_of(text)
        at = 0
        while at < len(words):
            length, code = self._longest_at(words, at)
            if code is not None:
                start, end = spans[at][0], spans[at + length - 1][1]
                surface = text[start:end]
                # One character may fold to two words (½); a match cannot use half of it.
                whole = text.isascii() or normalise(surface) == " ".join(words[at : at + length])
                if whole and (not capitals or code in self._lower_case or _stands_out(surface)):
                    yield code, (start, end)
                    at += length
                    continue
            at += 1

    def _longest_at(self, words: list[str], at: int) -> tuple[int, int | None]:
        for length in range(min(self._longest.get(words[at], 0), len(words) - at), 0, -1):
            code = self._code.get(" ".join(words[at : at + length]))
            if code is not None:
                return length, code
        return 0, None


def _stands_out(surface: str) -> bool:
    return any(char.isupper() or char.isdigit() for char in surface)


def words_of(text: str) -> tuple[list[str], list[tuple[int, int]]]:
    """The words of `normalise(text)` and their (start, end) in `text`."""
    if text.isascii():
        matches = list(WORD.finditer(text))
        return [match.group().lower() for match in matches], [match.span() for match in matches]
    folded, origin = [], []
    for at, char in enumerate(text):
        for part in plain(char):
            folded.append(part)
            origin.append(at)
    words, spans = [], []
    for match in WORD.finditer("".join(folded)):
        end = origin[match.end() - 1] + 1
        while end < len(text) and unicodedata.combining(text[end]):
            end += 1
        words.append(match.group())
        spans.append((origin[match.start()], end))
    return words, spans


def is_date_or_number(key: str) -> bool:
    """Whether a normalised name consists of numbers, months and weekdays.

    >>> [is_date_or_number(key) for key in ("1984", "may 5th", "1980s", "june smith", "apollo 11")]
    [True, True, True, False, False]
    """
    return all(word in CALENDAR or _NUMBER.fullmatch(word) for word in key.split())
