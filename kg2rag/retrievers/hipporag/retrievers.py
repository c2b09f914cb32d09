"""Query -> passages by personalised PageRank over phrases: the first HippoRAG [1] and HippoRAG 2 [2].

Of the first, theirs (Sec. 2 of [1]): each name of the query is linked to the phrase nearest by embedding; the walk
starts there with weight 1 / (passages that have it), its specificity; a passage scores the sum over its phrases. Ours:
the names are the query's quoted and capitalised phrases, or if it has none, the names of the graph that it spells out
(the paper asks an LLM), or what a linker finds; a phrase counts once in a passage, however often stated there.

Of the second, theirs: all, as the released code behaves (commit c617143f), also where it departs from [2] (five
entities are kept; a passage edge weighs half a fact). Ours, where theirs depends on hash order: equal facts by first
statement, equal phrases alphabetically, equal passages by corpus position. Ours too: candidates restrict facts and
walk, but edges between their phrases and specificity remain the corpus's.

[1] Gutiérrez et al., "HippoRAG: Neurobiologically Inspired Long-Term Memory for Large Language Models", NeurIPS 2024.
[2] Gutiérrez et al., "From RAG to Memory: Non-Parametric Continual Learning for Large Language Models", ICML 2025.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import ClassVar, NamedTuple, Protocol

import numpy as np

from kg2rag.knowledge import KnowledgeBase
from kg2rag.knowledge.graph.pagerank import NodeWeights, walks
from kg2rag.knowledge.indexes.dense import cosines as all_cosines
from kg2rag.retrievers.around import LinksEntities
from kg2rag.retrievers.dense import LatePaths, VectorRetriever, WalkOrDense, min_max
from kg2rag.retrievers.hipporag import memory
from kg2rag.retrievers.hipporag.memory import PhraseGraph
from kg2rag.retrievers.linking.linkers import Linker, NGramLinker, phrases
from kg2rag.types import FloatArray, IntArray, Notes, Query, Ranking, Step, step, top_with_ties
from kg2rag.types.parameters import Count, Damping, Threshold, Weight

COLOUR = "#CC79A7"  # in plots


class Linked(NamedTuple):
    """The phrases that the walk of a query starts from, the most important first, their weights, and the evidence."""

    phrases: IntArray
    weights: FloatArray
    notes: Notes

    def __bool__(self) -> bool:
        return len(self.phrases) > 0


class PhraseWalk(WalkOrDense[Linked]):
    """Walks from phrases; `passages` says whether the walk enters passages too, `nothing` why a query has no phrase."""

    damping: float
    synonym_threshold: float
    passages: ClassVar[bool]
    nothing: ClassVar[str]

    @property
    def unlinked(self) -> str:
        """No phrase of the query, or of the graph."""
        return self.nothing if memory.phrases(self.kb).phrases else "the graph has no fact"

    @property
    def graph(self) -> PhraseGraph:
        """The phrase graph of the knowledge base under `synonym_threshold`."""
        return memory.phrase_graph(self.kb, self.synonym_threshold)

    def pagerank(self, restarts: FloatArray, queries: Sequence[Query]) -> FloatArray:
        """(n_queries, n_nodes) PageRank of each restart; with candidates over these and the phrases they state alone.

        `restarts` : as many nodes, not scaled; phrases alone where the walk enters no passage.
        """
        graph = self.graph.walk if self.passages else self.graph.phrases_only
        masks = self.kb.candidates(queries)
        scopes = [None if rows is None else self.graph.nodes_in(rows, passages=self.passages) for rows in masks]
        starts = list(map(NodeWeights.of_dense, restarts))
        found = walks(graph, starts, self.damping, scopes=list(map(graph.mask, scopes)))
        return np.array([walk.dense(graph.n_nodes) for walk in found])

    def ranking(
        self, query: Query, k: int, link: Linked, mask: IntArray | None, rows: IntArray, **parts: FloatArray
    ) -> Ranking:
        """Some passages by the part "pagerank"; `parts` are (n_passages,) each."""
        ranked = Ranking.of(
            query.id,
            rows,
            parts["pagerank"][rows],
            self.kb.corpus.ids,
            stages=("pagerank",),
            score_parts={name: column[rows] for name, column in parts.items()},
            notes=link.notes,
        ).top(k)
        graph = self.graph
        return replace(ranked, paths=LatePaths(partial(graph.ways, link.phrases, ranked.rows, mask), graph.triples))

    def steps(self, query: Query, ranking: Ranking) -> tuple[Step, ...]:  # noqa: ARG002
        """Which passages the linked phrases lead to, by however long a walk."""
        (link,), (mask,) = self.link([query]), self.kb.candidates([query])
        return (self.graph.linked(link.phrases, mask, passages=self.passages),)


@dataclass(frozen=True)
class NameNotes(Notes):
    """Each name of the query, the phrase nearest to it and their cosine; phrase -> its weight where the walk starts.

    `linked_by` is the linker that found the names; None without one.
    """

    names: tuple[tuple[str, str, float], ...] | None = None
    restart: Mapping[str, float] | None = None
    linked_by: str | None = None


@dataclass(frozen=True)
class HippoRAG(LinksEntities, PhraseWalk):
    """PageRank over phrases from the query's names; the dense ranking, as the notes say, for a query without any.

    Parameters
    ----------
    damping : probability of following an edge rather than restarting, in (0, 1).
    synonym_threshold : least cosine of two phrases that are joined as synonyms, in (0, 1].
    max_names : the first so many names of a query are linked.
    linker : finds the names, which are then those of the entities, as such or by name: `retrievers.linking.LINKERS`.
        None takes the query's own phrases.
    """

    kb: KnowledgeBase = field(repr=False)
    damping: Damping = 0.5
    synonym_threshold: Threshold = 0.8
    max_names: Count = 20
    linker: str | Linker | None = None
    passages = False
    nothing = "the query names nothing"

    def link(self, queries: Sequence[Query]) -> list[Linked]:
        """The phrases nearest to the names of each query, in the query's order, by specificity."""
        table, kb = memory.phrases(self.kb), self.kb
        named = self._names(queries) if table.phrases else [([], "") for _ in queries]
        places = [i for i, (names, _) in enumerate(named) for _ in names]
        asked = [name for names, _ in named for name in names]
        found: list[list[tuple[str, int, float]]] = [[] for _ in queries]
        if asked:
            masks = [None if rows is None else table.phrases_in(rows) for rows in kb.candidates(queries)]
            vectors = kb.encode_queries([Query("", name) for name in asked])
            nearest = memory.phrase_vectors(kb).search(vectors, 1, [masks[i] for i in places])
            for i, name, (rows, cosines) in zip(places, asked, nearest, strict=True):
                found[i] += [(name, int(row), float(cosine)) for row, cosine in zip(rows, cosines, strict=True)]
        return [self._linked(own, by) for own, (_, by) in zip(found, named, strict=True)]

    def _linked(self, found: Sequence[tuple[str, int, float]], by: str) -> Linked:
        """From names, the phrase nearest to each, and their cosine; and the linker that found the names."""
        table = memory.phrases(self.kb)
        starts = np.array(list(dict.fromkeys(phrase for _, phrase, _ in found)), dtype=np.int64)
        weights = table.specificity[starts]
        notes = NameNotes(
            "pagerank",
            "graph",
            names=tuple((name, table.phrases[phrase], cosine) for name, phrase, cosine in found),
            restart=dict(zip(map(table.phrases.__getitem__, starts.tolist()), weights.tolist(), strict=True)),
            linked_by=by if self.linker else None,
        )
        return Linked(starts, weights, notes)

    def _names(self, queries: Sequence[Query]) -> list[tuple[list[str], str]]:
        """The names of each query, each once, and what found them."""
        linker = NGramLinker(self.kb, limit=self.max_names) if self.entity_linker is None else self.entity_linker
        named, written = [], self.kb.graph.names
        for query, links in zip(queries, linker.link_batch(queries), strict=True):
            if self.entity_linker is None:
                spans = phrases(query.text) or sorted(link.span for link in links)
                names, by = [query.text[slice(*span)] for span in spans], ""
            else:
                names, by = [written[link.entity] for link in links], links[0].linker if links else ""
            named.append((list(dict.fromkeys(names))[: self.max_names], by))
        return named

    def walk(self, queries: Sequence[Query], starts: Sequence[Linked], k: int) -> list[Ranking]:
        """Start at each phrase with its specificity; passages whose phrases the walk does not reach are no hits."""
        members, n = memory.phrases(self.kb).passages, len(self.kb.corpus)
        restarts = np.zeros((len(queries), self.graph.n_phrases))
        for restart, link in zip(restarts, starts, strict=True):
            restart[link.phrases] = link.weights
        columns = zip(queries, starts, self.kb.candidates(queries), self.pagerank(restarts, queries), strict=True)
        rankings = []
        for query, link, mask, walked in columns:
            mass = walked[members.owners]
            sums = np.bincount(members.others, weights=mass, minlength=n).astype(np.float64)
            reached = np.bincount(members.others[mass > 0], minlength=n).astype(np.float64)
            rows = np.flatnonzero(sums > 0)
            rows = rows if mask is None else np.intersect1d(rows, mask)
            rankings.append(self.ranking(query, k, link, mask, rows, pagerank=sums, phrases=reached))
        return rankings

    def steps(self, query: Query, ranking: Ranking) -> tuple[Step, ...]:
        """Which passages the phrases of the query's names lead to, and which the walk reached."""
        walked = step("walked", "not expanded", "the walk did not reach it", ranking.rows)
        return (*super().steps(query, ranking), walked)


