"""The names of encoders, and what is said where none can be had."""

from __future__ import annotations

import socket
from pathlib import Path

import pytest

from kg2rag.compute import SentenceEncoder, Store, embedder_named
from kg2rag.compute.models import BGE, CARDS, SHORT, ModelNotFoundError, full_name, hub_answers, prompts_of


@pytest.mark.parametrize(
    ("short", "full"),
    [
        ("bge-small", "BAAI/bge-small-en-v1.5"),
        ("bge-base-en-v1.5", "BAAI/bge-base-en-v1.5"),
        ("e5-large", "intfloat/e5-large-v2"),
        ("multilingual-e5-base", "intfloat/multilingual-e5-base"),
        ("GTE-small", "thenlper/gte-small"),
        ("gte-large-en-v1.5", "Alibaba-NLP/gte-large-en-v1.5"),
        ("all-MiniLM-L6-v2", "sentence-transformers/all-MiniLM-L6-v2"),
        ("somebody/bge-small", "somebody/bge-small"),
        ("another-model", "another-model"),
    ],
)
def test_a_short_name_is_that_of_the_model_on_the_hub(short: str, full: str) -> None:
    assert full_name(short) == SentenceEncoder(short).model == full


def test_a_folder_of_that_name_is_itself(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "bge-small").mkdir()
    monkeypatch.chdir(tmp_path)
    assert SentenceEncoder("bge-small").model == "bge-small"


def test_what_is_given_goes_before_files_and_files_before_cards() -> None:
    files = {"query": "q: ", "document": "d: "}
    assert prompts_of("x/e5-small-v2", files, None, None)[0] == {"query": "q: ", "passage": "d: "}
    assert prompts_of("x/y", {}, None, None)[0] == {"query": "", "passage": ""}
    assert prompts_of("x/e5-small-v2", {"query": "", "document": ""}, None, "")[0] == {
        "query": "query: ",
        "passage": "",
    }
    assert prompts_of("x/bge-large-en-v1.5", {}, None, None) == ({"query": BGE, "passage": ""}, "model card")
    assert prompts_of("x/e5-small-v2", {}, "", "") == ({"query": "", "passage": ""}, "given")
    assert CARDS["gte-base"].query == ""


@pytest.fixture
def offline(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> list[object]:
    """No network, and a hub cache with one model; the attempts to reach the hub."""
    tried: list[object] = []

    def refuse(address: object, timeout: float) -> None:
        assert timeout <= 5
        tried.append(address)
        raise OSError("Network is unreachable")

    (tmp_path / "cache" / "models--somebody--here" / "refs").mkdir(parents=True)
    (tmp_path / "cache" / "models--somebody--here" / "snapshots" / "0").mkdir(parents=True)
    for name in ("HF_HUB_OFFLINE", "HF_HUB_CACHE"):
        monkeypatch.setattr(
            f"huggingface_hub.constants.{name}", "" if name == "HF_HUB_OFFLINE" else str(tmp_path / "cache")
        )
    for name in ("http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY", "all_proxy", "ALL_PROXY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(socket, "create_connection", refuse)
    return tried


@pytest.mark.parametrize("name", ["bge-smal", "static:somebody/bge-smal"])
def test_without_a_network_an_unknown_model_is_refused_at_once_beside_what_is_there(
    offline: list[object], name: str, tmp_path: Path
) -> None:
    with pytest.raises(ModelNotFoundError, match="the hub cannot be reached") as raised:
        embedder_named(name).describe(Store(tmp_path / "store"))
    assert all(word in str(raised.value) for word in ("bge-smal'", "Did you mean 'bge-small'", SHORT))
    assert "disk" not in str(raised.value)
    assert len(offline) == 1


def test_a_folder_needs_no_network_and_says_what_it_lacks(offline: list[object], tmp_path: Path) -> None:
    with pytest.raises(ModelNotFoundError, match="folder"):
        SentenceEncoder(str(tmp_path)).describe(Store(tmp_path / "store"))
    assert not offline


def test_the_hub_is_asked_once_and_briefly(offline: list[object], monkeypatch: pytest.MonkeyPatch) -> None:
    assert not hub_answers()
    assert offline == [("huggingface.co", 443)]
    monkeypatch.setenv("https_proxy", "http://proxy.example:8080")
    assert hub_answers()
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    assert not hub_answers()
