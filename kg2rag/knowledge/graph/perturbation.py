"""A knowledge graph and a seed -> a graph that is wrong in a known way: the control of every graph strategy.

`drop` and `add` measure how much an extractor's omissions and inventions cost. `shuffle` is the placebo: the same graph
under other labels, with no information on which passages belong together (docs/decisions/18). Entities swap their names
(with types, descriptions and aliases), passages their places in triples and mentions, each with one of the same type
and nearly the same degree (except the few greatest hubs, which have no like). So sizes, components and degrees are
equal, and each name and passage keeps about its number of triples and mentions. Where each question searches its own
candidates (setting "distractor"), the placebo's links mostly lead out of them: compare in the pooled setting.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from kg2rag.extraction.mentions.table import MentionTable
from kg2rag.knowledge.graph.csr import incidence, run_starts
from kg2rag.knowledge.graph.tables import TripleTable, counted
from kg2rag.types import IntArray, at_least, between, require

if TYPE_CHECKING:
    from kg2rag.knowledge.graph import KnowledgeGraph
GROUP = 4  # labels swap within so many nodes of neighbouring degree
_ROUNDS = 100


def perturbed(
    graph: KnowledgeGraph, *, drop: float = 0.0, add: float = 0.0, shuffle: bool = False, seed: int = 0
) -> KnowledgeGraph:
    """The graph less some triples, with some random ones, shuffled: in this order.

    Parameters
    ----------
    drop : share of the triples to be left out, in [0, 1]; the mentions that they made go with them. Entities stay.
    add : number of random triples as a share of the triples left, at least 0. Head, tail, relation, passage and
        weights are each drawn from the graph's own triples, so that hubs stay hubs and relations keep their shares;
        their passages mention both ends. None is a loop, or in the graph already.
    shuffle : swap labels, see above.
    seed : same graph, same seed, same result.

    ValueError: a share out of range, or no room for so many new triples.
    """
    require("drop", drop, float, between(0, 1))
    require("add", add, float, at_least(0))
    # A stream each, so that the same triples are dropped whatever the other options.
    dropping, adding, shuffling = (np.random.default_rng([seed, part]) for part in range(3))
    if drop:
        size = graph.n_triples
        gone = np.sort(dropping.choice(size, size=round(drop * size), replace=False))
        left = graph.triples.take(np.setdiff1d(np.arange(size), gone, assume_unique=True))
        mentions = counted(graph.mentions, graph.triples.take(gone), -1)
        notes = {**graph.notes, "triples dropped at random": len(gone)}
        graph = replace(graph, triples=left, mentions=mentions, notes=notes)
    if round(add * graph.n_triples):
        drawn = _random_triples(graph.triples, round(add * graph.n_triples), adding)
        both = zip(vars(graph.triples).values(), vars(drawn).values(), strict=True)
        every, mentions = TripleTable(*map(np.concatenate, both)), counted(graph.mentions, drawn, 1)
        notes = {**graph.notes, "random triples added": len(drawn)}
        graph = replace(graph, triples=every, mentions=mentions, notes=notes)
    return _shuffled(graph, shuffling) if shuffle else graph


def _random_triples(table: TripleTable, size: int, random: np.random.Generator) -> TripleTable:
    parts = (table.heads, table.relations, table.tails, table.passages)
    known = set(zip(*(part.tolist() for part in parts), strict=True))
    found: dict[tuple[int, ...], int] = {}  # the triple whose weights it takes
    for _ in range(_ROUNDS):
        draws = random.integers(len(table), size=(5, size))
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
    weights = np.array(list(found.values()))
    codes, weighed = np.array(list(found), dtype=np.int32).T, (table.strengths[weights], table.confidences[weights])
    columns: Any = (*codes, *weighed, np.zeros(size, dtype=np.int32))  # a description names the ends it was written of
    return TripleTable(*map(np.ascontiguousarray, columns))


def _shuffled(graph: KnowledgeGraph, random: np.random.Generator) -> KnowledgeGraph:
    import pandas as pd

    table, mentions, size = graph.triples, graph.mentions, graph.n_entities
    out = np.bincount(table.heads, minlength=size)
    entities = np.arange(size, dtype=np.int32)
    kinds = pd.factorize(np.array(graph.types, dtype=object))[0]
    kinds[np.bincount(kinds)[kinds] == 1] = size  # those that are the only one of their type swap with each other
    for members in pd.Series(kinds).groupby(kinds).indices.values():
        numbers = [graph.degrees[members], out[members], np.diff(mentions.indptr)[members]]
        entities[members] = members[swapped(numbers, random)]
    stated = np.bincount(table.passages[table.passages >= 0], minlength=graph.n_passages)
    passages = swapped([np.diff(graph.mentioned.indptr), stated], random).astype(np.int32)
    rows = np.where(table.passages >= 0, passages[table.passages], -1).astype(np.int32)
    ends: dict[str, Any] = {"heads": entities[table.heads], "tails": entities[table.tails]}
    return replace(
        graph,
        triples=replace(table, **ends, passages=rows, descriptions=np.zeros(len(table), dtype=np.int32)),
        triple_descriptions=("",),
        mentions=incidence(entities[mentions.owners], passages[mentions.others], mentions.counts, size),
        notes={**graph.notes, "entities and passages shuffled": size + graph.n_passages},
    )


def swapped(numbers: list[NDArray[np.integer]], random: np.random.Generator) -> IntArray:
    """(n,) a random permutation in which every member goes to the place of another with nearly the same numbers.

    Members are ordered by `numbers`, columns of (n,), the most important first, equal ones at random; they swap places
    in a cycle with their neighbours, `GROUP` at a time. Only a single member stays where it is.
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


