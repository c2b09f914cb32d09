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

# The minimum of the summed weights of a title's words: a title of common words has little effect.
MIN_TITLE_WEIGHT = 0.05


def naming_words(text: str) -> list[str]:
    """The distinct naming words of a text, normalised and sorted.

    Naming words are capitalised words of two letters or more, and numbers of three digits or more.
    """
    return sorted({_naming_key(word) for word in WORD.findall(text)} - {""})


@lru_cache(maxsize=1 << 16)
def _naming_key(word: str) -> str:
    """The normalised form of a naming word; "" for any other word."""
    is_capitalised = len(word) > 1 and word[0].isupper()
    is_number = len(word) > 2 and word.isdigit()
    if not is_capitalised and not is_number:
        return ""
    key = normalise(word)
    return "" if key in FUNCTION_WORDS else key


def rarity(n_passages: int, frequency: NDArray[np.integer]) -> FloatArray:
    """ln((1 + N) / (df + 1/2)) / ln(1 + N): near 1 for a word of one passage, near 0 for one of all.

    `frequency` : (n_words,) the document frequency df of each word. N is `n_passages`.
    """
    rarities: FloatArray = np.log((1 + n_passages) / (frequency + 0.5)) / np.log(
        1 + n_passages
    )
    return rarities


@dataclass(frozen=True)
class NamingWords:
    """The naming words of a corpus, in CSR form.

    Attributes
    ----------
    code : word -> its code, 0 to n_words - 1.
    rarity : (n_words,) the `rarity` of each word; 0 for a word of a single passage, which no other shares.
    indptr, words : the codes of the words of passage `i` are `words[indptr[i]:indptr[i + 1]]`.
    title_indptr, title_words : the codes of the words of its title, in the same form.
    """

    code: dict[str, int]
    rarity: FloatArray
    indptr: IntArray
    words: IntArray
    title_indptr: IntArray
    title_words: IntArray

    def shared(self, question: str, rows: IntArray) -> tuple[FloatArray, FloatArray]:
        """The matrices shared_word and title_words over m passages, (m, m) each, in [0, 1].

        - shared_word[i, j]: the maximum rarity of a naming word that passages i and j have and the question lacks; 0
          without such a word.
        - title_words[i, j]: the share, weighted by rarity, of the naming words in the title of j, without those of the
          question, that passage i has. The denominator is at least `MIN_TITLE_WEIGHT`.

        `rows` : (m,) corpus rows.
        """
        entries, passages = gather(self.indptr, rows)
        title_entries, title_passages = gather(self.title_indptr, rows)
        words = np.append(self.words[entries], self.title_words[title_entries])
        distinct, indices = np.unique(words, return_inverse=True)
        question_words = [
            self.code.get(normalise(word), -1) for word in WORD.findall(question)
        ]
        in_question = np.isin(distinct, question_words)
        m = len(rows)
        matrices: tuple[FloatArray, FloatArray] = _shared(
            offsets(passages, m),
            indices[: len(entries)],
            offsets(title_passages, m),
            indices[len(entries) :],
            np.where(in_question, 0.0, self.rarity[distinct]),
        )
        return matrices


def naming_index(kb: KnowledgeBase) -> NamingWords:
    """The naming words of a knowledge base's passages, built once."""
    return kb.cached(
        "naming_words", lambda: _build(kb.corpus.contents, kb.corpus.titles)
    )


def _build(contents: Iterable[str], titles: Iterable[str]) -> NamingWords:
    """The naming words of passages, given their contents (title and text) and titles."""
    code: dict[str, int] = {}
    indptr, words = _word_codes(contents, code)
    title_indptr, title_words = _word_codes(titles, code)
    frequency = np.bincount(words, minlength=len(code))
    rarities = np.where(frequency >= 2, rarity(len(indptr) - 1, frequency), 0.0)
    return NamingWords(code, rarities, indptr, words, title_indptr, title_words)


def _word_codes(
    texts: Iterable[str], code: dict[str, int]
) -> tuple[IntArray, IntArray]:
    """The codes of the naming words of each text, as `indptr` and `words` of `NamingWords`.

    New words get the next codes and are added to `code`.
    """
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
    """The matrices of `NamingWords.shared`.

    `words`, `titles` : indices into `weights`, which has the weight of each distinct word.
    """
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
            title[i, j] = min(common / max(total, MIN_TITLE_WEIGHT), 1.0)
        in_row[words[indptr[i] : indptr[i + 1]]] = False
    return shared, title
