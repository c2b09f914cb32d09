"""kg2rag: a laboratory for graph-guided retrieval.

Load a question set, build a knowledge base over its corpus, put strategies side by side, compare them.
The names below are the public ones; each is imported when first used, so that `import kg2rag` costs nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from kg2rag.corpus import Corpus, QADataset, Question
    from kg2rag.datasets import from_frames, load
    from kg2rag.embedding import SentenceEncoder
    from kg2rag.evaluation.compare import compare
    from kg2rag.evaluation.comparison import Comparison
    from kg2rag.fusion import Fusion, fuse
    from kg2rag.graph import KnowledgeGraph
    from kg2rag.knowledge_base import KnowledgeBase
    from kg2rag.pipeline import Pipeline, Retriever, Stage
    from kg2rag.retrievers.bm25 import BM25
    from kg2rag.retrievers.dense import Dense
    from kg2rag.retrievers.expansion_queries import ExpansionQueries
    from kg2rag.retrievers.mention_ppr import MentionPPR
    from kg2rag.stages.graph_augment import GraphAugment
    from kg2rag.store import Store
    from kg2rag.types import Hit, Passage, Query, Ranking, Triple

__version__ = "0.1.0"

_HOME = {
    "BM25": "retrievers.bm25",
    "Comparison": "evaluation",
    "Corpus": "corpus",
    "Dense": "retrievers.dense",
    "ExpansionQueries": "retrievers.expansion_queries",
    "Fusion": "fusion",
    "GraphAugment": "stages.graph_augment",
    "Hit": "types",
    "KnowledgeBase": "knowledge_base",
    "KnowledgeGraph": "graph",
    "MentionPPR": "retrievers.mention_ppr",
    "Passage": "types",
    "Pipeline": "pipeline",
    "QADataset": "corpus",
    "Query": "types",
    "Question": "corpus",
    "Ranking": "types",
    "Retriever": "pipeline",
    "SentenceEncoder": "embedding",
    "Stage": "pipeline",
    "Store": "store",
    "Triple": "types",
    "compare": "evaluation",
    "from_frames": "datasets",
    "fuse": "fusion",
    "load": "datasets",
}

__all__ = [
    "BM25",
    "Comparison",
    "Corpus",
    "Dense",
    "ExpansionQueries",
    "Fusion",
    "GraphAugment",
    "Hit",
    "KnowledgeBase",
    "KnowledgeGraph",
    "MentionPPR",
    "Passage",
    "Pipeline",
    "QADataset",
    "Query",
    "Question",
    "Ranking",
    "Retriever",
    "SentenceEncoder",
    "Stage",
    "Store",
    "Triple",
    "compare",
    "from_frames",
    "fuse",
    "load",
]


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'kg2rag' has no attribute {name!r}")
    value = getattr(import_module(f"kg2rag.{_HOME[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
