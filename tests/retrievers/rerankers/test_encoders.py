"""Rerankers: cosines by hand, and a real cross-encoder, tiny and random, made on the spot."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from by_hand import knowledge_base, passages

from kg2rag.compute import Store
from kg2rag.extraction import Extraction
from kg2rag.retrievers.dense import Dense
from kg2rag.retrievers.rerankers import (
    BiEncoder,
    CrossEncoder,
    Rerank,
    named,
    score_batches,
)
from kg2rag.types import FloatArray, Query

PAIRS = [
    ("who built it", "the bridge"),
    ("who built it", "the bridge was built by anna near the river"),
    ("a", "b"),
]


def tiny(folder: Path, labels: int = 1) -> str:
    from transformers import BertConfig, BertForSequenceClassification, BertTokenizer

    words = "[PAD] [UNK] [CLS] [SEP] [MASK] who built it the bridge was by anna near river a b".split()
    (folder / "vocab.txt").write_text("\n".join(words))
    import torch

    torch.manual_seed(0)
    size = {
        "hidden_size": 16,
        "num_hidden_layers": 1,
        "num_attention_heads": 2,
        "intermediate_size": 16,
    }
    config = BertConfig(
        vocab_size=len(words), num_labels=labels, initializer_range=1.0, **size
    )
    BertForSequenceClassification(config).save_pretrained(folder)
    BertTokenizer(str(folder / "vocab.txt")).save_pretrained(folder)
    return str(folder)


class Lengths:
    """Longer texts are better."""

    def scores(self, pairs: list[tuple[str, str]]) -> FloatArray:
        return np.array([float(len(text)) for _, text in pairs])


def kb_of(folder: Path):  # type: ignore[no-untyped-def]
    cosines = {"q": (0.8, 0.6, 0.0)}
    return knowledge_base(
        passages("one", "two and more", "three"), Extraction(), cosines, Store(folder)
    )


def test_a_bi_encoder_scores_by_cosine(tmp_path: Path) -> None:
    scores = BiEncoder(kb_of(tmp_path)).scores(
        [("q", "one"), ("q", "two and more"), ("q", "one")]
    )
    assert scores == pytest.approx([0.8, 0.6, 0.8])


def test_a_cross_encoder_scores_a_pair_the_same_whatever_is_scored_with_it(
    tmp_path: Path,
) -> None:
    model = CrossEncoder(tiny(tmp_path))
    together = model.scores([*PAIRS, PAIRS[0]])
    assert together.tolist() == [model.scores([pair])[0] for pair in [*PAIRS, PAIRS[0]]]
    assert len(set(together.tolist())) == 3
    with pytest.raises(ValueError, match="3 outputs"):
        CrossEncoder(tiny(tmp_path, labels=3)).scores(PAIRS)  # a classifier


def test_names_stand_for_the_bi_encoder_or_a_model(tmp_path: Path) -> None:
    kb = kb_of(tmp_path)
    assert named("bi-encoder", kb) == BiEncoder(kb)
    assert named("a/model", kb) == CrossEncoder("a/model")


@dataclass
class Given:
    """What it returns, whatever it is asked."""

    found: list[float]

    def scores(self, pairs: object) -> FloatArray:
        return np.array(self.found)


@dataclass
class Lazy:
    def score_lists(self, lists: list[list[tuple[str, str]]]) -> list[FloatArray]:
        return [np.ones(1) for _ in lists]


SHORT = r".*\(1,\).*\(2,\)"


@pytest.mark.parametrize(
    ("reranker", "says"),
    [
        (Given([np.nan, 0, 0]), "'c' for 'q' is not finite"),
        (Given([1.0]), SHORT),
        (Lazy(), SHORT),
    ],
)
def test_a_reranker_that_returns_nan_or_too_little_is_named(
    reranker: Any, says: str
) -> None:
    with pytest.raises(ValueError, match=f"{type(reranker).__name__}.*{says}"):
        score_batches(reranker, [[("q", "c")], [("q", "a"), ("q", "b")]])


def test_a_list_reranker_gets_each_querys_pairs_together() -> None:
    class Places:
        def score_lists(self, lists: list[list[tuple[str, str]]]) -> list[FloatArray]:
            return [-np.arange(len(pairs), dtype=np.float64) for pairs in lists]

    found = score_batches(Places(), [[("q", "a"), ("q", "b")], [], [("q", "c")]])
    assert [scores.tolist() for scores in found] == [[0, -1], [], [0]]
    found = score_batches(Lengths(), [[("q", "a")], [], [("q", "bb"), ("q", "ccc")]])  # type: ignore[arg-type]
    assert [scores.tolist() for scores in found] == [[1.0], [], [2.0, 3.0]]


def test_rerank_orders_the_first_hits_by_the_new_score_and_keeps_the_old(
    tmp_path: Path,
) -> None:
    kb = kb_of(tmp_path)
    found = (Dense(kb) >> Rerank(kb, Lengths(), depth=2)).retrieve_batch(
        [Query("x", "q")], 5
    )[0]  # type: ignore[arg-type]
    assert found.passage_ids == ["p1", "p0"]
    assert found.hit(1).score_parts == pytest.approx(
        {"cosine": 0.6, "retriever": 0.6, "reranker": 12}
    )
    assert found.hit(1).stage == "dense"


def test_a_passage_scores_by_its_vector_as_its_text_would_and_is_not_encoded_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kb = kb_of(tmp_path)
    monkeypatch.delattr(BiEncoder, "scores")
    assert [
        hit.score for hit in (Dense(kb) >> Rerank(kb)).retrieve("q", 2)
    ] == pytest.approx([0.8, 0.6])


def test_a_bi_encoder_over_other_passages_reads_texts(tmp_path: Path) -> None:
    kb = kb_of(tmp_path / "a")
    cosines = {"q": (0.6,), "one": (1.0,)}
    other = knowledge_base(
        passages("else"), Extraction(), cosines, Store(tmp_path / "b")
    )
    assert (Dense(kb) >> Rerank(kb, BiEncoder(other), depth=1)).retrieve(
        "q", 1
    ).scores == pytest.approx([0.6])
