"""Query -> dense hits joined with the hits of queries that the graph writes: "{seed} {neighbour}".

The graph-guided expansion design, after an idea of Zhu et al., "Knowledge Graph-Guided RAG", NAACL 2025, Sec. 2.2; it
searches for what the graph relates instead of walking to passages. Ours:

- Proximity is strength / (10 · hop); at most `max_queries` are searched, which the seeds take in turn.
- `dense_depth`: in a long dense list any hit of an expansion came before the question's own best.
- Names of a fair share of the passages, and rare words, are no seeds. `graph_weight` is just below 1, so that of equal
  ranks the question's own hit is first.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np

from kg2rag.knowledge import KnowledgeBase
from kg2rag.knowledge.graph.neighbourhood import Hops, Strength
from kg2rag.knowledge.graph.paths import TriplePaths
from kg2rag.retrievers import linking
from kg2rag.retrievers.contract import Retriever, Tuned, Words
from kg2rag.retrievers.dense import Dense
from kg2rag.retrievers.fusion import RRF_CONSTANT, fuse_rankings
from kg2rag.retrievers.linking.linkers import Link, Linker, linked_entities
from kg2rag.retrievers.neighbour_passages import LinksEntities
from kg2rag.types import Count, Natural, Notes, Query, Ranking, Share, Trace, Weight, step

COLOUR = "#B15928"  # in plots
_SETS = ("musique-100", "hotpotqa-300", "2wiki-1000", "cosqa-500")
_TRAINING = ("musique", "hotpotqa", "2wiki", "docs", "news", "medical", "scifact", "obliqa")
_LINKING = ("musique (without musique-100)", "hotpotqa", "2wiki")
TUNING = (
    Tuned("expansion_queries", "dense_depth, graph_weight, hub_share and no_seeds", "known", 100, _SETS, _TRAINING),
    Tuned("expansion_queries", "min_cosine = 0.55 of its linker", "chosen", None, (), _LINKING),
)
WORDS = Words(
    "guided expansion",
    (
        ("depth, maxHops, max_hops", "hops", "its depth is steps in the graph; dense hits are dense_depth"),
        ("min_weight", "min_weight", "of strength, 0 to 10"),
        ("limit", "hits", "of each expansion"),
        ("top_k, vector_top_k", "dense_depth", ""),
        ("graph_expansion", "ExpansionNotes.found_by", "of a result"),
        ("dense_weight", "graph_weight", "the dense ranking has weight 1"),
    ),
)
FEWEST = 5  # passages that may name a seed of a small corpus


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


@WORDS
@dataclass(frozen=True)
class ExpansionQueries(LinksEntities, Retriever):
    """Dense retrieval joined by reciprocal rank with dense searches of graph-written queries.

    A hit of an expansion carries the path of the first that found it and, as parts of its score, the number of that
    `expansion` in the list of the ranking's notes and its `expansion rank` there, both from 1. A query that names no
    seed gets the dense ranking, with a note; seeds without neighbours are searched by their names alone.

    Parameters
    ----------
    hops : how far neighbours may be, 1 to 3.
    min_weight : triples of less strength, 0 to 10, are not walked.
    hits : passages kept of each expansion.
    max_queries : expansions searched, nearest first, those of every seed in turn.
    graph_weight, constant : of the reciprocal rank fusion; weight / (constant + rank). The dense ranking weighs 1.
    dense_depth : hits joined of the dense ranking.
    hub_share : entities that more of the passages name, and more than five, are no seeds.
    no_seeds : types of entities that are no seeds; the default graph's rare words are of the type "term".
    linker : finds the query's entities, as such or by name: `retrievers.linking.LINKERS`.
    """

    kb: KnowledgeBase = field(repr=False)
    hops: Hops = 1
    min_weight: Strength = 0.0
    hits: Count = 3
    max_queries: Natural = 20
    graph_weight: Weight = 0.99
    constant: Weight = RRF_CONSTANT
    dense_depth: Count = 5
    hub_share: Share = 0.0025
    no_seeds: Sequence[str] = ("term",)
    linker: str | Linker = linking.DESIGN

    def __post_init__(self) -> None:
        object.__setattr__(self, "no_seeds", tuple(self.no_seeds))
        super().__post_init__()

    def retrieve_batch(self, queries: Sequence[Query], k: int) -> list[Ranking]:
        """All expansions of the batch are encoded and searched together, each text once."""
        dense, links = Dense(self.kb), self.entity_linker.link_batch(queries)
        plains = dense.retrieve_batch(queries, max(k, self.dense_depth))
        expansions = [self._expansions(each) for each in links]
        asked = zip(queries, expansions, strict=True)
        searches = [Query("", each.text, query.candidates) for query, written in asked for each in written]
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
        return [self._expansions(links) for links in self.entity_linker.link_batch(queries)]

    def _expansions(self, links: Sequence[Link]) -> list[Expansion]:
        """The nearest of the first seed, of the second, …, then the next of each; a pair of entities once."""
        graph, most = self.kb.graph, max(FEWEST, self.hub_share * len(self.kb.corpus))
        named = (link.entity for link in links if graph.types[link.entity] not in self.no_seeds)
        seeds = [entity for entity in named if len(graph.mentions.of(entity)[0]) <= most]
        waiting = [self._nearest(seed, self.max_queries + len(seeds)) for seed in seeds]
        taken: dict[frozenset[int], Expansion] = {}
        while waiting and len(taken) < self.max_queries:
            for one in list(waiting):
                new = next((each for each in one if each[0] not in taken), None)
                if new is None:
                    waiting.remove(one)
                elif len(taken) < self.max_queries:
                    taken |= (new,)
        alone = (Expansion(graph.names[seed], 1.0, ()) for seed in seeds)
        return [*sorted(taken.values(), key=lambda expansion: -expansion.proximity), *alone]

    def _nearest(self, seed: int, limit: int) -> Iterator[tuple[frozenset[int], Expansion]]:
        graph = self.kb.graph
        around = graph.neighbourhood([seed], hops=self.hops, min_weight=self.min_weight)
        proximity = around.weights / (10 * around.hops)
        for at in np.argsort(-proximity, kind="stable")[:limit].tolist():
            near = around.neighbour(at)
            text = f"{graph.names[seed]} {graph.names[near.entity]}"
            yield frozenset((seed, near.entity)), Expansion(text, float(proximity[at]), near.path)

    def _joined(
        self, plain: Ranking, links: Sequence[Link], written: Sequence[Expansion], found: Sequence[Ranking], k: int
    ) -> Ranking:
        first: dict[int, tuple[int, int]] = {}  # corpus row -> the first expansion that found it, its rank there
        for number, ranking in enumerate(found, start=1):
            for place, row in enumerate(ranking.rows.tolist(), start=1):
                first.setdefault(row, (number, place))
        by, fused, warning = {row: written[number - 1] for row, (number, _) in first.items()}, plain.top(k), ""
        if written:
            places, paths = np.arange(1.0, len(by) + 1), {row: one.path for row, one in by.items()}
            parts: dict[str, Any] = {"stages": ("graph",), "score_parts": {"place": places}}
            parts |= {"paths": TriplePaths(self.kb.graph, paths), "notes": Notes("1 / place", "graph")}
            lists = [
                plain.top(self.dense_depth),
                Ranking.from_scores(plain.query_id, list(by), 1 / places, plain.ids, **parts),
            ]
            fused = fuse_rankings(lists, (1.0, self.graph_weight), k, constant=self.constant)
            where = np.array([first.get(row, (np.nan, np.nan)) for row in fused.rows.tolist()]).reshape(-1, 2)
            columns = {"expansion": where[:, 0], "expansion rank": where[:, 1]}
            fused = replace(fused, score_parts={**fused.score_parts, **columns})
        else:
            why = "no entity of the graph that may be a seed" if links else "no entity of the graph"
            warning = f"{why} was recognised: dense ranking"
        notes = ExpansionNotes(
            fused.notes.formula,
            fused.notes.source,
            warning=warning,
            entities=linked_entities(self.kb, links),
            inputs=fused.notes.inputs,
            expansions=tuple(each.text for each in written),
            found_by={plain.ids[row]: one.text for row, one in by.items()},
        )
        return replace(fused, notes=notes)

    def trace_batch(self, queries: Sequence[Query], k: int) -> list[Trace]:
        """Whether the query named a seed, and whether an expansion query found the passage; dense hits pass."""
        every, traces = np.arange(len(self.kb.corpus)), []
        unread = f"not among the first {self.dense_depth} dense hits, and "
        unfound = f"{unread}not among the first {self.hits} of any expansion query"
        for written, ranking in zip(self.expand(queries), self.retrieve_batch(queries, len(every)), strict=True):
            linked = every if written else ranking.rows
            unnamed = step("linked", "entity not linked", f"{unread}no seed was recognised", linked)
            traces.append(Trace(ranking.top(k), (unnamed, step("expanded", "not expanded", unfound, ranking.rows))))
        return traces
