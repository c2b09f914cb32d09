"""Seed passages -> the seeds and the passages that state facts around theirs.

Follows Zhu et al., "Knowledge Graph-Guided RAG", NAACL 2025, Sec. 2.2, Eq. 3 to 5: breadth-first from every entity of
the seeds' triples, then all triples between the entities reached, then the passages that state them. The score of
every passage is its own cosine, the edge weight of Eq. 6, whatever the seeds were found by. Ours: equal cosines are
ordered by corpus position; triples that no passage states are not walked.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from kg2rag.knowledge import KnowledgeBase
from kg2rag.knowledge.graph.paths import TriplePaths, surroundings
from kg2rag.retrievers.contract import Stage
from kg2rag.types import INNER, Count, IntArray, Matrix, Notes, Query, Ranking, Trace, first_of, sources, step


@dataclass(frozen=True)
class ExpandNotes(Notes):
    """How many passages were added; and, for `Organise`, the triples of Eq. 4 as codes of the graph."""

    expanded: int = 0
    subgraph: tuple[int, ...] | None = field(default=None, metadata=INNER)


@dataclass(frozen=True)
class Expand(Stage):
    """Adds the passages within `hops` triples of the seeds' entities; drops none.

    A passage that was added has the stage "expand", the part `hop` and the path that led there: a seed's triple, the
    triples walked, and its own. Every hit has the part `cosine`.

    Parameters
    ----------
    hops : at least 1; the paper's m.
    seeds : hits read, the paper's k.
    """

    kb: KnowledgeBase = field(repr=False)
    hops: Count = 1
    seeds: Count = 10

    @property
    def depth(self) -> int:
        """The seeds."""
        return self.seeds

    @property
    def expands(self) -> bool:
        """Yes."""
        return True

    def apply(self, queries: Sequence[Query], rankings: Sequence[Ranking]) -> list[Ranking]:
        """Expand each ranking within its query's candidates."""
        if not queries:
            return []
        columns = zip(rankings, self.kb.encode_queries(queries), self.kb.candidates(queries), strict=True)
        return [self._expand(*column) for column in columns]

    def _expand(self, ranking: Ranking, vector: Matrix, mask: IntArray | None) -> Ranking:
        graph, table = self.kb.graph, self.kb.graph.triples
        around = surroundings(graph, ranking.rows, self.hops, mask)
        passages = table.passages[around.triples].astype(np.int64)
        hops = np.minimum(around.hops[table.heads[around.triples]], around.hops[table.tails[around.triples]])
        order = np.lexsort((hops, passages))  # of every passage the triple nearest to the seeds comes first
        found, first = np.unique(passages[order], return_index=True)
        new = order[first[~np.isin(found, ranking.rows)]]
        ends = dict(zip(passages[new].tolist(), around.triples[new].tolist(), strict=True))
        rows = np.concatenate([ranking.rows, passages[new]])
        cosines = self.kb.dense.cosines(vector, rows)
        given = ranking.stage_codes if ranking.stage_codes is not None else np.zeros(len(ranking), dtype=np.int8)
        hop = np.concatenate([np.zeros(len(ranking)), 1.0 + hops[new]])
        blank = np.full(len(new), np.nan)
        parts = {name: np.append(column, blank) for name, column in ranking.score_parts.items()}
        return Ranking.of(
            ranking.query_id,
            rows,
            cosines,
            ranking.ids,
            stages=(*ranking.stages, "expand"),
            stage_codes=np.concatenate([given, np.full(len(new), len(ranking.stages))]),
            score_parts={**parts, "cosine": cosines, "hop": hop},
            paths=first_of(TriplePaths(graph, ends, around.path), ranking.paths),
            notes=ExpandNotes(
                "cosine",
                {**sources(ranking), "expand": "graph"},
                inputs=(ranking.notes,),
                expanded=len(new),
                subgraph=tuple(around.triples.tolist()),
            ),
        )

    def trace(self, queries: Sequence[Query], before: Sequence[Trace]) -> list[Trace]:
        """Which passages state triples, are connected with a seed, and lie within the hops; seeds pass every step."""
        graph, seeds = self.kb.graph, [trace.ranking.top(self.seeds) for trace in before]
        no_triple = f"states no triple, and is none of the {self.seeds} seeds"
        no_chain = f"no chain of triples, however long, leads from the {self.seeds} seeds to it"
        too_far = f"none of its triples lies within hops = {self.hops} of the seeds' entities"
        stating, traces = np.flatnonzero(np.diff(graph.stated[0])), []
        for seed, after, mask in zip(seeds, self.apply(queries, seeds), self.kb.candidates(queries), strict=True):
            joined = graph.triples.passages[surroundings(graph, seed.rows, graph.n_entities, mask).triples]
            steps = (
                step("states a triple", "entity not linked", no_triple, stating, after.rows),
                step("joined to a seed", "entity not linked", no_chain, joined, after.rows),
                step("expanded", "not expanded", too_far, after.rows),
            )
            traces.append(Trace(after, steps))
        return traces
