"""The steps of one query's walk, compiled: sparse frontiers over arrays that are used again and again.

A node costs something only once the walk reaches it, and what a walk has written is undone node by node: the cost
follows what is touched, not the graph. Frontiers ascend, so that every sum has one order of additions.

A whole walk that has reached a good part of the graph goes on in sweeps over all edges in one run, without a question
asked at each of them: to the same bits, since what is not reached adds 0, in a third of the time. It is given its
cosines with all sentences, which costs what they are, as a dense search does, however few the walk comes to.
"""

from __future__ import annotations

import numba
import numpy as np
from numpy.typing import NDArray

from kg2rag.compute import Kernel
from kg2rag.knowledge.graph.walk_weights import (
    FRESH,
    HEARD,
    REACHED,
    Asked,
    Codes,
    Edges,
    Flags,
    Scratch,
    Settings,
    cosine,
)
from kg2rag.types import FloatArray, IntArray, Matrix

ROUNDING = 1e-12  # more than the sums of a walk round by
FLOORS = (1e-5, 1e-6, 1e-7, 1e-8, 0.0)  # of one attempt after another, where the first nodes are to be certain
DENSE = 16  # where more than 1 / DENSE of the nodes are new, or reached, a sweep over all is quicker than one by one


@numba.njit(cache=True)
def weigh(
    first: int,
    last: int,
    targets: Codes,
    weights: FloatArray,
    sentence_ptr: NDArray[np.uint64],
    sentences: Codes,
    vectors: Matrix,
    vector: Matrix,
    cosines: FloatArray,
    temperature: float,
    n_masked: int,
    open_: Flags,
    known: Flags,
    fresh: Codes,
    transition: FloatArray,
    fits: FloatArray,
    factors: FloatArray,
    heard: Codes,
    counts: IntArray,
) -> float:
    """Fill in the weights of a node's edges and note which nodes are new; the sum of the weights.

    An edge weighs exp((cos - 1) / temperature) of its best sentence, 1 where it has none, times its own weight; 0 where
    it leads to one of the first `n_masked` nodes that is not open.
    """
    total, lowest = 0.0, np.exp(-2.0 / temperature)
    for edge in range(first, last):
        target = targets[edge]
        transition[edge] = 0.0
        if target < n_masked and not open_[target]:
            continue
        begins, ends, highest, factor = sentence_ptr[edge], sentence_ptr[edge + 1], -1.0, 1.0
        if begins < ends:
            factor = lowest  # float32 cosines may be just below -1
        for at in range(begins, ends):
            sentence = sentences[at]
            if np.isnan(factors[sentence]):
                fit = cosines[sentence] if cosines.shape[0] else cosine(vectors[sentence], vector)
                fits[sentence], factors[sentence] = fit, np.exp((fit - 1.0) / temperature)
                heard[counts[HEARD]] = sentence
                counts[HEARD] += 1
            if fits[sentence] > highest:
                highest, factor = fits[sentence], factors[sentence]
        transition[edge] = weights[edge] * factor
        total += transition[edge]
        if not known[target]:
            known[target] = True
            fresh[counts[FRESH]] = target
            counts[FRESH] += 1
    return total


