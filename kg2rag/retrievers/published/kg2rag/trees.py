"""Spanning trees of triples, scored by a reranker -> the passages that they select, in order.

Eq. 8 of Zhu et al., "Knowledge Graph-Guided RAG", NAACL 2025; `paper` and `official` share it.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from kg2rag.knowledge.graph.paths import Tree
from kg2rag.types import FloatArray, IntArray, Notes, Paths, Ranking, Triple, rescored

Chosen = dict[int, "TreeChoice"]  # corpus row -> the choice that selected it


class TreeChoice(NamedTuple):
    """The choice of a passage by a tree.

    Attributes
    ----------
    tree : the index of the tree.
    rank, score : the rank, from 1, and the score of the tree.
    position : the position of the passage's first edge in the tree.
    """

    tree: int
    rank: float
    score: float
    position: int


def select_passages(
    trees: Sequence[Iterable[tuple[int, int]]],
    scores: FloatArray,
    context: int,
    *,
    whole: bool,
) -> Chosen:
    """Corpus row -> its choice, for at most `context` passages, best tree first; Eq. 8.

    A tree with more new passages than there are free places gives its first ones; if `whole`, it gives
    none and ends the choice.

    `trees` : for each tree, the (position, row) of its edges, in the order in which it gives passages.
    `scores` : (n_trees,).
    """
    chosen: Chosen = {}
    for rank, tree in enumerate(np.argsort(-scores, kind="stable").tolist(), start=1):
        new: Chosen = {}
        for position, row in trees[tree]:
            if row not in chosen:
                choice = TreeChoice(tree, rank, float(scores[tree]), position)
                new.setdefault(row, choice)
        n_free = context - len(chosen)
        if whole and len(new) > n_free:
            break
        chosen.update(list(new.items())[:n_free])
    return chosen


UNCHOSEN = TreeChoice(-1, math.nan, math.nan, -1)  # of a passage without a tree


def triplets(facts: Iterable[Triple], limit: int | None) -> str:
    """The triplet representation of a tree, cut to `limit` characters."""
    return " ".join(f"<{fact.head}, {fact.relation}, {fact.tail}>" for fact in facts)[
        :limit
    ]


@dataclass(frozen=True)
class TreeNotes(Notes):
    """Notes: the number of trees, and the number of hits without a tree."""

    trees: int = 0
    filled: int = 0


def rank_selected(
    ranking: Ranking,
    chosen: Chosen,
    paths: Paths,
    notes: TreeNotes,
    **parts: FloatArray,
) -> Ranking:
    """The chosen hits of a ranking, in the order of `chosen`, with the score 1 / place.

    `parts` : further score parts, (n_chosen,) each.
    """
    rows = np.array(list(chosen), dtype=np.int64)
    places = np.arange(1, len(chosen) + 1, dtype=np.float64)
    ranks = np.array([choice.rank for choice in chosen.values()], dtype=np.float64)
    scores = np.array([choice.score for choice in chosen.values()], dtype=np.float64)
    return rescored(
        ranking,
        rows,
        1.0 / places,
        max(len(rows), 1),
        formula="1 / place",
        score_parts={"place": places, **parts, "tree": ranks, "reranker": scores},
        paths=paths,
        notes=notes,
    )


class Forest(NamedTuple):
    """The spanning trees of a query, not scored yet.

    Attributes
    ----------
    cosines : (n_hits,) the cosine of each hit.
    edges : (n_edges,) the triples of the graph, by index, heaviest first; trees refer to positions in it.
    rows : (n_edges,) the passage of each edge.
    trees : the trees.
    texts : the triplet representation of each tree.
    """

    cosines: FloatArray
    edges: IntArray
    rows: IntArray
    trees: list[Tree]
    texts: list[str]

    def path(self, chosen: Chosen, row: int) -> Iterable[int]:
        """The triples from the root of a passage's tree to its first triple there; none without a tree."""
        if row not in chosen:
            return ()
        positions = self.trees[chosen[row].tree].path(chosen[row].position)
        return self.edges[positions].tolist()  # type: ignore[no-any-return]
