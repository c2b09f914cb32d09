"""A ranking -> the same hits and a few more, re-scored by how near the graph puts them to the query's entities.

The graph-augmented design (graph score, 0.7 / 0.3 and 4 passages are its defaults). It is additive: no hit is dropped.
Ours: a passage that several entities reach counts by its best one; equal graph scores are ordered by cosine.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Annotated

import numpy as np
from numpy.typing import NDArray

from kg2rag.knowledge import KnowledgeBase, Neighbour, graph_score
from kg2rag.knowledge.graph.csr import gather, run_starts
from kg2rag.knowledge.graph.neighbourhood import Hops, Neighbourhood
from kg2rag.knowledge.graph.paths import Components, TriplePaths
from kg2rag.retrievers import linking
from kg2rag.retrievers.around import LinksEntities
from kg2rag.retrievers.bm25 import BM25
from kg2rag.retrievers.contract import Pipeline, Stage, Tuned
from kg2rag.retrievers.dense import Dense
from kg2rag.retrievers.fusion import FusionNotes, fuse, min_max
from kg2rag.retrievers.linking.linkers import Link, Linker, linked_entities
from kg2rag.types import (
    Count,
    FloatArray,
    IntArray,
    Matrix,
    Natural,
    Notes,
    ParameterError,
    Query,
    Ranking,
    Trace,
    Weight,
    checked,
    first_of,
    number,
    one_of,
    sources,
    step,
    top_with_ties,
    widened,
)

COLOUR = "#009E73"  # in plots
TUNING = (
    Tuned(
        "graph_augmented",
        "depth = 10 and mentions = passage",
        "chosen",
        training=("musique (without musique-100)", "hotpotqa", "2wiki"),
    ),
)

MENTIONS = ("passage", "corpus")
TIE = 1e-4  # of the cosine: it orders passages of equal graph score, and is above the rounding of scores
ROUNDING = 1e-5  # by so much may a cosine of unit vectors in single precision be above 1


@dataclass(frozen=True, eq=False)
class Reached:
    """The passages that name an entity around those of a query; a passage comes once for each such entity.

    `rows`, `scores` (graph scores), `mentions` (as the score counts them) and `near` are (n,); `near` indexes the
    entities of all `around`, one after another.
    """

    around: tuple[Neighbourhood, ...]
    rows: IntArray
    scores: FloatArray
    mentions: IntArray
    near: IntArray

    @cached_property
    def best(self) -> IntArray:
        """Where each passage has its best score, at the first of equal ones; by corpus row."""
        by_row = np.lexsort((-self.scores, self.rows))  # stable: equal scores stay in order
        return by_row[run_starts(self.rows[by_row])]

    def scores_of(self, rows: IntArray) -> FloatArray:
        """The best score of each of these passages, 0 where it is not reached."""
        at, met = self._places(rows)
        scores = np.zeros(len(rows))
        scores[met] = self.scores[at[met]]
        return scores

    def sources(self, rows: IntArray) -> dict[int, tuple[Neighbour, int]]:
        """Corpus row -> the entity that gives it its best score, the first of equal ones, and its mentions."""
        at, met = self._places(rows)
        return {int(self.rows[i]): (self._neighbour(int(self.near[i])), int(self.mentions[i])) for i in at[met]}

    def _places(self, rows: IntArray) -> tuple[IntArray, NDArray[np.bool_]]:
        """For each passage its place in `best`, and whether it has one."""
        reached = self.rows[self.best]
        if not len(reached):
            return np.zeros(len(rows), dtype=np.int64), np.zeros(len(rows), dtype=bool)
        at = np.minimum(np.searchsorted(reached, rows), len(reached) - 1)
        return self.best[at], reached[at] == rows

    def _neighbour(self, at: int) -> Neighbour:
        for around in self.around:
            if at < len(around.entities):
                break
            at -= len(around.entities)
        return around.neighbour(at)


@dataclass(frozen=True)
class GraphAugmentNotes(Notes):
    """How many passages the graph added; whether the scores given were min-max scaled."""

    graph_results: int = 0
    scaled: bool | None = None


@dataclass(frozen=True)
class GraphAugment(LinksEntities, Stage):
    """combined = alpha · score + beta · graph score, of scores in [0, 1].

    Scores outside [-1, 1], such as BM25's, and those of a rank fusion, which are tiny, are min-max scaled within the
    hits read, and the notes say so: the graph would weigh nothing beside the former, and everything beside the latter.

    Parameters
    ----------
    hops : how far related entities may be, 1 to 3; the graph score halves with each.
    max_chunks : passages that only the graph found, at most.
    alpha : weight of the text score, 0.7 in the design.
    beta : weight of the graph score, 0.3 in the design.
    relation_types : follow these relations alone; case and punctuation do not matter. None follows all.
    mentions : of a related entity that the graph score counts: in the "passage" it scores, or in the whole "corpus".
    use_graph : False returns the ranking as it came.
    depth : hits read; all of them are kept.
    linker : finds the query's entities, as such or by name: `retrievers.linking.LINKERS`.
    """

    kb: KnowledgeBase = field(repr=False)
    hops: Hops = 1
    max_chunks: Natural = 4
    alpha: Weight = 0.7
    beta: Weight = 0.3
    relation_types: Sequence[str] | None = None
    mentions: Annotated[str, one_of(MENTIONS)] = "passage"
    use_graph: bool = True
    depth: Count = 10
    linker: str | Linker = linking.DESIGN

    def __post_init__(self) -> None:
        if self.relation_types is not None:
            given = (self.relation_types,) if isinstance(self.relation_types, str) else tuple(self.relation_types)
            object.__setattr__(self, "relation_types", given)
        super().__post_init__()
        if not (self.alpha or self.beta):
            raise ParameterError("alpha and beta must not both be 0: every score would be.")

    def apply(self, queries: Sequence[Query], rankings: Sequence[Ranking]) -> list[Ranking]:
        """Link the batch, then augment each ranking."""
        if not self.use_graph or not queries:
            return list(rankings)
        vectors, masks = self.kb.encode_queries(queries), self.kb.candidates(queries)
        columns = zip(rankings, self.entity_linker.link_batch(queries), vectors, masks, strict=True)
        return [self._augment(*column) for column in columns]

    def _augment(self, ranking: Ranking, links: Sequence[Link], vector: Matrix, mask: IntArray | None) -> Ranking:
        reached = self._reached([link.entity for link in links], mask)
        fresh, cosines = self._added(reached, ranking.rows, vector)
        rows = np.concatenate([ranking.rows, fresh])
        scaled = _needs_scaling(ranking)
        found = min_max(ranking.scores) if scaled else ranking.scores
        text, graph = np.concatenate([found, np.zeros(len(fresh))]), reached.scores_of(rows)
        scores = self.alpha * text + self.beta * graph
        scores[len(ranking) :] += TIE * cosines
        nearest = reached.sources(rows)
        about = np.full((3, len(rows)), np.nan)
        for at, row in enumerate(rows.tolist()):
            if row in nearest:
                near, mentions = nearest[row]
                about[:, at] = near.weight, near.hop, mentions
        parts = {"hybrid": text, "graph": graph, **dict(zip(("strength", "hop", "mentions"), about, strict=True))}
        parts["graph cosine"] = np.concatenate([np.full(len(ranking), np.nan), cosines])
        kg = self.kb.graph
        formula = f"{number(self.alpha)} · hybrid + {number(self.beta)} · graph + {number(TIE)} · graph cosine"
        looked = {"hybrid": " and ".join(dict.fromkeys(sources(ranking).values())), "graph": "graph"}
        paths = {row: near.path for row, (near, _) in nearest.items()}
        return Ranking.of(
            ranking.query_id,
            rows,
            scores,
            ranking.ids,
            stages=("hybrid", "graph"),
            stage_codes=np.repeat([0, 1], [len(ranking), len(fresh)]),
            score_parts={**widened(ranking, len(fresh)), **parts},
            paths=first_of(TriplePaths(kg, paths), ranking.paths),
            notes=GraphAugmentNotes(
                formula,
                looked,
                warning="" if links else "no entity of the graph was recognised: the graph adds nothing",
                entities=linked_entities(self.kb, links),
                inputs=(ranking.notes,),
                graph_results=len(fresh),
                scaled=scaled or None,
            ),
        )

    def _added(self, reached: Reached, hybrid: IntArray, vector: Matrix) -> tuple[IntArray, FloatArray]:
        """The passages that only the graph found, at most `max_chunks`, by score, cosine and row; and their cosines."""
        rows, scores = reached.rows[reached.best], reached.scores[reached.best]
        alone = (scores > 0) & ~np.isin(rows, hybrid)
        rows, scores = rows[alone], scores[alone]
        if not (self.max_chunks and len(rows)):
            return np.empty(0, dtype=np.int64), np.empty(0)
        first = top_with_ties(scores, self.max_chunks)
        rows, scores = rows[first], scores[first]
        cosines = self.kb.dense.cosines(vector, rows)
        order = np.lexsort((rows, -cosines, -scores))[: self.max_chunks]
        return rows[order], cosines[order]

    def _reached(self, entities: Sequence[int], mask: IntArray | None = None) -> Reached:
        """Each entity is expanded on its own, so that one entity of the query may lead to another's passages."""
        graph = self.kb.graph
        around = tuple(
            graph.neighbourhood([entity], hops=self.hops, relation_types=self.relation_types) for entity in entities
        )
        near = np.concatenate([np.empty(0, dtype=np.int64), *(each.entities for each in around)])
        weights = np.concatenate([np.empty(0), *(each.weights for each in around)])
        hops = np.concatenate([np.empty(0, dtype=np.int64), *(each.hops for each in around)])
        at, which = gather(graph.mentions.indptr, near)
        rows = graph.mentions.others[at].astype(np.int64)
        if mask is not None:
            kept = np.isin(rows, mask)
            at, which, rows = at[kept], which[kept], rows[kept]
        if self.mentions == "passage":
            mentions = graph.mentions.counts[at].astype(np.int64)
            return Reached(around, rows, graph_score(weights[which], hops[which], mentions), mentions, which)
        totals = graph.mention_counts[near]
        return Reached(around, rows, graph_score(weights, hops, totals)[which], totals[which], which)

    def trace(self, queries: Sequence[Query], before: Sequence[Trace]) -> list[Trace]:
        """Which passages the query's entities lead to, within the hops, and within `max_chunks`; hits pass all."""
        if not self.use_graph:
            return super().trace(queries, before)
        read = [trace.ranking.top(self.depth) for trace in before]
        joined = Components.of_graph(self.kb.graph)
        unread = f"not among the first {self.depth} hits, and "
        traces = []
        for after, links in zip(self.apply(queries, read), self.entity_linker.link_batch(queries), strict=True):
            entities = [link.entity for link in links]
            linked, reached = joined.rows_with(entities), np.unique(self._reached(entities).rows)
            none = "no entity of the query leads to it" if entities else "no entity of the graph was recognised"
            steps = (
                step("linked", "entity not linked", unread + none, linked, after.rows),
                step("expanded", "not expanded", f"{unread}beyond hops = {self.hops}", reached, after.rows),
                step("added", "pruned", f"{unread}below the {self.max_chunks} that the graph may add", after.rows),
            )
            traces.append(Trace(after, steps))
        return traces


