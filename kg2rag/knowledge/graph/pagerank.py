"""A weighted undirected graph and restart weights -> personalised PageRank, whole or until the first k are certain.

PageRank is the solution x* of x = damping · P x + (1 - damping) · r, where P moves a node's mass along its edges in
proportion to their weight. On an undirected graph P has real eigenvalues in [-1, 1], so Chebyshev's semi-iteration [1]
applies: it gains a factor of (1 + sqrt(1 - damping²)) / damping a step, 3.7 at damping 0.5 where plain power iteration
gains 2. A node without edges returns its mass to the restart distribution; there this is a constant factor.

The number of steps follows from the tolerance alone, and each query's additions are made in one fixed order, so a batch
gives the same bits as its queries one by one, with any number of threads.

Where a ranking is all that is wanted, a walk may end as soon as its first k are certain. Let ρ = damping · P x +
(1 - damping) · r - x be the residual of an iterate x, W the weights of the edges and S the diagonal of the nodes'
strengths, so that P = W S⁻¹. Then (1 - damping · P)(x* - x) = ρ, and v = S⁻¹ ρ gives

    S⁻¹ (x* - x) = (1 - damping · A)⁻¹ v = v + damping · A v + damping² · A² v + …,  A = S⁻¹ W.

Every row of A sums to 1 and none of its entries is below 0, so each Aⁿ v lies between the least and the greatest entry
of v, and their sum between min v / (1 - damping) and max v / (1 - damping). So every x*ᵢ lies in an interval about xᵢ
whose ends are xᵢ plus these bounds times the node's strength. (A node without edges is at x*ᵢ from the start.) When of
the k nodes with the greatest x each one's interval lies above those of all that follow, they are the first k of x*, in
order. The intervals are widened by what rounding may add, and have to lie apart by more than the tolerance leaves of
the whole solution. A query for which that does not come to pass within its steps, as with a tie, is solved whole.

The bounds hold for any x. So these walks weight their steps for eigenvalues within 0.8 of those that may be: most
graphs have few beyond, and what is left of the greatest, which all nodes share by strength, moves both bounds alike.
And over large graphs they begin with an x in float32, whose residual is had in float64 all the same: half the memory
is read.

[1] Golub and Varga, "Chebyshev semi-iterative methods", Numerische Mathematik 3, 1961.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cached_property
from math import acosh, ceil

import numba
import numpy as np
from numpy.typing import NDArray

from kg2rag.compute.lanes import LANES
from kg2rag.knowledge.graph.pagerank_steps import Plan, begin_one, begin_rows, walk_groups, walk_one, walk_rows
from kg2rag.knowledge.graph.undirected import PARTS, UndirectedGraph
from kg2rag.types import FloatArray, IntArray, Matrix, above, below, require

FEW = 2  # so many queries are solved one after another: less work than a group of lanes that are mostly empty
MANY_ENTRIES = 200_000  # from here on, threads share a step: it is worth their waking, and they share what is cached
TOLERANCE = 1e-12
ROUGH = 10  # sweeps in float32, an even number: about as many as it can tell apart
APART = 4  # times the tolerance: by so much more than it do certain scores differ
SPREAD = 0.8  # of the eigenvalues that may be, those for which walks that end early weight their steps
ALL = slice(None)


def pagerank_within(
    graph: UndirectedGraph,
    restarts: FloatArray,
    scopes: Sequence[IntArray | None],
    damping: float,
    *,
    certain: int = 0,
    ranked: slice = ALL,
) -> FloatArray:
    """`pagerank` of each query over the nodes of its scope and the edges between them; over all where that is None.

    What a query restarts outside its scope is left out; nodes outside have 0. `certain` counts for queries without a
    scope; within one the whole solution is had.
    """
    if all(nodes is None for nodes in scopes):
        return pagerank(graph, restarts, damping, certain=certain, ranked=ranked)
    scores = np.zeros(restarts.shape)
    free = [i for i, nodes in enumerate(scopes) if nodes is None]
    if free:
        scores[free] = pagerank(graph, restarts[free], damping, certain=certain, ranked=ranked)
    for i, nodes in enumerate(scopes):
        if nodes is not None:
            scores[i, nodes] = pagerank(graph.induced(nodes), restarts[i : i + 1, nodes], damping)[0]
    return scores


def pagerank(
    graph: UndirectedGraph,
    restarts: FloatArray,
    damping: float,
    tolerance: float = TOLERANCE,
    *,
    certain: int = 0,
    ranked: slice = ALL,
) -> FloatArray:
    """Personalised PageRank of each row of `restarts`.

    Parameters
    ----------
    restarts : (n_queries, n_nodes), at least 0; each row is scaled to sum 1.
    damping : probability of following an edge, in (0, 1).
    tolerance : what is left of the first error; 1e-12 agrees with a direct solution to about 1e-13.
    certain : 0 solves to the tolerance; k > 0 may end once the order of the first k of the ranked nodes is that of the
        solution. Scores are then those of the iterate at which it does: as far off as that order allows.
    ranked : the nodes that are ranked, a slice of step 1.

    Returns
    -------
    (n_queries, n_nodes), at least 0; rows of whole solutions sum to 1. All zero where the restart is.

    Raises
    ------
    ValueError : damping, certain, a shape or a restart weight out of range.
    """
    require("damping", damping, float, above(0) & below(1))
    if restarts.ndim != 2 or restarts.shape[1] != graph.n_nodes:
        raise ValueError(f"restarts have shape {restarts.shape}, needed: (n_queries, {graph.n_nodes}).")
    most = restarts.max(axis=1, initial=0)
    if not (np.isfinite(most).all() and restarts.min(initial=0) >= 0):
        raise ValueError("Restart weights must be finite and at least 0.")
    first, last, each = ranked.indices(graph.n_nodes)
    if certain < 0 or each != 1:
        raise ValueError(f"certain = {certain} of the nodes {ranked}: needed is 0 or more, of a slice of step 1.")
    given = np.ascontiguousarray(restarts, dtype=np.float64)
    scores, found = np.zeros(given.shape), most == 0
    steps = _steps(damping, tolerance)
    if k := min(certain, max(last - first, 0)):
        relaxations = _relaxations(SPREAD * damping, steps)
        _solve(graph, given, Plan(damping, relaxations, 0, steps, k, first, last, APART * tolerance), scores, found)
    _solve(graph, given, Plan(damping, _relaxations(damping, steps), 0, steps, 0, 0, 0, 0.0), scores, found)
    return scores


def _steps(damping: float, tolerance: float) -> int:
    """After n steps an error is at most 1 / T_n(1 / damping) of what it was [1]."""
    return max(2, ceil(acosh(1 / tolerance) / acosh(1 / damping)))


def _relaxations(radius: float, steps: int) -> FloatArray:
    """The factor of each step for eigenvalues of damping · P within `radius` of 0 [1]."""
    factors = [1.0, 1 / (1 - radius**2 / 2)]
    while len(factors) < steps:
        factors.append(1 / (1 - radius**2 * factors[-1] / 4))
    return np.array(factors)


def _solve(
    graph: UndirectedGraph, restarts: FloatArray, plan: Plan, scores: FloatArray, found: NDArray[np.bool_]
) -> None:
    """Solve for the queries that are not found yet; write their scores, and which are found now."""
    lost = np.flatnonzero(~found)
    if 0 < len(lost) < len(found):
        own, new = np.zeros((len(lost), graph.n_nodes)), np.zeros(len(lost), dtype=bool)
        _solve(graph, restarts[lost], plan, own, new)
        scores[lost], found[lost] = own, new
    elif len(graph.neighbours) < MANY_ENTRIES and len(lost) > LANES:
        walk_groups(graph.rows, restarts, plan, scores, found)
    else:
        width = 1 if len(lost) <= FEW else LANES
        for first in range(0, len(lost), width):
            group = slice(first, first + width)
            _solve_group(graph, restarts[group], plan, scores[group], found[group])


def _solve_group(
    graph: UndirectedGraph, restarts: FloatArray, plan: Plan, scores: FloatArray, found: NDArray[np.bool_]
) -> None:
    """Solve for one query or up to `LANES`. Over a large graph a walk that may end early begins in float32."""
    large = len(graph.neighbours) >= MANY_ENTRIES
    shared = large and numba.get_num_threads() > 1
    one, rough = len(restarts) == 1, large and plan.certain > 0
    given, written = (restarts[0], scores[0]) if one else (restarts, scores)
    rows = graph.by_degree if one else graph.rows
    begin = begin_one if one else begin_rows if shared else begin_rows.serial
    sweep = walk_one if one else walk_rows
    sweep = sweep if shared else sweep.serial
    with _scratch(graph, 1 if one else LANES) as scratch:
        iterates: tuple[Matrix | FloatArray, ...] = scratch.rough if rough else scratch.exact
        begin(rows, given, plan.damping, scratch.start, *iterates, *scratch.state)
        if rough:
            first = plan._replace(end=min(ROUGH, plan.end))
            sweep(rows, first, scratch.start, *iterates, *scratch.state, scratch.kept, written, found)
            if found.all():
                return
            plan = plan._replace(begin=first.end)
            for exact, array in zip(scratch.exact, iterates, strict=True):
                exact[...] = array
        sweep(rows, plan, scratch.start, *scratch.exact, *scratch.state, scratch.kept, written, found)


class Scratch:
    """Arrays that a walk writes to: what restarts bring, what it knows of bounds, iterates in float64 and float32."""

    def __init__(self, n_nodes: int, lanes: int) -> None:
        self._shape: tuple[int, ...] = (n_nodes,) if lanes == 1 else (n_nodes, lanes)
        widest, counts = ((1,), (1,)) if lanes == 1 else ((PARTS, lanes), (lanes, 1))
        self.state = np.empty(widest), np.empty(counts, dtype=np.int64)
        self.start = np.empty(self._shape)
        self.kept = np.empty(self._shape[::-1], dtype=np.uint32)

    @cached_property
    def exact(self) -> tuple[FloatArray, FloatArray]:
        """Two iterates in float64."""
        return np.empty(self._shape), np.empty(self._shape)

    @cached_property
    def rough(self) -> tuple[Matrix, Matrix]:
        """Two iterates in float32."""
        return np.empty(self._shape, dtype=np.float32), np.empty(self._shape, dtype=np.float32)


@contextmanager
def _scratch(graph: UndirectedGraph, lanes: int) -> Iterator[Scratch]:
    """One for this call, kept for the next: memory that is new costs as much as a sweep or two."""
    scratch = graph.unused.pop(lanes, None) or Scratch(graph.n_nodes, lanes)
    yield scratch
    graph.unused[lanes] = scratch
