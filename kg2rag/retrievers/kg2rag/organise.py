"""Passages and the triples among them -> the passages of the best spanning trees, in the trees' order.

Zhu et al., "Knowledge Graph-Guided RAG", NAACL 2025, Sec. 2.3: a reranker scores the triples of each spanning tree (see
`forests`), and the trees give their passages, best tree first, until `context` are reached. Ours, where the paper is
silent: trees of equal score are ordered by their heaviest edge; `overflow` and `fill`. The score of a hit is 1 / its
place, for the method orders passages and does not score them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal

import numpy as np

from kg2rag.knowledge.base import KnowledgeBase
from kg2rag.knowledge.graph.paths import TriplePaths
from kg2rag.retrievers.kg2rag.forests import Forest, TreeChoice, forest_of
from kg2rag.retrievers.rerankers.scoring import Reranker, score_batches
from kg2rag.retrievers.rerankers.stage import RerankingStage
from kg2rag.types.arrays import FloatArray
from kg2rag.types.parameters import Count
from kg2rag.types.passages import Query
from kg2rag.types.rankings import Ranking, rescored
from kg2rag.types.trace import Trace, step

Overflow = Literal["cut", "skip", "stop"]
Fill = Literal["none", "unlinked", "all"]
Arrangement = Literal["depth_first", "similarity"]


@dataclass(frozen=True)
class Organise(RerankingStage):
    """Keeps and orders passages by the spanning trees of their triples.

    After `Expand` the triples are those it found, elsewhere those that the hits' passages state. A hit keeps its stage;
    its path leads from the heaviest edge of its tree to its own; its parts are `cosine`, `tree` (the tree's rank, from
    1) and `reranker` (the tree's score), the last two only where a tree gave it. The metadata count the trees and the
    hits that no tree gave ("filled"), and note where there was no tree.

    Parameters
    ----------
    context : passages returned at most; the paper's k.
    overflow : a tree with more passages than there are places: "cut" takes its first ones, "skip" goes on to the next
        tree, "stop" ends there.
    fill : what takes the places that the trees leave free, by cosine: "unlinked", passages that state no triple between
        two entities; "all"; "none". With "none" a ranking may be empty.
    arrangement : a tree gives its passages "depth_first", as in Eq. 8; or, ours, by "similarity", so that a tree
        larger than `context` gives the passages most like the query and not those along one branch.
    reranker : None for the default.
    max_characters : longer triplet representations are cut; rerankers read a few hundred tokens.
    depth : hits read, by cosine after `Expand`.
    """

    kb: KnowledgeBase = field(repr=False)
    context: Count = 10
    overflow: Overflow = "cut"
    fill: Fill = "unlinked"
    arrangement: Arrangement = "depth_first"
    reranker: Reranker | None = None
    max_characters: Count = 8000
    depth: Count = 1000

    def apply(self, queries: Sequence[Query], rankings: Sequence[Ranking]) -> list[Ranking]:
        """All trees of the batch are scored in one call."""
        return [self._organised(*given) for given in zip(rankings, *self._scored(queries, rankings), strict=True)]

    def _scored(self, queries: Sequence[Query], rankings: Sequence[Ranking]) -> tuple[list[Forest], list[FloatArray]]:
        if not queries:
            return [], []
        columns = zip(queries, rankings, self.kb.encode_queries(queries), strict=True)
        forests = [forest_of(self.kb, *column, self.max_characters) for column in columns]
        pairs = [[(query.text, text) for text in forest.texts] for query, forest in zip(queries, forests, strict=True)]
        return forests, list(score_batches(self.scorer, pairs))

    def _organised(self, ranking: Ranking, forest: Forest, scores: FloatArray) -> Ranking:
        chosen = self._choose(forest, scores)
        filled = self._filling(ranking, forest, chosen)
        rows, blank = [*chosen, *filled], [np.nan] * len(filled)
        places = np.arange(1, len(rows) + 1, dtype=np.float64)
        cosine = dict(zip(ranking.rows.tolist(), forest.cosines.tolist(), strict=True))
        notes: dict[str, object] = {"trees": len(forest.trees), "filled": len(filled)}
        if not forest.trees:
            notes["note"] = "the passages share no triple between two entities: no tree, ordered by cosine"
        return rescored(
            ranking,
            np.array(rows, dtype=np.int64),
            1.0 / places,
            self.context,
            formula="1 / place",
            score_parts={
                "place": places,
                "cosine": np.array([cosine[row] for row in rows]),
                "tree": np.array([*(choice.rank for choice in chosen.values()), *blank]),
                "reranker": np.array([*(scores[choice.tree] for choice in chosen.values()), *blank]),
            },
            paths=TriplePaths(self.kb.graph, chosen, forest.path),
            notes=notes,
        )

    def _choose(self, forest: Forest, scores: FloatArray) -> dict[int, TreeChoice]:
        """Corpus row -> what chose it, in the order chosen (Eq. 8)."""
        chosen: dict[int, TreeChoice] = {}
        for rank, tree in enumerate(np.argsort(-scores, kind="stable").tolist(), start=1):
            edges = list(enumerate(forest.trees[tree].edges))
            if self.arrangement == "similarity":  # edges are numbered from the heaviest
                edges.sort(key=lambda placed: placed[1])
            fresh: dict[int, TreeChoice] = {}
            for position, edge in edges:
                if (row := int(forest.rows[edge])) not in chosen:
                    fresh.setdefault(row, TreeChoice(tree, rank, position))
            free = self.context - len(chosen)
            if len(fresh) > free and self.overflow == "skip":
                continue
            if len(fresh) > free and self.overflow == "stop":
                break
            chosen.update(list(fresh.items())[:free])
        return chosen

    def _filling(self, ranking: Ranking, forest: Forest, chosen: dict[int, TreeChoice]) -> list[int]:
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

    def trace(self, queries: Sequence[Query], before: Sequence[Trace]) -> list[Trace]:
        """Which hits are in a spanning tree, which trees had their turn, and which of their passages found a place."""
        read = [trace.ranking.top(self.depth) for trace in before]
        return [self._trace(*given) for given in zip(before, read, *self._scored(queries, read), strict=True)]

    def _trace(self, before: Trace, read: Ranking, forest: Forest, scores: FloatArray) -> Trace:
        after = self._organised(read, forest, scores)
        turns = {choice.tree for choice in self._choose(forest, scores).values()}
        in_trees = [forest.rows[tree.edges] for tree in forest.trees]
        came = [rows for number, rows in enumerate(in_trees) if number in turns]
        full = f"no tree holds it, and the trees left no free place of {self.context} that it could fill"
        unread = f"below the first {self.depth} hits, which Organise reads"
        late, large = (
            f"better trees took all {self.context} places",
            "its tree has more passages than there were places",
        )
        steps = (
            step("read", "pruned", unread, read.rows),
            step("in a tree", "pruned", full, *in_trees, after.rows),
            step("its tree's turn", "pruned", late, *came, after.rows),
            step("placed", "pruned", f"{large}, {self.context}", after.rows),
        )
        return Trace(after, (*before.steps, *steps))
