"""Passages and questions -> the naming words that two passages share. Ours."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from itertools import chain

import numba
import numpy as np
from numpy.typing import NDArray

from kg2rag.knowledge import KnowledgeBase
from kg2rag.knowledge.graph.csr import gather, offsets
from kg2rag.text.normalisation import FUNCTION_WORDS, WORD, normalise
from kg2rag.types import (
    FloatArray,
    IntArray,
)

# The minimum weight of a title's words together, so that a title of common words has little effect.
LEAST_TITLE = 0.05


def naming_words(text: str) -> list[str]:
    """The distinct naming words of a text, normalised and sorted.

    Naming words are capitalised words of two letters or more, and numbers of three digits or more.
    """
    return sorted(
        {key for word in set(WORD.findall(text)) if (key := _naming_key(word))}
    )


@lru_cache(maxsize=1 << 16)
def _naming_key(word: str) -> str:
    """The normalised word; "" if it names nothing."""
    if not (len(word) > 1 and word[0].isupper()) and not (
        len(word) > 2 and word.isdigit()
    ):
        return ""
    key = normalise(word)
    return "" if key in FUNCTION_WORDS else key


def rarity(n_passages: int, frequency: NDArray[np.integer]) -> FloatArray:
    """ln((1 + N) / (df + 1/2)) / ln(1 + N): 1 for a word of one passage, near 0 for common ones."""
    rarities: FloatArray = np.log((1 + n_passages) / (frequency + 0.5)) / np.log(
        1 + n_passages
    )
    return rarities


@dataclass(frozen=True)
class NamingWords:
    """The naming words of a corpus, in CSR form.

    Attributes
    ----------
    code : word -> its number.
    rarity : (n_words,) of each; 0 for a word of a single passage, which nothing shares.
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
        entries, passages = gather(self.indptr, rows)
        title_entries, titled = gather(self.title_indptr, rows)
        words = np.append(self.words[entries], self.title_words[title_entries])
        distinct, numbers = np.unique(words, return_inverse=True)
        asked = [self.code.get(normalise(word), -1) for word in WORD.findall(question)]
        weights = np.where(np.isin(distinct, asked), 0.0, self.rarity[distinct])
        m = len(rows)
        shares: tuple[FloatArray, FloatArray] = _shared(
            offsets(passages, m),
            numbers[: len(entries)],
            offsets(titled, m),
            numbers[len(entries) :],
            weights,
        )
        return shares


def naming_index(kb: KnowledgeBase) -> NamingWords:
    """The naming words of a knowledge base's passages, found once."""
    return kb.cached(
        "naming_words", lambda: _build(kb.corpus.contents, kb.corpus.titles)
    )


def _build(contents: Iterable[str], titles: Iterable[str]) -> NamingWords:
    code: dict[str, int] = {}
    indptr, words = _coded(contents, code)
    title_indptr, title_words = _coded(titles, code)
    frequency = np.bincount(words, minlength=len(code))
    rare = np.where(frequency >= 2, rarity(len(indptr) - 1, frequency), 0.0)
    return NamingWords(code, rare, indptr, words, title_indptr, title_words)


def _coded(texts: Iterable[str], code: dict[str, int]) -> tuple[IntArray, IntArray]:
    """The naming words of each text, by numbers that `code` has or is given now."""
    codes = [
        [code.setdefault(word, len(code)) for word in naming_words(text)]
        for text in texts
    ]
    indptr = np.cumsum([0, *map(len, codes)], dtype=np.int64)
    return indptr, np.fromiter(
        chain.from_iterable(codes), dtype=np.int64, count=int(indptr[-1])
    )


@numba.njit(cache=True)
def _shared(
    indptr: IntArray,
    words: IntArray,
    title_indptr: IntArray,
    titles: IntArray,
    weights: FloatArray,
) -> tuple[FloatArray, FloatArray]:
    """See `NamingWords.shared`; `words` and `titles` are places in `weights`, which has each word once."""
    m = indptr.shape[0] - 1
    shared = np.zeros((m, m))
    title = np.zeros((m, m))
    in_row = np.zeros(weights.shape[0], dtype=np.bool_)
    for i in range(m):
        in_row[words[indptr[i] : indptr[i + 1]]] = True
        for j in range(m):
            for word in words[indptr[j] : indptr[j + 1]]:
                if in_row[word]:
                    shared[i, j] = max(shared[i, j], weights[word])
            common = total = 0.0
            for word in titles[title_indptr[j] : title_indptr[j + 1]]:
                total += weights[word]
                if in_row[word]:
                    common += weights[word]
            title[i, j] = min(common / max(total, LEAST_TITLE), 1.0)
        in_row[words[indptr[i] : indptr[i + 1]]] = False
    return shared, title