def _needs_scaling(ranking: Ranking) -> bool:
    """Whether scores are not of the order of a graph score, in [0, 1]."""
    ranks = isinstance(ranking.notes, FusionNotes) and ranking.notes.method == "rrf"
    return bool(len(ranking)) and (ranks or bool(np.abs(ranking.scores[[0, -1]]).max() > 1 + ROUNDING))


@checked
def graph_augmented(
    kb: KnowledgeBase,
    *,
    hops: int = 1,
    max_chunks: int = 4,
    alpha: float = 0.7,
    beta: float = 0.3,
    relation_types: Sequence[str] | None = None,
    mentions: str = "passage",
    use_graph: bool = True,
    dense_weight: float = 0.7,
    bm25_weight: float = 0.3,
    depth: int = 10,
    linker: str | Linker = linking.DESIGN,
) -> Pipeline:
    """A min-max weighted merge of dense and BM25, re-scored and extended by the graph around the query's entities.

    Of the weights of dense and BM25 only the ratio counts: they are scaled to add up to 1. What else there is to set
    are `GraphAugment`'s parameters.
    """
    given = (dense_weight, bm25_weight)
    together = sum(given) if min(given) >= 0 and any(given) else 1.0  # `fuse` refuses what is neither
    weights = tuple(weight / together for weight in given)
    merged = fuse(Dense(kb), BM25(kb), weights=weights, method="sum", depth=depth)
    return merged >> GraphAugment(
        kb,
        hops=hops,
        max_chunks=max_chunks,
        alpha=alpha,
        beta=beta,
        relation_types=relation_types,
        mentions=mentions,
        use_graph=use_graph,
        depth=depth,
        linker=linker,
    )
