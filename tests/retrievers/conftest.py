"""Little knowledge bases whose cosines can be worked out by hand."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from word_embedder import WordEmbedder

from kg2rag.compute.store import Store
from kg2rag.extraction import Extraction
from kg2rag.knowledge.base import KnowledgeBase
from kg2rag.knowledge.graph import KnowledgeGraph
from kg2rag.types.corpus import Corpus
from kg2rag.types.passages import Passage, Triple


@pytest.fixture
def kb_of(tmp_path: Path) -> Callable[..., KnowledgeBase]:
    """Passages p0, p1, … as (title, text), and facts; the vectors are bags of words."""

    def make(*pages: tuple[str, str], facts: tuple[Triple, ...] = ()) -> KnowledgeBase:
        corpus = Corpus.from_passages([Passage(f"p{i}", *page, f"d{i}", 0) for i, page in enumerate(pages)])
        graph = KnowledgeGraph.build(Extraction(triples=facts), corpus)
        return KnowledgeBase.build(corpus, graph, embedder=WordEmbedder(), store=Store(tmp_path))

    return make
