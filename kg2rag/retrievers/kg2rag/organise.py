"""Passages and the triples among them -> the passages of the best spanning trees, in the trees' order.

Follows Zhu et al., "Knowledge Graph-Guided RAG", NAACL 2025, Sec. 2.3: every triple is an edge that weighs as much as
its passage's own cosine (Eq. 6); each component keeps its maximum spanning tree (Eq. 7); a reranker reads the tree's
triples, <head, relation, tail>, in depth-first order from the heaviest edge (Eq. 8); the trees give their passages,
best tree first, until `context` are reached.

Ours, where the paper is silent: of edges of equal weight the one of the earlier passage, then the earlier triple,
goes first; so do trees of equal score by their heaviest edge; `overflow` and `fill` are named below. The score of a
hit is 1 / its place, for the method orders passages and does not score them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal, NamedTuple
from weakref import WeakKeyDictionary

import numpy as np

from kg2rag.knowledge.base import KnowledgeBase
from kg2rag.knowledge.graph.forest import Tree, spanning_trees
from kg2rag.knowledge.graph.reach import stated_by
from kg2rag.retrievers.contract import Stage
from kg2rag.retrievers.kg2rag.expand import SUBGRAPH
from kg2rag.retrievers.rerankers import default_reranker
from kg2rag.retrievers.rerankers.encoders import BiEncoder
from kg2rag.retrievers.rerankers.scoring import Reranker, score_batches
from kg2rag.types.arrays import FloatArray, IntArray, Matrix
from kg2rag.types.parameters import at_least, check
from kg2rag.types.passages import Query, Triple
from kg2rag.types.rankings import Ranking
from kg2rag.types.rescoring import rescored
from kg2rag.types.trace import Trace, step

Overflow = Literal["cut", "skip", "stop"]
Fill = Literal["none", "unlinked", "all"]
Arrangement = Literal["depth_first", "similarity"]


class Forest(NamedTuple):
    """What is known of a query before the reranker speaks.

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


class Choice(NamedTuple):
    """A passage that a tree gave: the tree's number and rank (from 1), and the place of the passage's first edge."""

    tree: int
    rank: int
    place: int


_FORESTS: WeakKeyDictionary[Ranking, dict[tuple[KnowledgeBase, str, int], Forest]] = WeakKeyDictionary()
"""Forests live as long as the ranking that they grew from: settings that share it (a sweep's) grow them once."""


