"""Query -> passages by personalised PageRank over who mentions whom. No LLM, no key.

The graph joins passages if one names the title of another, and passages that share names;
passages without titles are joined by shared rare terms, too. The walk starts at the best dense hits
and at the titles and names in the query. With a `triple_weight` it also walks the triples of the
knowledge graph, and starts at the ends of the triples nearest to the query.

Ours, after [1] (PageRank from query entities and passages, node specificity) and [2] (an LLM-free
graph). [1] Gutiérrez et al., "From RAG to Memory" (HippoRAG 2), ICML 2025. [2] Zhuang et al.,
"LinearRAG", 2025.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Annotated

import numpy as np

from kg2rag.knowledge import KnowledgeBase, Workload
from kg2rag.knowledge.graph.pagerank import NodeWeights, Walk, WalkGraph, walks
from kg2rag.retrievers.contract import TuningRecord
from kg2rag.retrievers.dense import Dense, VectorRetriever
from kg2rag.retrievers.linking.phrases import unnamed_phrases
from kg2rag.retrievers.mention_ppr.graph import (
    FactGraph,
    MentionGraph,
    WalkedPaths,
    fact_graph,
    mention_graph,
    strongest_paths,
)
from kg2rag.types import (
    FloatArray,
    IntArray,
    Notes,
    Query,
    Ranking,
    Trace,
    above,
    step,
    top_with_ties,
)
from kg2rag.types.parameters import Count, Damping, Natural, Weight

BLOCK = 64  # queries that are walked together
REACH = 30_000
"""The default maximum of nodes of a walk, which limits the time of a query in large corpora."""
COLOUR = "#0072B2"  # in plots
TUNING = (
    TuningRecord(
        "mention_ppr",
        "the ranges whose middle its weights are: damping, temperatures, backward, name, title and query name weight",
        "chosen",
        61,
        sets=("musique-100", "hotpotqa-300", "2wiki-1000"),
    ),
)
NEAR = 2
"""The maximum distance in edges that a trace calls near; two passages that share a name have distance 2."""
_UNLINKED = (
    "no chain of mentions leads from the dense seeds and the names of the query to it"
)


@dataclass(frozen=True)
class WalkNotes(Notes):
    """Notes of a walk.

    Attributes
    ----------
    restart : the meaning of the score part `restart`.
    triples : the triples at whose ends the walk started; None if the knowledge graph is not walked.
    reach : the number of nodes to which the walk was limited; None if it was not limited.
    """

    restart: str | None = None
    triples: tuple[str, ...] | None = None
    reach: int | None = None


@dataclass(frozen=True)
class MentionPPR(VectorRetriever):
    """Personalised PageRank over title links and shared names.

    Parameters
    ----------
    damping : the probability of following an edge rather than restarting, in (0, 1).
    iterations : the number of steps of the walk.
    backward : the weight of the reverse edge of a title link, relative to the link.
    name_weight : an edge between a passage and a name has weight name_weight · ln(1 + N / df).
    max_mentions : the maximum of passages that may name a title; more frequent titles give no links.
    dense_seeds : the number of dense hits at which the walk starts.
    dense_weight, dense_temperature : the dense hits share dense_weight by softmax of cosine / dense_temperature.
    title_weight : a page whose title the query names has start weight title_weight / (pages · log2(2 + df)).
    query_name_weight : a name in the query has start weight query_name_weight · ln(1 + N / df) / ln(1 + N).
    depth : the maximum of ranked passages; dense hits that the walk does not reach come last.
    reach : the maximum of nodes of a walk. In a larger graph these are the first nodes of a breadth-first search
        from the starts, the greatest start first, and the notes record the limit.
    triple_weight : an edge of a triple has weight triple_weight · strength / 10; 0 leaves the knowledge graph out.
    triple_seeds : the number of triples nearest to the query at whose ends the walk starts; 0 for none.
    triple_seed_weight : these triples share triple_seed_weight by softmax of cosine / dense_temperature.
    """

    kb: KnowledgeBase = field(repr=False)
    damping: Damping = 0.5
    iterations: Count = 15
    backward: Weight = 0.3
    name_weight: Weight = 0.03
    max_mentions: Natural = 50
    dense_seeds: Count = 10
    dense_weight: Weight = 1.0
    dense_temperature: Annotated[float, above(0)] = 0.03
    title_weight: Weight = 2.0
    query_name_weight: Weight = 0.5
    depth: Count = 100
    reach: Count = REACH
    triple_weight: Weight = 0.0
    triple_seeds: Natural = 5
    triple_seed_weight: Weight = 0.5

    @property
    def graph(self) -> MentionGraph:
        """The graph of the walk under these weights; a `FactGraph` if triples have a weight."""
        weights = (self.backward, self.name_weight, self.max_mentions)
        if self.triple_weight > 0:
            return fact_graph(self.kb, *weights, self.triple_weight)
        return mention_graph(self.kb, *weights)

    def workloads(self, queries: Sequence[Query]) -> list[Workload]:
        """The texts to encode: the passages, and the triples if they have a weight."""
        workloads = super().workloads(queries)
        if self.triple_weight > 0:
            workloads.append(self.kb.workload("triples", self.kb.graph.triple_texts()))
        return workloads

    def retrieve_batch(self, queries: Sequence[Query], k: int) -> list[Ranking]:
        """The rankings of a batch, walked in blocks of `BLOCK`."""
        rankings: list[Ranking] = []
        for first in range(0, len(queries), BLOCK):
            rankings += self._rank_block(queries[first : first + BLOCK], k)
        return rankings

    def _rank_block(self, queries: Sequence[Query], k: int) -> list[Ranking]:
        """The rankings of queries that are walked together."""
        dense = self._dense(queries)
        restarts, seed_triples = self.restarts(queries, dense)
        walks_of_queries = self.walks(restarts, self.kb.candidates(queries))
        return [
            self._ranking(*columns, k)
            for columns in zip(
                queries, walks_of_queries, restarts, dense, seed_triples, strict=True
            )
        ]

    def _dense(self, queries: Sequence[Query]) -> list[Ranking]:
        """The dense rankings that give the walks their starts and the rankings their last hits."""
        return Dense(self.kb).retrieve_batch(queries, max(self.depth, self.dense_seeds))

    def from_seeds(
        self, queries: Sequence[Query], seeds: Sequence[IntArray]
    ) -> list[Ranking]:
        """The rankings of walks whose restart is half at the seeds, half at the usual restart.

        `seeds` : for each query, the corpus rows, (n_seeds,), n_seeds ≥ 1.
        """
        corpus = self.kb.corpus
        restarts, _ = self.restarts(queries, self._dense(queries))
        seeded_restarts = []
        for rows, restart in zip(seeds, restarts, strict=True):
            scaled = NodeWeights(
                restart.nodes, restart.weights / (restart.weights.sum() or 1.0)
            )
            seed_weights = NodeWeights.of(rows, np.full(len(rows), 1 / len(rows)))
            seeded_restarts.append(seed_weights.plus(scaled))
        rankings = []
        walks_of_queries = self.walks(seeded_restarts, self.kb.candidates(queries))
        for query, walk in zip(queries, walks_of_queries, strict=True):
            passages = walk.nonzero(len(corpus))
            ranking = Ranking.from_scores(
                query.id, passages.nodes, passages.weights, corpus.ids
            )
            rankings.append(ranking.top(self.depth))
        return rankings

    def walks(
        self, restarts: Sequence[NodeWeights], candidates: Sequence[IntArray | None]
    ) -> list[Walk]:
        """The walk of each query.

        `restarts` : the restart weights of each query. `candidates` : the rows of the passages that its
        walk may enter; None for all.
        """
        graph = self.graph
        # Queries that share a graph are walked together.
        queries_of: dict[WalkGraph, list[int]] = {}
        for i, candidate_rows in enumerate(candidates):
            walk_graph = graph.walk_graph_within(candidate_rows)
            queries_of.setdefault(walk_graph, []).append(i)
        walk_of: dict[int, Walk] = {}
        for walk_graph, indices in queries_of.items():
            walks_of_graph = walks(
                walk_graph,
                [restarts[i] for i in indices],
                self.damping,
                steps=self.iterations,
                scopes=[graph.allowed_nodes(candidates[i]) for i in indices],
                reach=self.reach,
            )
            walk_of |= zip(indices, walks_of_graph, strict=True)
        return [walk_of[i] for i in range(len(candidates))]

    def paths(self, rows: IntArray, walk: Walk, restart: NodeWeights) -> WalkedPaths:
        """Corpus row -> the mentions and triples that led a walk to it, for some rows."""
        return WalkedPaths(
            self.graph, self.kb.corpus, self.names, strongest_paths(rows, walk, restart)
        )

    def restarts(
        self, queries: Sequence[Query], dense: Sequence[Ranking]
    ) -> tuple[list[NodeWeights], list[IntArray]]:
        """The restart weights of each query, not scaled to sum 1, and its seed triples, by index.

        The seed triples are those nearest to the query, among the triples that one of its candidates or
        no passage states. A query has none without a `triple_weight`.
        """
        graph = self.graph
        restarts = list(map(self.restart, queries, dense))
        if not isinstance(graph, FactGraph) or not self.triple_seeds:
            return restarts, [np.empty(0, dtype=np.int64)] * len(queries)
        allowed_triples = list(map(graph.triples_within, self.kb.candidates(queries)))
        nearest = self.kb.triple_vectors.search(
            self.kb.encode_queries(queries), self.triple_seeds, allowed_triples
        )
        for i, (triples, cosines) in enumerate(nearest):
            if len(triples):
                shares = self._shares(cosines, self.triple_seed_weight)
                restarts[i] = restarts[i].plus(graph.triple_restart(triples, shares))
        return restarts, [triples for triples, _ in nearest]

    def _shares(self, cosines: FloatArray, weight: float) -> FloatArray:
        """(n,) the shares of a weight by softmax of cosine / `dense_temperature`.

        `cosines` : (n,), descending, n ≥ 1.
        """
        share = np.exp((cosines - cosines[0]) / self.dense_temperature)
        shares: FloatArray = weight * share / share.sum()
        return shares

    def restart(self, query: Query, dense: Ranking) -> NodeWeights:
        """The restart weights of a query's dense hits, and of the titles and names in its text."""
        table = self.kb.mentions
        n = len(self.kb.corpus)
        (candidate_rows,) = self.kb.candidates([query])
        seeds = dense.top(self.dense_seeds)
        nodes = [seeds.rows]
        weights = [seeds.scores]
        if len(seeds):
            weights = [self._shares(seeds.scores, self.dense_weight)]
        for key in table.named_in(query.text):
            frequency = float(table.document_frequency[key])
            pages = float(table.pages[key])
            if pages:
                nodes.append(table.pages_of(key).astype(np.int64))
                weight = self.title_weight / (pages * np.log2(2 + frequency))
            else:
                nodes.append(np.array([n + key - table.n_titles], dtype=np.int64))
                weight = self.query_name_weight * (
                    np.log1p(n / frequency) / np.log1p(n)
                )
            weights.append(np.full(len(nodes[-1]), weight))
        start = NodeWeights.of(np.concatenate(nodes), np.concatenate(weights))
        if candidate_rows is None:
            return start
        allowed = (start.nodes >= n) | np.isin(start.nodes, candidate_rows)
        return NodeWeights(start.nodes[allowed], start.weights[allowed])

    def _ranking(
        self,
        query: Query,
        walk: Walk,
        restart: NodeWeights,
        dense: Ranking,
        triples: IntArray,
        k: int,
    ) -> Ranking:
        """The ranking of a query: passages by their share of the walk, then other dense hits."""
        passages = walk.nonzero(len(self.kb.corpus))
        first = top_with_ties(passages.weights, self.depth)
        walked = passages.nodes[first]
        shares = passages.weights[first]
        unwalked = dense.rows[~np.isin(dense.rows, walked)]
        least = np.full(len(unwalked), shares.min() if len(walked) else 1.0)
        place = np.arange(1.0, len(unwalked) + 1)

        def parts(rows: IntArray) -> dict[str, FloatArray]:
            return {
                "restart": restart.weights_of(rows),
                "walk": passages.weights_of(rows),
            }

        groups = {
            "walk": (walked, shares, parts(walked)),
            "dense": (
                unwalked,
                least / (1 + place),
                {**parts(unwalked), "least walk": least, "place": place},
            ),
        }
        graph = self.graph
        seed_triples: tuple[str, ...] | None = None
        if isinstance(graph, FactGraph):
            seed_triples = tuple(
                str(graph.knowledge_graph.triple(index)) for index in triples.tolist()
            )
        notes = WalkNotes(
            {"walk": "walk", "dense": "least walk / (1 + place)"},
            {"walk": "graph", "dense": "dense"},
            unlinked=unnamed_phrases(query.text, self.kb.mentions.lexicon),
            restart="the weight of a passage where the walk starts, before all are scaled to a sum of 1",
            triples=seed_triples,
            reach=self.reach if walk.cut else None,
        )
        paths = self.paths(walked, walk, restart)
        return Ranking.from_groups(dense.query_id, groups, dense.ids, paths, notes).top(
            min(k, self.depth)
        )

    @property
    def names(self) -> list[str]:
        """The names of the nodes that are no passages, in the order of the nodes."""
        table = self.kb.mentions
        entities = self.kb.graph.names if self.triple_weight > 0 else ()
        key = ("node_names", bool(entities))
        return self.kb.cached(key, lambda: [*table.names[table.n_titles :], *entities])

    def trace_batch(self, queries: Sequence[Query], k: int) -> list[Trace]:
        """The traces; a passage is joined to a start, walked to, near to a start, then ranked."""
        graph = self.graph
        whole = replace(self, depth=max(len(self.kb.corpus), 1))
        rankings = self.retrieve_batch(queries, self.depth)
        complete_rankings = whole.retrieve_batch(queries, whole.depth)
        why_far = f"the walk reached it, over more than {NEAR} mentions, and below the first k"
        traces = []
        for query, candidate_rows, ranking, complete in zip(
            queries,
            self.kb.candidates(queries),
            rankings,
            complete_rankings,
            strict=True,
        ):
            restart = self.restarts([query], self._dense([query]))[0][0]
            allowed = graph.allowed_nodes(candidate_rows)
            distances = graph.distances(restart.nodes, allowed)[: graph.n_passages]
            walked = complete.rows[complete.score_parts["walk"] > 0]
            steps = (
                step(
                    "joined",
                    "entity not linked",
                    _UNLINKED,
                    np.flatnonzero(distances >= 0),
                    walked,
                ),
                step(
                    "walked",
                    "not expanded",
                    f"farther than the walk's {self.iterations} steps",
                    walked,
                ),
                step(
                    "near", "ranked below k", why_far, walked[distances[walked] <= NEAR]
                ),
                step(
                    "ranked",
                    "ranked below k",
                    f"below the {self.depth} passages that are ranked",
                    ranking.rows,
                ),
            )
            traces.append(Trace(ranking.top(k), steps))
        return traces
