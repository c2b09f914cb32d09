"""Knowledge bases whose cosines are given, so that scores can be worked out by hand."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from kg2rag.compute import Role, Store
from kg2rag.extraction import Extraction
from kg2rag.knowledge import KnowledgeBase, KnowledgeGraph
from kg2rag.types import Corpus, Matrix, Passage


@dataclass(frozen=True)
class GivenCosines:
    """Every passage has an axis; a query has given cosines with them, and any other text is orthogonal to all."""

    contents: tuple[str, ...]
    cosines: Mapping[str, Sequence[float]]

    def fingerprint(self, store: Store) -> str:
        return "given cosines"

    def encode(
        self, texts: Sequence[str], store: Store, role: Role = "passage"
    ) -> Matrix:
        matrix = np.zeros((len(texts), len(self.contents) + 1), dtype=np.float32)
        for row, text in zip(matrix, texts, strict=True):
            if text in self.contents:
                row[self.contents.index(text)] = 1
            else:
                near = np.array(self.cosines.get(text, ()), dtype=np.float64)
                row[: len(near)] = near
                row[-1] = np.sqrt(1 - near @ near)
        return matrix


def passages(*texts: str, documents: str = "") -> list[Passage]:
    """p0, p1, … without titles; the n-th letter of `documents` is the document of pn; by default, d0, d1, …."""
    names = documents or [f"d{i}" for i in range(len(texts))]
    return [
        Passage(f"p{i}", "", text, name, i)
        for i, (text, name) in enumerate(zip(texts, names, strict=True))
    ]


def knowledge_base(
    given: Sequence[Passage],
    extraction: Extraction,
    cosines: Mapping[str, Sequence[float]],
    store: Store,
) -> KnowledgeBase:
    """A knowledge base over passages in which each query has the cosines given, passage by passage."""
    corpus = Corpus.from_passages(given)
    embedder = GivenCosines(tuple(corpus.contents), cosines)
    return KnowledgeBase.build(
        corpus, KnowledgeGraph.build(extraction, corpus), embedder=embedder, store=store
    )