@numba.njit(cache=True)
def leave(
    edges: Edges,
    asked: Asked,
    settings: Settings,
    floor: float,
    noting: bool,
    here: FloatArray,
    there: FloatArray,
    scratch: Scratch,
    row: int,
) -> float:
    """One step: every node that is reached sends its share along its edges; what had no way out.

    Arrays are taken out of their tuples here, once a step: once a node, counting references to them costs more than all
    else. `noting`: note the edge that brings most into each node.
    """
    indptr, targets, weights = edges.indptr, edges.targets, edges.weights
    sentence_ptr, sentences, vectors = edges.sentence_ptr, edges.sentences, edges.vectors
    vector, cosines, n_masked = asked.vector, asked.cosines, 0 if asked.free else asked.n_ranked
    leaving, frontier, transition = scratch.leaving[row], scratch.frontier[row], scratch.transition[row]
    most, via, counts = scratch.most[row], scratch.via[row], scratch.counts[row]
    open_, known, fresh = scratch.open[row], scratch.known[row], scratch.fresh[row]
    fits, factors, heard = scratch.fits[row], scratch.factors[row], scratch.heard[row]
    damping, temperature, stuck = settings.damping, settings.temperature, 0.0
    for at in range(counts[REACHED]):
        node = frontier[at]
        first, last, held = indptr[node], indptr[node + 1], here[node]
        here[node] = 0.0
        if held <= floor * (last - first):
            continue
        if leaving[node] < 0.0:
            leaving[node] = weigh(
                first, last, targets, weights, sentence_ptr, sentences, vectors, vector, cosines, temperature, n_masked,
                open_, known, fresh, transition, fits, factors, heard, counts,
            )  # fmt: skip
        if leaving[node] == 0.0:
            stuck += held
            continue
        share = damping * held / leaving[node]
        if noting:
            for edge in range(first, last):
                flow, target = share * transition[edge], targets[edge]
                there[target] += flow
                if flow > most[target]:
                    most[target], via[target] = flow, edge
        else:
            for edge in range(first, last):
                there[targets[edge]] += share * transition[edge]
    return stuck


@numba.njit(cache=True)
def hear_all(asked: Asked, temperature: float, scratch: Scratch, row: int) -> None:
    """Take the cosines of all sentences, so that no edge has to ask for one."""
    fits, factors, heard = scratch.fits[row], scratch.factors[row], scratch.heard[row]
    for sentence in range(asked.cosines.shape[0]):
        fits[sentence] = asked.cosines[sentence]
        factors[sentence] = np.exp((fits[sentence] - 1.0) / temperature)
        heard[sentence] = sentence
    scratch.counts[row, HEARD] = asked.cosines.shape[0]


@numba.njit(cache=True)
def reach_all(edges: Edges, temperature: float, scratch: Scratch, row: int) -> None:
    """Take all nodes into the frontier, also those that hold nothing, and `weigh` what they have of edges, to the bit.

    For walks that may enter all nodes and have heard all sentences.
    """
    indptr, weights, sentence_ptr, sentences = edges.indptr, edges.weights, edges.sentence_ptr, edges.sentences
    leaving, transition, frontier = scratch.leaving[row], scratch.transition[row], scratch.frontier[row]
    fits, factors, lowest = scratch.fits[row], scratch.factors[row], np.exp(-2.0 / temperature)
    for node in range(leaving.shape[0]):
        frontier[node] = node
        if leaving[node] >= 0.0:
            continue
        total = 0.0
        for edge in range(indptr[node], indptr[node + 1]):
            begins, ends, highest, factor = sentence_ptr[edge], sentence_ptr[edge + 1], -1.0, 1.0
            if begins < ends:
                factor = lowest
            for at in range(begins, ends):
                sentence = sentences[at]
                if fits[sentence] > highest:
                    highest, factor = fits[sentence], factors[sentence]
            transition[edge] = weights[edge] * factor
            total += transition[edge]
        leaving[node] = total
    scratch.known[row, :] = True
    scratch.counts[row, REACHED] = leaving.shape[0]


@numba.njit(cache=True)
def leave_all(edges: Edges, damping: float, here: FloatArray, there: FloatArray, scratch: Scratch, row: int) -> float:
    """`leave`, to the bit, after `reach_all`: edges come in one run, in the same order; many of them bring 0."""
    sources, targets, transition = edges.sources, edges.targets, scratch.transition[row]
    leaving, shares, stuck = scratch.leaving[row], scratch.shares[row], 0.0
    for node in range(here.shape[0]):
        if leaving[node] > 0.0:
            shares[node] = damping * here[node] / leaving[node]
        else:
            shares[node] = 0.0
            stuck += here[node]
        here[node] = 0.0
    for edge in range(targets.shape[0]):
        there[targets[edge]] += shares[sources[edge]] * transition[edge]
    return stuck


