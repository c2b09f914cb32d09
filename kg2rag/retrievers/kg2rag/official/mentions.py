"""A question -> the names that it seems to mention, by shared character n-grams: the released KG2RAG's test.

It is generous: n-grams run over the name without its blanks, so across words, and a name
that is shorter than one n-gram once its punctuation is gone counts as mentioned by every question.
"""

from __future__ import annotations

import string
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np

from kg2rag.types.arrays import IntArray
from kg2rag.types.passages import Triple

LONGEST = 3  # characters of an n-gram
SMOOTHING = 0.01
THRESHOLD = 0.90


@lru_cache(maxsize=200_000)
def grams(text: str, n: int) -> frozenset[str]:
    """The n-grams of a text without its blanks and its tokens of punctuation."""
    joined = "".join(token for token in text.lower().split() if token not in string.punctuation)
    return frozenset(joined[start : start + n] for start in range(len(joined) - n + 1))


@dataclass(frozen=True)
class QuestionText:
    """A question, and whether names whose n-grams are all gone count as mentioned."""

    text: str
    short_spans_match: bool = True

    def mentions(self, name: str) -> bool:
        """Whether nine tenths of the name's n-grams are in the question.

        >>> QuestionText("Who directed Ed Wood?").mentions("Ed Wood")
        True
        """
        n = min(LONGEST, len(name), len(self.text))
        if n == 0:
            return False
        own = grams(name, n)
        if not own:
            return self.short_spans_match
        return _enough(len(own & grams(self.text, n)), len(own))


def _enough(shared: int, own: int) -> bool:
    return (shared + SMOOTHING) / (own + SMOOTHING) >= THRESHOLD


class Titles:
    """Many titles, tested at once for being mentioned by a question."""

    def __init__(self, titles: Sequence[str]) -> None:
        self.titles = titles

    def mentioned(self, question: QuestionText) -> list[str]:
        """Those that `question.mentions`, in their order."""
        if len(question.text) < LONGEST:  # then n depends on the question, and the index does not apply
            return [title for title in self.titles if question.mentions(title)]
        shared = np.zeros(len(self.titles), dtype=np.int64)
        for n in range(1, LONGEST + 1):
            for gram in grams(question.text, n):
                if (rows := self._postings.get(gram)) is not None:
                    shared[rows] += 1
        enough = (shared + SMOOTHING) / (self._sizes + SMOOTHING) >= THRESHOLD
        enough &= (self._sizes > 0) | question.short_spans_match
        enough &= self._lengths > 0
        return [self.titles[i] for i in np.flatnonzero(enough).tolist()]

    @cached_property
    def _grams(self) -> list[frozenset[str]]:
        return [grams(title, min(LONGEST, len(title))) if title else frozenset() for title in self.titles]

    @cached_property
    def _lengths(self) -> IntArray:
        return np.array([len(title) for title in self.titles], dtype=np.int64)

    @cached_property
    def _sizes(self) -> IntArray:
        return np.array([len(own) for own in self._grams], dtype=np.int64)

    @cached_property
    def _postings(self) -> dict[str, IntArray]:
        """n-gram -> the titles that have it; a title has n-grams of one n only."""
        postings: dict[str, list[int]] = {}
        for i, own in enumerate(self._grams):
            for gram in own:
                postings.setdefault(gram, []).append(i)
        return {gram: np.array(rows, dtype=np.int64) for gram, rows in postings.items()}


def mentioned_names(question: QuestionText, titles: Sequence[str], triples: Sequence[Triple]) -> list[str]:
    """The titles given, the ends of triples that the question mentions, and what follows from those.

    One pass in order: where a relation and one end are mentioned, so is the other end from there on.
    """
    found = dict.fromkeys(titles)
    found.update(dict.fromkeys(end for end in _ends(triples) if end not in found and question.mentions(end)))
    relations = {triple.relation: question.mentions(triple.relation) for triple in triples}
    for triple in triples:
        if relations[triple.relation] and (triple.head in found or triple.tail in found):
            found.update(dict.fromkeys((triple.head, triple.tail)))
    return list(found)


def _ends(triples: Sequence[Triple]) -> Iterator[str]:
    return iter(dict.fromkeys(end for triple in triples for end in (triple.head, triple.tail)))
