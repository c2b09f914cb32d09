"""KG2RAG as its released code behaves: `KG2RAGOfficial`, and `Switches` between that code and the paper."""

from __future__ import annotations

from kg2rag.retrievers.kg2rag.official.retriever import KG2RAGOfficial
from kg2rag.retrievers.kg2rag.official.switches import Switches

__all__ = ["KG2RAGOfficial", "Switches"]
