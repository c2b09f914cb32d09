"""A mention table -> LinearRAG's graph without relations: entities, sentences and passages, and which contains which.

Theirs [1]: the three layers, and edge weights between an entity and a passage. Ours: entities are the keys of the
mention table, titles and names (the paper runs a named-entity recogniser). A page mentions its title in every sentence
and once as a whole, since "title: sentence" is what is encoded. Sentences that mention nothing are left out. The
released code also joins passages that follow each other in the input; where passages are encyclopaedia articles that
order means nothing, so it is not done here.

[1] Zhuang et al., "LinearRAG: Linear Graph Retrieval Augmented Generation on Large-scale Corpora", arXiv 2510.10114.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from kg2rag.extraction.mentions.shards import mention_sentences
from kg2rag.extraction.mentions.table import MentionTable
from kg2rag.knowledge import DenseIndex, KnowledgeBase
from kg2rag.knowledge.graph.csr import Incidence, incidence, ranges
from kg2rag.knowledge.graph.pagerank import NodeWeights, WalkGraph, walks
from kg2rag.types import Corpus, FloatArray, IntArray, Triple


@dataclass(frozen=True, eq=False)
class TriGraph:
    """Entities are codes of the mention table, sentences rows of `sentence_vectors`, passages rows of the corpus.

    Attributes
    ----------
    sentences : entity -> the sentences that mention it. entities : the inverse.
    sentence_rows : (n_sentences,) the passage of each sentence.
    occurrences : entity -> passages; a count is one for each sentence that mentions it, and one for a title.
    n_passages : of the corpus.
    """

    sentences: Incidence
    entities: Incidence
    sentence_rows: IntArray
    occurrences: Incidence
    n_passages: int

    @classmethod
    def build(cls, table: MentionTable, corpus: Corpus) -> TriGraph:
        """The graph of a corpus and its mention table."""
        mentioned, texts = mention_sentences(table, corpus)
        rows = np.zeros(len(texts), dtype=np.int64)
        rows[mentioned] = table.row
        owners, own = _own_sentences(table, rows)
        keys = np.concatenate([table.key, owners])
        numbers = np.concatenate([mentioned, own])
        sentences = incidence(keys, numbers, np.ones(len(keys), dtype=np.int64), len(table.keys))
        keys, places = np.concatenate([table.key, table.page_key]), np.concatenate([table.row, table.page_row])
        occurrences = incidence(keys, places, np.ones(len(keys), dtype=np.int64), len(table.keys))
        return cls(sentences, sentences.transposed(len(texts)), rows, occurrences, len(corpus))

    @property
    def n_entities(self) -> int:
        """The keys of the mention table."""
        return len(self.occurrences.indptr) - 1

    @property
    def n_nodes(self) -> int:
        """The nodes of the walk: node i is the passage at row i, node n_passages + e is entity e."""
        return self.n_passages + self.n_entities

    @cached_property
    def walk(self) -> WalkGraph:
        """Passages and entities; an edge weighs the entity's share of all occurrences in the passage [1]."""
        entities, rows = self.occurrences.owners.astype(np.int64), self.occurrences.others.astype(np.int64)
        counts = self.occurrences.counts.astype(np.float64)
        totals = np.bincount(rows, weights=counts, minlength=self.n_passages)
        return WalkGraph.undirected(rows, self.n_passages + entities, counts / totals[rows], self.n_nodes)

    def entities_in(self, rows: IntArray) -> IntArray:
        """The entities of some passages, ascending."""
        found: IntArray = np.unique(self.occurrences.owners[np.isin(self.occurrences.others, rows)]).astype(np.int64)
        return found

    def pagerank(self, restarts: FloatArray, masks: list[IntArray | None], damping: float) -> FloatArray:
        """(n_queries, n_nodes) PageRank of each query over its candidates and their entities, or all without a mask.

        `restarts`: (n_queries, n_nodes), not scaled; nodes outside a query's are ignored.
        """
        scopes = [
            None if mask is None else np.concatenate([mask, self.n_passages + self.entities_in(mask)]) for mask in masks
        ]
        starts, graph = map(NodeWeights.of_dense, restarts), self.walk
        found = walks(graph, list(starts), damping, scopes=[graph.mask(scope) for scope in scopes])
        return np.array([walk.dense(self.n_nodes) for walk in found])


def _own_sentences(table: MentionTable, rows: IntArray) -> tuple[IntArray, IntArray]:
    """(title, sentence) for every sentence of each title's pages, as two columns; `rows` ascend."""
    own, pages = ranges(np.searchsorted(rows, table.page_row), np.searchsorted(rows, table.page_row, side="right"))
    return table.page_key[pages].astype(np.int64), own


def tri_graph(kb: KnowledgeBase) -> TriGraph:
    """The entities, sentences and passages of a knowledge base; from the corpus alone, whatever the graph."""
    return kb.cached("tri_graph", lambda: TriGraph.build(kb.mentions, kb.corpus))


def sentence_vectors(kb: KnowledgeBase) -> DenseIndex:
    """Exact cosine search over the sentences that mention something, as `mention_sentences` lists them."""
    return kb.cached("sentence_vectors", lambda: DenseIndex(kb.encode(mention_sentences(kb.mentions, kb.corpus)[1])))


def name_vectors(kb: KnowledgeBase) -> DenseIndex:
    """Exact cosine search over the titles and names of `kb.mentions`."""
    return kb.cached("name_vectors", lambda: DenseIndex(kb.encode(kb.mentions.names)))


class Activation(NamedTuple):
    """How an entity was reached: its score, the iteration (from 1), the entity and the sentence before; -1 for none."""

    score: float
    iteration: int
    source: int = -1
    sentence: int = -1


class BridgedPaths(Mapping[int, tuple[Triple, ...]]):
    """Corpus row -> how its most activated entity was reached, and its mention; made when looked up.

    Parameters
    ----------
    active : entity -> how it was reached; of equally activated ones, the first counts.
    rows : the passages that have a path if they mention an activated entity.
    """

    def __init__(self, kb: KnowledgeBase, active: Mapping[int, Activation], rows: IntArray) -> None:
        self._kb, self._active, self._rows = kb, active, rows

    def __getitem__(self, row: int) -> tuple[Triple, ...]:
        kb, entity = self._kb, self._bridging[row]
        title, name = kb.corpus.titles[row] or kb.corpus.ids[row], kb.mentions.names[entity]
        return (*_bridge(kb, self._active, entity), Triple(title, "mentions", name, kb.corpus.ids[row]))

    def __iter__(self) -> Iterator[int]:
        return iter(self._bridging)

    def __len__(self) -> int:
        return len(self._bridging)

    @cached_property
    def _bridging(self) -> dict[int, int]:
        """Row -> the entity that it is reached by."""
        active, occurrences, bridging = self._active, tri_graph(self._kb).occurrences, dict[int, int]()
        for entity in sorted(active, key=lambda entity: -active[entity].score):
            for row in np.intersect1d(occurrences.of(entity)[0], self._rows).tolist():
                bridging.setdefault(row, entity)
        return bridging


def _bridge(kb: KnowledgeBase, active: Mapping[int, Activation], entity: int) -> tuple[Triple, ...]:
    """The sentences from an entity of the query to this one. Activations fall on the way, so it has an end."""
    names = kb.mentions.names
    steps: list[Triple] = []
    while (found := active[entity]).source >= 0:
        where = kb.corpus.ids[tri_graph(kb).sentence_rows[found.sentence]]
        steps.append(Triple(names[found.source], "in one sentence with", names[entity], where))
        entity = found.source
    return tuple(reversed(steps))
