"""Static vectors: those of model2vec, read from a folder without a network."""

from __future__ import annotations

import pickle
from pathlib import Path

import numpy as np
import pytest
import tiny_model
from model2vec import StaticModel
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers

from kg2rag.compute import (
    SentenceEncoder,
    StaticEncoder,
    Store,
    counter_of,
    embedder_named,
)

WORDS = tiny_model.VOCABULARY
TABLE = np.random.default_rng(0).normal(size=(len(WORDS), 12)).astype(np.float32)


@pytest.fixture
def encoder(tmp_path: Path) -> StaticEncoder:
    tokenizer = Tokenizer(
        models.WordPiece({piece: i for i, piece in enumerate(WORDS)}, unk_token="[UNK]")
    )
    tokenizer.normalizer = normalizers.BertNormalizer(lowercase=True)
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    StaticModel(TABLE, tokenizer).save_pretrained(tmp_path / "static")
    return StaticEncoder(str(tmp_path / "static"))


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(tmp_path / "store")


def test_a_text_has_the_mean_of_its_tokens_vectors_scaled_to_norm_one(
    encoder: StaticEncoder, store: Store
) -> None:
    texts = ["The rivers", "", "castle", "a \ud83d river"]
    vectors = encoder.encode(texts, store)
    mean = TABLE[[WORDS.index(word) for word in ("the", "river", "##s")]].mean(axis=0)
    np.testing.assert_allclose(vectors[0], mean / np.linalg.norm(mean), atol=1e-6)
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), [1, 0, 1, 1], atol=1e-6)
    assert vectors.dtype == np.float32
    assert vectors.tobytes() == b"".join(
        encoder.encode([text], store).tobytes() for text in texts
    )
    assert encoder.encode([], store).shape == (0, 12)
    assert counter_of(encoder).count(["The rivers", ""]) == [3, 0]


def test_another_table_has_another_fingerprint(
    encoder: StaticEncoder, store: Store, tmp_path: Path
) -> None:
    table = encoder.table
    StaticModel(2 * TABLE, table.tokenizer).save_pretrained(tmp_path / "other")
    assert StaticEncoder(str(tmp_path / "other")).fingerprint(
        store
    ) != encoder.fingerprint(store)
    assert len(pickle.dumps(encoder)) < 500
    assert pickle.loads(pickle.dumps(encoder)).fingerprint(
        store
    ) == encoder.fingerprint(store)


def test_a_name_says_which_encoder_is_meant() -> None:
    assert embedder_named("static:a/b") == StaticEncoder("a/b")
    assert embedder_named("a/b", dtype="float32") == SentenceEncoder(
        "a/b", dtype="float32"
    )
    for name in ("static:", "static:static:x"):
        with pytest.raises(ValueError, match=name):
            embedder_named(name)
    for option in (
        {"dtype": "bfloat16"},
        {"device": "cuda"},
        {"query_prompt": "query: "},
    ):
        with pytest.raises(ValueError, match=r"static:a/b"):
            embedder_named("static:a/b", **option)
    for option in ({"dtype": "bfloat16"}, {"device": "cuda"}):
        with pytest.raises(ValueError, match="no dtype and no device"):
            embedder_named("endpoint:m@http://localhost:1/v1", **option)
