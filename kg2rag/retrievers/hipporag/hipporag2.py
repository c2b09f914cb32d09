"""Query -> passages by personalised PageRank from the facts that fit it: HippoRAG 2 as its released code behaves.

Theirs [1], commit c617143f: fact linking, weights, walk and every default. The code departs from the paper in places
(five entities are kept; a passage edge weighs half a fact) and is followed there. Its orders that depend on hashing are
ours: equal facts by first statement, equal phrases alphabetically (they are the first nodes), equal passages by corpus
position. Ours too: where a query has candidates, facts and walk are restricted to them and the phrases they state, but
edges between these and specificity remain the corpus's; an empty query gets the dense ranking, as one without a fact.

[1] Gutiérrez et al., "From RAG to Memory: Non-Parametric Continual Learning for Large Language Models", ICML 2025.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, Protocol

import numpy as np

from kg2rag.knowledge.base import KnowledgeBase
from kg2rag.retrievers.contract import Retriever
from kg2rag.retrievers.dense import walk_or_dense
from kg2rag.retrievers.hipporag import memory
from kg2rag.retrievers.hipporag.graph import PhraseGraph
from kg2rag.retrievers.hipporag.paths import PhrasePaths
from kg2rag.types.arrays import FloatArray, IntArray
from kg2rag.types.formulas import arithmetic
from kg2rag.types.parameters import above, at_least, at_most, below, check
from kg2rag.types.passages import Query
from kg2rag.types.rankings import Ranking, best, rank
from kg2rag.types.trace import Trace


class FactFilter(Protocol):
    """Which of the linked facts matter to the query: HippoRAG 2's "recognition memory", an LLM in the paper."""

    def __call__(self, query: str, facts: Sequence[tuple[str, str, str]]) -> Sequence[int]:
        """Positions in `facts` (head, relation, tail; best first) of those to keep; none means the dense ranking."""
        ...


class Linked(NamedTuple):
    """What a query starts from: facts and their scores in [0, 1], best first; phrases and their weights likewise."""

    facts: IntArray
    fact_scores: FloatArray
    phrases: IntArray
    weights: FloatArray


