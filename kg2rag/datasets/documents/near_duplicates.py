"""A corpus -> its near-duplicates, by MinHash [1] and the exact similarity of what it proposes.

[1] Broder, "On the resemblance and containment of documents", SEQUENCES 1997. Runs of five words
are hashed; passages that agree in a band of four of 64 minima are compared.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from kg2rag.text.scripts import words
from kg2rag.types import Corpus

if TYPE_CHECKING:
    import pandas as pd

ALIKE = 0.8
"""Share of their runs of five words, of all that either has, from which two passages are near-duplicates."""
BANDS, BAND_ROWS = 16, 4
"""Two passages of similarity 0.8 share one of 16 bands of 4 minima with probability 0.9998."""
COMPARED = 4
"""Earlier passages of a band that each passage is compared with."""

RUN_WORDS = 5


def near_duplicates(corpus: Corpus) -> pd.DataFrame:
    """Passages that nearly repeat an earlier one: passage, of, similarity; each once, with the first like it."""
    import pandas as pd
    from sklearn.feature_extraction.text import HashingVectorizer

    hashing = HashingVectorizer(
        analyzer=_runs, binary=True, norm=None, alternate_sign=False, n_features=1 << 24
    )
    runs = hashing.transform(corpus.table["text"].to_pylist()).astype(np.float32)
    runs.sort_indices()
    earlier = dict[int, tuple[int, float]]()
    for rows, earlier_rows in _candidates(runs):
        similarities = _similarity(runs, rows, earlier_rows)
        for index in np.flatnonzero(similarities >= ALIKE).tolist():
            row, earlier_row = int(rows[index]), int(earlier_rows[index])
            if row not in earlier or earlier_row < earlier[row][0]:
                earlier[row] = earlier_row, float(similarities[index])
    ids = corpus.ids
    table = [
        (ids[row], ids[earlier_row], round(value, 3))
        for row, (earlier_row, value) in sorted(earlier.items())
    ]
    return pd.DataFrame(table, columns=["passage", "of", "similarity"])


def _runs(text: str) -> list[str]:
    """The runs of five words of a text; a shorter text is one run."""
    text_words = words(text)
    if len(text_words) < RUN_WORDS:
        return [" ".join(text_words) or text]
    return [
        " ".join(text_words[start : start + RUN_WORDS])
        for start in range(len(text_words) - RUN_WORDS + 1)
    ]


def _candidates(runs: Any) -> Iterator[tuple[NDArray[np.int64], NDArray[np.int64]]]:
    """Pairs of rows (later, earlier) that share a band: each row with the first few of its bucket.

    `runs` : (n_passages, 2^24), sparse: the runs of five words that a passage has.
    """
    starts = runs.indptr[:-1]
    random = np.random.default_rng(0)
    for _ in range(BANDS):
        bucket = np.zeros(len(starts), dtype=np.uint64)
        for _ in range(BAND_ROWS):
            multiplier, offset = (
                int(number) for number in random.integers(1, 1 << 62, size=2)
            )
            hashed = runs.indices.astype(np.uint64) * np.uint64(
                multiplier | 1
            ) + np.uint64(offset)
            hashed ^= hashed >> np.uint64(29)
            hashed *= np.uint64(0xBF58476D1CE4E5B9)
            minima = np.minimum.reduceat(hashed >> np.uint64(16), starts)
            bucket = bucket * np.uint64(0x9E3779B97F4A7C15) + minima
        order = np.argsort(bucket, kind="stable")
        ordered = bucket[order]
        begins = np.flatnonzero(np.append(True, ordered[1:] != ordered[:-1]))
        sizes = np.diff(np.append(begins, len(ordered)))
        first = np.repeat(begins, sizes)
        places = np.arange(len(ordered))
        for step in range(COMPARED):
            followers = np.flatnonzero(places > first + step)
            yield order[followers], order[first[followers] + step]


def _similarity(
    runs: Any, rows: NDArray[np.int64], partners: NDArray[np.int64]
) -> NDArray[np.float64]:
    """Jaccard similarity of the runs of pairs of rows, (n_pairs,)."""
    sizes = np.diff(runs.indptr)
    similarities = np.empty(len(rows))
    for start in range(0, len(rows), 50_000):
        part = slice(start, start + 50_000)
        shared = np.asarray(
            runs[rows[part]].multiply(runs[partners[part]]).sum(axis=1)
        ).ravel()
        similarities[part] = shared / (
            sizes[rows[part]] + sizes[partners[part]] - shared
        )
    return similarities