def shuffled_mentions(table: MentionTable, seed: int = 0) -> MentionTable:
    """The placebo of a mention table, for the strategies that read it whatever the graph; same seed, same placebo.

    Pages swap their titles. What the passages mention is dealt out again among them, titles and names separately: every
    passage mentions as many as before, in the same sentences, and every title and name is mentioned as often. One in
    several sentences of a passage is dealt out as one. Where a passage draws the same one twice, it is exchanged,
    unless the table is too small for that.
    """
    dealing, paging = (np.random.default_rng([seed, part]) for part in range(2))
    pairs, owner = np.unique(np.stack([table.row, table.key], axis=1), axis=0, return_inverse=True)
    keys = pairs[:, 1].copy()
    for kind in (keys < table.n_titles, keys >= table.n_titles):
        at = np.flatnonzero(kind)
        keys[at] = _dealt(pairs[at, 0], keys[at], dealing)
    key = keys[owner.reshape(-1)].astype(np.int32)
    order = np.lexsort((key, table.sentence, table.row))
    cycle = paging.permutation(np.unique(table.page_row))
    taken = np.zeros(int(cycle.max(initial=-1)) + 1, dtype=np.int32)
    taken[cycle] = np.roll(cycle, 1)
    page_row = taken[table.page_row]
    pages = np.lexsort((page_row, table.page_key))
    paged: dict[str, Any] = {"page_key": table.page_key[pages], "page_row": page_row[pages]}
    return replace(table, **paged, key=key[order], row=table.row[order], sentence=table.sentence[order])


def _dealt(rows: NDArray[np.int32], keys: NDArray[np.int32], random: np.random.Generator) -> NDArray[np.int32]:
    """The keys in random order; a repeated one in a row changes places with another, drawn at random."""
    keys = random.permutation(keys)
    for _ in range(_ROUNDS):
        order = np.lexsort((keys, rows))
        twice = order[~run_starts(rows[order], keys[order])]
        if not len(twice):
            break
        others = random.integers(len(keys), size=len(twice))
        for one, other in zip(twice.tolist(), others.tolist(), strict=True):
            keys[one], keys[other] = keys[other], keys[one]
    return keys