class FactFilter(Protocol):
    """Which of the linked facts matter to the query: HippoRAG 2's "recognition memory", an LLM in the paper."""

    def __call__(self, query: str, facts: Sequence[tuple[str, str, str]]) -> Sequence[int]:
        """Positions in `facts` (head, relation, tail; best first) of those to keep; none means the dense ranking."""
        ...


@dataclass(frozen=True)
class FactNotes(Notes):
    """The linked facts and their scores in [0, 1]; the phrases kept of them and their weights where the walk starts."""

    facts: tuple[tuple[tuple[str, str, str], float], ...] | None = None
    phrases: tuple[tuple[str, float], ...] | None = None


@dataclass(frozen=True)
class HippoRAG2(PhraseWalk):
    """Facts nearest the query -> their phrases; PageRank from these and, faintly, from all passages by cosine.

    Parameters
    ----------
    damping, synonym_threshold : as in `HippoRAG`.
    passage_weight : start weight of the passage most similar to the query; the least similar has 0.
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
    nothing = "no fact is linked"

    def prepare(self, queries: Sequence[Query]) -> None:
        """Encode the queries and the facts; linking all queries would call the filter."""
        VectorRetriever.prepare(self, queries)

    def link(self, queries: Sequence[Query]) -> list[Linked]:
        """The phrases of the facts nearest to each query; none for an empty query."""
        table, kb = memory.phrases(self.kb), self.kb
        nothing = Linked(np.empty(0, dtype=np.int64), np.empty(0), FactNotes())
        if not table.fact_relations or not queries:
            return [nothing] * len(queries)
        vectors, index = kb.encode_queries(queries), memory.fact_vectors(kb)
        scopes = [None if rows is None else table.facts_in(rows) for rows in kb.candidates(queries)]
        nearest, farthest = index.search(vectors, self.link_top_k, scopes), index.search(-vectors, 1, scopes)
        return [
            self._linked(query, facts, min_max(cosines, -negated[0], cosines[0]))
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
        best = sorted(means.items(), key=lambda item: (-item[1], item[0]))[: self.link_top_k]
        best = [(phrase, weight) for phrase, weight in best if weight > 0]
        notes = FactNotes(
            "pagerank",
            "graph",
            facts=tuple(zip(map(table.fact, facts.tolist()), scores.tolist(), strict=True)),
            phrases=tuple((table.phrases[phrase], weight) for phrase, weight in best),
        )
        starts = np.array([phrase for phrase, _ in best], dtype=np.int64)
        return Linked(starts, np.array([weight for _, weight in best]), notes)

    def restarts(self, queries: Sequence[Query], links: Sequence[Linked]) -> tuple[FloatArray, FloatArray]:
        """Where the walks start, (n_queries, n_nodes), not scaled; every passage's cosine, (n_queries, n_passages)."""
        cosines = all_cosines(self.kb.encode_queries(queries), self.kb.vectors)
        restarts, n = np.zeros((len(queries), self.graph.n_nodes)), self.graph.n_phrases
        for restart, link, similar, mask in zip(restarts, links, cosines, self.kb.candidates(queries), strict=True):
            rows = np.arange(len(similar)) if mask is None else mask
            restart[link.phrases] = link.weights
            restart[n + rows] = self.passage_weight * min_max(similar[rows])
        return restarts, cosines

    def walk(self, queries: Sequence[Query], starts: Sequence[Linked], k: int) -> list[Ranking]:
        """Start at the linked phrases and, faintly, at every passage; all passages are ranked."""
        restarts, cosines = self.restarts(queries, starts)
        n, masks, rankings = self.graph.n_phrases, self.kb.candidates(queries), []
        walked = self.pagerank(restarts, queries)[:, n:]
        began = (restarts / restarts.sum(axis=1, keepdims=True))[:, n:]
        for at, (query, link, mask) in enumerate(zip(queries, starts, masks, strict=True)):
            rows = top_with_ties(walked[at], k) if mask is None else mask
            parts = {"pagerank": walked[at], "restart": began[at], "cosine": cosines[at]}
            rankings.append(self.ranking(query, k, link, mask, rows, **parts))
        return rankings
