"""A ranking -> the spanning trees of its passages' triples, and what a reranker reads of each.

Zhu et al., "Knowledge Graph-Guided RAG", NAACL 2025, Sec. 2.3: every triple is an edge that weighs as much as its
passage's cosine (Eq. 6); each component keeps its maximum spanning tree (Eq. 7), written as <head, relation, tail> in
depth-first order from the heaviest edge (Eq. 8). Ours: of edges of equal weight the one of the earlier passage, then
the earlier triple, comes first.
"""

from __future__ import annotations

from typing import NamedTuple
from weakref import WeakKeyDictionary

import numpy as np

from kg2rag.knowledge.base import KnowledgeBase
from kg2rag.knowledge.graph.forest import Tree, spanning_trees
from kg2rag.knowledge.graph.reach import stated_by
from kg2rag.retrievers.kg2rag.expand import SUBGRAPH
from kg2rag.types.arrays import FloatArray, IntArray, Matrix
from kg2rag.types.passages import Query
from kg2rag.types.rankings import Ranking


class TreeChoice(NamedTuple):
    """A passage that a tree gave: the tree's number and rank (from 1), and the position of the passage's first edge."""

    tree: int
    rank: int
    position: int


class Forest(NamedTuple):
    """What is known of a query before the reranker scores.

    Attributes
    ----------
    cosines : (n_hits,) of the ranking's passages.
    edges : triple codes, heaviest first; the trees' edge numbers point into it. `rows` : the passage of each.
    texts : the triplet representation of each tree.
    """

    cosines: FloatArray
    edges: IntArray
    rows: IntArray
    trees: list[Tree]
    texts: list[str]

    def path(self, choice: TreeChoice) -> list[int]:
        """The triples from the root of a passage's tree to its own."""
        codes: list[int] = self.edges[self.trees[choice.tree].path(choice.position)].tolist()
        return codes


_FORESTS: WeakKeyDictionary[Ranking, dict[tuple[KnowledgeBase, str, int], Forest]] = WeakKeyDictionary()
"""Kept as long as the ranking that they grew from: the settings of a sweep that share it grow them once."""


def forest_of(kb: KnowledgeBase, query: Query, ranking: Ranking, vector: Matrix, max_characters: int) -> Forest:
    """The forest of a ranking; `vector` is the query's, texts are cut at `max_characters`."""
    kept, key = _FORESTS.setdefault(ranking, {}), (kb, query.text, max_characters)
    if key not in kept:
        kept[key] = _grow(kb, ranking, kb.dense.cosines(vector, ranking.rows), max_characters)
    return kept[key]


def _grow(kb: KnowledgeBase, ranking: Ranking, cosines: FloatArray, max_characters: int) -> Forest:
    """From the triples that `Expand` found, or without it from those that the hits' passages state."""
    table, found = kb.graph.triples, ranking.metadata.get(SUBGRAPH)
    triples = stated_by(kb.graph, ranking.rows) if found is None else np.array(found, dtype=np.int64)
    rows = table.passages[triples].astype(np.int64)
    weights = np.full(kb.graph.n_passages, -np.inf)
    weights[ranking.rows] = cosines
    kept = np.isfinite(weights[rows])  # a stage in between, or `depth`, may have dropped a passage
    triples, rows = triples[kept], rows[kept]
    order = np.lexsort((triples, rows, -weights[rows]))
    edges, rows = triples[order], rows[order]
    trees = spanning_trees(table.heads[edges], table.tails[edges])
    return Forest(cosines, edges, rows, trees, [_represent(kb, tree, edges, max_characters) for tree in trees])


def _represent(kb: KnowledgeBase, tree: Tree, edges: IntArray, max_characters: int) -> str:
    written, length = [], 0
    for edge in tree.edges:
        triple = kb.graph.triple(int(edges[edge]))
        written.append(f"<{triple.head}, {triple.relation}, {triple.tail}>")
        length += len(written[-1]) + 1
        if length > max_characters:
            break
    return " ".join(written)[:max_characters]
