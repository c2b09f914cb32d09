"""Many texts -> their vectors as one array on disk, in the order of the texts: opened, not read.

`VectorCache` answers for single texts, which costs a hash and a look-up each; what a corpus of millions is searched by
is written once, a block of texts at a time, and mapped into memory.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kg2rag.compute.encoder import Embedder
from kg2rag.compute.files import mapped
from kg2rag.compute.store import Store
from kg2rag.types import Matrix

LARGE = 20_000  # texts; fewer are looked up within a second
BLOCK = 65_536  # texts encoded at once: enough for batches of one length, little in memory
FILE = "vectors.npy"


def encoded(embedder: Embedder, texts: Sequence[str], store: Store, key: Mapping[str, object]) -> Matrix:
    """(n_texts, dim) unit vectors of texts, read-only and mapped where there are `LARGE` or more.

    Parameters
    ----------
    texts : read only where they have to be encoded, in slices of `BLOCK`; such as `Corpus.streamed_contents`.
    key : what the texts depend on, as JSON values; the encoder is added to it.
    """
    if len(texts) < LARGE:
        return embedder.encode(list(texts), store)
    full = {**key, "encoder": embedder.fingerprint(store)}
    path = store.entry("matrix", full, lambda folder: _write(folder / FILE, embedder, texts, store))
    return mapped(path / FILE)


def _write(path: Path, embedder: Embedder, texts: Sequence[str], store: Store) -> None:
    starts = range(0, len(texts), BLOCK)
    save_rows(path, (np.asarray(embedder.encode(texts[at : at + BLOCK], store), dtype=np.float32) for at in starts))


def save_rows(path: Path, blocks: Iterable[NDArray[Any]]) -> None:
    """Blocks of rows, (n, ...) each, as one array in an `.npy` file; only one block is in memory at a time.

    Raises
    ------
    ValueError : no block, or one of another dtype or width than the first.
    """
    header: dict[str, Any] = {}
    rows = 0
    with path.open("wb") as file:
        for block in blocks:
            here = {"descr": np.lib.format.dtype_to_descr(block.dtype), "shape": (0, *block.shape[1:])}
            if not header:
                header = {**here, "fortran_order": False}
                np.lib.format.write_array_header_1_0(file, header)
            elif here["descr"] != header["descr"] or here["shape"] != header["shape"]:
                raise ValueError(f"{path.name}: a block of {block.dtype} {block.shape} after rows of {header}.")
            file.write(block.tobytes())
            rows += len(block)
        if not header:
            raise ValueError(f"{path.name}: no rows. Give one block at least, if an empty one.")
        file.seek(0)  # numpy leaves room for a longer number of rows
        np.lib.format.write_array_header_1_0(file, {**header, "shape": (rows, *header["shape"][1:])})
