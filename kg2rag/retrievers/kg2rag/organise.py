"""Passages and the triples among them -> the passages of the best spanning trees, in the trees' order.

Zhu et al., "Knowledge Graph-Guided RAG", NAACL 2025, Sec. 2.3: every triple is an edge that weighs as much as its
passage's cosine (Eq. 6); each component keeps its maximum spanning tree (Eq. 7), written as <head, relation, tail> in
depth-first order from the heaviest edge (Eq. 8). A reranker scores the trees, and these give their passages, best tree
first, until `context` are reached. Ours, where the paper is silent: of edges of equal weight the one of the earlier
passage, then the earlier triple, comes first; trees of equal score are ordered by their heaviest edge; `overflow` and
`fill`. The score of a hit is 1 / its place, for the method orders passages and does not score them.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

import numpy as np

from kg2rag.knowledge import KnowledgeBase
from kg2rag.knowledge.graph.forest import Tree, spanning_trees
from kg2rag.knowledge.graph.paths import TriplePaths, stated_by
from kg2rag.retrievers.contract import Pipeline
from kg2rag.retrievers.dense import Dense
from kg2rag.retrievers.kg2rag.expand import Expand, ExpandNotes
from kg2rag.retrievers.rerankers import DEFAULT_RERANKER, Reranker, RerankingStage, named, score_batches
from kg2rag.types import Count, FloatArray, IntArray, Matrix, Notes, Query, Ranking, Trace, checked, rescored, step

COLOUR = "#E69F00"  # in plots


Overflow = Literal["cut", "skip", "stop"]
Fill = Literal["none", "unlinked", "all"]
Arrangement = Literal["depth_first", "similarity"]


class TreeChoice(NamedTuple):
    """What gave a passage: a tree, its rank (from 1) and score; and the position of the passage's first edge in it."""

    tree: int
    rank: float
    score: float
    position: int


def taken(
    trees: Sequence[Iterable[tuple[int, int]]], scores: FloatArray, context: int, overflow: Overflow
) -> dict[int, TreeChoice]:
    """Corpus row -> what gave it, best tree first, in the order in which a tree lists (position, row); Eq. 8."""
    chosen: dict[int, TreeChoice] = {}
    for place, tree in enumerate(np.argsort(-scores, kind="stable").tolist(), start=1):
        fresh: dict[int, TreeChoice] = {}
        for position, row in trees[tree]:
            if row not in chosen:
                fresh.setdefault(row, TreeChoice(tree, place, float(scores[tree]), position))
        free = context - len(chosen)
        if len(fresh) > free and overflow == "stop":
            break
        if len(fresh) <= free or overflow == "cut":
            chosen.update(list(fresh.items())[:free])
    return chosen


