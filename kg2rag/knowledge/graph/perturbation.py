"""A knowledge graph and a seed -> a graph that is wrong in a known way: the control of every graph strategy.

`drop` and `add` measure how much an extractor's omissions and inventions cost. `shuffle` is the placebo. A graph can
help for two reasons: it has information on which passages belong together, or it merely adds candidates to the ranking.
The placebo adds as many candidates and has no information.

How it is shuffled matters. Permuting tails, or passages, triple by triple keeps each column's counts but breaks up what
belongs together: the twenty triples of one page would name twenty passages, components would merge into one, and a walk
would meet many *more* candidates than in the graph it is compared with. So the placebo is the same graph under other
labels, two relabellings at once:

- Entities swap their names (with types, descriptions and aliases). A name that a query links leads to another entity's
  place, and names that were joined no longer are, which matters for strategies that write the names of neighbours.
- Passages swap their places, in triples and in mentions. Entities lead to other passages, and passages that shared an
  entity no longer do. Without this, a strategy that walks from the passages of a dense search through their entities to
  other passages would be given the real graph.

Everything that can be counted without reading a label is equal to the last digit: sizes, components, degrees,
candidates. Labels are swapped among nodes of the same type and nearly the same degree, so that each name and each
passage keeps about its number of triples and mentions (except the few greatest hubs, which have no like), and none
keeps its place. What a strategy still gains from the placebo is not due to the contents of the graph.

Where each question searches its own candidates (setting "distractor"), the placebo's links mostly lead out of them, so
it has fewer candidates than the graph. Compare in the pooled setting.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from kg2rag.knowledge.graph.csr import Incidence, frozen, incidence
from kg2rag.knowledge.graph.data import Graph
from kg2rag.knowledge.graph.tables import TripleTable
from kg2rag.types.arrays import IntArray
from kg2rag.types.parameters import at_least, between, require

GROUP = 4  # labels swap within so many nodes of neighbouring degree
_ROUNDS = 100


def perturbed(graph: Graph, *, drop: float = 0.0, add: float = 0.0, shuffle: bool = False, seed: int = 0) -> Graph:
    """The graph less some triples, with some random ones, shuffled: in this order.

    Parameters
    ----------
    drop : share of the triples to be left out, in [0, 1]; the mentions that they made go with them. Entities stay.
    add : number of random triples as a share of the triples left, at least 0. Head, tail, relation, passage and
        weights are each drawn from the graph's own triples, so that hubs stay hubs and relations keep their shares;
        their passages mention both ends. None is a loop, or in the graph already.
    shuffle : swap labels, see above.
    seed : same graph, same seed, same result.

    Raises
    ------
    ValueError : a share out of range, or no room for so many new triples.
    """
    require("drop", drop, float, between(0, 1))
    require("add", add, float, at_least(0))
    # A stream each, so that the same triples are dropped whatever the other options.
    dropping, adding, shuffling = (np.random.default_rng([seed, part]) for part in range(3))
    if drop:
        size = graph.n_triples
        gone = dropping.choice(size, size=round(drop * size), replace=False)
        graph = _without(graph, np.sort(gone))
    if add:
        graph = _with_random(graph, round(add * graph.n_triples), adding)
    return _shuffled(graph, shuffling) if shuffle else graph


def _without(graph: Graph, gone: IntArray) -> Graph:
    kept = np.setdiff1d(np.arange(graph.n_triples), gone, assume_unique=True)
    return replace(
        graph,
        triples=graph.triples.take(kept),
        mentions=_counted(graph, graph.mentions, graph.triples.take(gone), -1),
        notes={**graph.notes, "triples dropped at random": len(gone)},
    )


def _counted(graph: Graph, mentions: Incidence, triples: TripleTable, sign: int) -> Incidence:
    """The mentions with those of some triples' ends added or taken away."""
    stated = triples.passages >= 0
    owners = np.concatenate([mentions.owners, triples.heads[stated], triples.tails[stated]])
    rows = np.concatenate([mentions.others, triples.passages[stated], triples.passages[stated]])
    counts = np.concatenate([mentions.counts, np.full(2 * int(stated.sum()), sign, dtype=np.int32)])
    summed = incidence(owners, rows, counts, graph.n_entities)
    left = summed.counts > 0
    return incidence(summed.owners[left], summed.others[left], summed.counts[left], graph.n_entities)


