"""What stands before queries and passages: of the model's files, of its card, or given; the default has nothing."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import numpy as np
import pytest
import tiny_model
from typer.testing import CliRunner

from kg2rag.cli import app
from kg2rag.compute import SentenceEncoder, Store, embedder_named, encode_tokens
from kg2rag.compute.prompts import BGE, CARDS, card_of, decided_by, full_name, prompts_of
from kg2rag.evaluation.provenance import parameters

TEXTS = ["who wrote the novel", "the old bridge near the river"]


@pytest.fixture(scope="session")
def plain(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A tiny model whose files name no prompt."""
    return tiny_model.save(tmp_path_factory.mktemp("plain"))


def called(model: Path, name: str, folder: Path, **prompts: str) -> str:
    """A copy of the model in a folder of another name, with prompts in its files where any are given."""
    copy = shutil.copytree(model, folder / name)
    if prompts:
        file = copy / "config_sentence_transformers.json"
        file.write_text(json.dumps({**json.loads(file.read_text()), "prompts": prompts}))
    return str(copy)


@pytest.mark.parametrize(
    ("short", "full"),
    [
        ("bge-small", "BAAI/bge-small-en-v1.5"),
        ("bge-base-en-v1.5", "BAAI/bge-base-en-v1.5"),
        ("e5-large", "intfloat/e5-large-v2"),
        ("multilingual-e5-base", "intfloat/multilingual-e5-base"),
        ("GTE-small", "thenlper/gte-small"),
        ("gte-large-en-v1.5", "Alibaba-NLP/gte-large-en-v1.5"),
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


def test_the_cards_say_what_stands_before_the_texts() -> None:
    bge, e5, gte = (card_of(name) for name in ("BAAI/bge-large-en-v1.5", "intfloat/e5-small-v2", "thenlper/gte-base"))
    assert bge is not None
    assert e5 is not None
    assert gte is not None
    assert (bge.query, bge.passage) == (BGE, "") == ("Represent this sentence for searching relevant passages: ", "")
    assert (e5.query, e5.passage) == ("query: ", "passage: ")
    assert (gte.query, gte.passage) == ("", "")
    assert card_of("intfloat/multilingual-e5-small") == CARDS["multilingual-e5-small"]
    assert card_of("sentence-transformers/all-MiniLM-L6-v2") is None


def test_what_is_given_goes_before_files_and_files_before_cards() -> None:
    files = {"query": "q: ", "document": "d: "}
    assert prompts_of("x/e5-small-v2", files, None, None) == ({"query": "q: ", "passage": "d: "}, None)
    assert prompts_of("x/y", None, None, None) == ({"query": "", "passage": ""}, None)
    found = prompts_of("x/e5-small-v2", {"query": "", "document": ""}, None, "")
    assert found == ({"query": "query: ", "passage": ""}, "passage given; model card of intfloat/e5-small-v2")
    assert prompts_of("e5-small-v2", None, "", "") == ({"query": "", "passage": ""}, "query and passage given")


def test_a_model_is_given_what_its_card_says_and_the_description_names_it(plain: Path, tmp_path: Path) -> None:
    store = Store(tmp_path / "store")
    e5, bare = SentenceEncoder(called(plain, "e5-small-v2", tmp_path)), SentenceEncoder(str(plain))
    about = e5.describe(store)
    assert about["prompts"] == {"query": "query: ", "passage": "passage: "}
    assert about["prompts_from"] == "model card of intfloat/e5-small-v2"
    assert "prompts_from" not in bare.describe(store)
    for role, before in (("query", "query: "), ("passage", "passage: ")):
        vectors = e5.encode(TEXTS, store, role)
        assert np.array_equal(vectors, bare.encode([before + text for text in TEXTS], store, role))
        assert not np.array_equal(vectors, bare.encode(TEXTS, store, role))
    tokens = encode_tokens(e5, TEXTS, store, "query", reduce=lambda each: each)
    without = encode_tokens(bare, TEXTS, store, "query", reduce=lambda each: each)
    assert [len(pieces) for pieces, _ in tokens] > [len(pieces) for pieces, _ in without]


def test_prompts_of_the_files_are_taken_before_those_of_the_card(plain: Path, tmp_path: Path) -> None:
    model = called(plain, "bge-small-en-v1.5", tmp_path, query="find: ", document="")
    about = SentenceEncoder(model).describe(Store(tmp_path / "store"))
    assert about["prompts"] == {"query": "find: ", "passage": ""}
    assert "prompts_from" not in about


def test_other_prompts_are_another_encoder_with_vectors_of_its_own(plain: Path, tmp_path: Path) -> None:
    store, model = Store(tmp_path / "store"), called(plain, "bge-small-en-v1.5", tmp_path)
    card, none = SentenceEncoder(model), SentenceEncoder(model, query_prompt="")
    other = SentenceEncoder(model, query_prompt="the film ", passage_prompt="the castle ")
    assert len({one.fingerprint(store) for one in (card, none, other)}) == 3
    assert none.describe(store)["prompts_from"] == "query given; model card of BAAI/bge-small-en-v1.5"
    assert other.describe(store)["prompts"] == {"query": "the film ", "passage": "the castle "}
    bare = SentenceEncoder(str(plain))
    assert np.array_equal(other.encode(TEXTS, store), bare.encode([f"the castle {text}" for text in TEXTS], store))
    assert np.array_equal(none.encode(TEXTS, store, "query"), bare.encode(TEXTS, store, "query"))


def test_the_default_encoder_is_described_and_configured_as_before(session_store: Store) -> None:
    encoder = SentenceEncoder()
    about = encoder.describe(session_store)
    assert list(about) == (
        "model revision source weights_sha256 dim max_tokens device dtype cosine_to_float32 prompts".split()
    )
    assert about["prompts"] == {"query": "", "passage": ""}
    assert decided_by(encoder.model, None, None) == {}  # of the key in the store
    assert set(parameters(encoder)) == {"class", "model", "revision", "dtype", "max_tokens", "device"}
    assert "prompt" not in repr(encoder)


def test_prompts_that_are_no_text_and_those_of_static_vectors_are_refused() -> None:
    with pytest.raises(TypeError, match="query_prompt must be"):
        SentenceEncoder(query_prompt=1)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="of each text alone: leave the prompts out"):
        embedder_named("static:bge-small", query_prompt="query: ")


def test_a_mistyped_short_name_is_answered_with_the_one_meant(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path))
    with pytest.raises(OSError, match=r"The encoder 'bge-smal' is no folder here.*Did you mean 'bge-small'"):
        SentenceEncoder("bge-smal").describe(Store(tmp_path / "store"))


def test_they_are_options_of_the_command_line_and_stand_in_the_configuration(
    plain: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KG2RAG_STORE", str(tmp_path / "store"))
    arguments = "compare bundled --limit 4 --systems dense --metrics recall@5 --embedder".split()
    given = [called(plain, "e5-base-v2", tmp_path), "--passage-prompt", "", "--out", str(tmp_path / "out")]
    done = CliRunner().invoke(app, [*arguments, *given], catch_exceptions=False)
    assert done.exit_code == 0, done.output
    text = (tmp_path / "out" / "config.json").read_text()
    assert '"prompts_from": "passage given; model card of intfloat/e5-base-v2"' in text
    assert "query: " in text
