"""The worked example of docs/add_a_strategy.md is run as it stands on the page."""

from __future__ import annotations

import importlib.util
import re
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import kg2rag
from kg2rag import systems
from kg2rag.knowledge.base import KnowledgeBase
from kg2rag.types.passages import Query

PAGE = (Path(__file__).parent.parent / "docs" / "add_a_strategy.md").read_text(encoding="utf-8")
MODULE, LINE = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
QUERIES = [Query("1", "Who began FastAPI?"), Query("2", ""), Query("3", "uvicorn", ("uvicorn-1", "fastapi-1"))]


@pytest.fixture
def kb(tmp_path: Path) -> KnowledgeBase:
    return KnowledgeBase.build(kg2rag.load("bundled").corpus, store=kg2rag.Store(tmp_path / "store"))


@pytest.fixture
def registered(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """The page's module, written to a file and entered in the catalogue by the page's line."""
    file = tmp_path / "title_match.py"
    file.write_text(MODULE, encoding="utf-8")
    spec = importlib.util.spec_from_file_location("title_match", file)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, "title_match", module)
    spec.loader.exec_module(module)
    entry = eval(f"{{{LINE}}}", vars(module))
    monkeypatch.setattr(systems, "SYSTEMS", dict(sorted({**systems.SYSTEMS, **entry}.items())))
    yield from entry


def test_the_example_is_in_the_catalogue_after_its_line(registered: str) -> None:
    assert registered == "title_match"
    assert systems.parameters(registered) == {"min_share": 0.5}


def test_the_example_finds_pages_by_title(registered: str, kb: KnowledgeBase) -> None:
    found = systems.build(registered, kb).retrieve("Who began FastAPI?", k=3)
    assert found.passage_ids == ["fastapi-1", "fastapi-2", "fastapi-3"]


def test_the_example_keeps_the_contract(registered: str, kb: KnowledgeBase) -> None:
    system = systems.build(registered, kb, min_share=0.3)
    batch = system.retrieve_batch(QUERIES, 10)
    assert [ranking.query_id for ranking in batch] == ["1", "2", "3"]
    assert len(batch[1]) == 0
    assert batch[2].passage_ids == ["uvicorn-1"]
    for query, ranking in zip(QUERIES, batch, strict=True):
        assert system.retrieve_batch([query], 10)[0].scores.tolist() == ranking.scores.tolist()
        assert system.retrieve_batch([query], 2)[0].rows.tolist() == ranking.rows[:2].tolist()


def test_the_example_is_compared_like_any_other(registered: str, kb: KnowledgeBase) -> None:
    data = kg2rag.load("bundled", limit=20)
    result = kg2rag.compare(systems.build_all(kb, ["bm25", registered]), data, metrics=["recall@5"], progress=False)
    assert list(result.scores["system"]) == ["bm25", "title_match"]


def test_the_example_refuses_impossible_settings(registered: str, kb: KnowledgeBase) -> None:
    with pytest.raises(ValueError, match="min_share must be above 0 and at most 1, not 0"):
        systems.build(registered, kb, min_share=0.0)
