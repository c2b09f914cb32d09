"""Texts -> unit vectors on a GPU, or on several: large batches in half precision.

A GPU is used to the full by batches of many tokens; their shapes change the last bits of a vector, so that the vectors
differ, by rounding, from those of `encoder` on a CPU, and are kept apart from them. Several devices are sentence-
transformers' own pool of processes.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from threading import Lock
from typing import TYPE_CHECKING, Any

import numpy as np

from kg2rag.types import Matrix

if TYPE_CHECKING:
    from sentence_transformers import SentenceTransformer

CPU = "cpu"
MOST_TOKENS = 2**18  # of a batch; more make a GPU no faster
PER_DIMENSION = 128  # bytes at the peak for each token of a batch and dimension: a generous guess, see `forward`
FEW = 1000  # texts that one device encodes before the processes of several would have started
CHARACTERS = 4  # of a token: lengths are estimated, so that no text is tokenised twice


def targets(device: str) -> list[str]:
    """The devices of a name: "cpu", "cuda" (every CUDA device), "auto" (those, or the CPU), "cuda:0,cuda:1".

    ValueError: a CUDA device that torch does not see.
    """
    if device == CPU:
        return [CPU]
    import torch

    found = [f"cuda:{i}" for i in range(torch.cuda.device_count())]
    if device == "auto":
        return found or [CPU]
    named = found or ["cuda"] if device == "cuda" else [name.strip() for name in device.split(",")]
    for name in named:
        if name.startswith("cuda") and name not in found:
            raise ValueError(
                f"device {device!r}: torch {torch.__version__} sees {', '.join(found) or 'no CUDA device'}. "
                "Use --device cpu or auto, or install a build of torch for your GPU."
            )
    return named


@dataclass(frozen=True)
class Accelerator:
    """A network on one device, or copies of it on several (`pool`, from `opened`)."""

    network: SentenceTransformer
    most_tokens: int = MOST_TOKENS
    pool: Any = None
    _one_at_a_time: Lock = field(default_factory=Lock, repr=False)

    def lengths(self, texts: Sequence[str]) -> list[int]:
        """The tokens of each text, about."""
        limit = self.network.max_seq_length
        return [min(len(text) // CHARACTERS + 2, limit) for text in texts]

    def batches(self, lengths: Sequence[int]) -> Iterator[slice]:
        """Runs of texts, longest first, of at most `most_tokens` when all are padded to the first."""
        start = 0
        while start < len(lengths):
            rows = max(1, self.most_tokens // lengths[start])
            yield slice(start, min(start + rows, len(lengths)))
            start += rows

    def forward(self, texts: Sequence[str]) -> Matrix:
        """Unit vectors, (n_texts, dim) float32, of one batch; halved where the device's memory does not hold it."""
        import torch

        with self._one_at_a_time:
            try:
                found = self.network.encode(
                    list(texts),
                    batch_size=len(texts) if self.pool is None else max(1, len(texts) // len(self.pool["processes"])),
                    normalize_embeddings=True,
                    show_progress_bar=False,
                    pool=self.pool,
                )
                vectors = np.asarray(found, dtype=np.float32)
                units: Matrix = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)  # half precision is not exact
                return units
            except torch.OutOfMemoryError:
                if len(texts) == 1:
                    raise
        half = len(texts) // 2
        return np.concatenate([self.forward(texts[:half]), self.forward(texts[half:])])


@contextmanager
def opened(network: SentenceTransformer, devices: Sequence[str], n_texts: int) -> Iterator[Accelerator]:
    """The network on its device, or for many texts in a process on each of several devices, ended with the block."""
    most = min(MOST_TOKENS, _affordable(network))
    if len(devices) == 1 or n_texts < FEW:
        yield Accelerator(network, most)
        return
    pool = network.start_multi_process_pool(list(devices))
    try:
        yield Accelerator(network, most * len(devices), pool)
    finally:
        network.stop_multi_process_pool(pool)


def _affordable(network: SentenceTransformer) -> int:
    """The tokens of a batch that the free memory of the network's device holds; no limit on a CPU."""
    import torch

    if network.device.type != "cuda":
        return MOST_TOKENS
    free, _ = torch.cuda.mem_get_info(network.device)
    return max(int(network.max_seq_length), int(free) // (PER_DIMENSION * (network.get_embedding_dimension() or 1024)))
