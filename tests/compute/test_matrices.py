"""The vectors of many texts as one mapped array."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np
import pytest

from kg2rag.compute import Role, Store, encoded, matrices, save_rows
from kg2rag.types import Matrix

DIM = 4


@dataclass
class Counting:
    """An embedder that notes how many texts it was given at once."""

    name: str = "counting"
    calls: list[int] = field(default_factory=list)

    def fingerprint(self, store: Store) -> str:  # noqa: ARG002
        return self.name

    def encode(self, texts: Sequence[str], store: Store, role: Role = "passage") -> Matrix:  # noqa: ARG002
        self.calls.append(len(texts))
        return np.array([[len(text), *map(ord, text[-3:])] for text in texts], dtype=np.float32).reshape(-1, DIM)


class Unreadable(Sequence[str]):
    """Texts of which only the number may be asked."""

    def __len__(self) -> int:
        return 25

    def __getitem__(self, index):
        raise AssertionError("read")

    def __iter__(self) -> Iterator[str]:
        raise AssertionError("read")


TEXTS = [f"text {i:03d}" for i in range(25)]


@pytest.fixture
def store(tmp_path, monkeypatch: pytest.MonkeyPatch) -> Store:
    monkeypatch.setattr(matrices, "LARGE", 20)
    monkeypatch.setattr(matrices, "BLOCK", 8)
    return Store(tmp_path)


def test_many_texts_are_encoded_in_blocks_once_and_then_only_mapped(store: Store) -> None:
    embedder = Counting()
    made = encoded(embedder, TEXTS, store, {"texts": 1})
    assert embedder.calls == [8, 8, 8, 1]
    again = encoded(embedder, Unreadable(), store, {"texts": 1})
    assert embedder.calls == [8, 8, 8, 1]
    expected = Counting().encode(TEXTS, store)
    assert (made.dtype, made.shape) == (np.float32, (25, DIM))
    assert np.array_equal(made, expected)
    assert np.array_equal(again, expected)


def test_the_array_is_the_files_and_cannot_be_written_to(store: Store) -> None:
    made = encoded(Counting(), TEXTS, store, {"texts": 1})
    assert isinstance(made.base, np.memmap) or isinstance(made.base.base, np.memmap)
    with pytest.raises(ValueError, match="read-only"):
        made[0, 0] = 1


def test_few_texts_are_encoded_and_not_stored(store: Store) -> None:
    embedder = Counting()
    for _ in range(2):
        assert encoded(embedder, TEXTS[:19], store, {"texts": 1}).shape == (19, DIM)
    assert embedder.calls == [19, 19]
    assert list(store.entries()) == []


@pytest.mark.parametrize(("name", "key"), [("another", {"texts": 1}), ("counting", {"texts": 2})])
def test_another_encoder_or_key_is_another_array(store: Store, name: str, key: dict[str, int]) -> None:
    encoded(Counting(), TEXTS, store, {"texts": 1})
    other = Counting(name)
    encoded(other, TEXTS, store, key)
    assert sum(other.calls) == 25


def test_an_encoder_that_fails_midway_leaves_no_array(store: Store) -> None:
    class Failing(Counting):
        def encode(self, texts: Sequence[str], store: Store, role: Role = "passage") -> Matrix:
            if len(self.calls) == 2:
                raise RuntimeError("out of memory")
            return super().encode(texts, store, role)

    with pytest.raises(RuntimeError, match="out of memory"):
        encoded(Failing(), TEXTS, store, {"texts": 1})
    assert list(store.entries()) == []
    embedder = Counting()
    assert np.array_equal(encoded(embedder, TEXTS, store, {"texts": 1}), Counting().encode(TEXTS, store))


@pytest.mark.parametrize("sizes", [(3, 0, 5), (0,), (0, 2), (1,) * 12])
def test_rows_saved_by_blocks_are_the_file_that_numpy_saves(tmp_path, sizes: tuple[int, ...]) -> None:
    rows = np.arange(sum(sizes) * 4, dtype=np.int8).reshape(-1, 4)
    save_rows(tmp_path / "blocks.npy", np.split(rows, np.cumsum(sizes)[:-1]))
    np.save(tmp_path / "whole.npy", rows)
    assert (tmp_path / "blocks.npy").read_bytes() == (tmp_path / "whole.npy").read_bytes()


def test_blocks_of_another_kind_and_none_at_all_are_refused(tmp_path) -> None:
    with pytest.raises(ValueError, match=r"a block of float64 \(1, 4\) after rows of"):
        save_rows(tmp_path / "x.npy", [np.zeros((2, 4), np.float32), np.zeros((1, 4))])
    with pytest.raises(ValueError, match="no rows"):
        save_rows(tmp_path / "x.npy", [])
