"""Query -> dense hits, fused with the hits of queries from the graph, "{seed} {neighbour}".

The graph-guided expansion design, after an idea of Zhu et al., "Knowledge Graph-Guided RAG", NAACL
2025, Sec. 2.2; it searches for related entities instead of walking to passages. Ours:

- Proximity is strength / (10 · hop); at most `max_queries` are searched, from the seeds in turn.
- Both ranks of a passage add up only down to `dense_depth`: otherwise a hit deep in both long lists would be first.
- Rare words are no seeds. Hubs, which many passages name, are seeds only if the query names nothing else; they have
  neighbours of every kind, so the hits of these follow the first dense hits.
- `graph_weight` is just below 1, so that the question's hit precedes an expansion's hit of equal rank.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain, islice
from typing import NamedTuple

import numpy as np

from kg2rag.knowledge import KnowledgeBase
from kg2rag.knowledge.graph.neighbourhood import Hops, Strength
from kg2rag.knowledge.graph.paths import triple_paths
from kg2rag.retrievers import linking
from kg2rag.retrievers.contract import DesignAliases, TuningRecord, require_queries
from kg2rag.retrievers.dense import Dense, VectorRetriever
from kg2rag.retrievers.fusion import RRF_CONSTANT, BoolArray, fuse_rankings
from kg2rag.retrievers.linking.linkers import (
    Link,
    Linker,
    linked_entities,
    unlinked_names,
)
from kg2rag.retrievers.neighbour_passages import LinksEntities
from kg2rag.types import (
    Count,
    IntArray,
    Natural,
    Notes,
    Query,
    Ranking,
    Share,
    Trace,
    Weight,
    step,
)

COLOUR = "#B15928"  # in plots
_SETS = ("musique-100", "hotpotqa-300", "2wiki-1000", "cosqa-500")
_HUB_SETS = ("musique-100", "hotpotqa-300", "docs", "medical", "news")
_TRAINING = (
    "musique",
    "hotpotqa",
    "2wiki",
    "docs",
    "news",
    "medical",
    "scifact",
    "obliqa",
)
_LINKING = ("musique (without musique-100)", "hotpotqa", "2wiki")
TUNING = (
    TuningRecord(
        "expansion_queries",
        "dense_depth, graph_weight, hub_share and no_seeds",
        "known",
        100,
        _SETS,
        _TRAINING,
    ),
    TuningRecord(
        "expansion_queries",
        "place of a hub's expansions",
        "known",
        5,
        _HUB_SETS,
        ("docs", "medical", "news"),
    ),
    TuningRecord(
        "expansion_queries",
        "min_cosine = 0.55 of its linker",
        "chosen",
        None,
        (),
        _LINKING,
    ),
)
ALIASES = DesignAliases(
    "guided expansion",
    (
        (
            "depth, maxHops, max_hops",
            "hops",
            "its depth is steps in the graph; dense hits are dense_depth",
        ),
        ("min_weight", "min_weight", "of strength, 0 to 10"),
        ("limit", "hits", "of each expansion"),
        ("top_k, vector_top_k", "dense_depth", ""),
        ("seed_ids", "linker", "it finds the seeds"),
        ("origin", "Hit.stage", '"dense" or "graph"'),
        ("graph_expansion", "ExpansionNotes.found_by", "of a result"),
        ("dense_weight", "graph_weight", "the dense ranking has weight 1"),
    ),
)
MIN_HUB_PASSAGES = 5  # passages that may name a seed in a small corpus


class Expansion(NamedTuple):
    """A query made from the graph: its text, its proximity, in (0, 1], and the path that gave it.

    `path` : the indices of the triples from the seed to the neighbour.
    """

    text: str
    proximity: float
    path: tuple[int, ...]


# Corpus row -> the number of the first expansion that finds the passage, and its rank there, from 1.
Finds = Mapping[int, tuple[int, int]]


@dataclass(frozen=True)
class ExpansionNotes(Notes):
    """Notes: the expansion queries in order, and the first one that found each passage."""

    expansions: tuple[str, ...] = ()
    found_by: Mapping[str, str] = field(default_factory=dict)


@ALIASES
@dataclass(frozen=True)
class ExpansionQueries(LinksEntities, VectorRetriever):
    """Dense retrieval, fused by reciprocal rank with dense searches of expansion queries.

    A hit of an expansion has the path of the first expansion that finds it. Its score parts are the
    number of that `expansion` in the notes and its `expansion rank` there, both from 1. A query without
    seeds gets the dense ranking, with a note; seeds without neighbours are searched by their names.

    Parameters
    ----------
    hops : the maximum distance of neighbours, 1 to 3.
    min_weight : triples with less strength, 0 to 10, are not walked.
    hits : the number of passages kept per expansion.
    max_queries : the maximum of expansions, nearest first, from the seeds in turn.
    graph_weight, constant : those of the reciprocal rank fusion, weight / (constant + rank). The dense weight is 1.
    dense_depth : down to this dense rank, a passage of both lists has both contributions; below, the greater one.
    hub_share : entities named by more than this share of the passages, and by more than five, are hubs. They are no
        seeds beside other entities. If a query names only hubs, the rarest is the seed, and the hits of its
        expansions follow the first `dense_depth` dense hits.
    no_seeds : types of entities that are no seeds; the default graph's rare words have the type "term".
    linker : finds the query's entities, an object or a name of `retrievers.linking.LINKERS`.
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
        """Encode and search all expansions of the batch together, each text once."""
        dense = Dense(self.kb)
        links = self.entity_linker.link_batch(queries)
        seeds = list(map(self._seeds, links))
        expansions_of = list(map(self._expansions, seeds))
        dense_rankings = dense.retrieve_batch(queries, max(k, self.dense_depth))
        searches = []
        for query, expansions in zip(queries, expansions_of, strict=True):
            searches += [
                Query("", expansion.text, query.candidates) for expansion in expansions
            ]
        hits = iter(dense.retrieve_batch(searches, self.hits))
        rankings = []
        for i, (query, expansions) in enumerate(
            zip(queries, expansions_of, strict=True)
        ):
            finds = _first_finds(islice(hits, len(expansions)))
            ranking = dense_rankings[i].top(k)
            if expansions:
                of_hub = any(map(self._is_hub, seeds[i]))
                ranking = self._fuse(dense_rankings[i], expansions, finds, of_hub, k)
            notes = self._notes(query, ranking, links[i], expansions, finds)
            rankings.append(replace(ranking, notes=notes))
        return rankings

    def prepare(self, queries: Sequence[Query]) -> None:
        """Encode the queries and their expansions."""
        self.kb.encode_queries(queries)
        expansions = chain.from_iterable(self.expand(queries))
        texts = dict.fromkeys(expansion.text for expansion in expansions)
        self.kb.encode_queries([Query("", text) for text in texts])
        super().prepare(queries)

    def expand(self, queries: Sequence[Query]) -> list[list[Expansion]]:
        """The expansions of each query, nearest first, then the names of the seeds."""
        require_queries(queries)
        seeds = map(self._seeds, self.entity_linker.link_batch(queries))
        return list(map(self._expansions, seeds))

    def _expansions(self, seeds: Sequence[int]) -> list[Expansion]:
        """The expansions of a query, nearest first, then the names of its seeds.

        They are taken from the seeds in turn, each pair of entities once.
        """
        # A pair of two seeds is a candidate of both.
        candidates = [
            self._nearest(seed, self.max_queries + len(seeds)) for seed in seeds
        ]
        expansions = _take_in_turn(candidates, self.max_queries)
        expansions.sort(key=lambda expansion: -expansion.proximity)
        names_only = [Expansion(self.kb.graph.names[seed], 1.0, ()) for seed in seeds]
        return expansions + names_only

    def _seeds(self, links: Sequence[Link]) -> list[int]:
        """The linked entities without hubs; if all are hubs, the one that fewest passages name."""
        allowed = [
            link.entity
            for link in links
            if self.kb.graph.types[link.entity] not in self.no_seeds
        ]
        seeds = [entity for entity in allowed if not self._is_hub(entity)]
        if allowed and not seeds:
            return [min(allowed, key=self._n_passages)]
        return seeds

    def _n_passages(self, entity: int) -> int:
        return len(self.kb.graph.mentions.of(entity)[0])

    def _is_hub(self, entity: int) -> bool:
        limit = max(MIN_HUB_PASSAGES, self.hub_share * len(self.kb.corpus))
        return self._n_passages(entity) > limit

    def _nearest(
        self, seed: int, limit: int
    ) -> Iterator[tuple[frozenset[int], Expansion]]:
        """The pairs of a seed and a neighbour with their expansions, nearest first."""
        graph = self.kb.graph
        neighbourhood = graph.neighbourhood(
            [seed], hops=self.hops, min_weight=self.min_weight
        )
        proximity = neighbourhood.weights / (10 * neighbourhood.hops)
        for position in np.argsort(-proximity, kind="stable")[:limit].tolist():
            neighbour = neighbourhood.neighbour(position)
            text = f"{graph.names[seed]} {graph.names[neighbour.entity]}"
            expansion = Expansion(text, float(proximity[position]), neighbour.path)
            yield frozenset((seed, neighbour.entity)), expansion

    def _fuse(
        self,
        dense: Ranking,
        expansions: Sequence[Expansion],
        finds: Finds,
        of_hub: bool,
        k: int,
    ) -> Ranking:
        """The reciprocal rank fusion of the dense ranking and the passages that expansions find.

        If the expansions are those of a hub, the first `dense_depth` dense hits stay first.
        """
        graph_ranks = np.arange(1.0, len(finds) + 1)
        path_of = {
            row: expansions[number - 1].path for row, (number, _) in finds.items()
        }
        graph = Ranking.from_scores(
            dense.query_id,
            list(finds),
            1 / graph_ranks,
            dense.ids,
            stages=("graph",),
            score_parts={"place": graph_ranks},
            paths=triple_paths(self.kb.graph, path_of),
            notes=Notes("1 / place", "graph"),
        )
        weight = self.graph_weight
        depth = self.dense_depth
        if of_hub:
            # The first expansion hit then scores as dense rank dense_depth + 1, times graph_weight.
            weight *= (self.constant + 1) / (self.constant + self.dense_depth + 1)
            depth = 0
        counted = self._counted(dense.rows, graph.rows, weight, depth)
        fused = fuse_rankings(
            [dense, graph], (1.0, weight), k, constant=self.constant, counted=counted
        )
        finds_of_rows = [
            finds.get(row, (np.nan, np.nan)) for row in fused.rows.tolist()
        ]
        numbers, ranks = np.array(finds_of_rows).reshape(-1, 2).T
        parts = {**fused.score_parts, "expansion": numbers, "expansion rank": ranks}
        return replace(fused, score_parts=parts)

    def _counted(
        self, dense_rows: IntArray, graph_rows: IntArray, weight: float, depth: int
    ) -> tuple[BoolArray, BoolArray]:
        """The masks of the dense hits and of the graph hits that count in the fusion, (n_hits,) each.

        A passage of both lists counts twice if its dense rank is at most `depth`, else only in the list
        with the greater contribution.
        """
        _, dense_indices, graph_indices = np.intersect1d(
            dense_rows, graph_rows, return_indices=True
        )
        is_deep = dense_indices >= depth
        dense_indices = dense_indices[is_deep]
        graph_indices = graph_indices[is_deep]
        graph_scores = weight / (self.constant + graph_indices + 1)
        graph_is_better = graph_scores > 1 / (self.constant + dense_indices + 1)
        dense_counts = np.ones(len(dense_rows), dtype=bool)
        graph_counts = np.ones(len(graph_rows), dtype=bool)
        dense_counts[dense_indices[graph_is_better]] = False
        graph_counts[graph_indices[~graph_is_better]] = False
        return dense_counts, graph_counts

    def _notes(
        self,
        query: Query,
        ranking: Ranking,
        links: Sequence[Link],
        expansions: Sequence[Expansion],
        finds: Finds,
    ) -> ExpansionNotes:
        """The notes of a ranking, with a warning if the query has no expansions."""
        warning = ""
        if not expansions:
            missing = "no entity of the graph"
            if links:
                missing += " that may be a seed"
            warning = f"{missing} was recognised: dense ranking"
        return ExpansionNotes(
            ranking.notes.formula,
            ranking.notes.source,
            warning=warning,
            entities=linked_entities(self.kb, links),
            unlinked=unlinked_names(query, links),
            inputs=ranking.notes.inputs,
            expansions=tuple(expansion.text for expansion in expansions),
            found_by={
                ranking.ids[row]: expansions[number - 1].text
                for row, (number, _) in finds.items()
            },
        )

    def trace_batch(self, queries: Sequence[Query], k: int) -> list[Trace]:
        """The traces; a seed is linked, then an expansion finds the passage.

        Dense hits pass both steps.
        """
        all_rows = np.arange(len(self.kb.corpus))
        unread = f"not among the first {self.dense_depth} dense hits, and "
        unfound = f"{unread}not among the first {self.hits} of any expansion query"
        dense_rankings = Dense(self.kb).retrieve_batch(queries, self.dense_depth)
        rankings = self.retrieve_batch(queries, len(all_rows))
        traces = []
        for dense, ranking in zip(dense_rankings, rankings, strict=True):
            notes = ranking.notes.find(ExpansionNotes) or ExpansionNotes()
            finds = [self.kb.corpus.row(passage_id) for passage_id in notes.found_by]
            linked = all_rows
            expanded = np.union1d(dense.rows, finds)
            if not notes.expansions:
                linked = expanded = ranking.rows
            steps = (
                step(
                    "linked",
                    "entity not linked",
                    f"{unread}no seed was recognised",
                    linked,
                ),
                step("expanded", "not expanded", unfound, expanded),
            )
            traces.append(Trace(ranking.top(k), steps))
        return traces


def _take_in_turn(
    candidates: Sequence[Iterator[tuple[frozenset[int], Expansion]]], limit: int
) -> list[Expansion]:
    """At most `limit` expansions, the next of each seed in turn, each pair of entities once.

    `candidates` : for each seed, the pairs of entities with their expansions, nearest first.
    """
    waiting = deque(candidates)
    expansion_of: dict[frozenset[int], Expansion] = {}
    while waiting and len(expansion_of) < limit:
        expansions = waiting.popleft()
        for pair, expansion in expansions:
            if pair not in expansion_of:
                expansion_of[pair] = expansion
                waiting.append(expansions)
                break
    return list(expansion_of.values())


def _first_finds(rankings: Iterable[Ranking]) -> Finds:
    """The `Finds` of the expansions' rankings, in their order."""
    finds: dict[int, tuple[int, int]] = {}
    for number, ranking in enumerate(rankings, start=1):
        for rank, row in enumerate(ranking.rows.tolist(), start=1):
            finds.setdefault(row, (number, rank))
    return finds
