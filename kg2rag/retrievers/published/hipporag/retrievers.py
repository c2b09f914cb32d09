"""Query -> passages by personalised PageRank over phrases: HippoRAG [1] and HippoRAG 2 [2].

HippoRAG follows [1], Sec. 2: each name of the query is linked to the phrase with the nearest vector;
the walk starts there with the phrase's specificity, 1 / (number of its passages); the score of a
passage is the sum over its phrases. Ours: the names are the query's quoted and capitalised phrases,
or, without any, the names of the graph in it (the paper asks an LLM); a phrase counts once in a
passage.

HippoRAG 2 follows the released code (commit c617143f), also in its departures from [2]. Ours, where
the code depends on hash order: equal facts by first statement, equal phrases alphabetically, equal
passages by corpus position. Also ours: candidates restrict facts and walk; edges and specificity
are those of the whole corpus.

[1] Gutiérrez et al., "HippoRAG: Neurobiologically Inspired Long-Term Memory for Large Language
Models", NeurIPS 2024. [2] Gutiérrez et al., "From RAG to Memory: Non-Parametric Continual Learning
for Large Language Models", ICML 2025.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from typing import ClassVar, NamedTuple

import numpy as np

from kg2rag.knowledge import KnowledgeBase, Workload
from kg2rag.knowledge.graph.pagerank import NodeWeights, walks
from kg2rag.knowledge.indexes.dense import cosines as all_cosines
from kg2rag.retrievers.dense import (
    VectorRetriever,
    WalkOrDense,
    by_columns,
    nearest_names,
)
from kg2rag.retrievers.fusion import min_max
from kg2rag.retrievers.linking.linkers import Link, NGramLinker
from kg2rag.retrievers.linking.phrases import phrases
from kg2rag.retrievers.published.hipporag import memory
from kg2rag.types import (
    Count,
    Damping,
    FloatArray,
    IntArray,
    LazyPaths,
    Notes,
    Query,
    Ranking,
    Step,
    Threshold,
    Weight,
    step,
    top_with_ties,
)

COLOUR = "#CC79A7"  # in plots
MAX_NAMES = 20  # the first names of a query, which are linked
Fact = tuple[str, str, str]  # head, relation, tail, as phrases


@dataclass(frozen=True)
class NameNotes(Notes):
    """Notes: each name of the query, its nearest phrase and cosine; restart weights by phrase."""

    names: tuple[tuple[str, str, float], ...] | None = None
    restart: Mapping[str, float] | None = None


@dataclass(frozen=True)
class FactNotes(Notes):
    """Notes: the linked facts with scores in [0, 1], and their phrases with restart weights."""

    facts: tuple[tuple[Fact, float], ...] | None = None
    phrases: tuple[tuple[str, float], ...] | None = None


class Start(NamedTuple):
    """The start of a walk: phrases, most important first, their weights, and the notes."""

    phrases: IntArray
    weights: FloatArray
    notes: Notes

    @classmethod
    def of(cls, weights: Mapping[int, float], notes: Notes) -> Start:
        """A start from the weight of each phrase."""
        return cls(
            np.array(list(weights), dtype=np.int64),
            np.array(list(weights.values())),
            notes,
        )

    def __bool__(self) -> bool:
        return len(self.phrases) > 0


class PhraseWalk(WalkOrDense[Start]):
    """A walk from phrases.

    `passages` : whether the walk enters passages. `unlinked_reason` : why a query has no phrase.
    """

    damping: float
    synonym_threshold: float
    passages: ClassVar[bool]
    unlinked_reason: ClassVar[str]

    @property
    def unlinked(self) -> str:
        """The reason: the query has no phrase, or the graph has none."""
        if memory.phrases(self.kb).phrases:
            return self.unlinked_reason
        return "the graph has no fact"

    @property
    def graph(self) -> memory.PhraseGraph:
        """The phrase graph of the knowledge base under `synonym_threshold`."""
        return memory.phrase_graph(self.kb, self.synonym_threshold)

    def workloads(self, queries: Sequence[Query]) -> list[Workload]:
        """The passages and the phrases."""
        return [
            *super().workloads(queries),
            self.kb.workload("phrases", memory.phrases(self.kb).phrases),
        ]

    def pagerank(
        self, restarts: Sequence[NodeWeights], candidates: Sequence[IntArray | None]
    ) -> list[FloatArray]:
        """The PageRank of every node, (n_nodes,), for each restart.

        `candidates` : for each restart, the rows of the passages that the walk may enter, with their
        phrases; None for all.
        """
        graph = self.graph.walked(self.passages)
        scopes = [
            self.graph.scope(candidate_rows, self.passages)
            for candidate_rows in candidates
        ]
        return [
            shares.dense(graph.n_nodes)
            for shares in walks(graph, restarts, self.damping, scopes=scopes)
        ]

    def ranking(
        self,
        query: Query,
        k: int,
        start: Start,
        candidate_rows: IntArray | None,
        rows: IntArray,
        **parts: FloatArray,
    ) -> Ranking:
        """The ranking of the passages in `rows` by the first of `parts`, with the paths to them.

        `parts` : the score parts of all passages, (n_passages,) each.
        """
        ranking = by_columns(self.kb, query, rows, parts, start.notes, k)
        graph = self.graph
        # One search finds the paths to all hits, when the first of them is read.
        node_paths = cache(
            lambda: graph.node_paths(start.phrases, ranking.rows, candidate_rows)
        )
        paths = LazyPaths(lambda row: graph.triples(node_paths().get(row, ())))
        return replace(ranking, paths=paths)

    def steps(self, query: Query, ranking: Ranking) -> tuple[Step, ...]:
        """The step of linking, which the passages pass to which a linked phrase leads."""
        graph = self.graph
        (start,) = self.link([query])
        (candidate_rows,) = self.kb.candidates([query])
        if not start:
            return (
                step(
                    "linked",
                    "entity not linked",
                    "nothing was linked: dense ranking",
                    [],
                ),
            )
        nodes, _ = graph.walked(self.passages).breadth_first(
            start.phrases, allowed=graph.scope(candidate_rows, self.passages)
        )
        why = "no chain of facts, synonyms and passages leads from the linked phrases to it"
        rows = graph.table.passages.of_all(nodes[nodes < graph.n_phrases])
        return (step("linked", "entity not linked", why, rows),)


@dataclass(frozen=True)
class HippoRAG(PhraseWalk):
    """PageRank over phrases from the query's names; the dense ranking for a query without names.

    Parameters
    ----------
    damping : the probability of following an edge rather than restarting, in (0, 1).
    synonym_threshold : the minimum cosine of two phrases that are joined as synonyms, in (0, 1].
    """

    kb: KnowledgeBase = field(repr=False)
    damping: Damping = 0.5
    synonym_threshold: Threshold = 0.8
    passages = False
    unlinked_reason = "the query names nothing"

    def link(self, queries: Sequence[Query]) -> list[Start]:
        """The start of each query: the phrases nearest to its names, in its order.

        The weight of a phrase is its specificity.
        """
        kb = self.kb
        table = memory.phrases(kb)
        if not table.phrases:
            return [Start.of({}, NameNotes())] * len(queries)
        names = list(
            map(_names, queries, NGramLinker(kb, limit=MAX_NAMES).link_batch(queries))
        )
        scopes = [
            None if candidate_rows is None else table.stated_in(candidate_rows)[1]
            for candidate_rows in kb.candidates(queries)
        ]
        return list(
            map(
                self._start,
                nearest_names(kb, lambda: memory.phrase_vectors(kb), names, scopes),
            )
        )

    def _start(self, nearest: Sequence[tuple[str, int, float]]) -> Start:
        """The start at the phrases nearest to a query's names, given as (name, phrase, cosine)."""
        table = memory.phrases(self.kb)
        weights = {phrase: float(table.specificity[phrase]) for _, phrase, _ in nearest}
        notes = NameNotes(
            "pagerank",
            "graph",
            names=tuple(
                (name, table.phrases[phrase], cosine)
                for name, phrase, cosine in nearest
            ),
            restart={
                table.phrases[phrase]: weight for phrase, weight in weights.items()
            },
        )
        return Start.of(weights, notes)

    def walk(
        self, queries: Sequence[Query], starts: Sequence[Start], k: int
    ) -> list[Ranking]:
        """The rankings of passages by the summed PageRank of their phrases.

        A passage without a phrase of PageRank above 0 is no hit.
        """
        members = memory.phrases(self.kb).passages
        n_passages = len(self.kb.corpus)
        candidates = self.kb.candidates(queries)
        walked = self.pagerank(
            [NodeWeights.of(start.phrases, start.weights) for start in starts],
            candidates,
        )
        rankings = []
        for query, start, candidate_rows, shares in zip(
            queries, starts, candidates, walked, strict=True
        ):
            mass = shares[members.owners]
            sums = np.bincount(members.others, weights=mass, minlength=n_passages)
            n_phrases = np.bincount(members.others[mass > 0], minlength=n_passages)
            rows = np.flatnonzero(sums > 0)
            if candidate_rows is not None:
                rows = np.intersect1d(rows, candidate_rows)
            parts = {
                "pagerank": sums.astype(np.float64),
                "phrases": n_phrases.astype(np.float64),
            }
            rankings.append(
                self.ranking(query, k, start, candidate_rows, rows, **parts)
            )
        return rankings

    def steps(self, query: Query, ranking: Ranking) -> tuple[Step, ...]:
        """The steps: linking to a passage's phrases, and the reach of the walk."""
        walked = step(
            "walked", "not expanded", "the walk did not reach it", ranking.rows
        )
        return (*super().steps(query, ranking), walked)


