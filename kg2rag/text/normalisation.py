"""Text -> its normal form, its sentences, and the names in it.

Known names are found in many texts at once: these are joined by `SEPARATOR`, which belongs to no
word and no name.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from importlib.resources import files

import numpy as np
from numpy.typing import NDArray

from kg2rag.text.scripts import (
    CAPITALS,
    INVISIBLE,
    LETTER_APOSTROPHES,
    MARKS,
    OPTIONAL_MARKS,
    SYLLABLES,
)

WORD = re.compile(
    rf"[{SYLLABLES}][{MARKS}]*|[^\W_{SYLLABLES}]+(?:[{MARKS}]+[^\W_{SYLLABLES}]*)*(?:[+#]++(?![^\W_{SYLLABLES}]))?"
)
"""Letters with their marks, and digits, with plus or number signs at the end.

"C", "C++" and "C#" are three names, "a+b" is two. In a script without blanks, each letter is a word."""
_SENTENCE_END = re.compile(
    rf"(?<=[.!?])\s+(?=[A-Z0-9\"'`(\[{CAPITALS}])|(?<=[。！？｡।॥؟۔])\s*(?=\S)"
)
# Titles, initials and abbreviations of encyclopaedic prose, after which a full stop ends no
# sentence.
_ABBREVIATION = re.compile(
    r"(?:^|[\s(])(?:Mr|Mrs|Ms|Dr|St|Sr|Jr|Prof|Gen|Col|Lt|Sgt|Capt|Rev|Hon|No|vs|c|ca|b|d|cf|[A-Z])\.$"
)
_LONGEST_ABBREVIATION = len(" Prof.")
_BRACKETED = re.compile(r"(?<!\s)\s*+\([^()]*\)\s*$")


def normalise(name: str) -> str:
    """A name without case, accents, punctuation and extra spaces.

    The spellings of one entity share this key.

    >>> normalise("  Saint-Étienne (Loire) "), normalise("C++/C#")
    ('saint etienne loire', 'c++ c#')
    """
    return " ".join(WORD.findall(plain(name)))


def plain(text: str) -> str:
    """A text without case and accents.

    A character is converted without its neighbours, into any number of characters.

    >>> [plain(char) for char in "Éß½ı"]
    ['e', 'ss', '1⁄2', 'i']
    """
    if text.isascii():
        return text.lower()
    return (
        _UNREAD.sub("", unicodedata.normalize("NFKD", text))
        .casefold()
        .translate(_SAME_LETTERS)
    )


_UNREAD = re.compile(f"[{INVISIBLE}{OPTIONAL_MARKS}]")
# The capitals of Turkish "ı" and "i" are both "i" without accents.
_SAME_LETTERS = {ord("ı"): "i", **LETTER_APOSTROPHES}


_STROKES = str.maketrans(
    {"ł": "l", "ø": "o", "đ": "d", "ð": "d", "ħ": "h", "ŧ": "t", "æ": "ae", "œ": "oe"}
)


def unstroked(key: str) -> str:
    """A normalised name with stroked letters and ligatures replaced by plain ones.

    NFKD does not decompose these letters.

    >>> unstroked(normalise("Łódź")), unstroked(normalise("Færøerne"))
    ('lodz', 'faeroerne')
    """
    return key.translate(_STROKES)


def entity_key(name: str) -> str:
    """The key of an entity in a graph: the normalised name, or the stripped one if that is empty.

    >>> entity_key("C++ (language)"), entity_key(" ++ ")
    ('c++ language', '++')
    """
    return normalise(name) or name.strip()


def without_brackets(title: str) -> str:
    """A title without its trailing disambiguation.

    >>> without_brackets("Rebecca (1940 film)")
    'Rebecca'
    """
    return _BRACKETED.sub("", title) or title


def split_sentences(text: str) -> list[str]:
    """The sentences of a text, split at end punctuation before a capital, digit or quote.

    Abbreviations and initials end no sentence.

    >>> split_sentences("Mr. T. Smith left. He was 40! Why?")
    ['Mr. T. Smith left.', 'He was 40!', 'Why?']
    """
    sentences: list[list[str]] = []
    # The end of the last sentence: a search in the whole sentence would be quadratic.
    end = ""
    for piece in _SENTENCE_END.split(text.strip()):
        if sentences and _ABBREVIATION.search(end):
            sentences[-1].append(piece)
            end = f"{end} {piece}"
        else:
            if piece:
                sentences.append([piece])
            end = f" {piece}"
        end = end[-_LONGEST_ABBREVIATION:]
    return [" ".join(pieces) for pieces in sentences]


# Words that begin sentences but not names; they are removed from the front of a capitalised phrase.
FUNCTION_WORDS = frozenset(
    files("kg2rag.text").joinpath("function_words.txt").read_text("utf-8").split()
)
_LINK_WORDS = "of|the|de|da|di|del|der|des|du|van|von|la|le|al|el|bin|ibn|y"
_HYPHENS = "\\-\u2010\u2011"
_REST = rf"[\w'’{_HYPHENS}{MARKS}{INVISIBLE}]*(?:[+#]++(?!\w))?"  # a word after its capital; see `WORD`
_CAPITAL = (
    "["
    + "".join(chr(code) for code in range(0x250) if chr(code).isupper())
    + CAPITALS
    + "]"
)
# of Arabic, which belongs to the name: "al-Khwarizmi"
_ARTICLE = rf"(?:(?:al|el|ad|an|ar|as|ash|at|az)[{_HYPHENS}])?"
_NAME_WORD = f"{_ARTICLE}{_CAPITAL}{_REST}"
NAME = re.compile(rf"\b{_NAME_WORD}(?:\s+(?:(?:{_LINK_WORDS})\s+){{0,2}}{_NAME_WORD})*")
CALENDAR = frozenset(
    """january february march april may june july august september october november december monday tuesday wednesday
    thursday friday saturday sunday""".split()
)
_NUMBER = re.compile(r"\d+(?:st|nd|rd|th|s)?")
SEPARATOR = "\0"
Numbers = NDArray[np.int32]
Places = NDArray[np.int64]


@dataclass(frozen=True)
class Words:
    """The words of several texts, one text after another; all arrays are (n_words,).

    `strings` are without case and accents, as `normalise` joins them. `texts`, ascending, is the
    text of each word, `starts` and `ends` its span in `JoinedTexts.text`. `torn` marks a word that
    begins inside the character in which the previous word ended ("½").
    """

    strings: list[str]
    texts: Places
    starts: Places
    ends: Places
    torn: NDArray[np.bool_]


class JoinedTexts:
    """Several texts as one string, `text`, with their offsets in it, `starts`, (n_texts,)."""

    def __init__(self, texts: Sequence[str]) -> None:
        self.text = SEPARATOR.join(texts)
        lengths = np.fromiter(map(len, texts), dtype=np.int64, count=len(texts))
        self.starts = np.cumsum(lengths + 1) - (lengths + 1)

    def text_of(self, places: Places) -> Places:
        """The index of the text at each offset in `text`."""
        return np.searchsorted(self.starts, places, side="right") - 1

    def words(self) -> Words:
        """The words of the normalised texts, with their spans in the original texts."""
        pieces = {char: plain(char) for char in self._characters}
        folded = self.text.translate(
            {ord(char): piece for char, piece in pieces.items()}
        )
        spans = [match.span() for match in WORD.finditer(folded)]
        starts, ends = np.array(spans, dtype=np.int64).reshape(-1, 2).T
        if any(len(piece) != 1 for piece in pieces.values()):
            lengths = self.looked_up(lambda char: len(pieces[char]))
            origins = np.repeat(np.arange(len(self.text)), lengths)
            starts = origins[starts]
            # A combining accent belongs to the word before it.
            ends = np.maximum(
                origins[ends - 1] + 1, np.append(origins, len(self.text))[ends]
            )
        torn = np.append(False, starts[1:] < ends[:-1])[: len(starts)]
        return Words(WORD.findall(folded), self.text_of(starts), starts, ends, torn)

    def looked_up(self, number: Callable[[str], int]) -> NDArray[np.intp]:
        """(n_characters,) the number of each character of `text`.

        `number` is called once for each distinct character.
        """
        table = np.zeros(max(map(ord, self._characters), default=0) + 1, dtype=np.intp)
        for char in self._characters:
            table[ord(char)] = number(char)
        return table[
            np.frombuffer(
                self.text.encode("utf-32-le", "surrogatepass"), dtype=np.uint32
            )
        ]

    @cached_property
    def _characters(self) -> frozenset[str]:
        return frozenset(self.text)


@dataclass(frozen=True)
class Matches:
    """The matches of a lexicon, text by text; all arrays are (n_matches,).

    `texts` is the text of each match, `codes` the name, `starts` and `ends` the span in the joined
    text.
    """

    texts: Places
    codes: Numbers
    starts: Places
    ends: Places


class Lexicon:
    """The longest matches of known names in texts.

    `keys` are normalised names; the code of a key is its index, and an empty key is never found.

    `names`, the spelling of each key, are needed if a match must have capitals. The keys are a
    trie, a level a word: `_levels` has its ascending edges, parent · n_words + word, to nodes by
    place, and each node's key code, or -1.
    """

    def __init__(self, keys: Sequence[str], names: Sequence[str] = ()) -> None:
        split = [key.split() for key in keys]
        self._number: dict[str, int] = {}
        words = np.array(
            [
                self._number.setdefault(word, len(self._number))
                for key in split
                for word in key
            ],
            np.int64,
        )
        lengths = np.fromiter(map(len, split), dtype=np.int64, count=len(split))
        starts = np.cumsum(lengths) - lengths
        nodes = np.zeros(len(split), dtype=np.int64)
        self._levels: list[tuple[Places, Numbers]] = []
        for depth in range(int(lengths.max(initial=0))):
            longer = np.flatnonzero(lengths > depth)
            steps = nodes[longer] * len(self._number) + words[starts[longer] + depth]
            edges, nodes[longer] = np.unique(steps, return_inverse=True)
            codes = np.full(len(edges), -1, dtype=np.int32)
            complete = longer[lengths[longer] == depth + 1]
            codes[nodes[complete]] = complete
            self._levels.append((edges, codes))
        self._has_no_capital = np.zeros(len(split), dtype=bool)
        self._has_no_capital[: len(names)] = [
            not any(map(_stands_out, name)) for name in names
        ]

    def find(
        self, text: str, *, capitals: bool = True
    ) -> Iterator[tuple[int, tuple[int, int]]]:
        """(code, (start, end)) of every key in the text; see `matches`."""
        matches = self.matches(JoinedTexts([text]), capitals=capitals)
        spans = zip(matches.starts.tolist(), matches.ends.tolist(), strict=True)
        return zip(matches.codes.tolist(), spans, strict=True)

    def matches(self, joined: JoinedTexts, *, capitals: bool = True) -> Matches:
        """Every key in the texts, left to right, the longest at each place, without overlap.

        With `capitals`, a match must have a capital or a digit, unless its name has neither, as
        "uvicorn".
        """
        words = joined.words()
        numbers = np.array(
            [self._number.get(word, -1) for word in words.strings], dtype=np.int64
        )
        first, last, codes = self._longest(numbers, words.texts)
        # One character may fold to two words (½); a match cannot use half of it.
        allowed = ~words.torn[first] & ~np.append(words.torn, False)[last + 1]
        if capitals:
            n_before = np.append(0, np.cumsum(joined.looked_up(_stands_out)))
            has_capital = n_before[words.ends[last]] > n_before[words.starts[first]]
            allowed &= self._has_no_capital[codes] | has_capital
        first, last, codes = first[allowed], last[allowed], codes[allowed]
        chosen = _without_overlap(first, last, words.texts[first])
        first, last = first[chosen], last[chosen]
        return Matches(
            words.texts[first], codes[chosen], words.starts[first], words.ends[last]
        )

    def _longest(
        self, numbers: Places, texts: Places
    ) -> tuple[Places, Places, Numbers]:
        """The longest key at each word that begins one: its first word, last word, and code."""
        n_words = len(numbers)
        nodes = np.zeros(n_words, np.int64)
        last = np.zeros(n_words, np.int64)
        codes = np.full(n_words, -1, np.int32)
        first = np.arange(n_words)
        for depth, (edges, key_codes) in enumerate(self._levels):
            first = first[first < n_words - depth]
            first = first[
                (texts[first + depth] == texts[first]) & (numbers[first + depth] >= 0)
            ]
            steps = nodes[first] * len(self._number) + numbers[first + depth]
            children = np.searchsorted(edges, steps)
            nodes[first] = children
            first = first[edges[np.minimum(children, len(edges) - 1)] == steps]
            complete = first[key_codes[nodes[first]] >= 0]
            last[complete] = complete + depth
            codes[complete] = key_codes[nodes[complete]]
        matched = np.flatnonzero(codes >= 0)
        return matched, last[matched], codes[matched]


def _without_overlap(first: Places, last: Places, texts: Places) -> NDArray[np.bool_]:
    """Which matches are chosen: in each text the first, then always the next that does not overlap.

    One step is made in all texts together.
    """
    following = np.searchsorted(first, last + 1)
    chosen = np.zeros(len(first), dtype=bool)
    current = np.unique(texts, return_index=True)[1]
    while len(current):
        chosen[current] = True
        current = current[following[current] < len(first)]
        current = following[current][texts[following[current]] == texts[current]]
    return chosen


def _stands_out(char: str) -> bool:
    return char.isupper() or char.isdigit()


def is_date_or_number(key: str) -> bool:
    """Whether a normalised name consists of numbers, months and weekdays.

    >>> [is_date_or_number(key) for key in ("1984", "may 5th", "1980s", "june smith", "apollo 11")]
    [True, True, True, False, False]
    """
    return all(word in CALENDAR or _NUMBER.fullmatch(word) for word in key.split())
