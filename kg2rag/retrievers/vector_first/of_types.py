"""A linker and a domain schema -> the linker's entities of the schema's types."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from kg2rag.knowledge.base import KnowledgeBase
from kg2rag.retrievers.linking.linkers import Link, Linker
from kg2rag.text.normalisation import entity_key
from kg2rag.types.passages import Query


@dataclass(frozen=True)
class OfTypes:
    """The first `limit` entities that a linker finds of some types.

    Parameters
    ----------
    types : case and punctuation do not matter; None for all types.
    """

    linker: Linker
    kb: KnowledgeBase
    types: Sequence[str] | None
    limit: int

    def link_batch(self, queries: Sequence[Query]) -> list[list[Link]]:
        """The links of each query, in the linker's order."""
        return [[link for link in links if self._fits(link)][: self.limit] for links in self.linker.link_batch(queries)]

    def _fits(self, link: Link) -> bool:
        return self._keys is None or entity_key(self.kb.graph.types[link.entity]) in self._keys

    @cached_property
    def _keys(self) -> frozenset[str] | None:
        return None if self.types is None else frozenset(map(entity_key, self.types))


def why_none(kb: KnowledgeBase, types: Sequence[str] | None) -> str:
    """Why a query may name no entity of some types: the graph has none, lacks the types, or the query names none."""
    if not kb.graph.n_entities:
        return "the graph has no entity"
    if types is None:
        return "the query names no entity of the graph"
    known = set(map(entity_key, kb.graph.entity_types))
    unknown = [name for name in types if entity_key(name) not in known]
    lacking = f"; the graph lacks the types {', '.join(map(repr, unknown))}" if unknown else ""
    return f"the query names no entity of the types {', '.join(map(repr, types))}{lacking}"
