"""A query's entities -> their neighbours -> the passages that name these, for several strategies."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from kg2rag.knowledge import DenseIndex, KnowledgeBase, Workload
from kg2rag.knowledge.graph.paths import Components
from kg2rag.retrievers import linking
from kg2rag.retrievers.linking.linkers import Link, Linker
from kg2rag.retrievers.system_parts import workloads
from kg2rag.types import IntArray, Query, check


class LinksEntities:
    """A component with the parameter `linker`: an object, or a name, which is looked up at once."""

    kb: KnowledgeBase
    linker: str | Linker | None

    def __post_init__(self) -> None:
        check(self)
        _ = self.entity_linker

    @cached_property
    def entity_linker(self) -> Any:
        """The linker; None if the component has none."""
        return linking.of(self.linker, self.kb)

    def workloads(self, queries: Sequence[Query]) -> list[Workload]:
        """The texts to encode: the passages, and those that the linker compares."""
        passages = self.kb.workload("passages", self.kb.corpus.streamed_contents)
        return [passages, *workloads(self.entity_linker, queries)]


def components(kb: KnowledgeBase) -> Components:
    """The connected components of the graph, with the passages that name their entities."""
    return kb.cached("components", lambda: Components.of_graph(kb.graph))


class Related(NamedTuple):
    """An entity near one of the query's entities.

    Attributes
    ----------
    strength : the minimum strength of the triples on the path, / 10, in (0, 1].
    confidence : the confidence of the link times the minimum confidence of the triples on the path, in (0, 1].
    path : the indices of the triples from the query's entity to this one.
    """

    entity: int
    strength: float
    confidence: float
    path: tuple[int, ...]


def related_entities(
    kb: KnowledgeBase,
    links: Sequence[Link],
    hops: int,
    by: Callable[[Related], float],
    **options: Any,
) -> list[Related]:
    """The neighbours of a query's entities, in descending order of `by`.

    A neighbour of several entities is listed once, with the entity for which `by` is highest. Ties keep
    the order of the search.

    `by` : the sort key. `options` : `limit` and `min_weight` of `KnowledgeGraph.neighbours`, for each of the
    query's entities.
    """
    best: dict[int, Related] = {}
    for link in links:
        neighbours = kb.graph.neighbours([link.entity], hops=hops, **options)
        for near in neighbours[: options.get("limit")]:
            path_confidence = min(
                kb.graph.triple(index).confidence for index in near.path
            )
            confidence = link.confidence * path_confidence
            related = Related(near.entity, near.weight / 10, confidence, near.path)
            if near.entity not in best or by(related) > by(best[near.entity]):
                best[near.entity] = related
    return sorted(best.values(), key=lambda near: -by(near))


def described_entities(kb: KnowledgeBase) -> DenseIndex:
    """The index for cosine search over `entity_descriptions`."""
    return kb.cached(
        "described entities", lambda: DenseIndex(kb.encode(entity_descriptions(kb)))
    )


def entity_descriptions(kb: KnowledgeBase) -> list[str]:
    """The text of each entity: "name: description", or its name if it has no description."""
    texts = []
    for name, description in zip(kb.graph.names, kb.graph.descriptions, strict=True):
        texts.append(f"{name}: {description}" if description else name)
    return texts


def passages_naming(
    kb: KnowledgeBase, entity: int, candidate_rows: IntArray | None
) -> tuple[IntArray, IntArray]:
    """The corpus rows of the passages that name an entity, and its mentions in each, (n,) each.

    `candidate_rows` : the rows that may be returned; None for all.
    """
    rows, counts = kb.graph.mentions.of(entity)
    if candidate_rows is not None:
        is_candidate = np.isin(rows, candidate_rows)
        rows, counts = rows[is_candidate], counts[is_candidate]
    return rows.astype(np.int64), counts.astype(np.int64)
