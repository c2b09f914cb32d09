"""Chunks of another tool, passages of ours -> which chunk holds which passage, by the words that both have in order.

The same documents give other texts in other tools: with Markdown's marks or without, with metadata or a heading before
a chunk, cut at other places, with other blanks. So a passage lies in a chunk where runs of `RUN` words that both have
cover half of the passage, half of the chunk, or `LONG` words (a passage that is cut at the end of a chunk). Runs that
more than `MOST_CHUNKS` chunks share (licences, navigation) say nothing. Linear in the words. Ours.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from kg2rag.text.normalisation import JoinedTexts
from kg2rag.types import IntArray

RUN = 4
LONG = 12
MOST_CHUNKS = 8
_FACTOR = np.uint64(0x9E3779B97F4A7C15)  # odd, of mixed bits: hashes of runs differ where their words do


class Alignment(NamedTuple):
    """(n_pairs,) each, by chunk, then passage: the pairs; `n_words`, `n_placed`: words of all chunks, and those placed.

    A word is placed where a run that a passage of the pair has covers it.
    """

    chunks: IntArray
    passages: IntArray
    n_words: int
    n_placed: int


def align(chunks: Sequence[str], passages: Sequence[str]) -> Alignment:
    """Which passages lie in which chunks, both by place."""
    words = JoinedTexts([*chunks, *passages]).words()
    codes = pa.array(words.strings, pa.string()).dictionary_encode().indices.to_numpy().astype(np.uint64)
    sizes = np.bincount(words.texts, minlength=len(chunks) + len(passages))
    runs, starts = _runs(codes, words.texts)
    of_chunk = words.texts[starts] < len(chunks)
    # Runs of chunks in order of their hash, and for each run of a passage where its equals are.
    order = np.argsort(runs[of_chunk], kind="stable")
    known, at_chunk = runs[of_chunk][order], starts[of_chunk][order]
    sought, at_passage = runs[~of_chunk], starts[~of_chunk]
    first, last = (np.searchsorted(known, sought, side=side) for side in ("left", "right"))
    counts = last - first
    counts[counts > MOST_CHUNKS] = 0
    in_passage = np.repeat(at_passage, counts)
    steps = np.arange(counts.sum()) - np.repeat(np.cumsum(counts) - counts, counts)
    in_chunk = at_chunk[np.repeat(first, counts) + steps]
    pairs, pair = np.unique(words.texts[in_chunk] * len(sizes) + words.texts[in_passage], return_inverse=True)
    chunk, passage = np.divmod(pairs, len(sizes))
    shared = [_covered(pair, place, len(pairs), len(codes)) for place in (in_passage, in_chunk)]
    kept = (2 * shared[0] >= sizes[passage]) | (2 * shared[1] >= sizes[chunk]) | (shared[0] >= LONG)
    placed = _covered(np.zeros(kept[pair].sum(), dtype=np.int64), in_chunk[kept[pair]], 1, len(codes))
    n_words = int(sizes[: len(chunks)].sum())
    return Alignment(chunk[kept], passage[kept] - len(chunks), n_words, int(placed.sum()))


def _runs(codes: NDArray[np.uint64], texts: IntArray) -> tuple[NDArray[np.uint64], IntArray]:
    """The hash of every run of `RUN` words of one text, and the place of its first word."""
    n_runs = max(len(codes) - RUN + 1, 0)
    runs = np.zeros(n_runs, dtype=np.uint64)
    for shift in range(RUN):
        runs = (runs ^ codes[shift : shift + n_runs]) * _FACTOR
        runs ^= runs >> np.uint64(29)
    starts = np.flatnonzero(texts[:n_runs] == texts[RUN - 1 :][:n_runs])
    return runs[starts], starts


def _covered(pair: IntArray, starts: IntArray, n_pairs: int, n_words: int) -> IntArray:
    """(n_pairs,) how many words the runs of each pair cover, each counted once."""
    words = (starts[:, None] + np.arange(RUN)).ravel()
    distinct = np.unique(np.repeat(pair, RUN) * n_words + words)
    return np.bincount(distinct // max(n_words, 1), minlength=n_pairs)
