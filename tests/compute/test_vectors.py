"""Vectors by text: encoded once, whatever was interrupted, damaged or asked for by others at the time."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

from kg2rag.compute import Role, Store, encoded, save_rows, vectors
from kg2rag.compute.keyed_file import DamagedEntryWarning
from kg2rag.compute.vectors import VectorCache
from kg2rag.types import Matrix

DIM = 8
TEXTS = [f"text {'x' * (i % 7)} {i}" for i in range(100)]


class Encoder:
    """The vector of a text is random, seeded by its bytes; records the texts."""

    def __init__(self) -> None:
        self.shards: list[list[str]] = []

    def __call__(self, texts: Sequence[str]) -> list[Matrix]:
        self.shards.append(list(texts))
        return [expected(texts)]

    @property
    def texts(self) -> list[str]:
        return [text for shard in self.shards for text in shard]


def expected(texts: Sequence[str]) -> Matrix:
    seeds = [list(text.encode("utf-8", "surrogatepass")) or [0] for text in texts]
    return np.stack(
        [
            np.random.default_rng(seed).normal(size=DIM).astype(np.float32)
            for seed in seeds
        ]
    )


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(tmp_path)


@pytest.fixture
def cache(store: Store) -> VectorCache:
    return VectorCache(store, "stand-in", DIM)


def test_only_new_texts_are_encoded_the_longest_first(
    cache: VectorCache, store: Store
) -> None:
    with ThreadPoolExecutor(4) as pool:  # threads share the vectors
        found = list(
            pool.map(
                lambda start: cache.of(TEXTS[start : start + 60], Encoder()), range(41)
            )
        )
    assert all(
        np.array_equal(rows, expected(TEXTS[start : start + 60]))
        for start, rows in enumerate(found)
    )
    encoder, grown = Encoder(), [*TEXTS[50:], "new", "and newer", *TEXTS[:50]]
    assert np.array_equal(
        VectorCache(store, "stand-in", DIM).of(grown, encoder), expected(grown)
    )
    assert encoder.shards == [["and newer", "new"]]
    for other in (
        VectorCache(store, "another", DIM),
        VectorCache(store, "stand-in", DIM, "query: "),
    ):
        other.of(TEXTS, asked := Encoder())
        assert len(asked.texts) == len(TEXTS)


def test_an_interrupted_build_loses_one_shard_at_most(
    cache: VectorCache, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Stopping(Encoder):
        def __call__(self, texts: Sequence[str]) -> list[Matrix]:
            if len(self.shards) == 2:
                raise KeyboardInterrupt
            return super().__call__(texts)

    monkeypatch.setattr(vectors, "SHARD_TEXTS", 20)
    with pytest.raises(KeyboardInterrupt):
        cache.of(TEXTS, Stopping())
    encoder = Encoder()
    assert np.array_equal(cache.of(TEXTS, encoder), expected(TEXTS))
    assert len(encoder.texts) == 60


def test_a_damaged_file_is_named_and_made_again(cache: VectorCache) -> None:
    cache.of(TEXTS, Encoder())
    cache.file.path.write_bytes(b"no database" * 1000)
    encoder = Encoder()
    with pytest.warns(DamagedEntryWarning, match=cache.file.path.name):
        assert np.array_equal(cache.of(TEXTS, encoder), expected(TEXTS))
    assert len(encoder.texts) == len(TEXTS)
    assert np.array_equal(cache.of(TEXTS, encoder), expected(TEXTS))
    assert len(encoder.texts) == len(TEXTS)


class Counting:
    """Counts the texts of each call."""

    def __init__(self, failing: int = 9) -> None:
        self.calls: list[int] = []
        self.failing = failing

    def fingerprint(self, store: Store) -> str:
        return "counting"

    def encode(
        self, texts: Sequence[str], store: Store, role: Role = "passage"
    ) -> Matrix:
        if len(self.calls) == self.failing:
            raise RuntimeError("out of memory")
        self.calls.append(len(texts))
        return expected(texts)


def test_a_large_corpus_is_one_mapped_array_made_a_block_at_a_time(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(vectors, "LARGE_TEXTS", 100)
    monkeypatch.setattr(vectors, "BLOCK_TEXTS", 40)
    embedder = Counting()
    with pytest.raises(RuntimeError):
        encoded(Counting(failing=2), TEXTS, store, {"texts": 1})
    assert list(store.entries()) == []
    for _ in range(2):
        found = encoded(embedder, TEXTS, store, {"texts": 1})
        assert np.array_equal(found, expected(TEXTS))
        with pytest.raises(ValueError, match="read-only"):
            found[0, 0] = 1
    assert embedder.calls == [40, 40, 20]
    encoded(embedder, TEXTS[:99], store, {"texts": 2})
    assert len(list(store.entries())) == 1  # fewer are not stored twice
    encoded(embedder, TEXTS, store, {"texts": 2})
    assert len(list(store.entries())) == 2


@pytest.mark.parametrize("sizes", [(3, 0, 5), (0,), (0, 2), (1,) * 12])
def test_rows_saved_by_blocks_are_the_file_that_numpy_saves(
    tmp_path: Path, sizes: tuple[int, ...]
) -> None:
    rows = np.arange(sum(sizes) * 4, dtype=np.int8).reshape(-1, 4)
    save_rows(tmp_path / "blocks.npy", np.split(rows, np.cumsum(sizes)[:-1]))
    np.save(tmp_path / "whole.npy", rows)
    assert (tmp_path / "blocks.npy").read_bytes() == (
        tmp_path / "whole.npy"
    ).read_bytes()


@pytest.mark.parametrize(
    "blocks", [[np.zeros((2, 4), np.float32), np.zeros((1, 4))], []]
)
def test_blocks_of_another_kind_and_none_at_all_are_refused(
    tmp_path: Path, blocks: list[Matrix]
) -> None:
    with pytest.raises(ValueError, match=r"x\.npy"):
        save_rows(tmp_path / "x.npy", blocks)


def test_a_full_disk_is_an_error_of_the_store(
    cache: VectorCache, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Full(sqlite3.Connection):
        def executemany(self, *_: object) -> sqlite3.Cursor:
            raise sqlite3.OperationalError("database or disk is full")

    monkeypatch.setattr(sqlite3, "connect", lambda path, timeout: Full(path, timeout))
    with pytest.raises(OSError, match="disk is full") as raised:
        cache.of(TEXTS, Encoder())
    assert raised.value.filename == str(cache.file.path)
