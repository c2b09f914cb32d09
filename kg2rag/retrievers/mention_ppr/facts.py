"""A mention graph and a knowledge graph -> one graph to walk: the triples join what the mentions do not.

Every entity of the knowledge graph becomes a node, joined to the passages that name it as a shared name is, and to the
other end of each of its triples. Ours.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from kg2rag.knowledge import KnowledgeBase, KnowledgeGraph
from kg2rag.knowledge.graph.csr import frozen, offsets
from kg2rag.knowledge.graph.pagerank import NodeWeights, WalkGraph
from kg2rag.retrievers.mention_ppr.graph import MentionGraph, mention_graph
from kg2rag.types import FloatArray, IntArray, Triple

MENTION, TRIPLE = 3, 4  # kinds of edges, beside those of a mention graph


@dataclass(frozen=True)
class FactGraph(MentionGraph):
    """A mention graph whose last nodes are the entities of a knowledge graph, in the order of their codes.

    Attributes
    ----------
    facts : the knowledge graph.
    triples : (n_edges,) the triple behind an edge between two entities; -1 for other edges.
    """

    facts: KnowledgeGraph
    triples: IntArray

    @property
    def first_entity(self) -> int:
        """The node of entity 0."""
        return self.n_nodes - self.facts.n_entities

    def fact(self, edge: int) -> Triple | None:
        """The triple behind an edge between two entities."""
        triple = int(self.triples[edge])
        return None if triple < 0 else self.facts.triple(triple)

    def walked_within(self, mask: IntArray | None) -> WalkGraph:
        """The graph in which triples that passages outside `mask` state weigh 0."""
        within = self.triples_within(mask)
        if within is None:
            return self.walked
        weights = np.where((self.triples < 0) | np.isin(self.triples, within), self.weights, 0.0)
        return WalkGraph.directed(self.sources, self.targets, weights, self.n_nodes)

    def triples_within(self, mask: IntArray | None) -> IntArray | None:
        """The triples that passages of `mask`, or none, state; None for all."""
        stated = self.facts.triples.passages
        return None if mask is None else np.flatnonzero((stated < 0) | np.isin(stated, mask))

    def starting_at(self, triples: IntArray, shares: FloatArray) -> NodeWeights:
        """A restart in which the two ends of each triple have half of its share."""
        table = self.facts.triples
        ends = self.first_entity + np.concatenate([table.heads[triples], table.tails[triples]])
        return NodeWeights.of(ends, np.tile(shares / 2, 2))


class _Edges(NamedTuple):
    """Edges in no order, (n,) each."""

    sources: IntArray
    targets: IntArray
    weights: FloatArray
    kinds: IntArray
    triples: IntArray


def with_facts(graph: MentionGraph, facts: KnowledgeGraph, *, name_weight: float, triple_weight: float) -> FactGraph:
    """The graph of both.

    Parameters
    ----------
    name_weight : weight of an edge between a passage and an entity, times ln(1 + N / df).
    triple_weight : weight of a triple of strength 10; others in proportion.
    """
    none = np.full(len(graph.targets), -1)
    groups = [
        _Edges(graph.sources, graph.targets.astype(np.int64), graph.weights, graph.kinds.astype(np.int64), none),
        _mention_edges(facts, graph.n_nodes, name_weight),
        _triple_edges(facts, graph.n_nodes, triple_weight),
    ]
    edges = _Edges(*map(np.concatenate, zip(*groups, strict=True)))
    order = np.lexsort((edges.kinds, edges.targets, edges.sources))
    return FactGraph(
        n_passages=graph.n_passages,
        indptr=frozen(offsets(edges.sources, graph.n_nodes + facts.n_entities)),
        targets=frozen(edges.targets[order].astype(np.int32)),
        weights=frozen(edges.weights[order]),
        kinds=frozen(edges.kinds[order].astype(np.int8)),
        facts=facts,
        triples=frozen(edges.triples[order]),
    )


def _mention_edges(facts: KnowledgeGraph, first_entity: int, name_weight: float) -> _Edges:
    """Passage -> entity and back, for every passage that names an entity."""
    entities, rows = facts.mentions.owners.astype(np.int64), facts.mentions.others.astype(np.int64)
    weights = name_weight * np.log1p(facts.n_passages / np.diff(facts.mentions.indptr)[entities])
    return _both_ways(rows, entities + first_entity, weights, MENTION, np.full(len(rows), -1))


def _triple_edges(facts: KnowledgeGraph, first_entity: int, triple_weight: float) -> _Edges:
    """Head -> tail and back, for every triple that joins two entities."""
    table = facts.triples
    joining = np.flatnonzero(table.heads != table.tails)
    heads, tails = (ends[joining].astype(np.int64) + first_entity for ends in (table.heads, table.tails))
    return _both_ways(heads, tails, triple_weight * table.strengths[joining].astype(np.float64) / 10, TRIPLE, joining)


def _both_ways(ends: IntArray, others: IntArray, weights: FloatArray, kind: int, triples: IntArray) -> _Edges:
    sources, targets = np.concatenate([ends, others]), np.concatenate([others, ends])
    return _Edges(sources, targets, np.tile(weights, 2), np.full(len(sources), kind), np.tile(triples, 2))


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
        ),
    )
