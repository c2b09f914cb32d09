"""Queries -> the entities of the graph that they name. To add one: a file here, a line in `LINKERS`.

Names joined by `+` are a chain: the first of them that links anything decides, query by query.
"""

from typing import Any

from kg2rag.knowledge import KnowledgeBase
from kg2rag.retrievers.linking.linkers import ChainLinker, Link, Linker
from kg2rag.text.registry import Registry

__all__ = ["DESIGN", "LINKERS", "Link", "Linker", "of"]

# the graph-augmented design's: names in the query's words, else like its vector
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
    """A linker given as such or by name."""
    return LINKERS.build(linker, kb) if isinstance(linker, str) else linker
