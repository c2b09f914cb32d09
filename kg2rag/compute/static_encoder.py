"""Texts -> unit vectors by a model2vec model, without a transformer."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from kg2rag.compute.embedder import Role, unit, well_formed
from kg2rag.compute.models import loading
from kg2rag.compute.store import Store
from kg2rag.types import Matrix, component

if TYPE_CHECKING:
    from model2vec import StaticModel


@component
class StaticEncoder:
    """A model2vec model (Tulkens & van Dongen): a text's vector is the mean of its token vectors.

    The vector is zero for a text without tokens. `model` : a folder, or a hub name. On one core it
    is some hundred times as fast as a transformer, at a price in quality.
    """

    model: str

    @cached_property
    def table(self) -> StaticModel:
        """The model, loaded on first use."""
        from huggingface_hub import snapshot_download
        from model2vec import StaticModel

        with loading(self.model) as local:
            folder = self.model
            if not Path(folder).is_dir():
                files = ["*.json", "*.safetensors", "README.md"]
                folder = snapshot_download(
                    self.model, allow_patterns=files, local_files_only=local
                )
            return StaticModel.from_pretrained(folder)

    def describe(self, store: Store) -> dict[str, Any]:
        """The model's name, dimensions, and the checksum of its vectors and tokenizer."""
        table, digest = self.table, hashlib.sha256()
        for part in (table.embedding, table.weights, table.token_mapping):
            digest.update(b"" if part is None else np.ascontiguousarray(part).tobytes())
        digest.update(f"{table.tokenizer.to_str()}{table.max_length}".encode())
        return {
            "model": self.model,
            "dim": int(table.dim),
            "sha256": digest.hexdigest(),
        }

    def fingerprint(self, store: Store) -> str:
        """The first 16 digits of the checksum of vectors and tokenizer."""
        return str(self.describe(store)["sha256"][:16])

    def encode(
        self, texts: Sequence[str], store: Store, role: Role = "passage"
    ) -> Matrix:
        """The vectors of texts, (n_texts, dim) float32, rows of norm 1; nothing is stored."""
        if not texts:
            return np.empty((0, self.table.dim), dtype=np.float32)
        vectors = self.table.encode(
            list(map(well_formed, texts)), use_multiprocessing=False
        )
        return unit(vectors.astype(np.float32))

    def __getstate__(self) -> dict[str, Any]:
        return {"model": self.model}
