"""Query -> passages by personalised PageRank from the phrases that its names stand for: the first HippoRAG.

Theirs [1], Sec. 2: each name of the query is linked to the one phrase nearest by embedding; the walk starts there with
weight 1 / (passages that have the phrase), their node specificity; it walks facts and synonyms, and a passage scores
the sum over its phrases. Ours: the names are the query's quoted and capitalised phrases, where it has none the names of
the graph that it spells out (the paper asks an LLM); a phrase counts once in a passage, however often it states it.

[1] Gutiérrez et al., "HippoRAG: Neurobiologically Inspired Long-Term Memory for Large Language Models", NeurIPS 2024.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from kg2rag.knowledge.base import KnowledgeBase
from kg2rag.retrievers.contract import Retriever
from kg2rag.retrievers.dense import walk_or_dense
from kg2rag.retrievers.hipporag import memory
from kg2rag.retrievers.hipporag.graph import PhraseGraph
from kg2rag.retrievers.hipporag.paths import PhrasePaths
from kg2rag.retrievers.linking.linkers import NGramLinker, phrases
from kg2rag.types.arrays import FloatArray, IntArray
from kg2rag.types.formulas import arithmetic
from kg2rag.types.parameters import above, at_least, at_most, below, check
from kg2rag.types.passages import Query
from kg2rag.types.rankings import Ranking, rank
from kg2rag.types.trace import Trace, step


class Named(NamedTuple):
    """A name of the query, the phrase nearest to it and their cosine."""

    name: str
    phrase: int
    cosine: float


@dataclass(frozen=True)
class HippoRAG(Retriever):
    """PageRank over phrases from the query's names. A query that names nothing gets the dense ranking, and says so.

    Parameters
    ----------
    damping : probability of following an edge rather than starting anew, in (0, 1).
    synonym_threshold : least cosine of two phrases that are joined as synonyms, in (0, 1].
    max_names : the first so many names of a query are linked.
    """

    kb: KnowledgeBase = field(repr=False)
    damping: float = 0.5
    synonym_threshold: float = 0.8
    max_names: int = 20

    def __post_init__(self) -> None:
        check(self, damping=above(0) & below(1), synonym_threshold=above(0) & at_most(1), max_names=at_least(1))

    def retrieve_batch(self, queries: Sequence[Query], k: int) -> list[Ranking]:
        """One walk a query, eight side by side, blocks of eight in parallel."""
        without = "the query names nothing" if memory.phrases(self.kb).phrases else "the graph has no fact"
        return walk_or_dense(self.kb, queries, k, link=self._starts, walk=self._walk, without=without)

    def prepare(self, queries: Sequence[Query]) -> None:
        """Encode the queries (for those that name nothing), their names and the phrases, build the graph."""
        if queries:
            self.kb.encode_queries(queries)
            self.link(queries)
            if memory.phrases(self.kb).phrases:
                _ = self._graph.phrases_only.flows
        super().prepare(queries)

    def link(self, queries: Sequence[Query]) -> list[list[Named]]:
        """The names of each query and the phrases they stand for, in the query's order."""
        table, kb = memory.phrases(self.kb), self.kb
        names = self._names(queries) if table.phrases else [[] for _ in queries]
        asked = [Query("", name) for found in names for name in found]
        if not asked:
            return [[] for _ in queries]
        scopes = [
            scope
            for rows, found in zip(kb.candidates(queries), names, strict=True)
            for scope in [None if rows is None else table.phrases_in(rows)] * len(found)
        ]
        nearest = iter(memory.phrase_vectors(kb).search(kb.encode_queries(asked), 1, scopes))
        return [
            [
                Named(name, int(rows[0]), float(cosines[0]))
                for name, (rows, cosines) in ((name, next(nearest)) for name in found)
                if len(rows)
            ]
            for found in names
        ]

    def _names(self, queries: Sequence[Query]) -> list[list[str]]:
        """Quoted and capitalised phrases; of a query without any, the graph's names that stand in it."""
        spelled = NGramLinker(self.kb, limit=self.max_names).link_batch(queries)
        names = []
        for query, links in zip(queries, spelled, strict=True):
            spans = phrases(query.text) or sorted(link.span for link in links)
            names.append(list(dict.fromkeys(query.text[slice(*span)] for span in spans))[: self.max_names])
        return names

    @property
    def _graph(self) -> PhraseGraph:
        return memory.phrase_graph(self.kb, self.synonym_threshold)

    def _starts(self, queries: Sequence[Query]) -> list[list[Named] | None]:
        return [names or None for names in self.link(queries)]

    def _walk(self, queries: Sequence[Query], linked: Sequence[list[Named]], k: int) -> list[Ranking]:
        graph, table = self._graph, memory.phrases(self.kb)
        restarts = np.zeros((len(queries), graph.n_nodes))
        for restart, names in zip(restarts, linked, strict=True):
            starts = np.array([named.phrase for named in names])
            restart[starts] = table.specificity[starts]
        masks = self.kb.candidates(queries)
        scores = graph.pagerank(restarts, masks, self.damping, passages=False)
        return [
            self._ranking(query, k, names, score, mask)
            for query, names, score, mask in zip(queries, linked, scores, masks, strict=True)
        ]

    def _ranking(self, query: Query, k: int, names: list[Named], scores: FloatArray, mask: IntArray | None) -> Ranking:
        """Passages by the sum over their phrases; those whose phrases the walk does not reach are no hits."""
        graph, table = self._graph, memory.phrases(self.kb)
        members = table.passages
        mass = scores[members.owners]
        sums = np.bincount(members.others, weights=mass, minlength=table.n_passages).astype(np.float64)
        reached = np.bincount(members.others[mass > 0], minlength=table.n_passages).astype(np.float64)
        rows = np.flatnonzero(sums > 0)
        if mask is not None:
            rows = np.intersect1d(rows, mask)
        starts = np.array(list(dict.fromkeys(name.phrase for name in names)), dtype=np.int64)
        return rank(
            query.id,
            rows,
            sums[rows],
            self.kb.corpus.ids,
            k,
            stages=("pagerank",),
            score_parts={"pagerank": sums[rows], "phrases": reached[rows]},
            paths=PhrasePaths(graph, starts, mask),
            metadata={
                **arithmetic("pagerank", "graph"),
                "names": tuple((name.name, table.phrases[name.phrase], name.cosine) for name in names),
                "restart": {table.phrases[start]: float(table.specificity[start]) for start in starts.tolist()},
            },
        )

    def trace_batch(self, queries: Sequence[Query], k: int) -> list[Trace]:
        """Which passages the phrases of the query's names lead to, and which the walk reached."""
        traces = []
        for ranking, names, mask in zip(
            self.retrieve_batch(queries, k), self.link(queries), self.kb.candidates(queries), strict=True
        ):
            phrases = np.array([named.phrase for named in names], dtype=np.int64)
            linked = self._graph.linked(phrases, mask, passages=False)
            traces.append(
                Trace(ranking, (linked, step("walked", "not expanded", "the walk did not reach it", ranking.rows)))
            )
        return traces
