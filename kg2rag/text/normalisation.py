"""Text -> its normal form, and the names in it.

Known names are found in many texts at once: these are joined by `SEPARATOR`, which belongs to no
word and no name.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from importlib.resources import files

import numpy as np
from numpy.typing import NDArray

from kg2rag.text.scripts import (
    CAPITALS,
    INVISIBLE,
    KEYBOARD_CHARACTERS,
    MARKS,
    NUKTAS,
    OPTIONAL_MARKS,
    SYLLABLES,
)

WORD = re.compile(
    rf"[{SYLLABLES}][{MARKS}]*|[^\W_{SYLLABLES}]+(?:[{MARKS}]+[^\W_{SYLLABLES}]*)*(?:[+#]++(?![^\W_{SYLLABLES}]))?"
)
"""Letters with their marks, and digits, with plus or number signs at the end.

"C", "C++" and "C#" are three names, "a+b" is two. In a script without blanks, each letter is a word."""
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

    Each character is converted independently, into zero, one or more characters.

    >>> [plain(char) for char in "Éßœ½ı۷"]
    ['e', 'ss', 'oe', '1⁄2', 'i', '7']
    """
    if text.isascii():
        return text.lower()
    return (
        _IGNORED_MARKS.sub("", unicodedata.normalize("NFKD", text))
        .casefold()
        .translate(_SAME_LETTERS)
    )


_IGNORED_MARKS = re.compile(f"[{INVISIBLE}{OPTIONAL_MARKS}{NUKTAS}]")
# The capitals of Turkish "ı" and "i" are both "i" without accents. Arabic and Persian keyboards have
# different forms of one letter, and many Arabic texts lack the dots of a last "ة" or "ي". French
# keyboards lack "œ".
_SAME_LETTERS = (
    KEYBOARD_CHARACTERS | str.maketrans("ıیىکہة", "iييكهه") | str.maketrans({"œ": "oe"})
)


_STROKES = str.maketrans(
    {"ł": "l", "ø": "o", "đ": "d", "ð": "d", "ħ": "h", "ŧ": "t", "æ": "ae"}
)


def unstroked(key: str) -> str:
    """A normalised name with stroked letters and ligatures replaced by plain ones.

    NFKD does not decompose these letters.

    >>> unstroked(normalise("Łódź")), unstroked(normalise("Færøerne"))
    ('lodz', 'faeroerne')
    """
    return key.translate(_STROKES)


# Cyrillic and Greek letters -> the Latin ones with the same capital
_LOOK_ALIKES = str.maketrans(
    "авекмнорстухіјѕαβεζηικμνορτυχ", "abekmhopctyxijsabezhikmnoptyx"
)


def in_latin(key: str) -> str:
    """A word without case in Latin letters, if all others in it look like Latin capitals.

    >>> in_latin("сат6"), in_latin("маяк")
    ('cat6', 'маяк')
    """
    latin = key.translate(_LOOK_ALIKES)
    return latin if latin.isascii() else key


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
_ELIDED = (
    "(?:(?:d|l|all|dall|dell|nell|sull)['’])?"  # "Jeanne d'Arc", "Castel dell'Ovo"
)
FOREIGN_LINK_WORDS = frozenset(
    "della dello delle dei degli do dos das los las den het ter zu zum zur am".split()
)
"""Link words of other languages, which count in texts of those languages only."""


@cache
def name_pattern(link_words: frozenset[str] = frozenset()) -> re.Pattern[str]:
    """The pattern of capitalised phrases, with further words that may be between their words."""
    # Between words of a name: blanks and link words, or the dot of an initial, as in "J.R.R. Tolkien".
    words = "|".join((_LINK_WORDS, *sorted(link_words)))
    between = rf"(?:\s+(?:(?:{words})\s+){{0,2}}{_ELIDED}|(?<=\b{_CAPITAL})\.\s*)"
    return re.compile(rf"\b{_NAME_WORD}(?:{between}{_NAME_WORD})*")


NAME = name_pattern()
CALENDAR = frozenset(
    """january february march april may june july august september october november december monday tuesday wednesday
    thursday friday saturday sunday""".split()
)
_NUMBER = re.compile(r"\d+(?:st|nd|rd|th|s)?")
SEPARATOR = "\0"
Codes = NDArray[np.int32]
Integers = NDArray[np.int64]
EMPTY: Mapping[str, int] = {}


@dataclass(frozen=True)
class Words:
    """The words of several texts, one text after another; all arrays are (n_words,).

    `strings` are without case and accents, as `normalise` joins them. `texts`, ascending, is the
    index of each word's text, `starts` and `ends` its span in `JoinedTexts.text`. `shares_character`
    marks a word that begins inside the character in which the previous word ended, as in "½".
    """

    strings: list[str]
    texts: Integers
    starts: Integers
    ends: Integers
    shares_character: NDArray[np.bool_]


