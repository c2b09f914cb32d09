"""Query -> its entities, triples one hop around them, and a fusion of three vector rankings.

After Min et al. [1]: no language model; query nodes by name and by vector; one hop; separate
vectors for entities, passages and relations, fused by reciprocal rank. Their graph of dependency
parses is the source "dependency(MODEL)"; any other graph works. Ours: instead of the noun phrases of
a parsed query, the graph's names in it and its capitalised and quoted phrases; the vector of the
whole triple for a relation; the rank of a passage's best entity or relation for the passage; every
default but RRF's constant. The graph's two rankings have half the weight, because names match
without context: at equal weight, dense hits drop out.

[1] Min et al., "Towards Practical GraphRAG: Efficient Knowledge Graph Construction and Hybrid
Retrieval at Scale", arXiv 2507.03226.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import compress
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from kg2rag.knowledge import KnowledgeBase, Workload
from kg2rag.knowledge.graph.csr import gather
from kg2rag.knowledge.graph.paths import triple_paths
from kg2rag.retrievers.dense import Dense, WalkOrDense, nearest_names
from kg2rag.retrievers.fusion import fuse_rankings
from kg2rag.retrievers.linking.linkers import Link, Linker
from kg2rag.retrievers.linking.phrases import phrases_outside
from kg2rag.retrievers.neighbour_passages import LinksEntities, components
from kg2rag.types import (
    Cosine,
    Count,
    FloatArray,
    IntArray,
    LinkedEntity,
    Matrix,
    Natural,
    Notes,
    ParameterError,
    Query,
    Ranking,
    Step,
    Weight,
    step,
)

COLOUR = "#B15928"  # in plots

MAX_PHRASES = 10  # phrases of a query that are linked


class Subgraph(NamedTuple):
    """The entities of a query with their neighbours, and the triples between them.

    Attributes
    ----------
    entities : (n_entities,) codes, ascending.
    triples, cosines : (n_triples,) the triples, most similar to the query first, and their cosines.
    """

    entities: IntArray
    triples: IntArray
    cosines: FloatArray


@dataclass(frozen=True)
class PracticalNotes(Notes):
    """Notes: the number of triples in the subgraph."""

    triples: int = 0


@dataclass(frozen=True)
class PracticalGraphRAG(LinksEntities, WalkOrDense[list[int]]):
    """Reciprocal rank fusion of rankings by cosine: passages, entities and relations.

    The last two see only the query's `Subgraph`: a passage has the rank of its best entity or
    triple there; among equals the passage more similar to the query comes first.

    Parameters
    ----------
    names : entities that the query spells out, at most; the longest.
    linker : finds these, as such or by name (`retrievers.linking.LINKERS`).
    similar_entities : entities linked to each other phrase of the query, by embedding, and to the query as a whole.
    min_cosine : less similar names are no link.
    max_triples : triples of the subgraph, those most similar to the query.
    passage_weight, entity_weight, relation_weight : of the three rankings, at least 0.
    depth : hits read of each ranking.
    """

    kb: KnowledgeBase = field(repr=False)
    names: Count = 5
    similar_entities: Natural = 3
    min_cosine: Cosine = 0.6
    max_triples: Count = 100
    passage_weight: Weight = 1.0
    entity_weight: Weight = 0.5
    relation_weight: Weight = 0.5
    depth: Count = 100
    linker: str | Linker = "ngram(limit=1000)"

    def __post_init__(self) -> None:
        super().__post_init__()
        if not any(self._weights):
            raise ParameterError(
                "passage_weight, entity_weight and relation_weight are all 0: one must be above."
            )

    @property
    def _weights(self) -> tuple[float, float, float]:
        return self.passage_weight, self.entity_weight, self.relation_weight

    @property
    def unlinked(self) -> str:
        """The reason: the query has no entity, or the graph has none."""
        if self.kb.graph.n_entities:
            return "the query names no entity"
        return "the graph has no entity"

    def workloads(self, queries: Sequence[Query]) -> list[Workload]:
        """The texts to encode: the passages, the entities' names and the triples."""
        return [
            *super().workloads(queries),
            self.kb.workload("entity names", self.kb.graph.names),
            self.kb.workload("triples", self.kb.graph.triple_texts()),
        ]

    def walk(
        self, queries: Sequence[Query], starts: Sequence[list[int]], k: int
    ) -> list[Ranking]:
        """The rankings of queries that are searched together."""
        dense = Dense(self.kb).retrieve_batch(queries, self.depth)
        vectors, candidates = (
            self.kb.encode_queries(queries),
            self.kb.candidates(queries),
        )
        return [
            self._fused(*column, k)
            for column in zip(queries, dense, starts, vectors, candidates, strict=True)
        ]

    def link(self, queries: Sequence[Query]) -> list[list[int]]:
        """The entities of each query: spelt ones, then those similar to its phrases or itself."""
        if not self.kb.graph.n_entities:
            return [[] for _ in queries]
        links = [
            spelt[: self.names] for spelt in self.entity_linker.link_batch(queries)
        ]
        texts = [
            self._compared(query, spelt)
            for query, spelt in zip(queries, links, strict=True)
        ]
        nearest = nearest_names(
            self.kb,
            lambda: self.kb.entities,
            texts,
            [None] * len(queries),
            self.similar_entities,
        )
        entities = []
        for spelt, similar in zip(links, nearest, strict=True):
            spelt_entities = [link.entity for link in spelt]
            similar_entities = [
                entity for _, entity, cosine in similar if cosine >= self.min_cosine
            ]
            entities.append(list(dict.fromkeys([*spelt_entities, *similar_entities])))
        return entities

    def _compared(self, query: Query, links: Sequence[Link]) -> list[str]:
        """The texts of a query to compare with names: its phrases without a link, then the query."""
        if not query.text.strip() or not self.similar_entities:
            return []
        return [
            *phrases_outside(query.text, [link.span for link in links])[:MAX_PHRASES],
            query.text,
        ]

    def _fused(
        self,
        query: Query,
        dense: Ranking,
        seeds: Sequence[int],
        vector: Matrix,
        candidate_rows: IntArray | None,
        k: int,
    ) -> Ranking:
        """The fused rankings of a query; the path of a hit is its best triple in the subgraph."""
        graph = self.kb.graph
        subgraph = self._subgraph(seeds, vector, candidate_rows)
        mentions, entity_of = gather(graph.mentions.indptr, subgraph.entities)
        similarity = self.kb.entities.cosines(vector, subgraph.entities)[entity_of]
        triple_rows = graph.triples.passages[subgraph.triples]
        match_ranking = partial(self._match_ranking, query, vector, candidate_rows)
        rankings = [
            replace(dense, stages=("passage",)),
            match_ranking("entity", graph.mentions.others[mentions], similarity),
            match_ranking("relation", triple_rows, subgraph.cosines),
        ]
        weights = [weight for weight in self._weights if weight]
        fused = fuse_rankings(list(compress(rankings, self._weights)), weights, k)
        best_triple: dict[int, tuple[int]] = {}
        for row, triple in zip(
            triple_rows.tolist(), subgraph.triples.tolist(), strict=True
        ):
            best_triple.setdefault(row, (triple,))
        notes = PracticalNotes(
            fused.notes.formula,
            fused.notes.source,
            entities=tuple(LinkedEntity(graph.names[seed], "", 1.0) for seed in seeds),
            inputs=fused.notes.inputs,
            triples=len(subgraph.triples),
        )
        return replace(fused, paths=triple_paths(graph, best_triple), notes=notes)

    def _match_ranking(
        self,
        query: Query,
        vector: Matrix,
        candidate_rows: IntArray | None,
        stage: str,
        match_rows: NDArray[np.integer],
        match_scores: FloatArray,
    ) -> Ranking:
        """The passages by their best match, ties by their cosine; the score of a hit is 1 / rank.

        `match_rows`, `match_scores` : (n_matches,) the corpus row of each match, -1 without a passage, and
        its score.
        """
        if candidate_rows is None:
            is_allowed = match_rows >= 0
        else:
            is_allowed = np.isin(match_rows, candidate_rows)
        rows = match_rows[is_allowed].astype(np.int64)
        scores = match_scores[is_allowed]
        best_first = np.argsort(-scores, kind="stable")
        passages, first = np.unique(rows[best_first], return_index=True)
        best = scores[best_first][first]
        cosines = self.kb.dense.cosines(vector, passages)
        order = np.lexsort((passages, -cosines, -best))[: self.depth]
        return Ranking.from_scores(
            query.id,
            passages[order],
            1.0 / np.arange(1, len(order) + 1),
            self.kb.corpus.ids,
            stages=(stage,),
            notes=Notes(source="graph"),
        )

    def _subgraph(
        self, seeds: Sequence[int], vector: Matrix, candidate_rows: IntArray | None
    ) -> Subgraph:
        """The subgraph of a query's entities, without triples that only other passages state.

        `vector` : (dim,) that of the query.
        """
        graph = self.kb.graph
        slots = gather(graph.adjacency.indptr, np.array(seeds, dtype=np.int64))[0]
        triples = np.unique(graph.adjacency.triples[slots]).astype(np.int64)
        if candidate_rows is not None:
            triples = triples[np.isin(graph.triples.passages[triples], candidate_rows)]
        cosines = (
            self.kb.triple_vectors.cosines(vector, triples)
            if len(triples)
            else np.empty(0)
        )
        order = np.lexsort((triples, -cosines))[: self.max_triples]
        triples = triples[order]
        ends = np.concatenate(
            [seeds, graph.triples.heads[triples], graph.triples.tails[triples]]
        )
        return Subgraph(np.unique(ends).astype(np.int64), triples, cosines[order])

    @property
    def trace_depth(self) -> int:
        """The maximum of hits in three rankings."""
        return 3 * self.depth

    def steps(self, query: Query, ranking: Ranking) -> tuple[Step, ...]:
        """The steps: linking to a passage's entity, the subgraph, the depth."""
        (seeds,) = self.link([query])
        (candidate_rows,) = self.kb.candidates([query])
        (vector,) = self.kb.encode_queries([query])
        entities = np.array(seeds, dtype=np.int64)
        if seeds:
            entities = self._subgraph(seeds, vector, candidate_rows).entities
        linked = components(self.kb).rows_with(seeds)
        far = "it names no entity of the subgraph one triple around"
        return (
            step(
                "linked",
                "entity not linked",
                "no entity of the query leads to it",
                linked,
            ),
            step(
                "expanded", "not expanded", far, self.kb.graph.mentions.of_all(entities)
            ),
            step(
                "ranked",
                "pruned",
                f"below the first {self.depth} of all three rankings",
                ranking.rows,
            ),
        )
