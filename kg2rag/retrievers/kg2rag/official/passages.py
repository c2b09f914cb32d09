"""A knowledge base -> the passages as the released code keeps them: joined to titles its way, with what each states."""

from __future__ import annotations

from kg2rag.knowledge.base import KnowledgeBase
from kg2rag.knowledge.indexes.dense import DenseIndex
from kg2rag.types.passages import Triple


def dense_over(kb: KnowledgeBase, separator: str) -> DenseIndex:
    """`kb.dense` with other characters than a line break between the title and the text that are encoded."""
    if separator == "\n":
        return kb.dense
    return kb.part(("dense", separator), lambda: DenseIndex(kb.encode(kb.corpus.joined(separator))))


def stated_triples(kb: KnowledgeBase) -> list[list[Triple]]:
    """(n_passages,) the triples that each passage states, in the source's own spelling and order."""
    return kb.part("stated_triples", lambda: _stated(kb))


def _stated(kb: KnowledgeBase) -> list[list[Triple]]:
    stated: list[list[Triple]] = [[] for _ in kb.corpus.ids]
    for triple in kb.extraction.triples:
        if triple.passage_id:
            stated[kb.corpus.row(triple.passage_id)].append(triple)
    return stated
