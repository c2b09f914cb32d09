"""Ceilings: what a stage could reach if the one before it were perfect. They are told the gold, so they are no systems.

None stands in the catalogue and a strategy never sees gold: an oracle is built by hand from plain mappings, such as
`gold_rerank(Dense(kb), data.qrels)`, and every ranking says "oracle" in its metadata. The definitions are ours.

- `gold_seeds`: a walk that starts at gold. Starting at all of it would return it, so each gold passage is judged by
  the walk that starts at the *other* ones: can the graph get there from where a perfect first search would be?
- `seeded_with_gold`: a pipeline that expands from seeds, the *other* gold passages being the first of them.
- `gold_entities`: a walk over the triple graph that starts at the entities the question needs: perfect linking.
- `gold_rerank`: gold first among a system's first hits: what any reranker of that depth could reach, and no more.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from kg2rag.knowledge.base import KnowledgeBase
from kg2rag.knowledge.graph.undirected import UndirectedGraph
from kg2rag.retrievers.contract import Pipeline, Retriever, Stage
from kg2rag.retrievers.dense import dense_fallback
from kg2rag.retrievers.mention_ppr.retriever import MentionPPR
from kg2rag.types.arrays import FloatArray, IntArray
from kg2rag.types.passages import Query
from kg2rag.types.rankings import Ranking, rank
from kg2rag.types.rescoring import rescored

Gold = Mapping[str, Iterable[str]]


def gold_seeds(kb: KnowledgeBase, gold: Gold, *, own_starts: bool = False, **settings: float) -> OracleGoldSeeds:
    """The ceiling of seeding, for the walk of `mention_ppr`.

    Parameters
    ----------
    gold : query id -> gold passage ids; `data.qrels` will do where gold names passages.
    own_starts : whether the walk begins where it would have, too, half of it: what better seeds would add, instead of
        what the graph gives from gold alone.
    settings : parameters of `MentionPPR`; without `own_starts` those of its own start have no effect.

    Raises
    ------
    KeyError : a gold passage that the corpus lacks.
    """
    known = {query: tuple(dict.fromkeys(ids)) for query, ids in gold.items()}
    for ids in known.values():
        kb.corpus.rows(ids)
    return OracleGoldSeeds(_WalkFrom(kb, own_starts=own_starts, **settings), known)  # type: ignore[arg-type]


def seeded_with_gold(system: Pipeline, gold: Gold) -> OracleSeeded:
    """The ceiling of seeding, for a pipeline whose first stage expands from the hits that it reads.

    Parameters
    ----------
    gold : query id -> gold passage ids.
    """
    return OracleSeeded(system, {query: tuple(dict.fromkeys(ids)) for query, ids in gold.items()})


def gold_entities(kb: KnowledgeBase, entities: Gold, *, damping: float = 0.5) -> OracleGoldEntities:
    """The ceiling of linking: PageRank over the triple graph and its mentions from the right entities.

    Parameters
    ----------
    entities : query id -> names of the entities that its reasoning goes through, such as the ends of its gold triples.
        Leave out the answer to measure linking alone. Names that the graph lacks are told in the metadata.
    damping : probability of following an edge rather than starting anew, in (0, 1).
    """
    return OracleGoldEntities(kb, {query: tuple(dict.fromkeys(names)) for query, names in entities.items()}, damping)


def gold_rerank(system: Retriever, gold: Gold, depth: int = 100) -> Pipeline:
    """The ceiling of reranking the first `depth` hits of a system.

    Parameters
    ----------
    gold : query id -> gold passage ids.
    """
    return system >> OracleGoldFirst({query: tuple(dict.fromkeys(ids)) for query, ids in gold.items()}, depth)


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
        return [
            self._reordered(ranking, _gold_of(self.gold, query))
            for query, ranking in zip(queries, rankings, strict=True)
        ]

    def _reordered(self, ranking: Ranking, gold: tuple[str, ...]) -> Ranking:
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
            notes={"oracle": "gold rerank", "gold_found": int(is_gold.sum())},
        )


@dataclass(frozen=True)
class _WalkFrom(MentionPPR):
    """`mention_ppr` started, in equal parts, at the candidates of a query's own making: see `OracleGoldSeeds`."""

    starts: Mapping[str, IntArray] = field(default_factory=dict, repr=False, hash=False)
    own_starts: bool = False

    def restart(self, query: Query, dense: Ranking) -> FloatArray:
        restart = np.zeros(self.graph.n_nodes)
        rows = self.starts[query.id]
        restart[rows] = 1.0 / len(rows)
        if self.own_starts:
            own = super().restart(query, dense)
            restart += own / (own.sum() or 1.0)
        return restart


