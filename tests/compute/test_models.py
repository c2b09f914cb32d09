"""The names of encoders and devices, threads, and the error for a model that is missing."""

from __future__ import annotations

import json
import os
import platform
import socket
from pathlib import Path

import pytest
import tiny_model
import torch

from kg2rag.compute import SentenceEncoder, Store, embedder_named, hardware
from kg2rag.compute.models import SHORT, ModelNotFoundError, full_name, hub_answers


def test_a_short_name_is_that_of_the_model_on_the_hub_but_for_a_folder(
    tmp_path, monkeypatch
) -> None:
    for short, full in (
        ("bge-small", "BAAI/bge-small-en-v1.5"),
        ("GTE-small", "thenlper/gte-small"),
        ("all-MiniLM-L6-v2", "sentence-transformers/all-MiniLM-L6-v2"),
        ("somebody/bge-small", "somebody/bge-small"),
    ):
        assert full_name(short) == SentenceEncoder(short).model == full
    (tmp_path / "bge-small").mkdir()
    monkeypatch.chdir(tmp_path)
    assert SentenceEncoder("bge-small").model == "bge-small"


@pytest.fixture
def offline(monkeypatch: pytest.MonkeyPatch) -> list[object]:
    """No network; the attempts to reach the hub."""
    tried: list[object] = []

    def refuse(address: object, timeout: float) -> None:
        assert timeout <= 5
        tried.append(address)
        raise OSError("Network is unreachable")

    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", False)
    for name in (
        "http_proxy",
        "https_proxy",
        "HTTP_PROXY",
        "HTTPS_PROXY",
        "all_proxy",
        "ALL_PROXY",
    ):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(socket, "create_connection", refuse)
    return tried


@pytest.mark.parametrize("name", ["bge-smal", "static:somebody/bge-smal"])
def test_without_a_network_an_unknown_model_is_refused_at_once_beside_what_is_there(
    offline: list[object], name: str, tmp_path: Path
) -> None:
    with pytest.raises(ModelNotFoundError) as raised:
        embedder_named(name).describe(Store(tmp_path / "store"))
    assert all(
        word in str(raised.value)
        for word in ("bge-smal'", "Did you mean 'bge-small'", SHORT)
    )
    assert "disk" not in str(raised.value)
    assert len(offline) == 1


def test_a_folder_needs_no_network_and_says_what_it_lacks(
    offline: list[object], tmp_path: Path
) -> None:
    with pytest.raises(ModelNotFoundError, match="folder"):
        SentenceEncoder(str(tmp_path)).describe(Store(tmp_path / "store"))
    assert not offline


def test_a_model_with_code_of_its_own_is_refused_with_the_way_to_use_it(
    tmp_path: Path,
) -> None:
    folder = tiny_model.save(tmp_path)
    modules = json.loads((folder / "modules.json").read_text())
    modules[0]["type"] = "custom_st.Transformer"
    (folder / "modules.json").write_text(json.dumps(modules))
    (folder / "custom_st.py").write_text("raise SystemExit('it was run')")
    with pytest.raises(ModelNotFoundError, match="trust_remote_code=True"):
        SentenceEncoder(str(folder)).describe(Store(tmp_path / "store"))


def test_the_hub_is_asked_once_and_briefly(
    offline: list[object], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert not hub_answers()
    assert offline == [("huggingface.co", 443)]
    monkeypatch.setenv("https_proxy", "http://proxy.example:8080")
    assert hub_answers()
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    assert not hub_answers()


def test_the_environment_or_the_processors_set_the_threads(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    counted = hardware.threads.__wrapped__  # the count is kept for the process
    monkeypatch.setenv("KG2RAG_THREADS", "3")
    assert counted() == 3
    monkeypatch.delenv("KG2RAG_THREADS")
    monkeypatch.setattr(os, "sched_getaffinity", lambda _pid: {0, 5}, raising=False)
    assert counted() == 2
    for given in ("0", "-1", "two", "", "1.5"):
        monkeypatch.setenv("KG2RAG_THREADS", given)
        with pytest.raises(ValueError, match=f"KG2RAG_THREADS='{given}'"):
            counted()
    assert hardware.processor().split()[0] == platform.machine()


def test_a_device_is_named_or_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 0)
    assert (hardware.device_of("cpu"), hardware.device_of("auto")) == ("cpu", "cpu")
    for name in ("cuda", "cuda:1"):
        with pytest.raises(ValueError, match=name):
            hardware.device_of(name)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)
    found = [hardware.device_of(name) for name in ("cuda", "auto", "cuda:1")]
    assert found == ["cuda:0", "cuda:0", "cuda:1"]
