"""Weighted facts and mentioned names -> spanning trees and their strings, in the order in which networkx yields them.

The released KG2RAG walks networkx's containers, some of them sets. The order here is that of insertion everywhere,
which the released code has where no hash interferes. Facts are numbered in the order of the passages.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import combinations, pairwise

import numpy as np

from kg2rag.knowledge.graph.forest import spanning_forest, spanning_trees
from kg2rag.types import FloatArray, IntArray, Triple

QUERY_EDGE = -1
Edge = tuple[str, str]


def iteration_trees(
    edges: Sequence[Edge], weights: FloatArray, mentioned: Sequence[str], *, self_loops: bool
) -> list[list[int]]:
    """The facts of each component's maximum spanning tree, the component of most vertices first.

    `edges`, `weights`: (n_facts,) the two vertices and the weight of each fact. `mentioned`: vertices that edges of
    weight 0 join, pair by pair; they may be new. Such an edge is in no list, so a list may be empty.
    """
    if not edges and len(mentioned) < 2:
        return []
    place = {vertex: i for i, vertex in enumerate(dict.fromkeys(v for edge in edges for v in edge))}
    joined = list(mentioned) if len(mentioned) > 1 else []
    for vertex in joined:
        place.setdefault(vertex, len(place))
    first: dict[Edge, int] = {}
    for i, edge in enumerate(edges):
        first.setdefault(_key(edge, place), i)

    def met(i: int) -> tuple[int, int, int]:
        """When networkx meets an edge: at its first vertex, after the older pairs there, after older parallels."""
        key = _key(edges[i], place)
        return place[key[0]], first[key], i

    order = sorted(range(len(edges)), key=lambda i: (-weights[i], *met(i)))
    facts, ends, codes = _with_query_edges(order, edges, weights, joined)
    kept = [facts[at] for at in spanning_forest(ends[:, 0], ends[:, 1]).tolist() if facts[at] != QUERY_EDGE]
    members = dict(zip(place, _components(ends)[[codes[vertex] for vertex in place]].tolist(), strict=True))
    position = {i: at for at, i in enumerate(kept)}
    trees: dict[int, list[int]] = {root: [] for root in members.values()}
    for i in sorted(kept, key=lambda i: (met(i)[0], position[i])):
        trees[members[edges[i][0]]].append(i)
    sizes = Counter(members.values())
    if self_loops:
        for root in trees:
            if sizes[root] == 1:
                trees[root] = [next(i for i in order if members[edges[i][0]] == root)]
    largest = sorted(trees, key=lambda root: -sizes[root])
    return [trees[root] for root in largest if self_loops or sizes[root] > 1]


def depth_first_trees(edges: Sequence[Edge], weights: FloatArray, mentioned: Sequence[str]) -> list[list[int]]:
    """The facts of each maximum spanning tree as a walk from its heaviest; equal weights by fact number."""
    order = np.lexsort((np.arange(len(edges)), -weights)).tolist()
    facts, ends, _ = _with_query_edges(order, edges, weights, mentioned)
    return [
        [facts[edge] for edge in tree.edges if facts[edge] != QUERY_EDGE]
        for tree in spanning_trees(ends[:, 0], ends[:, 1])
    ]


def tree_text(
    rows: Sequence[int], texts: Sequence[str], stated: Sequence[Sequence[Triple]], *, facts: bool, limit: int | None
) -> str:
    """The passages of a tree as the reranker reads them: one after the other, nothing between.

    `facts`: after every passage, the first three triples of it and of all before it. `limit`: characters; None for all.
    Strings grow with the square of the tree, and rerankers read the beginning.
    """
    text, relational = "", ""
    for row in rows:
        text += texts[row]
        if facts and stated[row]:
            relational += ", ".join(
                f"{triple.head} has/is {triple.relation} {triple.tail}" for triple in stated[row][:3]
            )
        if facts and relational:
            text += f" Relational facts: {relational}."
        if limit is not None and len(text) > limit:
            return text[:limit]
    return text


def _key(edge: Edge, place: Mapping[str, int]) -> Edge:
    return edge if place[edge[0]] <= place[edge[1]] else (edge[1], edge[0])


def _with_query_edges(
    order: Sequence[int], edges: Sequence[Edge], weights: FloatArray, mentioned: Sequence[str]
) -> tuple[list[int], IntArray, dict[str, int]]:
    """The facts, heaviest first, with the edges of weight 0 between mentioned names; the ends of each; their codes."""
    facts, ordered, between = list(order), [edges[i] for i in order], list(pairwise(mentioned))
    cut = int(np.count_nonzero(weights >= 0))  # these come before
    if cut < len(facts):  # a pair that a fact links has no other edge, which matters if the fact weighs less than 0
        linked = set(map(frozenset, edges))
        between = [pair for pair in combinations(mentioned, 2) if frozenset(pair) not in linked]
    facts[cut:cut], ordered[cut:cut] = [QUERY_EDGE] * len(between), between
    codes = {vertex: i for i, vertex in enumerate(dict.fromkeys(v for edge in ordered for v in edge))}
    return facts, np.array([(codes[u], codes[v]) for u, v in ordered], dtype=np.int64).reshape(-1, 2), codes


def _components(ends: IntArray) -> IntArray:
    """(n_vertices,) the component of each vertex."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    n = int(ends.max(initial=-1)) + 1
    found: IntArray = connected_components(coo_array((np.ones(len(ends)), ends.T), shape=(n, n)), directed=False)[1]
    return found
