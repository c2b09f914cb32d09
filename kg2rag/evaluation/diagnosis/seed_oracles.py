"""Ceilings of seeding: searches that start at gold passages. They are given the gold, so they are no systems.

A search that starts at all of the gold would return it, so each gold passage is judged by the search that starts at the
*other* ones: does the graph lead there from where a perfect first search would be? The definitions are ours.

- `gold_seeds`: the walk of `mention_ppr` from the other gold passages.
- `seeded_with_gold`: a pipeline that expands from seeds, the other gold passages being the first of them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from kg2rag.evaluation.diagnosis.oracles import Gold, OracleNotes, as_tuples, gold_of, marked
from kg2rag.knowledge import KnowledgeBase
from kg2rag.knowledge.graph.pagerank import NodeWeights
from kg2rag.retrievers.contract import Pipeline, Retriever
from kg2rag.retrievers.dense import dense_fallback
from kg2rag.retrievers.mention_ppr.retriever import MentionPPR
from kg2rag.types import FloatArray, IntArray, Query, Ranking, rank

GOLD_SEEDS = OracleNotes(oracle="gold seeds")


def gold_seeds(kb: KnowledgeBase, gold: Gold, *, own_starts: bool = False, **settings: float) -> OracleGoldSeeds:
    """The ceiling of seeding, for the walk of `mention_ppr`.

    Parameters
    ----------
    gold : query id -> gold passage ids; `data.qrels`, where gold names passages.
    own_starts : whether half of the walk begins where it would have without gold: measures what better seeds would add
        instead of what the graph gives from gold alone.
    settings : parameters of `MentionPPR`; without `own_starts` those of its own start have no effect.

    Raises
    ------
    KeyError : a gold passage that the corpus lacks.
    """
    known = as_tuples(gold)
    for ids in known.values():
        kb.corpus.rows(ids)
    return OracleGoldSeeds(_WalkFrom(kb, own_starts=own_starts, **settings), known)  # type: ignore[arg-type]


def seeded_with_gold(system: Pipeline, gold: Gold) -> OracleSeeded:
    """The ceiling of seeding, for a pipeline whose first stage expands from the hits that it reads."""
    return OracleSeeded(system, as_tuples(gold))


@dataclass(frozen=True)
class _WalkFrom(MentionPPR):
    """`mention_ppr` started, in equal parts, at given passages: see `OracleGoldSeeds`."""

    starts: Mapping[str, IntArray] = field(default_factory=dict, repr=False, hash=False)
    own_starts: bool = False

    def restart(self, query: Query, dense: Ranking) -> NodeWeights:
        rows = self.starts[query.id]
        given = NodeWeights.of(rows, np.full(len(rows), 1.0 / len(rows)))
        if not self.own_starts:
            return given
        own = super().restart(query, dense)
        return given.plus(NodeWeights(own.nodes, own.weights / (own.weights.sum() or 1.0)))


@dataclass(frozen=True)
class OracleGoldSeeds(Retriever):
    """Each gold passage scored by the walk from the other ones, every other passage by the mean of these walks.

    Passages that no walk reaches are not returned. A query with a single gold passage has no other to start from; it
    gets the dense ranking, as its notes say.
    """

    walk: _WalkFrom
    gold: Mapping[str, tuple[str, ...]] = field(repr=False, hash=False)

    def retrieve_batch(self, queries: Sequence[Query], k: int) -> list[Ranking]:
        """One walk for each query and gold passage."""
        corpus = self.walk.kb.corpus
        golds = [sorted(map(corpus.row, gold_of(self.gold, query))) for query in queries]
        variants, starts = [], {}
        for i, (query, rows) in enumerate(zip(queries, golds, strict=True)):
            for left_out in rows if len(rows) > 1 else ():
                name = f"{i} without {left_out}"
                variants.append(replace(query, id=name))
                starts[name] = np.array([row for row in rows if row != left_out], dtype=np.int64)
        found = replace(self.walk, starts=starts).retrieve_batch(variants, self.walk.depth)
        # The part is 0 for dense hits that the walk did not reach.
        walked = iter([(walk.rows, walk.score_parts["walk"]) for walk in found])
        return [
            _left_out_in_turn(query, rows, [next(walked) for _ in rows], corpus.ids, k, "walk")
            if len(rows) > 1
            else marked(dense_fallback(self.walk.kb, [query], k, "one gold passage")[0], GOLD_SEEDS)
            for query, rows in zip(queries, golds, strict=True)
        ]


@dataclass(frozen=True)
class OracleSeeded(Retriever):
    """A pipeline run once for each gold passage, its first seeds the other gold passages, then the retriever's hits.

    The gold passage that is sought is a seed only where the retriever finds it. It scores what its own run gives it,
    every other passage the mean of the runs. A query with a single gold passage gets the pipeline's own ranking, as
    its notes say.
    """

    system: Pipeline
    gold: Mapping[str, tuple[str, ...]] = field(repr=False, hash=False)

    def retrieve_batch(self, queries: Sequence[Query], k: int) -> list[Ranking]:
        """One run for each query and gold passage, all in one batch."""
        plain = self.system.retrieve_batch(queries, k)
        depth = self.system.stages[0].depth
        hits = self.system.retriever.retrieve_batch(queries, depth)
        place = {id_: row for row, id_ in enumerate(plain[0].ids)} if plain else {}
        golds = [sorted(place[id_] for id_ in gold_of(self.gold, query)) for query in queries]
        variants, seeded = [], []
        for query, rows, found in zip(queries, golds, hits, strict=True):
            for left_out in rows if len(rows) > 1 else ():
                variants.append(query)
                seeded.append(_seeds(found, [row for row in rows if row != left_out], depth))
        for stage in self.system.stages:
            seeded = stage.apply(variants, [ranking.top(stage.depth) for ranking in seeded])
        runs = iter([(ranking.rows, ranking.scores) for ranking in seeded])
        return [
            _left_out_in_turn(query, rows, [next(runs) for _ in rows], ranking.ids, k)
            if len(rows) > 1
            else marked(ranking, OracleNotes(oracle="gold seeds", warning="one gold passage: as it is"))
            for query, ranking, rows in zip(queries, plain, golds, strict=True)
        ]


def _left_out_in_turn(
    query: Query,
    gold: Sequence[int],
    runs: Sequence[tuple[IntArray, FloatArray]],
    ids: Sequence[str],
    k: int,
    stage: str = "",
) -> Ranking:
    """A gold passage's score is that of the run that left it out; of any other passage the mean of all runs."""
    scores = np.zeros(len(ids))
    for left_out, (rows, values) in zip(gold, runs, strict=True):
        share = np.zeros(len(ids))
        share[rows] = values
        seen, share[list(gold)] = share[left_out], 0.0
        scores += share / len(runs)
        scores[left_out] = seen
    found = np.flatnonzero(scores)
    return rank(query.id, found, scores[found], ids, k, stages=(stage,), notes=GOLD_SEEDS)


def _seeds(hits: Ranking, first: Sequence[int], depth: int) -> Ranking:
    """Some passages, then the hits; scored 1 / place."""
    beyond = hits.rows[~np.isin(hits.rows, first)]
    rows = np.concatenate([np.array(first, dtype=np.int64), beyond])[:depth]
    return rank(hits.query_id, rows, 1 / np.arange(1, len(rows) + 1), hits.ids, depth, stages=("gold seeds",))
