"""What the two HippoRAGs share: a query linked to phrases -> PageRank from these, or the dense ranking without any.

PageRank adds up all walks; a hit's path names one of them, as an explanation: the shortest from any start, over the
heaviest edge where several are as short. It has no part in the score.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from itertools import pairwise
from typing import ClassVar, NamedTuple

import numpy as np

from kg2rag.knowledge import KnowledgeBase
from kg2rag.knowledge.graph.csr import gather
from kg2rag.retrievers.dense import VectorRetriever, walk_or_dense
from kg2rag.retrievers.hipporag import memory
from kg2rag.retrievers.hipporag.memory import PhraseGraph
from kg2rag.types import FloatArray, IntArray, Notes, Query, Ranking, Trace, Triple

SYNONYM = "synonym of"
MAX_STEPS = 3  # edges from a start to the passage; the rank of a passage farther away has other causes


class PhrasePaths(Mapping[int, tuple[Triple, ...]]):
    """Corpus row -> the triples on the way there, made when looked up.

    Parameters
    ----------
    starts : phrases, the most important first.
    rows : the passages that may be looked up and, like their phrases, walked through; None for all of the corpus.
    """

    def __init__(self, graph: PhraseGraph, starts: IntArray, rows: IntArray | None = None) -> None:
        self._graph, self._starts, self._rows = graph, starts, rows

    def __getitem__(self, row: int) -> tuple[Triple, ...]:
        """One triple a step; a way through a passage that one triple of it makes is that triple, once."""
        if not 0 <= row < self._graph.table.n_passages or self._parents[self._graph.n_phrases + row] < 0:
            raise KeyError(row)
        way = [self._graph.n_phrases + row]
        while (before := int(self._parents[way[-1]])) != way[-1]:
            way.append(before)
        steps = [self._step(a, b) for a, b in pairwise(way[::-1])]
        return tuple(step for at, step in enumerate(steps) if not at or step != steps[at - 1])

    def __iter__(self) -> Iterator[int]:
        return iter(np.flatnonzero(self._parents[self._graph.n_phrases :] >= 0).tolist())

    def __len__(self) -> int:
        return sum(1 for _ in self)

    @cached_property
    def _parents(self) -> IntArray:
        """(n_nodes,) the node before each on its way; a start is its own, -1 where no way is short enough."""
        walk = self._graph.walk
        parents = np.full(walk.n_nodes, -1, dtype=np.int64)
        closed = np.zeros(walk.n_nodes, dtype=bool)
        if self._rows is not None:
            closed[:] = True
            closed[self._graph.table.phrases_in(self._rows)] = False
            closed[self._graph.n_phrases + self._rows] = False
        parents[self._starts] = self._starts
        frontier = self._starts
        for _ in range(MAX_STEPS):
            if not len(frontier):
                break
            edges = gather(walk.indptr, frontier)[0]
            edges = edges[(parents[walk.sources[edges]] < 0) & ~closed[walk.sources[edges]]]
            reached, sources = walk.sources[edges].astype(np.int64), walk.targets[edges]
            order = np.lexsort((sources, -walk.weights[edges], reached))
            frontier, first = np.unique(reached[order], return_index=True)
            parents[frontier] = sources[order][first]
        return parents

    def _step(self, a: int, b: int) -> Triple:
        graph, table = self._graph, self._graph.table
        phrase, other = (a, b) if a < graph.n_phrases else (b, a)
        stated = table.by_phrase.of(phrase)[0]
        if other >= graph.n_phrases:
            return table.statement(int(stated[table.rows[stated] == other - graph.n_phrases][0]))
        facts = table.facts[stated]
        between = stated[(table.fact_heads[facts] == other) | (table.fact_tails[facts] == other)]
        if len(between):
            return table.statement(int(between[0]))
        ends, others = graph.synonyms.sources, graph.synonyms.targets
        pair = np.flatnonzero(((ends == a) & (others == b)) | ((ends == b) & (others == a)))
        cosine = float(graph.synonyms.cosines[pair[0]])
        return Triple(table.phrases[a], SYNONYM, table.phrases[b], "", strength=10 * min(cosine, 1.0))


class Linked(NamedTuple):
    """The phrases that the walk of a query starts from, the most important first, their weights, and the evidence."""

    phrases: IntArray
    weights: FloatArray
    notes: Notes

    def __bool__(self) -> bool:
        return len(self.phrases) > 0


class PhraseWalk(VectorRetriever):
    """Links queries to phrases and walks from them.

    Attributes
    ----------
    passages : whether the walk enters passages, or phrases alone.
    unlinked : why a query may be linked to no phrase; part of the warning in its ranking's notes.
    """

    kb: KnowledgeBase
    damping: float
    synonym_threshold: float
    passages: ClassVar[bool]
    unlinked: ClassVar[str]

    @property
    def graph(self) -> PhraseGraph:
        """The phrase graph of the knowledge base under `synonym_threshold`."""
        return memory.phrase_graph(self.kb, self.synonym_threshold)

    @abstractmethod
    def link(self, queries: Sequence[Query]) -> list[Linked]:
        """What each query is linked to; without phrases where it is linked to nothing."""

    @abstractmethod
    def walk(self, queries: Sequence[Query], links: Sequence[Linked], k: int) -> list[Ranking]:
        """The rankings of queries that are linked to a phrase or more."""

    def retrieve_batch(self, queries: Sequence[Query], k: int) -> list[Ranking]:
        """One walk a query, in blocks."""
        reason = self.unlinked if memory.phrases(self.kb).phrases else "the graph has no fact"
        return walk_or_dense(self.kb, queries, k, link=self.link, walk=self.walk, without=reason)

    def prepare(self, queries: Sequence[Query]) -> None:
        """Encode the queries, build the graph."""
        if queries and memory.phrases(self.kb).phrases:
            walk = self.graph.walk if self.passages else self.graph.phrases_only
            _ = walk.flows
        super().prepare(queries)

    def ranking(
        self, query: Query, k: int, link: Linked, mask: IntArray | None, rows: IntArray, **parts: FloatArray
    ) -> Ranking:
        """Some passages by the part "pagerank"; `parts` are (n_passages,) each."""
        return Ranking.of(
            query.id,
            rows,
            parts["pagerank"][rows],
            self.kb.corpus.ids,
            stages=("pagerank",),
            score_parts={name: column[rows] for name, column in parts.items()},
            paths=PhrasePaths(self.graph, link.phrases, mask),
            notes=link.notes,
        ).top(k)

    def trace_batch(self, queries: Sequence[Query], k: int) -> list[Trace]:
        """Which passages the linked phrases lead to, by however long a walk."""
        columns = zip(self.retrieve_batch(queries, k), self.link(queries), self.kb.candidates(queries), strict=True)
        return [
            Trace(ranking, (self.graph.linked(link.phrases, mask, passages=self.passages),))
            for ranking, link, mask in columns
        ]
