"""Encoding for GPUs, tried on CPU devices: batches by tokens, halved for want of memory, one process a device."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tiny_model
import torch

import kg2rag.compute.accelerator as accelerator
from kg2rag.compute import SentenceEncoder, Store, embedder_named
from kg2rag.compute.accelerator import Accelerator, targets

TEXTS = [f"the river {'of the old castle ' * (i % 7)}near bridge {i}" for i in range(30)]


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> str:
    return str(tiny_model.save(tmp_path_factory.mktemp("model")))


def test_the_cpu_is_the_device_where_torch_sees_no_other(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 0)
    assert (targets("cpu"), targets("auto"), targets("cpu,cpu")) == (["cpu"], ["cpu"], ["cpu", "cpu"])


def test_every_gpu_is_used_where_none_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)
    assert targets("cuda") == targets("auto") == ["cuda:0", "cuda:1"]
    assert targets("cuda:1") == ["cuda:1"]


@pytest.mark.parametrize("device", ["cuda", "cuda:3", "cuda:0,cuda:1"])
def test_a_gpu_that_is_missing_is_refused_before_any_work(
    device: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 0)
    with pytest.raises(ValueError, match=f"device '{device}': torch .* sees no CUDA device. Use --device cpu or auto"):
        SentenceEncoder(device=device).encode(["river"], Store(tmp_path))


def test_a_batch_has_as_many_texts_as_the_tokens_allow() -> None:
    narrow = Accelerator(network=None, most_tokens=40)  # type: ignore[arg-type]
    assert list(narrow.batches([50, 20, 20, 20, 10, 10])) == [slice(0, 1), slice(1, 3), slice(3, 5), slice(5, 6)]


def test_a_batch_that_memory_does_not_hold_is_halved_until_it_does() -> None:
    asked: list[int] = []

    class Small:
        def encode(self, texts: Sequence[str], **options: Any) -> np.ndarray:  # noqa: ARG002
            asked.append(len(texts))
            if len(texts) > 2:
                raise torch.OutOfMemoryError
            return np.array([[3.0, 4.0 * float(text)] for text in texts])

    found = Accelerator(network=Small()).forward(["1", "0", "1", "0", "0"])  # type: ignore[arg-type]
    assert asked == [5, 2, 3, 1, 2]
    np.testing.assert_allclose(found, np.array([[0.6, 0.8], [1, 0], [0.6, 0.8], [1, 0], [1, 0]]), atol=1e-6)


def test_float16_is_for_gpus() -> None:
    with pytest.raises(ValueError, match="dtype must be"):
        SentenceEncoder(dtype="float16")
    assert SentenceEncoder(dtype="float16", device="auto").dtype == "float16"


def test_static_vectors_need_no_gpu() -> None:
    with pytest.raises(ValueError, match="device 'cuda': the vectors of 'static:some/model' are added up on the CPU"):
        embedder_named("static:some/model", device="cuda")


@pytest.mark.slow
def test_two_devices_are_two_processes_whose_vectors_are_kept_apart(
    model: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(accelerator, "FEW", len(TEXTS))
    store, alone, both = (
        Store(tmp_path),
        SentenceEncoder(model, dtype="float32"),
        SentenceEncoder(model, device="cpu,cpu"),
    )
    expected, found = alone.encode(TEXTS, store), both.encode(TEXTS, store)
    np.testing.assert_allclose(found, expected, atol=1e-5)
    assert both.fingerprint(store) != alone.fingerprint(store)
    assert both.encode(TEXTS[::-1], store).tobytes() == found[::-1].tobytes()
