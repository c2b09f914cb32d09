"""Texts -> their numbers of tokens, by the tokenizer of the encoder; all budgets in the package count with it.

Tokens are those of the uncut text, without the [CLS] and [SEP] of an encoding. Only the tokenizer is loaded: that of
the default encoder from this package (it is BERT's, Apache-2.0, as all-MiniLM-L6-v2 has it), another's with its files.
"""

from __future__ import annotations

import lzma
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

import numpy as np

from kg2rag.compute.embedder import Embedder
from kg2rag.compute.models import DEFAULT_MODEL, loading
from kg2rag.compute.sentence_encoder import SentenceEncoder
from kg2rag.compute.static_encoder import StaticEncoder
from kg2rag.types import Ranking

if TYPE_CHECKING:
    from tokenizers import Tokenizer

FILE = "tokenizer.json"
DEFAULT = files(__package__) / f"{FILE}.xz"
"""The tokenizer of `DEFAULT_MODEL`, without the limits of encoding."""


class TokenCounter(Protocol):
    """Anything that counts tokens, such as the tokenizer of a language model."""

    def count(self, texts: Sequence[str]) -> list[int]:
        """The number of tokens of each text; 0 for an empty one."""
        ...


@dataclass(frozen=True)
class EncoderTokens:
    """The tokenizer of a sentence encoder as a `TokenCounter`; WordPiece for the default all-MiniLM-L6-v2."""

    encoder: SentenceEncoder = field(default_factory=SentenceEncoder)

    def count(self, texts: Sequence[str]) -> list[int]:
        """The number of tokens of each text.

        >>> EncoderTokens().count(["", "depends_on"])
        [0, 3]
        """
        # Tokenizers refuse lone surrogates; each counts as "?".
        readable = [text.encode("utf-8", "replace").decode() for text in texts]
        return [len(found) for found in self._tokenizer.encode_batch_fast(readable, add_special_tokens=False)]

    @cached_property
    def _tokenizer(self) -> Tokenizer:
        """Without the limits of encoding, which its file sets: a count needs the whole text."""
        from huggingface_hub import hf_hub_download
        from tokenizers import Tokenizer

        model, revision = self.encoder.model, self.encoder.revision
        if model == DEFAULT_MODEL and revision is None:
            tokenizer = Tokenizer.from_str(lzma.decompress(DEFAULT.read_bytes()).decode())
        else:
            with loading(model) as local:
                file = Path(model) / FILE
                if not Path(model).is_dir():
                    file = Path(hf_hub_download(model, FILE, revision=revision, local_files_only=local))
                if not file.is_file():
                    raise OSError(f"it has no {FILE}. Save it with a fast tokenizer, or pass another counter.")
                tokenizer = Tokenizer.from_file(str(file))
        tokenizer.no_truncation()
        tokenizer.no_padding()
        return tokenizer

    def __getstate__(self) -> dict[str, object]:
        return {"encoder": self.encoder}


def counter_of(embedder: Embedder) -> TokenCounter:
    """The tokenizer of a sentence or static encoder's model; the default encoder's for other embedders."""
    if isinstance(embedder, StaticEncoder):
        return EncoderTokens(SentenceEncoder(embedder.model))
    return EncoderTokens(embedder) if isinstance(embedder, SentenceEncoder) else EncoderTokens()


def cut(rankings: Sequence[Ranking], contents: Sequence[str], counter: TokenCounter, limit: int) -> list[Ranking]:
    """Every ranking cut to `limit` tokens of `contents` (by corpus row): best first, skipping what does not fit.

    The notes of each say `tokens`, the number used, and `left_out`, the ids of the hits that did not fit.
    """
    rows = list(dict.fromkeys(row for ranking in rankings for row in ranking.rows.tolist()))
    tokens = dict(zip(rows, counter.count([contents[row] for row in rows]), strict=True))
    found = []
    for ranking in rankings:
        kept, spent = np.ones(len(ranking), dtype=bool), 0
        for at, row in enumerate(ranking.rows.tolist()):
            kept[at] = spent + tokens[row] <= limit
            spent += tokens[row] * int(kept[at])
        notes = replace(ranking.notes, tokens=spent, left_out=tuple(ranking.select(~kept).passage_ids))
        found.append(replace(ranking.select(kept), notes=notes))
    return found