@dataclass(frozen=True)
class OracleGoldSeeds(Retriever):
    """Each gold passage scored by the walk from the other ones, every other passage by the mean of these walks.

    Passages that no walk reaches are not returned. A query with a single gold passage has no other to start from; it
    gets the dense ranking, and says so.
    """

    walk: _WalkFrom
    gold: Mapping[str, tuple[str, ...]] = field(repr=False, hash=False)

    def retrieve_batch(self, queries: Sequence[Query], k: int) -> list[Ranking]:
        """One walk for each query and gold passage."""
        corpus = self.walk.kb.corpus
        golds = [sorted(map(corpus.row, _gold_of(self.gold, query))) for query in queries]
        asked, starts = [], {}
        for i, (query, rows) in enumerate(zip(queries, golds, strict=True)):
            for left_out in rows if len(rows) > 1 else ():
                name = f"{i} without {left_out}"
                asked.append(replace(query, id=name))
                starts[name] = np.array([row for row in rows if row != left_out], dtype=np.int64)
        walked = iter(replace(self.walk, starts=starts).retrieve_batch(asked, self.walk.depth))
        return [
            self._merged(query, rows, [next(walked) for _ in rows], k)
            if len(rows) > 1
            else _marked(dense_fallback(self.walk.kb, [query], k, "one gold passage")[0], "gold seeds")
            for query, rows in zip(queries, golds, strict=True)
        ]

    def _merged(self, query: Query, gold: Sequence[int], walks: Sequence[Ranking], k: int) -> Ranking:
        # 0 for the dense hits that the walk did not reach
        scores = _left_out_in_turn(
            gold, [(walk.rows, walk.score_parts["walk"]) for walk in walks], len(self.walk.kb.corpus)
        )
        rows = np.flatnonzero(scores)
        corpus, said = self.walk.kb.corpus, {"oracle": "gold seeds"}
        return rank(query.id, rows, scores[rows], corpus.ids, k, stages=("walk",), metadata=said)


@dataclass(frozen=True)
class OracleSeeded(Retriever):
    """A pipeline run once for each gold passage, its first seeds the other gold passages, then the retriever's hits.

    The gold passage that is sought is a seed only where the retriever finds it. It scores what its own run gives it,
    every other passage the mean of the runs. A query with a single gold passage gets the pipeline's own ranking, and
    says so.
    """

    system: Pipeline
    gold: Mapping[str, tuple[str, ...]] = field(repr=False, hash=False)

    def retrieve_batch(self, queries: Sequence[Query], k: int) -> list[Ranking]:
        """One run for each query and gold passage, all in one batch."""
        plain = self.system.retrieve_batch(queries, k)
        depth = self.system.stages[0].depth
        hits = self.system.retriever.retrieve_batch(queries, depth)
        golds = [
            _rows_of(_gold_of(self.gold, query), ranking.ids) for query, ranking in zip(queries, plain, strict=True)
        ]
        asked, seeded = [], []
        for query, rows, found in zip(queries, golds, hits, strict=True):
            for left_out in rows if len(rows) > 1 else ():
                asked.append(query)
                seeded.append(_seeds(found, [row for row in rows if row != left_out], depth))
        for stage in self.system.stages:
            seeded = stage.apply(asked, [ranking.top(stage.depth) for ranking in seeded])
        runs = iter(seeded)
        return [
            self._merged(ranking, rows, [next(runs) for _ in rows], k)
            if len(rows) > 1
            else _marked(ranking, "gold seeds", note="one gold passage: as it is")
            for ranking, rows in zip(plain, golds, strict=True)
        ]

    def _merged(self, plain: Ranking, gold: Sequence[int], runs: Sequence[Ranking], k: int) -> Ranking:
        scores = _left_out_in_turn(gold, [(run.rows, run.scores) for run in runs], len(plain.ids))
        rows = np.flatnonzero(scores)
        return rank(plain.query_id, rows, scores[rows], plain.ids, k, metadata={"oracle": "gold seeds"})


