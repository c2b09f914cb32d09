"""Static vectors: what a model is distilled to, and the same bits for a text, whatever it is encoded with."""

from __future__ import annotations

import pickle
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import tiny_model
from tokenizers import Tokenizer

from kg2rag.compute import SentenceEncoder, StaticEncoder, Store, counter_of, distillation, embedder_named
from kg2rag.compute import static_encoder as module
from kg2rag.types import Matrix

TEXTS = [
    "The river was built near the old castle.",
    "",
    "river",
    "Who wrote the novel?\nA novel of the castle, the castles and the rivers.",
    "☃",
    "a \ud83d river",
    *(f"The {word} of the {' old' * i} canal." for i, word in enumerate(tiny_model.WORDS * 20)),
]


@pytest.fixture(scope="module")
def teacher(tmp_path_factory: pytest.TempPathFactory) -> SentenceEncoder:
    return SentenceEncoder(str(tiny_model.save(tmp_path_factory.mktemp("teacher"))), dtype="float32")


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Store:
    return Store(tmp_path_factory.mktemp("store"))


@pytest.fixture
def encoder(teacher: SentenceEncoder) -> StaticEncoder:
    return StaticEncoder(teacher.model, dim=8)


@pytest.fixture(scope="module")
def distilled(teacher: SentenceEncoder) -> tuple[Matrix, Tokenizer]:
    return distillation.distil(teacher.network, 8)


def test_a_weight_is_that_of_a_rank_under_zipfs_law() -> None:
    # Of three tokens: 1/2, 1/3 and 1/4 of 13/12, so frequencies 6/13, 4/13 and 3/13.
    expected = [1e-5 / (1e-5 + share) for share in (6 / 13, 4 / 13, 3 / 13)]
    assert distillation._weights(3).tolist() == pytest.approx(expected)


def test_a_tokens_vector_is_the_models_for_the_token_alone(teacher: SentenceEncoder) -> None:
    ids = np.array([tiny_model.VOCABULARY.index(word) for word in ("river", "castle")])
    found = distillation._token_vectors(teacher.network, ids)
    alone = teacher.network.encode(["river", "castle"])
    np.testing.assert_allclose(found, alone, atol=1e-6)


def test_the_table_has_the_axes_along_which_the_tokens_vary_most_scaled_to_equal_variance(
    teacher: SentenceEncoder, distilled: tuple[Matrix, Tokenizer]
) -> None:
    used = np.arange(5, len(tiny_model.VOCABULARY))
    vectors = distillation._token_vectors(teacher.network, used)
    centred = vectors - vectors.mean(axis=0)
    turned = centred @ np.linalg.svd(centred, full_matrices=False)[2][:8].T
    unweighted = distilled[0][used] / distillation._weights(len(used))[:, None]
    np.testing.assert_allclose(np.abs(unweighted), np.abs(turned / turned.std(axis=0, ddof=1)), atol=1e-3)


def test_special_and_unused_tokens_have_zeros_and_the_last_row_is_the_mean(
    distilled: tuple[Matrix, Tokenizer],
) -> None:
    table, _ = distilled
    assert table.shape == (len(tiny_model.VOCABULARY) + 1, 8)
    assert not table[:5].any()
    assert np.abs(table[5:-1]).sum(axis=1).all()
    np.testing.assert_allclose(table[-1], table[5:-1].mean(axis=0), atol=1e-7)


def test_the_number_of_threads_changes_no_bit_of_the_table(
    teacher: SentenceEncoder, distilled: tuple[Matrix, Tokenizer], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(distillation, "threads", lambda: 3)
    monkeypatch.setattr(distillation, "ROWS", 512)
    assert distillation.distil(teacher.network, 8)[0].tobytes() == distilled[0].tobytes()


def test_no_more_axes_are_kept_than_vary(teacher: SentenceEncoder) -> None:
    # 23 tokens around their mean span 22 dimensions of the model's 32.
    assert len(tiny_model.VOCABULARY) - 5 == 23
    assert distillation.distil(teacher.network, 256)[0].shape[1] == 22


def test_a_text_has_the_vector_of_sentence_transformers_static_embedding(
    encoder: StaticEncoder, store: Store, distilled: tuple[Matrix, Tokenizer]
) -> None:
    from sentence_transformers import SentenceTransformer
    from sentence_transformers.sentence_transformer.modules import StaticEmbedding

    table, tokenizer = distilled
    network = SentenceTransformer(modules=[StaticEmbedding(tokenizer, table[:-1])], device="cpu")
    known = [text for text in TEXTS if text.strip() and text.isascii()]
    theirs = network.encode(known, normalize_embeddings=True)
    np.testing.assert_allclose(encoder.encode(known, store), theirs, atol=1e-6)


def test_vectors_have_norm_one_and_come_in_the_order_of_the_texts(encoder: StaticEncoder, store: Store) -> None:
    vectors = encoder.encode(TEXTS, store)
    assert (vectors.shape, vectors.dtype) == ((len(TEXTS), 8), np.float32)
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-6)
    order = np.random.default_rng(0).permutation(len(TEXTS))
    assert encoder.encode([TEXTS[i] for i in order], store).tobytes() == vectors[order].tobytes()


