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
    from kg2rag.datasets.world import World
    from kg2rag.embedding import SentenceEncoder
    from kg2rag.evaluation.answer_report import score_answers
    from kg2rag.evaluation.compare import compare
    from kg2rag.evaluation.comparison import Comparison
    from kg2rag.evaluation.diagnosis import Waterfall, oracle_ladder, waterfall
    from kg2rag.evaluation.graph_report import graph_report
    from kg2rag.evaluation.seeds import replicates
    from kg2rag.explained import Explained, explain
    from kg2rag.extraction.prompted import PromptedTriples
    from kg2rag.fusion import Fusion, fuse
    from kg2rag.graph import KnowledgeGraph
    from kg2rag.interop.recorded import Recorded
    from kg2rag.knowledge_base import KnowledgeBase
    from kg2rag.llm import ChatModel
    from kg2rag.llm_linking import LLMLinker
    from kg2rag.llm_reranker import LLMReranker
    from kg2rag.pipeline import Pipeline, Retriever, Stage
    from kg2rag.reader import Reader
    from kg2rag.reproduction.ledger import Ledger
    from kg2rag.reproduction.runs import reproduce
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
    from kg2rag.retrievers.scored import Scored
    from kg2rag.retrievers.vector_first import VectorFirst
    from kg2rag.stages.expand import Expand
    from kg2rag.stages.graph_augment import GraphAugment
    from kg2rag.stages.organise import Organise
    from kg2rag.stages.rerank import Rerank
    from kg2rag.store import Store
    from kg2rag.sweep import Sweep, SweepResult, read_sweep
    from kg2rag.trace import Trace
    from kg2rag.types import Hit, Passage, Query, Ranking, Triple
    from kg2rag.weighting.llm import LLMAnalyser

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
    "Explained": "explained",
    "FormattedContext": "context",
    "Fusion": "fusion",
    "GraphAugment": "stages.graph_augment",
    "Hippo1": "retrievers.hippo1",
    "Hippo2": "retrievers.hippo2",
    "Hit": "types",
    "KG2RAGOfficial": "retrievers.kg2rag_official",
    "KnowledgeBase": "knowledge_base",
    "KnowledgeGraph": "graph",
    "LLMAnalyser": "weighting.llm",
    "LLMLinker": "llm_linking",
    "LLMReranker": "llm_reranker",
    "Ledger": "reproduction",
    "Linear": "retrievers.linear",
    "MentionPPR": "retrievers.mention_ppr",
    "Organise": "stages.organise",
    "Passage": "types",
    "PathSearch": "retrievers.path",
    "Pattern": "retrievers.pattern",
    "Pipeline": "pipeline",
    "Practical": "retrievers.practical",
    "PromptedTriples": "extraction.prompted",
    "QADataset": "corpus",
    "Query": "types",
    "Question": "corpus",
    "Ranking": "types",
    "Reader": "reader",
    "Recorded": "interop",
    "Rerank": "stages.rerank",
    "Retriever": "pipeline",
    "Scored": "retrievers.scored",
    "SentenceEncoder": "embedding",
    "Stage": "pipeline",
    "Store": "store",
    "Sweep": "sweep",
    "SweepResult": "sweep",
    "Switches": "retrievers.kg2rag_official",
    "Trace": "trace",
    "Triple": "types",
    "VectorFirst": "retrievers.vector_first",
    "Waterfall": "evaluation.diagnosis",
    "World": "datasets.world",
    "compare": "evaluation",
    "explain": "explained",
    "from_frames": "datasets",
    "fuse": "fusion",
    "graph_report": "evaluation.graph_report",
    "load": "datasets",
    "oracle_ladder": "evaluation.diagnosis",
    "read_sweep": "sweep",
    "replicates": "evaluation",
    "reproduce": "reproduction",
    "score_answers": "evaluation.answer_report",
    "waterfall": "evaluation.diagnosis",
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
    "Explained",
    "FormattedContext",
    "Fusion",
    "GraphAugment",
    "Hippo1",
    "Hippo2",
    "Hit",
    "KG2RAGOfficial",
    "KnowledgeBase",
    "KnowledgeGraph",
    "LLMAnalyser",
    "LLMLinker",
    "LLMReranker",
    "Ledger",
    "Linear",
    "MentionPPR",
    "Organise",
    "Passage",
    "PathSearch",
    "Pattern",
    "Pipeline",
    "Practical",
    "PromptedTriples",
    "QADataset",
    "Query",
    "Question",
    "Ranking",
    "Reader",
    "Recorded",
    "Rerank",
    "Retriever",
    "Scored",
    "SentenceEncoder",
    "Stage",
    "Store",
    "Sweep",
    "SweepResult",
    "Switches",
    "Trace",
    "Triple",
    "VectorFirst",
    "Waterfall",
    "World",
    "compare",
    "explain",
    "from_frames",
    "fuse",
    "graph_report",
    "load",
    "oracle_ladder",
    "read_sweep",
    "replicates",
    "reproduce",
    "score_answers",
    "waterfall",
]


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'kg2rag' has no attribute {name!r}")
    value = getattr(import_module(f"kg2rag.{_HOME[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
