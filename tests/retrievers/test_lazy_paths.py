"""Paths are worked out for the hits that are read, and for no other."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from kg2rag.knowledge import KnowledgeBase
from kg2rag.retrievers.bm25 import BM25
from kg2rag.retrievers.contract import Retriever
from kg2rag.retrievers.fusion import fuse
from kg2rag.retrievers.systems import build
from kg2rag.types import Triple
from kg2rag.types.passages import LazyPaths

SYSTEMS: dict[str, Callable[[KnowledgeBase], Retriever]] = {
    "kg2rag": lambda kb: build("kg2rag", kb, seeds=1),
    "graph_augmented": lambda kb: build("graph_augmented", kb),
    "fused": lambda kb: fuse(
        BM25(kb), build("expansion_queries", kb), build("graph_augmented", kb)
    ),
    "dynamic_hybrid": lambda kb: build("dynamic_hybrid", kb, graph="expansion_queries"),
}


@pytest.mark.parametrize("name", SYSTEMS)
def test_no_path_is_worked_out_before_its_hit_is_read(
    kb_of: Callable[..., KnowledgeBase], monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    names = ("Ada", "Bob", "Cy", "Dee")
    pages = [
        (one, f"{one} met {other}.")
        for one, other in zip(names, [*names[1:], "Ada"], strict=True)
    ]
    facts = [Triple(names[i], "met", names[(i + 1) % 4], f"p{i}") for i in range(4)]
    system = SYSTEMS[name](kb_of(*pages, facts=tuple(facts)))
    look_up, read = LazyPaths.get, []
    monkeypatch.setattr(
        LazyPaths,
        "get",
        lambda self, row, default=(): (read.append(row), look_up(self, row, default))[
            1
        ],
    )
    ranking = system.retrieve("Whom did Ada meet?", 4)
    assert read == []
    assert any(hit.path for hit in ranking)
    assert set(read) <= set(ranking.rows.tolist())
