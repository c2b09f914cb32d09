"""A mention table and a seed -> one of the same shape without information: the placebo of `mention_ppr` and `linear`.

These strategies read the corpus's own mention table, whatever the graph, so a shuffled graph does not reach them. Two
things are permuted. Pages swap their titles, so that a title leads to another page. What the passages mention is dealt
out again among the passages, titles and names separately: every passage mentions as many titles and names as
before, in the same sentences, every title and name is mentioned as often. See `knowledge.graph.perturbation` for why it
takes both.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from kg2rag.extraction.mentions.table import MentionTable

_ROUNDS = 100


def shuffled(table: MentionTable, seed: int = 0, *, titles: bool = True) -> MentionTable:
    """The placebo of a mention table.

    Parameters
    ----------
    seed : same table, same seed, same placebo.
    titles : False keeps every title on its own page. A question that names a title then still finds the page, by its
        title and not by a link, as a full-text search would.

    Notes
    -----
    A title or name in several sentences of a passage is dealt out as one. Where a passage draws the same one twice, it
    is exchanged; in a table so small that this cannot be avoided, both mentions stay.
    """
    dealing, paging = (np.random.default_rng([seed, part]) for part in range(2))
    pairs, owner = np.unique(np.stack([table.row, table.key], axis=1), axis=0, return_inverse=True)
    keys = pairs[:, 1].copy()
    for kind in (keys < table.n_titles, keys >= table.n_titles):
        at = np.flatnonzero(kind)
        keys[at] = _dealt(pairs[at, 0], keys[at], dealing)
    key = keys[owner.reshape(-1)].astype(np.int32)
    order = np.lexsort((key, table.sentence, table.row))
    page_key, page_row = (table.page_key, table.page_row) if not titles else _swapped_pages(table, paging)
    return replace(
        table,
        page_key=page_key,
        page_row=page_row,
        key=key[order],
        row=table.row[order],
        sentence=table.sentence[order],
    )


def _dealt(rows: NDArray[np.int32], keys: NDArray[np.int32], random: np.random.Generator) -> NDArray[np.int32]:
    """The keys in random order; a repeated one in a row changes places with another, drawn at random."""
    keys = random.permutation(keys)
    for _ in range(_ROUNDS):
        order = np.lexsort((keys, rows))
        again = (np.diff(rows[order]) == 0) & (np.diff(keys[order]) == 0)
        twice = order[1:][again]
        if not len(twice):
            break
        others = random.integers(len(keys), size=len(twice))
        for one, other in zip(twice.tolist(), others.tolist(), strict=True):
            keys[one], keys[other] = keys[other], keys[one]
    return keys


def _swapped_pages(table: MentionTable, random: np.random.Generator) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """The pages of the titles, sorted by key then row, after every page has taken the titles of another."""
    rows = np.unique(table.page_row)
    cycle = random.permutation(rows)
    taken = np.zeros(int(rows.max(initial=-1)) + 1, dtype=np.int32)
    taken[cycle] = np.roll(cycle, 1)
    page_row = taken[table.page_row]
    order = np.lexsort((page_row, table.page_key))
    return table.page_key[order], page_row[order]
