"""Words -> rows by BM25 (bm25s), with the stop words and stemmer of each script's language.

Words are Unicode's, in one normal form. In scripts without blanks between words (Chinese, Japanese,
Korean, Thai …), the terms are bigrams of letters, as in Lucene's CJK analyser; of languages that
Snowball lacks, they are truncated words [4]. A query word that no text has is replaced by words
that differ from it in accents or in where they are divided ("10 km", "10km", "1,000"), or by the
compounds that it begins or ends; a query of such words only, by words with the same beginning or end.

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
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cache, cached_property
from itertools import combinations, pairwise
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
from kg2rag.text.normalisation import in_latin, plain, unstroked
from kg2rag.text.scripts import MARKS, PICTOGRAPHS, UNSPACED, search_text
from kg2rag.types import Share, Weight, component, one_of

VARIANTS = ("atire", "bm25+", "bm25l", "lucene", "robertson")
STEMMERS = ("none", "porter", "snowball")
LANGUAGES = ("auto", *ISO_CODES)
ENGLISH: Mapping[str, str] = {"latin": "english"}
_WORD = re.compile(rf"(?<!\w)[^\W\d_](?:\+\+|#)(?!\w)|[\w{MARKS}]+|[{PICTOGRAPHS}]")
"""A letter with signs, which names a language ("C++", "C#"); letters and digits; an emoji."""
_DIGRAPHS = str.maketrans({"ä": "ae", "ö": "oe", "ü": "ue"})
_DIGRAPH = re.compile("([aou])e")
_DIGITS_OR_LETTERS = re.compile(r"\d+|\D+")
LAST_CHARACTER = "\U0010ffff"  # sorts after every other
MAX_DIGITS = 20  # longer numbers are not divided into groups of three
MAX_JOINED_WORDS = 4  # of a query, as in "HP 457 D"
LEAST_HALF = 4
"""The minimum of characters of each of the two terms into which a word is divided."""
LEAST_PART = 2  # characters of a part of an identifier
LEAST_COMPOUNDED = 5
"""The minimum of letters of a word that is looked for in compounds."""
COMPOUNDING = frozenset(
    "danish dutch estonian finnish german hungarian norwegian swedish".split()
)
"""Languages that write a compound as one word; elsewhere halves mislead ("everybody" is no body)."""
TRUNCATED_LETTERS = 5
"""Letters of the terms of a language without a stemmer."""
LEAST_PREFIX, PREFIX_SHARE = 4, 0.75
"""The minimum of letters in which two inflections agree at an end, and of their share of the longer one."""
_RUN = re.compile(rf"([{UNSPACED}][{UNSPACED}{MARKS}]*)|[^{UNSPACED}]+")
_LETTER = re.compile(rf".[{MARKS}]*", re.DOTALL)
# The file with the number of rows, if no row has a term: bm25s refuses such a corpus.
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
        for surface in _WORD.findall(search_text(text)):
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
        bare = in_latin(unstroked(plain(term)))
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
    """The words of a match of `_WORD`, in lower case, with the parts of an identifier.

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
        if (folder / _NO_TERMS).is_file():
            self._n_rows = int((folder / _NO_TERMS).read_text())
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
        """The BM25 score of every row, (n_rows,); 0 for rows without a term of the query."""
        codes = self._codes(query)
        if not codes:
            return np.zeros(self._n_rows, dtype=np.float32)
        ids = np.asarray(codes, dtype=np.int32)
        scores = self._index.get_scores_from_ids(ids)
        # In the variants "bm25l" and "bm25+", rows without the terms have these scores, not 0.
        absent = self._index.nonoccurrence_array
        if absent is not None:
            scores[scores <= absent[ids].sum().astype(scores.dtype)] = 0
        return np.asarray(scores, dtype=np.float32)

    def has_word_of(self, query: str) -> bool:
        """Whether any term of the query is in the texts."""
        return bool(self._codes(query))

    def replacements(self, query: str) -> dict[str, list[str]]:
        """Term of the query that no text has -> the terms of texts that replace it."""
        return {
            term: others
            for term, others in self._terms_in_texts(query)
            if others and term not in self._vocabulary
        }

    def missing_words(self, query: str) -> list[str]:
        """The terms of a query that match no term of the texts, each once, without stop words."""
        function_words = map(stop_words_with_accents, self.languages.values())
        ignored = frozenset().union(*function_words)
        missing = [term for term, others in self._terms_in_texts(query) if not others]
        return [term for term in dict.fromkeys(missing) if term not in ignored]

    def _codes(self, query: str) -> list[int]:
        """The codes of the terms of texts that a query is scored by; repeated terms repeat."""
        return [
            self._vocabulary[other]
            for _, others in self._terms_in_texts(query)
            for other in others
        ]

    def _terms_in_texts(self, query: str) -> list[tuple[str, list[str]]]:
        """Each term of the query with the terms of texts that match it.

        A term that no text has is matched by its other spellings, or by its join with neighbours.
        If no term has a match, their inflections are taken.
        """
        terms = self.settings.terms(query, self.languages)
        matches = [(term, [term]) for term in terms]
        if not all(map(self._has, terms)):
            joins = self._joins_in(query)
            matches = [
                (term, self._spellings_of(term) or joins.get(term, []))
                if term not in self._vocabulary
                else (term, [term])
                for term in terms
            ]
        if any(others for _, others in matches):
            return matches
        return [(term, self._inflections_of(term)) for term in terms]

    def _joins_in(self, query: str) -> Mapping[str, list[str]]:
        """Word of a query -> the terms of texts that it makes with its neighbours."""
        words = replace(self.settings, stop_words=False).terms(query, self.languages)
        joins: defaultdict[str, list[str]] = defaultdict(list)
        for n_words in range(2, MAX_JOINED_WORDS + 1):
            for first in range(len(words) - n_words + 1):
                joined = words[first : first + n_words]
                if self._has("".join(joined)):
                    for word in joined:
                        joins[word].append("".join(joined))
        return joins

    def _has(self, term: str) -> bool:
        """Whether any text has a term."""
        return term in self._vocabulary

    @cached_property
    def _vocabulary(self) -> Mapping[str, int]:
        """Term of the texts -> its code."""
        vocabulary: Mapping[str, int] = (
            {} if self._index is None else self._index.vocab_dict
        )
        return vocabulary

    def _spellings_of(self, term: str) -> list[str]:
        """The terms of texts that differ from a term in accents only, or else its parts."""
        keys = self.settings.without_accents(term, self.languages) or [term]
        unaccented = filter(self._has, [*keys, term.translate(_DIGRAPHS)])
        keys.append(_DIGRAPH.sub(r"\1", term))
        accented = [
            other for key in keys for other in self._accented_terms.get(key, ())
        ]
        return list(dict.fromkeys([*unaccented, *accented])) or self._parts_of(term)

    def _parts_of(self, term: str) -> list[str]:
        """The numbers and words in a term ("10km"), the groups of a number ("1,000"), or its halves.

        Of an identifier ("gpt4o"), the terms that make it up; of a word in a language that writes
        compounds as one word, the compounds with it.

        The list is empty if the texts lack one of them.
        """
        parts = _DIGITS_OR_LETTERS.findall(term)
        if term.isdecimal() and len(term) <= MAX_DIGITS:
            parts = f"{int(term):,}".split(",")
        stems = [
            stem for part in parts for stem in self.settings.terms(part, self.languages)
        ]
        if len(parts) > 1 and all(map(self._has, stems)):
            return stems
        if term.isdecimal():
            return self._halves_of(term)
        if any(map(str.isdigit, term)):
            return self._parts_of_identifier(term)
        if self.languages.get(script_of(term)) in COMPOUNDING:
            return self._halves_of(term) or self._compounds_of(term)
        return []

    def _parts_of_identifier(self, term: str) -> list[str]:
        """The terms of texts that make up a term with digits, as "gpt" and "4o" do "gpt4o".

        It is divided beside a digit. The fewest terms count, at most `MAX_JOINED_WORDS` of
        `LEAST_PART` characters.
        """
        places = [
            place
            for place in range(LEAST_PART, len(term))
            if any(map(str.isdigit, term[place - 1 : place + 1]))
        ]
        for n_divisions in range(1, MAX_JOINED_WORDS):
            for divisions in combinations(places, n_divisions):
                spans = pairwise((0, *divisions, len(term)))
                parts = [term[start:end] for start, end in spans]
                if min(map(len, parts)) >= LEAST_PART and all(map(self._has, parts)):
                    return parts
        return []

    def _compounds_of(self, term: str) -> list[str]:
        """The compounds in the texts that a word begins or ends, such as "kreiskrankenhaus"."""
        if len(term) < LEAST_COMPOUNDED:
            return []
        terms, reversed_terms = self._sorted_terms
        beginnings = _terms_beginning_with(term, terms)
        endings = _terms_beginning_with(term[::-1], reversed_terms)
        compounds = [*beginnings, *(ending[::-1] for ending in endings)]
        return [other for other in compounds if len(other) >= len(term) + LEAST_HALF]

    def _halves_of(self, term: str) -> list[str]:
        """The two terms of texts that make up a compound or a long number, the longest first one."""
        for end in range(len(term) - LEAST_HALF, LEAST_HALF - 1, -1):
            halves = [
                self.settings.terms(half, self.languages)
                for half in (term[:end], term[end:])
            ]
            if all(half and self._has(half[0]) for half in halves):
                return [half[0] for half in halves]
        return []

    def _inflections_of(self, term: str) -> list[str]:
        """The terms of texts that share the first, or the last, letters with a term."""
        terms, reversed_terms = self._sorted_terms
        endings = _terms_with_prefix_of(reversed_terms, term[::-1])
        beginnings = _terms_with_prefix_of(terms, term)
        others = [*beginnings, *(ending[::-1] for ending in endings)]
        return list(dict.fromkeys(others))

    @cached_property
    def _sorted_terms(self) -> tuple[list[str], list[str]]:
        """The terms of the texts, and the terms read backwards, each sorted."""
        terms = list(filter(None, self._vocabulary))
        return sorted(terms), sorted(term[::-1] for term in terms)

    @cached_property
    def _accented_terms(self) -> Mapping[str, list[str]]:
        """Key without accents -> the terms of texts that have accents."""
        accented: defaultdict[str, list[str]] = defaultdict(list)
        for term in self._vocabulary:
            for key in self.settings.without_accents(term, self.languages):
                accented[key].append(term)
        return accented


def _terms_with_prefix_of(sorted_terms: list[str], term: str) -> list[str]:
    """The terms whose common prefix with a term is `PREFIX_SHARE` of the longer one's letters."""
    n_letters = max(LEAST_PREFIX, ceil(PREFIX_SHARE * len(term)))
    if len(term) < n_letters:
        return []
    return [
        other
        for other in _terms_beginning_with(term[:n_letters], sorted_terms)
        if PREFIX_SHARE * len(other) <= Prefix.similarity(term, other)
    ]


def _terms_beginning_with(letters: str, sorted_terms: list[str]) -> list[str]:
    """The terms that begin with some letters."""
    first = bisect_left(sorted_terms, letters)
    return sorted_terms[first : bisect_left(sorted_terms, f"{letters}{LAST_CHARACTER}")]


def stem(word: str) -> str:
    """The Snowball stem of an English word in lower case."""
    return str(stemmer_of("english").stemWord(word))