@numba.njit(cache=True)
def merge(scratch: Scratch, row: int) -> None:
    """Take the nodes that were found in a step into the frontier."""
    counts, known, frontier = scratch.counts[row], scratch.known[row], scratch.frontier[row]
    n, found, m = counts[REACHED], counts[FRESH], 0
    if found == 0:
        return
    if found * DENSE > known.shape[0]:
        for node in range(known.shape[0]):
            if known[node]:
                frontier[m] = node
                m += 1
    else:
        new, merged, a, b = np.sort(scratch.fresh[row, :found]), scratch.merged[row], 0, 0
        for m in range(n + found):
            if b == found or (a < n and frontier[a] < new[b]):
                merged[m] = frontier[a]
                a += 1
            else:
                merged[m] = new[b]
                b += 1
        for m in range(n + found):
            frontier[m] = merged[m]
    counts[REACHED], counts[FRESH] = n + found, 0


@numba.njit(cache=True)
def begin(asked: Asked, scratch: Scratch, row: int) -> float:
    """The first frontier: the nodes where the walk starts; the sum of their weights."""
    total = 0.0
    for at in range(asked.nodes.shape[0]):
        total += asked.weights[at]
        scratch.known[row, asked.nodes[at]] = True
        scratch.frontier[row, at] = asked.nodes[at]
    scratch.counts[row, REACHED] = asked.nodes.shape[0]
    return total


@numba.njit(cache=True)
def attempt(
    edges: Edges, asked: Asked, settings: Settings, floor: float, total: float, scratch: Scratch, row: int
) -> FloatArray:
    """The steps of a walk in which no node with at most `floor` for each edge is left; (n_nodes,) the shares.

    What an attempt before has weighed and found serves this one too.
    """
    here: FloatArray = scratch.here[row]
    there = scratch.there[row]
    for at in range(asked.nodes.shape[0]):
        here[asked.nodes[at]] = asked.weights[at] / total
    all_heard, all_reached = asked.cosines.shape[0] > 0, False
    if all_heard:
        hear_all(asked, settings.temperature, scratch, row)
    for step in range(settings.iterations):
        noting = step == settings.iterations - 1
        if all_heard and not all_reached and scratch.counts[row, REACHED] * DENSE > here.shape[0]:
            all_reached = True
            reach_all(edges, settings.temperature, scratch, row)
        if all_reached and not noting:
            stuck = leave_all(edges, settings.damping, here, there, scratch, row)
        else:
            stuck = leave(edges, asked, settings, floor, noting, here, there, scratch, row)
            merge(scratch, row)
        here, there = there, here
        back = 1.0 - settings.damping + settings.damping * stuck
        for at in range(asked.nodes.shape[0]):
            here[asked.nodes[at]] += back * (asked.weights[at] / total)
    return here


@numba.njit(cache=True)
def missing(here: FloatArray, reached: Codes) -> float:
    """What the shares lack to sum 1."""
    total = 0.0
    for node in reached:
        total += here[node]
    return max(1.0 - total, 0.0)


@numba.njit(cache=True)
def is_certain(here: FloatArray, reached: Codes, n_ranked: int, wanted: int, left_out: float) -> bool:
    """Whether each of the first `wanted` ranked nodes leads the next by more than `left_out`."""
    best = np.zeros(wanted + 1)  # ascending; what is not reached has 0
    for node in reached:
        share = here[node]
        if node >= n_ranked or share <= best[0]:
            continue
        at = 0
        while at < wanted and best[at + 1] < share:
            best[at] = best[at + 1]
            at += 1
        best[at] = share
    lead = best[1] - best[0]
    for at in range(1, wanted):
        lead = min(lead, best[at + 1] - best[at])
    return bool(lead > left_out)