@dataclass(frozen=True)
class HippoRAG2(Retriever):
    """Facts nearest the query -> their phrases; PageRank from these and, faintly, from all passages by cosine.

    Parameters
    ----------
    damping : probability of following an edge rather than starting anew, in (0, 1).
    passage_weight : start weight of the passage most similar to the query; the least similar has 0.
    synonym_threshold : least cosine of two phrases that are joined as synonyms, in (0, 1].
    link_top_k : facts linked, and phrases kept of them.
    fact_filter : asked which linked facts to keep; None keeps all, as the reference rankings do.
    """

    kb: KnowledgeBase = field(repr=False)
    damping: float = 0.5
    passage_weight: float = 0.05
    synonym_threshold: float = 0.8
    link_top_k: int = 5
    fact_filter: FactFilter | None = None

    def __post_init__(self) -> None:
        check(
            self,
            damping=above(0) & below(1),
            passage_weight=at_least(0),
            synonym_threshold=above(0) & at_most(1),
            link_top_k=at_least(1),
        )

    def retrieve_batch(self, queries: Sequence[Query], k: int) -> list[Ranking]:
        """One walk a query, eight side by side, blocks of eight in parallel."""
        without = "no fact is linked" if memory.phrases(self.kb).fact_relations else "the graph has no fact"
        return walk_or_dense(self.kb, queries, k, link=self._starts, walk=self._walk, without=without)

    def prepare(self, queries: Sequence[Query]) -> None:
        """Encode the queries, the facts and the phrases, build the graph, compile the walk."""
        if queries:
            self.kb.encode_queries(queries)
            if memory.phrases(self.kb).fact_relations:
                _ = memory.fact_vectors(self.kb), self._graph.walk.flows
        super().prepare(queries)

    def link(self, queries: Sequence[Query]) -> list[Linked]:
        """The facts and phrases that each query starts from; empty arrays where it has none."""
        table, kb = memory.phrases(self.kb), self.kb
        empty = np.empty(0, dtype=np.int64)
        nothing = Linked(empty, np.empty(0), empty, np.empty(0))
        if not table.fact_relations or not queries:
            return [nothing] * len(queries)
        vectors = kb.encode_queries(queries)
        scopes = [None if rows is None else table.facts_in(rows) for rows in kb.candidates(queries)]
        nearest = memory.fact_vectors(kb).search(vectors, self.link_top_k, scopes)
        farthest = memory.fact_vectors(kb).search(-vectors, 1, scopes)
        return [
            self._linked(query, facts, _scaled(cosines, -negated[:1], cosines[:1]))
            if len(facts) and query.text.strip()
            else nothing
            for query, (facts, cosines), (_, negated) in zip(queries, nearest, farthest, strict=True)
        ]

    def _linked(self, query: Query, facts: IntArray, scores: FloatArray) -> Linked:
        """The facts that pass the filter, and their phrases by mean score · specificity."""
        table = memory.phrases(self.kb)
        if self.fact_filter is not None:
            kept = self._filtered(query.text, facts)
            facts, scores = facts[kept], scores[kept]
        sums: dict[int, list[float]] = {}
        for fact, score in zip(facts.tolist(), scores.tolist(), strict=True):
            for phrase in (int(table.fact_heads[fact]), int(table.fact_tails[fact])):
                sums.setdefault(phrase, []).append(score * float(table.specificity[phrase]))
        means = {phrase: sum(values) / len(values) for phrase, values in sums.items()}
        kept_phrases = sorted(means, key=lambda phrase: (-means[phrase], phrase))[: self.link_top_k]
        weights = np.array([means[phrase] for phrase in kept_phrases])
        return Linked(facts, scores, np.array(kept_phrases, dtype=np.int64)[weights > 0], weights[weights > 0])

    def _filtered(self, text: str, facts: IntArray) -> list[int]:
        assert self.fact_filter is not None
        kept = list(
            dict.fromkeys(self.fact_filter(text, [memory.phrases(self.kb).fact(fact) for fact in facts.tolist()]))
        )
        if strangers := [at for at in kept if not 0 <= at < len(facts)]:
            raise ValueError(f"fact_filter kept fact {strangers[0]} of {len(facts)}; positions count from 0.")
        return kept

    @property
    def _graph(self) -> PhraseGraph:
        return memory.phrase_graph(self.kb, self.synonym_threshold)

    def _starts(self, queries: Sequence[Query]) -> list[Linked | None]:
        return [start if len(start.phrases) else None for start in self.link(queries)]

    def restarts(self, queries: Sequence[Query], starts: Sequence[Linked]) -> tuple[FloatArray, FloatArray]:
        """Where the walks start, (n_queries, n_nodes), not scaled; every passage's cosine, (n_queries, n_passages)."""
        from kg2rag.compute.cosines import all_cosines

        graph = self._graph
        cosines = all_cosines(self.kb.encode_queries(queries), self.kb.vectors)
        restarts = np.zeros((len(queries), graph.n_nodes))
        for restart, start, similar, mask in zip(restarts, starts, cosines, self.kb.candidates(queries), strict=True):
            rows = np.arange(len(similar)) if mask is None else mask
            near = similar[rows]
            restart[start.phrases] = start.weights
            restart[graph.n_phrases + rows] = self.passage_weight * _scaled(near, near.min(), near.max())
        return restarts, cosines

    def _walk(self, queries: Sequence[Query], starts: Sequence[Linked], k: int) -> list[Ranking]:
        masks = self.kb.candidates(queries)
        restarts, cosines = self.restarts(queries, starts)
        scores = self._graph.pagerank(restarts, masks, self.damping)
        restarts /= restarts.sum(axis=1, keepdims=True)
        columns = zip(queries, starts, scores, restarts, cosines, masks, strict=True)
        return [self._ranking(query, k, *column) for query, *column in columns]

    def _ranking(
        self,
        query: Query,
        k: int,
        start: Linked,
        scores: FloatArray,
        restart: FloatArray,
        cosines: FloatArray,
        mask: IntArray | None,
    ) -> Ranking:
        graph, table = self._graph, memory.phrases(self.kb)
        passages = scores[graph.n_phrases :]
        rows = best(passages, k) if mask is None else mask
        return rank(
            query.id,
            rows,
            passages[rows],
            self.kb.corpus.ids,
            k,
            stages=("pagerank",),
            score_parts={
                "pagerank": passages[rows],
                "restart": restart[graph.n_phrases + rows],
                "cosine": cosines[rows],
            },
            paths=PhrasePaths(graph, start.phrases, mask),
            metadata={
                **arithmetic("pagerank", "graph"),
                "facts": tuple(zip(map(table.fact, start.facts.tolist()), start.fact_scores.tolist(), strict=True)),
                "phrases": tuple(
                    zip((table.phrases[i] for i in start.phrases.tolist()), start.weights.tolist(), strict=True)
                ),
            },
        )

    def trace_batch(self, queries: Sequence[Query], k: int) -> list[Trace]:
        """Which passages the phrases of the linked facts lead to; all are ranked, for all are faint starts."""
        rankings = self.retrieve_batch(queries, k)
        starts = [start.phrases for start in self.link(queries)]
        columns = zip(rankings, starts, self.kb.candidates(queries), strict=True)
        return [Trace(ranking, (self._graph.linked(phrases, mask),)) for ranking, phrases, mask in columns]


def _scaled(values: FloatArray, lowest: FloatArray | float, highest: FloatArray | float) -> FloatArray:
    """Min-max scaled to [0, 1]; all 1 where the values do not differ."""
    spread = np.asarray(highest) - np.asarray(lowest)
    if not spread > 0:
        return np.ones(len(values))
    scaled: FloatArray = np.clip((values - lowest) / spread, 0.0, 1.0)
    return scaled
