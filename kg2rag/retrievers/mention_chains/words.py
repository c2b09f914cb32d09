"""Texts -> the words that name something: a question's sub-phrases, a corpus's naming words and how rare each is. Ours.

Each sub-phrase is encoded as a query of its own; naming words are what two passages may share.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache

import numba
import numpy as np
from numpy.typing import NDArray

from kg2rag.knowledge import KnowledgeBase
from kg2rag.knowledge.graph.csr import gather, offsets
from kg2rag.text.lexicon import FUNCTION_WORDS
from kg2rag.text.normalisation import WORD, normalise
from kg2rag.types import FloatArray, IntArray

LEAST_TITLE = 0.05  # a title's words weigh at least this much together, so that one of common words says little
_TOKEN = re.compile(r"[\w’'\-\.&]+|[,;:()\"“”?!]")
_PUNCTUATION = re.compile(r"[,;:()\"“”?!]")
_POSSESSIVE = re.compile(r"['’]s$")
CHARACTERS = 5_000
"""Of all phrases of a question together: questions that people ask have up to 3,300, and each is encoded."""
_BOUNDARY = FUNCTION_WORDS | set(
    "s t d whose whom be being am 's does did do done than out off down how many much".split()
)


def sub_phrases(question: str, most: int) -> list[str]:
    """At most `most` spans of two words or more, each once, those of fewest runs first.

    A run is a sequence of content words; function words, punctuation and a possessive end it. A span begins and ends
    with a run, may hold function words between runs, and is not the whole question. Of a text so long that its phrases
    have more than `CHARACTERS`, those that fit, and none of more runs than the first that does not.
    """
    words, runs = _runs(question)
    found: dict[str, None] = {}
    room = CHARACTERS
    for length in range(1, len(runs) + 1):
        full = False
        for (start, _), (_, end) in zip(runs, runs[length - 1 :], strict=False):
            if end - start < 2 or (start == 0 and end == len(words)):
                continue
            phrase = _POSSESSIVE.sub("", " ".join(words[start:end]))
            if phrase in found:
                continue
            if len(found) == most:
                return list(found)
            if len(phrase) > room:
                full = True
                continue
            found[phrase] = None
            room -= len(phrase)
        if full:
            break
    return list(found)


def _runs(question: str) -> tuple[list[str], list[tuple[int, int]]]:
    """The words of a question, and the (start, end) of each run of content words among them."""
    words: list[str] = []
    runs: list[tuple[int, int]] = []
    inside = False
    for token in _TOKEN.findall(question):
        bare = token.strip(".'’-").lower()
        if not bare or _PUNCTUATION.fullmatch(token):
            inside = inside and not _PUNCTUATION.fullmatch(token)
            continue
        words.append(token.strip("?.,"))
        content = bare not in _BOUNDARY
        if content:
            start = runs.pop()[0] if inside else len(words) - 1
            runs.append((start, len(words)))
        inside = content and not bare.endswith(("'s", "’s"))
    return words, runs


def naming_words(text: str) -> list[str]:
    """Capitalised words of two letters or more and numbers of three digits or more, normalised, sorted, each once."""
    return sorted({key for word in set(WORD.findall(text)) if (key := _naming_key(word))})


@lru_cache(maxsize=1 << 16)
def _naming_key(word: str) -> str:
    """The normalised word; empty where it names nothing."""
    if not (len(word) > 1 and word[0].isupper()) and not (len(word) > 2 and word.isdigit()):
        return ""
    key = normalise(word)
    return "" if key in FUNCTION_WORDS else key


def rarity(n_passages: int, frequency: NDArray[np.integer]) -> FloatArray:
    """ln((1 + N) / (df + 1/2)) / ln(1 + N): about 1 for a word of one passage, near 0 for one of all."""
    found: FloatArray = np.log((1 + n_passages) / (frequency + 0.5)) / np.log(1 + n_passages)
    return found


@dataclass(frozen=True)
class NamingWords:
    """The naming words of a corpus, in CSR form.

    Attributes
    ----------
    code : word -> its number.
    rarity : (n_words,) of each; 0 for a word of one passage alone, which nothing shares.
    indptr, words : the words of passage `i` are `words[indptr[i]:indptr[i + 1]]`.
    title_indptr, title_words : likewise of its title.
    """

    code: dict[str, int]
    rarity: FloatArray
    indptr: IntArray
    words: IntArray
    title_indptr: IntArray
    title_words: IntArray

    def shared(self, question: str, rows: IntArray) -> tuple[FloatArray, FloatArray]:
        """Two (m, m) matrices over some passages, from row to column, each in [0, 1].

        - shared_word: the rarity of the rarest naming word that both have and the question has not; 0 without one.
        - title_words: of the naming words of the column's title that the question has not, the share, weighted by
          rarity, that the row's text has; the weights of a title count as at least `LEAST_TITLE`.
        """
        weights = self.rarity.copy()
        asked = (self.code.get(normalise(word)) for word in WORD.findall(question))
        weights[[code for code in asked if code is not None]] = 0.0
        at, which = gather(self.indptr, rows)
        title_at, title_which = gather(self.title_indptr, rows)
        m, words, titles = len(rows), self.words[at], self.title_words[title_at]
        found: tuple[FloatArray, FloatArray] = _shared(
            offsets(which, m), words, offsets(title_which, m), titles, weights
        )
        return found


def naming_index(kb: KnowledgeBase) -> NamingWords:
    """The naming words of a knowledge base's passages, found once."""
    return kb.cached("naming_words", lambda: _build(kb.corpus.contents, kb.corpus.titles))


def _build(contents: Iterable[str], titles: Iterable[str]) -> NamingWords:
    code: dict[str, int] = {}
    indptr, words = _coded(contents, code)
    title_indptr, title_words = _coded(titles, code)
    frequency = np.bincount(words, minlength=len(code))
    rare = np.where(frequency >= 2, rarity(len(indptr) - 1, frequency), 0.0)
    return NamingWords(code, rare, indptr, words, title_indptr, title_words)


def _coded(texts: Iterable[str], code: dict[str, int]) -> tuple[IntArray, IntArray]:
    """The naming words of each text, by numbers that `code` has or is given now."""
    found = [[code.setdefault(word, len(code)) for word in naming_words(text)] for text in texts]
    indptr = np.cumsum([0, *map(len, found)], dtype=np.int64)
    return indptr, np.fromiter((one for each in found for one in each), dtype=np.int64, count=int(indptr[-1]))


@numba.njit(cache=True)
def _shared(
    indptr: IntArray, words: IntArray, title_indptr: IntArray, titles: IntArray, weights: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """See `NamingWords.shared`; `weights` is (n_words,)."""
    m = indptr.shape[0] - 1
    shared, title = np.zeros((m, m)), np.zeros((m, m))
    here = np.zeros(weights.shape[0], dtype=np.bool_)
    for i in range(m):
        for at in range(indptr[i], indptr[i + 1]):
            here[words[at]] = True
        for j in range(m):
            for at in range(indptr[j], indptr[j + 1]):
                if here[words[at]]:
                    shared[i, j] = max(shared[i, j], weights[words[at]])
            found = total = 0.0
            for at in range(title_indptr[j], title_indptr[j + 1]):
                total += weights[titles[at]]
                if here[titles[at]]:
                    found += weights[titles[at]]
            title[i, j] = min(found / max(total, LEAST_TITLE), 1.0)
        for at in range(indptr[i], indptr[i + 1]):
            here[words[at]] = False
    return shared, title
