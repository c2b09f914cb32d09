"""Query -> dense hits joined with the hits of queries that the graph writes: "{seed} {neighbour}".

The graph-guided expansion design: it does not return what the graph holds but searches for what the graph relates.
Ours: proximity is strength / (10 · hop), and at most `max_queries` are searched. After the expansion idea of Zhu et
al., "Knowledge Graph-Guided RAG", NAACL 2025, Sec. 2.2; it differs in searching instead of walking to passages.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from operator import attrgetter
from typing import NamedTuple

import numpy as np

from kg2rag.knowledge import KnowledgeBase
from kg2rag.knowledge.graph.neighbourhood import Hops, Strength
from kg2rag.knowledge.graph.paths import TriplePaths
from kg2rag.retrievers.contract import Retriever
from kg2rag.retrievers.dense import Dense
from kg2rag.retrievers.fusion import fuse_rankings
from kg2rag.retrievers.linking.linkers import chain
from kg2rag.types import Count, Natural, Query, Ranking, Trace, arithmetic, rank, step


class Expansion(NamedTuple):
    """A query that the graph wrote; `proximity`, in (0, 1], orders it, the triples of `path` join its two entities."""

    text: str
    proximity: float
    path: tuple[int, ...]


@dataclass(frozen=True)
class ExpansionQueries(Retriever):
    """Dense retrieval joined by reciprocal rank with dense searches of graph-written queries.

    A hit of an expansion carries the path of the first that found it; the ranking's metadata lists the expansions. A
    query that names no entity gets the dense ranking, with a note; entities without neighbours are searched by their
    names alone.

    Parameters
    ----------
    hops : how far neighbours may be, 1 to 3.
    min_weight : triples of less strength, 0 to 10, are not walked.
    hits : passages kept of each expansion.
    max_queries : expansions searched, nearest first.
    depth : hits read of the dense ranking.
    """

    kb: KnowledgeBase = field(repr=False)
    hops: Hops = 1
    min_weight: Strength = 0.0
    hits: Count = 3
    max_queries: Natural = 20
    depth: Count = 100

    def retrieve_batch(self, queries: Sequence[Query], k: int) -> list[Ranking]:
        """All expansions of the batch are encoded and searched together, each text once."""
        dense, expansions = Dense(self.kb), self.expand(queries)
        columns = list(zip(queries, dense.retrieve_batch(queries, self.depth), expansions, strict=True))
        searches = [Query("", each.text, query.candidates) for query, _, written in columns for each in written]
        found = iter(dense.retrieve_batch(searches, self.hits))
        return [self._joined(plain, written, [next(found) for _ in written], k) for _, plain, written in columns]

    def prepare(self, queries: Sequence[Query]) -> None:
        """Encode the queries and their expansions."""
        self.kb.encode_queries(queries)
        texts = dict.fromkeys(expansion.text for written in self.expand(queries) for expansion in written)
        self.kb.encode_queries([Query("", text) for text in texts])
        super().prepare(queries)

    def expand(self, queries: Sequence[Query]) -> list[list[Expansion]]:
        """The queries that the graph writes for each query, nearest first, then the seeds' names alone."""
        linker = chain(self.kb)
        return [self._expansions([link.entity for link in links]) for links in linker.link_batch(queries)]

    def _expansions(self, seeds: Sequence[int]) -> list[Expansion]:
        graph = self.kb.graph
        pairs: dict[frozenset[int], Expansion] = {}
        for seed in seeds:
            for near in graph.neighbours([seed], hops=self.hops, min_weight=self.min_weight):
                text = f"{graph.names[seed]} {graph.names[near.entity]}"
                expansion = Expansion(text, near.weight / (10 * near.hop), near.path)
                known = pairs.setdefault(frozenset((seed, near.entity)), expansion)
                if known.proximity < expansion.proximity:
                    pairs[frozenset((seed, near.entity))] = expansion
        nearest = sorted(pairs.values(), key=lambda expansion: -expansion.proximity)[: self.max_queries]
        return [*nearest, *(Expansion(graph.names[seed], 1.0, ()) for seed in seeds)]

    def _joined(self, plain: Ranking, written: Sequence[Expansion], found: Sequence[Ranking], k: int) -> Ranking:
        """The dense ranking fused with what the expansions found."""
        if written:
            return fuse_rankings([plain, self._merged(plain, written, found)], (1.0, 1.0), k)
        fused = fuse_rankings([plain], (1.0,), k)
        note = "no entity of the graph was recognised: dense ranking"
        return replace(fused, metadata={**fused.metadata, "expansions": (), "note": note})

    def _merged(self, plain: Ranking, written: Sequence[Expansion], found: Sequence[Ranking]) -> Ranking:
        """The hits of all expansions as one ranking: by expansion, then by rank within it, each passage once."""
        first: dict[int, Expansion] = {}
        for expansion, ranking in zip(written, found, strict=True):
            for row in ranking.rows.tolist():
                first.setdefault(row, expansion)
        places = np.arange(1, len(first) + 1, dtype=np.float64)
        return rank(
            plain.query_id,
            np.array(list(first), dtype=np.int64),
            1.0 / places,
            plain.ids,
            max(len(first), 1),
            stages=("graph",),
            score_parts={"place": places},
            paths=TriplePaths(self.kb.graph, first, attrgetter("path")),
            metadata={
                **arithmetic("1 / place", "graph"),
                "expansions": tuple(expansion.text for expansion in written),
                "found_by": {plain.ids[row]: expansion.text for row, expansion in first.items()},
            },
        )

    def trace_batch(self, queries: Sequence[Query], k: int) -> list[Trace]:
        """Whether the query named an entity, and whether an expansion query found the passage; dense hits pass."""
        every = np.arange(len(self.kb.corpus))
        unread = f"not among the first {self.depth} dense hits, and "
        unfound = f"{unread}not among the first {self.hits} of any expansion query"
        traces = []
        for written, ranking in zip(self.expand(queries), self.retrieve_batch(queries, len(every)), strict=True):
            linked = every if written else ranking.rows
            steps = (
                step("linked", "entity not linked", f"{unread}no entity was recognised", linked),
                step("expanded", "not expanded", unfound, ranking.rows),
            )
            traces.append(Trace(ranking.top(k), steps))
        return traces
