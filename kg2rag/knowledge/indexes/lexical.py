"""Words -> rows by BM25 (bm25s), with the stop words and stemmer of each script's language.

Words are Unicode's, in one normal form. In scripts without blanks between words (Chinese, Japanese,
Korean, Thai …), the terms are bigrams of letters, as in Lucene's CJK analyser; of languages that
Snowball lacks, they are truncated words [4]. A query word that no text has is replaced by words
that differ from it in accents or in where they are divided ("10 km", "10km", "1,000"); a query of
such words only, by words with the same beginning or end.

[1] Robertson & Zaragoza, "The Probabilistic Relevance Framework", 2009. [2] Kamphuis et al., "Which
BM25 do you mean?", ECIR 2020, for the variants. [3] Lù, "BM25S", 2024. [4] McNamee, Nicholas &
Mayfield, "Addressing morphological variation in alphabetic languages", SIGIR 2009.
"""

from __future__ import annotations

import json
import re
from array import array
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache, cached_property
from itertools import pairwise
from math import ceil
from pathlib import Path
from typing import Annotated, Any

import numpy as np
from numpy.typing import NDArray
from rapidfuzz.distance import Prefix

from kg2rag.text.code_names import split
from kg2rag.text.languages import (
    ISO_CODES,
    UNTRUNCATED,
    guess_languages,
    script_of,
    stemmer_of,
    stop_words_with_accents,
)
from kg2rag.text.normalisation import plain, unstroked
from kg2rag.text.scripts import MARKS, PICTOGRAPHS, UNSPACED, search_text
from kg2rag.types import Share, Weight, component, one_of

VARIANTS = ("atire", "bm25+", "bm25l", "lucene", "robertson")
STEMMERS = ("none", "porter", "snowball")
LANGUAGES = ("auto", *ISO_CODES)
ENGLISH: Mapping[str, str] = {"latin": "english"}
_WORD = re.compile(rf"(?<!\w)[^\W\d_](?:\+\+|#)(?!\w)|[\w{MARKS}]+|[{PICTOGRAPHS}]")
"""A letter with signs, which names a language ("C++", "C#"); letters and digits; an emoji."""
_DIGITS_OR_LETTERS = re.compile(r"\d+|\D+")
LAST_CHARACTER = "\U0010ffff"
MAX_DIGITS = 20
TRUNCATED_LETTERS = 5
"""Letters of the terms of a language without a stemmer."""
LEAST_PREFIX, PREFIX_SHARE = 4, 0.75
"""Letters with which two inflections begin or end alike, at least, and their share of the longer one."""
_RUN = re.compile(rf"([{UNSPACED}][{UNSPACED}{MARKS}]*)|[^{UNSPACED}]+")
_LETTER = re.compile(rf".[{MARKS}]*", re.DOTALL)
# The file with the number of rows of a corpus without any term, which bm25s refuses.
_NO_TERMS = "no_terms.json"
_LANGUAGES = "languages.json"


