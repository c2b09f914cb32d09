"""Chunks of another tool and passages of the corpus -> the passages in each chunk, by common words.

Tools give different texts of the same documents: with or without Markdown's marks, with metadata or a
heading before a chunk, cut at other positions, with other blanks. A passage therefore lies in a chunk
if runs of `RUN` words that both have cover half of the passage, half of the chunk, or `LONG` words (a
passage that is cut at the end of a chunk). Runs in more than `MOST_CHUNKS` positions of chunks
(licences, navigation) are ignored. The time is linear in the words. Ours.
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
    """The pairs of a chunk and a passage that lies in it.

    Attributes
    ----------
    chunks, passages : (n_pairs,) the indices of the chunk and of the passage, by chunk, then passage.
    n_words : the number of words in all chunks.
    n_placed : the number of these that a run in common with a passage of a pair covers.
    """

    chunks: IntArray
    passages: IntArray
    n_words: int
    n_placed: int


def align(chunks: Sequence[str], passages: Sequence[str]) -> Alignment:
    """The pairs of a chunk and a passage that lies in it, with the coverage of the chunks' words."""
    words = JoinedTexts([*chunks, *passages]).words()
    dictionary = pa.array(words.strings, pa.string()).dictionary_encode()
    codes = dictionary.indices.to_numpy().astype(np.uint64)
    sizes = np.bincount(words.texts, minlength=len(chunks) + len(passages))
    in_chunk, in_passage = _shared_runs(codes, words.texts, len(chunks))
    pairs, pair_of_run = np.unique(
        words.texts[in_chunk] * len(sizes) + words.texts[in_passage],
        return_inverse=True,
    )
    chunk, passage = np.divmod(pairs, len(sizes))
    passage_words = _count_covered(pair_of_run, in_passage, len(pairs), len(codes))
    chunk_words = _count_covered(pair_of_run, in_chunk, len(pairs), len(codes))
    lies_in = (
        (2 * passage_words >= sizes[passage])
        | (2 * chunk_words >= sizes[chunk])
        | (passage_words >= LONG)
    )
    n_words = int(sizes[: len(chunks)].sum())
    n_placed = len(np.unique(_run_words(in_chunk[lies_in[pair_of_run]])))
    return Alignment(chunk[lies_in], passage[lies_in] - len(chunks), n_words, n_placed)


def _shared_runs(
    codes: NDArray[np.uint64], texts: IntArray, n_chunks: int
) -> tuple[IntArray, IntArray]:
    """The positions of equal runs in a chunk and in a passage, (n_shared,) each.

    The position of a run is that of its first word. A run of a passage in more than `MOST_CHUNKS` positions
    of chunks is left out.

    `codes`, `texts` : (n_words,) the code and the text of each word; chunks are the first `n_chunks` texts.
    """
    runs, starts = _runs(codes, texts)
    of_chunk = texts[starts] < n_chunks
    # The runs of chunks are sorted by hash, so that equal ones are neighbours.
    order = np.argsort(runs[of_chunk], kind="stable")
    chunk_runs = runs[of_chunk][order]
    chunk_starts = starts[of_chunk][order]
    first = np.searchsorted(chunk_runs, runs[~of_chunk], side="left")
    counts = np.searchsorted(chunk_runs, runs[~of_chunk], side="right") - first
    counts[counts > MOST_CHUNKS] = 0
    # 0, 1, … for the equal runs of each run of a passage.
    steps = np.arange(counts.sum()) - np.repeat(np.cumsum(counts) - counts, counts)
    in_chunk = chunk_starts[np.repeat(first, counts) + steps]
    return in_chunk, np.repeat(starts[~of_chunk], counts)


def _runs(
    codes: NDArray[np.uint64], texts: IntArray
) -> tuple[NDArray[np.uint64], IntArray]:
    """The hash of every run of `RUN` words of one text, and the position of its first word."""
    n_runs = max(len(codes) - RUN + 1, 0)
    runs = np.zeros(n_runs, dtype=np.uint64)
    for shift in range(RUN):
        runs = (runs ^ codes[shift : shift + n_runs]) * _FACTOR
        runs ^= runs >> np.uint64(29)
    starts = np.flatnonzero(texts[:n_runs] == texts[RUN - 1 :][:n_runs])
    return runs[starts], starts


def _run_words(starts: IntArray) -> IntArray:
    """(n_runs · RUN,) the positions of the words of runs, given those of their first words."""
    positions: IntArray = (starts[:, None] + np.arange(RUN)).ravel()
    return positions


def _count_covered(
    pair_of_run: IntArray, starts: IntArray, n_pairs: int, n_words: int
) -> IntArray:
    """(n_pairs,) the number of distinct words that the runs of each pair cover."""
    # A word of a pair is coded as pair · n_words + position.
    codes = np.unique(np.repeat(pair_of_run, RUN) * n_words + _run_words(starts))
    return np.bincount(codes // max(n_words, 1), minlength=n_pairs)
