"""Query -> passages by personalised PageRank over who mentions whom. No LLM, no key; the system we recommend.

Passages are joined where one names another's title, and through the names they share. The walk starts at the best
dense hits and at what the query names, and prefers edges whose sentence fits the query.

Ours, after [1] (PageRank from query entities and passages, node specificity) and [2] (an LLM-free graph).
[1] Gutiérrez et al., "From RAG to Memory" (HippoRAG 2), ICML 2025. [2] Zhuang et al., "LinearRAG", 2025.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from kg2rag.knowledge_base import KnowledgeBase
from kg2rag.mention_graph import MentionGraph, walked_paths
from kg2rag.pipeline import Retriever
from kg2rag.retrievers.dense import Dense
from kg2rag.types import FloatArray, IntArray, Query, Ranking, best, rank


@dataclass(frozen=True)
class MentionPPR(Retriever):
    """Personalised PageRank over title links and shared names.

    Parameters
    ----------
    damping : probability of following an edge rather than starting anew, in (0, 1).
    iterations : steps of the walk.
    temperature : an edge counts exp((cos - 1) / temperature), cos between the query and the edge's best sentence.
    backward : weight of a title link against its direction.
    name_weight : weight of an edge between a passage and a name, times ln(1 + N / df).
    max_mentions : titles that more passages mention give no link.
    dense_seeds : how many dense hits the walk starts from.
    dense_weight, dense_temperature : they share dense_weight by softmax of their cosines / dense_temperature.
    title_weight : start weight of a page whose title the query names: title_weight / (pages · log2(2 + df)).
    query_name_weight : start weight of a name in the query, times ln(1 + N / df) / ln(1 + N).
    depth : passages ranked; those that the walk does not reach follow by cosine.
    """

    kb: KnowledgeBase = field(repr=False)
    damping: float = 0.5
    iterations: int = 15
    temperature: float = 0.25
    backward: float = 0.3
    name_weight: float = 0.03
    max_mentions: int = 50
    dense_seeds: int = 10
    dense_weight: float = 1.0
    dense_temperature: float = 0.03
    title_weight: float = 2.0
    query_name_weight: float = 0.5
    depth: int = 100

    def __post_init__(self) -> None:
        if not 0 < self.damping < 1:
            raise ValueError(f"damping must lie between 0 and 1, not {self.damping}.")
        for name in ("temperature", "dense_temperature", "iterations", "dense_seeds", "depth"):
            if getattr(self, name) <= 0:
                raise ValueError(f"{name} must be above 0, not {getattr(self, name)}.")
        for name in ("backward", "name_weight", "max_mentions", "dense_weight", "title_weight", "query_name_weight"):
            if getattr(self, name) < 0:
                raise ValueError(f"{name} must be at least 0, not {getattr(self, name)}.")

    def retrieve_batch(self, queries: Sequence[Query], k: int) -> list[Ranking]:
        """One compiled walk a query, in parallel."""
        if not queries:
            return []
        from kg2rag.walks import query_aware_walks

        graph, kb = self._graph(), self.kb
        dense = Dense(kb).retrieve_batch(queries, max(self.depth, self.dense_seeds))
        restarts = np.stack([self._restart(query, hits, graph) for query, hits in zip(queries, dense, strict=True)])
        masks = kb.candidates(queries)
        scores, via = query_aware_walks(
            graph.indptr,
            graph.targets,
            graph.weights,
            graph.sentence_ptr,
            graph.sentences,
            kb.sentence_vectors,
            kb.encode_queries(queries),
            restarts,
            np.stack([_allowed(mask, graph) for mask in masks]),
            self.damping,
            self.temperature,
            self.iterations,
        )
        return [
            self._ranking(walk, edges, restart, hits, k)
            for walk, edges, restart, hits in zip(scores, via, restarts, dense, strict=True)
        ]

    def prepare(self, queries: Sequence[Query]) -> None:
        """Encode the queries and the sentences, load the graph, compile the walk."""
        if queries:
            self.kb.encode_queries(queries)
        super().prepare(queries)

    def _graph(self) -> MentionGraph:
        return self.kb.mention_graph(self.backward, self.name_weight, self.max_mentions)

    def _restart(self, query: Query, dense: Ranking, graph: MentionGraph) -> FloatArray:
        """(n_nodes,) where the walk of a query starts, not yet scaled."""
        table, n = self.kb.mentions, graph.n_passages
        restart = np.zeros(graph.n_nodes)
        seeds = dense.top(self.dense_seeds)
        if len(seeds):
            share = np.exp((seeds.scores - seeds.scores[0]) / self.dense_temperature)
            restart[seeds.rows] += self.dense_weight * share / share.sum()
        for key in table.named_in(query.text):
            frequency, pages = float(table.document_frequency[key]), float(table.pages[key])
            if pages:
                restart[table.pages_of(key)] += self.title_weight / (pages * np.log2(2 + frequency))
            else:
                rarity = np.log1p(n / frequency) / np.log1p(n)
                restart[n + key - table.n_titles] += self.query_name_weight * rarity
        if query.candidates is not None:
            outside = np.ones(n, dtype=bool)
            outside[self.kb.corpus.rows(query.candidates)] = False
            restart[:n][outside] = 0.0
        return restart

    def _ranking(self, walk: FloatArray, via: IntArray, restart: FloatArray, dense: Ranking, k: int) -> Ranking:
        """Passages by their share of the walk; below them the dense hits that it did not reach."""
        graph, table = self._graph(), self.kb.mentions
        reached = best(walk[: graph.n_passages], self.depth)
        reached = reached[walk[reached] > 0]
        beyond = dense.rows[~np.isin(dense.rows, reached)]
        floor = walk[reached].min() if len(reached) else 1.0
        rows = np.concatenate([reached, beyond])
        order = np.arange(1, len(beyond) + 1)
        scores = np.concatenate([walk[reached], floor / (1.0 + order)])
        return rank(
            dense.query_id,
            rows,
            scores,
            dense.ids,
            min(k, self.depth),
            stages=("walk", "dense"),
            stage_codes=np.concatenate([np.zeros(len(reached)), np.ones(len(beyond))]),
            parts={"restart": restart[rows], "walk": walk[rows]},
            paths=walked_paths(reached, via, restart, graph, self.kb.corpus, table.names[table.n_titles :]),
        )


def _allowed(mask: IntArray | None, graph: MentionGraph) -> np.ndarray:
    allowed = np.ones(graph.n_nodes, dtype=bool)
    if mask is not None:
        allowed[: graph.n_passages] = False
        allowed[mask] = True
    return allowed
