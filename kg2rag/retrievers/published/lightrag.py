"""Query -> passages of the entities and relations with the nearest descriptions: LightRAG.

After LightRAG [1] and its releases from 1.4 on: the nearest entities ("local") and relations
("global"), the passages of each, ordered by the number of retrieved items that name them, and quotas.
Ours: the query replaces the keywords that a language model writes there, so that no model is needed;
a graph without descriptions is searched by its names. Passages are ranked by their place in the
context of the package's reader.

[1] Guo et al., "LightRAG: Simple and Fast Retrieval-Augmented Generation", 2024.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import zip_longest
from typing import Literal, NamedTuple

import numpy as np

from kg2rag.knowledge import KnowledgeBase, Workload
from kg2rag.retrievers.dense import Dense, VectorRetriever, dense_fallback
from kg2rag.retrievers.neighbour_passages import described_entities, entity_descriptions
from kg2rag.types import (
    Cosine,
    Count,
    FloatArray,
    IntArray,
    LinkedEntity,
    Matrix,
    Notes,
    Query,
    Ranking,
)

COLOUR = "#B15928"  # in plots

MODES = {
    "local": ("entities",),
    "global": ("relations",),
    "hybrid": ("entities", "relations"),
    "mix": ("dense", "entities", "relations"),
}
"""Mode -> the lists of passages that take turns in the ranking."""
UNLIKE = "no entity or relation of the graph is similar to the query"


@dataclass(frozen=True)
class LightRAGNotes(Notes):
    """Notes: the relations, nearest first; `entities` are the nearest entities."""

    relations: tuple[str, ...] = ()


class Nearest(NamedTuple):
    """The nearest entities or triples, by row, and their cosines to the query, (n,) each."""

    rows: IntArray
    cosines: FloatArray


@dataclass(frozen=True)
class LightRAG(VectorRetriever):
    """Passages of the nearest entities and relations, and in "mix" the nearest passages, in turn.

    A ranking may be short: no list goes beyond what was found. If nothing of the graph is similar
    to a query, it gets the dense ranking, with a warning. A hit's stage is the list that placed it,
    its score 1 / place.

    Parameters
    ----------
    mode : "local" (entities), "global" (relations), "hybrid" (both) or "mix" (both and the dense ranking).
    nearest : entities, relations and dense hits found, at most, of each.
    min_cosine : less similar entities and relations are not found.
    max_chunks : passages of the first entity or relation found, at most; the last one gives one, others in between.
    """

    kb: KnowledgeBase = field(repr=False)
    mode: Literal["local", "global", "hybrid", "mix"] = "mix"
    nearest: Count = 40
    min_cosine: Cosine = 0.2
    max_chunks: Count = 5

    def workloads(self, queries: Sequence[Query]) -> list[Workload]:
        """The texts to encode: the passages, and the entities or triples of the mode."""
        workloads = super().workloads(queries)
        if "entities" in MODES[self.mode]:
            workloads.append(self.kb.workload("entities", entity_descriptions(self.kb)))
        if "relations" in MODES[self.mode]:
            workloads.append(self.kb.workload("triples", self.kb.graph.triple_texts()))
        return workloads

    def retrieve_batch(self, queries: Sequence[Query], k: int) -> list[Ranking]:
        """The rankings of a batch by one search each of entities, relations and passages."""
        vectors = self.kb.encode_queries(queries)
        rankings = []
        columns = zip(
            queries,
            self._nearest("entities", vectors),
            self._nearest("relations", vectors),
            Dense(self.kb).retrieve_batch(queries, self.nearest),
            self.kb.candidates(queries),
            strict=True,
        )
        for query, entities, relations, dense, candidate_rows in columns:
            if len(entities.rows) or len(relations.rows):
                ranking = self._rank(
                    query, entities, relations, dense, candidate_rows
                ).top(k)
            else:
                (ranking,) = dense_fallback(self.kb, [query], k, UNLIKE)
            rankings.append(ranking)
        return rankings

    def _nearest(
        self, kind: Literal["entities", "relations"], vectors: Matrix
    ) -> list[Nearest]:
        """The entities or triples that are similar to each query."""
        graph = self.kb.graph
        n_items = graph.n_entities if kind == "entities" else graph.n_triples
        if kind not in MODES[self.mode] or not n_items:
            return [Nearest(np.empty(0, dtype=np.int64), np.empty(0))] * len(vectors)
        index = (
            described_entities(self.kb)
            if kind == "entities"
            else self.kb.triple_vectors
        )
        nearest = []
        for rows, cosines in index.search(vectors, self.nearest):
            is_similar = cosines >= self.min_cosine
            nearest.append(Nearest(rows[is_similar], cosines[is_similar]))
        return nearest

    def _rank(
        self,
        query: Query,
        entities: Nearest,
        relations: Nearest,
        dense: Ranking,
        candidate_rows: IntArray | None,
    ) -> Ranking:
        """The passages of the lists of the mode, in turn."""
        graph = self.kb.graph
        of_entities = [
            graph.mentions.of(entity)[0].astype(np.int64)
            for entity in entities.rows.tolist()
        ]
        of_relations = [
            graph.triples.passages[[index]].astype(np.int64)
            for index in relations.rows.tolist()
        ]
        rows_of = {
            "dense": dense.rows.tolist(),
            "entities": passages_by_quota(
                _allowed(of_entities, candidate_rows), self.max_chunks
            ),
            "relations": passages_by_quota(
                _allowed(of_relations, candidate_rows), self.max_chunks
            ),
        }
        stages = MODES[self.mode]
        stage_of = stages_in_turn([rows_of[stage] for stage in stages])
        pairs = zip(entities.rows.tolist(), entities.cosines.tolist(), strict=True)
        linked = [
            LinkedEntity(graph.names[entity], "embedding", cosine)
            for entity, cosine in pairs
        ]
        notes = LightRAGNotes(
            "1 / place",
            {stage: "dense" if stage == "dense" else "graph" for stage in stages},
            entities=tuple(linked),
            relations=tuple(
                str(graph.triple(index)) for index in relations.rows.tolist()
            ),
        )
        places = np.arange(1.0, len(stage_of) + 1)
        return Ranking.from_scores(
            query.id,
            list(stage_of),
            1 / places,
            self.kb.corpus.ids,
            stages=stages,
            stage_codes=np.array(list(stage_of.values()), dtype=np.int64),
            score_parts={"place": places},
            notes=notes,
        )


def _allowed(
    groups: Sequence[IntArray], candidate_rows: IntArray | None
) -> list[list[int]]:
    """The corpus rows of each group that may be returned; -1 stands for no passage."""
    allowed = []
    for rows in groups:
        rows = rows[rows >= 0]
        if candidate_rows is not None:
            rows = rows[np.isin(rows, candidate_rows)]
        allowed.append(rows.tolist())
    return allowed


def stages_in_turn(lists: Sequence[Sequence[int]]) -> dict[int, int]:
    """Row -> its list, in turn: the first row of each list, the second of each, and so on.

    >>> stages_in_turn([[7, 8], [9, 7, 6]])
    {7: 0, 9: 1, 8: 0, 6: 1}
    """
    stage_of: dict[int, int] = {}
    for turn in zip_longest(*lists):
        for stage, row in enumerate(turn):
            if row is not None:
                stage_of.setdefault(row, stage)
    return stage_of


def passages_by_quota(groups: Sequence[Sequence[int]], most: int) -> list[int]:
    """The distinct rows of groups, in the order of the groups, with a quota for each.

    A row belongs to the first group that has it; within a group, rows of more groups come first,
    then the first in the corpus. The first group gives at most `most` rows, the last one, those in
    between by a straight line.

    >>> passages_by_quota([[1, 2, 3], [3], [4, 5]], most=2)
    [3, 1, 4]
    """
    n_groups = Counter(row for rows in groups for row in rows)
    step = (most - 1) / max(len(groups) - 1, 1)
    assigned: set[int] = set()
    ordered: list[int] = []
    for position, rows in enumerate(groups):
        new_rows = [
            row
            for row in sorted(rows, key=lambda row: (-n_groups[row], row))
            if row not in assigned
        ]
        assigned.update(new_rows)
        ordered += new_rows[: round(most - position * step)]
    return ordered
