"""Text -> normalised text and sentences: the string rules that several packages share."""

from __future__ import annotations

import re
import unicodedata

WORD = re.compile(r"[^\W_]+(?:[+#]++(?![^\W_]))?")
"""Letters and digits, and plus and number signs that end them: "C", "C++" and "C#" are three names, "a+b" is two."""
_SENTENCE_END = re.compile(r"(?<=[.!?])\s+(?=[A-Z0-9\"'`(\[])")
# Titles, initials and abbreviations of encyclopaedic prose, after which a full stop ends no sentence.
_ABBREVIATION = re.compile(
    r"(?:^|[\s(])(?:Mr|Mrs|Ms|Dr|St|Sr|Jr|Prof|Gen|Col|Lt|Sgt|Capt|Rev|Hon|No|vs|c|ca|b|d|cf|[A-Z])\.$"
)
_LONGEST_ABBREVIATION = len(" Prof.")
_BRACKETED = re.compile(r"(?<!\s)\s*+\([^()]*\)\s*$")


def normalise(name: str) -> str:
    """A name without case, accents, punctuation and extra spaces: the key that spellings of one entity share.

    >>> normalise("  Saint-Étienne (Loire) "), normalise("C++/C#")
    ('saint etienne loire', 'c++ c#')
    """
    return " ".join(WORD.findall(plain(name)))


def plain(text: str) -> str:
    """A text without case and accents; each character gives any number of them, whatever stands beside it.

    >>> [plain(char) for char in "Éß½"]
    ['e', 'ss', '1⁄2']
    """
    if text.isascii():
        return text.lower()
    decomposed = unicodedata.normalize("NFKD", text)
    return "".join(char for char in decomposed if not unicodedata.combining(char)).casefold()


def entity_key(name: str) -> str:
    """The key under which a graph knows an entity: the normalised name, or the stripped one where nothing is left.

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
    """Sentences, split at end punctuation before a capital, digit or quote, but not after abbreviations and initials.

    >>> split_sentences("Mr. T. Smith left. He was 40! Why?")
    ['Mr. T. Smith left.', 'He was 40!', 'Why?']
    """
    sentences: list[list[str]] = []
    end = ""  # of the last sentence: a search reads all of what it is given, and joining it again would copy it
    for piece in _SENTENCE_END.split(text.strip()):
        if sentences and _ABBREVIATION.search(end):
            sentences[-1].append(piece)
            end = f"{end} {piece}"[-_LONGEST_ABBREVIATION:]
        elif piece:
            sentences.append([piece])
            end = piece[-_LONGEST_ABBREVIATION:]
    return [" ".join(pieces) for pieces in sentences]
