"""A knowledge base -> the passages as the released code keeps them: joined to titles its way, with their triples."""

from __future__ import annotations

from collections.abc import Sequence

from kg2rag.knowledge.base import KnowledgeBase
from kg2rag.knowledge.indexes.dense import DenseIndex
from kg2rag.retrievers.kg2rag.official.expansion import TitlePool
from kg2rag.retrievers.kg2rag.official.mentions import Titles
from kg2rag.types.passages import Triple


def dense_over(kb: KnowledgeBase, separator: str) -> DenseIndex:
    """`kb.dense` with other characters than a line break between the title and the text that are encoded."""
    if separator == "\n":
        return kb.dense
    return kb.part(("dense", separator), lambda: DenseIndex(kb.encode(kb.corpus.joined(separator))))


def joined_texts(kb: KnowledgeBase, separator: str) -> list[str]:
    """Title and text of every passage, as the reranker reads them."""
    return kb.part(("joined", separator), lambda: kb.corpus.joined(separator))


def whole_pool(kb: KnowledgeBase) -> tuple[TitlePool, Titles]:
    """The pool of a query without candidates, and its titles."""
    return kb.part("title_pool", lambda: pool_of(kb, range(len(kb.corpus))))


def pool_of(kb: KnowledgeBase, rows: Sequence[int]) -> tuple[TitlePool, Titles]:
    """The pool of some passages, in order, and its titles."""
    rows_of: dict[str, list[int]] = {}
    for row in rows:
        rows_of.setdefault(kb.corpus.titles[row], []).append(row)
    return TitlePool(rows_of, kb.corpus.titles, stated_triples(kb)), Titles(list(rows_of))


def stated_triples(kb: KnowledgeBase) -> list[list[Triple]]:
    """(n_passages,) the triples that each passage states, in the source's own spelling and order."""
    return kb.part("stated_triples", lambda: _stated(kb))


def _stated(kb: KnowledgeBase) -> list[list[Triple]]:
    stated: list[list[Triple]] = [[] for _ in kb.corpus.ids]
    for triple in kb.extraction.triples:
        if triple.passage_id:
            stated[kb.corpus.row(triple.passage_id)].append(triple)
    return stated
