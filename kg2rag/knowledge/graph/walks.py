"""Random walks with restart over edges that weigh more the better their sentence fits the query.

A walk of so many steps costs what it touches: `walk_steps` holds the compiled loops, `walk_weights` the edges' weights.
Every query is walked on its own, in a fixed order of additions, so that a batch gives the same bits as its queries one
by one, with any number of threads.

**Ending early.** With `certain` = k, a node that holds at most ε for each of its edges is not left. One step maps
shares h ≥ 0 to d · Pᵀh + (1 - d + d · stuck(h)) · s, which never falls where h rises, so by induction the shares a that
such a walk finds are at most those of the whole walk, p, at every node. Both are at least 0, and p sums to 1. Hence
0 ≤ p(v) - a(v) ≤ Σ (p - a) = 1 - Σ a =: m for every v, and a(u) > a(v) + m implies p(u) ≥ a(u) > a(v) + m ≥ p(v). So
where each of the first k leads the next by more than m, they are the first k of the whole walk, in its order. Until
that is so, the walk is made again with a smaller ε, the last time with 0, which is the whole walk. The test adds to m
more than the sums can round by.

**Cut.** With a `floor` there is one attempt, with that ε, and no test: every share is too small by at most m, which is
the walk's `left_out`. What it touches is then bounded by the floor, however large the graph: in a step, the nodes that
are left have less than 1 / ε edges together.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numba
import numpy as np
from numpy.typing import NDArray

from kg2rag.compute import limit_numba
from kg2rag.knowledge.graph.csr import frozen, owners
from kg2rag.knowledge.graph.walk_steps import walk_each
from kg2rag.knowledge.graph.walk_weights import Codes, Edges, Scratch, Settings, every_cosine, few_cosines
from kg2rag.types import FloatArray, IntArray, Matrix

limit_numba()

TOGETHER = 8  # queries from which comparing them side by side with every sentence costs less than doing so one by one


@dataclass(frozen=True, eq=False)
class NodeWeights:
    """Nodes that weigh more than 0; all others weigh 0.

    Attributes
    ----------
    nodes : (n,) ascending. weights : (n,).
    """

    nodes: IntArray
    weights: FloatArray

    @classmethod
    def of(cls, nodes: IntArray, weights: FloatArray) -> NodeWeights:
        """Weights of nodes in any order; those of a repeated node are added in the order given."""
        distinct, which = np.unique(np.asarray(nodes, dtype=np.int64), return_inverse=True)
        sums = np.bincount(which, weights=weights, minlength=len(distinct)).astype(np.float64)
        return cls(distinct[sums > 0], sums[sums > 0])

    def at(self, nodes: IntArray) -> FloatArray:
        """(n,) the weights of some nodes."""
        if not len(self.nodes):
            return np.zeros(len(nodes))
        places = np.minimum(np.searchsorted(self.nodes, nodes), len(self.nodes) - 1)
        return np.where(self.nodes[places] == nodes, self.weights[places], 0.0)

    def plus(self, other: NodeWeights) -> NodeWeights:
        """The sum of both."""
        return NodeWeights.of(np.concatenate([self.nodes, other.nodes]), np.concatenate([self.weights, other.weights]))

    def within(self, n: int) -> NodeWeights:
        """Those of the first `n` nodes alone."""
        end = int(np.searchsorted(self.nodes, n))
        return NodeWeights(self.nodes[:end], self.weights[:end])

    def dense(self, n_nodes: int) -> FloatArray:
        """(n_nodes,) the weights of all nodes."""
        every = np.zeros(n_nodes)
        every[self.nodes] = self.weights
        return every


@dataclass(frozen=True, eq=False)
class Walk(NodeWeights):
    """Where one query's walk ended: the nodes it reached and the share of it that each holds, 1 in all.

    Attributes
    ----------
    via : (n,) the edge that brought most into each node in the last step; -1 where none did.
    left_out : by how much the shares may be too small, and by how much they are in all; 0 for a whole walk.
    """

    via: IntArray
    left_out: float = 0.0

    def came_by(self, nodes: IntArray) -> IntArray:
        """(n,) `via` of some nodes; -1 also where the walk did not reach one."""
        if not len(self.nodes):
            return np.full(len(nodes), -1, dtype=np.int64)
        places = np.minimum(np.searchsorted(self.nodes, nodes), len(self.nodes) - 1)
        return np.where(self.nodes[places] == nodes, self.via[places], -1)


@dataclass(frozen=True, eq=False)
class WalkGraph:
    """A directed graph as the compiled walks read it, and the arrays they write to, kept from one call to the next.

    Attributes
    ----------
    indptr, targets, weights : (n_nodes + 1,), (n_edges,), (n_edges,) in CSR form.
    sentence_ptr, sentences : edge e has the sentences `sentences[sentence_ptr[e]:sentence_ptr[e + 1]]`.
    n_ranked : how many nodes, the first ones, are ranked; these alone need permission and have an order.
    """

    indptr: NDArray[np.integer]
    targets: NDArray[np.integer]
    weights: FloatArray
    sentence_ptr: NDArray[np.integer]
    sentences: NDArray[np.integer]
    n_ranked: int
    _unused: list[Scratch] = field(default_factory=list, repr=False)

    @cached_property
    def _unsigned(self) -> tuple[NDArray[np.uint64], Codes, NDArray[np.uint64], Codes]:
        """`indptr`, `targets`, `sentence_ptr` and `sentences` as the compiled loops index by them."""
        return (
            _unwritten(self.indptr, np.int64).view(np.uint64),
            _unwritten(self.targets, np.int32).view(np.uint32),
            _unwritten(self.sentence_ptr, np.int64).view(np.uint64),
            _unwritten(self.sentences, np.int32).view(np.uint32),
        )

    @cached_property
    def _sources(self) -> Codes:
        """(n_edges,) the node that each edge leaves."""
        return _unwritten(owners(self.indptr), np.uint32)

    @property
    def n_nodes(self) -> int:
        """Ranked and other nodes."""
        return len(self.indptr) - 1

    def walks(
        self,
        sentence_vectors: Matrix,
        queries: Matrix,
        starts: Sequence[NodeWeights],
        masks: Sequence[IntArray | None] | None = None,
        *,
        damping: float,
        temperature: float,
        iterations: int,
        certain: int = 0,
        floor: float = 0.0,
        weights: FloatArray | None = None,
    ) -> list[Walk]:
        """One walk a query, in parallel: personalised PageRank by power iteration.

        An edge's weight is multiplied by exp((cos - 1) / temperature), where cos is the cosine of the query with the
        best of the edge's sentences, 1 where it has none; the weights out of a node are then scaled to sum 1. A node
        without a way out returns its mass to where the walk starts.

        Parameters
        ----------
        sentence_vectors : (n_sentences, dim) float32, of norm 1. queries : (n_queries, dim), likewise.
        starts : where each walk starts; scaled to sum 1. Nothing is reached from an empty start.
        masks : the ranked nodes that each query's walk may enter; None for all.
        damping : probability of following an edge, in (0, 1).
        temperature : above 0. iterations : steps, at least 1.
        certain : 0 for the whole walk, else how many ranked nodes are to be first in the whole walk's order; see the
            module. floor : a node that holds at most so much for each of its edges is not left, where `certain` is 0.
        weights : (n_edges,) in place of the graph's.
        """
        masks = masks or [None] * len(queries)
        vectors = _unwritten(sentence_vectors, np.float32)
        # Few edges and sentences are needed by a walk among candidates, or by one that ends early.
        whole = not (certain or floor) and all(mask is None for mask in masks)
        indptr, targets, sentence_ptr, sentences = self._unsigned
        edges = Edges(
            indptr,
            targets,
            _unwritten(self.weights if weights is None else weights, np.float64),
            sentence_ptr,
            sentences,
            vectors,
            self._sources if whole else _NO_CODES,
        )
        given = _unwritten(queries, np.float32)
        found = tuple(np.empty((len(queries), self.n_nodes), dtype=kind) for kind in (np.int64, np.float64, np.int64))
        scratch = self._scratch(len(queries), len(vectors))
        rows: list[Any] = [array[: len(queries)] for array in scratch]
        counts, left_out = walk_each(
            edges,
            given,
            _joined(starts),
            _every_cosine(given, vectors) if whole else _none_of(queries),
            _masks(masks),
            self.n_ranked,
            Settings(damping, temperature, iterations, certain, 0.0 if certain else float(floor)),
            Scratch(*rows),
            found,
        )
        self._unused.append(scratch)
        return [
            Walk(nodes[:n].copy(), shares[:n].copy(), via[:n].copy(), float(missing))
            for nodes, shares, via, n, missing in zip(*found, counts.tolist(), left_out.tolist(), strict=True)
        ]

    def _scratch(self, n_queries: int, n_sentences: int) -> Scratch:
        """Arrays for as many walks as there are threads; for one, where there is but one query."""
        rows = min(numba.get_num_threads(), n_queries)
        try:
            scratch = self._unused.pop()
        except IndexError:
            scratch = None
        if scratch is None or len(scratch.here) < rows or scratch.factors.shape[1] < n_sentences:
            return Scratch.of(rows, self.n_nodes, len(self.targets), n_sentences)
        return scratch


def _unwritten(array: NDArray[Any], kind: type[np.generic]) -> NDArray[Any]:
    """The array as the compiled loops take it, read-only whether it is or not, so that they are compiled once."""
    return frozen(np.ascontiguousarray(array, dtype=kind).view())


_NO_CODES = _unwritten(np.empty(0), np.uint32)


def _every_cosine(queries: Matrix, sentences: Matrix) -> FloatArray:
    """(n_queries, n_sentences), the same bits by either way."""
    if len(queries) < TOGETHER:
        return np.asarray(few_cosines(queries, sentences))
    return np.asarray(every_cosine(np.ascontiguousarray(queries.T), sentences))


def _none_of(queries: Matrix) -> FloatArray:
    return np.empty((len(queries), 0))


def _joined(starts: Sequence[NodeWeights]) -> tuple[IntArray, IntArray, FloatArray]:
    """Offsets, nodes and weights, one query after another."""
    ends = np.cumsum([0, *(len(start.nodes) for start in starts)])
    nothing = np.empty(0, dtype=np.int64)
    nodes = np.concatenate([nothing, *(start.nodes for start in starts)])
    return ends, nodes, np.concatenate([np.empty(0), *(start.weights for start in starts)])


def _masks(masks: Sequence[IntArray | None]) -> tuple[IntArray, IntArray, NDArray[np.bool_]]:
    """Offsets and rows, one query after another, and which queries have no mask."""
    nothing = np.empty(0, dtype=np.int64)
    given = [nothing if mask is None else mask for mask in masks]
    free = np.array([mask is None for mask in masks], dtype=bool)
    return np.cumsum([0, *map(len, given)]), np.concatenate([nothing, *given]).astype(np.int64), free
