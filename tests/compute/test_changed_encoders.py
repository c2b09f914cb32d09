"""An encoder that changed in any way gets its own vectors, never those that the store has of the former one."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable
from copy import deepcopy
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tiny_model
import torch
from sentence_transformers import SentenceTransformer
from sentence_transformers.sentence_transformer.modules import Dense

from kg2rag import KnowledgeBase
from kg2rag.compute import GivenEncoder, SentenceEncoder, Store
from kg2rag.compute.user_encoder import ChangedEncoderError

TEXTS = [
    "the old castle",
    "who wrote the novel near the river bridge",
    "engine canal engine " * 20,
    "film",
]


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny_model.save(tmp_path_factory.mktemp("changed"))


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(tmp_path / "store")


@pytest.fixture
def fresh(tmp_path: Path) -> Store:
    """A store that has no vectors yet, so that those that it gives are right."""
    return Store(tmp_path / "fresh")


def pool_first_token(network: SentenceTransformer) -> None:
    network[1].pooling_mode = "cls"


def put_prompts(network: SentenceTransformer) -> None:
    network.prompts = {"query": "film ", "document": "castle "}


def truncate(network: SentenceTransformer) -> None:
    network.truncate_dim = 16


def shorten(network: SentenceTransformer) -> None:
    network.max_seq_length = 6


def halve(network: SentenceTransformer) -> None:
    network.to(torch.bfloat16)


def retokenize(network: SentenceTransformer) -> None:
    network.tokenizer.add_tokens(["riverbridge"])
    network.tokenizer.backend_tokenizer.normalizer = None
    from tokenizers.normalizers import Replace

    network.tokenizer.backend_tokenizer.normalizer = Replace("castle", "canal")


class Adapted(torch.nn.Module):
    """A linear layer with an adapter of rank 1, as LoRA has it."""

    def __init__(self, layer: torch.nn.Module) -> None:
        super().__init__()
        self.layer = layer
        self.down = torch.nn.Linear(layer.in_features, 1, bias=False)
        self.up = torch.nn.Linear(1, layer.out_features, bias=False)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.layer(x) + self.up(self.down(x)) * 5


def adapt(network: SentenceTransformer) -> None:
    torch.manual_seed(1)
    attention = network[0].model.encoder.layer[0].attention.self
    attention.value = Adapted(attention.value)


def project(network: SentenceTransformer) -> None:
    torch.manual_seed(2)
    network.append(Dense(tiny_model.DIM, tiny_model.DIM))


def train(network: SentenceTransformer) -> None:
    with torch.no_grad():
        next(network.parameters()).mul_(torch.rand(tiny_model.DIM))


def hook(network: SentenceTransformer) -> None:
    network[1].register_forward_hook(
        lambda _module, _inputs, found: (
            found | {"sentence_embedding": found["sentence_embedding"].roll(1, 1)}
        )
    )


CHANGES = [
    pool_first_token,
    put_prompts,
    truncate,
    shorten,
    halve,
    retokenize,
    adapt,
    project,
    train,
    hook,
]


def assert_own_vectors(changed: Callable[[], Any], store: Store, fresh: Store) -> None:
    for role in ("passage", "query"):
        own = GivenEncoder(changed(), "same name").encode(TEXTS, fresh, role)
        assert np.allclose(
            GivenEncoder(changed(), "same name").encode(TEXTS, store, role),
            own,
            atol=1e-5,
        )


@pytest.mark.parametrize("change", CHANGES)
def test_a_sentence_transformer_that_was_changed(
    folder: Path, store: Store, fresh: Store, change: Any
) -> None:
    network = SentenceTransformer(str(folder), device="cpu")
    before = GivenEncoder(network, "same name")
    first = before.encode(TEXTS, store), before.encode(TEXTS, store, "query")
    changed = deepcopy(network)
    change(changed)
    assert_own_vectors(lambda: changed, store, fresh)
    # and the first one still has its own
    for role, vectors in zip(("passage", "query"), first, strict=True):
        assert np.array_equal(
            GivenEncoder(network, "same name").encode(TEXTS, store, role), vectors
        )


def test_other_norms_of_equal_vectors_are_no_change(folder: Path, store: Store) -> None:
    network = SentenceTransformer(str(folder), device="cpu")
    first = GivenEncoder(network, "same name").encode(TEXTS, store)
    network.pop(2)
    assert np.allclose(
        GivenEncoder(network, "same name").encode(TEXTS, store), first, atol=1e-6
    )


def table_of(seed: int) -> dict[str, np.ndarray]:
    draw = np.random.default_rng(seed)
    return {word: draw.normal(size=8) for word in tiny_model.WORDS}


def look_up(table: dict[str, np.ndarray], texts: list[str]) -> np.ndarray:
    zeros = np.zeros(8)
    return np.array(
        [
            sum((table.get(word, zeros) for word in text.split()), zeros)
            for text in texts
        ]
    )


TABLE = table_of(0)


def by_global(texts: list[str]) -> np.ndarray:
    return look_up(TABLE, texts)


def by_environment(texts: list[str]) -> np.ndarray:
    return look_up(table_of(int(os.environ["KG2RAG_TEST_SEED"])), texts)


class Model:
    def __init__(self, seed: int) -> None:
        self.table = table_of(seed)

    def encode(self, texts: list[str]) -> np.ndarray:
        return look_up(self.table, texts)

    def encode_query(self, texts: list[str]) -> np.ndarray:
        return look_up(self.table, texts)


def closure(seed: int) -> Callable[[list[str]], np.ndarray]:
    table = table_of(seed)
    return lambda texts: look_up(table, texts)


def test_a_function_whose_global_table_was_replaced(store, fresh, monkeypatch) -> None:
    GivenEncoder(by_global, "same name").encode(TEXTS, store)
    monkeypatch.setitem(globals(), "TABLE", table_of(1))
    assert_own_vectors(lambda: by_global, store, fresh)


def test_a_function_one_word_of_whose_table_was_replaced(
    store, fresh, monkeypatch
) -> None:
    texts = [
        f"the {word} of {number}"
        for number in range(40)
        for word in ("old", "river", "canal")
    ] + ["castle"]
    GivenEncoder(by_global, "same name").encode(texts, store)
    monkeypatch.setitem(TABLE, "castle", np.ones(8))
    own = GivenEncoder(by_global, "same name").encode(texts, fresh)
    assert np.array_equal(
        GivenEncoder(by_global, "same name").encode(texts, store), own
    )


@pytest.mark.parametrize(
    "kind", [closure, Model, lambda seed: partial(look_up, table_of(seed))]
)
def test_state_within_a_function_or_an_object(store, fresh, kind) -> None:
    GivenEncoder(kind(0), "same name").encode(TEXTS, store)
    assert_own_vectors(lambda: kind(1), store, fresh)


def test_an_object_that_was_changed_between_two_knowledge_bases(store, fresh) -> None:
    model = Model(0)
    KnowledgeBase.build(TEXTS, embedder=model, store=store).vectors  # noqa: B018
    model.table = table_of(1)
    own = KnowledgeBase.build(TEXTS, embedder=model, store=fresh).vectors
    assert np.array_equal(
        KnowledgeBase.build(TEXTS, embedder=model, store=store).vectors, own
    )


def test_a_class_whose_query_method_was_defined_again(
    store, fresh, monkeypatch
) -> None:
    model = Model(0)
    for role in ("passage", "query"):
        GivenEncoder(model, "same name").encode(TEXTS, store, role)
    monkeypatch.setattr(
        Model, "encode_query", lambda self, texts: -look_up(self.table, texts)
    )
    assert_own_vectors(lambda: model, store, fresh)


def test_a_function_that_reads_the_environment(store, fresh, monkeypatch) -> None:
    monkeypatch.setenv("KG2RAG_TEST_SEED", "0")
    GivenEncoder(by_environment, "same name").encode(TEXTS, store)
    monkeypatch.setenv("KG2RAG_TEST_SEED", "1")
    assert_own_vectors(lambda: by_environment, store, fresh)


@pytest.mark.parametrize(
    "words", [tiny_model.WORDS, ["castle"]]
)  # the second is in no probe text
def test_a_function_that_reads_a_file(store, fresh, tmp_path, words) -> None:
    file = tmp_path / "table.json"

    def encode(texts: list[str]) -> np.ndarray:
        return look_up(
            {word: np.array(row) for word, row in json.loads(file.read_text()).items()},
            texts,
        )

    def write(seed: int) -> None:
        new = table_of(seed)
        file.write_text(
            json.dumps(
                {
                    word: (new if word in words else TABLE)[word].tolist()
                    for word in TABLE
                }
            )
        )

    write(0)
    KnowledgeBase.build(TEXTS, embedder=encode, store=store).vectors  # noqa: B018
    write(1)
    own = KnowledgeBase.build(TEXTS, embedder=encode, store=fresh).vectors
    assert np.array_equal(
        KnowledgeBase.build(TEXTS, embedder=encode, store=store).vectors, own
    )


def test_an_encoder_that_changes_while_it_is_in_use_is_refused(store) -> None:
    model = Model(0)
    encoder = GivenEncoder(model, "same name")
    encoder.encode(TEXTS[:2], store)
    model.table = table_of(1) | {"Who": np.ones(8)}
    with pytest.raises(ChangedEncoderError):
        encoder.encode(TEXTS, store)


def edit(folder: Path, name: str, change: Callable[[dict[str, Any]], object]) -> None:
    (file,) = folder.rglob(name)
    content = json.loads(file.read_text())
    change(content)
    file.write_text(json.dumps(content))


FILES = {
    "pooling": lambda folder: edit(
        folder / "1_Pooling",
        "config.json",
        lambda about: about.update(pooling_mode="cls"),
    ),
    "words": lambda folder: edit(
        folder, "tokenizer.json", lambda about: about.update(normalizer=None)
    ),
}


@pytest.mark.parametrize("file", FILES)
def test_a_model_one_of_whose_files_was_edited(
    folder, tmp_path, store, fresh, file
) -> None:
    model = Path(shutil.copytree(folder, tmp_path / "model"))
    texts = [*TEXTS, "Castle RIVER"]
    first = SentenceEncoder(str(model), dtype="float32").encode(texts, store)
    FILES[file](model)
    own = SentenceEncoder(str(model), dtype="float32").encode(texts, fresh)
    assert not np.allclose(first, own, atol=1e-3)
    assert np.array_equal(
        SentenceEncoder(str(model), dtype="float32").encode(texts, store), own
    )
