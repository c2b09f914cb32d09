"""The compiled steps of `pagerank`: sweeps over a graph, what they leave, and whether the first k are certain.

A sweep makes x' = before + relaxation · (damping · P x + start - before) of the iterate x. On its way it has the
residual damping · P x + start - x, whose least and greatest share of a node's strength bound what x lacks (`pagerank`).
"""

from __future__ import annotations

from heapq import heapreplace
from typing import NamedTuple

import numba
import numpy as np
from numpy.typing import NDArray

from kg2rag.compute import Kernel
from kg2rag.compute.lanes import LANES, Eight, add, eight, greatest, least, read, scale, subtract, write
from kg2rag.knowledge.graph.undirected import PARTS, Rows
from kg2rag.types import FloatArray, IntArray, Matrix

BEGIN = 3  # the first sweep whose residual is looked at
ANEW = 8  # times k: so many candidates are put in order
INFINITY = np.inf


class Plan(NamedTuple):
    """What one solution is asked for.

    Attributes
    ----------
    damping : in (0, 1).
    relaxations : (n_steps,) the factor of each sweep. begin, end : the sweeps that are made now, from and to.
    certain : how many are to be certain; 0 for none, and then no residual is looked at.
    first, last : the nodes that are ranked, from and to.
    gap : how far bounds are to lie apart.
    """

    damping: float
    relaxations: FloatArray
    begin: int
    end: int
    certain: int
    first: int
    last: int
    gap: float


@numba.njit(cache=True)
def _factor(restart: FloatArray, rows: Rows, damping: float) -> float:
    """Start of a node for its restart. Nodes without edges send damping · (their mass) back to the restart."""
    total = stuck = 0.0
    for node in range(restart.shape[0]):
        total += restart[node]
        if rows.strengths[rows.places[node]] == 0.0:
            stuck += restart[node]
    return (1.0 - damping) / (1.0 - damping * stuck / total) / total if total > 0.0 else 0.0


class Iterate(NamedTuple):
    """One query's iterate x, its start and the strengths, (n_nodes,) each by places, and the bounds.

    A node without edges is at its start, to the last bit. `low`, `high`: how much the solution is above x for a node's
    strength, at least and at most.
    """

    x: Matrix | FloatArray
    start: FloatArray
    strengths: FloatArray
    low: float
    high: float


@numba.njit(cache=True)
def _value(iterate: Iterate, place: int) -> float:
    value: float = iterate.start[place] if iterate.strengths[place] == 0.0 else np.float64(iterate.x[place])
    return value


@numba.njit(cache=True)
def _lower(iterate: Iterate, place: int) -> float:
    strength = iterate.strengths[place]
    end: float = iterate.start[place] if strength == 0.0 else iterate.x[place] + strength * iterate.low
    return end


@numba.njit(cache=True)
def _upper(iterate: Iterate, place: int) -> float:
    strength = iterate.strengths[place]
    end: float = iterate.start[place] if strength == 0.0 else iterate.x[place] + strength * iterate.high
    return end


@numba.njit(cache=True)
def _candidates(iterate: Iterate, rows: Rows, kept: NDArray[np.uint32], n_kept: int, plan: Plan) -> int:
    """The places that may be among the first k, at the beginning of `kept`: how many.

    `n_kept` is -1 where all nodes that are ranked are candidates.
    """
    lowest = [-INFINITY] * plan.certain
    left = 0
    for at in range(n_kept if n_kept >= 0 else plan.last - plan.first):
        place = np.int64(kept[at]) if n_kept >= 0 else rows.places[plan.first + at]
        if _upper(iterate, place) >= lowest[0] - plan.gap:
            kept[left] = place
            left += 1
            if _lower(iterate, place) > lowest[0]:
                heapreplace(lowest, _lower(iterate, place))
    n_kept, left = left, 0
    for at in range(n_kept):  # those that came before the k greatest lower ends
        if _upper(iterate, np.int64(kept[at])) >= lowest[0] - plan.gap:
            kept[left] = kept[at]
            left += 1
    return left