class JoinedTexts:
    """Several texts as one string, `text`, with their offsets in it, `starts`, (n_texts,)."""

    def __init__(self, texts: Sequence[str]) -> None:
        self.text = SEPARATOR.join(texts)
        lengths = np.fromiter(map(len, texts), dtype=np.int64, count=len(texts))
        self.starts = np.cumsum(lengths + 1) - (lengths + 1)

    def text_indices(self, offsets: Integers) -> Integers:
        """The index of the text at each offset in `text`."""
        return np.searchsorted(self.starts, offsets, side="right") - 1

    def words(self) -> Words:
        """The words of the normalised texts, with their spans in the original texts."""
        plain_of = {ord(char): plain(char) for char in self._characters}
        plain_text = self.text.translate(plain_of)
        spans = [match.span() for match in WORD.finditer(plain_text)]
        strings = [plain_text[start:end] for start, end in spans]
        starts, ends = np.array(spans, dtype=np.int64).reshape(-1, 2).T
        if any(len(replacement) != 1 for replacement in plain_of.values()):
            # The offset in `text` of the origin of each character of `plain_text`.
            lengths = self.character_values(lambda char: len(plain_of[ord(char)]))
            origins = np.repeat(np.arange(len(self.text)), lengths)
            starts = origins[starts]
            # A combining accent belongs to the word before it.
            ends = np.maximum(
                origins[ends - 1] + 1, np.append(origins, len(self.text))[ends]
            )
        shares_character = np.append(False, starts[1:] < ends[:-1])[: len(starts)]
        return Words(
            strings,
            self.text_indices(starts),
            starts,
            ends,
            shares_character,
        )

    def character_values(self, value_of: Callable[[str], int]) -> NDArray[np.intp]:
        """The value of each character of `text`, (n_characters,).

        `value_of` is called once for each distinct character.
        """
        table = np.zeros(max(map(ord, self._characters), default=0) + 1, dtype=np.intp)
        for char in self._characters:
            table[ord(char)] = value_of(char)
        return table[
            np.frombuffer(
                self.text.encode("utf-32-le", "surrogatepass"), dtype=np.uint32
            )
        ]

    @cached_property
    def _characters(self) -> frozenset[str]:
        """The distinct characters of `text`."""
        return frozenset(self.text)


@dataclass(frozen=True)
class Matches:
    """The matches of a lexicon, text by text; all arrays are (n_matches,).

    `texts` is the index of each match's text, `codes` that of its name, `starts` and `ends` its
    span in the joined text.
    """

    texts: Integers
    codes: Codes
    starts: Integers
    ends: Integers


@dataclass(frozen=True)
class Candidates:
    """The longest match of a lexicon at each word of texts; arrays are (n_candidates,).

    `first` and `last` are the first and the last word of each match, `codes` its name. `is_written`
    tells whether it has a capital or a digit, unless its name has neither.
    """

    words: Words
    first: Integers
    last: Integers
    codes: Codes
    is_written: NDArray[np.bool_]

    def matches(self, *, capitals: bool = True) -> Matches:
        """The matches, see `Lexicon.matches`."""
        first, last, codes = self.first, self.last, self.codes
        if capitals:
            first, last = first[self.is_written], last[self.is_written]
            codes = codes[self.is_written]
        disjoint = _disjoint(first, last, self.words.texts[first])
        first, last = first[disjoint], last[disjoint]
        return Matches(
            self.words.texts[first],
            codes[disjoint],
            self.words.starts[first],
            self.words.ends[last],
        )


