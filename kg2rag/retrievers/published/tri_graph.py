"""A knowledge base -> LinearRAG's graph of entities, sentences and passages, without relations.

Zhuang et al., "LinearRAG: Linear Graph Retrieval Augmented Generation on Large-scale Corpora",
arXiv 2510.10114 [1]; `linear_rag` lists what is ours.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from kg2rag.extraction.mentions.table import mention_sentences
from kg2rag.knowledge import KnowledgeBase
from kg2rag.knowledge.graph.csr import Incidence, incidence, ranges
from kg2rag.knowledge.graph.pagerank import WalkGraph
from kg2rag.types import IntArray


@dataclass(frozen=True, eq=False)
class TriGraph:
    """The graph of entities (codes of the mention table), sentences, and passages (corpus rows).

    In the walk node i is the passage at row i, node n_passages + e is entity e.

    Attributes
    ----------
    sentences : entity -> the sentences that mention it.
    entities : sentence -> the entities that it mentions.
    sentence_rows : (n_sentences,) the corpus row of each sentence.
    occurrences : entity -> corpus rows; the count is the number of sentences that mention it, and 1 more in a passage
        that has it as its title.
    """

    sentences: Incidence
    entities: Incidence
    sentence_rows: IntArray
    occurrences: Incidence
    n_passages: int

    @cached_property
    def walk(self) -> WalkGraph:
        """The walk graph; an edge weighs an entity's share of all occurrences in a passage [1]."""
        rows = self.occurrences.others.astype(np.int64)
        counts = self.occurrences.counts
        shares = (
            counts / np.bincount(rows, weights=counts, minlength=self.n_passages)[rows]
        )
        entities = self.n_passages + self.occurrences.owners.astype(np.int64)
        n_entities = len(self.occurrences.indptr) - 1
        return WalkGraph.undirected(
            rows, entities, shares, self.n_passages + n_entities
        )

    def entities_in(self, rows: IntArray) -> IntArray:
        """The entities of some passages, ascending."""
        return np.unique(
            self.occurrences.owners[np.isin(self.occurrences.others, rows)].astype(
                np.int64
            )
        )

    def scope(self, rows: IntArray | None) -> NDArray[np.bool_] | None:
        """(n_nodes,) whether a walk may enter a node: a passage of `rows`, or an entity of one.

        None allows all nodes.
        """
        if rows is None:
            return None
        return self.walk.mask(np.append(rows, self.n_passages + self.entities_in(rows)))


def tri_graph(kb: KnowledgeBase) -> TriGraph:
    """The entities, sentences and passages of a knowledge base, independent of its graph."""

    def incidence_of(
        title_entities: NDArray[np.int32], texts: NDArray[np.integer]
    ) -> Incidence:
        entities = np.append(kb.mentions.key, title_entities)
        return incidence(
            entities, texts, np.ones(len(texts), dtype=np.int64), len(kb.mentions.keys)
        )

    def built() -> TriGraph:
        table = kb.mentions
        sentence_of_mention, texts = mention_sentences(table, kb.corpus)
        rows = np.zeros(len(texts), dtype=np.int64)
        rows[sentence_of_mention] = table.row
        # Every sentence of a title's pages mentions the title.
        starts = np.searchsorted(rows, table.page_row, side="left")
        page_sentences, pages = ranges(
            starts, np.searchsorted(rows, table.page_row, side="right")
        )
        sentences = incidence_of(
            table.page_key[pages], np.append(sentence_of_mention, page_sentences)
        )
        occurrences = incidence_of(table.page_key, np.append(table.row, table.page_row))
        return TriGraph(
            sentences,
            sentences.transposed(len(texts)),
            rows,
            occurrences,
            len(kb.corpus),
        )

    return kb.cached("tri_graph", built)
