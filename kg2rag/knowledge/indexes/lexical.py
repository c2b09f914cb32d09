"""Words -> rows by BM25 (bm25s), over the terms of `lexical_terms`.

A query word that no text has is replaced by words that differ from it in accents or in where they
are divided ("10 km", "10km", "1,000"), or by the compounds that it begins or ends; a query of such
words only, by words with the same beginning or end. In languages other than English, a word stands
for its spelling without accents, too, and a word without accents for those with them.

[1] Robertson & Zaragoza, "The Probabilistic Relevance Framework", 2009. [2] Kamphuis et al., "Which
BM25 do you mean?", ECIR 2020, for the variants. [3] Lù, "BM25S", 2024.
"""

from __future__ import annotations

import json
import re
from array import array
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from itertools import combinations, pairwise
from math import ceil
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rapidfuzz.distance import Prefix

from kg2rag.knowledge.indexes.lexical_terms import (
    WORD,
    LexicalSettings,
    accented_word,
)
from kg2rag.text.languages import guess_languages, script_of, stop_words_with_accents
from kg2rag.text.scripts import search_text

_DIGRAPHS = str.maketrans({"ä": "ae", "ö": "oe", "ü": "ue"})
_DIGRAPH = re.compile("([aou])e")
_DIGITS_OR_LETTERS = re.compile(r"\d+|\D+")
LAST_CHARACTER = "\U0010ffff"  # sorts after every other
MAX_DIGITS = 20  # longer numbers are not divided into groups of three
MAX_JOINED_WORDS = 4  # of a query, as in "HP 457 D"
ACCENT_WEIGHT = 0.5
"""The weight of a word with other accents than in the query, beside the word as it is written."""
LEAST_HALF = 4
"""The minimum of characters of each of the two terms into which a word is divided."""
LEAST_PART = 2  # characters of a part of an identifier
LEAST_COMPOUNDED = 5
"""The minimum of letters of a word that is looked for in compounds."""
COMPOUNDING = frozenset(
    "danish dutch estonian finnish german hungarian norwegian swedish".split()
)
"""Languages that write a compound as one word; elsewhere halves mislead ("everybody" is no body)."""
LEAST_PREFIX, PREFIX_SHARE = 4, 0.75
"""The minimum of letters in which two inflections agree at an end, and of their share of the longer one."""
# The file with the number of rows, if no row has a term: bm25s refuses such a corpus.
_NO_TERMS = "no_terms.json"
_LANGUAGES = "languages.json"
_ACCENTS = "accents.json"
"""The file with the terms of accented words, by the word without accents; none for English."""


class LexicalIndex:
    """BM25 over a corpus; `LexicalIndex.write` makes the folder that is opened.

    `languages` : the language of each script in the texts.
    """

    def __init__(self, folder: Path, settings: LexicalSettings) -> None:
        import bm25s

        self.settings = settings
        self.languages: dict[str, str] = json.loads((folder / _LANGUAGES).read_text())
        accents = folder / _ACCENTS
        self._accents: dict[str, list[str]] = (
            json.loads(accents.read_text("utf-8")) if accents.is_file() else {}
        )
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
        accents: defaultdict[str, dict[str, None]] = defaultdict(dict)
        rows: list[array[int]] = []  # lists of integers take ten times the memory
        for text in texts:
            rows.append(array("i"))
            for word in WORD.findall(search_text(text)):
                if word not in codes_of:
                    terms = settings.terms(word, languages)
                    codes_of[word] = [
                        vocabulary.setdefault(term, len(vocabulary)) for term in terms
                    ]
                    plain_word, bare = accented_word(word, terms, languages)
                    if bare != plain_word:
                        accents[bare][terms[0]] = None
                rows[-1].extend(codes_of[word])
        if accents:
            terms_of = {bare: list(terms) for bare, terms in accents.items()}
            text_of_accents = json.dumps(terms_of, ensure_ascii=False)
            (folder / _ACCENTS).write_text(text_of_accents, "utf-8")
        if not vocabulary:
            (folder / _NO_TERMS).write_text(str(len(rows)))
            return
        index = bm25s.BM25(k1=settings.k1, b=settings.b, method=settings.variant)
        index.index((rows, vocabulary), show_progress=False)
        index.save(folder, show_progress=False)

    def scores(self, query: str) -> NDArray[np.float32]:
        """The BM25 score of every row, (n_rows,); 0 for rows without a term of the query."""
        scores = self._scores_of(self._codes(query))
        variants = self._accent_variants(query).values()
        codes = [self._vocabulary[term] for terms in variants for term in terms]
        if codes:
            scores += ACCENT_WEIGHT * self._scores_of(codes)
        return scores

    def _scores_of(self, codes: Sequence[int]) -> NDArray[np.float32]:
        """The BM25 score of every row for some terms, (n_rows,)."""
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
        return bool(self._codes(query) or self._accent_variants(query))

    def replacements(self, query: str) -> dict[str, list[str]]:
        """Term of the query that texts lack, or spell with other accents -> the terms of texts that it stands for."""
        variants = self._accent_variants(query)
        matches = {
            term: [*others, *variants.get(term, ())]
            for term, others in self._terms_in_texts(query)
        }
        return {
            term: others
            for term, others in matches.items()
            if others and others != [term]
        }

    def missing_words(self, query: str) -> list[str]:
        """The terms of a query that match no term of the texts, each once, without stop words."""
        function_words = map(stop_words_with_accents, self.languages.values())
        ignored = frozenset().union(*function_words)
        variants = self._accent_variants(query)
        matches = self._terms_in_texts(query)
        missing = [term for term, others in matches if not (others or term in variants)]
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
        if any(others for _, others in matches) or self._accent_variants(query):
            return matches
        return [(term, self._inflections_of(term)) for term in terms]

    def _accent_variants(self, query: str) -> Mapping[str, list[str]]:
        """Term of the query -> other terms of texts for its word without accents, or with them if it has none.

        A term that no text has is left to `_spellings_of`, unless that has none.
        """
        if not self._accents:
            return {}
        variants: dict[str, list[str]] = {}
        for surface in WORD.findall(search_text(query)):
            terms = self.settings.terms(surface, self.languages)
            word, bare = accented_word(surface, terms, self.languages)
            if not word:
                continue
            [term] = terms
            others = self._accents.get(bare, [])
            if bare != word:
                others = self.settings.terms(bare, self.languages)
            known = [term] if self._has(term) else self._spellings_of(term)
            new_terms = [
                other for other in others if self._has(other) and other not in known
            ]
            if new_terms:
                variants[term] = new_terms
        return variants

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
        words = self._words_and_numbers_of(term)
        if words or term.isdecimal():
            return words or self._halves_of(term)
        if any(map(str.isdigit, term)):
            return self._parts_of_identifier(term)
        if self.languages.get(script_of(term)) in COMPOUNDING:
            return self._halves_of(term) or self._compounds_of(term)
        return []

    def _words_and_numbers_of(self, term: str) -> list[str]:
        """The terms of the words and numbers in a term, or of the groups of a number, if texts have all."""
        parts = _DIGITS_OR_LETTERS.findall(term)
        if term.isdecimal() and len(term) <= MAX_DIGITS:
            parts = f"{int(term):,}".split(",")
        stems = [
            stem for part in parts for stem in self.settings.terms(part, self.languages)
        ]
        if len(parts) > 1 and all(map(self._has, stems)):
            return stems
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
