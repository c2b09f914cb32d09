"""A corpus -> stretches of neighbouring passages and their sentences, to be read apart from each other."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain, pairwise

import numpy as np

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
