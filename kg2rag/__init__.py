"""kg2rag: a laboratory for graph-guided retrieval.

Load a question set, build a knowledge base over its corpus, put strategies side by side, compare them.
The names below are the public ones; each is imported when first used, so that `import kg2rag` costs nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from kg2rag.context import ContextFormatter, FormattedContext
    from kg2rag.corpus import Corpus, QADataset, Question
    from kg2rag.datasets import from_frames, load
    from kg2rag.embedding import SentenceEncoder
    from kg2rag.evaluation.answer_report import score_answers
    from kg2rag.evaluation.compare import compare
    from kg2rag.evaluation.comparison import Comparison
    from kg2rag.fusion import Fusion, fuse
    from kg2rag.graph import KnowledgeGraph
    from kg2rag.knowledge_base import KnowledgeBase
    from kg2rag.llm import ChatModel
    from kg2rag.pipeline import Pipeline, Retriever, Stage
    from kg2rag.reader import Reader
    from kg2rag.rerankers import BiEncoder, CrossEncoder
    from kg2rag.retrievers.bm25 import BM25
    from kg2rag.retrievers.confidence_gated import ConfidenceGated
    from kg2rag.retrievers.dense import Dense
    from kg2rag.retrievers.dynamic_hybrid import DynamicHybrid
    from kg2rag.retrievers.expansion_queries import ExpansionQueries
    from kg2rag.retrievers.hippo1 import Hippo1
    from kg2rag.retrievers.hippo2 import Hippo2
    from kg2rag.retrievers.kg2rag_official import KG2RAGOfficial, Switches
    from kg2rag.retrievers.linear import Linear
    from kg2rag.retrievers.mention_ppr import MentionPPR
    from kg2rag.retrievers.path import PathSearch
    from kg2rag.retrievers.pattern import Pattern
    from kg2rag.retrievers.practical import Practical
    from kg2rag.retrievers.vector_first import VectorFirst
    from kg2rag.stages.expand import Expand
    from kg2rag.stages.graph_augment import GraphAugment
    from kg2rag.stages.organise import Organise
    from kg2rag.stages.rerank import Rerank
    from kg2rag.store import Store
    from kg2rag.types import Hit, Passage, Query, Ranking, Triple

__version__ = "0.1.0"

_HOME = {
    "BM25": "retrievers.bm25",
    "BiEncoder": "rerankers",
    "ChatModel": "llm",
    "Comparison": "evaluation",
    "ConfidenceGated": "retrievers.confidence_gated",
    "ContextFormatter": "context",
    "Corpus": "corpus",
    "CrossEncoder": "rerankers",
    "Dense": "retrievers.dense",
    "DynamicHybrid": "retrievers.dynamic_hybrid",
    "Expand": "stages.expand",
    "ExpansionQueries": "retrievers.expansion_queries",
    "FormattedContext": "context",
    "Fusion": "fusion",
    "GraphAugment": "stages.graph_augment",
    "Hippo1": "retrievers.hippo1",
    "Hippo2": "retrievers.hippo2",
    "Hit": "types",
    "KG2RAGOfficial": "retrievers.kg2rag_official",
    "KnowledgeBase": "knowledge_base",
    "KnowledgeGraph": "graph",
    "Linear": "retrievers.linear",
    "MentionPPR": "retrievers.mention_ppr",
    "Organise": "stages.organise",
    "Passage": "types",
    "PathSearch": "retrievers.path",
    "Pattern": "retrievers.pattern",
    "Pipeline": "pipeline",
    "Practical": "retrievers.practical",
    "QADataset": "corpus",
    "Query": "types",
    "Question": "corpus",
    "Ranking": "types",
    "Reader": "reader",
    "Rerank": "stages.rerank",
    "Retriever": "pipeline",
    "SentenceEncoder": "embedding",
    "Stage": "pipeline",
    "Store": "store",
    "Switches": "retrievers.kg2rag_official",
    "Triple": "types",
    "VectorFirst": "retrievers.vector_first",
    "compare": "evaluation",
    "from_frames": "datasets",
    "fuse": "fusion",
    "load": "datasets",
    "score_answers": "evaluation.answer_report",
}

__all__ = [
    "BM25",
    "BiEncoder",
    "ChatModel",
    "Comparison",
    "ConfidenceGated",
    "ContextFormatter",
    "Corpus",
    "CrossEncoder",
    "Dense",
    "DynamicHybrid",
    "Expand",
    "ExpansionQueries",
    "FormattedContext",
    "Fusion",
    "GraphAugment",
    "Hippo1",
    "Hippo2",
    "Hit",
    "KG2RAGOfficial",
    "KnowledgeBase",
    "KnowledgeGraph",
    "Linear",
    "MentionPPR",
    "Organise",
    "Passage",
    "PathSearch",
    "Pattern",
    "Pipeline",
    "Practical",
    "QADataset",
    "Query",
    "Question",
    "Ranking",
    "Reader",
    "Rerank",
    "Retriever",
    "SentenceEncoder",
    "Stage",
    "Store",
    "Switches",
    "Triple",
    "VectorFirst",
    "compare",
    "from_frames",
    "fuse",
    "load",
    "score_answers",
]


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'kg2rag' has no attribute {name!r}")
    value = getattr(import_module(f"kg2rag.{_HOME[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
