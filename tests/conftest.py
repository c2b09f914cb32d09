"""Fixtures that every test may use."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import hypothesis
import pytest
from word_embedder import WordEmbedder

from kg2rag.compute import Store
from kg2rag.extraction import Extraction
from kg2rag.knowledge import KnowledgeBase, KnowledgeGraph
from kg2rag.types import Corpus, Passage, Triple

ROOT = Path(__file__).resolve().parent.parent
SHARED = Path(os.environ.get("KG2RAG_SHARED", ROOT.parent / "shared"))
FULL = os.environ.get("KG2RAG_FULL") == "1"
"""Whether this is `make test-all`."""
hypothesis.settings.register_profile(
    "kg2rag", max_examples=100 if FULL else 30, deadline=None
)
hypothesis.settings.load_profile("kg2rag")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Skip the tests that take minutes, but in `make test-all`."""
    for item in items:
        if item.get_closest_marker("full") and not FULL:
            item.add_marker(
                pytest.mark.skip(
                    reason="takes minutes: make test-all, or KG2RAG_FULL=1"
                )
            )


def _shared(part: str) -> Path:
    folder = SHARED / part
    if not folder.is_dir():
        reason = f"{folder} is missing: real data are tested only where they lie beside the checkout (KG2RAG_SHARED)."
        if os.environ.get("CI") == "true":
            pytest.fail(reason)
        pytest.skip(reason)
    return folder


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """The folder of real data sets; missing, it fails in CI and skips elsewhere."""
    return _shared("data")


@pytest.fixture(scope="session")
def shared_golden() -> Path:
    """The folder of published systems' outputs; missing, it fails in CI and skips elsewhere."""
    return _shared("golden")


@pytest.fixture(scope="session")
def shared_exports() -> Path:
    """The folder of graphs that other tools wrote; missing, it fails in CI and skips elsewhere."""
    return _shared("exports")


@pytest.fixture(scope="session")
def session_store() -> Store:
    """The store that all tests, notebooks and workers of the session share, so that no text is encoded twice."""
    return Store()


@pytest.fixture(scope="session")
def kb(session_store: Store) -> KnowledgeBase:
    """The random world of `kg2rag.testing.worlds`: 300 passages, 80 names, 400 facts, the real encoder."""
    from kg2rag.compute import SentenceEncoder
    from kg2rag.testing import worlds

    return worlds.build(session_store, SentenceEncoder())


@pytest.fixture
def kb_of(tmp_path: Path) -> Callable[..., KnowledgeBase]:
    """Passages p0, p1, … as (title, text), and facts; the vectors are bags of words."""

    def make(*pages: tuple[str, str], facts: tuple[Triple, ...] = ()) -> KnowledgeBase:
        corpus = Corpus.from_passages(
            [Passage(f"p{i}", *page, f"d{i}", 0) for i, page in enumerate(pages)]
        )
        graph = KnowledgeGraph.build(Extraction(triples=facts), corpus)
        return KnowledgeBase.build(
            corpus, graph, embedder=WordEmbedder(), store=Store(tmp_path)
        )

    return make