@numba.njit(cache=True)
def _least_of_the_first(iterate: Iterate, kept: NDArray[np.uint32], plan: Plan) -> float:
    """The k-th greatest x of the candidates where the order up to it is certain; infinity where it is not."""
    if kept.shape[0] < plan.certain:  # where a weight is so small that its inverse is no number
        return INFINITY
    values = np.array([_value(iterate, np.int64(place)) for place in kept])
    order, k = np.argsort(-values), plan.certain
    rest, following = -INFINITY, -INFINITY
    for at in order[k:]:
        rest = max(rest, _upper(iterate, np.int64(kept[at])))
        following = max(following, values[at])
    for at in order[:k][::-1]:
        place = np.int64(kept[at])
        if not (_lower(iterate, place) > rest + plan.gap and values[at] > following):
            return INFINITY
        rest, following = max(rest, _upper(iterate, place)), values[at]
    kth = values[order[k - 1]]
    return kth if kth > 0.0 else INFINITY


@numba.njit(cache=True)
def _bar(
    rows: Rows,
    plan: Plan,
    x: Matrix | FloatArray,
    start: FloatArray,
    low: FloatArray,
    high: FloatArray,
    widest: FloatArray,
    kept: NDArray[np.uint32],
    counts: IntArray,
) -> float:
    """As `_least_of_the_first`, given the least and greatest shares of the residual; `kept[:counts[0]]` are left."""
    # What arrives at a node for its strength is at most this: x* has widest / (1 - damping), x what it lacks besides.
    arrives = (widest.max() + max(abs(low.min()), abs(high.max()))) / (1.0 - plan.damping)
    slack = rows.rounding * arrives
    least_of, most = (low.min() - slack) / (1.0 - plan.damping), (high.max() + slack) / (1.0 - plan.damping)
    iterate = Iterate(x, start, rows.strengths, least_of, most)
    if counts[0] < 0 or counts[0] > ANEW * plan.certain:
        counts[0] = _candidates(iterate, rows, kept, counts[0], plan)
    return _least_of_the_first(iterate, kept[: counts[0]], plan) if counts[0] <= ANEW * plan.certain else INFINITY


@numba.njit(cache=True)
def _update(found: NDArray[np.bool_], bars: FloatArray, above: IntArray, plan: Plan) -> None:
    """A query is found if as many nodes reach its bar as are to be certain."""
    for lane in range(found.shape[0]):
        if bars[lane] < INFINITY:
            found[lane] = plan.certain == 0 or above[:, lane].sum() == plan.certain


@numba.njit(cache=True)
def _sweep_rows(
    rows: Rows, start: FloatArray, here: Matrix, before: Matrix, plan: Plan, step: int, part: int
) -> tuple[Eight, Eight]:
    """Make `before` the next iterate in one part; the least and greatest share of the residual, where it counts."""
    low, high, watched = eight(INFINITY), eight(-INFINITY), plan.certain > 0 and step >= BEGIN
    damping, relaxation = plan.damping, plan.relaxations[step]
    for node in range(rows.parts[part], rows.parts[part + 1]):
        sums = eight(0.0)
        for at in range(rows.indptr[node], rows.indptr[node + 1]):
            sums = add(sums, scale(rows.flows[at], read(here, rows.neighbours[at])))
        arrives, old = add(scale(damping, sums), read(start, node)), read(before, node)
        write(before, node, add(old, scale(relaxation, subtract(arrives, old))))
        if watched and rows.inverses[node] > 0.0:
            share = scale(rows.inverses[node], subtract(arrives, read(here, node)))
            low, high = least(low, share), greatest(high, share)
    return low, high


@numba.njit(cache=True)
def _copy_rows(
    rows: Rows, x: Matrix, start: FloatArray, bars: FloatArray, part: int, plan: Plan, scores: FloatArray
) -> IntArray:
    """The scores of one part of the queries whose bar is finite; how many of its ranked nodes reach each bar."""
    above = np.zeros(LANES, dtype=np.int64)
    for lane in range(scores.shape[0]):
        if bars[lane] < INFINITY:
            for node in range(rows.parts[part], rows.parts[part + 1]):
                value = start[node, lane] if rows.strengths[node] == 0.0 else np.float64(x[node, lane])
                scores[lane, node] = max(value, 0.0)  # what underflows the tolerance may be below 0
                above[lane] += plan.first <= node < plan.last and value >= bars[lane]
    return above


