"""Chunks of another tool, passages of ours -> the passages in each chunk, by common words.

The same documents give other texts in other tools: with Markdown's marks or without, with metadata
or a heading before a chunk, cut at other places, with other blanks. So a passage lies in a chunk
where runs of `RUN` words that both have cover half of the passage, half of the chunk, or `LONG`
words (a passage that is cut at the end of a chunk). Runs that more than `MOST_CHUNKS` chunks share
(licences, navigation) say nothing. Linear in the words. Ours.
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
# An odd number of mixed bits, so that different runs of words have different hashes.
_FACTOR = np.uint64(0x9E3779B97F4A7C15)


class Alignment(NamedTuple):
    """The pairs of chunk and passage, (n_pairs,) each, by chunk, then passage.

    `n_words` : the words of all chunks. `n_placed` : those found in passages.

    A word is placed where a run that a passage of the pair has covers it.
    """

    chunks: IntArray
    passages: IntArray
    n_words: int
    n_placed: int


def align(chunks: Sequence[str], passages: Sequence[str]) -> Alignment:
    """Which passages lie in which chunks, both by place."""
    words = JoinedTexts([*chunks, *passages]).words()
    dictionary = pa.array(words.strings, pa.string()).dictionary_encode()
    codes = dictionary.indices.to_numpy().astype(np.uint64)
    sizes = np.bincount(words.texts, minlength=len(chunks) + len(passages))
    runs, starts = _runs(codes, words.texts)
    of_chunk = words.texts[starts] < len(chunks)
    # The runs of chunks sorted by hash, and the equal ones of each run of a passage.
    order = np.argsort(runs[of_chunk], kind="stable")
    chunk_runs = runs[of_chunk][order]
    chunk_starts = starts[of_chunk][order]
    first = np.searchsorted(chunk_runs, runs[~of_chunk], side="left")
    counts = np.searchsorted(chunk_runs, runs[~of_chunk], side="right") - first
    counts[counts > MOST_CHUNKS] = 0
    in_passage = np.repeat(starts[~of_chunk], counts)
    steps = np.arange(counts.sum()) - np.repeat(np.cumsum(counts) - counts, counts)
    in_chunk = chunk_starts[np.repeat(first, counts) + steps]
    pairs, pair = np.unique(
        words.texts[in_chunk] * len(sizes) + words.texts[in_passage],
        return_inverse=True,
    )
    chunk, passage = np.divmod(pairs, len(sizes))
    passage_words = _covered(pair, in_passage, len(pairs), len(codes))
    chunk_words = _covered(pair, in_chunk, len(pairs), len(codes))
    lies_in = (
        (2 * passage_words >= sizes[passage])
        | (2 * chunk_words >= sizes[chunk])
        | (passage_words >= LONG)
    )
    placed_starts = in_chunk[lies_in[pair]]
    placed_words = _covered(
        np.zeros(len(placed_starts), dtype=np.int64), placed_starts, 1, len(codes)
    )
    n_words = int(sizes[: len(chunks)].sum())
    return Alignment(
        chunk[lies_in], passage[lies_in] - len(chunks), n_words, int(placed_words.sum())
    )


def _runs(
    codes: NDArray[np.uint64], texts: IntArray
) -> tuple[NDArray[np.uint64], IntArray]:
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