class Lexicon:
    """The longest matches of known names in texts.

    `keys` are normalised names; the code of a key is its index, and an empty key is never found.

    `names`, the spelling of each key, are needed if a match must have capitals. `spellings` are
    further keys, each with the code of a name.

    The keys are stored as a trie of word ids. Level d of `_levels` has the nodes that the first
    d + 1 words of a key lead to: an ascending array of their edges, each coded as parent node ·
    n_words + word id, and the code of the key that ends at each node, or -1.
    """

    def __init__(
        self,
        keys: Sequence[str],
        names: Sequence[str] = (),
        spellings: Mapping[str, int] = EMPTY,
    ) -> None:
        words_of_keys = [key.split() for key in (*keys, *spellings)]
        code_of_key = np.array([*range(len(keys)), *spellings.values()], np.int32)
        self._id_of_word: dict[str, int] = {}
        word_ids = np.array(
            [
                self._id_of_word.setdefault(word, len(self._id_of_word))
                for key in words_of_keys
                for word in key
            ],
            np.int64,
        )
        lengths = np.fromiter(map(len, words_of_keys), dtype=np.int64)
        starts = np.cumsum(lengths) - lengths
        # The node of each key at the current depth.
        nodes = np.zeros(len(lengths), dtype=np.int64)
        self._levels: list[tuple[Integers, Codes]] = []
        for depth in range(int(lengths.max(initial=0))):
            longer = np.flatnonzero(lengths > depth)
            next_ids = word_ids[starts[longer] + depth]
            steps = nodes[longer] * len(self._id_of_word) + next_ids
            edges, nodes[longer] = np.unique(steps, return_inverse=True)
            codes = np.full(len(edges), -1, dtype=np.int32)
            complete = longer[lengths[longer] == depth + 1]
            codes[nodes[complete]] = code_of_key[complete]
            self._levels.append((edges, codes))
        self._has_no_capital = np.zeros(len(keys), dtype=bool)
        self._has_no_capital[: len(names)] = [
            not any(map(_is_capital_or_digit, name)) for name in names
        ]

    def find(
        self, text: str, *, capitals: bool = True
    ) -> Iterator[tuple[int, tuple[int, int]]]:
        """The matches in one text, each as (code, (start, end)); see `matches`."""
        matches = self.matches(JoinedTexts([text]), capitals=capitals)
        spans = zip(matches.starts.tolist(), matches.ends.tolist(), strict=True)
        return zip(matches.codes.tolist(), spans, strict=True)

    def matches(self, joined: JoinedTexts, *, capitals: bool = True) -> Matches:
        """The matches in texts, left to right, the longest at each word, without overlap.

        With `capitals`, a match must have a capital or a digit, unless its name has neither, as
        "uvicorn".
        """
        return self.candidates(joined).matches(capitals=capitals)

    def candidates(self, joined: JoinedTexts) -> Candidates:
        """The longest match at each word of texts."""
        words = joined.words()
        first, last, codes = self.longest_matches(words.strings, words.texts)
        # A character may become two words (½); a match cannot use half of it.
        shares_character = np.append(words.shares_character, False)
        is_whole = ~(shares_character[first] | shares_character[last + 1])
        first, last, codes = first[is_whole], last[is_whole], codes[is_whole]
        is_capital = joined.character_values(_is_capital_or_digit)
        n_before = np.append(0, np.cumsum(is_capital))
        has_capital = n_before[words.ends[last]] > n_before[words.starts[first]]
        is_written = self._has_no_capital[codes] | has_capital
        return Candidates(words, first, last, codes, is_written)

    def longest_matches(
        self, words: Sequence[str], texts: Integers
    ) -> tuple[Integers, Integers, Codes]:
        """The first word, the last word and the code of the longest match at each word.

        `words` are normalised; `texts`, (n_words,), is the index of the text of each.
        """
        n_words = len(words)
        # -1 for a word of no key
        word_ids = np.array(
            [self._id_of_word.get(word, -1) for word in words], dtype=np.int64
        )
        nodes = np.zeros(n_words, np.int64)
        last = np.zeros(n_words, np.int64)
        codes = np.full(n_words, -1, np.int32)
        # The words at which a key may begin; those that lead to no node of a level are dropped.
        first = np.arange(n_words)
        for depth, (edges, key_codes) in enumerate(self._levels):
            first = first[first < n_words - depth]
            first = first[
                (texts[first + depth] == texts[first]) & (word_ids[first + depth] >= 0)
            ]
            steps = nodes[first] * len(self._id_of_word) + word_ids[first + depth]
            children = np.searchsorted(edges, steps)
            nodes[first] = children
            first = first[edges[np.minimum(children, len(edges) - 1)] == steps]
            complete = first[key_codes[nodes[first]] >= 0]
            last[complete] = complete + depth
            codes[complete] = key_codes[nodes[complete]]
        matched = np.flatnonzero(codes >= 0)
        return matched, last[matched], codes[matched]


def _disjoint(first: Integers, last: Integers, texts: Integers) -> NDArray[np.bool_]:
    """A mask of the first match of each text, and then of each next one that does not overlap.

    All texts advance by one match at a time.
    """
    following = np.searchsorted(first, last + 1)
    disjoint = np.zeros(len(first), dtype=bool)
    current = np.unique(texts, return_index=True)[1]
    while len(current):
        disjoint[current] = True
        current = current[following[current] < len(first)]
        current = following[current][texts[following[current]] == texts[current]]
    return disjoint


def _is_capital_or_digit(char: str) -> bool:
    """Whether a character can distinguish a name from ordinary words."""
    return char.isupper() or char.isdigit()


def is_date_or_number(key: str) -> bool:
    """Whether a normalised name consists of numbers, months and weekdays.

    >>> [is_date_or_number(key) for key in ("1984", "may 5th", "1980s", "june smith", "apollo 11")]
    [True, True, True, False, False]
    """
    return all(word in CALENDAR or _NUMBER.fullmatch(word) for word in key.split())
