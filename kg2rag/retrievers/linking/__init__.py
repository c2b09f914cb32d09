"""Queries -> the entities of the graph that they name.

To add a linker, write a file here and a line in `LINKERS`.

Names joined by `+` are a chain: for each query, the first linker with links decides.
"""

from typing import Any

from kg2rag.knowledge import KnowledgeBase
from kg2rag.retrievers.linking.linkers import ChainLinker, Link, Linker
from kg2rag.text.registry import Registry

__all__ = ["DESIGN", "LINKERS", "Link", "Linker", "of"]

# That of the graph-augmented design: names in the query's words, else those nearest to its vector.
DESIGN = "ngram+embedding"
LINKERS: Registry[Linker] = Registry(
    "linker",
    {
        "embedding": "kg2rag.retrievers.linking.linkers:EmbeddingLinker",
        "fuzzy": "kg2rag.retrievers.linking.linkers:FuzzyLinker",
        "llm(MODEL@BASE_URL)": "kg2rag.llm.linker:named",
        "ngram": "kg2rag.retrievers.linking.linkers:NGramLinker",
        "phrase": "kg2rag.retrievers.linking.linkers:PhraseLinker",
    },
    group="kg2rag.linkers",
    context=1,
    joined=ChainLinker,
)


def of(linker: Any, kb: KnowledgeBase) -> Any:
    """The linker of an object or a name."""
    return LINKERS.build(linker, kb) if isinstance(linker, str) else linker
