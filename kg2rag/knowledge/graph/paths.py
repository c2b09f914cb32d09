"""Passages or entities -> surrounding triples, components, maximum spanning trees.

`surroundings` walks over triples that a passage states, after Zhu et al., "Knowledge Graph-Guided
RAG", NAACL 2025, Eq. 3 to 5, and `spanning_trees` are those of Sec. 2.3. Ours, where the paper is
silent: of equal edges the first in the caller's order is kept, and a walk follows better edges
first, from the first end of its root edge before the second.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from kg2rag.knowledge.graph.csr import gather
from kg2rag.types import IntArray, LazyPaths

if TYPE_CHECKING:
    from kg2rag.knowledge.graph import KnowledgeGraph
Flags = NDArray[np.bool_]
Codes = NDArray[np.integer]


def triple_paths(
    graph: KnowledgeGraph, indices_of: Mapping[int, Iterable[int]]
) -> LazyPaths:
    """The paths of a graph's triples; `indices_of` : corpus row -> the triples of its path."""
    return LazyPaths(lambda row: map(graph.triple, indices_of.get(row, ())))


@dataclass(frozen=True, eq=False)
class Surroundings:
    """The part of the graph around some seed passages.

    `triples`, (n,) ascending, have both ends reached. `hops`, (n_entities,), is the distance from an
    entity of the seeds' triples, or -1. `via`, (n_entities,), is the triple that reached it; at hop
    0, a triple of the first seed that names it.
    """

    graph: KnowledgeGraph
    triples: IntArray
    hops: IntArray
    via: IntArray

    def path(self, triple: int) -> tuple[int, ...]:
        """The path of triples from a seed passage's triple to this one."""
        table = self.graph.triples
        ends = (int(table.heads[triple]), int(table.tails[triple]))
        entity = min(ends, key=lambda end: int(self.hops[end]))
        path = [triple]
        while self.via[entity] != path[0]:
            path.insert(0, int(self.via[entity]))
            if self.hops[entity] == 0:
                break
            head, tail = int(table.heads[path[0]]), int(table.tails[path[0]])
            entity = head if tail == entity else tail
        return tuple(path)


def surroundings(
    graph: KnowledgeGraph, rows: IntArray, hops: int, mask: IntArray | None = None
) -> Surroundings:
    """The triples within `hops` of the seed passages' entities, by breadth-first search.

    `mask` : the passages whose triples may be walked, None for all that a passage states.

    The order of `rows`, the seed passages, decides only which path is kept.
    """
    table = graph.triples
    usable = table.passages >= 0 if mask is None else np.isin(table.passages, mask)
    stated = stated_by(graph, rows)
    stated = stated[usable[stated]]
    ends = np.stack([table.heads[stated], table.tails[stated]], axis=1).ravel()
    hop_of, via = _breadth_first(graph, ends, np.repeat(stated, 2), hops, usable)
    slots = gather(graph.adjacency.indptr, np.flatnonzero(hop_of >= 0))[0]
    between = graph.adjacency.triples[
        slots[hop_of[graph.adjacency.neighbours[slots]] >= 0]
    ]
    return Surroundings(
        graph, np.unique(between[usable[between]]).astype(np.int64), hop_of, via
    )


def stated_by(graph: KnowledgeGraph, rows: IntArray) -> IntArray:
    """The triples that some passages state, in the order of `rows`, then ascending."""
    indptr, triples = graph.stated
    return triples[gather(indptr, rows)[0]].astype(np.int64)


def _breadth_first(
    graph: KnowledgeGraph, entities: Codes, triples: Codes, hops: int, usable: Flags
) -> tuple[IntArray, IntArray]:
    """(n_entities,) each: hop, 0 at the start, and first triple to each entity; -1 if unreached."""
    hop_of, via = np.full((2, graph.n_entities), -1, dtype=np.int64)
    for hop in range(hops + 1):
        unseen = np.flatnonzero(hop_of[entities] < 0)
        layer, first = np.unique(entities[unseen], return_index=True)
        hop_of[layer] = hop
        via[layer] = triples[unseen[first]]
        if not len(layer):
            break
        slots = gather(graph.adjacency.indptr, layer)[0]
        slots = slots[usable[graph.adjacency.triples[slots]]]
        entities = graph.adjacency.neighbours[slots]
        triples = graph.adjacency.triples[slots]
    return hop_of, via


def entity_hops(
    graph: KnowledgeGraph, seeds: Iterable[int], hops: int, allowed: Flags | None = None
) -> IntArray:
    """(n_entities,) the hops from each entity to the nearest seed; -1 beyond `hops`.

    `allowed` : (n_passages,) the passages whose triples may be walked, None for all. Triples without a passage
    always may.
    """
    codes = np.fromiter(seeds, dtype=np.int64)
    usable = np.ones(graph.n_triples, dtype=bool)
    if allowed is not None:
        usable = (graph.triples.passages < 0) | allowed[graph.triples.passages]
    return _breadth_first(graph, codes, np.full(len(codes), -1), hops, usable)[0]


