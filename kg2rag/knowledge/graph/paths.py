"""Passages -> the part of the triple graph around them: the entities within some hops and all triples between those.

The paths walk over triples that a passage states; a triple without a passage brings nothing to a passage, so it is
left out. Follows Zhu et al., "Knowledge Graph-Guided RAG", NAACL 2025, Eq. 3 to 5.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kg2rag.knowledge.graph.csr import gather
from kg2rag.knowledge.graph.data import GraphData
from kg2rag.types import IntArray, Triple


@dataclass(frozen=True)
class TriplePaths(Mapping[int, tuple[Triple, ...]]):
    """Corpus row -> the triples that led to it, written out when they are looked up: few of them ever are.

    `found` is what led to a row; `triples` gives the codes of the triples behind that, in the order walked. Where it is
    not given, `found` holds the codes themselves.
    """

    graph: GraphData
    found: Mapping[int, Any]
    triples: Callable[[Any], Iterable[int]] = tuple

    def __getitem__(self, row: int) -> tuple[Triple, ...]:
        return tuple(self.graph.triple(int(index)) for index in self.triples(self.found[row]))

    def __iter__(self) -> Iterator[int]:
        return iter(self.found)

    def __len__(self) -> int:
        return len(self.found)


@dataclass(frozen=True, eq=False)
class Surroundings:
    """The part of the graph around some seed passages.

    Attributes
    ----------
    triples : (n,) triples with both ends reached, ascending.
    hops : (n_entities,) how many triples away from an entity of the seeds' triples; -1 where not reached.
    via : (n_entities,) the triple that reached the entity: at hop 0 one of the first seed that names it.
    """

    graph: GraphData
    triples: IntArray
    hops: IntArray
    via: IntArray

    def hop(self, triple: int) -> int:
        """The smaller hop of a triple's ends."""
        table = self.graph.triples
        return int(min(self.hops[table.heads[triple]], self.hops[table.tails[triple]]))

    def path(self, triple: int) -> tuple[int, ...]:
        """The triples from a seed passage's own triple to this one, which comes last."""
        table = self.graph.triples
        head, tail = int(table.heads[triple]), int(table.tails[triple])
        entity = head if self.hops[head] <= self.hops[tail] else tail
        path = [triple]
        while path[0] != (via := int(self.via[entity])):
            path.insert(0, via)
            if self.hops[entity] == 0:
                break
            entity = int(table.heads[via]) if table.tails[via] == entity else int(table.tails[via])
        return tuple(path)


def surroundings(graph: GraphData, rows: IntArray, hops: int, mask: IntArray | None = None) -> Surroundings:
    """Walk breadth-first from every entity of the passages' triples, over those of the passages in `mask`, or all.

    The order of `rows`, the seed passages, decides only which path is kept.
    """
    table = graph.triples
    usable = table.passages >= 0 if mask is None else np.isin(table.passages, mask)
    own = stated_by(graph, rows)
    own = own[usable[own]]
    reached = np.full(graph.n_entities, -1, dtype=np.int64)
    via = np.full(graph.n_entities, -1, dtype=np.int64)
    frontier = _mark(np.stack([table.heads[own], table.tails[own]], axis=1).ravel(), np.repeat(own, 2), 0, reached, via)
    for hop in range(1, hops + 1):
        if not len(frontier):
            break
        slots = gather(graph.adjacency.indptr, frontier)[0]
        slots = slots[usable[graph.adjacency.triples[slots]]]
        frontier = _mark(graph.adjacency.neighbours[slots], graph.adjacency.triples[slots], hop, reached, via)
    slots = gather(graph.adjacency.indptr, np.flatnonzero(reached >= 0))[0]
    between = graph.adjacency.triples[slots[reached[graph.adjacency.neighbours[slots]] >= 0]]
    return Surroundings(graph, np.unique(between[usable[between]]).astype(np.int64), reached, via)


def stated_by(graph: GraphData, rows: IntArray) -> IntArray:
    """The triples that some passages state, passage by passage in the order given, each passage's ascending."""
    indptr, triples = graph.stated
    found: IntArray = triples[gather(indptr, rows)[0]].astype(np.int64)
    return found


def _mark(
    entities: NDArray[np.integer], triples: NDArray[np.integer], hop: int, reached: IntArray, via: IntArray
) -> IntArray:
    """Note the entities not reached before, each by the first triple that names it; return them, ascending."""
    fresh = np.flatnonzero(reached[entities] < 0)
    found, first = np.unique(entities[fresh], return_index=True)
    reached[found] = hop
    via[found] = triples[fresh[first]]
    fresh_entities: IntArray = found.astype(np.int64)
    return fresh_entities