@dataclass(frozen=True)
class OracleGoldEntities(Retriever):
    """PageRank over entities and passages from a query's gold entities, in equal parts."""

    kb: KnowledgeBase = field(repr=False)
    entities: Mapping[str, tuple[str, ...]] = field(repr=False, hash=False)
    damping: float = 0.5

    def retrieve_batch(self, queries: Sequence[Query], k: int) -> list[Ranking]:
        """One walk a query; where the graph has none of the entities, the dense ranking, which is said."""
        from kg2rag.knowledge.graph.pagerank import pagerank

        graph, n = self.kb.graph, self.kb.graph.n_entities
        names = [_gold_of(self.entities, query) for query in queries]
        restarts = np.zeros((len(queries), n + graph.n_passages))
        lacking = []
        for restart, own in zip(restarts, names, strict=True):
            codes = [graph.find(name) for name in own]
            restart[[code for code in codes if code is not None]] = 1.0
            lacking.append(tuple(name for name, code in zip(own, codes, strict=True) if code is None))
        walks = pagerank(self._walk(), restarts, self.damping) if n else restarts
        masks = self.kb.candidates(queries)
        rankings = []
        for query, walk, absent, mask in zip(queries, walks, lacking, masks, strict=True):
            rows = np.flatnonzero(walk[n:]) if mask is None else mask[walk[n + mask] > 0]
            ranking = rank(query.id, rows, walk[n + rows], self.kb.corpus.ids, k, stages=("pagerank",))
            if not walk.any():
                ranking = dense_fallback(self.kb, [query], k, "no gold entity is in the graph")[0]
            rankings.append(_marked(ranking, "gold entities", not_in_the_graph=absent))
        return rankings

    def _walk(self) -> UndirectedGraph:
        """Entities, then passages; one for each triple between two entities and one for each mention."""
        graph = self.kb.graph
        table, mentions = graph.triples, graph.mentions
        sources = np.concatenate([table.heads, mentions.owners]).astype(np.int64)
        targets = np.concatenate([table.tails, graph.n_entities + mentions.others]).astype(np.int64)
        return UndirectedGraph.from_edges(sources, targets, np.ones(len(sources)), graph.n_entities + graph.n_passages)


def _left_out_in_turn(gold: Sequence[int], runs: Sequence[tuple[IntArray, FloatArray]], n_passages: int) -> FloatArray:
    """(n_passages,) a gold passage's score in the run that left it out; of any other passage the mean of all runs."""
    scores = np.zeros(n_passages)
    for left_out, (rows, values) in zip(gold, runs, strict=True):
        share = np.zeros(n_passages)
        share[rows] = values
        seen, share[list(gold)] = share[left_out], 0.0
        scores += share / len(runs)
        scores[left_out] = seen
    return scores


def _seeds(hits: Ranking, first: Sequence[int], depth: int) -> Ranking:
    """Some passages, then the hits; scored 1 / place."""
    beyond = hits.rows[~np.isin(hits.rows, first)]
    rows = np.concatenate([np.array(first, dtype=np.int64), beyond])[:depth]
    return rank(hits.query_id, rows, 1 / np.arange(1, len(rows) + 1), hits.ids, depth, stages=("gold seeds",))


def _rows_of(wanted: Sequence[str], ids: Sequence[str]) -> list[int]:
    place = {id_: row for row, id_ in enumerate(ids)}
    return sorted(place[id_] for id_ in wanted)


def _marked(ranking: Ranking, oracle: str, **said: object) -> Ranking:
    return replace(ranking, metadata={**ranking.metadata, "oracle": oracle, **said})


def _gold_of(gold: Mapping[str, tuple[str, ...]], query: Query) -> tuple[str, ...]:
    try:
        return gold[query.id]
    except KeyError:
        raise KeyError(f"An oracle needs the gold of query {query.id!r}; it was given that of {len(gold)}.") from None