@component
class LexicalSettings:
    """The parameters of tokenisation and scoring.

    Parameters
    ----------
    k1 : term-frequency saturation, at least 0.
    b : length normalisation, in [0, 1].
    variant : one of `VARIANTS` [2].
    stemmer : one of `STEMMERS`; "snowball" is the stemmer of each language (of English, Porter 2).
    stop_words : whether the stop words of each language are removed; those of English are bm25s's.
    language : one of `LANGUAGES`; "auto" recognises the language of each script by its stop words, see `languages`.
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
        for written in _WORD.findall(search_text(text)):
            for word in _spellings(written, languages):
                language = languages.get(script_of(word), "")
                if not self.stop_words or word not in _stop_words(language):
                    terms.append(self._stem(word, language))
        return terms

    def without_accents(self, term: str, languages: Mapping[str, str]) -> list[str]:
        """The terms of a word if it had neither accents nor strokes; empty if it has none.

        >>> LexicalSettings().without_accents("beyoncé", ENGLISH)
        ['beyonce', 'beyonc']
        """
        bare = unstroked(plain(term))
        if bare == term:
            return []
        return list(dict.fromkeys((bare, self._stem(bare, languages.get("latin", "")))))

    def _stem(self, word: str, language: str) -> str:
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


def _spellings(written: str, languages: Mapping[str, str] = ENGLISH) -> list[str]:
    """The terms of a word: in lower case, with the parts of an identifier, or as bigrams.

    Bigrams are the terms of scripts without blanks.

    >>> _spellings("StreamingTextResponse"), _spellings("Word"), _spellings("東京駅2")
    (['streamingtextresponse', 'streaming', 'text', 'response'], ['word'], ['東京', '京駅', '2'])
    """
    if written.isascii():
        return _word_and_parts(written, languages)
    terms: list[str] = []
    for match in _RUN.finditer(written):
        terms += _terms_of_run(match[0], match[1], languages)
    return terms


def _terms_of_run(
    run: str, unspaced: str | None, languages: Mapping[str, str]
) -> Iterator[str]:
    if unspaced is None:
        yield from _word_and_parts(run, languages)
        return
    letters = _LETTER.findall(unspaced.lower())
    if len(letters) == 1:
        yield letters[0]
    yield from (first + second for first, second in pairwise(letters))


def _word_and_parts(written: str, languages: Mapping[str, str]) -> list[str]:
    word = _lower_case(written, languages)
    has_case = written.lower() != written.upper()
    if "_" not in written and (
        written[1:].islower() or written.isupper() or not has_case
    ):
        return [word]
    parts = split(written)
    if len(parts) == 1:
        return [word]
    return [word, *(part.lower() for part in parts)]


def _lower_case(word: str, languages: Mapping[str, str]) -> str:
    """A word in lower case; in Turkish, "I" is the capital of "ı"."""
    if languages.get("latin") == "turkish":
        word = word.replace("I", "ı")
    return word.replace("İ", "i").lower()


class LexicalIndex:
    """BM25 over a corpus; `LexicalIndex.write` makes the folder that is opened.

    `languages` : the language of each script in the texts.
    """

    def __init__(self, folder: Path, settings: LexicalSettings) -> None:
        import bm25s

        self.settings = settings
        self.languages: dict[str, str] = json.loads((folder / _LANGUAGES).read_text())
        self._index: Any = None
        if (empty := folder / _NO_TERMS).is_file():
            self._n_rows = int(empty.read_text())
            return
        self._index = bm25s.BM25.load(folder, mmap=True, show_progress=False)
        self._n_rows = self._index.scores["num_docs"]
        for name, part in self._index.scores.items():
            if isinstance(part, np.memmap):  # slices of memmaps are slow
                self._index.scores[name] = np.asarray(part)

    @staticmethod
    def write(folder: Path, contents: Iterable[str], settings: LexicalSettings) -> None:
        """Index `contents`, one text per row, into `folder`."""
        import bm25s

        texts = contents if isinstance(contents, Sequence) else list(contents)
        languages = guess_languages(texts, settings.language)
        (folder / _LANGUAGES).write_text(json.dumps(languages))
        vocabulary: dict[str, int] = {}
        # Spelling of a word -> the codes of its terms.
        codes_of: dict[str, list[int]] = {}
        rows: list[array[int]] = []  # lists of integers take ten times the memory
        for text in texts:
            rows.append(array("i"))
            for word in _WORD.findall(search_text(text)):
                if word not in codes_of:
                    terms = settings.terms(word, languages)
                    codes_of[word] = [
                        vocabulary.setdefault(term, len(vocabulary)) for term in terms
                    ]
                rows[-1].extend(codes_of[word])
        if not vocabulary:
            (folder / _NO_TERMS).write_text(str(len(rows)))
            return
        index = bm25s.BM25(k1=settings.k1, b=settings.b, method=settings.variant)
        index.index((rows, vocabulary), show_progress=False)
        index.save(folder, show_progress=False)

    def scores(self, query: str) -> NDArray[np.float32]:
        """(n_rows,) BM25 of every row; 0 for rows without a term of the query."""
        codes = self._codes(query)
        if not codes:
            return np.zeros(self._n_rows, dtype=np.float32)
        ids = np.asarray(codes, dtype=np.int32)
        scores = self._index.get_scores_from_ids(ids)
        # The scores of rows without the terms in the variants "bm25l" and "bm25+".
        absent = self._index.nonoccurrence_array
        if absent is not None:
            scores[scores <= absent[ids].sum().astype(scores.dtype)] = 0
        return np.asarray(scores, dtype=np.float32)

    def has_word_of(self, query: str) -> bool:
        """Whether any term of the query is in the texts."""
        return bool(self._codes(query))

    def respelled(self, query: str) -> dict[str, list[str]]:
        """Terms of the query that no text has -> the terms of texts that replace them."""
        return {
            term: others
            for term, others in self._terms_in_texts(query)
            if others and term not in self._vocabulary
        }

    def _codes(self, query: str) -> list[int]:
        return [
            self._vocabulary[other]
            for _, others in self._terms_in_texts(query)
            for other in others
        ]

    def _terms_in_texts(self, query: str) -> list[tuple[str, list[str]]]:
        """Each term of the query with those of texts: itself, or what replaces it."""
        terms = self.settings.terms(query, self.languages)
        matches = [(term, [term]) for term in terms]
        for place, term in enumerate(terms):
            if term not in self._vocabulary:
                joined = map("".join, pairwise(terms[max(place - 1, 0) : place + 2]))
                others = self._spellings_of(term) or list(filter(self._has, joined))
                matches[place] = (term, others)
        if any(others for _, others in matches):
            return matches
        return [(term, self._inflections_of(term)) for term in terms]

    def _has(self, term: str) -> bool:
        return term in self._vocabulary

    @cached_property
    def _vocabulary(self) -> Mapping[str, int]:
        vocabulary: Mapping[str, int] = (
            {} if self._index is None else self._index.vocab_dict
        )
        return vocabulary

    def _spellings_of(self, term: str) -> list[str]:
        """The terms of texts that differ from a term, which no text has, in accents, or are parts of it."""
        keys = self.settings.without_accents(term, self.languages) or [term]
        unaccented = [key for key in keys if self._has(key)]
        accented = [
            other for key in keys for other in self._accented_terms.get(key, ())
        ]
        return list(dict.fromkeys([*unaccented, *accented])) or self._parts_of(term)

    def _parts_of(self, term: str) -> list[str]:
        """The numbers and words in a term, as in "10km", or the groups of a long number; empty if texts lack one."""
        parts = _DIGITS_OR_LETTERS.findall(term)
        if term.isdecimal() and len(term) <= MAX_DIGITS:
            parts = f"{int(term):,}".split(",")
        return parts if len(parts) > 1 and all(map(self._has, parts)) else []

    def _inflections_of(self, term: str) -> list[str]:
        """The terms of texts that begin like a term, or end like it, for most of the longer one's letters."""
        terms, reversed_terms = self._sorted_terms
        endings = _alike(reversed_terms, term[::-1])
        others = [*_alike(terms, term), *(ending[::-1] for ending in endings)]
        return list(dict.fromkeys(others))

    @cached_property
    def _sorted_terms(self) -> tuple[list[str], list[str]]:
        """The terms of the texts, and the terms read backwards, each sorted."""
        terms = list(filter(None, self._vocabulary))
        return sorted(terms), sorted(term[::-1] for term in terms)

    @cached_property
    def _accented_terms(self) -> Mapping[str, list[str]]:
        """A term without accents -> the terms that have some."""
        accented: defaultdict[str, list[str]] = defaultdict(list)
        for term in self._vocabulary:
            for key in self.settings.without_accents(term, self.languages):
                accented[key].append(term)
        return accented


def _alike(sorted_terms: list[str], term: str) -> list[str]:
    """The terms that begin like a term, for most of the longer one's letters."""
    least = max(LEAST_PREFIX, ceil(PREFIX_SHARE * len(term)))
    if len(term) < least:
        return []
    first = bisect_left(sorted_terms, term[:least])
    last = bisect_left(sorted_terms, f"{term[:least]}{LAST_CHARACTER}")
    return [
        other
        for other in sorted_terms[first:last]
        if PREFIX_SHARE * len(other) <= Prefix.similarity(term, other)
    ]


def stem(word: str) -> str:
    """The Snowball stem of an English word in lower case."""
    return str(stemmer_of("english").stemWord(word))
