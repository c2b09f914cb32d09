"""Ceilings: what a stage could reach if the one before it were perfect.

They are given the gold, so they are no systems and not in the catalogue: an oracle is built by hand from
plain mappings, such as `gold_rerank(Dense(kb), data.qrels)`, and every ranking has `OracleNotes`. The
definitions are ours.

- `gold_entities`: a walk over the triple graph that starts at the entities the question needs: perfect linking.
- `gold_rerank`: gold first among a system's first hits: what any reranker of that depth could reach.
- `gold_seeds` and `seeded_with_gold`, in `seed_oracles.py`: searches that start at gold passages.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from kg2rag.knowledge import KnowledgeBase
from kg2rag.knowledge.graph.pagerank import NodeWeights, WalkGraph, walks
from kg2rag.retrievers.contract import Pipeline, Retriever, Stage
from kg2rag.retrievers.dense import dense_fallback
from kg2rag.types import Notes, Query, Ranking, rank, rescored

Gold = Mapping[str, Iterable[str]]


@dataclass(frozen=True)
class OracleNotes(Notes):
    """Which oracle made the ranking; how much gold it found, the names that the graph lacks, where it looks for any."""

    oracle: str = ""
    gold_found: int | None = None
    not_in_the_graph: tuple[str, ...] | None = None


def as_tuples(gold: Gold) -> dict[str, tuple[str, ...]]:
    """Query id -> its gold, each once."""
    return {query: tuple(dict.fromkeys(ids)) for query, ids in gold.items()}


def gold_entities(kb: KnowledgeBase, entities: Gold, *, damping: float = 0.5) -> OracleGoldEntities:
    """The ceiling of linking: PageRank over the triple graph and its mentions from the right entities.

    Parameters
    ----------
    entities : query id -> names of the entities that its reasoning goes through, such as the ends of its gold triples.
        Leave out the answer to measure linking alone. Names that the graph lacks are listed in the notes.
    damping : probability of following an edge rather than starting anew, in (0, 1).
    """
    return OracleGoldEntities(kb, as_tuples(entities), damping)


def gold_rerank(system: Retriever, gold: Gold, depth: int = 100) -> Pipeline:
    """The ceiling of reranking the first `depth` hits of a system; `gold` is query id -> gold passage ids."""
    return system >> OracleGoldFirst(as_tuples(gold), depth)


@dataclass(frozen=True)
class OracleGoldFirst(Stage):
    """A ranking's first `depth` hits, gold ones first, otherwise in their order; the score is 1 / rank."""

    gold: Mapping[str, tuple[str, ...]] = field(repr=False, hash=False)
    depth: int = 100

    def __post_init__(self) -> None:
        if self.depth < 1:
            raise ValueError(f"depth must be at least 1, not {self.depth}.")

    def apply(self, queries: Sequence[Query], rankings: Sequence[Ranking]) -> list[Ranking]:
        """Reorder; the score that a hit came with is its part "retriever"."""
        return [self._reordered(query, ranking) for query, ranking in zip(queries, rankings, strict=True)]

    def _reordered(self, query: Query, ranking: Ranking) -> Ranking:
        gold = gold_of(self.gold, query)
        is_gold = np.array([id_ in gold for id_ in ranking.passage_ids], dtype=bool)
        places = np.empty(len(ranking))
        places[np.argsort(~is_gold, kind="stable")] = np.arange(1, len(ranking) + 1)
        return rescored(
            ranking,
            ranking.rows,
            1 / places,
            max(len(ranking), 1),
            formula="1 / place",
            score_parts={"place": places, "retriever": ranking.scores, "gold": is_gold.astype(np.float64)},
            notes=OracleNotes(oracle="gold rerank", gold_found=int(is_gold.sum())),
        )


@dataclass(frozen=True)
class OracleGoldEntities(Retriever):
    """PageRank over entities and passages from a query's gold entities, in equal parts."""

    kb: KnowledgeBase = field(repr=False)
    entities: Mapping[str, tuple[str, ...]] = field(repr=False, hash=False)
    damping: float = 0.5

    def retrieve_batch(self, queries: Sequence[Query], k: int) -> list[Ranking]:
        """One walk per query; where the graph has none of the entities, the dense ranking, as its notes say."""
        graph, n = self.kb.graph, self.kb.graph.n_entities
        restarts, lacking = np.zeros((len(queries), n + graph.n_passages)), []
        for restart, query in zip(restarts, queries, strict=True):
            codes = {name: graph.find(name) for name in gold_of(self.entities, query)}
            restart[[code for code in codes.values() if code is not None]] = 1.0
            lacking.append(tuple(name for name, code in codes.items() if code is None))
        starts = list(map(NodeWeights.of_dense, restarts))
        found = [walk.shares for walk in walks(self._walk(), starts, self.damping)]
        masks = self.kb.candidates(queries)
        rankings = []
        for query, walk, absent, mask in zip(queries, found, lacking, masks, strict=True):
            rows = np.flatnonzero(walk[n:]) if mask is None else mask[walk[n + mask] > 0]
            ranking = rank(query.id, rows, walk[n + rows], self.kb.corpus.ids, k, stages=("pagerank",))
            if not walk.any():
                ranking = dense_fallback(self.kb, [query], k, "no gold entity is in the graph")[0]
            rankings.append(marked(ranking, OracleNotes(oracle="gold entities", not_in_the_graph=absent)))
        return rankings

    def _walk(self) -> WalkGraph:
        """Entities, then passages; one for each triple between two entities and one for each mention."""
        graph = self.kb.graph
        table, mentions = graph.triples, graph.mentions
        sources = np.concatenate([table.heads, mentions.owners]).astype(np.int64)
        targets = np.concatenate([table.tails, graph.n_entities + mentions.others]).astype(np.int64)
        return WalkGraph.undirected(sources, targets, np.ones(len(sources)), graph.n_entities + graph.n_passages)


def marked(ranking: Ranking, said: OracleNotes) -> Ranking:
    """The ranking with an oracle's notes."""
    own = ranking.notes
    return replace(ranking, notes=replace(said, formula=own.formula, source=own.source, inputs=(own,)))


def gold_of(gold: Mapping[str, tuple[str, ...]], query: Query) -> tuple[str, ...]:
    """The gold of a query; KeyError names one that was not given."""
    try:
        return gold[query.id]
    except KeyError:
        raise KeyError(f"An oracle needs the gold of query {query.id!r}; it was given that of {len(gold)}.") from None
