"""Vectors by text: kept in shards, encoded once, the same whatever was interrupted."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from kg2rag.compute import Store, vectors, workers
from kg2rag.compute.store import DamagedEntryWarning
from kg2rag.compute.vectors import ROWS, VectorCache
from kg2rag.types import Matrix

DIM = 8

# The encoder of this module, also run in a process of its own, where it waits to be killed after so many shards.
ENCODER = """
import os, signal, sys
from pathlib import Path
import numpy as np
from kg2rag.compute import vectors
from kg2rag.compute.store import Store

vectors.SHARD = 256

def vector(text):
    return np.random.default_rng(list(text.encode())).normal(size=8).astype("f4")

def forward(texts):
    if stop and len(list(root.glob("*/[!.]*"))) >= stop:
        os.write(1, b"stopped\\n")  # in one piece: another thread may write it, too
        signal.pause()
    return np.stack([vector(text) for text in texts])

def lengths(texts):
    return [16 * (1 + len(text) % 3) for text in texts]

root, stop = Path(sys.argv[1]), int(sys.argv[3])
cache = vectors.VectorCache(Store(root), "slow", 8, lengths, forward)
np.save(sys.argv[2], cache.of([f"text {'x' * (i % 7)} {i}" for i in range(3000)]))
"""


class Encoder:
    """A stand-in for a network: a text's vector is random numbers seeded by its bytes; notes what it was asked."""

    def __init__(self) -> None:
        self.batches: list[list[str]] = []

    def lengths(self, texts: Sequence[str]) -> list[int]:
        return [len(text) for text in texts]

    def forward(self, texts: Sequence[str]) -> Matrix:
        self.batches.append(list(texts))
        return np.stack([vector(text) for text in texts])

    @property
    def texts(self) -> list[str]:
        return [text for batch in self.batches for text in batch]

    def cache(self, store: Store, name: str = "stand-in") -> VectorCache:
        return VectorCache(store, name, DIM, self.lengths, self.forward)


def vector(text: str) -> Matrix:
    seed = list(text.encode("utf-8", "surrogatepass")) or [0]
    numbers: Matrix = np.random.default_rng(seed).normal(size=DIM).astype(np.float32)
    return numbers


def expected(texts: Sequence[str]) -> Matrix:
    return np.stack([vector(text) for text in texts])


@pytest.fixture
def encoder() -> Encoder:
    return Encoder()


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(tmp_path)


TEXTS = [f"text {i}" for i in range(100)]


def test_vectors_come_in_the_order_asked_and_repeat_where_a_text_does(store: Store, encoder: Encoder) -> None:
    asked = ["b", "a", "", "b", "ü", "\ud800"]
    assert np.array_equal(encoder.cache(store).of(asked), expected(asked))
    assert sorted(encoder.texts) == sorted(set(asked))


def test_no_texts_have_no_vectors(store: Store, encoder: Encoder) -> None:
    assert encoder.cache(store).of([]).shape == (0, DIM)


def test_a_text_that_any_earlier_run_encoded_is_not_encoded_again(store: Store, encoder: Encoder) -> None:
    encoder.cache(store).of(TEXTS)
    again = Encoder()
    assert np.array_equal(again.cache(store).of(TEXTS[::-1]), expected(TEXTS[::-1]))
    assert again.texts == []


def test_a_corpus_that_grew_by_ten_encodes_ten(store: Store, encoder: Encoder) -> None:
    encoder.cache(store).of(TEXTS)
    grown = [*TEXTS[:50], *(f"new {i}" for i in range(10)), *TEXTS[50:]]
    again = Encoder()
    assert np.array_equal(again.cache(store).of(grown), expected(grown))
    assert sorted(again.texts) == [f"new {i}" for i in range(10)]


def test_another_encoder_shares_no_vectors(store: Store, encoder: Encoder) -> None:
    encoder.cache(store).of(TEXTS)
    other = Encoder()
    other.cache(store, "another").of(TEXTS)
    assert len(other.texts) == 100


