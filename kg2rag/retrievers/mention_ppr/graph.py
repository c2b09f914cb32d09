"""A mention table -> the graph that `mention_ppr` walks: passages and names, joined by the sentences that name them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from kg2rag.extraction.mentions.table import MentionTable
from kg2rag.knowledge.base import KnowledgeBase
from kg2rag.knowledge.graph.csr import offsets, owners, run_starts
from kg2rag.knowledge.sentences import mention_sentences
from kg2rag.types.corpus import Corpus
from kg2rag.types.passages import Triple

LINK, BACKWARD, NAME = 0, 1, 2  # kinds of edges

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]


@dataclass(frozen=True)
class MentionGraph:
    """Directed and weighted, in CSR form: nodes 0 .. n_passages - 1 are passages, the rest the table's names.

    Attributes
    ----------
    indptr, targets, weights : (n_nodes + 1,), (n_edges,), (n_edges,).
    kinds : (n_edges,) LINK a title link, BACKWARD one walked backward, NAME between a passage and a name.
    sentence_ptr, sentences : the sentences of edge e are `sentences[sentence_ptr[e]:sentence_ptr[e + 1]]`, rows of
        `texts`; `texts` are "title: sentence", each once.
    """

    n_passages: int
    indptr: Ints
    targets: Ints
    weights: Floats
    kinds: NDArray[np.int8]
    sentence_ptr: Ints
    sentences: Ints
    texts: list[str]
    masks_edges: ClassVar[bool] = False
    """Whether a query's candidates decide which edges may be walked, as they do which passages."""

    @property
    def n_nodes(self) -> int:
        """Passages and names."""
        return len(self.indptr) - 1

    @cached_property
    def sources(self) -> Ints:
        """(n_edges,) the node each edge leaves."""
        return owners(self.indptr)

    def fact(self, edge: int) -> Triple | None:  # noqa: ARG002
        """The triple of a knowledge graph behind an edge; here None, see `mention_facts`."""
        return None

    def weights_within(self, mask: Ints | None) -> Floats:  # noqa: ARG002
        """(n_edges,) the weights for a query that may see the passages of `mask` alone; here the same for every one."""
        return self.weights

    def distances(self, starts: Ints, allowed: NDArray[np.bool_]) -> Ints:
        """(n_nodes,) edges from the nearest of some nodes, over allowed ones; -1 where no way leads there."""
        away = np.full(self.n_nodes, -1, dtype=np.int64)
        frontier, far = np.unique(starts[allowed[starts]]), 0
        while len(frontier):
            away[frontier], far = far, far + 1
            at_frontier = np.zeros(self.n_nodes, dtype=bool)
            at_frontier[frontier] = True
            targets = np.unique(self.targets[at_frontier[self.sources]])
            frontier = targets[(away[targets] < 0) & allowed[targets]]
        return away


def build(
    table: MentionTable, corpus: Corpus, *, backward: float, name_weight: float, max_mentions: int
) -> MentionGraph:
    """The graph of a corpus.

    Parameters
    ----------
    backward : weight of walking a title link against its direction, relative to walking along it.
    name_weight : weight of an edge between a passage and a name, times ln(1 + N / df).
    max_mentions : titles named in more passages give no link.
    """
    frequency, pages = table.document_frequency, table.pages
    n = len(corpus)
    linkable = (pages > 0) & (frequency <= max_mentions)
    sentence_rows, texts = mention_sentences(table, corpus)
    source, target, weight, kind, sentence = [], [], [], [], []

    def add(start: int, end: int, value: float, sort: int, where: int) -> None:
        source.append(start)
        target.append(end)
        weight.append(value)
        kind.append(sort)
        sentence.append(where)

    rows, where = table.row.tolist(), sentence_rows.tolist()
    for key, row, at in zip(table.key.tolist(), rows, where, strict=True):
        if linkable[key]:
            share = 1.0 / float(pages[key])
            for page in table.pages_of(key).tolist():
                if page != row:
                    add(row, page, share, LINK, at)
                    add(page, row, backward * share, BACKWARD, at)
        elif not pages[key]:
            value = name_weight * float(np.log1p(n / frequency[key]))
            node = n + key - table.n_titles
            add(row, node, value, NAME, at)
            add(node, row, value, NAME, at)
    columns = (np.array(source), np.array(target), np.array(weight), np.array(kind), np.array(sentence))
    return _compressed(n, n + len(table.keys) - table.n_titles, *columns, texts)


def _compressed(
    n_passages: int,
    n_nodes: int,
    source: Ints,
    target: Ints,
    weight: Floats,
    kind: Ints,
    sentence: Ints,
    texts: list[str],
) -> MentionGraph:
    """CSR, in which the edges of one kind between two nodes are one edge with several sentences."""
    if not len(source):
        empty = np.empty(0, dtype=np.int64)
        zeros = np.zeros(n_nodes + 1, dtype=np.int64)
        return MentionGraph(n_passages, zeros, empty, np.empty(0), np.empty(0, np.int8), zeros[:1], empty, texts)
    order = np.lexsort((sentence, kind, target, source))
    source, target, kind, sentence = (column[order] for column in (source, target, kind, sentence))
    weight = weight[order]
    starts = np.flatnonzero(run_starts(source, target, kind))
    return MentionGraph(
        n_passages,
        offsets(source[starts], n_nodes),
        target[starts].astype(np.int64),
        np.maximum.reduceat(weight, starts).astype(np.float64),
        kind[starts].astype(np.int8),
        np.append(starts, len(order)).astype(np.int64),
        sentence.astype(np.int64),
        texts,
    )


def mention_graph(kb: KnowledgeBase, backward: float, name_weight: float, max_mentions: int) -> MentionGraph:
    """The graph of a knowledge base's mentions, one for each setting of its weights."""
    return kb.part(
        ("mention_graph", backward, name_weight, max_mentions),
        lambda: build(kb.mentions, kb.corpus, backward=backward, name_weight=name_weight, max_mentions=max_mentions),
    )
