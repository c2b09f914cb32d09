"""Texts -> unit vectors by an OpenAI-compatible endpoint, each paid once."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import field
from pathlib import Path

from kg2rag.compute.embedder import Role, checked_vectors, well_formed
from kg2rag.compute.endpoint import Endpoint, Exchange
from kg2rag.compute.store import Store
from kg2rag.compute.vectors import VectorCache
from kg2rag.types import Matrix, component

BATCH = 128  # texts of one request


@component
class EndpointEncoder:
    """An OpenAI-compatible endpoint as an `Embedder`; the store keeps every vector, so that it is paid once.

    Such as "https://api.openai.com/v1" and "text-embedding-3-small". `price` : of a million tokens, for `plan`.
    """

    base_url: str
    model: str
    api_key_env: str | None = None
    query_prompt: str = ""
    passage_prompt: str = ""
    price: float | None = field(default=None, repr=False)

    def fingerprint(self, store: Store) -> str:  # noqa: ARG002
        """A hash of address, model and prompts: an endpoint shows no weights."""
        return _hash(self.base_url, self.model, self.query_prompt, self.passage_prompt)

    def encode(self, texts: Sequence[str], store: Store, role: Role = "passage") -> Matrix:
        """(n_texts, dim) rows of norm 1; only texts that the store lacks are sent."""
        prompt = self.query_prompt if role == "query" else self.passage_prompt

        def write_dim(folder: Path) -> None:
            (folder / "dim").write_text(str(self._ask(["dimensions"]).shape[1]))

        known = store.entry("encoder", {"endpoint": self.fingerprint(store)}, write_dim)
        cache = VectorCache(store, self.fingerprint(store), int((known / "dim").read_text()), prompt)
        return cache.of(list(map(well_formed, texts)), lambda shard: self._ask([prompt + text for text in shard]))

    def plan(self, texts: Sequence[str], store: Store) -> dict[str, float | int | None]:
        """What encoding passages would send and cost: texts, lacking, tokens (a quarter of the characters), cost."""
        cache = VectorCache(store, self.fingerprint(store), 0, self.passage_prompt)
        lacking = cache.lacking(list(map(well_formed, texts)))
        tokens = sum(len(self.passage_prompt + text) for text in lacking) // 4
        cost = None if self.price is None else tokens * self.price / 1e6
        return {"texts": len(texts), "lacking": len(lacking), "tokens": tokens, "cost": cost}

    def _ask(self, texts: list[str]) -> Matrix:
        endpoint, rows = Endpoint(self.base_url, self.api_key_env), list[list[float]]()
        for start in range(0, len(texts), BATCH):
            body = {"input": texts[start : start + BATCH], "encoding_format": "float", "model": self.model}
            rows += endpoint.send("embeddings", body, Exchange(_read_embeddings))
        return checked_vectors(rows, len(texts), f"{self.model} at {self.base_url}")


def _read_embeddings(content: bytes, events: bool) -> list[list[float]]:  # noqa: ARG001
    rows = json.loads(content)["data"]
    return [row["embedding"] for row in sorted(rows, key=lambda row: row["index"])]


def _hash(*parts: object) -> str:
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:16]