@numba.njit(cache=True)
def walk(
    edges: Edges,
    asked: Asked,
    settings: Settings,
    scratch: Scratch,
    row: int,
    found: tuple[IntArray, FloatArray, IntArray],
) -> tuple[int, float]:
    """One walk into `found`: nodes, shares and edges; how many there are, and what the walk has left out."""
    total = begin(asked, scratch, row)
    if total <= 0.0:
        forget(scratch, row)
        return 0, 0.0
    for each in FLOORS:
        last = each == 0.0
        if not (last or settings.certain):
            continue
        floor = settings.floor if last else each
        here, reached = attempt(edges, asked, settings, floor, total, scratch, row), scratch.frontier[row]
        reached = reached[: scratch.counts[row, REACHED]]
        left_out = missing(here, reached) if floor > 0.0 else 0.0
        if last or is_certain(here, reached, asked.n_ranked, settings.certain, left_out + ROUNDING):
            break
        for node in reached:
            here[node], scratch.most[row, node] = 0.0, 0.0
    m = 0
    for node in reached:
        if here[node] > 0.0:
            found[0][m], found[1][m], found[2][m] = node, here[node], scratch.via[row, node]
            m += 1
        here[node] = 0.0
    forget(scratch, row)
    return m, left_out


@numba.njit(cache=True)
def forget(scratch: Scratch, row: int) -> None:
    """Undo what a walk has written."""
    for at in range(scratch.counts[row, REACHED]):
        node = scratch.frontier[row, at]
        scratch.leaving[row, node], scratch.most[row, node] = -1.0, 0.0
        scratch.via[row, node], scratch.known[row, node] = -1, False
    for at in range(scratch.counts[row, HEARD]):
        scratch.factors[row, scratch.heard[row, at]] = np.nan
    scratch.counts[row, REACHED], scratch.counts[row, HEARD] = 0, 0


@numba.njit(cache=True)
def walk_among(
    allowed: IntArray,
    edges: Edges,
    asked: Asked,
    settings: Settings,
    scratch: Scratch,
    row: int,
    found: tuple[IntArray, FloatArray, IntArray],
) -> tuple[int, float]:
    """`walk` of a query that may enter these ranked nodes alone, unless it is `free`.

    A function of its own: in the body of a parallel loop numba drops the writes to `open`.
    """
    for node in allowed:
        scratch.open[row, node] = True
    count, left_out = walk(edges, asked, settings, scratch, row, found)
    for node in allowed:
        scratch.open[row, node] = False
    return count, left_out


@Kernel
def walk_each(
    edges: Edges,
    queries: Matrix,
    starts: tuple[IntArray, IntArray, FloatArray],
    cosines: FloatArray,
    masks: tuple[IntArray, IntArray, Flags],
    n_ranked: int,
    settings: Settings,
    scratch: Scratch,
    found: tuple[IntArray, FloatArray, IntArray],
) -> tuple[IntArray, FloatArray]:
    """`walk` for each query, as many at once as `scratch` has rows.

    Parameters
    ----------
    starts, masks : (offsets, nodes, weights) of all queries' starts; (offsets, rows, free) of their candidates.
    cosines : (n_queries, n_sentences), or (n_queries, 0) where they are to be worked out as they are needed.
    found : (n_queries, n_nodes) each.

    Returns
    -------
    How many entries of each row of `found` count, and what each walk has left out, (n_queries,) each.
    """
    counts, left_out = np.zeros(queries.shape[0], dtype=np.int64), np.zeros(queries.shape[0])
    rows = scratch.here.shape[0]
    for row in numba.prange(rows):
        for i in range(row, queries.shape[0], rows):
            begins, ends = starts[0][i], starts[0][i + 1]
            asked = Asked(queries[i], starts[1][begins:ends], starts[2][begins:ends], cosines[i], n_ranked, masks[2][i])
            allowed = masks[1][masks[0][i] : masks[0][i + 1]]
            counts[i], left_out[i] = walk_among(
                allowed, edges, asked, settings, scratch, row, (found[0][i], found[1][i], found[2][i])
            )
    return counts, left_out
