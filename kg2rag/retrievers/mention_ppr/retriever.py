"""Query -> passages by personalised PageRank over who mentions whom. No LLM, no key.

Passages are joined where one names another's title, and through the names they share. The walk
starts at the best dense hits and at what the query names. With a `triple_weight` it walks the
triples of the knowledge graph too, such as an LLM's, and starts also at the ends of those that fit
the query best.

Passages without titles are joined by the rare terms that they share as well.

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
from kg2rag.retrievers.contract import Tuned
from kg2rag.retrievers.dense import Dense, VectorRetriever
from kg2rag.retrievers.mention_ppr import graph as graphs
from kg2rag.retrievers.mention_ppr.graph import (
    FactGraph,
    MentionGraph,
    WalkedPaths,
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
"""The default maximum of nodes of a walk; its time does not grow with larger corpora."""
COLOUR = "#0072B2"  # in plots
TUNING = (
    Tuned(
        "mention_ppr",
        "the ranges whose middle its weights are: damping, temperatures, backward, name, title and query name weight",
        "chosen",
        61,
        sets=("musique-100", "hotpotqa-300", "2wiki-1000"),
    ),
)
NEAR = 2
"""The maximum distance that a trace calls near: the passage names a start, or shares a name with it."""
_UNLINKED = (
    "no chain of mentions leads from the dense seeds and the names of the query to it"
)


@dataclass(frozen=True)
class WalkNotes(Notes):
    """Notes of a walk.

    Attributes
    ----------
    restart : the meaning of the score part of this name.
    triples : the triples at which the walk started; None if the knowledge graph is not walked.
    reach : the number of nodes of a walk that was limited.
    """

    restart: str | None = None
    triples: tuple[str, ...] | None = None
    reach: int | None = None


@dataclass(frozen=True)
class MentionPPR(VectorRetriever):
    """Personalised PageRank over title links and shared names.

    Parameters
    ----------
    damping : probability of following an edge rather than restarting, in (0, 1).
    iterations : steps of the walk.
    backward : weight of a title link against its direction.
    name_weight : weight of an edge between a passage and a name, times ln(1 + N / df).
    max_mentions : titles that more passages mention give no link.
    dense_seeds : how many dense hits the walk starts from.
    dense_weight, dense_temperature : they share dense_weight by softmax of their cosines / dense_temperature.
    title_weight : start weight of a page whose title the query names: title_weight / (pages · log2(2 + df)).
    query_name_weight : start weight of a name in the query, times ln(1 + N / df) / ln(1 + N).
    depth : passages ranked; those that the walk does not reach follow by cosine.
    reach : where the graph has more nodes, the walk is over the first so many that a breadth-first search finds from
        its start, the greatest starts first; the notes say where that left nodes out.
    triple_weight : weight of an edge between the two entities of a triple, times its strength / 10; 0 leaves the
        knowledge graph out.
    triple_seeds : how many of the triples nearest to the query the walk starts from; 0 for none.
    triple_seed_weight : their ends share it by softmax of the triples' cosines / dense_temperature.
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
            return graphs.mention_facts(self.kb, *weights, self.triple_weight)
        return graphs.mention_graph(self.kb, *weights)

    def workloads(self, queries: Sequence[Query]) -> list[Workload]:
        """The passages, and the triples if they have a weight."""
        workloads = super().workloads(queries)
        if self.triple_weight > 0:
            workloads.append(self.kb.workload("triples", self.kb.graph.triple_texts()))
        return workloads

    def retrieve_batch(self, queries: Sequence[Query], k: int) -> list[Ranking]:
        """The rankings of a batch, walked in blocks of `BLOCK`."""
        blocks = [
            queries[first : first + BLOCK] for first in range(0, len(queries), BLOCK)
        ]
        return [
            ranking
            for block in blocks
            for ranking in self._walked(block, self._dense(block), k)
        ]

    def _dense(self, queries: Sequence[Query]) -> list[Ranking]:
        return Dense(self.kb).retrieve_batch(queries, max(self.depth, self.dense_seeds))

    def _walked(
        self, queries: Sequence[Query], dense: Sequence[Ranking], k: int
    ) -> list[Ranking]:
        restarts, matching = self.restarts(queries, dense)
        columns = zip(
            self.walks(restarts, self.kb.candidates(queries)),
            restarts,
            dense,
            matching,
            strict=True,
        )
        return [self._ranking(*column, k) for column in columns]

    def from_seeds(
        self, queries: Sequence[Query], seeds: Sequence[IntArray]
    ) -> list[Ranking]:
        """The rankings of walks that start half at given rows, half at their usual restart."""
        corpus = self.kb.corpus
        halves = []
        restarts, _ = self.restarts(queries, self._dense(queries))
        for rows, restart in zip(seeds, restarts, strict=True):
            scaled = NodeWeights(
                restart.nodes, restart.weights / (restart.weights.sum() or 1.0)
            )
            halves.append(
                NodeWeights.of(rows, np.full(len(rows), 1 / len(rows))).plus(scaled)
            )
        rankings = []
        walks_of_queries = self.walks(halves, self.kb.candidates(queries))
        for query, walk in zip(queries, walks_of_queries, strict=True):
            passages = walk.reached(len(corpus))
            ranking = Ranking.from_scores(
                query.id, passages.nodes, passages.weights, corpus.ids
            )
            rankings.append(ranking.top(self.depth))
        return rankings

    def walks(
        self, restarts: Sequence[NodeWeights], masks: Sequence[IntArray | None]
    ) -> list[Walk]:
        """The walk of each restart, over the passages of its mask; None means all."""
        graph = self.graph
        queries_of: dict[WalkGraph, list[int]] = {}
        for i, mask in enumerate(masks):
            queries_of.setdefault(graph.walked_within(mask), []).append(i)
        walk_of: dict[int, Walk] = {}
        for walked, rows in queries_of.items():
            walks_of_graph = walks(
                walked,
                [restarts[i] for i in rows],
                self.damping,
                steps=self.iterations,
                scopes=[graph.scope(masks[i]) for i in rows],
                reach=self.reach,
            )
            walk_of |= zip(rows, walks_of_graph, strict=True)
        return [walk_of[i] for i in range(len(masks))]

    def paths(self, rows: IntArray, walk: Walk, restart: NodeWeights) -> WalkedPaths:
        """The mentions and triples that led a walk to some rows."""
        return WalkedPaths(
            self.graph, self.kb.corpus, self.names, strongest_paths(rows, walk, restart)
        )

    def restarts(
        self, queries: Sequence[Query], dense: Sequence[Ranking]
    ) -> tuple[list[NodeWeights], list[IntArray]]:
        """The unscaled restart weights of the walks, and the triples nearest to each query.

        A query's triples are among those that one of its candidates, or no passage, states.
        """
        graph = self.graph
        restarts = list(map(self.restart, queries, dense))
        if not isinstance(graph, FactGraph) or not self.triple_seeds:
            return restarts, [np.empty(0, dtype=np.int64)] * len(queries)
        within = [graph.triples_within(mask) for mask in self.kb.candidates(queries)]
        matching = self.kb.triple_vectors.search(
            self.kb.encode_queries(queries), self.triple_seeds, within
        )
        for i, (triples, cosines) in enumerate(matching):
            if len(triples):
                starting = graph.starting_at(
                    triples, self._shares(cosines, self.triple_seed_weight)
                )
                restarts[i] = restarts[i].plus(starting)
        return restarts, [triples for triples, _ in matching]

    def _shares(self, cosines: FloatArray, weight: float) -> FloatArray:
        """A weight, distributed by softmax of descending cosines."""
        share = np.exp((cosines - cosines[0]) / self.dense_temperature)
        shares: FloatArray = weight * share / share.sum()
        return shares

    def restart(self, query: Query, dense: Ranking) -> NodeWeights:
        """The restart weights of a query's dense hits, titles and names."""
        table = self.kb.mentions
        n = len(self.kb.corpus)
        (mask,) = self.kb.candidates([query])
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
        if mask is None:
            return start
        entered = (start.nodes >= n) | np.isin(start.nodes, mask)
        return NodeWeights(start.nodes[entered], start.weights[entered])

    def _ranking(
        self,
        walk: Walk,
        restart: NodeWeights,
        dense: Ranking,
        triples: IntArray,
        k: int,
    ) -> Ranking:
        """The passages by their share of the walk, then the dense hits that it did not reach."""
        passages = walk.reached(len(self.kb.corpus))
        first = top_with_ties(passages.weights, self.depth)
        walked, shares = passages.nodes[first], passages.weights[first]
        unwalked = dense.rows[~np.isin(dense.rows, walked)]
        least = np.full(len(unwalked), shares.min() if len(walked) else 1.0)
        place = np.arange(1.0, len(unwalked) + 1)

        def parts(rows: IntArray) -> dict[str, FloatArray]:
            return {"restart": restart.at(rows), "walk": passages.at(rows)}

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
                str(graph.facts.triple(triple)) for triple in triples.tolist()
            )
        notes = WalkNotes(
            {"walk": "walk", "dense": "least walk / (1 + place)"},
            {"walk": "graph", "dense": "dense"},
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
        """The names of the nodes that are not passages."""
        table = self.kb.mentions
        entities = self.kb.graph.names if self.triple_weight > 0 else ()
        key = ("node_names", bool(entities))
        return self.kb.cached(key, lambda: [*table.names[table.n_titles :], *entities])

    def trace_batch(self, queries: Sequence[Query], k: int) -> list[Trace]:
        """The steps: connection with the start of the walk, the walk's reach, and the distance."""
        graph = self.graph
        whole = replace(self, depth=max(len(self.kb.corpus), 1))
        rankings = self.retrieve_batch(queries, self.depth)
        complete = whole.retrieve_batch(queries, whole.depth)
        why_far = f"the walk reached it, over more than {NEAR} mentions, and below the first k"
        traces = []
        for query, mask, ranking, full in zip(
            queries, self.kb.candidates(queries), rankings, complete, strict=True
        ):
            restart = self.restarts([query], self._dense([query]))[0][0]
            away = graph.distances(restart.nodes, graph.scope(mask))[: graph.n_passages]
            walked = full.rows[full.score_parts["walk"] > 0]
            steps = (
                step(
                    "joined",
                    "entity not linked",
                    _UNLINKED,
                    np.flatnonzero(away >= 0),
                    walked,
                ),
                step(
                    "walked",
                    "not expanded",
                    f"farther than the walk's {self.iterations} steps",
                    walked,
                ),
                step("near", "ranked below k", why_far, walked[away[walked] <= NEAR]),
                step(
                    "ranked",
                    "ranked below k",
                    f"below the {self.depth} passages that are ranked",
                    ranking.rows,
                ),
            )
            traces.append(Trace(ranking.top(k), steps))
        return traces
