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
    """The paths of triples whose indices a mapping has for each corpus row."""
    return LazyPaths(lambda row: map(graph.triple, indices_of.get(row, ())))


@dataclass(frozen=True, eq=False)
class Surroundings:
    """The part of the graph around some seed passages.

    `triples`, (n,), ascending, are the triples whose two ends are within reach. `hops`,
    (n_entities,), is the number of hops from the entities of the seeds' triples, -1 out of reach.
    `via`, (n_entities,), is the triple that led to the entity; at hop 0, the first seed's triple.
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
        # Walk back from the nearer end to an entity of a seed.
        while self.via[entity] != path[0]:
            path.insert(0, int(self.via[entity]))
            if self.hops[entity] == 0:
                break
            head, tail = int(table.heads[path[0]]), int(table.tails[path[0]])
            entity = head if tail == entity else tail
        return tuple(path)


def surroundings(
    graph: KnowledgeGraph,
    rows: IntArray,
    hops: int,
    candidate_rows: IntArray | None = None,
) -> Surroundings:
    """The triples within `hops` of the seed passages' entities, by breadth-first search.

    `rows` are the seed passages; their order decides only which path leads to an entity. Only
    triples that a passage states are walked, with `candidate_rows` only those that these state.
    """
    table = graph.triples
    usable = table.passages >= 0
    if candidate_rows is not None:
        usable = np.isin(table.passages, candidate_rows)
    stated = triples_of_passages(graph, rows)
    stated = stated[usable[stated]]
    ends = np.stack([table.heads[stated], table.tails[stated]], axis=1).ravel()
    hop_of, via = _breadth_first(graph, ends, np.repeat(stated, 2), hops, usable)
    slots = gather(graph.adjacency.indptr, np.flatnonzero(hop_of >= 0))[0]
    slots = slots[hop_of[graph.adjacency.neighbours[slots]] >= 0]
    triples = np.unique(graph.adjacency.triples[slots]).astype(np.int64)
    return Surroundings(graph, triples[usable[triples]], hop_of, via)


def triples_of_passages(graph: KnowledgeGraph, rows: IntArray) -> IntArray:
    """The triples that passages state, in the order of the passages' `rows`, then ascending."""
    indptr, triples = graph.stated
    return triples[gather(indptr, rows)[0]].astype(np.int64)


def _breadth_first(
    graph: KnowledgeGraph, entities: Codes, triples: Codes, hops: int, usable: Flags
) -> tuple[IntArray, IntArray]:
    """The hop of each entity, 0 for the given ones, and the first triple to it, (n_entities,) each.

    `triples`, (n,), are those that led to the given entities. Both are -1 for an entity that is
    more than `hops` away over `usable` triples.
    """
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
    """The number of hops from each entity to the nearest seed, (n_entities,); -1 beyond `hops`.

    `allowed`, (n_passages,), is whether the triples of a passage may be walked; None allows all.
    Triples without a passage may always be walked.
    """
    codes = np.fromiter(seeds, dtype=np.int64)
    usable = np.ones(graph.n_triples, dtype=bool)
    if allowed is not None:
        usable = (graph.triples.passages < 0) | allowed[graph.triples.passages]
    return _breadth_first(graph, codes, np.full(len(codes), -1), hops, usable)[0]


def passage_hops(
    graph: KnowledgeGraph, hops: IntArray, allowed: Flags | None = None
) -> IntArray:
    """The minimum hop of the entities that each passage names, (n_passages,).

    `hops`, (n_entities,), are those of `entity_hops`. The result is -1 for a passage that names no
    entity within reach, and for one that `allowed` excludes.
    """
    unreached = np.iinfo(np.int64).max
    minimum = np.full(graph.n_passages, unreached, dtype=np.int64)
    hop_of_pair = hops[graph.mentions.owners]
    is_reached = hop_of_pair >= 0
    np.minimum.at(minimum, graph.mentions.others[is_reached], hop_of_pair[is_reached])
    minimum[minimum == unreached] = -1
    if allowed is not None:
        minimum[~allowed] = -1
    return minimum


@dataclass(frozen=True, eq=False)
class Components:
    """The connected components of a graph.

    `labels`, (n_entities,), is the component of each entity. `nodes` and `rows`, (n_pairs,) each,
    are the pairs of an entity and a passage that names it.
    """

    labels: IntArray
    nodes: Codes
    rows: Codes

    @classmethod
    def of_graph(cls, graph: KnowledgeGraph) -> Components:
        """The components of the entities of a graph, joined by its triples."""
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
    """A spanning tree as a depth-first walk from a root edge.

    `edges` are in the order of the walk. `parents` has the position in `edges` of each edge's
    parent, -1 for the root.
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
    """The maximum spanning trees of an undirected multigraph, each walked from its best edge.

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
    vertices, codes = np.unique(
        np.stack([heads[proper], tails[proper]]), return_inverse=True
    )
    low, high = np.sort(codes.reshape(2, -1).astype(np.int64), axis=0)
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
