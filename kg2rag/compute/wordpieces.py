"""Texts -> the tokens of a fast tokenizer as sparse counts, each distinct word tokenised once.

A tokenizer of BERT's kind cuts at blanks before anything else, so that a text's tokens are those of its words. Most
words of a block of texts are repetitions: this is some ten times as fast as the tokenizer alone, with equal tokens.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from itertools import chain
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from scipy.sparse import csr_array

if TYPE_CHECKING:
    from tokenizers import Tokenizer

REMEMBERED = 2**18  # words whose tokens are kept; frequent ones come first
LONGEST = 64  # characters of a word that is kept


class WordTokens:
    """The tokens of texts, without those that a model adds before and after one; nothing is cut.

    May be called from several threads at once.
    """

    def __init__(self, tokenizer: Tokenizer) -> None:
        tokenizer.no_padding()
        tokenizer.no_truncation()
        self._tokenizer = tokenizer
        self._by_word = cuts_at_blanks(tokenizer)
        self._known: dict[str, list[int]] = {}

    def counts(self, texts: Sequence[str]) -> tuple[csr_array, csr_array]:
        """Which words each text has, (n_texts, n_words), and which tokens each word has, (n_words, n_tokens).

        In the order of the text, repetitions as entries of their own. Without words (see `cuts_at_blanks`) each text is
        one.
        """
        if not self._by_word:
            rows = np.arange(len(texts))
            return _sparse(rows, np.arange(len(texts) + 1), len(texts)), self._tokens_of(texts)
        array = pa.array(texts, type=pa.large_string())
        split = pc.split_pattern(pc.replace_substring(array, "\n", " "), " ")
        words = split.flatten().dictionary_encode()
        tokens = self._tokens_of(words.dictionary.to_pylist())
        return _sparse(words.indices.to_numpy(), split.offsets.to_numpy(), len(words.dictionary)), tokens

    def _tokens_of(self, words: Sequence[str]) -> csr_array:
        known = self._known
        lists = [known.get(word) for word in words]
        new = [i for i, tokens in enumerate(lists) if tokens is None]
        encodings = self._tokenizer.encode_batch_fast([words[i] for i in new], add_special_tokens=False)
        for i, encoding in zip(new, encodings, strict=True):
            lists[i] = encoding.ids
            if self._by_word and len(known) < REMEMBERED and len(words[i]) <= LONGEST:
                known[words[i]] = encoding.ids
        found: list[list[int]] = lists  # type: ignore[assignment]
        ends = np.cumsum([0, *map(len, found)])
        tokens = np.fromiter(chain.from_iterable(found), dtype=np.int32, count=ends[-1])
        return _sparse(tokens, ends, self._tokenizer.get_vocab_size())


def _sparse(columns: np.ndarray, ends: np.ndarray, width: int) -> csr_array:
    """Ones in the given columns; row i is `columns[ends[i] : ends[i + 1]]`."""
    return csr_array((np.ones(len(columns), dtype=np.float32), columns, ends), shape=(len(ends) - 1, width))


def cuts_at_blanks(tokenizer: Tokenizer | None) -> bool:
    """Whether a text's tokens are those of the parts between its blanks and line breaks, one after the other.

    Known of BERT's pre-tokenizer and normalizer alone; for others, such as SentencePiece, the blank belongs to a word.
    """
    if tokenizer is None:
        return False
    rules = json.loads(tokenizer.to_str())
    parts = [(rules[part] or {}).get("type") for part in ("normalizer", "pre_tokenizer")]
    added = [token["content"] for token in rules["added_tokens"]]
    return parts == ["BertNormalizer", "BertPreTokenizer"] and not any(set(" \n") & set(token) for token in added)
