"""A mention graph and a knowledge graph -> one graph to walk: the triples join what the mentions do not.

Every entity of the knowledge graph becomes a node, joined to the passages that name it as a shared name is, and to the
other end of each of its triples. An edge between entities fits a query as its triple does, one between an entity and a
passage as the best triple that the passage states of it, or where it states none, as the passage itself. Ours.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from kg2rag.knowledge import KnowledgeBase, KnowledgeGraph
from kg2rag.knowledge.graph.csr import frozen, gather, offsets
from kg2rag.knowledge.graph.walks import NodeWeights
from kg2rag.retrievers.mention_ppr.graph import MentionGraph, mention_graph
from kg2rag.types import FloatArray, IntArray, Matrix, Triple

MENTION, TRIPLE = 3, 4  # kinds of edges, beside those of a mention graph


@dataclass(frozen=True)
class FactGraph(MentionGraph):
    """A mention graph whose last nodes are the entities of a knowledge graph, in the order of their codes.

    Attributes
    ----------
    facts : the knowledge graph.
    stated_by : (n_edges,) the passage that states an edge's triple; -1 for other edges, and where none states it.
    vectors : (n_vectors, dim) what the edges' sentences are rows of: of sentences, then triples, then passages.
    first_triple : row of the first triple in `vectors`.
    """

    facts: KnowledgeGraph
    stated_by: IntArray
    vectors: Matrix
    first_triple: int
    masks_edges: ClassVar[bool] = True

    @property
    def first_entity(self) -> int:
        """The node of entity 0."""
        return self.n_nodes - self.facts.n_entities

    def fact(self, edge: int) -> Triple | None:
        """The triple behind an edge between two entities."""
        if self.kinds[edge] != TRIPLE:
            return None
        return self.facts.triple(int(self.sentences[self.sentence_ptr[edge]]) - self.first_triple)

    def weights_within(self, mask: IntArray | None) -> FloatArray:
        """(n_edges,) the weights, 0 for triples that passages outside `mask` state."""
        if mask is None:
            return self.weights
        return np.where((self.stated_by < 0) | np.isin(self.stated_by, mask), self.weights, 0.0)

    def triples_within(self, mask: IntArray | None) -> IntArray | None:
        """The triples that passages of `mask`, or none, state; None for all."""
        stated = self.facts.triples.passages
        return None if mask is None else np.flatnonzero((stated < 0) | np.isin(stated, mask))

    def starting_at(self, triples: IntArray, shares: FloatArray) -> NodeWeights:
        """A restart in which the two ends of each triple have half of its share."""
        table = self.facts.triples
        ends = self.first_entity + np.concatenate([table.heads[triples], table.tails[triples]])
        return NodeWeights.of(ends, np.tile(shares / 2, 2))


@dataclass(frozen=True)
class _Edges:
    """Edges in no order; the sentences of the i-th are `lengths[i]` of `sentences`, after those of the i-1 before."""

    sources: IntArray
    targets: IntArray
    weights: FloatArray
    kinds: NDArray[np.int8]
    lengths: IntArray
    sentences: IntArray
    stated_by: IntArray


def with_facts(
    graph: MentionGraph,
    facts: KnowledgeGraph,
    *,
    name_weight: float,
    triple_weight: float,
    sentence_vectors: Matrix,
    triple_vectors: Matrix,
    passage_vectors: Matrix,
) -> FactGraph:
    """The graph of both.

    Parameters
    ----------
    name_weight : weight of an edge between a passage and an entity, times ln(1 + N / df).
    triple_weight : weight of a triple of strength 10; others in proportion.
    sentence_vectors, triple_vectors, passage_vectors : of the graph's `texts`, of the triples and of the passages.
    """
    first_triple, first_passage = len(sentence_vectors), len(sentence_vectors) + len(triple_vectors)
    mentions = _mention_edges(facts, graph.n_nodes, name_weight, first_triple, first_passage)
    triples = _triple_edges(facts, graph.n_nodes, triple_weight, first_triple)
    walked = _Edges(
        graph.sources,
        graph.targets.astype(np.int64),
        graph.weights,
        graph.kinds,
        np.diff(graph.sentence_ptr),
        graph.sentences.astype(np.int64),
        np.full(len(graph.targets), -1, dtype=np.int64),
    )
    edges, order = _sorted([walked, mentions, triples])
    n_nodes = graph.n_nodes + facts.n_entities
    first = np.concatenate([[0], np.cumsum(edges.lengths)])
    return FactGraph(
        n_passages=graph.n_passages,
        indptr=frozen(offsets(edges.sources, n_nodes)),
        targets=frozen(edges.targets[order].astype(np.int32)),
        weights=frozen(edges.weights[order]),
        kinds=frozen(edges.kinds[order]),
        sentence_ptr=frozen(np.concatenate([[0], np.cumsum(edges.lengths[order])]).astype(np.int64)),
        sentences=frozen(edges.sentences[gather(first, order)[0]].astype(np.int32)),
        texts=graph.texts,
        facts=facts,
        stated_by=edges.stated_by[order],
        vectors=np.concatenate([sentence_vectors, triple_vectors, passage_vectors]),
        first_triple=first_triple,
    )


def _mention_edges(
    facts: KnowledgeGraph, first_entity: int, name_weight: float, first_triple: int, first_passage: int
) -> _Edges:
    """Passage -> entity and back, for every passage that names an entity."""
    table, n = facts.triples, facts.n_passages
    owners, rows = facts.mentions.owners.astype(np.int64), facts.mentions.others.astype(np.int64)
    frequency = np.diff(facts.mentions.indptr)[owners]
    weights = name_weight * np.log1p(n / frequency)
    # (pair, triple) of every triple that a passage states of an entity it names; pairs are sorted by (entity, row).
    ends, stated = np.concatenate([table.heads, table.tails]), np.tile(table.passages, 2)
    index = np.tile(np.arange(len(table)), 2)[stated >= 0]
    pair = np.searchsorted(owners * n + rows, ends[stated >= 0].astype(np.int64) * n + stated[stated >= 0])
    stating = np.unique(np.stack([pair, index], axis=1), axis=0)
    silent = np.setdiff1d(np.arange(len(owners)), stating[:, 0])
    pairs = np.concatenate([stating[:, 0], silent])
    texts = np.concatenate([stating[:, 1] + first_triple, rows[silent] + first_passage])
    texts = texts[np.argsort(pairs, kind="stable")]
    lengths = np.bincount(pairs, minlength=len(owners)).astype(np.int64)
    entities = owners + first_entity
    return _Edges(
        np.concatenate([rows, entities]),
        np.concatenate([entities, rows]),
        np.tile(weights, 2),
        np.full(2 * len(rows), MENTION, dtype=np.int8),
        np.tile(lengths, 2),
        np.tile(texts, 2).astype(np.int64),
        np.full(2 * len(rows), -1, dtype=np.int64),
    )


def _triple_edges(facts: KnowledgeGraph, first_entity: int, triple_weight: float, first_triple: int) -> _Edges:
    """Head -> tail and back, for every triple that joins two entities."""
    table = facts.triples
    index = np.flatnonzero(table.heads != table.tails)
    heads, tails = (ends[index].astype(np.int64) + first_entity for ends in (table.heads, table.tails))
    return _Edges(
        np.concatenate([heads, tails]),
        np.concatenate([tails, heads]),
        np.tile(triple_weight * table.strengths[index].astype(np.float64) / 10, 2),
        np.full(2 * len(index), TRIPLE, dtype=np.int8),
        np.ones(2 * len(index), dtype=np.int64),
        np.tile(index + first_triple, 2),
        np.tile(table.passages[index].astype(np.int64), 2),
    )


def _sorted(groups: Sequence[_Edges]) -> tuple[_Edges, IntArray]:
    """All edges, and their order by (source, target, kind, as given)."""
    names = tuple(_Edges.__dataclass_fields__)
    every = _Edges(*(np.concatenate([getattr(group, name) for group in groups]) for name in names))
    return every, np.lexsort((every.kinds, every.targets, every.sources))


def mention_facts(
    kb: KnowledgeBase, backward: float, name_weight: float, max_mentions: int, triple_weight: float
) -> FactGraph:
    """`mention_graph` joined with the entities and triples of the knowledge graph, one for each setting."""
    return kb.cached(
        ("mention_facts", backward, name_weight, max_mentions, triple_weight),
        lambda: with_facts(
            mention_graph(kb, backward, name_weight, max_mentions),
            kb.graph,
            name_weight=name_weight,
            triple_weight=triple_weight,
            sentence_vectors=kb.sentence_vectors,
            triple_vectors=kb.triple_vectors.vectors,
            passage_vectors=kb.vectors,
        ),
    )
