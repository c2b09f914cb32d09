"""Passages -> passages of related facts -> those of their best spanning trees: KG2RAG's paper.

Zhu et al., "Knowledge Graph-Guided RAG", NAACL 2025. Eq. 3 to 5: breadth-first from every entity of
the seeds' triples, then all triples between the entities reached, then the passages that state
them. Eq. 6 to 8: every triple is an edge that weighs as much as its passage's cosine; each
component keeps its maximum spanning tree, written depth-first from the heaviest edge; a reranker
scores the trees, which give their passages, best tree first.

Ours, where the paper is silent: triples without a passage are not walked; edges of equal weight are
ordered by passage, then triple, trees of equal score by their heaviest edge; a tree that does not fit
is cut; passages without triples take free places. The score of a hit is 1 / its place, since the
method orders passages without scores.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

import numpy as np

from kg2rag.knowledge import KnowledgeBase, Workload
from kg2rag.knowledge.graph.paths import (
    Surroundings,
    Tree,
    spanning_trees,
    surroundings,
    triples_of_passages,
)
from kg2rag.retrievers.contract import Pipeline, Stage
from kg2rag.retrievers.dense import Dense
from kg2rag.retrievers.published.kg2rag.trees import (
    UNCHOSEN,
    Chosen,
    Forest,
    TreeNotes,
    rank_selected,
    select_passages,
    triplets,
)
from kg2rag.retrievers.rerankers import (
    DEFAULT_RERANKER,
    Reranker,
    RerankingStage,
    named,
    score_batches,
)
from kg2rag.types import (
    INNER,
    Count,
    IntArray,
    LazyPaths,
    Matrix,
    Notes,
    Query,
    Ranking,
    Trace,
    Triple,
    checked,
    first_of,
    sources,
    step,
)

COLOUR = "#E69F00"  # in plots
MAX_CHARACTERS = (
    8000  # the maximum of a tree's text; rerankers read a few hundred tokens
)
Arrangement = Literal["depth_first", "similarity"]


@dataclass(frozen=True)
class ExpandNotes(Notes):
    """Notes: the number of added passages; for `Organise`, the triples of Eq. 4."""

    expanded: int = 0
    subgraph: tuple[int, ...] | None = field(default=None, metadata=INNER)


@dataclass(frozen=True)
class Expand(Stage):
    """A stage that adds the passages within `hops` triples of the seeds' entities.

    It drops none. All are scored by their `cosine`.

    A passage that was added has the stage "expand", the part `hop` and the path of triples from a
    seed's to its own.

    Parameters
    ----------
    hops : at least 1; the paper's m.
    seeds : hits read, the paper's k.
    """

    kb: KnowledgeBase = field(repr=False)
    hops: Count = 1
    seeds: Count = 10
    expands = True

    @property
    def depth(self) -> int:
        """The number of seeds."""
        return self.seeds

    def workloads(self, queries: Sequence[Query]) -> list[Workload]:
        """The texts to encode: the passages."""
        return Dense(self.kb).workloads(queries)

    def apply(
        self, queries: Sequence[Query], rankings: Sequence[Ranking]
    ) -> list[Ranking]:
        """Expand each ranking within its query's candidates."""
        vectors = self.kb.encode_queries(queries)
        return list(map(self._expand, rankings, vectors, self.kb.candidates(queries)))

    def _expand(
        self, ranking: Ranking, vector: Matrix, candidate_rows: IntArray | None
    ) -> Ranking:
        """The ranking of a query's seeds and the passages near them."""
        graph = self.kb.graph
        around = surroundings(graph, ranking.rows, self.hops, candidate_rows)
        new_rows, new_triples, new_hops = self._new_passages(around, ranking.rows)
        rows = np.append(ranking.rows, new_rows)
        cosines = self.kb.dense.cosines(vector, rows)
        parts = {
            name: np.append(column, np.full(len(new_rows), np.nan))
            for name, column in ranking.score_parts.items()
        }
        parts["cosine"] = cosines
        parts["hop"] = np.append(np.zeros(len(ranking)), new_hops)
        seed_stages = np.zeros(len(ranking))
        if ranking.stage_codes is not None:
            seed_stages = ranking.stage_codes.astype(np.float64)
        new_stages = np.full(len(new_rows), len(ranking.stages))
        triple_of = dict(zip(new_rows.tolist(), new_triples.tolist(), strict=True))

        def path_of(row: int) -> Iterable[Triple]:
            if row not in triple_of:
                return ()
            return map(graph.triple, around.path(triple_of[row]))

        notes = ExpandNotes(
            "cosine",
            {**sources(ranking), "expand": "graph"},
            inputs=(ranking.notes,),
            expanded=len(new_rows),
            subgraph=tuple(around.triples.tolist()),
        )
        return Ranking.from_scores(
            ranking.query_id,
            rows,
            cosines,
            ranking.ids,
            stages=(*ranking.stages, "expand"),
            stage_codes=np.append(seed_stages, new_stages),
            score_parts=parts,
            paths=first_of(LazyPaths(path_of), ranking.paths),
            notes=notes,
        )

    def _new_passages(
        self, around: Surroundings, seed_rows: IntArray
    ) -> tuple[IntArray, IntArray, IntArray]:
        """The rows of the new passages, the nearest triple of each, and its hop, from 1; (n,) each."""
        table = self.kb.graph.triples
        passages = table.passages[around.triples].astype(np.int64)
        head_hops = around.hops[table.heads[around.triples]]
        tail_hops = around.hops[table.tails[around.triples]]
        hops = np.minimum(head_hops, tail_hops)
        # The triple of a passage that is nearest to the seeds comes first.
        order = np.lexsort((hops, passages))
        rows, first = np.unique(passages[order], return_index=True)
        is_new = ~np.isin(rows, seed_rows)
        nearest = order[first[is_new]]
        return rows[is_new], around.triples[nearest], 1 + hops[nearest]

    def trace(self, queries: Sequence[Query], traces: Sequence[Trace]) -> list[Trace]:
        """The traces; the passage states a triple, which is joined to a seed, within the hops.

        Seeds pass every step.
        """
        graph = self.kb.graph
        seeds = [trace.ranking.top(self.seeds) for trace in traces]
        no_triple = f"states no triple, and is none of the {self.seeds} seeds"
        no_chain = f"no chain of triples, however long, leads from the {self.seeds} seeds to it"
        too_far = (
            f"none of its triples lies within hops = {self.hops} of the seeds' entities"
        )
        stating = np.flatnonzero(np.diff(graph.stated[0]))

        def traced(
            seed: Ranking, ranking: Ranking, candidate_rows: IntArray | None
        ) -> Trace:
            around = surroundings(graph, seed.rows, graph.n_entities, candidate_rows)
            joined = graph.triples.passages[around.triples]
            steps = (
                step(
                    "states a triple",
                    "entity not linked",
                    no_triple,
                    stating,
                    ranking.rows,
                ),
                step(
                    "joined to a seed",
                    "entity not linked",
                    no_chain,
                    joined,
                    ranking.rows,
                ),
                step("expanded", "not expanded", too_far, ranking.rows),
            )
            return Trace(ranking, steps)

        return list(
            map(traced, seeds, self.apply(queries, seeds), self.kb.candidates(queries))
        )


