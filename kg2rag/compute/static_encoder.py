"""Texts -> unit vectors without running a model: the sum of one vector a token, distilled from a model once.

Some thousand times as fast as the model on one core, at a price in quality. The table is that of a
sentence-transformers `StaticEmbedding`, and so are the vectors; the sum is scipy's, which starts in a fraction of the
time that torch needs to be imported.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import numpy as np

from kg2rag.compute import distillation
from kg2rag.compute.encoder import SentenceEncoder, well_formed
from kg2rag.compute.files import mapped
from kg2rag.compute.hardware import processor, threads
from kg2rag.compute.passes import Role
from kg2rag.compute.pretrained import DEFAULT_MODEL
from kg2rag.compute.store import Store
from kg2rag.compute.wordpieces import WordTokens
from kg2rag.types import Matrix, at_least, check

PREFIX = "static:"
BLOCK = 4096  # texts summed at once
TABLE, TOKENIZER, ABOUT = "table.npy", "tokenizer.json", "static.json"
LIBRARIES = ("scikit-learn", "sentence-transformers", "tokenizers", "torch", "transformers")


@dataclass(frozen=True)
class StaticEncoder:
    """The static vectors of a sentence-transformers model as an `Embedder`; long texts are not cut.

    Parameters
    ----------
    model : the model to distil, by hub name or local folder; distilled in float32 on first use and kept in the store
        under the checksum of its weights.
    revision : a hub commit.
    dim : principal axes kept; all along which the model's tokens vary where these are fewer.
    """

    model: str = DEFAULT_MODEL
    revision: str | None = None
    dim: Annotated[int, at_least(1)] = 256

    def __post_init__(self) -> None:
        check(self)
        object.__setattr__(self, "model", self.teacher.model)
        object.__setattr__(self, "_opened", {})

    @property
    def teacher(self) -> SentenceEncoder:
        """The model as an encoder of its own; its tokenizer counts tokens."""
        return SentenceEncoder(self.model, revision=self.revision, dtype="float32")

    def describe(self, store: Store) -> dict[str, Any]:
        """The teacher's description, the rules it was distilled by, the table's dimensions and checksum."""
        about: dict[str, Any] = json.loads((self._folder(store) / ABOUT).read_text())
        return about

    def fingerprint(self, store: Store) -> str:
        """A hash of the description."""
        return hashlib.sha256(json.dumps(self.describe(store), sort_keys=True).encode()).hexdigest()[:16]

    def encode(self, texts: Sequence[str], store: Store, role: Role = "passage") -> Matrix:  # noqa: ARG002
        """(n_texts, dim) float32, rows of norm 1, in the given order; nothing is stored.

        A text without any known token, such as an empty one, has the direction of the table's mean.
        """
        table, tokens = self._open(store)
        vectors = np.empty((len(texts), table.shape[1]), dtype=np.float32)

        def fill(start: int) -> None:
            block = [well_formed(text) for text in texts[start : start + BLOCK]]
            vectors[start : start + BLOCK] = _unit_sums(table, tokens, block)

        starts = range(0, len(texts), BLOCK)
        with ThreadPoolExecutor(min(threads(), len(starts)) or 1) as pool:
            for _ in pool.map(fill, starts):
                pass
        return vectors

    def _open(self, store: Store) -> tuple[Matrix, WordTokens]:
        """The table and its tokenizer, opened once for each store."""
        from tokenizers import Tokenizer

        opened: dict[Path, tuple[Matrix, WordTokens]] = self._opened  # type: ignore[attr-defined]
        if store.root not in opened:
            folder = self._folder(store)
            tokens = WordTokens(Tokenizer.from_file(str(folder / TOKENIZER)))
            opened[store.root] = mapped(folder / TABLE), tokens
        return opened[store.root]

    def _folder(self, store: Store) -> Path:
        key = {
            "rules": distillation.VERSION,
            "teacher": self.teacher.describe(store)["weights_sha256"],
            "dim": self.dim,
            "processor": processor(),
        }
        return store.entry("static", key, lambda folder: self._distil(folder, store), libraries=LIBRARIES)

    def _distil(self, folder: Path, store: Store) -> None:
        table, tokenizer = distillation.distil(self.teacher.network, self.dim)
        np.save(folder / TABLE, table)
        tokenizer.save(str(folder / TOKENIZER))
        description = {
            "teacher": self.teacher.describe(store),
            "rules": distillation.VERSION,
            "dim": table.shape[1],
            "table_sha256": hashlib.sha256(table.tobytes()).hexdigest(),
        }
        (folder / ABOUT).write_text(json.dumps(description, indent=1))

    def __reduce__(self) -> tuple[type[StaticEncoder], tuple[str, str | None, int]]:
        return StaticEncoder, (self.model, self.revision, self.dim)


def embedder_named(
    name: str,
    *,
    dtype: str | None = None,
    device: str = "cpu",
    query_prompt: str | None = None,
    passage_prompt: str | None = None,
) -> SentenceEncoder | StaticEncoder:
    """The encoder of a name: a sentence-transformers model, or "static:MODEL" for the vectors distilled from it.

    The options are those of `SentenceEncoder`; None leaves each as it is there.
    ValueError: no model after "static:", or a dtype, device or prompt for static vectors, which are float32, on the
    CPU, and of each text alone.
    """
    if not name.startswith(PREFIX):
        made = partial(SentenceEncoder, name, device=device, query_prompt=query_prompt, passage_prompt=passage_prompt)
        return made() if dtype is None else made(dtype=dtype)
    model = name.removeprefix(PREFIX)
    if not model or model.startswith(PREFIX):
        raise ValueError(f"{name!r} names no model to distil. Write such as {PREFIX}{DEFAULT_MODEL}.")
    if dtype not in (None, "auto", "float32"):
        raise ValueError(f"dtype {dtype!r}: the vectors of {name!r} are float32.")
    if device not in ("auto", "cpu"):
        raise ValueError(f"device {device!r}: the vectors of {name!r} are added up on the CPU.")
    if query_prompt is not None or passage_prompt is not None:
        raise ValueError(f"The vectors of {name!r} are of each text alone: leave the prompts out.")
    return StaticEncoder(model)


def _unit_sums(table: Matrix, tokens: WordTokens, texts: Sequence[str]) -> Matrix:
    """(n_texts, dim): the sum over a text's tokens, scaled to norm 1.

    Each row is added up in the order of its text, so it has the same bits in any block.
    """
    of_texts, of_words = tokens.counts(texts)
    sums: Matrix = of_texts @ (of_words @ table[: of_words.shape[1]])
    lengths = np.sqrt(np.einsum("ij,ij->i", sums, sums, dtype=np.float64))
    sums[lengths == 0], lengths[lengths == 0] = table[-1], np.linalg.norm(table[-1].astype(np.float64))
    units: Matrix = (sums / lengths[:, None]).astype(np.float32)
    return units