def _begin_rows(
    rows: Rows,
    restarts: FloatArray,
    damping: float,
    start: FloatArray,
    here: Matrix,
    before: Matrix,
    widest: FloatArray,
    counts: IntArray,
) -> None:
    """Up to eight queries before their first sweep, whatever the last six arguments hold.

    Parameters
    ----------
    restarts : (n_queries, n_nodes).
    start, here, before : (n_nodes, LANES) what restarts bring in a sweep, in float64, and two iterates.
    widest : (PARTS, LANES) the greatest start for a node's strength. counts : (LANES, 1) how many candidates are left.
    """
    n_queries, factors = restarts.shape[0], np.zeros(LANES)
    widest[:], counts[:] = 0.0, -1
    for lane in numba.prange(n_queries):
        factors[lane] = _factor(restarts[lane], rows, damping)
    for part in numba.prange(PARTS):
        for node in range(rows.parts[part], rows.parts[part + 1]):
            for lane in range(LANES):
                start[node, lane] = factors[lane] * restarts[lane, node] if lane < n_queries else 0.0
                here[node, lane] = start[node, lane]
                before[node, lane] = 0.0
                widest[part, lane] = max(widest[part, lane], start[node, lane] * rows.inverses[node])


def _walk_rows(
    rows: Rows,
    plan: Plan,
    start: FloatArray,
    here: Matrix,
    before: Matrix,
    widest: FloatArray,
    counts: IntArray,
    kept: NDArray[np.uint32],
    scores: FloatArray,
    found: NDArray[np.bool_],
) -> None:
    """Some sweeps of up to eight queries side by side, every part of the nodes by a thread.

    Parameters
    ----------
    start, here, before, widest, counts : as `begin_rows` or the sweeps before have left them.
    kept : (LANES, n_ranked) the candidates that are left.
    scores : (n_queries, n_nodes). found : (n_queries,). Both are written for the queries that are found.
    """
    n_queries, bars = scores.shape[0], np.full(LANES, INFINITY if plan.certain else 0.0)
    low, high, above = np.empty((PARTS, LANES)), np.empty((PARTS, LANES)), np.empty((PARTS, LANES), dtype=np.int64)
    for step in range(plan.begin, plan.end):
        for part in numba.prange(PARTS):
            bounds = _sweep_rows(rows, start, here, before, plan, step, part)
            write(low, part, bounds[0])
            write(high, part, bounds[1])
        if plan.certain and step >= BEGIN:
            for lane in numba.prange(n_queries):
                x, b, lowest, highest = here[:, lane], start[:, lane], low[:, lane], high[:, lane]
                bars[lane] = INFINITY
                if not found[lane]:
                    bars[lane] = _bar(rows, plan, x, b, lowest, highest, widest[:, lane], kept[lane], counts[lane])
            if bars[:n_queries].min() < INFINITY:
                for part in numba.prange(PARTS):
                    above[part] = _copy_rows(rows, here, start, bars, part, plan, scores)
                _update(found, bars, above, plan)
            if found.all():
                return
        here, before = before, here
    for part in numba.prange(0 if plan.certain else PARTS):
        above[part] = _copy_rows(rows, here, start, bars, part, plan, scores)
    _update(found, bars, above, plan)


begin_rows = Kernel(_begin_rows, lanes=True)
walk_rows = Kernel(_walk_rows, lanes=True)
_begin_group, _walk_group = begin_rows.serial, walk_rows.serial


