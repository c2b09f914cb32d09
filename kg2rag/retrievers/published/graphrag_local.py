"""Query -> passages of the entities with the nearest descriptions: GraphRAG's local search.

After GraphRAG [1] and its released local search: entities by their descriptions, then their text
units, ordered by entity and by the number of its relationships in the unit. Ours: only passages are
ranked, not the community reports, which the package also gives to its reader. A graph without
descriptions is searched by names.

[1] Edge et al., "From Local to Global: A Graph RAG Approach to Query-Focused Summarization", 2024.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from kg2rag.knowledge import KnowledgeBase, Workload
from kg2rag.retrievers.dense import VectorRetriever, dense_fallback
from kg2rag.retrievers.neighbour_passages import (
    described_entities,
    entity_descriptions,
    passages_naming,
)
from kg2rag.types import (
    Count,
    FloatArray,
    IntArray,
    LinkedEntity,
    Notes,
    Query,
    Ranking,
)

COLOUR = "#B15928"  # in plots


@dataclass(frozen=True)
class GraphRAGLocal(VectorRetriever):
    """The passages of the entities nearest to the query, entity by entity.

    The passages of an entity are ordered by the number of its relationships in them, then by corpus
    position. A ranking has no other passages, so it may be short; over a graph without entities it is
    the dense ranking. The score of a hit is 1 / place; its parts have the number of relationships.

    Parameters
    ----------
    entities : the maximum of entities per query.
    """

    kb: KnowledgeBase = field(repr=False)
    entities: Count = 10

    def workloads(self, queries: Sequence[Query]) -> list[Workload]:
        """The texts to encode: the descriptions of the entities."""
        return [self.kb.workload("entities", entity_descriptions(self.kb))]

    def retrieve_batch(self, queries: Sequence[Query], k: int) -> list[Ranking]:
        """One search of entities for the batch."""
        if not self.kb.graph.n_entities:
            return dense_fallback(self.kb, queries, k, "the graph has no entity")
        nearest = described_entities(self.kb).search(
            self.kb.encode_queries(queries), self.entities
        )
        columns = zip(queries, nearest, self.kb.candidates(queries), strict=True)
        return [
            self._rank(query, *hits, candidate_rows).top(k)
            for query, hits, candidate_rows in columns
        ]

    def _rank(
        self,
        query: Query,
        entities: IntArray,
        cosines: FloatArray,
        candidate_rows: IntArray | None,
    ) -> Ranking:
        graph = self.kb.graph
        # Corpus row -> the number of relationships of the first entity that leads there.
        n_relationships: dict[int, int] = {}
        for entity in entities.tolist():
            rows, _ = passages_naming(self.kb, entity, candidate_rows)
            slots = slice(*graph.adjacency.indptr[entity : entity + 2].tolist())
            stated = graph.triples.passages[graph.adjacency.triples[slots]]
            counts = (stated[:, None] == rows).sum(axis=0)
            for position in np.lexsort((rows, -counts)).tolist():
                n_relationships.setdefault(int(rows[position]), int(counts[position]))
        pairs = zip(entities.tolist(), cosines.tolist(), strict=True)
        linked = [
            LinkedEntity(graph.names[entity], "embedding", cosine)
            for entity, cosine in pairs
        ]
        places = np.arange(1.0, len(n_relationships) + 1)
        notes = Notes("1 / place", "graph", entities=tuple(linked))
        return Ranking.from_scores(
            query.id,
            list(n_relationships),
            1 / places,
            self.kb.corpus.ids,
            stages=("entities",),
            score_parts={
                "place": places,
                "relationships": np.array(
                    list(n_relationships.values()), dtype=np.float64
                ),
            },
            notes=notes,
        )
