"""Texts -> unit vectors without running a network: the mean of one vector a token, by model2vec (Tulkens & van Dongen).

Some hundred times as fast as a transformer on one core, at a price in quality.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from kg2rag.compute.encoder import Embedder, Role, SentenceEncoder, unit, well_formed
from kg2rag.compute.models import loading
from kg2rag.compute.store import Store
from kg2rag.types import Matrix, ParameterError, component

if TYPE_CHECKING:
    from model2vec import StaticModel

PREFIX, ENDPOINT = "static:", "endpoint:"
FILES = ["*.json", "*.safetensors", "README.md"]
EXAMPLE = f"{PREFIX}minishlab/potion-base-8M"


@component
class StaticEncoder:
    """A model2vec model as an `Embedder`; a text without any known token has zeros.

    Parameters
    ----------
    model : the folder of a model, or its name on the hub.
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
                folder = snapshot_download(self.model, allow_patterns=FILES, local_files_only=local)
            return StaticModel.from_pretrained(folder)

    def describe(self, store: Store) -> dict[str, Any]:  # noqa: ARG002
        """The model's name, dimensions, and the checksum of its vectors and tokenizer."""
        table, digest = self.table, hashlib.sha256()
        for part in (table.embedding, table.weights, table.token_mapping):
            digest.update(b"" if part is None else np.ascontiguousarray(part).tobytes())
        digest.update(table.tokenizer.to_str().encode())
        digest.update(str(table.max_length).encode())
        return {"model": self.model, "dim": int(table.dim), "sha256": digest.hexdigest()}

    def fingerprint(self, store: Store) -> str:
        """The first digits of the checksum."""
        found: str = self.describe(store)["sha256"][:16]
        return found

    def encode(self, texts: Sequence[str], store: Store, role: Role = "passage") -> Matrix:  # noqa: ARG002
        """(n_texts, dim) float32, rows of norm 1, in the given order; nothing is stored."""
        if not texts:
            return np.empty((0, self.table.dim), dtype=np.float32)
        found = self.table.encode([well_formed(text) for text in texts], use_multiprocessing=False)
        return unit(found.astype(np.float32))

    def __getstate__(self) -> dict[str, Any]:
        return {"model": self.model}


def embedder_named(
    name: str,
    *,
    dtype: str | None = None,
    device: str = "cpu",
    query_prompt: str | None = None,
    passage_prompt: str | None = None,
) -> Embedder:
    """The encoder of a name: a sentence-transformers model, "static:MODEL" of model2vec, "endpoint:MODEL@BASE_URL".

    The options are those of `SentenceEncoder`; None leaves each as it is there.
    ParameterError: no model after "static:", or a dtype, device or prompt for static vectors, which have none.
    """
    if name.startswith(ENDPOINT):
        from kg2rag.compute.given_encoder import EndpointEncoder

        given = {"query_prompt": query_prompt, "passage_prompt": passage_prompt}
        return EndpointEncoder.named(name.removeprefix(ENDPOINT), **{k: v for k, v in given.items() if v is not None})
    if not name.startswith(PREFIX):
        made = partial(SentenceEncoder, name, device=device, query_prompt=query_prompt, passage_prompt=passage_prompt)
        return made() if dtype is None else made(dtype=dtype)
    model = name.removeprefix(PREFIX)
    if not model or model.startswith(PREFIX):
        raise ParameterError(f"{name!r} names no model. Write such as {EXAMPLE}.")
    if dtype not in (None, "auto", "float32") or device not in ("auto", "cpu"):
        raise ParameterError(f"{name!r} is float32, on the CPU: leave dtype {dtype!r} and device {device!r} out.")
    if query_prompt is not None or passage_prompt is not None:
        raise ParameterError(f"The vectors of {name!r} are of each text alone: leave the prompts out.")
    return StaticEncoder(model)
