"""Texts -> their numbers of tokens, by the encoder's tokenizer; all token budgets use it.

Tokens are those of the whole text, without [CLS] and [SEP]. Only the tokenizer is loaded, not the
network: that of the default encoder from this package (BERT's, Apache-2.0), others from the model's
files.
"""

from __future__ import annotations

import lzma
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

import numpy as np

from kg2rag.compute.embedder import Embedder
from kg2rag.compute.models import DEFAULT_MODEL, folder_state, loading
from kg2rag.compute.sentence_encoder import SentenceEncoder
from kg2rag.compute.static_encoder import StaticEncoder
from kg2rag.types import Ranking

if TYPE_CHECKING:
    from tokenizers import Tokenizer

FILE = "tokenizer.json"
DEFAULT = files(__package__) / f"{FILE}.xz"
"""The tokenizer of `DEFAULT_MODEL`, without padding and truncation."""


class TokenCounter(Protocol):
    """Anything that counts tokens, such as the tokenizer of a language model."""

    def count(self, texts: Sequence[str]) -> list[int]:
        """The number of tokens of each text; 0 for an empty one."""
        ...


@dataclass(frozen=True)
class EncoderTokens:
    """The tokenizer of a sentence encoder as a `TokenCounter`; WordPiece by default."""

    encoder: SentenceEncoder = field(default_factory=SentenceEncoder)

    def count(self, texts: Sequence[str]) -> list[int]:
        """The number of tokens of each text.

        >>> EncoderTokens().count(["", "depends_on"])
        [0, 3]
        """
        # Tokenizers refuse lone surrogates; each counts as "?".
        readable = [text.encode("utf-8", "replace").decode() for text in texts]
        model = self.encoder.model
        tokenizer = _read_tokenizer(model, self.encoder.revision, folder_state(model))
        return [
            len(encoding)
            for encoding in tokenizer.encode_batch_fast(
                readable, add_special_tokens=False
            )
        ]


@lru_cache(maxsize=8)
def _read_tokenizer(model: str, revision: str | None, _files: object) -> Tokenizer:
    """The tokenizer of a model, without truncation, so that it counts whole texts.

    `_files` distinguishes successive models in one folder.
    """
    from huggingface_hub import hf_hub_download
    from tokenizers import Tokenizer

    if model == DEFAULT_MODEL and revision is None:
        tokenizer = Tokenizer.from_str(lzma.decompress(DEFAULT.read_bytes()).decode())
    else:
        with loading(model) as is_offline:
            path = Path(model) / FILE
            if not Path(model).is_dir():
                path = Path(
                    hf_hub_download(
                        model, FILE, revision=revision, local_files_only=is_offline
                    )
                )
            if not path.is_file():
                raise OSError(
                    f"it has no {FILE}. Save it with a fast tokenizer, or pass another counter."
                )
            tokenizer = Tokenizer.from_file(str(path))
    tokenizer.no_truncation()
    tokenizer.no_padding()
    return tokenizer


def counter_of(embedder: Embedder) -> TokenCounter:
    """The token counter of an embedder's model; the default encoder's for other embedders."""
    if isinstance(embedder, StaticEncoder):
        return EncoderTokens(SentenceEncoder(embedder.model))
    if isinstance(embedder, SentenceEncoder):
        return EncoderTokens(embedder)
    return EncoderTokens()


def cut(
    rankings: Sequence[Ranking],
    contents: Sequence[str],
    counter: TokenCounter,
    limit: int,
) -> list[Ranking]:
    """Each ranking without the passages that do not fit into a budget of `limit` tokens.

    Passages are taken best first, and one that does not fit is skipped. `contents` are the texts by
    corpus row. The notes of each ranking get `tokens`, the number used, and `left_out`, the ids of
    the skipped passages.
    """
    rows = list(
        dict.fromkeys(row for ranking in rankings for row in ranking.rows.tolist())
    )
    tokens = dict(
        zip(rows, counter.count([contents[row] for row in rows]), strict=True)
    )
    cut_rankings = []
    for ranking in rankings:
        fits = np.ones(len(ranking), dtype=bool)
        n_tokens = 0
        for position, row in enumerate(ranking.rows.tolist()):
            fits[position] = n_tokens + tokens[row] <= limit
            if fits[position]:
                n_tokens += tokens[row]
        notes = replace(
            ranking.notes,
            tokens=n_tokens,
            left_out=tuple(ranking.select(~fits).passage_ids),
        )
        cut_rankings.append(replace(ranking.select(fits), notes=notes))
    return cut_rankings
