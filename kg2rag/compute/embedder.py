"""The protocol of all text encoders, `Embedder`, and their common checks of texts and vectors."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from typing import Any, Literal, Protocol

import numpy as np

from kg2rag.compute.store import Store
from kg2rag.types import Matrix

Role = Literal["passage", "query"]
"""The role of a text; a model may have a prompt for each."""
MIN_COSINE = 0.999
"""The minimum cosine between two encodings of a text by one encoder in different batches."""
PROBE = (
    "Who wrote the novel on which the 1940 film directed by Alfred Hitchcock is based?",
    "Rebecca\nRebecca is a 1938 Gothic novel by the English author Daphne du Maurier.",
    "def parse_rows(stream, delimiter=','):\n    return [line.split(delimiter) for line in stream]",
    "42",
)


class Embedder(Protocol):
    """Anything that encodes texts as unit vectors and identifies itself by a fingerprint."""

    def fingerprint(self, store: Store) -> str:
        """A hash that two embedders share if and only if their vectors are equal."""
        ...

    def encode(
        self, texts: Sequence[str], store: Store, role: Role = "passage"
    ) -> Matrix:
        """The vectors of texts, (n_texts, dim), rows of norm 1."""
        ...


def unit(vectors: Matrix) -> Matrix:
    """The rows of a matrix scaled to norm 1; rows of zeros stay zero."""
    norms = np.linalg.norm(vectors, axis=-1, keepdims=True)
    scaled: Matrix = vectors / np.maximum(norms, np.float32(1e-12))
    return scaled


def hash_of(*parts: object) -> str:
    """The first 16 digits of the sha256 of some JSON values."""
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:16]


def well_formed(text: str) -> str:
    """The text with replacement characters for lone surrogates, which tokenizers refuse."""
    if text.isascii():
        return text
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def checked_vectors(vectors: Any, n_texts: int, name: str) -> Matrix:
    """The vectors that the encoder `name` returned, scaled to norm 1, (n_texts, dim).

    ValueError: their shape does not fit the texts, or a number is not finite.
    """
    matrix = np.asarray(vectors, dtype=np.float32)
    if matrix.ndim != 2 or len(matrix) != n_texts:
        raise ValueError(
            f"{name}: vectors of shape {matrix.shape} for {n_texts} texts; needed: ({n_texts}, dim)."
        )
    rows = np.flatnonzero(~np.isfinite(matrix).all(axis=1))
    if len(rows):
        raise ValueError(f"{name}: the vector of text {rows[0]} is not finite.")
    return unit(matrix)


def are_near(vectors: Matrix, others: Matrix) -> bool:
    """Whether two matrices of unit or zero rows differ only as two batches of one encoder may."""
    if vectors.shape != others.shape:
        return False
    distances = np.linalg.norm(vectors - others, axis=1)
    return bool((distances <= np.sqrt(2 - 2 * MIN_COSINE)).all())
