"""Fixtures that every test may use."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest
from word_embedder import WordEmbedder

from kg2rag.compute import Store
from kg2rag.extraction import Extraction
from kg2rag.knowledge import KnowledgeBase, KnowledgeGraph
from kg2rag.types import Corpus, Passage, Triple

os.environ.setdefault("HF_HUB_OFFLINE", "1")  # the encoder comes from the offline package

ROOT = Path(__file__).resolve().parent.parent
SHARED = Path(os.environ.get("KG2RAG_SHARED", ROOT.parent / "shared"))


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
def session_store(tmp_path_factory: pytest.TempPathFactory) -> Store:
    """A store that all tests, notebooks and workers of the session share, so that no text is encoded twice."""
    if "KG2RAG_TEST_STORE" in os.environ:  # of a session with notebooks
        return Store(os.environ["KG2RAG_TEST_STORE"])
    base = tmp_path_factory.getbasetemp()
    return Store((base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / "store")


@pytest.fixture(scope="session")
def kb(session_store: Store) -> KnowledgeBase:
    """The random world of `kg2rag.testing.worlds`: 300 passages, 80 names, 400 facts, the real encoder in float32.

    In half precision the last bits of a vector depend on what is encoded with it.
    """
    from kg2rag.compute import SentenceEncoder
    from kg2rag.testing import worlds

    return worlds.build(session_store, SentenceEncoder(dtype="float32"))


@pytest.fixture
def kb_of(tmp_path: Path) -> Callable[..., KnowledgeBase]:
    """Passages p0, p1, … as (title, text), and facts; the vectors are bags of words."""

    def make(*pages: tuple[str, str], facts: tuple[Triple, ...] = ()) -> KnowledgeBase:
        corpus = Corpus.from_passages([Passage(f"p{i}", *page, f"d{i}", 0) for i, page in enumerate(pages)])
        graph = KnowledgeGraph.build(Extraction(triples=facts), corpus)
        return KnowledgeBase.build(corpus, graph, embedder=WordEmbedder(), store=Store(tmp_path))

    return make
