"""Texts -> vectors, each computed once: one SQLite file for each encoder of a store, and one array for a large corpus.

The array is mapped into memory, in the order of the texts; the file answers for single texts.
"""

from __future__ import annotations

import hashlib
from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from kg2rag.compute.atomic_write import mapped
from kg2rag.compute.parallel import progress_bar
from kg2rag.compute.store import Store
from kg2rag.types import Matrix

if TYPE_CHECKING:
    from kg2rag.compute.embedder import Embedder

SHARD_TEXTS = 2048  # that are stored together: an interruption costs at most as many
LARGE_TEXTS = 20_000  # the vectors of fewer are looked up within a second
BLOCK_TEXTS = 65_536  # that are encoded at once into an array
FILE = "vectors.npy"
Encode = Callable[[list[str]], Matrix]
"""Texts -> their vectors, (n_texts, dim); or those of the first of the texts, at least one."""


class VectorCache:
    """The vectors, of `dim` numbers, of the encoder of a fingerprint; safe to share between threads and processes."""

    def __init__(self, store: Store, encoder: str, dim: int, prompt: str = "") -> None:
        self.file = store.keyed_file(f"vectors/{encoder}")
        self.dim = dim
        self.prompt = prompt

    def of(
        self,
        texts: Sequence[str],
        encode: Encode,
        *,
        shard_texts: int | None = None,
        is_paid: bool = False,
    ) -> Matrix:
        """(n_texts, dim) in the given order; texts that the file lacks are encoded, the longest first.

        Parameters
        ----------
        shard_texts : that `encode` is given, and whose vectors are stored, at once; by default `SHARD_TEXTS`.
        is_paid : one process at a time encodes a shard, so that nothing is paid twice.
        """
        row_of = {text: row for row, text in enumerate(texts)}
        vectors = np.empty((len(texts), self.dim), dtype=np.float32)
        lacking = self._fill(vectors, row_of)
        rows = deque(sorted(lacking.values(), key=lambda row: (-len(texts[row]), row)))
        with progress_bar(len(rows), "encoding", "text", shown=len(rows) > SHARD_TEXTS // 2) as bar:
            while rows:
                count = len(rows)
                shard = [rows.popleft() for _ in range(min(shard_texts or SHARD_TEXTS, len(rows)))]
                with self.file.claim("vectors") if is_paid else nullcontext():
                    if is_paid:  # another process may have paid for some of them by now
                        shard = list(
                            self._fill(vectors, {texts[row]: row for row in shard}).values()
                        )
                    encoded_rows = self._encode(shard, texts, vectors, encode)
                rows.extendleft(reversed(shard[encoded_rows:]))
                bar.update(count - len(rows))
        return vectors[[row_of[text] for text in texts]]

    def _encode(
        self, rows: Sequence[int], texts: Sequence[str], vectors: Matrix, encode: Encode
    ) -> int:
        """Encode the texts of some rows of `vectors`, and store what comes back; how many that are."""
        if not rows:
            return 0
        shard = [texts[row] for row in rows]
        new = encode(shard)
        vectors[rows[: len(new)]] = new
        self.keep(shard[: len(new)], new)
        return len(new)

    def _fill(self, vectors: Matrix, row_of: Mapping[str, int]) -> dict[str, int]:
        """Fill the rows of the texts that the file has; the other texts with their rows."""
        stored = self.find(list(row_of))
        for text, vector in stored.items():
            vectors[row_of[text]] = vector
        return {text: row for text, row in row_of.items() if text not in stored}

    def find(self, texts: Sequence[str]) -> dict[str, Matrix]:
        """The vectors, (dim,), of those texts that the file has."""
        text_of = {self._key(text): text for text in texts}
        stored = self.file.find(list(text_of))
        return {
            text: np.frombuffer(stored[key], dtype=np.float32)
            for key, text in text_of.items()
            if key in stored
        }

    def lacking(self, texts: Sequence[str]) -> list[str]:
        """The texts, each once, that the file has no vector for."""
        stored = self.find(texts)
        return [text for text in dict.fromkeys(texts) if text not in stored]

    def keep(self, texts: Sequence[str], vectors: Matrix) -> None:
        """Store the vectors of texts, (n_texts, dim), but those that the file has."""
        rows = zip(
            map(self._key, texts),
            map(bytes, np.ascontiguousarray(vectors, dtype=np.float32)),
            strict=True,
        )
        self.file.keep(rows)

    def _key(self, text: str) -> bytes:
        content = f"{self.prompt}\0{text}".encode("utf-8", "surrogatepass")
        return hashlib.blake2b(content, digest_size=16).digest()


def encoded(
    embedder: Embedder, texts: Sequence[str], store: Store, key: Mapping[str, object]
) -> Matrix:
    """(n_texts, dim) unit vectors of texts, read-only and mapped where there are `LARGE_TEXTS` or more.

    `texts` are read only where they have to be encoded, in slices of `BLOCK_TEXTS`.
    `key` : what they depend on, as JSON values; the encoder is added to it.
    """
    if len(texts) < LARGE_TEXTS:
        return embedder.encode(list(texts), store)
    starts = range(0, len(texts), BLOCK_TEXTS)
    blocks = (embedder.encode(texts[start : start + BLOCK_TEXTS], store) for start in starts)
    path = store.entry(
        "matrix",
        {**key, "encoder": embedder.fingerprint(store)},
        lambda folder: save_rows(
            folder / FILE, (np.asarray(block, dtype=np.float32) for block in blocks)
        ),
    )
    return mapped(path / FILE)


def save_rows(path: Path, blocks: Iterable[NDArray[Any]]) -> None:
    """Blocks of rows, (n, ...) each, as one array in an `.npy` file; only one block is in memory at a time.

    ValueError: no block, or one of another dtype or width than the first.
    """
    kind: tuple[np.dtype[Any], tuple[int, ...]] | None = None
    rows = 0
    with path.open("wb") as file:
        for block in blocks:
            header: dict[str, Any] = {
                "descr": np.lib.format.dtype_to_descr(block.dtype),
                "fortran_order": False,
            }
            block_kind = (block.dtype, block.shape[1:])
            if kind is None:
                kind = block_kind
                np.lib.format.write_array_header_1_0(file, {**header, "shape": (0, *kind[1])})
            elif block_kind != kind:
                raise ValueError(
                    f"{path.name}: a block of {block.dtype} {block.shape} after rows of {kind}."
                )
            file.write(block.tobytes())
            rows += len(block)
        if kind is None:
            raise ValueError(f"{path.name}: no rows. Give one block at least, if an empty one.")
        file.seek(0)  # numpy leaves room for a longer number of rows
        np.lib.format.write_array_header_1_0(file, {**header, "shape": (rows, *kind[1])})
