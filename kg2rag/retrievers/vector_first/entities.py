"""A query's entities of a schema's types -> the entities related to them, and the documents that name those."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from kg2rag.knowledge import KnowledgeBase, KnowledgeGraph
from kg2rag.retrievers.linking.linkers import Link, Linker
from kg2rag.text.normalisation import entity_key
from kg2rag.types import IntArray, ParameterError, Query


@dataclass(frozen=True)
class OfTypes:
    """The first `limit` entities that a linker finds of some types.

    `types`: case and punctuation do not matter; None for all types.
    """

    linker: Linker
    kb: KnowledgeBase
    types: Sequence[str] | None
    limit: int

    def link_batch(self, queries: Sequence[Query]) -> list[list[Link]]:
        """The links of each query, in the linker's order."""
        keys = None if self.types is None else frozenset(map(entity_key, self.types))
        kinds = self.kb.graph.types
        return [
            [link for link in links if keys is None or entity_key(kinds[link.entity]) in keys][: self.limit]
            for links in self.linker.link_batch(queries)
        ]


def require_types(kb: KnowledgeBase, types: Sequence[str] | None) -> None:
    """ParameterError where the graph has entities and lacks a type: every query would get the dense ranking."""
    known = {entity_key(kind): kind for kind in kb.graph.entity_types}
    for kind in types or () if kb.graph.n_entities else ():
        if entity_key(kind) not in known:
            has = f"It has: {', '.join(known.values())}." if known else "Its entities have no types: leave `types` out."
            raise ParameterError(f"types: the graph lacks the entity type {kind!r}. {has}")


def why_none(kb: KnowledgeBase, types: Sequence[str] | None) -> str:
    """Why a query may name no entity of some types: the graph has none, or the query names none of them."""
    if not kb.graph.n_entities:
        return "the graph has no entity"
    if types is None:
        return "the query names no entity of the graph"
    return f"the query names no entity of the types {', '.join(map(repr, types))}"


class Related(NamedTuple):
    """An entity near one of the query's.

    `strength`, in (0, 1], is the weakest of its path, over 10; `confidence`, in (0, 1], the link's times the least of
    the path's triples; `path` the triples walked.
    """

    entity: int
    strength: float
    confidence: float
    path: tuple[int, ...]


def related_entities(graph: KnowledgeGraph, links: Sequence[Link], *, hops: int, limit: int) -> list[Related]:
    """The entities around the query's, each once, by (-strength · confidence, first reached).

    `limit`: entities around each of the query's, nearest and strongest first.
    """
    best: dict[int, Related] = {}
    for link in links:
        for near in graph.neighbours([link.entity], hops=hops, limit=limit)[:limit]:
            sure = link.confidence * min(graph.triple(index).confidence for index in near.path)
            found = Related(near.entity, near.weight / 10, sure, near.path)
            known = best.setdefault(near.entity, found)
            if known.strength * known.confidence < found.strength * found.confidence:
                best[near.entity] = found
    return sorted(best.values(), key=lambda near: -near.strength * near.confidence)


def related_documents(
    kb: KnowledgeBase, related: Sequence[Related], retrieved: IntArray, mask: IntArray | None
) -> dict[str, Related]:
    """Documents that name a related entity and have no passage retrieved -> the entity that led there.

    `retrieved`: rows of the corpus. `mask`: the rows that may count; None for all.
    """
    doc_ids = kb.corpus.doc_ids
    known = {doc_ids[row] for row in retrieved.tolist()}
    documents: dict[str, Related] = {}
    for near in related:
        rows = kb.graph.passages_of(near.entity)[0]
        for row in (rows if mask is None else rows[np.isin(rows, mask)]).tolist():
            if doc_ids[row] not in known:
                documents.setdefault(doc_ids[row], near)
    return documents


def rows_of(kb: KnowledgeBase, documents: Sequence[str]) -> IntArray:
    """The passages of some documents, document by document."""

    def by_document() -> dict[str, list[int]]:
        rows = defaultdict[str, list[int]](list)
        for row, document in enumerate(kb.corpus.doc_ids):
            rows[document].append(row)
        return rows

    found = kb.cached("rows_by_document", by_document)
    return np.array([row for document in documents for row in found[document]], dtype=np.int64)