class Forest(NamedTuple):
    """What is known of a query before the reranker scores.

    `cosines`: (n_hits,) of the ranking's passages. `edges`: triple codes, heaviest first, to which the trees' edge
    numbers point; `rows`: the passage of each. `texts`: the triplet representation of each tree.
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


@dataclass(frozen=True)
class TreeNotes(Notes):
    """How many trees there were, and how many hits none of them gave."""

    trees: int = 0
    filled: int = 0


@dataclass(frozen=True)
class Organise(RerankingStage):
    """Keeps and orders passages by the spanning trees of their triples.

    After `Expand` the triples are those it found, elsewhere those that the hits' passages state. A hit keeps its stage;
    its path leads from the heaviest edge of its tree to its own; its parts are `cosine`, `tree` (the tree's rank, from
    1) and `reranker` (the tree's score), the last two only where a tree gave it. The notes count the trees and the
    hits that no tree gave (`TreeNotes`).

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
        columns = zip(rankings, self.kb.encode_queries(queries), strict=True)
        forests = [self._forest(*column) for column in columns]
        pairs = [[(query.text, text) for text in forest.texts] for query, forest in zip(queries, forests, strict=True)]
        return forests, list(score_batches(self.scorer, pairs))

    def _forest(self, ranking: Ranking, vector: Matrix) -> Forest:
        """From the triples that `Expand` found, or without it from those that the hits' passages state."""
        graph, expanded = self.kb.graph, ranking.notes.find(ExpandNotes)
        if expanded is not None and expanded.subgraph is None:
            raise ValueError(f"query {ranking.query_id!r}: the ranking was kept without its triples. Expand it anew.")
        triples = stated_by(graph, ranking.rows) if expanded is None else np.array(expanded.subgraph, dtype=np.int64)
        cosines, weights = self.kb.dense.cosines(vector, ranking.rows), np.full(graph.n_passages, -np.inf)
        weights[ranking.rows] = cosines
        rows = graph.triples.passages[triples].astype(np.int64)
        order = np.lexsort((triples, rows, -weights[rows]))
        order = order[np.isfinite(weights[rows[order]])]  # a stage in between, or `depth`, may have dropped a passage
        edges = triples[order]
        trees = spanning_trees(graph.triples.heads[edges], graph.triples.tails[edges])
        return Forest(cosines, edges, rows[order], trees, [self._text(edges[tree.edges]) for tree in trees])

    def _text(self, triples: IntArray) -> str:
        # A triple takes seven characters or more: none is written that would be cut.
        written = map(self.kb.graph.triple, triples[: self.max_characters // 7 + 1].tolist())
        return " ".join(f"<{one.head}, {one.relation}, {one.tail}>" for one in written)[: self.max_characters]

    def _organised(self, ranking: Ranking, forest: Forest, scores: FloatArray) -> Ranking:
        chosen = self._choose(forest, scores)
        filled = self._filling(ranking, forest, chosen)
        rows, blank = [*chosen, *filled], [np.nan] * len(filled)
        places = np.arange(1, len(rows) + 1, dtype=np.float64)
        cosine = dict(zip(ranking.rows.tolist(), forest.cosines.tolist(), strict=True))
        treeless = "the passages share no triple between two entities: no tree, ordered by cosine"
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
                "reranker": np.array([*(choice.score for choice in chosen.values()), *blank]),
            },
            paths=TriplePaths(self.kb.graph, chosen, forest.path),
            notes=TreeNotes(warning="" if forest.trees else treeless, trees=len(forest.trees), filled=len(filled)),
        )

    def _choose(self, forest: Forest, scores: FloatArray) -> dict[int, TreeChoice]:
        listed = []
        for tree in forest.trees:
            edges = list(enumerate(tree.edges))
            if self.arrangement == "similarity":  # edges are numbered from the heaviest
                edges.sort(key=lambda placed: placed[1])
            listed.append([(position, int(forest.rows[edge])) for position, edge in edges])
        return taken(listed, scores, self.context, self.overflow)

    def _filling(self, ranking: Ranking, forest: Forest, chosen: dict[int, TreeChoice]) -> list[int]:
        """The rows that take the free places."""
        if self.fill == "none":
            return []
        barred, table = set(chosen), self.kb.graph.triples
        if self.fill == "unlinked":
            barred.update(forest.rows[table.heads[forest.edges] != table.tails[forest.edges]].tolist())
        order = np.lexsort((ranking.rows, -forest.cosines))
        free = [row for row in ranking.rows[order].tolist() if row not in barred]
        return free[: self.context - len(chosen)]

    def trace(self, queries: Sequence[Query], before: Sequence[Trace]) -> list[Trace]:
        """Which hits are in a spanning tree, which trees had their turn, and which of their passages found a place."""
        full = f"no tree holds it, and the trees left no free place of {self.context} that it could fill"
        unread = f"below the first {self.depth} hits, which Organise reads"
        late = f"better trees took all {self.context} places"
        large = f"its tree has more passages than there were places, {self.context}"
        read, traces = [trace.ranking.top(self.depth) for trace in before], []
        for earlier, hits, forest, scores in zip(before, read, *self._scored(queries, read), strict=True):
            after = self._organised(hits, forest, scores)
            turns = {choice.tree for choice in self._choose(forest, scores).values()}
            in_trees = [forest.rows[tree.edges] for tree in forest.trees]
            came = [rows for number, rows in enumerate(in_trees) if number in turns]
            steps = (
                step("read", "pruned", unread, hits.rows),
                step("in a tree", "pruned", full, *in_trees, after.rows),
                step("its tree's turn", "pruned", late, *came, after.rows),
                step("placed", "pruned", large, after.rows),
            )
            traces.append(Trace(after, (*earlier.steps, *steps)))
        return traces


@checked
def kg2rag(
    kb: KnowledgeBase,
    *,
    hops: int = 1,
    seeds: int = 10,
    context: int = 10,
    overflow: Overflow = "cut",
    fill: Fill = "unlinked",
    arrangement: Arrangement = "depth_first",
    expansion: bool = True,
    organisation: bool = True,
    reranker: str = DEFAULT_RERANKER,
) -> Pipeline:
    """Dense seeds, their surroundings in the triple graph, and the passages of its best spanning trees.

    `reranker` is "bi-encoder" or the name or folder of a cross-encoder; the paper's is BAAI/bge-reranker-large.
    Without `expansion` the seeds alone are organised; without `organisation` the expanded passages are ranked by
    similarity: the paper's two ablations.
    """
    if not (expansion or organisation):
        raise ValueError("kg2rag without expansion and organisation is dense retrieval: use the system 'dense'.")
    if not expansion:
        return Dense(kb) >> Organise(kb, context, overflow, fill, arrangement, named(reranker, kb), depth=seeds)
    expanded = Dense(kb) >> Expand(kb, hops, seeds)
    if not organisation:
        return expanded
    return expanded >> Organise(kb, context, overflow, fill, arrangement, named(reranker, kb))
