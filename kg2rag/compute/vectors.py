"""(encoder, text) -> vector, kept in the store: no text is encoded twice.

The vectors of an encoder are stored in immutable shards, each an entry that is written when it is full, so that an
interruption costs at most one shard.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from kg2rag.compute.hardware import threads
from kg2rag.compute.store import Store
from kg2rag.types import Matrix

ROWS = 32  # texts in a batch
SHARD = 2048  # texts in a shard


@dataclass(frozen=True)
class VectorCache:
    """The vectors of one encoder.

    Parameters
    ----------
    encoder : fingerprint of the encoder; equal fingerprints mean equal vectors.
    lengths : texts -> the padded length of each, in tokens. A batch holds texts of one length.
    forward : at most `ROWS` texts of equal length -> (n, dim) unit vectors; called from several threads at once.
    """

    store: Store
    encoder: str
    dim: int
    lengths: Callable[[Sequence[str]], list[int]]
    forward: Callable[[Sequence[str]], Matrix]

    def of(self, texts: Sequence[str]) -> Matrix:
        """(n_texts, dim), in the given order; texts that are in no shard are encoded and stored."""
        if not texts:
            return np.empty((0, self.dim), dtype=np.float32)
        hashes = _hashes(texts)
        distinct, first, inverse = np.unique(hashes, return_index=True, return_inverse=True)
        vectors = np.empty((len(distinct), self.dim), dtype=np.float32)
        missing = np.ones(len(distinct), dtype=bool)
        for shard in self.store.existing(f"vectors-{self.encoder}"):
            _fill(shard, distinct, vectors, missing)
        if missing.any():
            for shard in self._encode([texts[i] for i in first[missing].tolist()]):
                _fill(shard, distinct, vectors, missing)
        return vectors[inverse]

    def _encode(self, texts: list[str]) -> Iterator[Path]:
        from tqdm.auto import tqdm

        lengths = self.lengths(texts)
        order = sorted(range(len(texts)), key=lambda i: (-lengths[i], i))  # longest first: the estimate only improves
        with tqdm(total=len(texts), desc="encoding", unit="text", disable=None, leave=False) as bar:
            for start in range(0, len(order), SHARD):
                shard = order[start : start + SHARD]
                chosen = [texts[i] for i in shard]
                batches = list(batches_of([lengths[i] for i in shard]))

                def build(folder: Path, chosen: list[str] = chosen, batches: list[slice] = batches) -> None:
                    vectors = np.empty((len(chosen), self.dim), dtype=np.float32)
                    for batch, found in zip(batches, self._side_by_side(chosen, batches), strict=True):
                        vectors[batch] = found
                        bar.update(batch.stop - batch.start)
                    np.save(folder / "vectors.npy", vectors)
                    np.save(folder / "keys.npy", _hashes(chosen).view(np.uint8).reshape(-1, 16))

                texts_hash = hashlib.sha256(_hashes(chosen).tobytes()).hexdigest()
                key = {"encoder": self.encoder, "texts": texts_hash}
                yield self.store.entry(f"vectors-{self.encoder}", key, build)

    def _side_by_side(self, texts: list[str], batches: list[slice]) -> Iterator[Matrix]:
        """The vectors of every batch, in order; one thread per batch, so that threads change no bit."""
        pool = ThreadPoolExecutor(min(threads(), len(batches)))
        try:
            yield from pool.map(self.forward, [texts[batch] for batch in batches])
        finally:
            pool.shutdown(cancel_futures=True)


def _fill(shard: Path, wanted: NDArray[np.void], vectors: Matrix, missing: NDArray[np.bool_]) -> None:
    """Copy the vectors of the wanted (sorted) keys that a shard has, and clear their `missing` flags."""
    keys = _keys(shard)
    at = np.minimum(np.searchsorted(wanted, keys), len(wanted) - 1)
    found = np.flatnonzero(wanted[at] == keys)
    if len(found):
        vectors[at[found]] = np.load(shard / "vectors.npy", mmap_mode="r")[found]
        missing[at[found]] = False


@lru_cache(maxsize=8192)
def _keys(shard: Path) -> NDArray[np.void]:
    """The keys of a shard; read once per process, since shards never change."""
    keys: NDArray[np.void] = np.load(shard / "keys.npy").view("V16").ravel()
    return keys


def batches_of(lengths: Sequence[int]) -> Iterator[slice]:
    """Runs of at most `ROWS` neighbours of equal length."""
    start = 0
    for end in range(1, len(lengths) + 1):
        if end == len(lengths) or lengths[end] != lengths[start] or end - start == ROWS:
            yield slice(start, end)
            start = end


def _hashes(texts: Iterable[str]) -> NDArray[np.void]:
    digests = (hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest() for text in texts)
    return np.frombuffer(b"".join(digests), dtype="V16")
