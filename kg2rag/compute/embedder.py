"""What every encoder of texts offers: the `Embedder` protocol, and the checks of texts and vectors that all share."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from typing import Any, Literal, Protocol

import numpy as np

from kg2rag.compute.store import Store
from kg2rag.types import Matrix

Role = Literal["passage", "query"]
"""What a text is; a model may want another prompt for each."""
MIN_COSINE = 0.999
"""Vectors of the same text that are as near as this are of the same encoder; another batch changes the last digits."""
PROBE = (
    "Who wrote the novel on which the 1940 film directed by Alfred Hitchcock is based?",
    "Rebecca\nRebecca is a 1938 Gothic novel by the English author Daphne du Maurier.",
    "def parse_rows(stream, delimiter=','):\n    return [line.split(delimiter) for line in stream]",
    "42",
)


class Embedder(Protocol):
    """Anything that encodes texts as unit vectors and identifies itself by a fingerprint."""

    def fingerprint(self, store: Store) -> str:
        """Equal for two embedders if and only if their vectors are equal."""
        ...

    def encode(self, texts: Sequence[str], store: Store, role: Role = "passage") -> Matrix:
        """(n_texts, dim) rows of norm 1."""
        ...


def unit(vectors: Matrix) -> Matrix:
    """Rows scaled to norm 1; those of zeros stay."""
    scaled: Matrix = vectors / np.maximum(
        np.linalg.norm(vectors, axis=-1, keepdims=True), np.float32(1e-12)
    )
    return scaled


def hash_of(*parts: object) -> str:
    """The first 16 digits of the sha256 of some JSON values."""
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:16]


def well_formed(text: str) -> str:
    """The text with replacement characters for lone surrogates, which tokenizers refuse."""
    return (
        text
        if text.isascii()
        else text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    )


def checked_vectors(vectors: Any, n_texts: int, name: str) -> Matrix:
    """Vectors of an encoder of that name as unit rows; ValueError if they do not fit the texts or are not finite."""
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
    """Whether unit rows, or rows of zeros, are equal but for the digits that another batch changes."""
    distance = np.sqrt(2 - 2 * MIN_COSINE)
    return vectors.shape == others.shape and bool(
        (np.linalg.norm(vectors - others, axis=1) <= distance).all()
    )
