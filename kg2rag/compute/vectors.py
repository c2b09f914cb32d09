"""Texts -> vectors, computed once: a SQLite file per encoder, an array for a large corpus.

The array is memory-mapped, in the order of the texts; the file has the vectors of single texts.
"""

from __future__ import annotations

import hashlib
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

# Texts that are stored together. An interruption loses at most so many.
SHARD_TEXTS = 2048
LARGE_TEXTS = 20_000  # texts from which vectors are kept in an array; fewer are looked up in a second
BLOCK_TEXTS = 65_536  # texts that are encoded together into an array
FILE = "vectors.npy"
Encode = Callable[[list[str]], Iterable[Matrix]]
"""Texts -> their vectors in one or more consecutive blocks, (n_block, dim) each."""


class VectorCache:
    """The stored vectors, (dim,), of one encoder; safe to share between threads and processes."""

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
        """The vectors of texts, (n_texts, dim); missing ones are encoded, the longest text first.

        Parameters
        ----------
        shard_texts : the number of texts that are encoded and stored together; by default `SHARD_TEXTS`.
        is_paid : one process at a time encodes a shard, so that nothing is paid twice.
        """
        row_of = {text: row for row, text in enumerate(texts)}
        vectors = np.empty((len(texts), self.dim), dtype=np.float32)
        lacking = self._fill(vectors, row_of)
        longest_first = sorted(lacking, key=lambda text: (-len(text), lacking[text]))
        size = shard_texts or SHARD_TEXTS
        with progress_bar(
            len(lacking), "encoding", "text", shown=len(lacking) > SHARD_TEXTS // 2
        ) as bar:
            for start in range(0, len(lacking), size):
                shard = longest_first[start : start + size]
                with self.file.claim("vectors") if is_paid else nullcontext():
                    self._encode(
                        {text: row_of[text] for text in shard}, vectors, encode
                    )
                bar.update(len(shard))
        return vectors[[row_of[text] for text in texts]]

    def _encode(
        self, row_of: Mapping[str, int], vectors: Matrix, encode: Encode
    ) -> None:
        """Fill the rows of some texts in `vectors`; encode and store those that are not stored.

        `row_of` : text -> its row.
        """
        # Another process may have stored some in the meantime.
        lacking = self._fill(vectors, row_of)
        if not lacking:
            return
        texts = list(lacking)
        for block in encode(texts):
            encoded_texts = texts[: len(block)]
            self.keep(encoded_texts, block)
            vectors[[row_of[text] for text in encoded_texts]] = block
            texts = texts[len(block) :]

    def _fill(self, vectors: Matrix, row_of: Mapping[str, int]) -> dict[str, int]:
        """Fill the rows of the stored texts, and return the other texts with their rows."""
        stored = self.find(list(row_of))
        for text, vector in stored.items():
            vectors[row_of[text]] = vector
        return {text: row for text, row in row_of.items() if text not in stored}

    def find(self, texts: Sequence[str]) -> dict[str, Matrix]:
        """Text -> its vector, (dim,), for those of some texts that have a stored one."""
        text_of = {self._key(text): text for text in texts}
        stored = self.file.find(list(text_of))
        return {
            text: np.frombuffer(stored[key], dtype=np.float32)
            for key, text in text_of.items()
            if key in stored
        }

    def lacking(self, texts: Sequence[str]) -> list[str]:
        """The distinct texts without a stored vector."""
        stored = self.find(texts)
        return [text for text in dict.fromkeys(texts) if text not in stored]

    def keep(self, texts: Sequence[str], vectors: Matrix) -> None:
        """Store the vectors of texts, (n_texts, dim); stored ones remain."""
        values = map(bytes, np.ascontiguousarray(vectors, dtype=np.float32))
        self.file.keep(zip(map(self._key, texts), values, strict=True))

    def _key(self, text: str) -> bytes:
        """The key of a text in the file: a hash of prompt and text."""
        content = f"{self.prompt}\0{text}".encode("utf-8", "surrogatepass")
        return hashlib.blake2b(content, digest_size=16).digest()


def encoded(
    embedder: Embedder, texts: Sequence[str], store: Store, key: Mapping[str, object]
) -> Matrix:
    """The unit vectors of texts, (n_texts, dim); those of `LARGE_TEXTS` or more are memory-mapped.

    `key` identifies the texts in the store by JSON values; the encoder is added to it. The texts
    are read only for encoding, in slices of `BLOCK_TEXTS`.
    """
    if len(texts) < LARGE_TEXTS:
        return embedder.encode(list(texts), store)
    starts = range(0, len(texts), BLOCK_TEXTS)
    blocks = (
        embedder.encode(texts[start : start + BLOCK_TEXTS], store) for start in starts
    )
    matrices = (np.asarray(block, dtype=np.float32) for block in blocks)
    full_key = {**key, "encoder": embedder.fingerprint(store)}
    path = store.entry(
        "matrix", full_key, lambda folder: save_rows(folder / FILE, matrices)
    )
    return mapped(path / FILE)


def save_rows(path: Path, blocks: Iterable[NDArray[Any]]) -> None:
    """Write blocks of rows, (n, ...) each, as one array in an `.npy` file, block by block.

    ValueError: no block, or one of another dtype or width than the first.
    """
    kind: tuple[np.dtype[Any], tuple[int, ...]] | None = (
        None  # dtype and shape of a row
    )
    n_rows = 0
    with path.open("wb") as file:
        for block in blocks:
            header: dict[str, Any] = {
                "descr": np.lib.format.dtype_to_descr(block.dtype),
                "fortran_order": False,
            }
            block_kind = (block.dtype, block.shape[1:])
            if kind is None:
                kind = block_kind
                np.lib.format.write_array_header_1_0(
                    file, {**header, "shape": (0, *kind[1])}
                )
            elif block_kind != kind:
                raise ValueError(
                    f"{path.name}: a block of {block.dtype} {block.shape} after rows of {kind}."
                )
            file.write(block.tobytes())
            n_rows += len(block)
        if kind is None:
            raise ValueError(
                f"{path.name}: no rows. Give one block at least, if an empty one."
            )
        file.seek(
            0
        )  # rewrite the header, in which numpy leaves room for the number of rows
        np.lib.format.write_array_header_1_0(
            file, {**header, "shape": (n_rows, *kind[1])}
        )