def passage_hops(
    graph: KnowledgeGraph, entities: IntArray, allowed: Flags | None = None
) -> IntArray:
    """(n_passages,) the minimum hop of the entities that a passage names; -1 if none is reached.

    Passages outside `allowed` have -1, too.

    `entities` are hops, (n_entities,), as from `entity_hops`.
    """
    unreached = np.iinfo(np.int64).max
    least = np.full(graph.n_passages, unreached, dtype=np.int64)
    hops = entities[graph.mentions.owners]
    np.minimum.at(least, graph.mentions.others[hops >= 0], hops[hops >= 0])
    least[least == unreached] = -1
    if allowed is not None:
        least[~allowed] = -1
    return least


@dataclass(frozen=True, eq=False)
class Components:
    """The connected components of a graph: `labels`, (n_entities,), is that of each entity.

    `nodes` and `rows`, (n_pairs,), are an entity and a passage that names it.
    """

    labels: IntArray
    nodes: Codes
    rows: Codes

    @classmethod
    def of_graph(cls, graph: KnowledgeGraph) -> Components:
        """Entities joined by triples, and the passages that name them."""
        from scipy.sparse import coo_array
        from scipy.sparse.csgraph import connected_components

        size = graph.n_entities
        labels = np.empty(0, dtype=np.int64)
        if size:  # scipy takes no empty matrix
            ends = (graph.triples.heads, graph.triples.tails)
            edges = coo_array(
                (np.ones(graph.n_triples, dtype=np.int8), ends), shape=(size, size)
            )
            labels = connected_components(edges, directed=False)[1].astype(np.int64)
        return cls(labels, graph.mentions.owners, graph.mentions.others)

    def rows_with(self, nodes: Iterable[int]) -> IntArray:
        """The passages that name a node of the same components as `nodes`, ascending."""
        labels = self.labels[np.fromiter(nodes, dtype=np.int64)]
        return np.unique(self.rows[np.isin(self.labels[self.nodes], labels)]).astype(
            np.int64
        )


class Tree(NamedTuple):
    """A spanning tree as a depth-first walk: edges, root first, and the position of each parent.

    The parent of the root is -1.
    """

    edges: list[int]
    parents: list[int]

    def path(self, position: int) -> list[int]:
        """The edges from the root to the edge at `position`."""
        path = []
        while position >= 0:
            path.append(self.edges[position])
            position = self.parents[position]
        return path[::-1]


def spanning_trees(
    heads: NDArray[np.integer], tails: NDArray[np.integer]
) -> list[Tree]:
    """The maximum spanning trees of an undirected multigraph, best edge first.

    Each tree is walked from its best edge.

    `heads` and `tails`, (n_edges,), are vertex numbers of any size; edge i is preferred to edge j
    if i < j. Of parallel edges the first is kept; self-loops are dropped.
    """
    ends = {
        edge: (int(heads[edge]), int(tails[edge]))
        for edge in _spanning_forest(heads, tails)
    }
    incident: dict[int, list[int]] = defaultdict(list)
    for edge, (head, tail) in reversed(ends.items()):
        incident[head].append(edge)
        incident[tail].append(edge)
    trees: list[Tree] = []
    walked: set[int] = set()
    for root in ends:
        if root not in walked:
            trees.append(_walk_tree(root, ends, incident))
            walked.update(trees[-1].edges)
    return trees


def _spanning_forest(
    heads: NDArray[np.integer], tails: NDArray[np.integer]
) -> list[int]:
    """The edges of all maximum spanning trees, ascending."""
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import minimum_spanning_tree

    proper = np.flatnonzero(heads != tails)
    if not len(proper):
        return []
    vertices, numbers = np.unique(
        np.stack([heads[proper], tails[proper]]), return_inverse=True
    )
    low, high = np.sort(numbers.reshape(2, -1).astype(np.int64), axis=0)
    first = np.unique(low * len(vertices) + high, return_index=True)[1]
    # scipy sorts unstably; distinct weights, the ranks of preference, make the forest unique.
    shape = (len(vertices), len(vertices))
    matrix = csr_array((first + 1.0, (low[first], high[first])), shape=shape)
    ranks = minimum_spanning_tree(matrix).data.astype(np.int64) - 1
    forest: list[int] = proper[np.sort(ranks)].tolist()
    return forest


def _walk_tree(
    root: int, ends: Mapping[int, tuple[int, int]], incident: Mapping[int, list[int]]
) -> Tree:
    """The depth-first walk of a tree from one of its edges."""
    tree = Tree([], [])
    # (edge, vertices it leads to, position of its parent); the top of the stack is walked next.
    stack: list[tuple[int, tuple[int, ...], int]] = [(root, ends[root][::-1], -1)]
    while stack:
        edge, vertices, parent = stack.pop()
        position = len(tree.edges)
        tree.edges.append(edge)
        tree.parents.append(parent)
        for vertex in vertices:
            for next_edge in incident[vertex]:
                if next_edge != edge:
                    head, tail = ends[next_edge]
                    opposite = tail if vertex == head else head
                    stack.append((next_edge, (opposite,), position))
    return tree
