"""Edges in order of preference -> the maximum spanning tree of every component, each walked from its best edge.

Follows Zhu et al., "Knowledge Graph-Guided RAG", NAACL 2025, Sec. 2.3. Ours, where the
paper is silent: of equal edges the first in the caller's order is kept, and a walk follows better edges first, from the
first end of its root edge before the second.
"""

from __future__ import annotations

from collections import defaultdict
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from kg2rag.types import IntArray


class Tree(NamedTuple):
    """A spanning tree as a depth-first walk: edge numbers, the root first, and where each one's parent is, or -1."""

    edges: list[int]
    parents: list[int]

    def path(self, position: int) -> list[int]:
        """The edges from the root to the edge at `position`."""
        path = []
        while position >= 0:
            path.append(self.edges[position])
            position = self.parents[position]
        return path[::-1]


def spanning_trees(heads: NDArray[np.integer], tails: NDArray[np.integer]) -> list[Tree]:
    """The maximum spanning trees of an undirected multigraph, the one with the best edge first.

    `heads` and `tails`, (n_edges,), are vertex numbers of any size; edge i is preferred to edge j where i < j. Of
    parallel edges the first is kept; self-loops are dropped.
    """
    ends = {edge: (int(heads[edge]), int(tails[edge])) for edge in spanning_forest(heads, tails).tolist()}
    incident: dict[int, list[int]] = defaultdict(list)
    for edge, (head, tail) in reversed(ends.items()):
        incident[head].append(edge)
        incident[tail].append(edge)
    trees: list[Tree] = []
    walked: set[int] = set()
    for root in ends:
        if root in walked:
            continue
        trees.append(Tree([], []))
        edges, parents = trees[-1]
        # (edge, the vertices it leads to, place of the edge before it); the top of the stack is walked next.
        ahead: list[tuple[int, tuple[int, ...], int]] = [(root, ends[root][::-1], -1)]
        while ahead:
            edge, beyond, parent = ahead.pop()
            place = len(edges)
            edges.append(edge)
            parents.append(parent)
            for vertex in beyond:
                for onward in incident[vertex]:
                    if onward != edge:
                        head, tail = ends[onward]
                        ahead.append((onward, (tail if vertex == head else head,), place))
        walked.update(edges)
    return trees


def spanning_forest(heads: NDArray[np.integer], tails: NDArray[np.integer]) -> IntArray:
    """The edges of the forest, ascending."""
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import minimum_spanning_tree

    proper = np.flatnonzero(heads != tails)
    if not len(proper):
        return proper
    vertices, ends = np.unique(np.stack([heads[proper], tails[proper]]), return_inverse=True)
    ends = ends.reshape(2, -1)
    low, high = ends.min(axis=0).astype(np.int64), ends.max(axis=0).astype(np.int64)
    first = np.unique(low * len(vertices) + high, return_index=True)[1]
    # Weights are places in the order of preference, so all differ and the tree is the only one: scipy sorts unstably.
    places = (first + 1).astype(np.float64)
    matrix = csr_array((places, (low[first], high[first])), shape=(len(vertices), len(vertices)))
    chosen = minimum_spanning_tree(matrix).data.astype(np.int64) - 1
    found: IntArray = proper[np.sort(chosen)]
    return found
