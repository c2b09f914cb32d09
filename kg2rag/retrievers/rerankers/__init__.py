"""Queries and passages -> scores of the pairs. To add a reranker: one file here, and one line in `RERANKERS`."""

from collections.abc import Callable, Mapping
from pathlib import Path

from kg2rag.knowledge import KnowledgeBase
from kg2rag.retrievers.rerankers.scoring import BiEncoder, CrossEncoder, PairReranker, Reranker
from kg2rag.text import plugins
from kg2rag.text.nearest import unknown

__all__ = ["DEFAULT_RERANKER", "RERANKERS", "PairReranker", "Reranker", "default_reranker", "named"]

GROUP = "kg2rag.rerankers"
DEFAULT_RERANKER = "bi-encoder"  # offline: the vectors of the knowledge base's own embedder
RERANKERS: Mapping[str, Callable[[KnowledgeBase], Reranker]] = {
    "bi-encoder": BiEncoder,
}


def named(name: str, kb: KnowledgeBase) -> Reranker:
    """The reranker of a name, ours or an installed package's; else the cross-encoder of a hub name or a folder.

    "llm:MODEL@BASE_URL" is a language model, see `compute.llm.chat_model`.

    ValueError: a name that is in no table, has no "/" as the names of the hub have, and is no folder.
    """
    kind, _, model = name.partition(":")
    if kind == "llm":
        return _language_model(model, kb)
    known = plugins.names(GROUP, RERANKERS)
    if name in known:
        return plugins.look_up("reranker", name, RERANKERS, GROUP)(kb)
    if "/" in name or Path(name).is_dir():
        return CrossEncoder(name)
    raise ValueError(f"{unknown('reranker', name, known)} A cross-encoder is given as organisation/model or a folder.")


def _language_model(name: str, kb: KnowledgeBase) -> Reranker:
    from kg2rag.compute.llm import chat_model
    from kg2rag.retrievers.rerankers.llm import LLMReranker

    return LLMReranker(chat_model(name, kb.store, "llm"))


def default_reranker(kb: KnowledgeBase) -> Reranker:
    """What every reranking stage uses where it is given none."""
    return named(DEFAULT_RERANKER, kb)
