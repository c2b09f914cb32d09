"""An embedder whose cosines can be worked out by hand: a text is the set of its words, and each word has an axis."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from kg2rag.compute import Role, Store
from kg2rag.text.normalisation import normalise
from kg2rag.types import Matrix

DIM = 512


@dataclass(frozen=True)
class WordEmbedder:
    """cos(a, b) = shared words / sqrt(words of a · words of b); 0 where one has none."""

    # Axes are given in the order of texts: they are a memory, no parameter.
    axes: dict[str, int] = field(default_factory=dict, repr=False, compare=False)
    run_version: ClassVar[str] = "1"

    def fingerprint(self, store: Store) -> str:
        return "words"

    def encode(
        self, texts: Sequence[str], store: Store, role: Role = "passage"
    ) -> Matrix:
        vectors = np.zeros((len(texts), DIM), dtype=np.float32)
        for row, text in enumerate(texts):
            words = sorted(set(normalise(text).split()))
            axes = [self.axes.setdefault(word, len(self.axes) % DIM) for word in words]
            vectors[row, axes] = 1 / np.sqrt(len(axes)) if axes else 0
        return vectors