@dataclass(frozen=True)
class Organise(Stage):
    """Keeps and orders passages by the spanning trees of their triples.

    After `Expand` the triples are those it found, elsewhere those that the hits' passages state. A hit keeps the stage
    that brought it in; its path leads from the heaviest edge of its tree to its own; its parts are `cosine`, `tree`
    (the tree's rank, from 1) and `reranker` (the tree's score), the last two only where a tree gave it. The metadata
    count the trees and the hits that no tree gave ("filled"), and say where there was no tree at all.

    Parameters
    ----------
    context : passages returned at most; the paper's k.
    overflow : a tree with more passages than there is room: "cut" takes its first ones, "skip" goes on to the next
        tree, "stop" ends there.
    fill : what takes places that the trees leave free, by cosine: "unlinked", passages that own no triple between two
        entities; "all"; "none". With "none" a ranking may be empty.
    arrangement : a tree gives its passages "depth_first", as Eq. 8 has it; or, ours, by "similarity", so that a tree
        larger than `context` gives the passages most like the query and not those along one branch.
    reranker : None for `BiEncoder(kb)`.
    max_characters : longer triplet representations are cut; rerankers read a few hundred tokens.
    depth : hits read, by cosine after `Expand`.
    """

    kb: KnowledgeBase = field(repr=False)
    context: int = 10
    overflow: Overflow = "cut"
    fill: Fill = "unlinked"
    arrangement: Arrangement = "depth_first"
    reranker: Reranker | None = None
    max_characters: int = 8000
    depth: int = 1000

    def __post_init__(self) -> None:
        check(self, context=at_least(1), max_characters=at_least(1), depth=at_least(1))

    @property
    def encodes(self) -> bool:
        """The bi-encoder's texts can be encoded beforehand."""
        return isinstance(self._scorer, BiEncoder)

    @property
    def _scorer(self) -> Reranker:
        return self.reranker if self.reranker is not None else default_reranker(self.kb)

    def apply(self, queries: Sequence[Query], rankings: Sequence[Ranking]) -> list[Ranking]:
        """All trees of the batch are scored in one call."""
        forests, scores = self._scored(queries, rankings)
        return [self._organised(*parts) for parts in zip(rankings, forests, scores, strict=True)]

    def _scored(self, queries: Sequence[Query], rankings: Sequence[Ranking]) -> tuple[list[Forest], list[FloatArray]]:
        if not queries:
            return [], []
        vectors = self.kb.encode_queries(queries)
        forests = [self._forest(*given) for given in zip(queries, rankings, vectors, strict=True)]
        pairs = [[(query.text, text) for text in forest.texts] for query, forest in zip(queries, forests, strict=True)]
        return forests, list(score_batches(self._scorer, pairs))

    def _forest(self, query: Query, ranking: Ranking, vector: Matrix) -> Forest:
        """The weighted graph and its trees (Eq. 6 and 7)."""
        kept, key = _FORESTS.setdefault(ranking, {}), (self.kb, query.text, self.max_characters)
        if key not in kept:
            kept[key] = self._grow(ranking, self.kb.dense.cosines(vector, ranking.rows))
        return kept[key]

    def _grow(self, ranking: Ranking, cosines: FloatArray) -> Forest:
        graph = self.kb.graph
        triples = _triples(ranking, stated_by(graph, ranking.rows))
        rows = graph.triples.passages[triples].astype(np.int64)
        weights = np.full(graph.n_passages, -np.inf)
        weights[ranking.rows] = cosines
        kept = np.isfinite(weights[rows])  # a stage in between, or `depth`, may have dropped a passage
        triples, rows = triples[kept], rows[kept]
        order = np.lexsort((triples, rows, -weights[rows]))
        edges, rows = triples[order], rows[order]
        trees = spanning_trees(graph.triples.heads[edges], graph.triples.tails[edges])
        return Forest(cosines, edges, rows, trees, [self._represent(tree, edges) for tree in trees])

    def _represent(self, tree: Tree, edges: IntArray) -> str:
        """The triplet representation: the edges in depth-first order."""
        graph, written, length = self.kb.graph, [], 0
        for edge in tree.edges:
            triple = graph.triple(int(edges[edge]))
            written.append(f"<{triple.head}, {triple.relation}, {triple.tail}>")
            length += len(written[-1]) + 1
            if length > self.max_characters:
                break
        return " ".join(written)[: self.max_characters]

    def _organised(self, ranking: Ranking, forest: Forest, scores: FloatArray) -> Ranking:
        chosen = self._choose(forest, scores)
        filled = self._filling(ranking, forest, chosen)
        blank = [np.nan] * len(filled)
        places = np.arange(1, len(chosen) + len(filled) + 1, dtype=np.float64)
        cosine = dict(zip(ranking.rows.tolist(), forest.cosines.tolist(), strict=True))
        return rescored(
            ranking,
            np.array([*chosen, *filled], dtype=np.int64),
            1.0 / places,
            self.context,
            formula="1 / place",
            score_parts={
                "place": places,
                "cosine": np.array([cosine[row] for row in (*chosen, *filled)]),
                "tree": np.array([*(choice.rank for choice in chosen.values()), *blank]),
                "reranker": np.array([*(scores[choice.tree] for choice in chosen.values()), *blank]),
            },
            paths=self._paths(forest, chosen),
            notes=_said(forest, filled),
        )

    def _choose(self, forest: Forest, scores: FloatArray) -> dict[int, Choice]:
        """Corpus row -> what chose it, in the order chosen (Eq. 8)."""
        chosen: dict[int, Choice] = {}
        for rank_, tree in enumerate(np.argsort(-scores, kind="stable").tolist(), start=1):
            fresh: dict[int, int] = {}
            edges = list(enumerate(forest.trees[tree].edges))
            if self.arrangement == "similarity":  # edges are numbered from the heaviest
                edges.sort(key=lambda placed: placed[1])
            for place, edge in edges:
                row = int(forest.rows[edge])
                if row not in chosen:
                    fresh.setdefault(row, place)
            free = self.context - len(chosen)
            if len(fresh) > free and self.overflow == "skip":
                continue
            if len(fresh) > free and self.overflow == "stop":
                break
            for row, place in list(fresh.items())[:free]:
                chosen[row] = Choice(tree, rank_, place)
        return chosen

    def _filling(self, ranking: Ranking, forest: Forest, chosen: dict[int, Choice]) -> list[int]:
        """The rows that take the free places."""
        if self.fill == "none":
            return []
        barred = set(chosen)
        if self.fill == "unlinked":
            table = self.kb.graph.triples
            linking = table.heads[forest.edges] != table.tails[forest.edges]
            barred.update(forest.rows[linking].tolist())
        order = np.lexsort((ranking.rows, -forest.cosines))
        free = [row for row in ranking.rows[order].tolist() if row not in barred]
        return free[: self.context - len(chosen)]

    def _paths(self, forest: Forest, chosen: dict[int, Choice]) -> dict[int, tuple[Triple, ...]]:
        graph = self.kb.graph
        return {
            row: tuple(graph.triple(int(forest.edges[edge])) for edge in forest.trees[choice.tree].path(choice.place))
            for row, choice in chosen.items()
        }

    def trace(self, queries: Sequence[Query], before: Sequence[Trace]) -> list[Trace]:
        """Which hits a spanning tree kept, whose tree's turn came, and who of those found a place."""
        read = [trace.ranking.top(self.depth) for trace in before]
        forests, scores = self._scored(queries, read)
        return [self._trace(*parts) for parts in zip(before, read, forests, scores, strict=True)]

    def _trace(self, before: Trace, read: Ranking, forest: Forest, scores: FloatArray) -> Trace:
        after = self._organised(read, forest, scores)
        chosen = self._choose(forest, scores)
        turns = {choice.tree for choice in chosen.values()}
        in_trees = [forest.rows[tree.edges] for tree in forest.trees]
        came = [rows for number, rows in enumerate(in_trees) if number in turns]
        full = f"no tree holds it, and the trees left no free place of {self.context} that it could fill"
        unread = f"below the first {self.depth} hits, which Organise reads"
        steps = (
            step("read", "pruned", unread, read.rows),
            step("in a tree", "pruned", full, *in_trees, after.rows),
            step("its tree's turn", "pruned", f"better trees took all {self.context} places", *came, after.rows),
            step("placed", "pruned", f"its tree has more passages than there were places, {self.context}", after.rows),
        )
        return Trace(after, (*before.steps, *steps))


def _triples(ranking: Ranking, stated: IntArray) -> IntArray:
    found = ranking.metadata.get(SUBGRAPH)
    return stated if found is None else np.array(found, dtype=np.int64)


def _said(forest: Forest, filled: list[int]) -> dict[str, object]:
    said: dict[str, object] = {"trees": len(forest.trees), "filled": len(filled)}
    if not forest.trees:
        said["note"] = "the passages share no triple between two entities: no tree, ordered by cosine"
    return said