def test_a_batch_holds_texts_of_one_length_and_at_most_its_rows(store: Store, encoder: Encoder) -> None:
    encoder.cache(store).of(TEXTS)  # 10 of 6 characters, 90 of 7
    assert [len(batch) for batch in encoder.batches] == [32, 32, 26, 10]
    assert all(len({len(text) for text in batch}) == 1 for batch in encoder.batches)
    assert max(map(len, encoder.batches)) == ROWS


def test_a_few_texts_are_held_until_there_are_enough_for_a_shard(
    store: Store, encoder: Encoder, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(vectors, "HELD", 5)
    cache = replace(encoder.cache(store), few=2)
    for texts in (["a"], ["b", "c"], ["a"], ["c", "b", "d"]):  # the last three lack one
        assert np.array_equal(cache.of(texts), np.stack([vector(text) for text in texts]))
    assert sorted(encoder.texts) == ["a", "b", "c", "d"]
    assert not list(store.root.glob("vectors-*/*"))
    cache.of(["e"])
    assert len(list(store.root.glob("vectors-*/*"))) == 1
    assert cache.lacking(["a", "e", "f"]) == ["f"]
    cache.of(["f", "g", "h"])  # more than a few
    assert len(list(store.root.glob("vectors-*/*"))) == 2


def test_what_is_held_is_stored_when_the_process_ends(tmp_path: Path) -> None:
    code = """
import sys
import numpy as np
from kg2rag.compute import Store
from kg2rag.compute.vectors import VectorCache

def forward(texts):
    print(len(texts))
    return np.ones((len(texts), 4), np.float32)

for text in "ab":
    VectorCache(Store(sys.argv[1]), "held", 4, lambda texts: [1] * len(texts), forward, few=8).of([text])
"""
    runs = [
        subprocess.run([sys.executable, "-c", code, str(tmp_path)], capture_output=True, text=True, check=True)
        for _ in range(2)
    ]
    assert [run.stdout.split() for run in runs] == [["1", "1"], []]
    assert [run.stderr for run in runs] == ["", ""]


def test_a_failing_network_keeps_the_shards_that_were_full(
    store: Store, encoder: Encoder, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(vectors, "SHARD", 40)
    plain = encoder.forward

    def failing(texts: Sequence[str]) -> Matrix:
        if len(encoder.texts) >= 80:
            raise RuntimeError("out of memory")
        return plain(texts)

    monkeypatch.setattr(encoder, "forward", failing)
    with pytest.raises(RuntimeError, match="out of memory"):
        encoder.cache(store).of(TEXTS)
    again = Encoder()
    assert np.array_equal(again.cache(store).of(TEXTS), expected(TEXTS))
    assert len(again.texts) == 20


@pytest.mark.parametrize("file", ["vectors.npy", "keys.npy"])
def test_a_flipped_bit_in_a_shard_is_reported_and_only_its_texts_are_encoded_again(
    store: Store, encoder: Encoder, monkeypatch: pytest.MonkeyPatch, file: str
) -> None:
    monkeypatch.setattr(vectors, "SHARD", 40)
    encoder.cache(store).of(TEXTS)
    shard = store.existing("vectors-stand-in")[1]
    damaged = bytearray((shard / file).read_bytes())
    damaged[-5] ^= 1
    (shard / file).write_bytes(damaged)
    lost = len(np.load(shard / "keys.npy"))
    vectors._shards(store.root, "stand-in").store.verified.clear()
    vectors._shards.cache_clear()
    again = Encoder()
    with pytest.warns(DamagedEntryWarning, match=f"{shard.name}: {file} does not match its checksum"):
        found = again.cache(store).of(TEXTS)
    assert np.array_equal(found, expected(TEXTS))
    assert len(again.texts) == lost < 100


def test_questions_asked_one_by_one_leave_few_shards_and_are_encoded_once(
    store: Store, encoder: Encoder, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(vectors, "MANY", 8)
    cache = encoder.cache(store)
    for text in TEXTS:
        assert np.array_equal(cache.of([text]), expected([text]))
    assert len(store.existing("vectors-stand-in")) <= 8
    assert store.verify() == {}
    again = Encoder()
    vectors._shards.cache_clear()  # as another process starts
    assert np.array_equal(again.cache(store).of(TEXTS), expected(TEXTS))
    assert again.texts == []


def test_full_shards_are_not_written_anew_when_small_ones_are_joined(
    store: Store, encoder: Encoder, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(vectors, "SHARD", 20)
    monkeypatch.setattr(vectors, "MANY", 8)
    cache = encoder.cache(store)
    cache.of(TEXTS[:40])
    full = set(store.existing("vectors-stand-in"))
    for text in TEXTS[40:70]:
        cache.of([text])
    assert len(full) == 2
    assert full < set(store.existing("vectors-stand-in"))


def test_a_text_that_this_process_has_seen_is_found_without_listing_the_shards(
    store: Store, encoder: Encoder, monkeypatch: pytest.MonkeyPatch
) -> None:
    cache = encoder.cache(store)
    cache.of(TEXTS)
    cache.of(TEXTS[:1])
    monkeypatch.setattr(Store, "existing", lambda *_: pytest.fail("listed"))
    assert np.array_equal(cache.of(TEXTS[7:9]), expected(TEXTS[7:9]))


def test_keys_that_begin_alike_are_told_apart(store: Store, encoder: Encoder, monkeypatch: pytest.MonkeyPatch) -> None:
    plain = vectors._hashes

    def alike(texts: Sequence[str]) -> np.ndarray:
        keys = plain(texts).view(np.uint8).reshape(-1, 16).copy()
        keys[:, :8] = 7
        return keys.reshape(-1).view("V16")

    monkeypatch.setattr(vectors, "_hashes", alike)
    cache = encoder.cache(store)
    cache.of(TEXTS[:50])
    assert np.array_equal(cache.of(TEXTS), expected(TEXTS))
    assert len(encoder.texts) == 100


def test_an_encoding_killed_again_and_again_ends_in_the_same_bytes(tmp_path: Path) -> None:
    script = [sys.executable, "-c", ENCODER]
    subprocess.run([*script, str(tmp_path / "whole"), str(tmp_path / "whole.npy"), "0"], check=True)
    broken, result = tmp_path / "broken", tmp_path / "broken.npy"
    for shards in (1, 3, 6):
        with subprocess.Popen([*script, str(broken), str(result), str(shards)], stdout=subprocess.PIPE) as process:
            assert process.stdout is not None
            line = process.stdout.readline()
            process.kill()
            assert line == b"stopped\n"
    assert not result.exists()
    subprocess.run([*script, str(broken), str(result), "0"], check=True)
    assert result.read_bytes() == (tmp_path / "whole.npy").read_bytes()
    assert Store(broken).verify() == {}


def test_workers_store_the_same_bytes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def forward(texts: Sequence[str]) -> Matrix:
        (seen / str(os.getpid())).touch()
        return np.stack([np.random.default_rng(list(text.encode())).normal(size=8).astype("f4") for text in texts])

    def lengths(texts: Sequence[str]) -> list[int]:
        return [len(text) for text in texts]

    monkeypatch.setattr(vectors, "SHARD", 100)
    seen, texts = tmp_path / "seen", [f"text {'x' * (i % 7)} {i}" for i in range(400)]
    seen.mkdir()
    found = []
    for name, jobs in (("here", 1), ("spread", 2)):
        with workers(jobs):
            found.append(VectorCache(Store(tmp_path / name), "slow", 8, lengths, forward).of(texts).tobytes())
    assert found[0] == found[1]
    assert len(list(seen.iterdir())) > 1  # this process and a worker at least
    here, spread = (
        {path.relative_to(tmp_path / name): path.read_bytes() for path in (tmp_path / name).rglob("*.npy")}
        for name in ("here", "spread")
    )
    assert here == spread
