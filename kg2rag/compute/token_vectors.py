"""Texts -> a unit vector for each of their wordpieces, by the same model, batches and bits as `encoder`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

import numpy as np

from kg2rag.compute.encoder import SentenceEncoder, prompted_texts
from kg2rag.compute.hardware import threads
from kg2rag.compute.passes import Role
from kg2rag.compute.progress import bar as progress_bar
from kg2rag.compute.store import Store
from kg2rag.types import IntArray, Matrix

Reduced = TypeVar("Reduced")
FEW = 1000  # texts, such as questions, that take no progress bar


def encode_tokens(
    encoder: SentenceEncoder,
    texts: Sequence[str],
    store: Store,
    role: Role = "passage",
    *,
    reduce: Callable[[Matrix], Reduced],
) -> list[tuple[IntArray, Reduced]]:
    """The wordpieces (n_tokens,) of each text, and what `reduce` makes of their vectors (n_tokens, dim).

    A text's result does not depend on the other texts, nor on the number of threads. Nothing of it is stored; but the
    same passes give the vectors of whole passages, and these are, so that `SentenceEncoder.encode` finds them.

    Parameters
    ----------
    reduce : called as soon as a text is encoded, so that the vectors of a corpus are never in memory together.
    """
    about = encoder.describe(store)
    prompted = prompted_texts(texts, about, role)
    lengths = encoder.padded_lengths(prompted, role) if prompted else []
    order = sorted(range(len(prompted)), key=lambda i: (-lengths[i], i))
    batches = [order[batch] for batch in encoder.batches([lengths[i] for i in order], role)] if order else []

    def encoded(batch: list[int]) -> list[tuple[IntArray, Reduced]]:
        found = encoder.forward_tokens([prompted[i] for i in batch], about["dtype"], role)
        whole[batch] = [vector for _, _, vector in found]
        return [(pieces, reduce(tokens)) for pieces, tokens, _ in found]

    whole = np.empty((len(texts), about["dim"]), dtype=np.float32)
    results: dict[int, tuple[IntArray, Reduced]] = {}
    with (
        ThreadPoolExecutor(min(threads(), len(batches)) or 1) as pool,
        progress_bar(len(texts), "encoding tokens", "text", shown=len(texts) > FEW) as bar,
    ):
        for batch, found in zip(batches, pool.map(encoded, batches), strict=True):
            results.update(zip(batch, found, strict=True))
            bar.update(len(batch))
    if role == "passage":
        encoder.keep(texts, whole, store)
    return [results[i] for i in range(len(texts))]
