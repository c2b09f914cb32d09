"""Queries -> the entities of the graph that they name. To add a linker: one file here, and one line in `LINKERS`."""

from collections.abc import Callable, Mapping

from kg2rag.knowledge import KnowledgeBase
from kg2rag.retrievers.linking.linkers import EmbeddingLinker, Linker, NGramLinker, PhraseLinker, chain
from kg2rag.text import plugins

__all__ = ["LINKERS", "Linker", "named"]

GROUP = "kg2rag.linkers"
LINKERS: Mapping[str, Callable[[KnowledgeBase], Linker]] = {
    "chain": chain,
    "embedding": EmbeddingLinker,
    "n-gram": NGramLinker,
    "phrase": PhraseLinker,
}


def named(name: str, kb: KnowledgeBase) -> Linker:
    """The linker of that name, ours or an installed package's; ValueError where there is none."""
    return plugins.look_up("linker", name, LINKERS, GROUP)(kb)
