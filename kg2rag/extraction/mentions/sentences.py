"""A mention table and its corpus -> the sentences that mention something, as texts that are made when they are read."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import overload

import numpy as np
from numpy.typing import NDArray

from kg2rag.extraction.mentions.shards import shard_of
from kg2rag.extraction.mentions.table import MentionTable
from kg2rag.types import Corpus, IntArray

_AT_ONCE = 4096  # texts that are made together


@dataclass(frozen=True, eq=False)
class SentenceTexts(Sequence[str]):
    """Sentences of a corpus, each as "title: sentence"; no text is held.

    Attributes
    ----------
    rows, numbers : (n_texts,) the passage of each, ascending, and its place among the passage's sentences.
    """

    corpus: Corpus
    rows: NDArray[np.int32]
    numbers: NDArray[np.int32]

    def __len__(self) -> int:
        return len(self.rows)

    @overload
    def __getitem__(self, index: int) -> str: ...
    @overload
    def __getitem__(self, index: slice) -> list[str]: ...
    def __getitem__(self, index: int | slice) -> str | list[str]:
        if isinstance(index, slice):
            places = np.arange(len(self))[index]
            return self._made(self.rows[places], self.numbers[places])
        place = range(len(self))[index]
        return self._made(self.rows[place : place + 1], self.numbers[place : place + 1])[0]

    def __iter__(self) -> Iterator[str]:
        for start in range(0, len(self), _AT_ONCE):
            yield from self[start : start + _AT_ONCE]

    def _made(self, rows: NDArray[np.int32], numbers: NDArray[np.int32]) -> list[str]:
        if not len(rows):
            return []
        first, titles = int(rows.min()), self.corpus.titles
        split = shard_of(self.corpus, first, int(rows.max()) + 1).sentences()
        pairs = zip(rows.tolist(), numbers.tolist(), strict=True)
        return [
            f"{title}: {split[row - first][number]}" if (title := titles[row]) else split[row - first][number]
            for row, number in pairs
        ]


def sentence_places(table: MentionTable) -> IntArray:
    """(n_mentions,) the place of each mention's sentence among those that mention something."""
    return np.cumsum(_first_of_each(table)) - 1


def mention_sentences(table: MentionTable, corpus: Corpus) -> tuple[IntArray, SentenceTexts]:
    """The place of each mention's sentence in a list of texts, and that list: "title: sentence", each once."""
    first = _first_of_each(table)
    return np.cumsum(first) - 1, SentenceTexts(corpus, table.row[first], table.sentence[first])


def _first_of_each(table: MentionTable) -> NDArray[np.bool_]:
    """(n_mentions,) whether a mention is the first of its sentence; they are sorted by passage and sentence."""
    first = np.ones(len(table.row), dtype=bool)
    first[1:] = (table.row[1:] != table.row[:-1]) | (table.sentence[1:] != table.sentence[:-1])
    return first
