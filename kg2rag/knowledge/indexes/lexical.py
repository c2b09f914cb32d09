"""Words -> rows by BM25: bm25s with English stop words and the Snowball stemmer.

[1] Robertson & Zaragoza, "The Probabilistic Relevance Framework", 2009. [2] Kamphuis et al., "Which BM25 do you mean?",
ECIR 2020, for the variants. [3] Lù, "BM25S", 2024.
"""

from __future__ import annotations

import re
from array import array
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import Annotated, Any

import numpy as np

from kg2rag.text.code_names import split
from kg2rag.types import FloatArray, Share, Weight, component, one_of

VERSION = 2
"""Part of the index's key in the store: raise it where the terms of a text, or what is stored of them, change."""
VARIANTS = ("atire", "bm25+", "bm25l", "lucene", "robertson")
STEMMERS = ("none", "porter", "snowball")
_WORD = re.compile(r"\w+", re.UNICODE)
_NO_TERMS = "no_terms.json"  # the number of rows of a corpus without a single term, which bm25s refuses


@component
class LexicalSettings:
    """How text becomes terms, and terms become scores.

    Parameters
    ----------
    k1 : term-frequency saturation, at least 0.
    b : length normalisation, in [0, 1].
    variant : one of `VARIANTS` [2].
    stemmer : one of `STEMMERS`; "snowball" is the English Snowball stemmer (Porter 2).
    stop_words : whether bm25s's English stop words are left out.
    """

    k1: Weight = 0.9
    b: Share = 0.4
    variant: Annotated[str, one_of(VARIANTS)] = "lucene"
    stemmer: Annotated[str, one_of(STEMMERS)] = "snowball"
    stop_words: bool = True

    def terms(self, text: str) -> list[str]:
        """The terms of a text, in order; numbers and single letters are terms too, and the parts of an identifier."""
        from bm25s.stopwords import STOPWORDS_EN

        stop = STOPWORDS_EN if self.stop_words else ()
        words = [word for written in _WORD.findall(text) for word in _spellings(written) if word not in stop]
        stem = _stemmer(self.stemmer)
        return words if stem is None else list(stem.stemWords(words))


def _spellings(written: str) -> list[str]:
    """A word in lower case and, of an identifier, its parts beside it.

    >>> _spellings("StreamingTextResponse"), _spellings("Word")
    (['streamingtextresponse', 'streaming', 'text', 'response'], ['word'])
    """
    words = _WORD.findall(written.lower())
    if "_" not in written and (written[1:].islower() or written.isupper() or written.isdigit()):
        return words
    parts = split(written)
    return words + [part.lower() for part in parts] if len(parts) > 1 else words


class LexicalIndex:
    """BM25 over a corpus; build with `LexicalIndex.write`, then open the folder it wrote."""

    def __init__(self, folder: Path, settings: LexicalSettings) -> None:
        import bm25s

        self.settings = settings
        self._index: Any = None
        if (empty := folder / _NO_TERMS).is_file():
            self._n_rows = int(empty.read_text())
            return
        self._index = bm25s.BM25.load(folder, mmap=True, show_progress=False)
        self._n_rows = self._index.scores["num_docs"]
        for name, part in self._index.scores.items():
            if isinstance(part, np.memmap):  # every slice of one makes another
                self._index.scores[name] = np.asarray(part)

    @staticmethod
    def write(folder: Path, contents: Iterable[str], settings: LexicalSettings) -> None:
        """Index `contents`, one text a row, into `folder`; each text is read once, and only its terms' codes kept."""
        import bm25s

        vocabulary: dict[str, int] = {}
        known: dict[str, list[int]] = {}  # word as written -> the codes of its terms
        rows: list[array[int]] = []  # lists of numbers would take ten times the memory
        for text in contents:
            rows.append(array("i"))
            for word in _WORD.findall(text):
                if word not in known:
                    known[word] = [vocabulary.setdefault(term, len(vocabulary)) for term in settings.terms(word)]
                rows[-1].extend(known[word])
        if not vocabulary:
            (folder / _NO_TERMS).write_text(str(len(rows)))
            return
        index = bm25s.BM25(k1=settings.k1, b=settings.b, method=settings.variant)
        index.index((rows, vocabulary), show_progress=False)
        index.save(folder, show_progress=False)

    def scores(self, query: str) -> FloatArray:
        """(n_rows,) BM25 of every row; 0 where a row has none of the query's terms."""
        known = self._index.get_tokens_ids(self.settings.terms(query)) if self._index is not None else []
        if self._index is None or not known:
            return np.zeros(self._n_rows)
        ids = np.asarray(known, dtype=np.int32)
        scores = self._index.get_scores_from_ids(ids)
        absent = self._index.nonoccurrence_array  # what "bm25l" and "bm25+" give to a row that lacks the term
        if absent is not None:
            scores[scores <= absent[ids].sum().astype(scores.dtype)] = 0
        found: FloatArray = scores.astype(np.float64)
        return found


def stem(word: str) -> str:
    """The Snowball stem of an English word in lower case."""
    found: str = _stemmer("snowball").stemWord(word)
    return found


@cache
def _stemmer(name: str) -> Any:
    import Stemmer

    return {"none": None, "snowball": Stemmer.Stemmer("english"), "porter": Stemmer.Stemmer("porter")}[name]
