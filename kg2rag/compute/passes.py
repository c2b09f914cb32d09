"""Batches of texts -> what a network makes of each of them, in passes of fixed shape.

A batch has one of a few lengths, a number of rows that its length fixes, and one thread. The same matrix shapes, and on
a CPU the same bits, thus result for any order, batch and number of threads. Batches of queries are small, so that one
question alone takes milliseconds, those of texts that are made for a query, one or two at a time, are of middle size,
and those of passages large.

A pass costs the same for one short text as for as many as fill it, and a question may bring a dozen phrases. So where
the network allows it, queries stand side by side in one row. Each has positions of its own and sees itself alone, and
each begins at a multiple of eight tokens: what others add to a sum are zeros, and the rest is added in the same order
wherever a text stands. Rows have the length that ends a few texts soonest, all threads at work, of those lengths in
which a probe shows that products of matrices round alike.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from copy import deepcopy
from dataclasses import dataclass
from functools import partial
from itertools import accumulate
from threading import RLock
from typing import TYPE_CHECKING, Any, Literal, Protocol

from kg2rag.compute.hardware import threads
from kg2rag.compute.vectors import ROWS, batches_of

if TYPE_CHECKING:
    from sentence_transformers import SentenceTransformer
    from torch import Tensor
    from transformers import BatchEncoding

Role = Literal["passage", "query", "made"]
"""What a text is: one of many passages, a query, or made for a query of what the corpus holds, such as a chain."""

TOKENS: dict[Role, int] = {"query": 32, "made": 128}  # in a batch, or those of one text where it has more
WIDTHS = (32, 64, 96, 128)  # tokens in a row of queries
STEP = 8  # tokens; where in a row a text begins is a multiple of this
PROBE = "Which of the two directors, both of whom were born in Vienna, made the longer film, and who was cast in it?"
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

    def pieces(self, texts: Sequence[str], role: Role = "passage") -> list[list[int]]:
        """The tokens of each text, cut."""
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


def _room(length: int) -> int:
    """The tokens that a text takes of a row; its own length may be the network's limit, which is any number."""
    return -(-length // STEP) * STEP


def _filled(lengths: Sequence[int], width: int) -> Iterator[slice]:
    """Neighbours as long as they fit into a row of a width; what does not fit alone is a batch of its own."""
    start = filled = 0
    for end, length in enumerate(lengths):
        if end > start and filled + _room(length) > width:
            yield slice(start, end)
            start, filled = end, 0
        filled += _room(length)
    if lengths:
        yield slice(start, len(lengths))


def can_stand_side_by_side(network: SentenceTransformer) -> bool:
    """Whether a network takes positions and a mask of any form: that of BERT, on a CPU."""
    from transformers import BertModel

    model = getattr(network[0], "auto_model", None)
    return (
        isinstance(model, BertModel)
        and model.config._attn_implementation == "sdpa"
        and not model.config.is_decoder
        and network.device.type == "cpu"
    )


class Passes:
    """The passes of one encoder's network; what it made of the last `RECENT` queries is kept."""

    def __init__(self, encoder: Tokenising) -> None:
        self._encoder = encoder
        self._recent: dict[tuple[str, str], Output] = {}
        self._widths: dict[str, list[int]] = {}
        self._halved: SentenceTransformer | None = None
        self._turns = RLock()

    def batches(self, lengths: Sequence[int], role: Role) -> Iterator[slice]:
        """The batches of texts of one role, given their padded lengths, the longest first.

        Rows are as short as they may be for every thread to have one at most.
        """
        if role != "query" or not can_stand_side_by_side(self._encoder.network):
            return batches_of(lengths, partial(rows_of, role))
        filled = (list(_filled(lengths, width)) for width in WIDTHS)
        return iter(next((rows for rows in filled if len(rows) <= threads()), list(_filled(lengths, WIDTHS[-1]))))

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
        network, lengths = self._network(dtype), self._encoder.padded_lengths(texts, role)
        with _passing(network, dtype):
            if role != "query" or max(lengths) > WIDTHS[-1] or not can_stand_side_by_side(network):
                batch = self._encoder.tokenised(texts, max(lengths))
                return _rectangle(network, batch, len(texts), rows_of(role, max(lengths)))
            wanted = sum(map(_room, lengths))
            width = next(each for each in self._alike(dtype) if each >= wanted)
            return _row(network, self._encoder.pieces(texts, role), lengths, width)

    def _network(self, dtype: str) -> SentenceTransformer:
        """The network; for products in bfloat16 with the weights that autocast would make of its own in every pass."""
        if dtype == "float32":
            return self._encoder.network
        with self._turns:
            if self._halved is None:
                self._halved = _with_linear_weights_in_half(self._encoder.network)
        return self._halved

    def _alike(self, dtype: str) -> list[int]:
        """The longest row, and those in which a text has the same bits as there; ascending."""
        with self._turns:
            if dtype not in self._widths:
                network, probe = self._network(dtype), [self._encoder.pieces([PROBE])[0][: WIDTHS[0]]]
                tokens = [_row(network, probe, [WIDTHS[0]], width)[0].tokens for width in WIDTHS]
                same = [width for width, each in zip(WIDTHS, tokens, strict=True) if each.equal(tokens[-1])]
                self._widths[dtype] = same
        return self._widths[dtype]


def _with_linear_weights_in_half(network: SentenceTransformer) -> SentenceTransformer:
    """A copy that shares all parameters but those of linear layers, which it has in bfloat16."""
    import torch

    copied = deepcopy(network, {id(weights): weights for weights in network.parameters()})
    for module in copied.modules():
        if isinstance(module, torch.nn.Linear):
            for name, weights in list(module.named_parameters(recurse=False)):
                half = torch.nn.Parameter(weights.detach().to(torch.bfloat16), requires_grad=False)
                setattr(module, name, half)
    return copied


@contextmanager
def _passing(network: SentenceTransformer, dtype: str) -> Iterator[None]:
    """One thread, since batches run side by side instead (see `VectorCache`), no gradients, products in a dtype."""
    import torch

    torch.set_num_threads(1)
    mixed = torch.autocast(network.device.type, dtype=torch.bfloat16, enabled=dtype == "bfloat16")
    with torch.inference_mode(), mixed:
        yield


def _rectangle(network: SentenceTransformer, batch: BatchEncoding, texts: int, rows: int) -> list[Output]:
    """Texts of one length, one below the other; then the first again, up to the fixed number of rows."""
    import torch

    for name, given in batch.items():
        batch[name] = torch.cat([given, given[:1].expand(rows - texts, -1)])
    batch = batch.to(network.device)
    found = network(dict(batch))
    vectors, tokens = found["sentence_embedding"].float(), found["token_embeddings"].float()
    return [Output(batch["input_ids"][i], tokens[i], vectors[i]) for i in range(texts)]


def _row(network: SentenceTransformer, texts: Sequence[list[int]], lengths: Sequence[int], width: int) -> list[Output]:
    """Texts side by side in a row, each padded to its length; modules after the network proper take each by itself."""
    import torch

    ids = torch.full((1, width), network.tokenizer.pad_token_id)
    positions = torch.zeros_like(ids)
    sees = torch.eye(width, dtype=torch.bool)  # what is left of the row sees itself; nothing is read of it
    starts = [0, *accumulate(map(_room, lengths[:-1]))]
    for start, length, pieces in zip(starts, lengths, texts, strict=True):
        inside, written = slice(start, start + length), slice(start, start + len(pieces))
        ids[0, written], positions[0, inside] = torch.tensor(pieces), torch.arange(length)
        sees[inside, inside] = False
        sees[inside, written] = True
    model: Any = network[0].auto_model
    hidden = model(input_ids=ids, position_ids=positions, attention_mask=sees[None, None]).last_hidden_state
    outputs = []
    for start, length, pieces in zip(starts, lengths, texts, strict=True):
        tokens = hidden[:, start : start + length].contiguous()
        mask = (torch.arange(length) < len(pieces)).long()
        found = {"token_embeddings": tokens, "attention_mask": mask[None]}
        for module in list(network)[1:]:
            found = module(found)
        vector = found["sentence_embedding"][0].float()
        outputs.append(Output(ids[0, start : start + length], tokens[0].float(), vector))
    return outputs