def _with_random(graph: Graph, size: int, random: np.random.Generator) -> Graph:
    if not size:
        return graph
    drawn = _random_triples(graph.triples, size, random)
    return replace(
        graph,
        triples=graph.triples.followed_by(drawn),
        mentions=_counted(graph, graph.mentions, drawn, 1),
        notes={**graph.notes, "random triples added": size},
    )


def _random_triples(table: TripleTable, size: int, random: np.random.Generator) -> TripleTable:
    known = set(zip(*(c.tolist() for c in (table.heads, table.relations, table.tails, table.passages)), strict=True))
    found: dict[tuple[int, int, int, int], int] = {}  # the triple whose weights it takes
    for _ in range(_ROUNDS):
        draws = random.integers(len(table), size=(5, size))
        parts = (table.heads, table.relations, table.tails, table.passages)
        rows = zip(*(part[draw].tolist() for part, draw in zip(parts, draws[:4], strict=True)), strict=True)
        for row, weights in zip(rows, draws[4].tolist(), strict=True):
            if row[0] != row[2] and row not in known and len(found) < size:
                found.setdefault(row, weights)
        if len(found) == size:
            break
    else:
        raise ValueError(
            f"There is no room for {size} random triples: in {_ROUNDS} draws of as many, {len(found)} were new. "
            "Add fewer."
        )
    codes = np.array(list(found), dtype=np.int32)
    weights = np.array(list(found.values()))
    heads, relations, tails, passages = (np.ascontiguousarray(column) for column in codes.T)
    return TripleTable(heads, relations, tails, passages, table.strengths[weights], table.confidences[weights])


def _shuffled(graph: Graph, random: np.random.Generator) -> Graph:
    table, mentions, size = graph.triples, graph.mentions, graph.n_entities
    out = np.bincount(table.heads, minlength=size)
    entities = np.arange(size, dtype=np.int64)
    for members in _by_type(graph):
        numbers = [graph.degrees[members], out[members], np.diff(mentions.indptr)[members]]
        entities[members] = members[swapped(numbers, random)]
    stated = np.bincount(table.passages[table.passages >= 0], minlength=graph.n_passages)
    passages = swapped([np.diff(graph.mentioned.indptr), stated], random)
    columns = replace(
        table,
        heads=frozen(entities[table.heads].astype(np.int32)),
        tails=frozen(entities[table.tails].astype(np.int32)),
        passages=frozen(np.where(table.passages >= 0, passages[table.passages], -1).astype(np.int32)),
    )
    return replace(
        graph,
        triples=columns,
        mentions=incidence(entities[mentions.owners], passages[mentions.others], mentions.counts, size),
        notes={**graph.notes, "entities and passages shuffled": size + graph.n_passages},
    )


def _by_type(graph: Graph) -> list[IntArray]:
    """The entities of each type, in order of appearance; those that are the only one of theirs together."""
    groups: dict[str, list[int]] = {}
    for code, type_ in enumerate(graph.types):
        groups.setdefault(type_, []).append(code)
    single = [code for group in groups.values() if len(group) == 1 for code in group]
    several = [group for group in groups.values() if len(group) > 1]
    return [np.array(group, dtype=np.int64) for group in (*several, single) if group]


def swapped(numbers: list[NDArray[np.integer]], random: np.random.Generator) -> IntArray:
    """(n,) a random permutation in which every member goes to the place of another with nearly the same numbers.

    Parameters
    ----------
    numbers : columns of (n,) numbers, the most important first.

    Notes
    -----
    Members are put in order by their numbers, equal ones at random, and swap places in a cycle with their neighbours,
    `GROUP` at a time. Only a single member stays where it is.
    """
    size = len(numbers[0])
    order = np.lexsort((random.permutation(size), *numbers[::-1]))
    places = np.arange(size, dtype=np.int64)
    # What is left over at the end joins the last group, for a group of one could not swap.
    ends = [*range(GROUP, size - GROUP + 1, GROUP), size]
    for start, end in pairwise([0, *ends]):
        cycle = random.permutation(order[start:end])
        places[cycle] = np.roll(cycle, 1)
    return places
