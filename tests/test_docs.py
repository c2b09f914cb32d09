"""The strategy, reranker and linker of docs/extending.md are run as the page prints them."""

from __future__ import annotations

import importlib.util
import re
import sys
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from doc_page import blocks

import kg2rag
from kg2rag import systems
from kg2rag.knowledge import KnowledgeBase
from kg2rag.retrievers import linking, rerankers
from kg2rag.text.registry import Registry
from kg2rag.types import Query


@dataclass(frozen=True)
class Example:
    """A section's module, the line that registers it, and the check it recommends."""

    module: str
    line: str
    check: str

    @classmethod
    def read(cls, title: str) -> Example:
        return cls(*blocks(title))

    def loaded(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
        """The page's module, written to a file and imported."""
        file = folder / "page_example.py"
        file.write_text(self.module, encoding="utf-8")
        spec = importlib.util.spec_from_file_location("page_example", file)
        assert spec is not None
        assert spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        monkeypatch.setitem(sys.modules, "page_example", module)
        monkeypatch.syspath_prepend(str(folder))  # where another process finds it, too
        spec.loader.exec_module(module)
        return module

    def registered(
        self, registry: Registry[Any], folder: Path, monkeypatch: pytest.MonkeyPatch
    ) -> str:
        """The name under which the page's line enters its class."""
        ((name, place),) = eval(f"{{{self.line}}}").items()
        monkeypatch.setitem(
            sys.modules, place.partition(":")[0], self.loaded(folder, monkeypatch)
        )
        monkeypatch.setitem(registry.entries, name, place)
        return str(name)


STRATEGY, RERANKER, LINKER = map(Example.read, ("A strategy", "A reranker", "A linker"))


@pytest.fixture
def kb(session_store: kg2rag.Store) -> KnowledgeBase:
    return KnowledgeBase.build(kg2rag.load("bundled").corpus, store=session_store)


@pytest.fixture
def strategy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """The name under which the page's strategy is in the catalogue."""
    return STRATEGY.registered(systems.SYSTEMS, tmp_path, monkeypatch)


@pytest.mark.parametrize(
    "page", [STRATEGY, RERANKER, LINKER], ids=["strategy", "reranker", "linker"]
)
def test_the_pages_example_keeps_the_contract_as_the_page_says(
    page: Example, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if page is not STRATEGY:  # one process with another hash seed is enough
        monkeypatch.setattr("kg2rag.testing.contract.processes_differ", lambda *_: ())
    exec(page.check, vars(page.loaded(tmp_path, monkeypatch)))


def test_the_strategy_is_in_the_catalogue_after_its_line(strategy: str) -> None:
    assert strategy == "title_match"
    assert systems.parameters(strategy) == {"min_share": 0.5}


def test_the_strategy_finds_pages_by_title_and_explains_their_scores(
    strategy: str, kb: KnowledgeBase
) -> None:
    found = systems.build(strategy, kb).retrieve("Who began FastAPI?", k=3)
    assert found.passage_ids == ["fastapi-1", "fastapi-2", "fastapi-3"]
    assert "= 1 (share)" in str(found.explain())


def test_the_strategy_is_compared_like_any_other(
    strategy: str, kb: KnowledgeBase
) -> None:
    data = kg2rag.load("bundled", limit=20)
    result = kg2rag.compare(
        systems.build_all(kb, ["bm25", strategy]), data, metrics=["recall@5"]
    )
    assert list(result.scores["system"]) == ["bm25", "title_match"]


def test_the_strategy_refuses_impossible_settings(
    strategy: str, kb: KnowledgeBase
) -> None:
    with pytest.raises(ValueError, match="min_share"):
        systems.build(strategy, kb, min_share=0.0)


def test_the_reranker_is_known_by_its_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kb: KnowledgeBase
) -> None:
    RERANKER.registered(rerankers.RERANKERS, tmp_path, monkeypatch)
    system = systems.build("rerank", kb, reranker="long-words")
    assert repr(system).endswith("Rerank(reranker=LongWords(length=5), depth=100)")
    # "framework" and "fastapi" count, 9 + 7 letters; fastapi-1's text has both or its title has the
    # second
    assert system.retrieve("is fastapi a web framework", k=1).hit(1).score_parts[
        "reranker"
    ] in (
        1.0,
        9 / 16,
        7 / 16,
    )


def test_the_linker_is_known_by_its_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kb: KnowledgeBase
) -> None:
    LINKER.registered(linking.LINKERS, tmp_path, monkeypatch)
    two_words = next(
        name for name in kb.graph.names if re.fullmatch(r"[A-Z]\w+ [A-Z]\w+", name)
    )
    first, second = two_words.split()
    text = f"Who is {first[0]}. {second}?"
    [[link]] = linking.of("initials", kb).link_batch([Query("1", text)])
    assert text[slice(*link.span)] == f"{first[0]}. {second}"
    assert kb.graph.names[link.entity].split()[1] == second
    assert systems.build("vector_first", kb, linker="ngram+initials") is not None
