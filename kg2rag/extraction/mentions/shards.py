"""A corpus -> stretches of neighbouring passages and their sentences, to be read apart from each other.

The sentences that mention something are texts that are made when they are read.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, pairwise
from typing import overload

import numpy as np
from numpy.typing import NDArray

from kg2rag.extraction.mentions.table import MentionTable
from kg2rag.text.normalisation import split_sentences
from kg2rag.types import Corpus, IntArray

SIZE = 1 << 23
"""Bytes of text after which a shard ends: a process takes about a hundred times as much while it reads one."""


@dataclass(frozen=True)
class Shard:
    """Neighbouring passages.

    Attributes
    ----------
    first : the row of the first one.
    texts, given : of each passage the text, and the sentence split of its source or None.
    """

    first: int
    texts: list[str]
    given: list[list[str] | None]

    def sentences(self) -> list[list[str]]:
        """The sentences of every passage, as `Corpus.sentences` has them."""
        pairs = zip(self.texts, self.given, strict=True)
        return [split_sentences(text) if given is None else given for text, given in pairs]

    def numbered_sentences(self) -> tuple[list[str], IntArray, IntArray]:
        """Every sentence, with the row of its passage in the corpus and its place among the passage's sentences."""
        split = self.sentences()
        lengths = np.fromiter(map(len, split), dtype=np.int64, count=len(split))
        rows = np.repeat(np.arange(self.first, self.first + len(split)), lengths)
        numbers = np.arange(len(rows)) - np.repeat(np.cumsum(lengths) - lengths, lengths)
        return list(chain.from_iterable(split)), rows, numbers


def shard_starts(corpus: Corpus, size: int) -> list[int]:
    """The rows at which shards of about `size` bytes of text begin, and the number of passages."""
    import pyarrow.compute as pc

    before = np.cumsum(pc.binary_length(corpus.table["text"]).to_numpy()) // size
    return [0, *(np.flatnonzero(np.diff(before)) + 1).tolist(), len(corpus)]


def shards_of(corpus: Corpus, size: int = SIZE) -> Iterator[Shard]:
    """The corpus in shards of about `size` bytes of text."""
    starts = shard_starts(corpus, size)
    for start, end in pairwise(starts):
        yield shard_of(corpus, start, end)


def shard_of(corpus: Corpus, start: int, end: int) -> Shard:
    """The passages from row `start` to before row `end`."""
    part = corpus.table.slice(start, end - start)
    return Shard(start, part["text"].to_pylist(), part["sentences"].to_pylist())


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


def mention_sentences(table: MentionTable, corpus: Corpus) -> tuple[IntArray, SentenceTexts]:
    """The place of each mention's sentence in a list of texts, and that list: "title: sentence", each once."""
    # Mentions are sorted by passage and sentence.
    first = np.ones(len(table.row), dtype=bool)
    first[1:] = (table.row[1:] != table.row[:-1]) | (table.sentence[1:] != table.sentence[:-1])
    return np.cumsum(first) - 1, SentenceTexts(corpus, table.row[first], table.sentence[first])