@dataclass(frozen=True)
class Organise(RerankingStage):
    """A stage that selects and orders passages by the spanning trees of their triples.

    After `Expand` the triples are those it found, elsewhere those that the hits' passages state. A
    hit keeps its stage; its path leads from the heaviest edge of its tree to its own; its parts are
    `cosine` and, if a tree gave it, `tree` (the tree's rank, from 1) and `reranker` (the tree's
    score).

    Parameters
    ----------
    context : passages returned at most; the paper's k.
    whole_trees : end at the first tree that does not fit, and leave places free; a ranking may then be empty. Otherwise
        such a tree is cut, and passages that state no triple between two entities take free places, by cosine.
    arrangement : a tree gives its passages "depth_first", as in Eq. 8; or, ours, by "similarity".
    reranker : None for the default.
    depth : hits read, by cosine after `Expand`.
    """

    kb: KnowledgeBase = field(repr=False)
    context: Count = 10
    whole_trees: bool = False
    arrangement: Arrangement = "depth_first"
    reranker: Reranker | None = None
    depth: Count = 1000

    def apply(
        self, queries: Sequence[Query], rankings: Sequence[Ranking]
    ) -> list[Ranking]:
        """The organised rankings of a batch, whose trees are scored in one call."""
        forests = self._forests(queries, rankings)
        return [
            self._organise(ranking, *forest)
            for ranking, forest in zip(rankings, forests, strict=True)
        ]

    def _forests(
        self, queries: Sequence[Query], rankings: Sequence[Ranking]
    ) -> list[tuple[Forest, Chosen]]:
        """The trees of each query, and the passages selected by them."""
        forests = list(map(self._forest, rankings, self.kb.encode_queries(queries)))
        pairs = [
            [(query.text, text) for text in forest.texts]
            for query, forest in zip(queries, forests, strict=True)
        ]
        chosen = []
        for forest, scores in zip(
            forests, score_batches(self.scorer, pairs), strict=True
        ):
            trees = [self._arranged(tree, forest.rows) for tree in forest.trees]
            chosen.append(
                select_passages(trees, scores, self.context, whole=self.whole_trees)
            )
        return list(zip(forests, chosen, strict=True))

    def _arranged(self, tree: Tree, rows: IntArray) -> list[tuple[int, int]]:
        """The (position, row) of a tree's edges in the order of the arrangement."""
        positions = list(range(len(tree.edges)))
        if self.arrangement == "similarity":
            # Edges are numbered from the heaviest.
            positions.sort(key=lambda position: tree.edges[position])
        return [(position, int(rows[tree.edges[position]])) for position in positions]

    def _forest(self, ranking: Ranking, vector: Matrix) -> Forest:
        """The trees of the triples of `Expand`, or without it of those that the hits state."""
        graph, expanded = self.kb.graph, ranking.notes.find(ExpandNotes)
        if expanded is not None and expanded.subgraph is None:
            raise ValueError(
                f"query {ranking.query_id!r}: the ranking was kept without its triples. Expand it anew."
            )
        if expanded is None:
            triples = triples_of_passages(graph, ranking.rows)
        else:
            triples = np.array(expanded.subgraph, dtype=np.int64)
        cosines = self.kb.dense.cosines(vector, ranking.rows)
        weights = np.full(graph.n_passages, -np.inf)
        weights[ranking.rows] = cosines
        rows = graph.triples.passages[triples].astype(np.int64)
        order = np.lexsort((triples, rows, -weights[rows]))
        # A stage in between, or `depth`, may have dropped a passage.
        order = order[np.isfinite(weights[rows[order]])]
        edges = triples[order]
        trees = spanning_trees(graph.triples.heads[edges], graph.triples.tails[edges])
        # The text of a triple, "<a, b, c>" and a blank, has at least seven characters, so that later
        # triples would be cut.
        longest = MAX_CHARACTERS // 7 + 1
        texts = [
            triplets(
                map(graph.triple, edges[tree.edges[:longest]].tolist()), MAX_CHARACTERS
            )
            for tree in trees
        ]
        return Forest(cosines, edges, rows[order], trees, texts)

    def _organise(self, ranking: Ranking, forest: Forest, chosen: Chosen) -> Ranking:
        """The ranking of the chosen passages, then of those that fill free places."""
        graph = self.kb.graph
        cosine = dict(zip(ranking.rows.tolist(), forest.cosines.tolist(), strict=True))
        fillers = self._fillers(cosine, forest, chosen)
        selected = {**chosen, **dict.fromkeys(fillers, UNCHOSEN)}
        no_tree = "the passages share no triple between two entities: no tree, ordered by cosine"
        notes = TreeNotes(
            warning="" if forest.trees else no_tree,
            trees=len(forest.trees),
            filled=len(fillers),
        )
        paths = LazyPaths(lambda row: map(graph.triple, forest.path(chosen, row)))
        cosines = np.array([cosine[row] for row in selected])
        return rank_selected(ranking, selected, paths, notes, cosine=cosines)

    def _fillers(
        self, cosine: Mapping[int, float], forest: Forest, chosen: Chosen
    ) -> list[int]:
        """The rows of the passages that fill free places, most similar first; none if `whole_trees`.

        They state no triple between two entities, so that no tree has them. `cosine` : row -> cosine.
        """
        if self.whole_trees:
            return []
        table = self.kb.graph.triples
        is_loop = table.heads[forest.edges] == table.tails[forest.edges]
        tree_rows = forest.rows[~is_loop].tolist()
        candidates = cosine.keys() - {*chosen, *tree_rows}
        by_cosine = sorted(candidates, key=lambda row: (-cosine[row], row))
        return by_cosine[: self.context - len(chosen)]

    def trace(self, queries: Sequence[Query], traces: Sequence[Trace]) -> list[Trace]:
        """The traces; Organise reads the passage, a tree has it, the tree is chosen, and it is placed."""
        full = f"no tree holds it, and the trees left no free place of {self.context} that it could fill"
        unread = f"below the first {self.depth} hits, which Organise reads"
        late = f"better trees took all {self.context} places"
        large = f"its tree has more passages than there were places, {self.context}"
        read = [trace.ranking.top(self.depth) for trace in traces]
        extended = []
        forests = self._forests(queries, read)
        for trace, hits, (forest, chosen) in zip(traces, read, forests, strict=True):
            ranking = self._organise(hits, forest, chosen)
            passages = [forest.rows[tree.edges] for tree in forest.trees]
            used = {choice.tree for choice in chosen.values()}
            steps = (
                step("read", "pruned", unread, hits.rows),
                step("in a tree", "pruned", full, *passages, ranking.rows),
                step(
                    "its tree's turn",
                    "pruned",
                    late,
                    *(passages[tree] for tree in sorted(used)),
                    ranking.rows,
                ),
                step("placed", "pruned", large, ranking.rows),
            )
            extended.append(Trace(ranking, (*trace.steps, *steps)))
        return extended


@checked
def kg2rag(
    kb: KnowledgeBase,
    *,
    hops: int = 1,
    seeds: int = 10,
    context: int = 10,
    whole_trees: bool = False,
    arrangement: Arrangement = "depth_first",
    expansion: bool = True,
    organisation: bool = True,
    reranker: str = DEFAULT_RERANKER,
) -> Pipeline:
    """Dense seeds, related passages in the triple graph, those of the best spanning trees.

    `reranker` is "bi-encoder" or a cross-encoder; the paper's is BAAI/bge-reranker-large. Its
    ablations: without `expansion` only the seeds are organised; without `organisation` expanded
    passages are ranked by similarity.
    """
    if not (expansion or organisation):
        raise ValueError(
            "kg2rag without expansion and organisation is dense retrieval: use the system 'dense'."
        )
    expanded = Dense(kb) >> Expand(kb, hops, seeds)
    if not organisation:
        return expanded
    organise = Organise(
        kb,
        context,
        whole_trees,
        arrangement,
        named(reranker, kb),
        1000 if expansion else seeds,
    )
    return (expanded if expansion else Dense(kb)) >> organise