def _walk_groups(rows: Rows, restarts: FloatArray, plan: Plan, scores: FloatArray, found: NDArray[np.bool_]) -> None:
    """As `begin_rows` and `walk_rows` for any number of queries, eight of them by a thread."""
    for group in numba.prange((restarts.shape[0] + LANES - 1) // LANES):
        own, n_nodes = slice(group * LANES, min(group * LANES + LANES, restarts.shape[0])), restarts.shape[1]
        start, here, before = np.empty((n_nodes, LANES)), np.empty((n_nodes, LANES)), np.empty((n_nodes, LANES))
        widest, counts = np.empty((PARTS, LANES)), np.empty((LANES, 1), dtype=np.int64)
        kept = np.empty((LANES, plan.last - plan.first), dtype=np.uint32)
        _begin_group(rows, restarts[own], plan.damping, start, here, before, widest, counts)
        _walk_group(rows, plan, start, here, before, widest, counts, kept, scores[own], found[own])


walk_groups = Kernel(_walk_groups, lanes=True)


@numba.njit(cache=True)
def _sweep_one(
    rows: Rows, start: FloatArray, here: Matrix, before: Matrix, plan: Plan, step: int, part: int
) -> tuple[float, float]:
    """As `_sweep_rows` for one query."""
    low, high, watched = INFINITY, -INFINITY, plan.certain > 0 and step >= BEGIN
    damping, relaxation = plan.damping, plan.relaxations[step]
    for place in range(rows.parts[part], rows.parts[part + 1]):
        total = 0.0
        for at in range(rows.indptr[place], rows.indptr[place + 1]):
            total += rows.flows[at] * here[rows.neighbours[at]]
        arrives, old = damping * total + start[place], before[place]
        before[place] = old + relaxation * (arrives - old)
        if watched and rows.inverses[place] > 0.0:
            share = rows.inverses[place] * (arrives - here[place])
            low, high = min(low, share), max(high, share)
    return low, high


@numba.njit(cache=True)
def _copy_one(rows: Rows, x: Matrix, start: FloatArray, bar: float, plan: Plan, scores: FloatArray) -> int:
    """As `_copy_rows` for one query and all nodes."""
    above = 0
    for node in range(scores.shape[0]):
        place = rows.places[node]
        value = start[place] if rows.strengths[place] == 0.0 else np.float64(x[place])
        scores[node] = max(value, 0.0)  # what underflows the tolerance may be below 0
        above += int(plan.first <= node < plan.last and value >= bar)
    return above


@numba.njit(cache=True)
def begin_one(
    rows: Rows,
    restart: FloatArray,
    damping: float,
    start: FloatArray,
    here: Matrix,
    before: Matrix,
    widest: FloatArray,
    counts: IntArray,
) -> None:
    """As `begin_rows` for one query: arrays are (n_nodes,), and (1,) the last two."""
    factor = _factor(restart, rows, damping)
    widest[0], counts[0] = 0.0, -1
    for node in range(restart.shape[0]):
        place = rows.places[node]
        start[place] = factor * restart[node]
        here[place], before[place] = start[place], 0.0
        widest[0] = max(widest[0], start[place] * rows.inverses[place])


def _walk_one(
    rows: Rows,
    plan: Plan,
    start: FloatArray,
    here: Matrix,
    before: Matrix,
    widest: FloatArray,
    counts: IntArray,
    kept: NDArray[np.uint32],
    scores: FloatArray,
    found: NDArray[np.bool_],
) -> None:
    """As `walk_rows` for one query, to the bit, since every node's sum is its own; `found` is (1,)."""
    low, high, bars, above = np.empty(PARTS), np.empty(PARTS), np.zeros(1), np.empty((1, 1), dtype=np.int64)
    for step in range(plan.begin, plan.end):
        for part in numba.prange(PARTS):
            low[part], high[part] = _sweep_one(rows, start, here, before, plan, step, part)
        if plan.certain and step >= BEGIN:
            bars[0] = _bar(rows, plan, here, start, low, high, widest, kept, counts)
            if bars[0] < INFINITY:
                above[0, 0] = _copy_one(rows, here, start, bars[0], plan, scores)
                _update(found, bars, above, plan)
            if found[0]:
                return
        here, before = before, here
    if not plan.certain:
        above[0, 0] = _copy_one(rows, here, start, bars[0], plan, scores)
        _update(found, bars, above, plan)


walk_one = Kernel(_walk_one)
