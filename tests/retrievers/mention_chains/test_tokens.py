"""Token vectors of a corpus: written by blocks, the same bytes whatever the block."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import kg2rag
from kg2rag.retrievers.mention_chains import tokens


def test_the_size_of_a_block_changes_no_byte(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    corpus = kg2rag.load("bundled").corpus
    few = kg2rag.Corpus.from_passages(corpus[row] for row in range(6))
    found = []
    for block in (4, 100):
        monkeypatch.setattr(tokens, "BLOCK", block)
        kb = kg2rag.KnowledgeBase.build(few, store=kg2rag.Store(tmp_path / str(block)))
        index = tokens.token_index(kb)
        assert index is not None
        found.append((index.vectors, index.indptr, index.rarity))
    assert all(np.array_equal(one, other) for one, other in zip(*found, strict=True))
    assert found[0][1][-1] == len(found[0][0]) > 6


def test_the_tokens_of_a_set_of_questions_are_stored_and_those_of_a_few_are_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tokens, "WORTH_STORING", 3)
    data, store = kg2rag.load("bundled"), kg2rag.Store(tmp_path)
    few = kg2rag.Corpus.from_passages(data.corpus[row] for row in range(6))
    texts = [query.text for query in data.queries[:4]]
    opened = [kg2rag.KnowledgeBase.build(few, store=store) for _ in range(3)]
    found = tokens.question_tokens(opened[0], [*texts, texts[0], "\ud800"])
    tokens.question_tokens(opened[1], ["Who?", "Why?"])
    assert len(list((tmp_path / "question_tokens").iterdir())) == 1

    def refuse(*_: object, **__: object) -> None:
        raise AssertionError("encoded again")

    alone = [tokens.question_tokens(opened[1], [text])[0] for text in (*texts, "\ud800")]
    monkeypatch.setattr(tokens, "encode_tokens", refuse)
    again = tokens.question_tokens(opened[2], [*texts, "\ud800"])
    assert found[4] is found[0]
    for one, other, single in zip([*found[:4], found[5]], again, alone, strict=True):
        assert np.array_equal(one.vectors, other.vectors)
        assert np.array_equal(one.weights, other.weights)
        assert np.array_equal(one.vectors, single.vectors)
        assert one.vectors.dtype == other.vectors.dtype


def test_the_passes_for_tokens_give_the_vectors_of_passages_too(tmp_path: Path) -> None:
    data = kg2rag.load("bundled")
    few = kg2rag.Corpus.from_passages(data.corpus[row] for row in range(40))
    plain = kg2rag.KnowledgeBase.build(few, store=kg2rag.Store(tmp_path / "plain")).vectors
    kb = kg2rag.KnowledgeBase.build(few, store=kg2rag.Store(tmp_path / "tokens"))
    passes: list[object] = []
    network = kb.embedder.network  # type: ignore[attr-defined]
    hook = network.register_forward_pre_hook(lambda *_: passes.append(None))
    try:
        tokens.token_index(kb)
        made = len(passes)
        assert made > 0
        assert kb.vectors.tobytes() == plain.tobytes()
        assert len(passes) == made
        other = kg2rag.KnowledgeBase.build(few, store=kg2rag.Store(tmp_path / "plain"))
        before = sorted((tmp_path / "plain").glob("vectors-*/*"))
        tokens.token_index(other)  # after the vectors: nothing is stored twice
        assert sorted((tmp_path / "plain").glob("vectors-*/*")) == before
    finally:
        hook.remove()
