"""Query -> the entities it names, one hop of triples around them, and ranks by three kinds of vectors, fused.

After Min et al. [1]: no language model; query nodes by name and by vector; one hop; separate vectors for entities,
passages and relations, joined by reciprocal rank. Their graph comes from dependency parses, which the graph source
"dependency:MODEL" builds; the retriever works with any graph. Ours: without a parser at hand when a query comes, its
noun phrases are the graph's names in it and its capitalised and quoted phrases; a relation's vector is that of the
whole triple; a passage's rank among entities and relations is that of its best one; every default but RRF's constant.
The graph's two rankings count half, because names match without their context: at equal weight dense hits fall out.

[1] Min et al., "Towards Practical GraphRAG: Efficient Knowledge Graph Construction and Hybrid Retrieval at Scale",
arXiv 2507.03226.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from kg2rag.knowledge.base import KnowledgeBase
from kg2rag.knowledge.graph.components import Components
from kg2rag.knowledge.graph.paths import TriplePaths
from kg2rag.retrievers.contract import Retriever
from kg2rag.retrievers.dense import Dense, dense_fallback
from kg2rag.retrievers.fusion import fuse_rankings
from kg2rag.retrievers.linking.linkers import NGramLinker, phrases
from kg2rag.types.arrays import FloatArray, IntArray
from kg2rag.types.formulas import SOURCE
from kg2rag.types.parameters import ParameterError, at_least, between, check
from kg2rag.types.passages import Query
from kg2rag.types.rankings import Ranking, rank
from kg2rag.types.trace import Trace, step

WEIGHTS = ("passage_weight", "entity_weight", "relation_weight")


@dataclass(frozen=True)
class PracticalGraphRAG(Retriever):
    """Reciprocal rank fusion of three rankings by cosine with the query: passages, entities and relations.

    The passage ranking is dense retrieval. The other two see the subgraph of the query's entities alone: these, the
    entities one triple away, and the triples between. A passage stands where its best entity or triple of the subgraph
    stands, among equals the passage more similar to the query first.

    Parameters
    ----------
    names : entities that the query spells out, at most; the longest.
    similar_entities : entities linked to each other phrase of the query, by embedding, and to the query as a whole.
    min_cosine : less similar names are no link.
    max_names : the first so many phrases of a query are linked.
    max_triples : triples of the subgraph, those most similar to the query.
    passage_weight, entity_weight, relation_weight : of the three rankings, at least 0.
    constant : of reciprocal rank fusion, weight / (constant + rank).
    depth : hits read of each ranking.
    """

    kb: KnowledgeBase = field(repr=False)
    names: int = 5
    similar_entities: int = 3
    min_cosine: float = 0.6
    max_names: int = 10
    max_triples: int = 100
    passage_weight: float = 1.0
    entity_weight: float = 0.5
    relation_weight: float = 0.5
    constant: float = 60.0
    depth: int = 100

    def __post_init__(self) -> None:
        counts = dict.fromkeys(("names", "max_triples", "depth"), at_least(1))
        others = dict.fromkeys(("similar_entities", "max_names", "constant", *WEIGHTS), at_least(0))
        check(self, min_cosine=between(-1, 1), **counts, **others)
        if not any(getattr(self, name) for name in WEIGHTS):
            raise ParameterError(f"One of {', '.join(WEIGHTS)} must be above 0.")

    def retrieve_batch(self, queries: Sequence[Query], k: int) -> list[Ranking]:
        """Linked and searched in one batch, ranked query by query."""
        if not queries:
            return []
        linked = self.link(queries)
        dense = Dense(self.kb).retrieve_batch(queries, self.depth)
        masks = self.kb.candidates(queries)
        without = "the query names no entity" if self.kb.graph.n_entities else "the graph has no entity"
        return [
            self._fused(query, found, entities, mask, k)
            if entities
            else dense_fallback(self.kb, [query], k, without)[0].top(min(k, self.depth))
            for query, found, entities, mask in zip(queries, dense, linked, masks, strict=True)
        ]

    def prepare(self, queries: Sequence[Query]) -> None:
        """Encode the queries, their phrases, the entities and the triples."""
        if queries:
            self.kb.encode_queries(queries)
            self.link(queries)
            if self.kb.graph.n_triples:
                _ = self.kb.triple_vectors
        super().prepare(queries)

    def link(self, queries: Sequence[Query]) -> list[list[int]]:
        """The entities of each query: those it spells out, then those its phrases, then itself, are similar to."""
        kb = self.kb
        if not kb.graph.n_entities:
            return [[] for _ in queries]
        spelt = NGramLinker(kb, self.names).link_batch(queries)
        found = [[link.entity for link in links] for links in spelt]
        asked = [
            (i, text)
            for i, (query, links) in enumerate(zip(queries, spelt, strict=True))
            for text in self._phrases(query.text, [link.span for link in links])
        ]
        if asked and self.similar_entities:
            vectors = kb.encode_queries([Query("", text) for _, text in asked])
            for (i, _), (rows, cosines) in zip(asked, kb.entities.search(vectors, self.similar_entities), strict=True):
                found[i] += rows[cosines >= self.min_cosine].tolist()
        return [list(dict.fromkeys(entities)) for entities in found]

    def _phrases(self, text: str, known: Sequence[tuple[int, int]]) -> list[str]:
        """The capitalised and quoted phrases that hold no linked name, and the query itself; none where it is blank."""
        if not text.strip():
            return []
        free = [span for span in phrases(text) if not any(span[0] < end and start < span[1] for start, end in known)]
        return [*dict.fromkeys(text[start:end] for start, end in free[: self.max_names]), text]

    def _fused(self, query: Query, dense: Ranking, seeds: Sequence[int], mask: IntArray | None, k: int) -> Ranking:
        """The three rankings of a query as one; hits of the graph's side carry the triple that they stand for."""
        kb, vector = self.kb, self.kb.encode_queries([query])[0]
        triples = self._triples(seeds, vector, mask)
        table = kb.graph.triples
        ends = np.concatenate([table.heads[triples], table.tails[triples]])
        entities = np.unique(np.concatenate([np.array(seeds, dtype=np.int64), ends]))
        rankings = [
            replace(dense, stages=("passage",)),
            self._by_entity(query, entities, vector, mask),
            self._by_relation(query, triples, vector),
        ]
        weights = [getattr(self, name) for name in WEIGHTS]
        used = [(ranking, weight) for ranking, weight in zip(rankings, weights, strict=True) if weight]
        fused = fuse_rankings([r for r, _ in used], [w for _, w in used], k, constant=self.constant)
        best: dict[int, tuple[int]] = {}
        for row, triple in zip(table.passages[triples].tolist(), triples.tolist(), strict=True):
            best.setdefault(row, (triple,))
        names = kb.graph.names
        return replace(
            fused,
            paths=TriplePaths(kb.graph, {row: best[row] for row in fused.rows.tolist() if row in best}),
            metadata={**fused.metadata, "entities": tuple(names[seed] for seed in seeds), "triples": len(triples)},
        )

    def _triples(self, seeds: Sequence[int], vector: NDArray[np.float32], mask: IntArray | None) -> IntArray:
        """The triples that the query's entities are an end of, most similar to the query first."""
        graph = self.kb.graph
        found = np.unique(np.concatenate([graph.triples_of(seed) for seed in seeds])).astype(np.int64)
        if mask is not None:
            found = found[np.isin(graph.triples.passages[found], mask)]
        if not len(found):
            return found
        cosines = self.kb.triple_vectors.cosines(vector, found)
        return found[np.lexsort((found, -cosines))][: self.max_triples]

    def _by_entity(
        self, query: Query, entities: IntArray, vector: NDArray[np.float32], mask: IntArray | None
    ) -> Ranking:
        """The passages that name an entity of the subgraph, by their best."""
        cosines = self.kb.entities.cosines(vector, entities)
        met = [self.kb.graph.passages_of(entity)[0] for entity in entities.tolist()]
        rows = np.concatenate(met).astype(np.int64)
        values = np.repeat(cosines, [len(some) for some in met])
        if mask is not None:
            allowed = np.isin(rows, mask)
            rows, values = rows[allowed], values[allowed]
        return self._ranked(query, rows, values, vector, "entity")

    def _by_relation(self, query: Query, triples: IntArray, vector: NDArray[np.float32]) -> Ranking:
        """The passages that state a triple of the subgraph, by their best."""
        rows = self.kb.graph.triples.passages[triples].astype(np.int64)
        stated = rows >= 0
        values = self.kb.triple_vectors.cosines(vector, triples[stated]) if stated.any() else np.empty(0)
        return self._ranked(query, rows[stated], values, vector, "relation")

    def _ranked(
        self, query: Query, rows: IntArray, values: FloatArray, vector: NDArray[np.float32], stage: str
    ) -> Ranking:
        """One hit a passage, by (its best value, its own cosine)."""
        kb = self.kb
        found, inverse = np.unique(rows, return_inverse=True)
        highest = np.full(len(found), -np.inf)
        np.maximum.at(highest, inverse, values)
        order = np.lexsort((found, -kb.dense.cosines(vector, found), -highest))[: self.depth]
        return rank(
            query.id,
            found[order],
            1.0 / np.arange(1, len(order) + 1),
            kb.corpus.ids,
            max(len(order), 1),
            stages=(stage,),
            metadata={SOURCE: "graph"},
        )

    def trace_batch(self, queries: Sequence[Query], k: int) -> list[Trace]:
        """Which passages the query's entities lead to, and which of them its subgraph names; dense hits rank beside."""
        joined, graph, masks = Components.of_graph(self.kb.graph), self.kb.graph, self.kb.candidates(queries)
        none, far = "no entity of the query leads to it", "it names no entity of the subgraph one triple around"
        traces = []
        columns = zip(queries, self.link(queries), masks, self.retrieve_batch(queries, 3 * self.depth), strict=True)
        for query, seeds, mask, ranking in columns:
            met: list[NDArray[np.integer]] = []
            if seeds:
                triples = self._triples(seeds, self.kb.encode_queries([query])[0], mask)
                ends = np.concatenate([graph.triples.heads[triples], graph.triples.tails[triples], seeds])
                met = [graph.passages_of(entity)[0] for entity in np.unique(ends).tolist()]
            linked = step("linked", "entity not linked", none, joined.rows_with(seeds))
            expanded = step("expanded", "not expanded", far, *met)
            ranked = step("ranked", "pruned", f"below the first {self.depth} of all three rankings", ranking.rows)
            traces.append(Trace(ranking.top(k), (linked, expanded, ranked)))
        return traces
