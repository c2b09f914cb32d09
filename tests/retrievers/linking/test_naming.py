"""Linkers by name, single and joined to a chain."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from kg2rag.knowledge import KnowledgeBase
from kg2rag.llm.linker import LLMLinker
from kg2rag.retrievers import linking
from kg2rag.retrievers.linking.linkers import (
    ChainLinker,
    EmbeddingLinker,
    FuzzyLinker,
    Linker,
    NGramLinker,
    PhraseLinker,
)
from kg2rag.types import Triple


@pytest.fixture
def named_kb(kb_of: Callable[..., KnowledgeBase]) -> KnowledgeBase:
    fact = Triple("Auth Service", "asks", "OAuth Provider", "p0")
    return kb_of(("Auth", "The Auth Service asks the OAuth Provider."), facts=(fact,))


@pytest.mark.parametrize(
    ("name", "of"),
    [
        ("ngram", NGramLinker),
        ("phrase(limit=3)", lambda kb: PhraseLinker(kb, limit=3)),
        ("fuzzy(0.9)", lambda kb: FuzzyLinker(kb, min_similarity=0.9)),
        (
            "embedding(0.6, limit=1)",
            lambda kb: EmbeddingLinker(kb, limit=1, min_cosine=0.6),
        ),
        (
            linking.DESIGN,
            lambda kb: ChainLinker((NGramLinker(kb), EmbeddingLinker(kb))),
        ),
        (
            "ngram + fuzzy + embedding(0.6)",
            lambda kb: ChainLinker(
                (NGramLinker(kb), FuzzyLinker(kb), EmbeddingLinker(kb, min_cosine=0.6))
            ),
        ),
    ],
)
def test_a_name_is_a_linker_with_its_parameters(
    named_kb: KnowledgeBase, name: str, of: Callable[[KnowledgeBase], Linker]
) -> None:
    assert linking.of(name, named_kb) == of(named_kb)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("n-gram", "Known: embedding, .*Did you mean 'ngram'"),
        ("ngram+embedding:0.6", "Did you mean 'embedding'"),
        ("fuzzy(top=3)", "'top'.*limit, min_similarity"),
        ("fuzzy(1.5)", "'fuzzy': min_similarity must be .*1.5"),
        ("llm(qwen)", r"llm\(MODEL@BASE_URL\)"),
        ("llm(qwen@nowhere)", "base_url 'nowhere'"),
    ],
)
def test_a_name_that_cannot_be_read_is_refused_with_what_can(
    named_kb: KnowledgeBase, name: str, message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        linking.of(name, named_kb)


def test_a_language_model_is_named_with_its_address(
    named_kb: KnowledgeBase, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    linker = linking.of("llm(qwen3:8b@http://localhost:11434/v1, limit=2)", named_kb)
    assert isinstance(linker, LLMLinker)
    assert (linker.model.model, linker.model.base_url, linker.limit) == (
        "qwen3:8b",
        "http://localhost:11434/v1",
        2,
    )
    assert linker.model.api_key_env is None


def test_the_options_of_a_language_model_are_named_with_it(
    named_kb: KnowledgeBase,
) -> None:
    options = 'max_tokens=64, concurrency=1, timeout=9, structured=prompt, body={"top_p": 0.9, "seed": null}'
    model = linking.of(f"llm(m@http://localhost:1/v1, {options})", named_kb).model
    assert (model.max_tokens, model.concurrency, model.timeout, model.structured) == (
        64,
        1,
        9,
        "prompt",
    )
    assert {name: model.request("p").get(name) for name in ("top_p", "seed")} == {
        "top_p": 0.9,
        "seed": None,
    }
    with pytest.raises(ValueError, match="structured"):
        linking.of("llm(m@http://localhost:1/v1, structured=yaml)", named_kb)
