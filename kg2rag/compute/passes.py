"""Batches of texts -> what a network makes of each of them, in passes of fixed shape.

A batch has one of a few lengths, a number of rows that its length fixes, and one thread. The same matrix shapes, and on
a CPU the same bits, thus result for any order, batch and number of threads. Batches of queries are small, so that one
question alone takes milliseconds, those of texts that are made for a query, one or two at a time, are of middle size,
and those of passages large.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, Protocol

from kg2rag.compute.vectors import ROWS

if TYPE_CHECKING:
    from sentence_transformers import SentenceTransformer
    from torch import Tensor
    from transformers import BatchEncoding

Role = Literal["passage", "query", "made"]
"""What a text is: one of many passages, a query, or made for a query of what the corpus holds, such as a chain."""

TOKENS: dict[Role, int] = {"query": 32, "made": 128}  # in a batch, or those of one text where it has more
RECENT = 256  # queries: about 10 MB, and 100 where each fills the limit of 256 tokens


class Tokenising(Protocol):
    """A network and how texts are cut and padded for it, as of `SentenceEncoder`."""

    @property
    def network(self) -> SentenceTransformer:
        """The model."""
        ...

    def padded_lengths(self, texts: Sequence[str], role: Role = "passage") -> list[int]:
        """The tokens of each text, cut and rounded up to one of a few lengths."""
        ...

    def tokenised(self, texts: Sequence[str], length: int) -> BatchEncoding:
        """Texts cut or padded to `length` tokens."""
        ...


@dataclass(frozen=True, eq=False)
class Output:
    """Of one text: `pieces` (n,) its wordpieces, padding included, `tokens` (n, dim), and `vector` (dim,)."""

    pieces: Tensor
    tokens: Tensor
    vector: Tensor


def rows_of(role: Role, length: int) -> int:
    """The rows of a batch of texts of one padded length."""
    return max(1, TOKENS[role] // length) if role in TOKENS else ROWS


class Passes:
    """The passes of one encoder's network; what it made of the last `RECENT` queries is kept."""

    def __init__(self, encoder: Tokenising) -> None:
        self._encoder = encoder
        self._recent: dict[tuple[str, str], Output] = {}

    def outputs(self, texts: Sequence[str], dtype: str, role: Role) -> list[Output]:
        """What the network makes of each text of a batch of as many as `rows_of` allows.

        A recent question's tokens need no second pass: its bits are those that any other batch would have given it.
        """
        if role != "query":
            return self._batch(texts, dtype, role)
        known = self._recent
        found = [output for text in texts if (output := known.get((text, dtype)))]
        if len(found) < len(texts):
            found = self._batch(texts, dtype, role)
            known.update(zip(((text, dtype) for text in texts), found, strict=True))
            for key in list(known)[: max(len(known) - RECENT, 0)]:
                known.pop(key, None)
        return found

    def _batch(self, texts: Sequence[str], dtype: str, role: Role) -> list[Output]:
        import torch

        length = max(self._encoder.padded_lengths(texts, role))
        batch = self._encoder.tokenised(texts, length)
        for name, rows in batch.items():  # the first text again, up to the fixed number of rows
            batch[name] = torch.cat([rows, rows[:1].expand(rows_of(role, length) - len(rows), -1)])
        device = self._encoder.network.device
        batch = batch.to(device)
        torch.set_num_threads(1)  # batches run side by side instead; see `VectorCache`
        mixed = torch.autocast(device.type, dtype=torch.bfloat16, enabled=dtype == "bfloat16")
        with torch.inference_mode(), mixed:
            found = self._encoder.network(dict(batch))
        vectors, tokens = found["sentence_embedding"].float(), found["token_embeddings"].float()
        return [Output(batch["input_ids"][i], tokens[i], vectors[i]) for i in range(len(texts))]
