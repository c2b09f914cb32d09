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

from kg2rag.graph.reach import Surroundings, surroundings
from kg2rag.knowledge_base import KnowledgeBase
from kg2rag.pipeline import Stage
from kg2rag.types import FloatArray, IntArray, Query, Ranking, Triple, rank
from kg2rag.vectors import Matrix

SUBGRAPH = "subgraph"
"""Where `Expand` leaves the triples of Eq. 4, as codes of the graph, for `Organise` to find."""


@dataclass(frozen=True)
class Expand(Stage):
    """Adds the passages within `hops` triples of the seeds' entities; drops none.

    A passage that was added has the stage "expand", the part `hop` and the path that led there: a seed's triple, the
    triples walked, and its own. Every hit has the part `cosine`. The metadata hold the triples found ("subgraph") and
    how many passages were added ("expanded").

    Parameters
    ----------
    hops : at least 1; the paper's m.
    seeds : hits read, the paper's k.
    """

    kb: KnowledgeBase = field(repr=False)
    hops: int = 1
    seeds: int = 10

    def __post_init__(self) -> None:
        for name in ("hops", "seeds"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name} must be at least 1, not {getattr(self, name)}.")

    @property
    def depth(self) -> int:
        """The seeds."""
        return self.seeds

    def apply(self, queries: Sequence[Query], rankings: Sequence[Ranking]) -> list[Ranking]:
        """Expand each ranking within its query's candidates."""
        if not queries:
            return []
        vectors = self.kb.encode_queries(queries)
        masks = self.kb.candidates(queries)
        return [
            self._expand(ranking, vector, mask) for ranking, vector, mask in zip(rankings, vectors, masks, strict=True)
        ]

    def _expand(self, ranking: Ranking, vector: Matrix, mask: IntArray | None) -> Ranking:
        graph = self.kb.graph
        allowed = None
        if mask is not None:
            allowed = np.zeros(graph.n_passages, dtype=bool)
            allowed[mask] = True
        around = surroundings(graph, ranking.rows, self.hops, allowed)
        passages = graph.triples.passages[around.triples].astype(np.int64)
        fresh, first = _fresh(passages, around, ranking.rows)
        rows = np.concatenate([ranking.rows, fresh])
        cosines = self.kb.dense.cosines(vector, rows)
        given = ranking.stage_codes if ranking.stage_codes is not None else np.zeros(len(ranking), dtype=np.int8)
        return rank(
            ranking.query_id,
            rows,
            cosines,
            ranking.ids,
            max(len(rows), 1),
            stages=(*ranking.stages, "expand"),
            stage_codes=np.concatenate([given, np.full(len(fresh), len(ranking.stages))]),
            parts={**_extended(ranking, len(fresh)), "cosine": cosines, "hop": _hops(len(ranking), around, first)},
            paths={**ranking.paths, **self._paths(fresh, first, around)},
            metadata={**ranking.metadata, SUBGRAPH: tuple(around.triples.tolist()), "expanded": len(fresh)},
        )

    def _paths(self, fresh: IntArray, first: IntArray, around: Surroundings) -> dict[int, tuple[Triple, ...]]:
        graph = self.kb.graph
        return {
            row: tuple(graph.triple(index) for index in around.path(triple))
            for row, triple in zip(fresh.tolist(), first.tolist(), strict=True)
        }


def _fresh(passages: IntArray, around: Surroundings, seeds: IntArray) -> tuple[IntArray, IntArray]:
    """The passages that are no seeds, ascending, and of each the triple nearest to the seeds (then the first)."""
    table = around.graph.triples
    hops = np.minimum(around.hops[table.heads[around.triples]], around.hops[table.tails[around.triples]])
    order = np.lexsort((around.triples, hops, passages))
    rows, first = np.unique(passages[order], return_index=True)
    new = ~np.isin(rows, seeds)
    return rows[new], around.triples[order][first[new]]


def _hops(n_seeds: int, around: Surroundings, first: IntArray) -> FloatArray:
    """A seed is at hop 0, a passage whose triple has an end at hop h at h + 1."""
    return np.array([0.0] * n_seeds + [1.0 + around.hop(triple) for triple in first.tolist()])


def _extended(ranking: Ranking, n_fresh: int) -> dict[str, FloatArray]:
    return {name: np.concatenate([column, np.full(n_fresh, np.nan)]) for name, column in ranking.parts.items()}
