"""Where walks over a mention graph start -> where they end, and the mentions and triples that led to each passage."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from kg2rag.retrievers.mention_ppr.graph import BACKWARD, MentionGraph
from kg2rag.types import Corpus, FloatArray, IntArray, Matrix, Triple

MEMORY = 256 * 2**20
"""Bytes that the arrays of the walks made at once may take together; one walk is made whatever it takes."""
_A_NODE = 8 + 8 + 1 + 8 + 8  # bytes a query and node: restart (twice while they are stacked), allowed, score, via


def at_once(graph: MentionGraph) -> int:
    """How many queries to walk at once, at least 1."""
    return max(1, MEMORY // (_A_NODE * max(graph.n_nodes, 1)))


def walks(
    graph: MentionGraph,
    texts: Matrix,
    queries: Matrix,
    restarts: FloatArray,
    masks: Sequence[IntArray | None],
    *,
    damping: float,
    temperature: float,
    iterations: int,
) -> tuple[FloatArray, IntArray]:
    """One compiled walk a query, in parallel; see `kg2rag.knowledge.graph.walks.query_aware_walk`.

    Parameters
    ----------
    texts : (n_texts, dim) vectors that the graph's sentences are rows of.
    queries, restarts : (n_queries, dim) and (n_queries, n_nodes).
    masks : the passages that each query's walk may enter; None for all.

    Returns
    -------
    scores, via : (n_queries, n_nodes) each; the share of the walk, and the edge that brought most into a node or -1.
    """
    from kg2rag.knowledge.graph.walks import query_aware_walks

    allowed = np.stack([allowed_nodes(mask, graph) for mask in masks])

    def walk(part: slice, weights: FloatArray) -> tuple[FloatArray, IntArray]:
        edges = (graph.indptr, graph.targets, weights, graph.sentence_ptr, graph.sentences, texts)
        found: tuple[FloatArray, IntArray] = query_aware_walks(
            edges, queries[part], restarts[part], allowed[part], damping, temperature, iterations
        )
        return found

    if all(mask is None for mask in masks) or not graph.masks_edges:
        return walk(slice(None), graph.weights)
    each = [walk(slice(i, i + 1), graph.weights_within(mask)) for i, mask in enumerate(masks)]
    return np.concatenate([scores for scores, _ in each]), np.concatenate([via for _, via in each])


def allowed_nodes(mask: IntArray | None, graph: MentionGraph) -> NDArray[np.bool_]:
    """(n_nodes,) what a walk may enter: the passages of the mask, and every node that is no passage."""
    allowed = np.ones(graph.n_nodes, dtype=bool)
    if mask is not None:
        allowed[: graph.n_passages] = False
        allowed[mask] = True
    return allowed


@dataclass(frozen=True)
class WalkedPaths(Mapping[int, tuple[Triple, ...]]):
    """Corpus row -> the mentions that a walk followed to it, as triples that are made when looked up.

    `edges` holds the edges of each row's path, in the order walked.
    """

    graph: MentionGraph
    corpus: Corpus
    names: list[str]
    edges: Mapping[int, tuple[int, ...]]

    def __getitem__(self, row: int) -> tuple[Triple, ...]:
        return tuple(self.triple(edge) for edge in self.edges[row])

    def __iter__(self) -> Iterator[int]:
        return iter(self.edges)

    def __len__(self) -> int:
        return len(self.edges)

    def triple(self, edge: int) -> Triple:
        """The mention behind an edge: always from the passage that mentions to what it mentions."""
        graph = self.graph
        stated = graph.fact(edge)
        if stated is not None:
            return stated
        source, target = int(graph.sources[edge]), int(graph.targets[edge])
        if graph.kinds[edge] == BACKWARD or source >= graph.n_passages:
            source, target = target, source
        strength = float(np.clip(10 * graph.weights[edge], 0.001, 10))
        return Triple(self._name(source), "mentions", self._name(target), self.corpus.ids[source], strength)

    def _name(self, node: int) -> str:
        if node < self.graph.n_passages:
            return self.corpus.titles[node] or self.corpus.ids[node]
        return self.names[node - self.graph.n_passages]


def walked_paths(
    rows: IntArray,
    via: IntArray,
    restart: FloatArray,
    graph: MentionGraph,
    corpus: Corpus,
    names: list[str],
    longest: int = 4,
) -> WalkedPaths:
    """The paths that brought a walk to some rows: back along the strongest edges to a node where it began.

    Parameters
    ----------
    rows : corpus rows; those where the walk itself began have no path.
    via, restart : (n_nodes,) of one query.
    names : of the nodes that are no passages.
    longest : edges followed back at most.
    """
    paths: dict[int, tuple[int, ...]] = {}
    for row in rows.tolist():
        node, edges, seen = row, list[int](), {row}
        while restart[node] == 0 and via[node] >= 0 and len(edges) < longest:
            edge = int(via[node])
            node = int(graph.sources[edge])
            if node in seen:  # two nodes may each receive most from the other
                break
            seen.add(node)
            edges.append(edge)
        if edges:
            paths[row] = tuple(reversed(edges))
    return WalkedPaths(graph, corpus, names, paths)
