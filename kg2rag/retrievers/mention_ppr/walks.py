"""Where walks over a mention graph start -> where they end, and the mentions and triples that led to each passage."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from kg2rag.knowledge.graph.walks import NodeWeights, Walk
from kg2rag.retrievers.mention_ppr.graph import BACKWARD, MentionGraph
from kg2rag.types import Corpus, FloatArray, IntArray, Matrix, Triple

MEMORY = 256 * 2**20
"""Bytes that the arrays of the walks made at once may take together; one walk is made whatever it takes."""
_A_NODE = 2 * (8 + 8 + 8)  # bytes a query and node: node, share and edge, twice while they are cut to what was reached
_A_SENTENCE = 8  # its cosine


def at_once(graph: MentionGraph) -> int:
    """How many queries to walk at once, at least 1."""
    return max(1, MEMORY // (_A_NODE * max(graph.n_nodes, 1) + _A_SENTENCE * len(graph.texts)))


def walks(
    graph: MentionGraph,
    texts: Matrix,
    queries: Matrix,
    restarts: Sequence[NodeWeights],
    masks: Sequence[IntArray | None],
    *,
    damping: float,
    temperature: float,
    iterations: int,
    certain: int = 0,
    floor: float = 0.0,
) -> list[Walk]:
    """One compiled walk a query, in parallel; see `kg2rag.knowledge.graph.walks.WalkGraph.walks`.

    Parameters
    ----------
    texts : (n_texts, dim) vectors that the graph's sentences are rows of.
    queries : (n_queries, dim). restarts : where each walk starts, not scaled.
    masks : the passages that each query's walk may enter; None for all.
    certain : 0 for whole walks, else how many passages must be first in the order of a whole walk.
    floor : 0 for whole walks, else the share for each of its edges up to which a node is not left.
    """

    def walk(part: slice, weights: FloatArray | None) -> list[Walk]:
        return graph.walked.walks(
            texts,
            queries[part],
            restarts[part],
            masks[part],
            damping=damping,
            temperature=temperature,
            iterations=iterations,
            certain=certain,
            floor=floor,
            weights=weights,
        )

    if all(mask is None for mask in masks) or not graph.masks_edges:
        return walk(slice(None), None)
    return [walk(slice(i, i + 1), graph.weights_within(mask))[0] for i, mask in enumerate(masks)]


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
        source, target = int(graph.sources_of(np.array(edge))), int(graph.targets[edge])
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
    walk: Walk,
    restart: NodeWeights,
    graph: MentionGraph,
    corpus: Corpus,
    names: list[str],
    longest: int = 4,
) -> WalkedPaths:
    """The paths that brought a walk to some rows: back along the strongest edges to a node where it began.

    Parameters
    ----------
    rows : corpus rows; those where the walk itself began have no path.
    walk, restart : of one query.
    names : of the nodes that are no passages.
    longest : edges followed back at most.
    """
    seen, edges = [np.asarray(rows, dtype=np.int64)], list[IntArray]()
    going = np.ones(len(rows), dtype=bool)
    while len(edges) < longest and going.any():
        via = walk.came_by(seen[-1])
        going = going & (via >= 0) & (restart.at(seen[-1]) == 0)
        before = graph.sources_of(np.maximum(via, 0))
        going &= ~np.any([before == node for node in seen], axis=0)  # two nodes may each receive most from the other
        edges.append(np.where(going, via, -1))
        seen.append(np.where(going, before, -1))
    back = np.stack(edges[::-1], axis=1).tolist() if edges else []
    paths = {row: tuple(edge for edge in way if edge >= 0) for row, way in zip(rows.tolist(), back, strict=False)}
    return WalkedPaths(graph, corpus, names, {row: path for row, path in paths.items() if path})
