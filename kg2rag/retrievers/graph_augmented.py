"""A ranking -> the same hits and a few more, re-scored by how near the graph puts them to the query's entities.

The graph-augmented design (graph score, 0.7 / 0.3 and 4 passages are its defaults). It is additive: no hit is dropped.
Ours: a passage that several entities reach counts by its best one; equal graph scores are ordered by corpus position.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from operator import attrgetter

import numpy as np

from kg2rag.knowledge import KnowledgeBase, Neighbour, graph_score
from kg2rag.knowledge.graph.components import Components
from kg2rag.knowledge.graph.neighbourhood import Hops
from kg2rag.knowledge.graph.paths import TriplePaths
from kg2rag.retrievers.bm25 import BM25
from kg2rag.retrievers.contract import Pipeline, Stage
from kg2rag.retrievers.dense import Dense
from kg2rag.retrievers.fusion import fuse
from kg2rag.retrievers.linking.linkers import Link, chain
from kg2rag.types import (
    Count,
    IntArray,
    Natural,
    Query,
    Ranking,
    Share,
    Trace,
    arithmetic,
    first_of,
    number,
    rank,
    sources,
    step,
    widened,
    with_notes,
)

ROUNDING = 1e-5
"""By so much may a cosine of unit vectors in single precision be above 1."""


@dataclass(frozen=True)
class GraphAugment(Stage):
    """combined = (1 - graph_weight) · score + graph_weight · graph score, which lies in [0, 1].

    Scores above 1, such as BM25's, are refused: the graph would weigh nothing beside them. A fusion by "sum" scales
    them: `fuse(BM25(kb), method="sum") >> GraphAugment(kb)`.

    Parameters
    ----------
    hops : how far related entities may be, 1 to 3; the graph score halves with each.
    max_chunks : passages that only the graph found, at most.
    graph_weight : in [0, 1]; 0.3 in the design.
    use_graph : False returns the ranking as it came.
    depth : hits read; all of them are kept.
    """

    kb: KnowledgeBase = field(repr=False)
    hops: Hops = 1
    max_chunks: Natural = 4
    graph_weight: Share = 0.3
    use_graph: bool = True
    depth: Count = 100

    def apply(self, queries: Sequence[Query], rankings: Sequence[Ranking]) -> list[Ranking]:
        """Link the batch, then augment each ranking. ValueError: a score above 1."""
        if not self.use_graph:
            return list(rankings)
        for ranking in rankings:
            if len(ranking) and ranking.scores[0] > 1 + ROUNDING:
                raise ValueError(
                    f"GraphAugment adds to scores of at most 1; of query {ranking.query_id!r} the first is "
                    f"{ranking.scores[0]:.4g}. Scale them: fuse(BM25(kb), method='sum') >> GraphAugment(kb); several "
                    "retrievers by weights that add up to 1."
                )
        masks = self.kb.candidates(queries)
        return [
            self._augment(ranking, links, mask)
            for ranking, links, mask in zip(rankings, chain(self.kb).link_batch(queries), masks, strict=True)
        ]

    def _augment(self, ranking: Ranking, links: Sequence[Link], mask: IntArray | None) -> Ranking:
        reached = self._reached([link.entity for link in links])
        if mask is not None:
            reached = {row: reached[row] for row in mask.tolist() if row in reached}
        hybrid = dict(zip(ranking.rows.tolist(), ranking.scores.tolist(), strict=True))
        fresh = sorted(reached.keys() - hybrid.keys(), key=lambda row: (-reached[row][0], row))
        rows = [*hybrid, *fresh[: self.max_chunks]]
        kg, text = self.kb.graph, np.array([hybrid.get(row, 0.0) for row in rows])
        graph = np.array([reached[row][0] if row in reached else 0.0 for row in rows])
        nearest = {row: reached[row][1] for row in rows if row in reached}
        about = np.full((3, len(rows)), np.nan)
        for at, row in enumerate(rows):
            if near := nearest.get(row):
                about[:, at] = near.weight, near.hop, kg.mention_counts[near.entity]
        parts = {"hybrid": text, "graph": graph, **dict(zip(("strength", "hop", "mentions"), about, strict=True))}
        said: dict[str, object] = {"entities": tuple(kg.names[link.entity] for link in links)}
        if not links:
            said["note"] = "no entity of the graph was recognised: the graph adds nothing"
        formula = f"{number(1 - self.graph_weight)} · hybrid + {number(self.graph_weight)} · graph"
        looked = {"hybrid": " and ".join(dict.fromkeys(sources(ranking).values())), "graph": "graph"}
        return rank(
            ranking.query_id,
            np.array(rows, dtype=np.int64),
            (1 - self.graph_weight) * text + self.graph_weight * graph,
            ranking.ids,
            max(len(rows), 1),
            stages=("hybrid", "graph"),
            stage_codes=np.array([row not in hybrid for row in rows], dtype=np.int8),
            score_parts={**widened(ranking, len(rows) - len(hybrid)), **parts},
            paths=first_of(TriplePaths(kg, nearest, attrgetter("path")), ranking.paths),
            metadata=with_notes(ranking, said) | arithmetic(formula, looked),
        )

    def _reached(self, entities: Sequence[int]) -> dict[int, tuple[float, Neighbour]]:
        """Corpus row -> its best graph score, and the neighbour that gives it."""
        graph = self.kb.graph
        reached: dict[int, tuple[float, Neighbour]] = {}
        if not entities:
            return reached
        for near in graph.neighbours(entities, hops=self.hops):
            score = float(graph_score(near.weight, near.hop, graph.mention_counts[near.entity]))
            for row in graph.passages_of(near.entity)[0].tolist():
                if row not in reached or score > reached[row][0]:
                    reached[row] = (score, near)
        return reached

    def trace(self, queries: Sequence[Query], before: Sequence[Trace]) -> list[Trace]:
        """Which passages the query's entities lead to, within the hops, and within `max_chunks`; hits pass all."""
        if not self.use_graph:
            return super().trace(queries, before)
        read = [trace.ranking.top(self.depth) for trace in before]
        joined = Components.of_graph(self.kb.graph)
        unread = f"not among the first {self.depth} hits, and "
        traces = []
        for after, links in zip(self.apply(queries, read), chain(self.kb).link_batch(queries), strict=True):
            entities = [link.entity for link in links]
            linked, reached = joined.rows_with(entities), list(self._reached(entities))
            none = "no entity of the query leads to it" if entities else "no entity of the graph was recognised"
            steps = (
                step("linked", "entity not linked", unread + none, linked, after.rows),
                step("expanded", "not expanded", f"{unread}beyond hops = {self.hops}", reached, after.rows),
                step("added", "pruned", f"{unread}below the {self.max_chunks} that the graph may add", after.rows),
            )
            traces.append(Trace(after, steps))
        return traces


def graph_augmented(
    kb: KnowledgeBase,
    *,
    hops: int = 1,
    max_chunks: int = 4,
    graph_weight: float = 0.3,
    use_graph: bool = True,
    dense_weight: float = 0.7,
    bm25_weight: float = 0.3,
    depth: int = 100,
) -> Pipeline:
    """A min-max weighted merge of dense and BM25, re-scored and extended by the graph around the query's entities."""
    merged = fuse(Dense(kb), BM25(kb), weights=(dense_weight, bm25_weight), method="sum", depth=depth)
    return merged >> GraphAugment(
        kb, hops=hops, max_chunks=max_chunks, graph_weight=graph_weight, use_graph=use_graph, depth=depth
    )
