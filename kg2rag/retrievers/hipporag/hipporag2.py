"""Query -> passages by personalised PageRank from the facts that fit it: HippoRAG 2 as its released code behaves.

Theirs [1], commit c617143f: fact linking, weights, walk and every default. The code departs from the paper in places
(five entities are kept; a passage edge weighs half a fact) and is followed there. Ours, where theirs depends on hash
order: equal facts by first statement, equal phrases alphabetically, equal passages by corpus position. Ours too: a
query's candidates restrict facts and walk to them and the phrases they state, but edges between these and specificity
remain the corpus's; an empty query gets the dense ranking, as one without a fact.

[1] Gutiérrez et al., "From RAG to Memory: Non-Parametric Continual Learning for Large Language Models", ICML 2025.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np

from kg2rag.knowledge import KnowledgeBase
from kg2rag.retrievers.hipporag import memory
from kg2rag.retrievers.hipporag.walk import Linked, PhraseWalk
from kg2rag.types import Count, Damping, FloatArray, IntArray, Notes, Query, Ranking, Threshold, Weight, top_with_ties

COLOUR = "#CC79A7"  # in plots


class FactFilter(Protocol):
    """Which of the linked facts matter to the query: HippoRAG 2's "recognition memory", an LLM in the paper."""

    def __call__(self, query: str, facts: Sequence[tuple[str, str, str]]) -> Sequence[int]:
        """Positions in `facts` (head, relation, tail; best first) of those to keep; none means the dense ranking."""
        ...


@dataclass(frozen=True)
class FactNotes(Notes):
    """Notes of a walk from facts.

    Attributes
    ----------
    facts : those that were linked (head, relation, tail), with their scores in [0, 1].
    phrases : those of the facts that were kept, with their weights where the walk starts.
    """

    facts: tuple[tuple[tuple[str, str, str], float], ...] | None = None
    phrases: tuple[tuple[str, float], ...] | None = None


@dataclass(frozen=True)
class HippoRAG2(PhraseWalk):
    """Facts nearest the query -> their phrases; PageRank from these and, faintly, from all passages by cosine.

    Parameters
    ----------
    damping : probability of following an edge rather than restarting, in (0, 1).
    passage_weight : start weight of the passage most similar to the query; the least similar has 0.
    synonym_threshold : least cosine of two phrases that are joined as synonyms, in (0, 1].
    link_top_k : facts linked, and phrases kept of them.
    fact_filter : chooses among the linked facts; None keeps all, as the reference rankings do.
    """

    kb: KnowledgeBase = field(repr=False)
    damping: Damping = 0.5
    passage_weight: Weight = 0.05
    synonym_threshold: Threshold = 0.8
    link_top_k: Count = 5
    fact_filter: FactFilter | None = None
    passages = True
    unlinked = "no fact is linked"

    def prepare(self, queries: Sequence[Query]) -> None:
        """Encode the facts too, without linking, which would call the filter."""
        if queries and memory.phrases(self.kb).fact_relations:
            memory.fact_vectors(self.kb)
        super().prepare(queries)

    def link(self, queries: Sequence[Query]) -> list[Linked]:
        """The phrases of the facts nearest to each query; none for an empty query."""
        table, kb = memory.phrases(self.kb), self.kb
        nothing = Linked(np.empty(0, dtype=np.int64), np.empty(0), FactNotes())
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
            kept = list(dict.fromkeys(self.fact_filter(query.text, list(map(table.fact, facts.tolist())))))
            if strangers := [at for at in kept if not 0 <= at < len(facts)]:
                raise ValueError(f"fact_filter kept fact {strangers[0]} of {len(facts)}; positions count from 0.")
            facts, scores = facts[kept], scores[kept]
        sums: dict[int, list[float]] = {}
        for fact, score in zip(facts.tolist(), scores.tolist(), strict=True):
            for phrase in (int(table.fact_heads[fact]), int(table.fact_tails[fact])):
                sums.setdefault(phrase, []).append(score * float(table.specificity[phrase]))
        means = {phrase: sum(values) / len(values) for phrase, values in sums.items()}
        kept_phrases = sorted(means, key=lambda phrase: (-means[phrase], phrase))[: self.link_top_k]
        kept_phrases = [phrase for phrase in kept_phrases if means[phrase] > 0]
        weights = [means[phrase] for phrase in kept_phrases]
        notes = FactNotes(
            "pagerank",
            "graph",
            facts=tuple(zip(map(table.fact, facts.tolist()), scores.tolist(), strict=True)),
            phrases=tuple(zip((table.phrases[phrase] for phrase in kept_phrases), weights, strict=True)),
        )
        return Linked(np.array(kept_phrases, dtype=np.int64), np.array(weights, dtype=np.float64), notes)

    def restarts(self, queries: Sequence[Query], links: Sequence[Linked]) -> tuple[FloatArray, FloatArray]:
        """Where the walks start, (n_queries, n_nodes), not scaled; every passage's cosine, (n_queries, n_passages)."""
        from kg2rag.knowledge.indexes.dense import cosines as all_cosines

        n_phrases = self.graph.n_phrases
        cosines = all_cosines(self.kb.encode_queries(queries), self.kb.vectors)
        restarts = np.zeros((len(queries), self.graph.n_nodes))
        for restart, link, similar, mask in zip(restarts, links, cosines, self.kb.candidates(queries), strict=True):
            rows = np.arange(len(similar)) if mask is None else mask
            near = similar[rows]
            restart[link.phrases] = link.weights
            restart[n_phrases + rows] = self.passage_weight * _scaled(near, near.min(), near.max())
        return restarts, cosines

    def walk(self, queries: Sequence[Query], links: Sequence[Linked], k: int) -> list[Ranking]:
        """Start at the linked phrases and, faintly, at every passage; all passages are ranked."""
        masks = self.kb.candidates(queries)
        restarts, cosines = self.restarts(queries, links)
        walked = self.graph.pagerank(restarts, masks, self.damping)
        restarts /= restarts.sum(axis=1, keepdims=True)
        n, rankings = self.graph.n_phrases, []
        for at, (query, link, mask) in enumerate(zip(queries, links, masks, strict=True)):
            parts = {"pagerank": walked[at, n:], "restart": restarts[at, n:], "cosine": cosines[at]}
            rows = top_with_ties(walked[at, n:], k) if mask is None else mask
            rankings.append(self.ranking(query, k, link, mask, rows, **parts))
        return rankings


def _scaled(values: FloatArray, lowest: FloatArray | float, highest: FloatArray | float) -> FloatArray:
    """Min-max scaled to [0, 1]; all 1 where the values do not differ."""
    spread = np.asarray(highest) - np.asarray(lowest)
    if not spread > 0:
        return np.ones(len(values))
    scaled: FloatArray = np.clip((values - lowest) / spread, 0.0, 1.0)
    return scaled
