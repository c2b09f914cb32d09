"""Query -> dense hits joined with the hits of queries that the graph writes: "{seed} {neighbour}".

The graph-guided expansion design: it does not return what the graph holds but searches for what the graph relates.
Ours: proximity is strength / (10 · hop), and at most `max_queries` are searched, which the seeds take in turn, so that
a hub leaves the others their share. After the expansion idea of Zhu et al., "Knowledge Graph-Guided RAG", NAACL 2025,
Sec. 2.2; it differs in searching instead of walking to passages.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

import numpy as np

from kg2rag.knowledge import KnowledgeBase
from kg2rag.knowledge.graph.neighbourhood import Hops, Strength
from kg2rag.knowledge.graph.paths import TriplePaths
from kg2rag.retrievers import linking
from kg2rag.retrievers.around import LinksEntities
from kg2rag.retrievers.contract import Retriever
from kg2rag.retrievers.dense import Dense
from kg2rag.retrievers.fusion import RRF_CONSTANT, fuse_rankings
from kg2rag.retrievers.linking.linkers import Link, Linker, linked_entities
from kg2rag.types import Count, FloatArray, Natural, Notes, ParameterError, Query, Ranking, Trace, Weight, step

COLOUR = "#B15928"  # in plots


class Expansion(NamedTuple):
    """A query that the graph wrote; `proximity`, in (0, 1], orders it, the triples of `path` join its two entities."""

    text: str
    proximity: float
    path: tuple[int, ...]


@dataclass(frozen=True)
class ExpansionNotes(Notes):
    """The queries that the graph wrote, in order, and for each passage that they found the first that did."""

    expansions: tuple[str, ...] = ()
    found_by: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class ExpansionQueries(LinksEntities, Retriever):
    """Dense retrieval joined by reciprocal rank with dense searches of graph-written queries.

    A hit of an expansion carries the path of the first that found it and, as parts of its score, the number of that
    `expansion` in the list of the ranking's notes and its `expansion rank` there, both from 1. A query that names no
    entity gets the dense ranking, with a note; entities without neighbours are searched by their names alone.

    Parameters
    ----------
    hops : how far neighbours may be, 1 to 3.
    min_weight : triples of less strength, 0 to 10, are not walked.
    hits : passages kept of each expansion.
    max_queries : expansions searched, nearest first, those of every seed in turn.
    template : how one is written from {seed}, {neighbour} and {relation}, the names of the path's relations as the
        graph has them, whichever way they are walked.
    dense_weight, graph_weight, constant : of the reciprocal rank fusion; weight / (constant + rank).
    depth : hits read of the dense ranking.
    linker : finds the query's entities, as such or by name: `retrievers.linking.LINKERS`.
    """

    kb: KnowledgeBase = field(repr=False)
    hops: Hops = 1
    min_weight: Strength = 0.0
    hits: Count = 3
    max_queries: Natural = 20
    template: str = "{seed} {neighbour}"
    dense_weight: Weight = 1.0
    graph_weight: Weight = 1.0
    constant: Weight = RRF_CONSTANT
    depth: Count = 100
    linker: str | Linker = linking.DESIGN

    def __post_init__(self) -> None:
        super().__post_init__()
        try:
            sound = "\0" in self.template.format(seed="", neighbour="\0", relation="")
        except (AttributeError, LookupError, ValueError):
            sound = False
        if not sound:
            allowed = "must hold {neighbour} and nothing else in braces but {seed} and {relation}"
            raise ParameterError(f"template {allowed}, not {self.template!r}.")
        if not (self.dense_weight or self.graph_weight):
            raise ParameterError("dense_weight and graph_weight must not both be 0: every score would be.")

    def retrieve_batch(self, queries: Sequence[Query], k: int) -> list[Ranking]:
        """All expansions of the batch are encoded and searched together, each text once."""
        dense, links = Dense(self.kb), self.entity_linker.link_batch(queries)
        plains = dense.retrieve_batch(queries, self.depth)
        expansions = [self._expansions([link.entity for link in each]) for each in links]
        searches = [
            Query("", each.text, query.candidates)
            for query, written in zip(queries, expansions, strict=True)
            for each in written
        ]
        found = iter(dense.retrieve_batch(searches, self.hits))
        return [
            self._joined(plain, named, written, [next(found) for _ in written], k)
            for plain, named, written in zip(plains, links, expansions, strict=True)
        ]

    def prepare(self, queries: Sequence[Query]) -> None:
        """Encode the queries and their expansions."""
        self.kb.encode_queries(queries)
        texts = dict.fromkeys(expansion.text for written in self.expand(queries) for expansion in written)
        self.kb.encode_queries([Query("", text) for text in texts])
        super().prepare(queries)

    def expand(self, queries: Sequence[Query]) -> list[list[Expansion]]:
        """The queries that the graph writes for each query, nearest first, then the seeds' names alone."""
        return [self._expansions([link.entity for link in links]) for links in self.entity_linker.link_batch(queries)]

    def _expansions(self, seeds: Sequence[int]) -> list[Expansion]:
        """The nearest of the first seed, of the second, …, then the next of each; a pair of entities once."""
        waiting = [self._nearest(seed, self.max_queries + len(seeds)) for seed in seeds]
        taken: dict[object, Expansion] = {}
        while waiting and len(taken) < self.max_queries:
            for one in list(waiting):
                pair, expansion = next((each for each in one if each[0] not in taken), (None, None))
                if expansion is None:
                    waiting.remove(one)
                elif len(taken) < self.max_queries:
                    taken[pair] = expansion
        alone = (Expansion(self.kb.graph.names[seed], 1.0, ()) for seed in seeds)
        return [*sorted(taken.values(), key=lambda expansion: -expansion.proximity), *alone]

    def _nearest(self, seed: int, limit: int) -> Iterator[tuple[frozenset[int], Expansion]]:
        """A seed's expansions, nearest first, each with its two entities."""
        graph = self.kb.graph
        around = graph.neighbourhood([seed], hops=self.hops, min_weight=self.min_weight)
        proximity = around.weights / (10 * around.hops)
        for at in np.argsort(-proximity, kind="stable")[:limit].tolist():
            near = around.neighbour(at)
            relation = " ".join(graph.relations[graph.triples.relations[index]] for index in near.path)
            text = self.template.format(seed=graph.names[seed], neighbour=graph.names[near.entity], relation=relation)
            yield frozenset((seed, near.entity)), Expansion(text, float(proximity[at]), near.path)

    def _joined(
        self, plain: Ranking, links: Sequence[Link], written: Sequence[Expansion], found: Sequence[Ranking], k: int
    ) -> Ranking:
        """The dense ranking fused with what the expansions found, if any were written."""
        first: dict[int, tuple[int, int]] = {}  # corpus row -> the first expansion that found it, its rank there
        for number, ranking in enumerate(found, start=1):
            for place, row in enumerate(ranking.rows.tolist(), start=1):
                first.setdefault(row, (number, place))
        by = {row: written[number - 1] for row, (number, _) in first.items()}
        rankings, parts = [plain], dict[str, FloatArray]()
        if written:  # by expansion, then by rank within it
            places = np.arange(1, len(by) + 1, dtype=np.float64)
            graph = Ranking.of(
                plain.query_id,
                np.array(list(by), dtype=np.int64),
                1.0 / places,
                plain.ids,
                stages=("graph",),
                score_parts={"place": places},
                paths=TriplePaths(self.kb.graph, {row: one.path for row, one in by.items()}),
                notes=Notes("1 / place", "graph"),
            )
            rankings.append(graph)
        weights = (self.dense_weight, self.graph_weight) if written else (1.0,)
        fused = fuse_rankings(rankings, weights, k, constant=self.constant)
        if written:
            where = np.array([first.get(row, (np.nan, np.nan)) for row in fused.rows.tolist()]).reshape(-1, 2)
            parts = {"expansion": where[:, 0], "expansion rank": where[:, 1]}
        notes = ExpansionNotes(
            fused.notes.formula,
            fused.notes.source,
            warning="" if written else "no entity of the graph was recognised: dense ranking",
            entities=linked_entities(self.kb, links),
            inputs=fused.notes.inputs,
            expansions=tuple(each.text for each in written),
            found_by={plain.ids[row]: one.text for row, one in by.items()},
        )
        return replace(fused, score_parts={**fused.score_parts, **parts}, notes=notes)

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
