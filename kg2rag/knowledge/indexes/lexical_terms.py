"""Texts -> the terms of BM25: words without case, stop words and endings.

Words are Unicode's, in one normal form. In scripts without blanks between words (Chinese, Japanese,
Korean, Thai …), the terms are bigrams of letters, as in Lucene's CJK analyser; of languages that
Snowball lacks, they are truncated words [1].

[1] McNamee, Nicholas & Mayfield, "Addressing morphological variation in alphabetic languages", SIGIR
2009.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import cache
from itertools import pairwise
from typing import Annotated

from kg2rag.text.code_names import split
from kg2rag.text.languages import (
    ISO_CODES,
    UNTRUNCATED,
    script_of,
    stemmer_of,
    stop_words_with_accents,
)
from kg2rag.text.normalisation import in_latin, plain, unstroked
from kg2rag.text.scripts import MARKS, PICTOGRAPHS, UNSPACED, search_text
from kg2rag.types import Share, Weight, component, one_of

VARIANTS = ("atire", "bm25+", "bm25l", "lucene", "robertson")
STEMMERS = ("none", "porter", "snowball")
LANGUAGES = ("auto", *ISO_CODES)
ENGLISH: Mapping[str, str] = {"latin": "english"}
WORD = re.compile(rf"(?<!\w)[^\W\d_](?:\+\+|#)(?!\w)|[\w{MARKS}]+|[{PICTOGRAPHS}]")
"""A letter with signs, which names a language ("C++", "C#"); letters and digits; an emoji."""
TRUNCATED_LETTERS = 5
"""Letters of the terms of a language without a stemmer."""
_RUN = re.compile(rf"([{UNSPACED}][{UNSPACED}{MARKS}]*)|[^{UNSPACED}]+")
_LETTER = re.compile(rf".[{MARKS}]*", re.DOTALL)


@component
class LexicalSettings:
    """The parameters of tokenisation and scoring.

    Parameters
    ----------
    k1 : term-frequency saturation, at least 0.
    b : length normalisation, in [0, 1].
    variant : one of `VARIANTS` [2 of `lexical`].
    stemmer : one of `STEMMERS`; "snowball" is the stemmer of each language (of English, Porter 2).
    stop_words : whether the stop words of each language are removed; those of English are bm25s's.
    language : one of `LANGUAGES`; "auto" recognises the language of each script, see `languages`.
    """

    k1: Weight = 0.9
    b: Share = 0.4
    variant: Annotated[str, one_of(VARIANTS)] = "lucene"
    stemmer: Annotated[str, one_of(STEMMERS)] = "snowball"
    stop_words: bool = True
    language: Annotated[str, one_of(LANGUAGES)] = "auto"

    def terms(self, text: str, languages: Mapping[str, str] = ENGLISH) -> list[str]:
        """The terms of a text, in order, with the parts of identifiers.

        Numbers and single letters are terms, too.

        `languages` : the language of each script.
        """
        terms: list[str] = []
        for surface in WORD.findall(search_text(text)):
            for word in _words_of(surface, languages):
                language = languages.get(script_of(word), "")
                if not self.stop_words or word not in _stop_words(language):
                    terms.append(self._stem(word, language))
        return terms

    def without_accents(self, term: str, languages: Mapping[str, str]) -> list[str]:
        """The terms of a word without accents and strokes, in Latin letters; empty if it has no other.

        >>> LexicalSettings().without_accents("beyoncé", ENGLISH)
        ['beyonce', 'beyonc']
        """
        bare = _bare(term)
        if bare == term:
            return []
        return list(dict.fromkeys((bare, self._stem(bare, languages.get("latin", "")))))

    def _stem(self, word: str, language: str) -> str:
        """The stem of a word, or its truncation if the language has no stemmer.

        Without a language (""), the word only loses its accents.
        """
        if self.stemmer == "none":
            return word
        if not language:
            return plain(word)
        is_porter = language == "english" and self.stemmer == "porter"
        stemmer = stemmer_of("porter" if is_porter else language)
        if stemmer is not None:
            return str(stemmer.stemWord(word))
        if language in UNTRUNCATED:
            return word
        return "".join(_LETTER.findall(word)[:TRUNCATED_LETTERS])


@cache
def _stop_words(language: str) -> frozenset[str]:
    """The stop words of a language in their spelling; for English, those of bm25s."""
    if not language:
        return frozenset()
    if language == "english":
        from bm25s.stopwords import STOPWORDS_EN

        return frozenset(STOPWORDS_EN)
    return stop_words_with_accents(language)


def _words_of(surface: str, languages: Mapping[str, str] = ENGLISH) -> list[str]:
    """The words of a match of `WORD`, in lower case, with the parts of an identifier.

    In scripts without blanks they are bigrams of letters.

    >>> _words_of("StreamingTextResponse"), _words_of("Word"), _words_of("東京駅2")
    (['streamingtextresponse', 'streaming', 'text', 'response'], ['word'], ['東京', '京駅', '2'])
    """
    if surface.isascii():
        return _word_and_parts(surface, languages)
    words: list[str] = []
    for run in _RUN.finditer(surface):
        if run[1] is None:
            words += _word_and_parts(run[0], languages)
        else:
            words += _bigrams(run[1])
    return words


def _bigrams(run: str) -> list[str]:
    """The bigrams of a run of letters in a script without blanks; a single letter is itself."""
    letters = _LETTER.findall(run.lower())
    if len(letters) == 1:
        return [letters[0]]
    return [first + second for first, second in pairwise(letters)]


def _word_and_parts(surface: str, languages: Mapping[str, str]) -> list[str]:
    """A word in lower case, followed by its parts if it is an identifier of several."""
    word = _lower_case(surface, languages)
    has_case = surface.lower() != surface.upper()
    if "_" not in surface and (
        surface[1:].islower() or surface.isupper() or not has_case
    ):
        return [word]
    parts = split(surface)
    if len(parts) == 1:
        return [word]
    return [word, *(part.lower() for part in parts)]


def _bare(word: str) -> str:
    """A word without accents and strokes, in Latin letters."""
    return in_latin(unstroked(plain(word)))


def _lower_case(word: str, languages: Mapping[str, str]) -> str:
    """A word in lower case; in Turkish, "I" is the capital of "ı"."""
    if languages.get("latin") == "turkish":
        word = word.replace("I", "ı")
    return word.replace("İ", "i").lower()


def accented_word(
    surface: str, terms: Sequence[str], languages: Mapping[str, str]
) -> tuple[str, str]:
    """A word of one term in lower case, and without accents; twice "" for others, and in English."""
    language = languages.get(script_of(surface), "english")
    if len(terms) != 1 or language == "english":
        return "", ""
    word = _lower_case(surface, languages)
    return word, _bare(word)


def stem(word: str) -> str:
    """The Snowball stem of an English word in lower case."""
    return str(stemmer_of("english").stemWord(word))
