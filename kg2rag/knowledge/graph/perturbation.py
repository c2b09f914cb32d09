"""A knowledge graph and a seed -> a perturbed graph, the control of every graph strategy.

`drop` and `add` measure the cost of an extractor's omissions and inventions. `shuffle` is the
placebo: the same graph under other labels, without information on related passages
(docs/decisions/18). Entities swap their names (with types, descriptions and aliases), passages
their places in triples and mentions. Partners have the same type and nearly the same degree, except
for the few greatest hubs. Sizes, components and degrees are therefore equal, and each name and
passage keeps about its number of triples and mentions. Compare in the pooled setting: with
candidates per question (setting "distractor"), most links of the placebo lead outside them.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from kg2rag.extraction.mentions.table import MentionTable
from kg2rag.knowledge.graph.csr import incidence, run_starts
from kg2rag.knowledge.graph.tables import TripleTable, add_mentions
from kg2rag.types import IntArray, at_least, between, require

if TYPE_CHECKING:
    from kg2rag.knowledge.graph import KnowledgeGraph
GROUP = 4  # the number of nodes of neighbouring degree that swap labels
_ROUNDS = 100


def perturbed(
    graph: KnowledgeGraph,
    *,
    drop: float = 0.0,
    add: float = 0.0,
    shuffle: bool = False,
    seed: int = 0,
) -> KnowledgeGraph:
    """The graph after dropping triples, adding random ones, and shuffling, in this order.

    Parameters
    ----------
    drop : the share of triples to drop, in [0, 1], with their mentions. Entities remain.
    add : the number of random triples as a share of the remaining ones, at least 0. Head, tail, relation, passage
        and weights are each drawn from the graph's triples, so that degrees and relations keep their distribution.
        No new triple is a loop or in the graph.
    shuffle : swap labels, see above.
    seed : same graph, same seed, same result.

    ValueError: a share out of range, or no room for so many new triples.
    """
    require("drop", drop, float, between(0, 1))
    require("add", add, float, at_least(0))
    # A generator for each step: the dropped triples do not depend on the other options.
    generators = [np.random.default_rng([seed, step]) for step in range(3)]
    if drop:
        graph = _without_triples(graph, round(drop * graph.n_triples), generators[0])
    n_new = round(add * graph.n_triples)
    if n_new:
        graph = _with_random_triples(graph, n_new, generators[1])
    if shuffle:
        graph = _with_swapped_labels(graph, generators[2])
    return graph


def _without_triples(
    graph: KnowledgeGraph, count: int, random: np.random.Generator
) -> KnowledgeGraph:
    """The graph without `count` random triples."""
    dropped = np.sort(random.choice(graph.n_triples, size=count, replace=False))
    remaining = np.setdiff1d(np.arange(graph.n_triples), dropped, assume_unique=True)
    return replace(
        graph,
        triples=graph.triples.take(remaining),
        mentions=add_mentions(graph.mentions, graph.triples.take(dropped), -1),
        notes={**graph.notes, "triples dropped at random": len(dropped)},
    )


def _with_random_triples(
    graph: KnowledgeGraph, count: int, random: np.random.Generator
) -> KnowledgeGraph:
    """The graph with `count` new random triples."""
    new = _random_triples(graph.triples, count, random)
    columns = zip(vars(graph.triples).values(), vars(new).values(), strict=True)
    return replace(
        graph,
        triples=TripleTable(*map(np.concatenate, columns)),
        mentions=add_mentions(graph.mentions, new, 1),
        notes={**graph.notes, "random triples added": len(new)},
    )


def _random_triples(
    table: TripleTable, size: int, random: np.random.Generator
) -> TripleTable:
    """`size` triples that a table lacks, their parts drawn independently from its triples."""
    parts = (table.heads, table.relations, table.tails, table.passages)
    existing = set(zip(*(part.tolist() for part in parts), strict=True))
    # New triple -> the index of the triple that it has its weights from.
    sources: dict[tuple[int, ...], int] = {}
    for _ in range(_ROUNDS):
        if len(sources) == size:
            break
        draws = random.integers(len(table), size=(5, size))
        columns = [
            part[draw].tolist() for part, draw in zip(parts, draws[:4], strict=True)
        ]
        for *triple, source in zip(*columns, draws[4].tolist(), strict=True):
            is_new = triple[0] != triple[2] and tuple(triple) not in existing
            if is_new and len(sources) < size:
                sources.setdefault(tuple(triple), source)
    if len(sources) < size:
        raise ValueError(
            f"There is no room for {size} random triples: in {_ROUNDS} draws of as many, {len(sources)} were new. "
            "Add fewer."
        )
    weights = np.array(list(sources.values()))
    columns_of_new = np.array(list(sources), dtype=np.int32).T
    heads, relations, tails, passages = map(np.ascontiguousarray, columns_of_new)
    return TripleTable(
        heads=heads,
        relations=relations,
        tails=tails,
        passages=passages,
        strengths=table.strengths[weights],
        confidences=table.confidences[weights],
        # A description names the original ends.
        descriptions=np.zeros(size, dtype=np.int32),
    )


def _with_swapped_labels(
    graph: KnowledgeGraph, random: np.random.Generator
) -> KnowledgeGraph:
    """The graph with entities and passages swapped in its triples and mentions.

    Entities swap with entities of the same type and similar degree, passages with passages that
    state and mention similarly often.
    """
    import pandas as pd

    table = graph.triples
    mentions = graph.mentions
    size = graph.n_entities
    out_degrees = np.bincount(table.heads, minlength=size)
    entities = np.arange(size, dtype=np.int32)
    kinds = pd.factorize(np.array(graph.types, dtype=object))[0]
    # Entities with unique types swap with each other.
    kinds[np.bincount(kinds)[kinds] == 1] = size
    for members in pd.Series(kinds).groupby(kinds).indices.values():
        numbers = [
            graph.degrees[members],
            out_degrees[members],
            np.diff(mentions.indptr)[members],
        ]
        entities[members] = members[swap_labels(numbers, random)]
    stated = np.bincount(
        table.passages[table.passages >= 0], minlength=graph.n_passages
    )
    passages = swap_labels([np.diff(graph.mentioned.indptr), stated], random).astype(
        np.int32
    )
    triples = replace(
        table,
        heads=entities[table.heads],
        tails=entities[table.tails],
        passages=np.where(table.passages >= 0, passages[table.passages], -1).astype(
            np.int32
        ),
        descriptions=np.zeros(len(table), dtype=np.int32),
    )
    return replace(
        graph,
        triples=triples,
        triple_descriptions=("",),
        mentions=incidence(
            entities[mentions.owners], passages[mentions.others], mentions.counts, size
        ),
        notes={
            **graph.notes,
            "entities and passages shuffled": size + graph.n_passages,
        },
    )


def swap_labels(
    numbers: list[NDArray[np.integer]], random: np.random.Generator
) -> IntArray:
    """A random permutation, (n,), that swaps members with nearly the same numbers.

    Members are sorted by `numbers`, columns of (n,), the most important first, with random ties.
    Groups of `GROUP` neighbours swap in a cycle. Only a single member keeps its label.
    """
    size = len(numbers[0])
    order = np.lexsort((random.permutation(size), *numbers[::-1]))
    labels = np.arange(size, dtype=np.int64)
    # The remainder joins the last group, since a group of one cannot swap.
    ends = [*range(GROUP, size - GROUP + 1, GROUP), size]
    for start, end in pairwise([0, *ends]):
        cycle = random.permutation(order[start:end])
        labels[cycle] = np.roll(cycle, 1)
    return labels


def shuffled_mentions(table: MentionTable, seed: int = 0) -> MentionTable:
    """The placebo of a mention table, for strategies that read it instead of the graph.

    Pages swap their titles. Mentions are dealt again among the passages, titles and names
    separately: every passage keeps its number of mentions and their sentences, every title and name
    its frequency. Several sentences of a passage with one name are dealt together. Duplicates in a
    passage are exchanged, unless the table is too small. The same seed gives the same placebo.
    """
    key_generator, page_generator = (
        np.random.default_rng([seed, step]) for step in range(2)
    )
    pairs, owner = np.unique(
        np.stack([table.row, table.key], axis=1), axis=0, return_inverse=True
    )
    keys = pairs[:, 1].copy()
    for kind in (keys < table.n_titles, keys >= table.n_titles):
        members = np.flatnonzero(kind)
        keys[members] = _shuffled_keys(pairs[members, 0], keys[members], key_generator)
    key = keys[owner.reshape(-1)].astype(np.int32)
    order = np.lexsort((key, table.sentence, table.row))
    page_row = _swapped_pages(table, page_generator)
    pages = np.lexsort((page_row, table.page_key))
    return replace(
        table,
        page_key=table.page_key[pages],
        page_row=page_row[pages],
        key=key[order],
        row=table.row[order],
        sentence=table.sentence[order],
    )


def _swapped_pages(
    table: MentionTable, random: np.random.Generator
) -> NDArray[np.int32]:
    """The row of each page in the table after the pages swapped their titles in one cycle."""
    cycle = random.permutation(np.unique(table.page_row))
    row_of = np.zeros(int(cycle.max(initial=-1)) + 1, dtype=np.int32)
    row_of[cycle] = np.roll(cycle, 1)
    return row_of[table.page_row]


def _shuffled_keys(
    rows: NDArray[np.int32], keys: NDArray[np.int32], random: np.random.Generator
) -> NDArray[np.int32]:
    """The keys in random order; duplicates in a row are exchanged with random partners."""
    keys = random.permutation(keys)
    for _ in range(_ROUNDS):
        order = np.lexsort((keys, rows))
        repeated = order[~run_starts(rows[order], keys[order])]
        if not len(repeated):
            break
        partners = random.integers(len(keys), size=len(repeated))
        for position, partner in zip(repeated.tolist(), partners.tolist(), strict=True):
            keys[position], keys[partner] = keys[partner], keys[position]
    return keys