@pytest.mark.parametrize(("threads", "block"), [(1, 1), (3, 7), (2, 10_000)])
def test_neither_threads_nor_blocks_change_a_bit(
    encoder: StaticEncoder, store: Store, threads: int, block: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    expected = np.stack([encoder.encode([text], store)[0] for text in TEXTS])
    monkeypatch.setattr(module, "threads", lambda: threads)
    monkeypatch.setattr(module, "BLOCK", block)
    assert StaticEncoder(encoder.model, dim=8).encode(TEXTS, store).tobytes() == expected.tobytes()


def test_a_text_without_a_known_token_has_the_direction_of_the_mean(
    encoder: StaticEncoder, store: Store, distilled: tuple[Matrix, Tokenizer]
) -> None:
    empty, unknown = encoder.encode(["", "☃ [CLS]"], store)
    mean = distilled[0][-1].astype(np.float64)
    np.testing.assert_allclose(empty, mean / np.linalg.norm(mean), atol=1e-6)
    assert empty.tobytes() == unknown.tobytes()


def test_a_long_text_is_not_cut(encoder: StaticEncoder, store: Store) -> None:
    river, both = encoder.encode(["river " * 5000, "river " * 5000 + "engine " * 5000], store)
    alone, pair = encoder.encode(["river", "river engine"], store)
    np.testing.assert_allclose([river, both], [alone, pair], atol=1e-4)


def test_a_lone_surrogate_is_encoded_as_a_replacement_character(encoder: StaticEncoder, store: Store) -> None:
    broken, mended = encoder.encode(["the \ud83d river", "the \ufffd river"], store)
    assert broken.tobytes() == mended.tobytes()


def test_no_texts_have_no_vectors(encoder: StaticEncoder, store: Store) -> None:
    assert encoder.encode([], store).shape == (0, 8)


def test_another_number_of_axes_or_other_weights_are_another_encoder(
    encoder: StaticEncoder, store: Store, tmp_path: Path
) -> None:
    about = encoder.describe(store)
    assert (about["dim"], about["teacher"]["dtype"], len(about["table_sha256"])) == (8, "float32", 64)
    others = [StaticEncoder(encoder.model, dim=9), StaticEncoder(str(tiny_model.save(tmp_path, dim=16)), dim=8)]
    prints = {each.fingerprint(store) for each in (encoder, *others)}
    assert len(prints) == 3


def test_an_encoder_opened_from_the_store_needs_no_torch(encoder: StaticEncoder, store: Store) -> None:
    expected = encoder.encode(["the river"], store)
    program = (
        "import sys; from kg2rag.compute import StaticEncoder, Store;"
        f"vectors = StaticEncoder({encoder.model!r}, dim=8).encode(['the river'], Store({str(store.root)!r}));"
        "print(vectors.tobytes().hex(), 'torch' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.split() == [expected.tobytes().hex(), "False"]


def test_a_pickled_encoder_is_equal_and_leaves_its_table_behind(encoder: StaticEncoder, store: Store) -> None:
    encoder.encode(["river"], store)
    copy = pickle.loads(pickle.dumps(encoder))
    assert copy == encoder
    assert len(pickle.dumps(encoder)) < 1_000
    assert copy.encode(["river"], store).tobytes() == encoder.encode(["river"], store).tobytes()


def test_a_model_without_a_transformers_tokenizer_is_refused(distilled: tuple[Matrix, Tokenizer]) -> None:
    from sentence_transformers import SentenceTransformer
    from sentence_transformers.sentence_transformer.modules import StaticEmbedding

    network = SentenceTransformer(modules=[StaticEmbedding(distilled[1], distilled[0][:-1])], device="cpu")
    with pytest.raises(ValueError, match="from a transformer with a fast tokenizer; this model has Tokenizer"):
        distillation.distil(network, 8)


def test_a_name_after_static_is_the_model_to_distil() -> None:
    assert embedder_named("static:all-MiniLM-L6-v2") == StaticEncoder()
    assert embedder_named("all-MiniLM-L6-v2") == SentenceEncoder()
    assert embedder_named("static:some/model", dtype="float32") == StaticEncoder("some/model")


@pytest.mark.parametrize("name", ["static:", "static:static:some/model"])
def test_a_name_without_a_model_is_refused(name: str) -> None:
    with pytest.raises(ValueError, match=f"'{name}' names no model to distil. Write such as static:sentence-trans"):
        embedder_named(name)


def test_a_dtype_for_static_vectors_is_refused() -> None:
    with pytest.raises(ValueError, match="dtype 'bfloat16': the vectors of 'static:some/model' are float32"):
        embedder_named("static:some/model", dtype="bfloat16")


def test_tokens_are_counted_by_the_teachers_tokenizer(encoder: StaticEncoder) -> None:
    assert counter_of(encoder).count(["river", "rivers castles"]) == [1, 4]


@pytest.mark.slow
def test_texts_about_the_same_thing_lie_nearer_than_others(session_store: Store) -> None:
    encoder = StaticEncoder()
    asked, answer, other = encoder.encode(
        [
            "Who wrote the novel Rebecca?",
            "Rebecca is a 1938 Gothic novel by the English author Daphne du Maurier.",
            "def parse_rows(stream, delimiter=','):\n    return [line.split(delimiter) for line in stream]",
        ],
        session_store,
    )
    assert asked.shape == (256,)
    assert asked @ answer > asked @ other + 0.3
