"""Texts -> those that nearly repeat an earlier one, without comparing every pair.

Texts are sets of hashed word 4-grams. Two texts are compared when one of each one's SKETCH smallest shingle hashes is
the same (bottom-k sketches, Broder 1997): with a Jaccard similarity J, the smallest hash of their union is in both with
probability J, as is each one after it, so about (1 - J) ** SKETCH of such pairs are missed: three in a million at 0.8.
The comparison itself is exact.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from kg2rag.text.normalisation import normalise

THRESHOLD = 0.8
SHINGLE = 4
SKETCH = 8
BUCKET = 40
"""Texts that share one shingle: up to so many are compared pair by pair, more only with their neighbours, since a
shingle of many texts is boilerplate."""


def near_duplicates(texts: Sequence[str], threshold: float = THRESHOLD) -> list[tuple[int, int]]:
    """Pairs (text, earlier text) whose shingles have a Jaccard similarity of at least `threshold`.

    Each text is listed at most once, with the first text it repeats; ordered by the text. Texts shorter than a shingle
    count as one shingle.
    """
    shingles = [hashed_shingles(text) for text in texts]
    first: dict[int, int] = {}
    for earlier, later in sorted(set(_candidates(shingles))):
        if later not in first and _jaccard(shingles[earlier], shingles[later]) >= threshold:
            first[later] = earlier
    return sorted(first.items())


def hashed_shingles(text: str) -> NDArray[np.uint64]:
    """The distinct hashes of a text's word 4-grams, ascending."""
    from pandas.util import hash_array

    words = normalise(text).split()
    if not words:
        return np.empty(0, dtype=np.uint64)
    grams = [" ".join(words[start : start + SHINGLE]) for start in range(max(1, len(words) - SHINGLE + 1))]
    # Keyed with a constant of its own: equal in every process, unlike `hash`.
    return np.unique(hash_array(np.array(grams, dtype=object), categorize=False))


def _candidates(shingles: Sequence[NDArray[np.uint64]]) -> Iterator[tuple[int, int]]:
    sketches = [row[:SKETCH] for row in shingles]
    owners = np.repeat(np.arange(len(sketches)), [len(sketch) for sketch in sketches])
    hashes = np.concatenate([*sketches, np.empty(0, dtype=np.uint64)])
    order = np.lexsort((owners, hashes))
    owners, hashes = owners[order], hashes[order]
    starts = np.flatnonzero(np.r_[True, hashes[1:] != hashes[:-1]]) if len(hashes) else np.empty(0, dtype=np.int64)
    for bucket in np.split(owners, starts[1:]):
        members = bucket.tolist()
        reach = len(members) if len(members) <= BUCKET else 2
        for at, earlier in enumerate(members):
            yield from ((earlier, later) for later in members[at + 1 : at + reach])


def _jaccard(a: NDArray[np.uint64], b: NDArray[np.uint64]) -> float:
    shared = len(np.intersect1d(a, b, assume_unique=True))
    return shared / (len(a) + len(b) - shared)
