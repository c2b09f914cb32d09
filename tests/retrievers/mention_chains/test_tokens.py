"""Token vectors of a corpus: written by blocks, the same bytes whatever the block."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import kg2rag
from kg2rag.retrievers.mention_chains import token_index
from kg2rag.retrievers.mention_chains.retriever import MentionChains
from kg2rag.retrievers.mention_chains.signals import weighted


def test_the_size_of_a_block_changes_no_byte(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    corpus = kg2rag.load("bundled").corpus
    few = kg2rag.Corpus.from_passages(corpus[row] for row in range(6))
    found = []
    for block in (4, 100):
        monkeypatch.setattr(token_index, "BLOCK_PASSAGES", block)
        kb = kg2rag.KnowledgeBase.build(few, store=kg2rag.Store(tmp_path / str(block)))
        index = token_index.token_index(kb)
        assert index is not None
        found.append((index.vectors, index.indptr, index.windows, index.rarity))
    assert all(np.array_equal(one, other) for one, other in zip(*found, strict=True))
    assert found[0][1][-1] == len(found[0][0]) > 6


def test_a_passage_is_read_to_its_end_where_the_encoder_cuts_it(tmp_path: Path) -> None:
    asked = "Who built the aqueduct?"
    filler = "The river was calm that day. " * 60
    corpus = kg2rag.Corpus.from_passages(
        kg2rag.Passage(id=id_, title="", text=text)
        for id_, text in (("cut", filler + asked), ("short", asked), ("other", filler))
    )
    kb = kg2rag.KnowledgeBase.build(corpus, store=kg2rag.Store(tmp_path))
    index = token_index.token_index(kb)
    assert index is not None
    (question,) = token_index.question_tokens(kb, [asked])
    cut, short, other = weighted(
        index.max_sim(question, np.arange(3)), question.weights
    )
    assert short > cut > other + 0.2
    assert np.diff(index.windows).tolist() == [2, 1, 2]


def test_the_axes_of_a_corpus_keep_the_cosines_of_its_token_vectors(
    tmp_path: Path,
) -> None:
    data = kg2rag.load("bundled")
    few = kg2rag.Corpus.from_passages(data.corpus[row] for row in range(40))
    kb = kg2rag.KnowledgeBase.build(
        few,
        embedder=kg2rag.SentenceEncoder(dtype="float32"),
        store=kg2rag.Store(tmp_path),
    )
    index, question = token_index.token_index(kb), data.queries[0].text
    assert index is not None
    assert index.axes.T @ index.axes == pytest.approx(np.eye(64), abs=1e-5)
    whole = [
        vectors
        for _, vectors in kb.embedder.encode_tokens(
            [*few.contents, question], kb.store, reduce=np.asarray
        )
    ]
    exact = np.stack([(vectors @ whole[-1].T).max(axis=0) for vectors in whole[:-1]])
    kept = index.max_sim(
        token_index.question_tokens(kb, [question])[0], np.arange(len(few))
    )
    assert np.corrcoef(exact.mean(axis=1), kept.mean(axis=1))[0, 1] > 0.95


def test_questions_are_encoded_once(tmp_path: Path) -> None:
    data = kg2rag.load("bundled")
    few = kg2rag.Corpus.from_passages(data.corpus[row] for row in range(6))
    kb = kg2rag.KnowledgeBase.build(few, store=kg2rag.Store(tmp_path))
    token_index.token_index(kb)
    texts = [query.text for query in data.queries[:4]]
    passes: list[object] = []
    hook = kb.embedder.network.register_forward_pre_hook(lambda *_: passes.append(None))  # type: ignore[attr-defined]
    try:
        found = token_index.question_tokens(kb, [*texts, texts[0], "\ud800"])
        made = len(passes)
        kb.encode_once(texts, "query")
        assert token_index.question_tokens(kb, texts[1:2])[0] is found[1]
        assert len(passes) == made
    finally:
        hook.remove()
    assert found[4] is found[0]
    assert [one.weights.sum() for one in found[:4]] == pytest.approx([1] * 4)
    assert np.linalg.norm(found[0].vectors, axis=1) == pytest.approx(1, abs=1e-5)
    assert len(found[5].weights) == 0


def test_the_passes_for_tokens_give_the_vectors_of_passages_too(tmp_path: Path) -> None:
    data = kg2rag.load("bundled")
    few = kg2rag.Corpus.from_passages(data.corpus[row] for row in range(40))
    plain = kg2rag.KnowledgeBase.build(
        few, store=kg2rag.Store(tmp_path / "plain")
    ).vectors
    kb = kg2rag.KnowledgeBase.build(few, store=kg2rag.Store(tmp_path / "tokens"))
    passes: list[object] = []
    network = kb.embedder.network  # type: ignore[attr-defined]
    hook = network.register_forward_pre_hook(lambda *_: passes.append(None))
    try:
        token_index.token_index(kb)
        made = len(passes)
        assert made > 0
        np.testing.assert_allclose(kb.vectors, plain, atol=1e-2)  # in bfloat16, too
        assert len(passes) == made
        other = kg2rag.KnowledgeBase.build(few, store=kg2rag.Store(tmp_path / "plain"))
        token_index.token_index(other)  # after the vectors, which stay
        assert other.vectors.tobytes() == plain.tobytes()
    finally:
        hook.remove()


def test_a_comparison_encodes_every_passage_once_whatever_the_order_of_its_systems(
    tmp_path: Path,
) -> None:
    data = kg2rag.load("bundled").sample(3)
    kb = kg2rag.KnowledgeBase.build(data.corpus, store=kg2rag.Store(tmp_path))
    read: list[int] = []
    network = kb.embedder.network  # type: ignore[attr-defined]
    hook = network.register_forward_pre_hook(
        lambda _, given: read.append(len(given[0]["input_ids"]))
    )
    try:
        result = kg2rag.compare([kg2rag.Dense(kb), MentionChains(kb)], data)
    finally:
        hook.remove()
    assert result.systems == ["dense", "mention_chains"]
    assert len(data.corpus) <= sum(read) < 2 * len(data.corpus)