@dataclass(frozen=True)
class HippoRAG2(PhraseWalk):
    """PageRank from the phrases of the facts nearest to the query and, with low weight, all passages.

    Parameters
    ----------
    damping, synonym_threshold : as in `HippoRAG`.
    passage_weight : the restart weight of the passage most similar to the query; the least similar has 0.
    link_top_k : the maximum of linked facts, and of their phrases at which the walk starts.
    fact_filter : the "recognition memory", an LLM in the paper. It gets a query and its linked facts, best first, and
        returns the indices of those to keep; without any, the query gets the dense ranking. None keeps all facts, as
        the reference rankings do.
    """

    kb: KnowledgeBase = field(repr=False)
    damping: Damping = 0.5
    passage_weight: Weight = 0.05
    synonym_threshold: Threshold = 0.8
    link_top_k: Count = 5
    fact_filter: Callable[[str, Sequence[Fact]], Sequence[int]] | None = None
    passages = True
    unlinked_reason = "no fact is linked"

    def workloads(self, queries: Sequence[Query]) -> list[Workload]:
        """The passages, the phrases and the facts."""
        return [
            *super().workloads(queries),
            self.kb.workload("facts", memory.fact_texts(self.kb)),
        ]

    def prepare(self, queries: Sequence[Query]) -> None:
        """Encode the queries and the facts; linking all queries would call the filter."""
        VectorRetriever.prepare(self, queries)

    def link(self, queries: Sequence[Query]) -> list[Start]:
        """The start of each query at the phrases of its nearest facts; none for an empty query."""
        kb = self.kb
        table = memory.phrases(kb)
        starts = [Start.of({}, FactNotes())] * len(queries)
        if not table.facts or not queries:
            return starts
        scopes = [
            None if candidate_rows is None else table.stated_in(candidate_rows)[0]
            for candidate_rows in kb.candidates(queries)
        ]
        vectors, index = kb.encode_queries(queries), memory.fact_vectors(kb)
        nearest = index.search(vectors, self.link_top_k, scopes)
        farthest = index.search(-vectors, 1, scopes)
        for i, (facts, cosines) in enumerate(nearest):
            if len(facts) and queries[i].text.strip():
                # The search for -vector gives the least similar fact, which has the score 0.
                least = -farthest[i][1][0]
                scores = min_max(cosines, least, cosines[0])
                starts[i] = self._start(
                    queries[i], dict(zip(facts.tolist(), scores.tolist(), strict=True))
                )
        return starts

    def _start(self, query: Query, facts: Mapping[int, float]) -> Start:
        """The start at the phrases of the facts that pass the filter.

        The weight of a phrase is the mean of score · specificity over its facts. `facts` : fact -> score in
        [0, 1], best first.
        """
        table = memory.phrases(self.kb)
        facts = self._filter(query, facts)
        scores: dict[int, list[float]] = {}
        for fact, score in facts.items():
            for phrase in table.ends[fact].tolist():
                scores.setdefault(phrase, []).append(
                    score * float(table.specificity[phrase])
                )
        means = {phrase: sum(values) / len(values) for phrase, values in scores.items()}
        best = sorted(means, key=lambda phrase: (-means[phrase], phrase))[
            : self.link_top_k
        ]
        weights = {phrase: means[phrase] for phrase in best if means[phrase] > 0}
        notes = FactNotes(
            "pagerank",
            "graph",
            facts=tuple((table.facts[fact], score) for fact, score in facts.items()),
            phrases=tuple(
                (table.phrases[phrase], weight) for phrase, weight in weights.items()
            ),
        )
        return Start.of(weights, notes)

    def _filter(self, query: Query, facts: Mapping[int, float]) -> Mapping[int, float]:
        """The facts that `fact_filter` keeps with their scores, in its order."""
        if self.fact_filter is None:
            return facts
        codes = list(facts)
        table = memory.phrases(self.kb)
        indices = self.fact_filter(query.text, [table.facts[code] for code in codes])
        filtered: dict[int, float] = {}
        for index in indices:
            if not 0 <= index < len(codes):
                raise ValueError(
                    f"fact_filter kept fact {index} of {len(codes)}; positions count from 0."
                )
            filtered[codes[index]] = facts[codes[index]]
        return filtered

    def restarts(
        self, queries: Sequence[Query], starts: Sequence[Start]
    ) -> tuple[list[NodeWeights], FloatArray]:
        """The restart weights of each query, not scaled to sum 1, and the cosines of all passages.

        The cosines are (n_queries, n_passages).
        """
        cosines = all_cosines(self.kb.encode_queries(queries), self.kb.vectors)
        restarts = []
        candidates = self.kb.candidates(queries)
        for start, similarity, candidate_rows in zip(
            starts, cosines, candidates, strict=True
        ):
            rows = (
                np.arange(len(similarity)) if candidate_rows is None else candidate_rows
            )
            passage_weights = self.passage_weight * min_max(similarity[rows])
            nodes = np.append(start.phrases, self.graph.n_phrases + rows)
            weights = np.append(start.weights, passage_weights)
            restarts.append(NodeWeights.of(nodes, weights))
        return restarts, cosines

    def walk(
        self, queries: Sequence[Query], starts: Sequence[Start], k: int
    ) -> list[Ranking]:
        """The rankings of all passages by their PageRank; see `restarts` for its start."""
        restarts, cosines = self.restarts(queries, starts)
        candidates = self.kb.candidates(queries)
        walked = self.pagerank(restarts, candidates)
        n_phrases = self.graph.n_phrases
        passages = n_phrases + np.arange(len(self.kb.corpus))
        rankings = []
        for i, (query, start, candidate_rows) in enumerate(
            zip(queries, starts, candidates, strict=True)
        ):
            shares = walked[i][n_phrases:]
            restart = restarts[i].weights_of(passages) / restarts[i].weights.sum()
            rows = top_with_ties(shares, k, candidate_rows)
            parts = {"pagerank": shares, "restart": restart, "cosine": cosines[i]}
            rankings.append(
                self.ranking(query, k, start, candidate_rows, rows, **parts)
            )
        return rankings


def _names(query: Query, links: Sequence[Link]) -> list[str]:
    """The quoted and capitalised phrases of a query, else its linked names; at most `MAX_NAMES`."""
    spans = phrases(query.text) or sorted(link.span for link in links)
    return list(dict.fromkeys(query.text[start:end] for start, end in spans))[
        :MAX_NAMES
    ]
