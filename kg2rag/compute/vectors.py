"""Texts -> vectors, each computed once: one SQLite file for each encoder of a store, and one array for a large corpus.

The array is mapped into memory, in the order of the texts; the file answers for single texts.
"""

from __future__ import annotations

import hashlib
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from kg2rag.compute.atomic_write import mapped
from kg2rag.compute.keyed_file import DamagedEntryWarning, DamagedFileError
from kg2rag.compute.parallel import progress_bar
from kg2rag.compute.store import Store
from kg2rag.types import Matrix

if TYPE_CHECKING:
    from kg2rag.compute.encoder import Embedder

SHARD = 2048  # texts that are stored together: an interruption costs at most as many
LARGE = 20_000  # texts; the vectors of fewer are looked up within a second
BLOCK = 65_536  # texts encoded at once into an array
FILE = "vectors.npy"


class VectorCache:
    """The vectors, of `dim` numbers, of the encoder of a fingerprint; safe to share between threads and processes."""

    def __init__(self, store: Store, encoder: str, dim: int, prompt: str = "") -> None:
        self.file = store.keyed_file(f"vectors/{encoder}")
        self.dim, self.prompt = dim, prompt

    def of(self, texts: Sequence[str], encode: Callable[[list[str]], Matrix]) -> Matrix:
        """(n_texts, dim) in the given order; `encode` is asked for those that the file lacks, the longest first."""
        keys = [self._key(text) for text in texts]
        at = dict(zip(keys, range(len(texts)), strict=True))
        found, vectors = self._read(list(at)), np.empty((len(texts), self.dim), dtype=np.float32)
        for key, vector in found.items():
            vectors[at[key]] = np.frombuffer(vector, dtype=np.float32)
        lacking = sorted((at[key] for key in at.keys() - found.keys()), key=lambda row: (-len(texts[row]), row))
        with progress_bar(len(lacking), "encoding", "text", shown=len(lacking) > SHARD // 2) as bar:
            for start in range(0, len(lacking), SHARD):
                rows = lacking[start : start + SHARD]
                shard = [texts[row] for row in rows]
                vectors[rows] = encode(shard)
                self.keep(shard, vectors[rows])
                bar.update(len(rows))
        return vectors[[at[key] for key in keys]]

    def lacking(self, texts: Sequence[str]) -> list[str]:
        """The texts, each once, that the file has no vector of."""
        keys = {self._key(text): text for text in texts}
        found = self._read(list(keys))
        return [text for key, text in keys.items() if key not in found]

    def keep(self, texts: Sequence[str], vectors: Matrix) -> None:
        """Store the vectors of texts, (n_texts, dim), but those that the file has."""
        rows = zip(map(self._key, texts), map(bytes, np.ascontiguousarray(vectors, dtype=np.float32)), strict=True)
        self.file.keep(rows)

    def _key(self, text: str) -> bytes:
        return hashlib.blake2b(f"{self.prompt}\0{text}".encode("utf-8", "surrogatepass"), digest_size=16).digest()

    def _read(self, keys: Sequence[bytes]) -> dict[bytes, bytes]:
        """The vectors of some keys; a damaged file has none, and is begun anew."""
        try:
            return self.file.find(keys)
        except DamagedFileError as error:
            aside = self.file.set_aside()
            message = f"{error} It is renamed to {aside.name}, and its vectors are computed again."
            warnings.warn(message, DamagedEntryWarning, stacklevel=4)
            return {}


def encoded(embedder: Embedder, texts: Sequence[str], store: Store, key: Mapping[str, object]) -> Matrix:
    """(n_texts, dim) unit vectors of texts, read-only and mapped where there are `LARGE` or more.

    `texts` are read only where they have to be encoded, in slices of `BLOCK`.
    `key` : what they depend on, as JSON values; the encoder is added to it.
    """
    if len(texts) < LARGE:
        return embedder.encode(list(texts), store)
    blocks = (embedder.encode(texts[at : at + BLOCK], store) for at in range(0, len(texts), BLOCK))
    path = store.entry(
        "matrix",
        {**key, "encoder": embedder.fingerprint(store)},
        lambda folder: save_rows(folder / FILE, (np.asarray(block, dtype=np.float32) for block in blocks)),
    )
    return mapped(path / FILE)


def save_rows(path: Path, blocks: Iterable[NDArray[Any]]) -> None:
    """Blocks of rows, (n, ...) each, as one array in an `.npy` file; only one block is in memory at a time.

    ValueError: no block, or one of another dtype or width than the first.
    """
    kind, rows = None, 0
    with path.open("wb") as file:
        for block in blocks:
            header: dict[str, Any] = {"descr": np.lib.format.dtype_to_descr(block.dtype), "fortran_order": False}
            here = (block.dtype, block.shape[1:])
            if kind is None:
                kind = here
                np.lib.format.write_array_header_1_0(file, {**header, "shape": (0, *kind[1])})
            elif here != kind:
                raise ValueError(f"{path.name}: a block of {block.dtype} {block.shape} after rows of {kind}.")
            file.write(block.tobytes())
            rows += len(block)
        if kind is None:
            raise ValueError(f"{path.name}: no rows. Give one block at least, if an empty one.")
        file.seek(0)  # numpy leaves room for a longer number of rows
        np.lib.format.write_array_header_1_0(file, {**header, "shape": (rows, *kind[1])})
